"""Measured properties of a picture, in words: mostly green, dark, busy, plain background.

Each property is one measure in known units with a threshold t. Its score is

    σ((measure − t) / w)

with a width w in the same units, negative where small values mean yes. So a score of at least 0.5
means yes, and its distance from 0.5 says how clearly. Thresholds were set by looking at
photographs and drawings on both sides of them.

Everything is measured on a copy of the picture whose longest side is at most 96 px, so that the
words mean the same for a thumbnail and for a large photograph.
"""

from typing import NamedTuple

import numpy as np
from PIL import Image

from fieldguide.errors import InvalidArgument
from fieldguide.features.colour_names import COLOURS, NO_NAME, name_grounds

LONGEST_SIDE_PX = 96
EDGE = 12  # 255ths of luma per px
VIVID = ("red", "yellow", "green", "blue")


class Property(NamedTuple):
    """A word, what is measured for it and in which unit, and from where on it is said."""

    name: str
    measure: str
    threshold: float
    width: float


_LUMA = "mean luma, 0 to 255"
_DETAIL = "mean gradient of luma, in 255ths per px"
_FORMAT = "octaves of height over width"
PROPERTIES = (
    *(Property(f"mostly {c}", f"share of the pixels that are {c}", 0.5, 0.05) for c in COLOURS),
    *(Property(f"some {c}", f"share of the pixels that are vividly {c}", 0.1, 0.02) for c in VIVID),
    Property("colourful", "colourfulness after Hasler and Süsstrunk, 0 to about 200", 75, 5),
    Property("black and white", "share of the pixels with a visible colour", 0.01, -0.003),
    Property("warm colours", "share of the pixels from red to yellow", 0.6, 0.05),
    Property("cold colours", "share of the pixels from turquoise to violet", 0.5, 0.05),
    Property("dark", _LUMA, 65, -8),
    Property("bright", _LUMA, 190, 8),
    Property("strong contrast", "standard deviation of luma", 80, 4),
    Property("faint contrast", "luma from the 1st to the 99th percentile", 110, -8),
    Property("busy", _DETAIL, 26, 2),
    Property("smooth", _DETAIL, 6.5, -0.7),
    Property("upright lines", "share of the edges that are within 18° of upright", 0.45, 0.03),
    Property("level lines", "share of the edges that are within 18° of level", 0.45, 0.03),
    Property("symmetric", "correlation of the picture with its mirror image", 0.75, 0.04),
    Property("plain background", "deviation of the margin from its median colour", 14, -2),
    Property("white background", "share of the margin that is near white", 0.8, 0.05),
    Property("black background", "share of the margin that is near black", 0.8, 0.05),
    Property("dark on light", "mean luma of the margin less that of the middle", 80, 6),
    Property("light on dark", "mean luma of the middle less that of the margin", 70, 6),
    Property("small subject", "share of the pixels unlike a plain background", 0.14, -0.02),
    Property("sky above", "share of blue in the top quarter less that in the bottom", 0.65, 0.05),
    Property("tall picture", _FORMAT, 0.2, 0.03),
    Property("wide picture", _FORMAT, -0.2, -0.03),
    Property("square picture", "octaves between height and width", 0.07, -0.02),
)
PROPERTY_NAMES: tuple[str, ...] = tuple(p.name for p in PROPERTIES)
# True of a picture whatever it shows: of use to a reader, not to tell kinds apart.
FORMAT_NAMES = ("tall picture", "wide picture", "square picture")
_THRESHOLDS = np.array([p.threshold for p in PROPERTIES])
_WIDTHS = np.array([p.width for p in PROPERTIES])


def measure_properties(image: np.ndarray, size: tuple[int, int] | None = None) -> np.ndarray:
    """Return the score of every property of one picture.

    Parameters
    ----------
    image : ndarray of shape (height, width, 3), uint8
    size : (width, height), optional
        Of the original, where ``image`` is a copy of another format. Decides tall or wide.

    Returns
    -------
    ndarray of shape (P,), float32, in [0, 1]
        In the order of `PROPERTY_NAMES`.

    Examples
    --------
    >>> meadow = np.full((60, 90, 3), (70, 160, 60), np.uint8)
    >>> scores = measure_properties(meadow)
    >>> [name for name, score in zip(PROPERTY_NAMES, scores) if score > 0.9][:2]
    ['mostly green', 'some green']
    """
    return squash((_measure(image, size) - _THRESHOLDS) / _WIDTHS)


def squash(z: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(−z)) of each number, float32.

    Examples
    --------
    >>> squash(np.array([-1e9, 0.0, 3.0])).round(2)
    array([0.  , 0.5 , 0.95], dtype=float32)
    """
    scores: np.ndarray = (1 / (1 + np.exp(-np.clip(z, -50, 50)))).astype(np.float32)
    return scores


def _measure(image: np.ndarray, size: tuple[int, int] | None) -> np.ndarray:
    """Return the measure of each of `PROPERTIES`."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or not image.size:
        raise InvalidArgument(
            "image must be a uint8 array of shape (height, width, 3) with at least one pixel; "
            f"got {image.dtype} of shape {image.shape}. Convert it to RGB first."
        )
    width, height = size or (image.shape[1], image.shape[0])
    octaves = np.log2(height / width)
    small = shrink_picture(image)
    r, g, b = (small[..., k].astype(np.float32) for k in range(3))
    luma = 0.299 * r + 0.587 * g + 0.114 * b
    return np.array(
        [
            *_share_colours(small),
            *_measure_colour(r, g, b),
            *_measure_light(luma),
            *_measure_detail(luma),
            _correlate_mirror(luma),
            *_measure_background(r, g, b, luma),
            _measure_sky(r, b, luma),
            octaves,
            octaves,
            abs(octaves),
        ]
    )


def shrink_picture(image: np.ndarray) -> np.ndarray:
    """Return the picture with its longest side at most `LONGEST_SIDE_PX`, by area averages."""
    height, width = image.shape[:2]
    scale = LONGEST_SIDE_PX / max(height, width)
    if scale >= 1:
        return image
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BOX))


def _share_colours(small: np.ndarray) -> list[float]:
    """Return the share of the pixels of each colour, then of each vivid one."""
    names = name_grounds(small)
    value, least = small.max(axis=2).astype(np.int16), small.min(axis=2)
    chroma = value - least
    is_vivid = (2 * chroma > value) & (chroma > 70)
    shares, vivid = (
        np.bincount(each.ravel(), minlength=NO_NAME + 1) / names.size
        for each in (names, names[is_vivid])
    )
    return [*shares[:NO_NAME], *(vivid[COLOURS.index(c)] for c in VIVID)]


def _measure_colour(r: np.ndarray, g: np.ndarray, b: np.ndarray) -> list[float]:
    """Return colourfulness, and the shares of visible, warm and cold colour."""
    red_green, yellow_blue = r - g, (r + g) / 2 - b
    spread = np.hypot(red_green.std(), yellow_blue.std())
    mean = np.hypot(red_green.mean(), yellow_blue.mean())
    chroma = np.maximum(np.maximum(r, g), b) - np.minimum(np.minimum(r, g), b)
    clear = chroma > 30
    return [
        spread + 0.3 * mean,
        (chroma > 24).mean(),
        (clear & (r > b + 15) & (r >= g)).mean(),
        (clear & (b > r + 15)).mean(),
    ]


def _measure_light(luma: np.ndarray) -> list[float]:
    """Return brightness (for dark, for bright), contrast, and the range of luma."""
    last = luma.size - 1
    low, high = round(0.01 * last), round(0.99 * last)
    ordered = np.partition(luma.ravel(), (low, high))
    mean = luma.mean()
    return [mean, mean, luma.std(), ordered[high] - ordered[low]]


def _measure_detail(luma: np.ndarray) -> list[float]:
    """Return detail (for busy, for smooth) and the shares of upright and of level edges."""
    dx, dy = np.zeros_like(luma), np.zeros_like(luma)
    np.subtract(luma[:, 2:], luma[:, :-2], out=dx[:, 1:-1])
    np.subtract(luma[2:], luma[:-2], out=dy[1:-1])
    dx, dy = np.abs(dx), np.abs(dy)
    gradient = np.sqrt(dx * dx + dy * dy) / 2
    detail = gradient.mean()
    edge = gradient > EDGE
    # A few more edges that are neither: a picture with hardly any edge has no lines.
    n_edges = edge.sum() + 0.015 * edge.size
    upright, level = edge & (dx > 3 * dy), edge & (dy > 3 * dx)
    return [detail, detail, upright.sum() / n_edges, level.sum() / n_edges]


def _correlate_mirror(luma: np.ndarray) -> float:
    """Return the correlation of the picture with its mirror image, each row less its mean.

    Without that, sky above and ground below would make any landscape symmetric.
    """
    side = 24
    thumb = np.asarray(Image.fromarray(luma).resize((side, side), Image.Resampling.BOX))
    thumb = thumb - thumb.mean(axis=1, keepdims=True)
    noise = (side * 8) ** 2
    correlation: float = (thumb * thumb[:, ::-1]).sum() / ((thumb * thumb).sum() + noise)
    return correlation


def _measure_background(
    r: np.ndarray, g: np.ndarray, b: np.ndarray, luma: np.ndarray
) -> list[float]:
    """Return plainness, white, black, dark on light, light on dark, and the size of the subject."""
    rm, gm, bm = _margin(r), _margin(g), _margin(b)
    n = len(rm)
    ground = [np.partition(channel, n // 2)[n // 2] for channel in (rm, gm, bm)]
    deviation = _differ(rm, gm, bm, ground)
    plain = np.partition(deviation, int(0.8 * (n - 1)))[int(0.8 * (n - 1))]
    height, width = luma.shape
    middle = luma[height // 4 : height - height // 4, width // 4 : width - width // 4]
    darker = _margin(luma).mean() - middle.mean()
    return [
        plain,
        ((rm > 225) & (gm > 225) & (bm > 225)).mean(),
        ((rm < 40) & (gm < 40) & (bm < 40)).mean(),
        darker,
        -darker,
        (_differ(r, g, b, ground) > 20).mean() if plain < 14 else 1.0,
    ]


def _margin(channel: np.ndarray) -> np.ndarray:
    """Return the pixels in the outer 8 % of the picture, flat."""
    k = max(1, round(0.08 * min(channel.shape)))
    inner = channel[k:-k]
    parts = (channel[:k], channel[-k:], inner[:, :k], inner[:, -k:])
    return np.concatenate([part.ravel() for part in parts])


def _differ(r: np.ndarray, g: np.ndarray, b: np.ndarray, ground: list[float]) -> np.ndarray:
    """Return the mean absolute difference from the colour ``ground``, 0 to 255."""
    return (np.abs(r - ground[0]) + np.abs(g - ground[1]) + np.abs(b - ground[2])) / 3


def _measure_sky(r: np.ndarray, b: np.ndarray, luma: np.ndarray) -> float:
    """Return the share of light blue in the top quarter less that in the bottom quarter."""
    quarter = max(1, len(luma) // 4)
    top, bottom = (
        (b[rows] > r[rows] + 15) & (luma[rows] > 90)
        for rows in (slice(quarter), slice(-quarter, None))
    )
    return float(top.mean()) - float(bottom.mean())

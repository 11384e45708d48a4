"""Colour histograms: how much of which colour is where in a picture, in words.

Colours are told apart as the eye does, in CIE Lab (D65): by lightness L, chroma C (distance from
grey) and hue h. The bins are 5 greys, and 10 hues, each dull or vivid, each dark, middling or
light. A colour is shared between its neighbours on each of the three axes, linearly between the
centres below and wholly with the last centre beyond them, so that no small change of colour is a
jump:

    chroma      grey 0, dull 22, vivid 55
    greys (L)   black 8, dark grey 30, grey 53, light grey 76, white 96
    hues (L)    dark 28, middling 52, light 78
    hues (h)    `HUES`, around the circle

Each cell of each grid of a pyramid is a histogram; all of them together sum to 1. Colours are
looked up by the first 5 bits of each channel.
"""

from functools import cache

import numpy as np

from fieldguide._check import check_number
from fieldguide._jit import jit
from fieldguide.features.transformer import Column, ImageTransformer, check_levels, shrink

HUES = {
    "red": 38.0, "orange": 65.0, "yellow": 95.0, "yellow-green": 118.0, "green": 142.0,
    "turquoise": 190.0, "sky blue": 245.0, "blue": 298.0, "purple": 322.0, "pink": 355.0,
}  # fmt: skip
CHROMAS = {"grey": 0.0, "dull": 22.0, "vivid": 55.0}
GREYS = {"black": 8.0, "dark grey": 30.0, "grey": 53.0, "light grey": 76.0, "white": 96.0}
LIGHTNESSES = {"dark ": 28.0, "": 52.0, "light ": 78.0}
EVERYDAY = {
    "dark dull orange": "brown",
    "dull orange": "light brown",
    "light dull orange": "beige",
}
_SYSTEMATIC = [
    f"{lightness}{chroma} {hue}"
    for chroma in list(CHROMAS)[1:]
    for lightness in LIGHTNESSES
    for hue in HUES
]
COLOUR_NAMES = (*GREYS, *(EVERYDAY.get(name, name) for name in _SYSTEMATIC))
MOST_CELLS = 16
QUARTERS = ("top left", "top right", "bottom left", "bottom right")


class ColorHistogram(ImageTransformer):
    """Histograms of named colours in a pyramid of grids, one row per image; rows sum to 1.

    Parameters
    ----------
    levels : tuple of int
        Cells per side of each grid.
    max_side_px : int
        Larger pictures are first shrunk to this longer side.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features import ColorHistogram
    >>> colours = ColorHistogram(levels=(1, 2))
    >>> red = np.full((1, 40, 40, 3), (190, 30, 30), np.uint8)
    >>> row = colours.fit_transform(red)[0]
    >>> colours.get_feature_names_out()[row.argmax()]
    'vivid red'
    >>> colours.get_feature_names_out()[-65]
    'black in the bottom right'
    """

    def __init__(
        self,
        levels: tuple[int, ...] = (1, 2, 4),
        *,
        max_side_px: int = 96,
        n_jobs: int | None = 1,
    ) -> None:
        self.levels = levels
        self.max_side_px = max_side_px
        self.n_jobs = n_jobs

    def _check_arguments(self) -> None:
        owner = "ColorHistogram"
        check_levels(owner, self.levels, MOST_CELLS, "(1, 2, 4)")
        check_number(owner, "max_side_px", self.max_side_px, 16, 4096, integer=True)

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        rgb = np.ascontiguousarray(shrink(pixels, self.max_side_px))
        bins, shares = colour_table()
        parts = []
        for n in self.levels:
            counts = np.zeros((n, n, len(COLOUR_NAMES)))
            count_colours(rgb, bins, shares, counts)
            parts.append(counts.ravel())
        row = np.concatenate(parts)
        row /= row.sum()
        return row.astype(np.float32)

    def _columns(self) -> list[Column]:
        columns = []
        for n in self.levels:
            for i in range(n * n):
                row, column = divmod(i, n)
                place = f"row {row + 1}, column {column + 1} of {n}×{n}"
                if n == 2:
                    place = f"the {QUARTERS[i]}"
                window = (column / n, row / n, (column + 1) / n, (row + 1) / n)
                ending = f" in {place}" if n > 1 else ""
                columns += [Column(f"{colour}{ending}", window) for colour in COLOUR_NAMES]
        return columns


def to_lab(rgb: np.ndarray) -> np.ndarray:
    """Return the CIE Lab coordinates (n, 3) of sRGB colours (n, 3) in [0, 1], under D65."""
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    to_xyz = np.array(
        [
            [0.412453, 0.357580, 0.180423],
            [0.212671, 0.715160, 0.072169],
            [0.019334, 0.119193, 0.950227],
        ]
    )
    xyz = linear @ (to_xyz / to_xyz.sum(axis=1, keepdims=True)).T  # white is (1, 1, 1)
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = root.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


def share_colours(lab: np.ndarray) -> np.ndarray:
    """Return the share of each named colour in each colour, (n, n_names); rows sum to 1."""
    lightness, chroma = lab[:, 0], np.hypot(lab[:, 1], lab[:, 2])
    hue = np.degrees(np.arctan2(lab[:, 2], lab[:, 1]))
    how_vivid = _share(chroma, list(CHROMAS.values()))
    greys = how_vivid[:, :1] * _share(lightness, list(GREYS.values()))
    lights = _share(lightness, list(LIGHTNESSES.values()))
    centres = np.array(list(HUES.values()))
    around = np.concatenate([[centres[-1] - 360], centres, [centres[0] + 360]])
    hues = _share((hue - around[0]) % 360 + around[0], list(around))
    hues[:, [-2, 1]] += hues[:, [0, -1]]
    colours = np.einsum("nc,nl,nh->nclh", how_vivid[:, 1:], lights, hues[:, 1:-1])
    return np.concatenate([greys, colours.reshape(len(lab), -1)], axis=1)


def _share(values: np.ndarray, centres: list[float]) -> np.ndarray:
    """Return the weight of each centre (n, k) in a linear interpolation at each value."""
    return np.stack([np.interp(values, centres, one) for one in np.eye(len(centres))], axis=1)


@cache
def colour_table() -> tuple[np.ndarray, np.ndarray]:
    """Return up to 8 bins and their shares for each colour of 5 bits a channel, (32768, 8)."""
    levels = (np.arange(32) * 8 + 3.5) / 255  # the middle of 8 values
    rgb = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 3)
    shares = share_colours(to_lab(rgb))
    most = 8
    bins = np.argsort(-shares, axis=1, kind="stable")[:, :most]
    return bins.astype(np.int32), np.take_along_axis(shares, bins, axis=1)


@jit
def count_colours(
    rgb: np.ndarray, bins: np.ndarray, shares: np.ndarray, counts: np.ndarray
) -> None:
    """Add the shares of each pixel of uint8 ``rgb`` (h, w, 3) to ``counts`` (r, q, bins)."""
    height, width = rgb.shape[:2]
    n_rows, n_columns = counts.shape[:2]
    for y in range(height):
        row = y * n_rows // height
        for x in range(width):
            column = x * n_columns // width
            red, green, blue = rgb[y, x, 0] >> 3, rgb[y, x, 1] >> 3, rgb[y, x, 2] >> 3
            code = (np.int64(red) << 10) | (np.int64(green) << 5) | np.int64(blue)
            for k in range(shares.shape[1]):
                share = shares[code, k]
                if share == 0:
                    break
                counts[row, column, bins[code, k]] += share

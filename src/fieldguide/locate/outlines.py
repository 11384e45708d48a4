"""The outline of a found part: a coarse field brought to the edges of its picture, then polygons.

Points are in shares of the picture's width and height: 0, 0 is its upper left corner. A part with
a hole has two rings, to be filled by the even-odd rule.

Edges are found by the guided filter. In every window the field is taken for a linear function of
the picture's colours,

    q = a · I + b,    a = (Σ + ε I)⁻¹ cov(I, p),    b = mean(p) − a · mean(I),

and a pixel gets the mean of the functions of all windows that hold it. Where colours change, the
field may change; where they do not, it is smooth.

Reference: K. He, J. Sun, X. Tang, "Guided image filtering", ECCV (2010).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import ndimage
from scipy.ndimage import uniform_filter

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument


def follow_edges(
    field: np.ndarray, image: Any, *, radius_px: int = 6, smoothness: float = 1e-3
) -> np.ndarray:
    """Return a field that changes where the picture does.

    Parameters
    ----------
    field : array of shape (height, width)
    image : uint8 array of shape (height, width, 3), or a Pillow image of that size
    radius_px : int
        Of the windows.
    smoothness : float
        Variance of colours, in [0, 1], below which a change of colour is no edge.

    Returns
    -------
    ndarray of shape (height, width), float64

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import follow_edges
    >>> picture = np.zeros((20, 20, 3), dtype=np.uint8)
    >>> picture[:, 12:] = 255
    >>> field = np.tile(np.clip((np.arange(20) - 5) / 10, 0, 1), (20, 1))
    >>> found = follow_edges(field, picture, radius_px=4)
    >>> bool(found[10, 12] - found[10, 11] > 3 * (field[10, 12] - field[10, 11]))
    True
    """
    colours = np.asarray(image, dtype=np.float64) / 255
    field = np.asarray(field, dtype=np.float64)
    if field.ndim != 2 or colours.shape != (*field.shape, 3):
        raise InvalidArgument(
            f"field of follow_edges must have the picture's shape; got {field.shape} for a picture "
            f"of {colours.shape}."
        )
    check_number("follow_edges", "radius_px", radius_px, 1, 10_000, integer=True)
    check_number("follow_edges", "smoothness", smoothness, 0, 1)
    size = 2 * radius_px + 1

    def mean(values: np.ndarray) -> np.ndarray:
        smooth: np.ndarray = uniform_filter(values, size, mode="nearest")
        return smooth

    means = np.stack([mean(colours[..., c]) for c in range(3)], axis=-1)
    field_mean = mean(field)
    covariance = np.empty((*field.shape, 3, 3))
    for c in range(3):
        for d in range(c, 3):
            together = mean(colours[..., c] * colours[..., d]) - means[..., c] * means[..., d]
            covariance[..., c, d] = covariance[..., d, c] = together
    covariance += max(smoothness, 1e-9) * np.eye(3)
    shared = np.stack([mean(colours[..., c] * field) for c in range(3)], axis=-1)
    shared -= means * field_mean[..., None]
    slope = np.linalg.solve(covariance, shared[..., None])[..., 0]
    offset = field_mean - (slope * means).sum(axis=-1)
    slopes = np.stack([mean(slope[..., c]) for c in range(3)], axis=-1)
    followed: np.ndarray = (slopes * colours).sum(axis=-1) + mean(offset)
    return followed


Ring = tuple[tuple[float, float], ...]

_SMOOTHING = 0.01  # of the longer side: the steps of pixels go, the shape stays
_TOLERANCE = 0.003  # of the longer side: how far a polygon may leave the outline
_LEAST_AREA = 0.002  # of the picture: smaller rings are crumbs
_DIGITS = 3


def trace_outlines(mask: np.ndarray) -> tuple[Ring, ...]:
    """Return the rings around the true pixels of a mask, largest first; at least one if any is.

    Parameters
    ----------
    mask : ndarray of shape (height, width), bool

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import trace_outlines
    >>> mask = np.zeros((100, 200), bool)
    >>> mask[:, :100] = True
    >>> (ring,) = trace_outlines(mask)
    >>> xs, ys = zip(*ring)
    >>> [round(value, 2) for value in (min(xs), max(xs), min(ys), max(ys))]
    [0.0, 0.5, 0.0, 1.0]
    """
    from skimage.measure import find_contours

    mask = np.asarray(mask)
    if mask.ndim != 2 or mask.dtype != bool or not mask.size:
        raise InvalidArgument(
            "mask of trace_outlines must be bool of shape (height, width); got "
            f"{mask.dtype} of shape {mask.shape}."
        )
    if not mask.any():
        return ()
    longest = max(mask.shape)
    # Whatever touches the border goes on beyond it while it is smoothed, then is cut off there.
    margin = int(np.ceil(4 * _SMOOTHING * longest)) + 1
    wide = np.pad(mask, margin, mode="edge").astype(np.float64)
    smooth = ndimage.gaussian_filter(wide, _SMOOTHING * longest)[margin:-margin, margin:-margin]
    rings = _trace(smooth, find_contours)
    kept = [ring for area, ring in rings if area >= _LEAST_AREA * mask.size]
    if not kept:  # a part so small that smoothing wipes it out, or a crumb
        rings = _trace(mask.astype(np.float64), find_contours)
        kept = [rings[0][1]]
    return tuple(_to_shares(ring, mask.shape) for ring in kept)


def ring_area(ring: np.ndarray) -> float:
    """Return the area inside a ring of points (n, 2).

    Examples
    --------
    >>> import numpy as np
    >>> ring_area(np.array([[0, 0], [4, 0], [4, 2], [0, 2], [0, 0]]))
    8.0
    """
    x, y = np.asarray(ring, dtype=np.float64).T
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def _trace(
    values: np.ndarray, find_contours: Callable[..., list[np.ndarray]]
) -> list[tuple[float, np.ndarray]]:
    """Return (area in pixels, points as x, y) of each ring where values cross a half."""
    # Two pixels of nothing around, so that rings close; what lies beyond the border is cut off.
    framed = np.pad(values, 2)
    rings = []
    for contour in find_contours(framed, 0.5):
        points = contour[:, ::-1] - 1.5  # pixel k covers k to k + 1
        points = np.clip(points, 0, np.array(values.shape[::-1]))
        smaller = _thin(points, _TOLERANCE * max(values.shape))
        rings.append((ring_area(points), smaller if len(smaller) > 3 else points))
    return sorted(rings, key=lambda pair: -pair[0])


def _thin(points: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the points that a line needs to stay within ``tolerance`` of all (Douglas, Peucker).

    That of scikit-image would load all of scipy.signal, a fifth of a second.
    """
    kept = np.zeros(len(points), dtype=bool)
    kept[[0, -1]] = True
    pending = [(0, len(points) - 1)]
    while pending:
        start, end = pending.pop()
        along = points[end] - points[start]
        apart = points[start + 1 : end] - points[start]
        length = max(float(along @ along), 1e-300)
        place = np.clip(apart @ along / length, 0, 1)
        distance = np.linalg.norm(apart - place[:, None] * along, axis=1)
        if len(distance) and distance.max() > tolerance:
            middle = start + 1 + int(distance.argmax())
            kept[middle] = True
            pending += [(start, middle), (middle, end)]
    return points[kept]


def _to_shares(points: np.ndarray, shape: tuple[int, int]) -> Ring:
    shares = (points / np.array(shape[::-1])).round(_DIGITS)
    return tuple((float(x), float(y)) for x, y in shares[:-1])  # the last is the first

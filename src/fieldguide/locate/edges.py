"""Bring a coarse field over a picture to the edges of the picture: the guided filter.

In every window the field is taken for a linear function of the picture's colours,

    q = a · I + b,    a = (Σ + ε I)⁻¹ cov(I, p),    b = mean(p) − a · mean(I),

and a pixel gets the mean of the functions of all windows that hold it. Where colours change, the
field may change; where they do not, it is smooth.

Reference: K. He, J. Sun, X. Tang, "Guided image filtering", ECCV (2010).
"""

from typing import Any

import numpy as np
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
        return uniform_filter(values, size, mode="nearest")

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
    return (slopes * colours).sum(axis=-1) + mean(offset)

"""Principal components: the directions in which rows differ most."""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh


class Components(NamedTuple):
    """Result of :func:`find_components`.

    Examples
    --------
    >>> X = np.array([[0.0, 1], [2, 1], [4, 1]], dtype=np.float32)
    >>> found = find_components(X, 1)
    >>> found.mean, found.axes.round(3)
    (array([2., 1.]), array([[1., 0.]], dtype=float32))
    """

    mean: np.ndarray  # (d,)
    axes: np.ndarray  # (p, d), orthonormal rows, largest variance first


def find_components(X: np.ndarray, n_components: int) -> Components:
    """Return the axes of largest variance: at most as many as there are columns, and rows less one.

    The covariance is decomposed in the smaller of its two forms.

    Parameters
    ----------
    X : array of shape (n, d), float32
    n_components : int
        Number of axes.

    Examples
    --------
    >>> import numpy as np
    >>> find_components(np.array([[0.0, 1], [2, 1], [4, 1]], dtype=np.float32), 1).axes.round(3)
    array([[1., 0.]], dtype=float32)
    """
    n, d = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    rows = X - mean.astype(np.float32)
    count = max(1, min(n_components, d, n - 1))
    if d <= n:
        spread = (rows.T @ rows).astype(np.float64)
        axes = eigh(spread, subset_by_index=(d - count, d - 1))[1].T[::-1]
    else:
        spread = (rows @ rows.T).astype(np.float64)
        values, vectors = eigh(spread, subset_by_index=(n - count, n - 1))
        axes = (vectors.T @ rows)[::-1]
        length = np.linalg.norm(axes, axis=1, keepdims=True)
        # A direction without variance has no axis: its column is 0 for every picture.
        is_real = values[::-1, None] > 1e-6 * max(values[-1], 1e-300)
        axes = np.where(is_real, axes / np.maximum(length, 1e-300), 0.0)
    # Each with its largest entry positive: the same on every machine.
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = np.where(largest < 0, -axes, axes)
    return Components(mean, np.ascontiguousarray(axes, dtype=np.float32))

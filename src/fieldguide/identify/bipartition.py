"""Two groups of classes or rows that are alike within: spectral bipartition.

The normalised cut of an affinity A into two groups is relaxed to the second smallest eigenvector
of the normalised Laplacian, I − D^(−½) A D^(−½); the cut point along it with the least normalised
cut wins.

Reference: J. Shi, J. Malik, "Normalized cuts and image segmentation", IEEE Transactions on Pattern
Analysis and Machine Intelligence 22 (2000).
"""

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

_DENSE = 400  # above, only two eigenvectors are looked for


def bipartition(affinity: np.ndarray, least_share: float = 0.0) -> np.ndarray:
    """Return True for the rows of the second group; both groups have members.

    Parameters
    ----------
    affinity : ndarray of shape (n, n)
        Symmetric, not negative; n at least 2.
    least_share : float
        Of the rows, that the smaller group has at least; up to 0.5.
    """
    n = len(affinity)
    if n == 2:
        return np.array([False, True])
    A = np.asarray(affinity, dtype=np.float64)
    degree = np.maximum(A.sum(axis=1), 1e-12)
    root = 1 / np.sqrt(degree)
    normalised = A * root[:, None] * root
    if n <= _DENSE:
        vectors = eigh(normalised, subset_by_index=(n - 2, n - 1))[1]
    else:
        start = np.linspace(1, 2, n)  # the same on every run
        vectors = eigsh(normalised, k=2, which="LA", v0=start)[1]
    order = np.argsort(vectors[:, 0] * root, kind="stable")
    return _best_cut(A, degree, order, max(1, int(least_share * n)))


def likeness(distance: np.ndarray) -> np.ndarray:
    """Return exp(−distance / mean distance), the affinity of what has distances only, (n, n)."""
    mean = distance.mean()
    return np.exp(-distance / mean) if mean > 0 else np.ones_like(distance)


def _best_cut(A: np.ndarray, degree: np.ndarray, order: np.ndarray, least: int) -> np.ndarray:
    """Return the second group of the cut along ``order`` with the least normalised cut."""
    sorted_A = A[np.ix_(order, order)]
    mass = np.cumsum(degree[order])
    # Affinity within the first k rows: twice what lies below the diagonal, and the diagonal.
    lower = np.tril(sorted_A, -1).sum(axis=1)
    within = np.cumsum(2 * lower + np.diag(sorted_A))
    cut = mass[:-1] - within[:-1]
    rest = mass[-1] - mass[:-1]
    value = cut / np.maximum(mass[:-1], 1e-12) + cut / np.maximum(rest, 1e-12)
    # Among nearly equal cuts the one in the middle, so that the groups are even.
    n = len(A)
    uneven = np.abs(np.arange(1, n) - n / 2) / n
    allowed = np.arange(least, n - least + 1)  # rows of the first group
    k = int(allowed[np.argmin((np.round(value, 9) + 1e-9 * uneven)[allowed - 1])])
    second = np.zeros(n, dtype=bool)
    second[order[k:]] = True
    return second

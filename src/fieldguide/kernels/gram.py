"""Exact kernel matrices of rows.

    chi2               Σ 2xz/(x+z)                                        (0 where both are 0)
    intersection       Σ min(x, z)
    jensen_shannon     Σ x/2·log2((x+z)/x) + z/2·log2((x+z)/z)
    hellinger          Σ √(xz)
    exponential_chi2   exp(−γ Σ (x−z)²/(x+z))
    rbf                exp(−γ Σ (x−z)²)

All but the last take histograms: values that are not negative. As (x−z)²/(x+z) = x + z − 4xz/(x+z),
only bins that both rows have cost anything. Sums run in float64 and in the order of the bins.

Reference: A. Vedaldi, A. Zisserman, "Efficient additive kernels via explicit feature maps",
IEEE Transactions on Pattern Analysis and Machine Intelligence 34 (2012).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from fieldguide.kernels.blocks import default_gamma, fill_kernel, kernel_blocks

__all__ = [
    "KERNELS",
    "chi2_kernel",
    "default_gamma",
    "exponential_chi2_kernel",
    "hellinger_kernel",
    "intersection_kernel",
    "jensen_shannon_kernel",
    "kernel_blocks",
    "rbf_kernel",
]


def chi2_kernel(
    X: Any,
    Y: Any = None,
    *,
    dtype: Any = None,
    out: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return Σ 2xz/(x+z) for every pair of rows.

    Parameters
    ----------
    X : array or sparse array of shape (m, D)
        Histograms, float32 or float64; other numbers become float64.
    Y : array or sparse array of shape (n, D), optional
        ``X`` itself by default, which takes half the time.
    dtype : {float32, float64}, optional
        Of the result; by default float32 if all input is, otherwise float64.
    out : ndarray of shape (m, n), optional
        Where to write. A ``numpy.memmap`` is written once, from its first row to its last, so
        that it can be larger than memory.
    n_jobs : int, optional
        Threads; the result is the same for any number.

    Returns
    -------
    K : ndarray of shape (m, n)

    Examples
    --------
    >>> from fieldguide.kernels import chi2_kernel
    >>> chi2_kernel([[1, 0], [1, 3]])
    array([[1., 1.],
           [1., 4.]])
    """
    return fill_kernel("chi2", X, Y, dtype=dtype, out=out, n_jobs=n_jobs)


def intersection_kernel(
    X: Any,
    Y: Any = None,
    *,
    dtype: Any = None,
    out: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return Σ min(x, z) for every pair of rows, shape (m, n); arguments as of `chi2_kernel`.

    Examples
    --------
    >>> from fieldguide.kernels import intersection_kernel
    >>> intersection_kernel([[1, 0], [1, 3]], [[4, 2]])
    array([[1.],
           [3.]])
    """
    return fill_kernel("intersection", X, Y, dtype=dtype, out=out, n_jobs=n_jobs)


def jensen_shannon_kernel(
    X: Any,
    Y: Any = None,
    *,
    dtype: Any = None,
    out: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return Σ x/2·log2((x+z)/x) + z/2·log2((x+z)/z), shape (m, n); arguments as of `chi2_kernel`.

    It is 1 minus the Jensen–Shannon divergence in bits where both rows sum to 1.

    Examples
    --------
    >>> from fieldguide.kernels import jensen_shannon_kernel
    >>> jensen_shannon_kernel([[1, 0], [0.5, 0.5]]).round(3)
    array([[1.   , 0.689],
           [0.689, 1.   ]])
    """
    return fill_kernel("jensen_shannon", X, Y, dtype=dtype, out=out, n_jobs=n_jobs)


def hellinger_kernel(
    X: Any,
    Y: Any = None,
    *,
    dtype: Any = None,
    out: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return Σ √(xz) for every pair of rows, shape (m, n); arguments as of `chi2_kernel`.

    Examples
    --------
    >>> from fieldguide.kernels import hellinger_kernel
    >>> hellinger_kernel([[1, 0], [4, 9]])
    array([[ 1.,  2.],
           [ 2., 13.]])
    """
    return fill_kernel("hellinger", X, Y, dtype=dtype, out=out, n_jobs=n_jobs)


def exponential_chi2_kernel(
    X: Any,
    Y: Any = None,
    *,
    gamma: float | None = None,
    dtype: Any = None,
    out: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return exp(−γ Σ (x−z)²/(x+z)) for every pair of rows, shape (m, n).

    ``gamma`` is by default :func:`default_gamma` of the training rows: ``Y`` if it is given,
    otherwise ``X``. The other arguments are those of `chi2_kernel`.

    Examples
    --------
    >>> from fieldguide.kernels import default_gamma, exponential_chi2_kernel
    >>> train, test = [[1, 0], [0, 1], [1, 1]], [[2, 1]]
    >>> gamma = default_gamma(train)  # once; 1 / mean distance
    >>> exponential_chi2_kernel(test, train, gamma=gamma).round(3)
    array([[0.368, 0.223, 0.779]])
    """
    return fill_kernel("exponential_chi2", X, Y, gamma=gamma, dtype=dtype, out=out, n_jobs=n_jobs)


def rbf_kernel(
    X: Any,
    Y: Any = None,
    *,
    gamma: float | None = None,
    dtype: Any = None,
    out: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return exp(−γ Σ (x−z)²) for every pair of rows, shape (m, n); values may be negative.

    ``gamma`` is by default :func:`default_gamma` of the training rows: ``Y`` if it is given,
    otherwise ``X``. The other arguments are those of `chi2_kernel`.

    Examples
    --------
    >>> from fieldguide.kernels import rbf_kernel
    >>> rbf_kernel([[0.0], [1.0]], gamma=1.0).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """
    return fill_kernel("rbf", X, Y, gamma=gamma, dtype=dtype, out=out, n_jobs=n_jobs)


KERNELS: dict[str, Callable[..., np.ndarray]] = {
    "chi2": chi2_kernel,
    "intersection": intersection_kernel,
    "jensen_shannon": jensen_shannon_kernel,
    "hellinger": hellinger_kernel,
    "exponential_chi2": exponential_chi2_kernel,
    "rbf": rbf_kernel,
}

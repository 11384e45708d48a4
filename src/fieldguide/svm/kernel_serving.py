"""One row against many kernel functions, without checks, for serving.

    f_c(x) = Σ_i coef_ci K(x, z_i) + b_c        z_i: the pool, the support rows of all functions

Every kernel value is computed once for all functions, in one compiled pass over the pool. Additive
kernels meet the pool bin by bin, whole columns at once, so that bins that are 0 in the row cost
nothing; "rbf" sums squared differences row by row, which loses no digits however close rows are.
Values are those of :mod:`fieldguide.kernels` to single precision.
"""

from typing import Any

import numpy as np

from fieldguide._check import check_choice, check_number
from fieldguide._jit import inner_jit, jit
from fieldguide.errors import InvalidArgument
from fieldguide.kernels._compiled import DOT, JENSEN_SHANNON, sum_dense
from fieldguide.kernels._pairs import DEFINITIONS
from fieldguide.svm._kernels import dot_single

_FAST = {"reassoc", "contract", "nsz"}


class FastKernelScorer:
    """Functions of a kernel over one pool of support rows, evaluated one row at a time.

    Parameters
    ----------
    kernel : str
        A name of :data:`fieldguide.kernels.KERNELS`.
    gamma : float or None
        Of "exponential_chi2" and "rbf"; None for the others.
    pool : ndarray of shape (m, n_features)
        Support rows; those that no function uses are left out.
    coef : ndarray of shape (n_classes, m), or (m,) for two classes
    intercept : ndarray of shape (n_classes,), or one number for two classes
    classes : ndarray, optional
        What :meth:`predict_one` answers; numbers 0, 1, … by default.

    Examples
    --------
    >>> from fieldguide.svm import FastKernelScorer, KernelSVM
    >>> svm = KernelSVM(C=10.0).fit([[0, 0], [0, 0.1], [1, 0], [0, 1]], ["in", "in", "out", "out"])
    >>> scorer = FastKernelScorer(
    ...     *("rbf", svm.gamma_, svm.support_vectors_, svm.dual_coef_, svm.intercept_, svm.classes_)
    ... )
    >>> str(scorer.predict_one(np.array([0.9, 0.1], dtype=np.float32)))
    'out'
    """

    def __init__(
        self, kernel: str, gamma: float | None, pool: Any, coef: Any, intercept: Any,
        classes: Any = None,
    ) -> None:  # fmt: skip
        check_choice("FastKernelScorer", "kernel", kernel, tuple(DEFINITIONS))
        self._kernel = DEFINITIONS[kernel]
        if self._kernel.is_distance:
            check_number("FastKernelScorer", "gamma", gamma, 1e-12, 1e12)
        pool = np.asarray(pool, dtype=np.float32)
        self.is_binary = np.ndim(coef) == 1
        coef = np.atleast_2d(np.asarray(coef, dtype=np.float32))
        intercept = np.atleast_1d(np.asarray(intercept, dtype=np.float32))
        if pool.ndim != 2 or coef.shape[1:] != pool.shape[:1] or intercept.shape != coef.shape[:1]:
            raise InvalidArgument(
                f"pool must be (rows, features), coef (classes, rows) and intercept (classes,) of "
                f"FastKernelScorer; got {pool.shape}, {coef.shape} and {intercept.shape}."
            )
        if not all(np.isfinite(a).all() for a in (pool, coef, intercept)):
            raise InvalidArgument(
                "pool, coef or intercept of FastKernelScorer holds NaN or infinity; train again."
            )
        if self._kernel.is_histogram and (pool < 0).any():
            raise InvalidArgument(
                f"pool of FastKernelScorer must not be negative for the {kernel} kernel; "
                "give the rows that the functions were trained on."
            )
        used = coef.any(axis=0)
        pool = pool[used]
        self.n_pool = len(pool)
        self.coef, self.intercept = np.ascontiguousarray(coef[:, used]), intercept
        n_classes = 2 if self.is_binary else len(coef)
        self.classes = np.arange(n_classes) if classes is None else np.asarray(classes)
        self._gamma = float(gamma) if self._kernel.is_distance and gamma is not None else 0.0
        self._weights = pool.sum(axis=1, dtype=np.float64)
        if self._kernel.is_rooted:
            pool = np.sqrt(pool)
        self._is_by_rows = self._kernel.op == DOT
        self._pool = np.ascontiguousarray(pool if self._is_by_rows else pool.T)
        needs_logs = self._kernel.op == JENSEN_SHANNON
        self._logs = _log2(self._pool) if needs_logs else np.zeros((1, 1))

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return the kernel of one row, a contiguous float32 array (n_features,), with the pool.

        Nothing is checked.
        """
        out = np.zeros(self.n_pool)
        kernel = self._kernel
        if self._is_by_rows:
            row = np.sqrt(x) if kernel.is_rooted else x
            _fill_by_rows(self._pool, row, kernel.is_distance, self._gamma, out)
        else:
            logs = _log2(x)[None] if kernel.op == JENSEN_SHANNON else self._logs
            sum_dense(x[None], logs, self._pool, self._logs, kernel.op, 0, out[None])
            weight = float(x.sum(dtype=np.float64)) if kernel.is_distance else 0.0
            _finish(self._weights, weight, kernel.scale, kernel.is_distance, self._gamma, out)
        return out

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return every function at one row, (n_classes,); for two classes (1,)."""
        scores: np.ndarray = self.coef @ self.values(x).astype(np.float32) + self.intercept
        return scores

    def best(self, x: np.ndarray) -> int:
        """Return the number of the class: of the largest function, or 1 for a positive one."""
        scores = self.scores(x)
        return int(scores[0] > 0) if self.is_binary else int(scores.argmax())

    def predict_one(self, x: np.ndarray) -> Any:
        """Return the class of one row."""
        return self.classes[self.best(x)]


def _log2(values: np.ndarray) -> np.ndarray:
    """Return log2 in double precision, 0 for the value 0."""
    logs = np.zeros(values.shape)
    np.log2(values, out=logs, where=values > 0, dtype=np.float64)
    return logs


@inner_jit(fastmath=_FAST)
def _square_distance(z: np.ndarray, x: np.ndarray) -> np.floating[Any]:
    total = np.float32(0)
    for k in range(x.shape[0]):
        gap = z[k] - x[k]
        total += gap * gap
    return total


@jit
def _fill_by_rows(
    pool: np.ndarray, x: np.ndarray, is_distance: bool, gamma: float, out: np.ndarray
) -> None:
    """Write x·z or exp(−γ|x − z|²) of every row z of the pool (m, D) to out. O(m · D)."""
    for i in range(pool.shape[0]):
        if is_distance:
            out[i] = np.exp(-gamma * float(_square_distance(pool[i], x)))
        else:
            out[i] = dot_single(pool[i], x)


@jit
def _finish(
    weights: np.ndarray,
    weight: float,
    scale: float,
    is_distance: bool,
    gamma: float,
    out: np.ndarray,
) -> None:
    """Turn sums over bins into kernel values in place. O(m)."""
    for i in range(out.shape[0]):
        if is_distance:
            out[i] = np.exp(-gamma * max(weight + weights[i] - scale * out[i], 0.0))
        else:
            out[i] *= scale

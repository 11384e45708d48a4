"""The functions of a key: linear ones, or kernel expansions over one shared pool of rows.

    linear   f_j(x) = w_j·x + b_j
    kernel   f_j(x) = Σ_s β_js κ(x, z_s) + b_j,    z_s a row of the pool

Every training row that supports any function is in the pool once, so a row to predict costs one
kernel value for each row of the pool that its functions use, however many functions use it.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from fieldguide._saving import (
    FLOATS,
    INTEGERS,
    Array,
    Either,
    Field,
    Number,
    OneOf,
    OrNone,
    Part,
    Rows,
    Size,
)
from fieldguide.errors import InvalidArgument
from fieldguide.kernels import KERNELS

WITH_GAMMA = ("exponential_chi2", "rbf")
SIGNED = ("linear", "rbf", "precomputed")  # the others take histograms
_ROWS_PER_BLOCK = 1024


class LinearFunctions(NamedTuple):
    """Functions w_j·x + b_j.

    Examples
    --------
    >>> functions = LinearFunctions(np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([0.0, 0.5]))
    >>> functions.evaluate(np.array([[2.0, 3.0]])).tolist()
    [[2.0, -2.5]]
    """

    coef: np.ndarray  # (n_functions, n_features) float32
    intercept: np.ndarray  # (n_functions,) float32

    def evaluate(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """Return every function at every row, (n, n_functions)."""
        values: np.ndarray = X @ self.coef.T + self.intercept
        return values

    def count_evaluations(self, used: csr_array) -> np.ndarray:
        """Return the number of functions that each row uses; ``used`` is (n, n_functions)."""
        return np.diff(used.indptr)

    @property
    def n_features(self) -> int:
        """Columns of the rows to predict."""
        n_features: int = self.coef.shape[1]
        return n_features


class KernelFunctions(NamedTuple):
    """Functions Σ_s β_js κ(x, z_s) + b_j over one pool of rows z.

    Examples
    --------
    >>> coef = csr_array([[1.0, -1.0]])
    >>> pool = np.array([[0.0], [2.0]])
    >>> functions = KernelFunctions("rbf", 1.0, pool, np.arange(2), coef, np.zeros(1), 1)
    >>> functions.evaluate(np.array([[0.0], [1.0], [2.0]])).ravel().round(2)
    array([ 0.98,  0.  , -0.98])
    """

    kernel: str
    gamma: float | None
    pool: Any  # (n_pool, n_features) array or csr_array; None for a precomputed kernel
    support: np.ndarray  # (n_pool,) the training rows in the pool
    coef: csr_array  # (n_functions, n_pool)
    intercept: np.ndarray  # (n_functions,)
    n_features: int  # columns of the rows to predict

    def evaluate(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """Return every function at every row, (n, n_functions)."""
        out = np.empty((X.shape[0], len(self.intercept)), dtype=np.float64)
        weights = self.coef.T.tocsr()
        for start in range(0, X.shape[0], _ROWS_PER_BLOCK):
            block = slice(start, start + _ROWS_PER_BLOCK)
            values = self._kernel_values(X[block], n_jobs)
            out[block] = (weights.T @ values.T.astype(np.float64)).T + self.intercept
        return out

    def count_evaluations(self, used: csr_array) -> np.ndarray:
        """Return the distinct kernel values that each row needs; ``used`` is (n, n_functions)."""
        pattern = csr_array(
            (np.ones(self.coef.nnz, dtype=np.int64), self.coef.indices, self.coef.indptr),
            shape=self.coef.shape,
        )
        return np.diff((used.astype(np.int64) @ pattern).indptr)

    def _kernel_values(self, X: Any, n_jobs: int | None) -> np.ndarray:
        if self.pool is None:
            values: np.ndarray = X[:, self.support]
            return values
        if not len(self.support):
            return np.empty((X.shape[0], 0))
        return kernel_matrix(self.kernel, self.gamma, X, self.pool, n_jobs=n_jobs)


Functions = LinearFunctions | KernelFunctions


def kernel_matrix(
    kernel: str, gamma: float | None, X: Any, Y: Any = None, *, n_jobs: int | None = None
) -> np.ndarray:
    """Return the kernel of each pair of rows of X and Y, or of X and X."""
    options = {"gamma": gamma} if kernel in WITH_GAMMA else {}
    return KERNELS[kernel](X, Y, n_jobs=n_jobs, **options)


def pool_functions(
    kernel: str, gamma: float | None, X: Any, beta: csr_array, intercept: np.ndarray
) -> KernelFunctions:
    """Return functions of signed dual variables ``beta``, (n_functions, n), over all rows X.

    Rows without any coefficient are left out. ``X`` is the Gram matrix if it is precomputed.
    """
    beta = csr_array(beta)
    beta.eliminate_zeros()
    support = np.unique(beta.indices)
    columns = np.searchsorted(support, beta.indices)
    coef = csr_array((beta.data, columns, beta.indptr), shape=(beta.shape[0], len(support)))
    pool = None if kernel == "precomputed" else X[support]
    return KernelFunctions(
        kernel, gamma, pool, support, coef, np.asarray(intercept, dtype=np.float64), X.shape[1]
    )


def check_kernel_functions(**parts: Any) -> KernelFunctions:
    """Return kernel functions whose parts are known to fit together."""
    functions = KernelFunctions(**parts)
    kernel, pool, support = functions.kernel, functions.pool, functions.support
    if kernel in WITH_GAMMA and functions.gamma is None:
        raise InvalidArgument(f"The kernel {kernel!r} needs a gamma.")
    if (pool is None) != (kernel == "precomputed"):
        raise InvalidArgument("All kernels but 'precomputed' need a pool.")
    if pool is None and support.max(initial=-1) >= functions.n_features:
        raise InvalidArgument(f"support must be below {functions.n_features}.")
    check_pool(kernel, pool)
    return functions


def check_pool(kernel: str, pool: Any) -> None:
    """Refuse rows that a kernel of histograms is not for."""
    values = pool.data if issparse(pool) else pool
    if values is not None and kernel not in SIGNED and values.min(initial=0) < 0:
        raise InvalidArgument(f"The {kernel} kernel is for rows that are not negative.")


def functions_field(*, apart: bool = False) -> Either:
    """Return the field of :data:`Functions`; ``apart`` if rows are mapped before they see them."""
    rows: Any = Rows("n_pool", "n_features")
    kernel: dict[str, Field] = {
        "kernel": OneOf(*KERNELS, "precomputed"),
        "gamma": OrNone(Number(above=0)),
        "pool": OrNone(rows),
        "support": Array(INTEGERS, "n_pool", low=0),
        "coef": Rows("n_functions", "n_pool", always_sparse=True),
        "intercept": Array("float64", "n_functions"),
        "n_features": Size("n_features"),
    }
    return Either(
        Part(LinearFunctions, LINEAR, apart=apart),
        Part(KernelFunctions, kernel, check_kernel_functions, apart=apart),
    )


LINEAR: dict[str, Field] = {
    "coef": Array(FLOATS, "n_functions", "n_features"),
    "intercept": Array(FLOATS, "n_functions"),
}

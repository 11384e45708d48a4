"""The functions of a key: linear ones, or kernel expansions over one shared pool of rows.

    linear   f_j(x) = w_j·x + b_j
    kernel   f_j(x) = Σ_s β_js κ(x, z_s) + b_j,    z_s a row of the pool

Every training row that supports any function is in the pool once, so a row to predict costs one
kernel value for each row of the pool that its functions use, however many functions use it.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from fieldguide._check import InvalidArgument
from fieldguide.kernels import KERNELS

WITH_GAMMA = ("exponential_chi2", "rbf")
_ROWS_PER_BLOCK = 1024

State = tuple[dict[str, np.ndarray], dict[str, Any]]


class LinearFunctions(NamedTuple):
    """Functions w_j·x + b_j."""

    coef: np.ndarray  # (n_functions, n_features) float32
    intercept: np.ndarray  # (n_functions,) float32

    def evaluate(self, X: Any, n_jobs: int = 1) -> np.ndarray:
        """Return every function at every row, (n, n_functions)."""
        return X @ self.coef.T + self.intercept

    def count_evaluations(self, used: csr_array) -> np.ndarray:
        """Return the number of functions that each row uses; ``used`` is (n, n_functions)."""
        return np.diff(used.indptr)

    @property
    def n_features(self) -> int:
        """Columns of the rows to predict."""
        return self.coef.shape[1]

    def to_state(self) -> State:
        """Return the functions as arrays and as values that JSON can hold."""
        return {"coef": self.coef, "intercept": self.intercept}, {"kernel": "linear"}


class KernelFunctions(NamedTuple):
    """Functions Σ_s β_js κ(x, z_s) + b_j over one pool of rows z."""

    kernel: str
    gamma: float | None
    pool: Any  # (n_pool, n_features) array or csr_array; None for a precomputed kernel
    support: np.ndarray  # (n_pool,) the training rows in the pool
    coef: csr_array  # (n_functions, n_pool)
    intercept: np.ndarray  # (n_functions,)
    n_features: int  # columns of the rows to predict

    def evaluate(self, X: Any, n_jobs: int = 1) -> np.ndarray:
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

    def to_state(self) -> State:
        """Return the functions as arrays and as values that JSON can hold."""
        arrays = {
            "intercept": self.intercept,
            "support": self.support,
            **_split("coef", self.coef),
        }
        if issparse(self.pool):
            arrays |= _split("pool", self.pool)
        elif self.pool is not None:
            arrays["pool"] = self.pool
        settings = {"kernel": self.kernel, "gamma": self.gamma, "n_features": self.n_features}
        return arrays, settings

    def _kernel_values(self, X: Any, n_jobs: int) -> np.ndarray:
        if self.pool is None:
            return X[:, self.support]
        if not len(self.support):
            return np.empty((X.shape[0], 0))
        return kernel_matrix(self.kernel, self.gamma, X, self.pool, n_jobs=n_jobs)


Functions = LinearFunctions | KernelFunctions


def kernel_matrix(
    kernel: str, gamma: float | None, X: Any, Y: Any = None, *, n_jobs: int = 1
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


def read_functions(arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Functions:
    """Make functions from what ``to_state`` returned; refuse what does not fit together."""
    if settings["kernel"] == "linear":
        coef, intercept = arrays["coef"], arrays["intercept"]
        if coef.ndim != 2 or intercept.shape != coef.shape[:1]:
            raise InvalidArgument("The arrays of the linear functions do not fit together.")
        _check_finite(coef, intercept)
        return LinearFunctions(coef, intercept)
    kernel, n_features = settings["kernel"], int(settings["n_features"])
    if kernel not in (*KERNELS, "precomputed"):
        raise InvalidArgument(f"There is no kernel {kernel!r}.")
    support, intercept = arrays["support"], arrays["intercept"]
    gamma = settings["gamma"] if settings["gamma"] is None else float(settings["gamma"])
    if kernel in WITH_GAMMA and not (gamma is not None and 0 < gamma < np.inf):
        raise InvalidArgument(f"The kernel {kernel!r} needs a positive gamma; got {gamma!r}.")
    if support.ndim != 1 or intercept.ndim != 1 or not np.issubdtype(support.dtype, np.integer):
        raise InvalidArgument("The arrays of the kernel functions do not fit together.")
    coef = _join("coef", arrays, len(intercept), len(support))
    pool: Any = None
    if kernel == "precomputed":
        if len(support) and not 0 <= support.min() <= support.max() < n_features:
            raise InvalidArgument("A support row of the kernel functions lies outside the matrix.")
    elif "pool" in arrays:
        pool = arrays["pool"]
        if pool.shape != (len(support), n_features):
            raise InvalidArgument("The pool of the kernel functions has the wrong shape.")
        _check_finite(pool)
    else:
        pool = _join("pool", arrays, len(support), n_features)
    _check_finite(intercept)
    return KernelFunctions(kernel, gamma, pool, support, coef, intercept, n_features)


def _split(name: str, matrix: csr_array) -> dict[str, np.ndarray]:
    parts = {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    return {f"{name}_{part}": values for part, values in parts.items()}


def _join(name: str, arrays: dict[str, np.ndarray], n_rows: int, n_columns: int) -> csr_array:
    """Return a CSR matrix whose parts are known to fit together."""
    data, indices, indptr = (arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    is_sound = (
        all(part.ndim == 1 for part in (data, indices, indptr))
        # Signed numbers alone: differences of unsigned ones are never negative.
        and all(np.issubdtype(part.dtype, np.signedinteger) for part in (indices, indptr))
        and len(indptr) == n_rows + 1
        and indptr[0] == 0
        and (np.diff(indptr) >= 0).all()
        and len(data) == len(indices) == indptr[-1]
        and (not len(indices) or 0 <= indices.min() <= indices.max() < n_columns)
    )
    if not is_sound:
        raise InvalidArgument(f"The sparse array {name!r} of the functions is damaged.")
    _check_finite(data)
    return csr_array((data, indices, indptr), shape=(n_rows, n_columns))


def _check_finite(*arrays: np.ndarray) -> None:
    for array in arrays:
        if not np.issubdtype(array.dtype, np.floating) or not np.isfinite(array).all():
            raise InvalidArgument("The functions hold NaN, infinity or values that are not floats.")

"""The matrix that many problems share, as the compiled loops read it, and checks of its company.

Dense rows stay where they are, as one flat array; CSR rows keep their three arrays. Nothing is
copied that is already float32 or float64 and in row order.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from fieldguide.errors import InvalidArgument
from fieldguide.svm import _kernels


class Rows(NamedTuple):
    """A shared matrix as the kernels read it; made once by :func:`share_rows`.

    Examples
    --------
    >>> rows = share_rows(np.array([[3.0, 4.0], [0.0, 1.0]]))
    >>> rows.shape, rows.norms.tolist()
    ((2, 2), [25.0, 1.0])
    """

    data: np.ndarray  # the flat matrix, or the stored values of a CSR matrix
    indices: np.ndarray  # columns of the stored values, unsigned; empty if dense
    indptr: np.ndarray  # (n + 1,); empty if dense
    width: int  # number of columns if dense, else 0
    shape: tuple[int, int]
    norms: np.ndarray  # (n,) squared norms

    @property
    def layout(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """The first four arguments of every kernel."""
        return self.data, self.indices, self.indptr, self.width


def share_rows(X: Any) -> Rows:
    """Return the matrix for the solvers, without a copy where it already suits them.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
        float32 or float64, C-contiguous; anything else is converted.

    Examples
    --------
    >>> X = np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> np.shares_memory(share_rows(X).data, X)
    True
    """
    if isinstance(X, Rows):
        return X
    if issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        data, indptr = _as_float(X.data), X.indptr.astype(np.int64)
        # Unsigned columns: a compiled loop need not look for negative ones.
        indices = X.indices.view(np.uint32 if X.indices.dtype == np.int32 else np.uint64)
        width = 0
    else:
        X = np.ascontiguousarray(X)
        if X.ndim != 2:
            raise InvalidArgument(
                f"X must have two dimensions, rows and columns; got {X.ndim}: reshape it."
            )
        data, indices, indptr = _as_float(X).ravel(), np.empty(0, np.uint32), np.empty(0, np.int64)
        width = X.shape[1]
    if X.shape[1] == 0:
        raise InvalidArgument("X must have at least 1 column; got 0.")
    if not np.isfinite(data.sum(dtype=np.float64)) and not np.isfinite(data).all():
        raise InvalidArgument("X holds NaN or infinity; remove or fill those entries.")
    norms = np.empty(X.shape[0])
    _kernels.square_norms(data, indices, indptr, width, X.shape[0], norms)
    return Rows(data, indices, indptr, width, X.shape, norms)


def _as_float(values: np.ndarray) -> np.ndarray:
    if values.dtype in (np.float32, np.float64):
        return values
    return values.astype(np.float64)


def take_rows(matrix: Rows, rows: np.ndarray) -> np.ndarray:
    """Return a dense copy of some rows."""
    if matrix.width:
        taken: np.ndarray = matrix.data.reshape(matrix.shape)[rows]
        return taken
    dense = np.zeros((len(rows), matrix.shape[1]))
    for i, row in enumerate(rows):
        stored = slice(matrix.indptr[row], matrix.indptr[row + 1])
        dense[i, matrix.indices[stored]] = matrix.data[stored]
    return dense


def check_rows(rows: Any, n: int) -> np.ndarray:
    """Return row indices that are known to lie in the matrix."""
    index = np.ascontiguousarray(rows, dtype=np.int64)
    if index.ndim != 1:
        raise InvalidArgument(f"rows must be a flat list of indices; got {index.ndim} dimensions.")
    if len(index) and (index.min() < 0 or index.max() >= n):
        raise InvalidArgument(
            f"rows must lie in 0 to {n - 1}, the rows of X; got {index.min()} to {index.max()}."
        )
    return index


def check_signs(y: Any, n: int) -> np.ndarray:
    """Return labels that are known to be one of -1 and +1 for each row."""
    sign = np.ascontiguousarray(y, dtype=np.float64)
    if sign.shape != (n,):
        raise InvalidArgument(f"y must have one label for each of the {n} rows; got {sign.shape}.")
    if not (np.abs(sign) == 1).all():
        raise InvalidArgument("y must hold -1 and +1 only; map the two classes to them first.")
    return sign


def check_weights(weight: Any, n: int) -> np.ndarray:
    """Return sample weights, 1 by default, that are known to be finite and not negative."""
    if weight is None:
        return np.ones(n)
    weights = np.ascontiguousarray(weight, dtype=np.float64)
    if weights.shape != (n,):
        raise InvalidArgument(
            f"sample_weight must have one number for each of the {n} rows; got {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InvalidArgument("sample_weight must be finite and at least 0; correct those entries.")
    return weights


def balance_sides(sign: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return weights with the same sum on both sides and the same total."""
    total, positive = weight.sum(), weight[sign > 0].sum()
    mass = np.where(sign > 0, positive, total - positive)
    return np.where(mass > 0, weight * total / (2 * np.maximum(mass, 1e-300)), 0.0)

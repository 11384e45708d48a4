"""Rows that a kernel can take: checked once, dense or compressed, float32 or float64."""

from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from fieldguide.errors import InvalidArgument

Rows: TypeAlias = Any  # a C-ordered matrix or a canonical CSR array, checked


def check_rows(owner: str, name: str, X: Any, *, is_histogram: bool) -> Rows:
    """Return ``X`` as a float array or a canonical CSR array, or refuse it with one sentence.

    Float16 and float32 become float32, every other type float64; values are not copied where
    they need not be. A CSR array that comes back has sorted columns and no stored zeros.
    """
    rows: Rows = _to_csr(owner, name, X) if sparse.issparse(X) else _to_dense(owner, name, X)
    values: Any = rows.data if sparse.issparse(rows) else rows
    if values.size:
        least, largest = values.min(), values.max()  # NaN comes through both; no temporary array
        if not (np.isfinite(least) and np.isfinite(largest)):
            value, row, column = _first(rows, lambda v: ~np.isfinite(v))
            raise InvalidArgument(
                f"{name} of {owner} holds {value} at row {row}, column {column}; every value must "
                "be a finite number: fill it in or leave the row out."
            )
        if is_histogram and least < 0:
            value, row, column = _first(rows, lambda v: v < 0)
            raise InvalidArgument(
                f"{name} of {owner} holds {value:g} at row {row}, column {column}; histograms "
                "have no negative values: clip them, or use rbf_kernel."
            )
    return rows


def check_pair(owner: str, X: Rows, Y: Rows) -> tuple[Rows, Rows]:
    """Return both in one number type, or refuse different numbers of columns."""
    if X.shape[1] != Y.shape[1]:
        raise InvalidArgument(
            f"X and Y of {owner} must have the same number of columns; "
            f"got {X.shape[1]} and {Y.shape[1]}."
        )
    common = np.result_type(X.dtype, Y.dtype)
    return X.astype(common, copy=False), Y.astype(common, copy=False)


def is_sparse(rows: Rows) -> bool:
    """Say whether the rows are compressed."""
    return bool(sparse.issparse(rows))


def count_in_columns(rows: Rows) -> np.ndarray:
    """Return the number of non-zero values of each column, shape (D,), float64."""
    if is_sparse(rows):
        return np.bincount(rows.indices, minlength=rows.shape[1]).astype(np.float64)
    counts = np.zeros(rows.shape[1])
    for low in range(0, len(rows), 4096):
        counts += np.count_nonzero(rows[low : low + 4096], axis=0)
    return counts


def compress(rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row starts (int64), columns (int32 where they fit) and values (float64)."""
    csr = rows if is_sparse(rows) else sparse.csr_array(rows)
    narrow = np.int32 if rows.shape[1] < 2**31 else np.int64
    return (
        csr.indptr.astype(np.int64),
        csr.indices.astype(narrow, copy=False),
        csr.data.astype(np.float64, copy=False),
    )


def _to_dense(owner: str, name: str, X: Any) -> np.ndarray:
    try:
        array = np.asarray(X)
    except ValueError:
        raise InvalidArgument(
            f"{name} of {owner} must be a matrix; its rows have different lengths."
        ) from None
    return np.ascontiguousarray(_check_matrix(owner, name, array))


def _to_csr(owner: str, name: str, X: Any) -> sparse.csr_array:
    given = _check_matrix(owner, name, X)
    rows = sparse.csr_array(given)
    is_theirs = X.format == "csr" and np.shares_memory(rows.data, X.data)
    if not rows.has_sorted_indices or not rows.has_canonical_format or (rows.data == 0).any():
        rows = rows.copy() if is_theirs else rows  # what follows changes the arrays in place
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def _check_matrix(owner: str, name: str, X: Any) -> Any:
    if X.ndim != 2:
        raise InvalidArgument(
            f"{name} of {owner} must be a matrix of rows × columns; got shape {X.shape}: "
            "reshape one row to (1, n) or one column to (n, 1)."
        )
    if X.shape[1] == 0:
        raise InvalidArgument(f"{name} of {owner} must have at least one column; got none.")
    if X.dtype == object:
        with suppress(TypeError, ValueError):
            X = X.astype(np.float64)
    if X.dtype.kind not in "fiub":
        raise InvalidArgument(f"{name} of {owner} must hold real numbers; got type {X.dtype}.")
    is_narrow = X.dtype.kind == "f" and X.dtype.itemsize <= 4
    return X.astype(np.float32 if is_narrow else np.float64, copy=False)


def _first(rows: Rows, is_bad: Any) -> tuple[Any, int, int]:
    """Return the first bad value with its row and column."""
    if is_sparse(rows):
        at = int(np.flatnonzero(is_bad(rows.data))[0])
        row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
        return rows.data[at], row, int(rows.indices[at])
    row, column = (int(place) for place in np.argwhere(is_bad(rows))[0])
    return rows[row, column], row, column

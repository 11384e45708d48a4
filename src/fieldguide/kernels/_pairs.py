"""Sums over bins for blocks of row pairs, by the cheapest of three ways.

    SparsePairs    bins index the rows that have them; only common non-zero bins cost
    DensePairs     a row against 128 others at once in vector registers; its zeros are free
    ProductPairs   scalar products by BLAS

The number of common non-zero bins is known exactly before anything is summed (the counts of each
column multiply), so :func:`choose_pairs` compares the costs and takes the least.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from fieldguide._arrays import Ints
from fieldguide.kernels import _compiled
from fieldguide.kernels._compiled import CHI2, DOT, INTERSECTION, JENSEN_SHANNON
from fieldguide.kernels._rows import Rows, compress, count_in_columns, is_sparse

# One common bin met through the index costs as much as this many bins met in vector registers
# (for DOT: in BLAS). Measured on one core of a Xeon at 2.8 GHz, 3,000 rows of 1,000 bins.
INDEX_COST = {CHI2: 3.5, INTERSECTION: 5.0, JENSEN_SHANNON: 4.0, DOT: 40.0}

# Squared distances below this share of the squared norms have lost half of their digits.
CLOSE = 1e-7

# Compressed rows with a smaller share of non-zeros are never spread out, to spare memory.
LEAST_SPREAD_DENSITY = 0.25


@dataclass(frozen=True)
class Kernel:
    """What a kernel is made of.

    Without ``is_distance`` it is scale · Σ term; with it exp(−γd), d = w(x) + w(z) − scale · Σ term
    where w is Σx, or Σx² for scalar products.
    """

    op: int
    scale: float
    is_distance: bool = False
    is_histogram: bool = True
    is_rooted: bool = False


DEFINITIONS = {
    "chi2": Kernel(CHI2, 2.0),
    "intersection": Kernel(INTERSECTION, 1.0),
    "jensen_shannon": Kernel(JENSEN_SHANNON, 0.5),
    "hellinger": Kernel(DOT, 1.0, is_rooted=True),
    "exponential_chi2": Kernel(CHI2, 4.0, is_distance=True),
    "rbf": Kernel(DOT, 2.0, is_distance=True, is_histogram=False),
}


class Pairs(ABC):
    """Rows X (m, D) against rows Y (n, D); with ``is_half``, X = Y and only j ≥ i is asked for."""

    def __init__(self, X: Rows, Y: Rows, kernel: Kernel, is_half: bool) -> None:
        self.X, self.Y, self.kernel, self.is_half = X, Y, kernel, is_half
        self.shape = (X.shape[0], Y.shape[0])
        if kernel.is_distance:
            self.weights = self.weigh(X)
            self.other_weights = self.weights if X is Y else self.weigh(Y)

    def chunk_rows(self) -> int:
        """Return how many rows to sum at a time: a buffer of about 2 MB, never of n_jobs."""
        return int(np.clip(2**18 // max(self.shape[1], 1), 8, 64))

    def sums(self, low: int, high: int) -> np.ndarray:
        """Return Σ term for rows low to high, columns from ``low`` (``is_half``) or 0."""
        start = low if self.is_half else 0
        sums = np.zeros((high - low, self.shape[1] - start))
        self.add(low, high, start, sums)
        return sums

    def distances(self, low: int, high: int) -> np.ndarray:
        """Return the distances of the same pairs as :meth:`sums`."""
        distances = self.sums(low, high)
        start = self.shape[1] - distances.shape[1]
        _compiled.to_distances(
            distances, self.weights[low:high], self.other_weights[start:], self.kernel.scale
        )
        return distances

    def values(self, low: int, high: int, gamma: float | None) -> np.ndarray:
        """Return the kernel of the same pairs as :meth:`sums`, float64."""
        if not self.kernel.is_distance:
            values = self.sums(low, high)
            values *= self.kernel.scale
            return values
        assert gamma is not None
        values = self.distances(low, high)
        with np.errstate(over="ignore", under="ignore"):  # far enough apart is 0
            values *= -gamma
            np.exp(values, out=values)
        return values

    @abstractmethod
    def weigh(self, rows: Rows) -> np.ndarray:
        """Return w of each row, shape (n,)."""

    @abstractmethod
    def add(self, low: int, high: int, start: int, sums: np.ndarray) -> None:
        """Add the terms of rows low to high and columns from ``start`` to ``sums``."""


class SparsePairs(Pairs):
    """Through an index from bins to rows."""

    def __init__(self, X: Rows, Y: Rows, kernel: Kernel, is_half: bool) -> None:
        self.indptr, self.indices, self.data = self._root(compress(X), kernel)
        indptr, indices, data = (
            (self.indptr, self.indices, self.data) if X is Y else self._root(compress(Y), kernel)
        )
        n_entries = len(data)
        starts = np.zeros(X.shape[1] + 1, dtype=np.int64)
        self.rows: Ints = np.empty(n_entries, np.int32 if Y.shape[0] < 2**31 else np.int64)
        self.columns = np.empty(n_entries)
        places = np.empty(n_entries, dtype=np.int64)
        _compiled.index_columns(indptr, indices, data, starts, self.rows, self.columns, places)
        self.ends = starts[1:]
        # Where X = Y the entry itself is the first of its column that is not in an earlier row.
        self.firsts = places if is_half else starts[self.indices]
        self.other_indptr, self.other_data = indptr, data
        is_logged = kernel.op == JENSEN_SHANNON
        self.logs = np.log2(self.data) if is_logged else self.data
        self.column_logs = np.log2(self.columns) if is_logged else self.columns
        super().__init__(X, Y, kernel, is_half)

    @staticmethod
    def _root(
        rows: tuple[np.ndarray, np.ndarray, np.ndarray], kernel: Kernel
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (*rows[:2], np.sqrt(rows[2])) if kernel.is_rooted else rows

    def weigh(self, rows: Rows) -> np.ndarray:
        """Return Σx or Σx² of each row."""
        is_first = rows is self.X
        indptr = self.indptr if is_first else self.other_indptr
        data = self.data if is_first else self.other_data
        weights = np.empty(rows.shape[0])
        _compiled.weigh_sparse(indptr, data, self.kernel.op == DOT, weights)
        return weights

    def add(self, low: int, high: int, start: int, sums: np.ndarray) -> None:
        """Add the terms of common bins."""
        _compiled.sum_sparse(
            low,
            self.indptr,
            self.indices,
            self.data,
            self.logs,
            self.firsts,
            self.ends,
            self.rows,
            self.columns,
            self.column_logs,
            self.kernel.op,
            start,
            sums,
        )


class DensePairs(Pairs):
    """A row against a transposed tile of others; neither X nor Y is copied as a whole."""

    tile_rows = 128

    def weigh(self, rows: Rows) -> np.ndarray:
        """Return Σx of each row."""
        weights = np.empty(len(rows))
        _compiled.weigh_dense(rows, weights)
        return weights

    def add(self, low: int, high: int, start: int, sums: np.ndarray) -> None:
        """Add the terms tile by tile."""
        X = self.X[low:high].astype(np.float64)
        logs = self._log(X)
        for left in range(start, self.shape[1], self.tile_rows):
            tile = self.Y[left : left + self.tile_rows].T.astype(np.float64, order="C")
            _compiled.sum_dense(X, logs, tile, self._log(tile), self.kernel.op, left - start, sums)

    def _log(self, values: np.ndarray) -> np.ndarray:
        if self.kernel.op != JENSEN_SHANNON:
            return values
        logs = np.zeros_like(values)
        np.log2(values, out=logs, where=values > 0)
        return logs


class ProductPairs(Pairs):
    """Scalar products by BLAS, in float64, of rows moved to the mean of Y for distances.

    Moving both sides changes no distance, and keeps far-off data from losing digits.
    """

    tile_rows = 1024

    def __init__(self, X: Rows, Y: Rows, kernel: Kernel, is_half: bool) -> None:
        self.centre = np.zeros(Y.shape[1])
        if kernel.is_distance and len(Y):
            self.centre = Y.mean(axis=0, dtype=np.float64)
        super().__init__(X, Y, kernel, is_half)

    def chunk_rows(self) -> int:
        """Return more rows than the other ways: BLAS wants wide blocks."""
        return int(np.clip(2**21 // max(self.shape[1], 1), 16, 256))

    def weigh(self, rows: Rows) -> np.ndarray:
        """Return Σx² of each row."""
        weights = np.empty(len(rows))
        for low in range(0, len(rows), self.tile_rows):
            part = self._prepare(rows[low : low + self.tile_rows])
            weights[low : low + self.tile_rows] = np.einsum("ik,ik->i", part, part)
        return weights

    def add(self, low: int, high: int, start: int, sums: np.ndarray) -> None:
        """Add the products tile by tile."""
        X = self._prepare(self.X[low:high])
        for left in range(start, self.shape[1], self.tile_rows):
            tile = self._prepare(self.Y[left : left + self.tile_rows])
            sums[:, left - start : left - start + len(tile)] = X @ tile.T

    def distances(self, low: int, high: int) -> np.ndarray:
        """Return the distances; those of near-equal rows from the differences themselves."""
        distances = super().distances(low, high)
        start = low if self.is_half else 0
        _compiled.redo_close(
            self.X[low:high],
            self.Y[start:],
            self.weights[low:high],
            self.other_weights[start:],
            CLOSE,
            distances,
        )
        return distances

    def _prepare(self, rows: np.ndarray) -> np.ndarray:
        rows = rows.astype(np.float64)
        return np.sqrt(rows, out=rows) if self.kernel.is_rooted else rows - self.centre


def choose_pairs(X: Rows, Y: Rows, kernel: Kernel, *, is_half: bool) -> Pairs:
    """Return the cheapest way to sum the pairs of ``X`` and ``Y``."""
    counts = count_in_columns(X)
    other_counts = counts if X is Y else count_in_columns(Y)
    n_common = float(counts @ other_counts)
    n_met = float(X.shape[1] * X.shape[0] if kernel.op == DOT else counts.sum()) * Y.shape[0]
    n_values = max(X.shape[1] * (X.shape[0] + Y.shape[0]), 1)
    is_thin = (counts.sum() + other_counts.sum()) / n_values < LEAST_SPREAD_DENSITY
    must_stay = is_thin and (is_sparse(X) or is_sparse(Y))
    if must_stay or n_common * INDEX_COST[kernel.op] <= n_met:
        return SparsePairs(X, Y, kernel, is_half)
    spread = X.toarray() if is_sparse(X) else X
    other = spread if X is Y else Y.toarray() if is_sparse(Y) else Y
    return (ProductPairs if kernel.op == DOT else DensePairs)(spread, other, kernel, is_half)

"""Features as a few levels: every column cut once, so that no node of a tree sorts again.

    level of x in a column = number of the column's cuts ≤ x

A column with at most 64 distinct values keeps them all; one with more is cut into 64 parts of
about equal numbers of rows, a value that many rows share being a part of its own. Levels are
ordered as the values are, so that a question "is the level at least v?" is the question "is the
value at least cut v − 1?".
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from fieldguide._check import check_number
from fieldguide._jit import jit
from fieldguide._parallel import map_in_order

MAX_LEVELS = 64
_COLUMNS = 64  # cut together: a strip of a row is one line of the cache


class Binned(NamedTuple):
    """Rows as levels, with the cuts between them; made by :func:`bin_features`."""

    levels: np.ndarray  # (n, d) uint8; rows lie together, because nodes are lists of rows
    cuts: np.ndarray  # (d, 63) float64, ascending; inf where a column has fewer

    def value(self, feature: Any, level: Any) -> np.ndarray:
        """Return the least value of a feature that has at least this level, −inf for level 0."""
        feature, level = np.asarray(feature), np.asarray(level)
        return np.where(level > 0, self.cuts[feature, np.maximum(level, 1) - 1], -np.inf)


def bin_features(X: Any, n_levels: int = MAX_LEVELS, *, n_jobs: int | None = None) -> Binned:
    """Return the rows as levels.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Finite numbers.
    n_levels : int
        Most levels of a column, 2 to 64.
    n_jobs : int, optional
        Threads.

    Examples
    --------
    >>> binned = bin_features(np.array([[0.0, 5.0], [1.0, 5.0], [4.0, 5.0]]))
    >>> binned.levels.tolist()
    [[0, 0], [1, 0], [2, 0]]
    >>> binned.value(0, [1, 2]).tolist()
    [0.5, 2.5]
    """
    check_number("bin_features", "n_levels", n_levels, 2, MAX_LEVELS, integer=True)
    X = X.tocsc() if issparse(X) else np.asarray(X)
    n, d = X.shape
    levels = np.zeros((n, d), dtype=np.uint8)
    cuts = np.full((d, MAX_LEVELS - 1), np.inf)

    def cut_strip(first: int) -> None:
        strip = X[:, first : first + _COLUMNS]
        strip = strip.toarray() if issparse(strip) else strip
        dtype = np.float32 if strip.dtype == np.float32 else np.float64
        columns = np.ascontiguousarray(strip.T, dtype=dtype)
        own = cuts[first : first + _COLUMNS]
        choose_cuts(np.sort(columns, axis=1), n_levels - 1, own)
        find_levels(columns, own, levels[:, first : first + _COLUMNS])

    list(map_in_order(cut_strip, range(0, d, _COLUMNS), n_jobs=n_jobs))
    return Binned(levels, cuts)


@jit
def choose_cuts(ordered: np.ndarray, most: int, cuts: np.ndarray) -> None:
    """Write at most so many cuts of columns, (d, n) with ascending rows; O(d × n).

    A part is closed where it holds its share of the rows that are left, so that the parts after a
    frequent value are as even as without it; no cut is left unused while values could be parted.
    """
    d, n = ordered.shape
    for j in range(d):
        n_steps = 0  # places where a cut is possible
        for i in range(1, n):
            n_steps += ordered[j, i] > ordered[j, i - 1]
        made, start = 0, 0
        for i in range(1, n):
            if made == most:
                break
            if ordered[j, i] > ordered[j, i - 1]:
                is_full = (i - start) * (most + 1 - made) >= n - start
                if is_full or n_steps <= most - made:
                    low, high = float(ordered[j, i - 1]), float(ordered[j, i])
                    middle = 0.5 * low + 0.5 * high
                    cuts[j, made] = middle if middle > low else high
                    made += 1
                    start = i
                n_steps -= 1


@jit
def find_levels(columns: np.ndarray, cuts: np.ndarray, levels: np.ndarray) -> None:
    """Write the level of each value, (n, d) from columns (d, n); O(d × n × log levels).

    The six steps have no branch: values come in no order, and half the guesses would be wrong.
    """
    d, n = columns.shape
    for j in range(d):
        own = cuts[j]
        for i in range(n):
            value = float(columns[j, i])
            level = 32 * (own[31] <= value)
            level += 16 * (own[level + 15] <= value)
            level += 8 * (own[level + 7] <= value)
            level += 4 * (own[level + 3] <= value)
            level += 2 * (own[level + 1] <= value)
            level += own[level] <= value
            levels[i, j] = level

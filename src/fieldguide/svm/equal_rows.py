"""Rows that are the same, as one row with their weight, in an order that the rows alone decide.

A problem with a row twice is the problem with the row once at twice the weight, and the order of
the rows means nothing. Solvers that stop at a gap see neither; handed the rows in this form, they
give exactly the same solution. One pass over the matrix, one sort of numbers.
"""

from typing import NamedTuple

import numpy as np

from fieldguide._jit import jit
from fieldguide.svm import _kernels
from fieldguide.svm.shared_rows import Rows


class Groups(NamedTuple):
    """Result of :func:`group_rows`."""

    rows: np.ndarray  # (n_groups,) one row of each group
    sign: np.ndarray  # (n_groups,)
    weight: np.ndarray  # (n_groups,) total weight
    member: np.ndarray  # (n,) group of each row; -1 for rows of weight 0
    share: np.ndarray  # (n,) share of each row in the weight of its group

    def gather(self, alpha: np.ndarray) -> np.ndarray:
        """Return the dual variable of each group from those of the rows."""
        used = self.member >= 0
        return np.bincount(self.member[used], weights=alpha[used], minlength=len(self.rows))

    def spread(self, alpha: np.ndarray) -> np.ndarray:
        """Return a dual variable for each row from those of the groups, of the same value."""
        return np.where(self.member >= 0, alpha[self.member] * self.share, 0.0)


def group_rows(matrix: Rows, sign: np.ndarray, weight: np.ndarray) -> Groups:
    """Join equal rows of equal sign, leave out rows of weight 0, and sort what is left."""
    n, d = matrix.shape
    probe = np.append(np.random.default_rng(0).normal(size=d), 0.0).astype(matrix.data.dtype)
    key = np.empty(n)
    _kernels.evaluate(*matrix.layout, np.arange(n), 0.0, probe, key)
    used = np.flatnonzero(weight > 0)
    order = used[np.lexsort((key[used], sign[used]))]
    is_new = np.ones(len(order), dtype=np.bool_)
    _mark_new(*matrix.layout, order, key, sign, is_new)
    group = np.cumsum(is_new) - 1
    total = np.bincount(group, weights=weight[order], minlength=int(is_new.sum()))
    member, share = np.full(n, -1, dtype=np.int64), np.zeros(n)
    member[order] = group
    share[order] = weight[order] / total[group]
    first = order[is_new]
    return Groups(first, sign[first], total, member, share)


@jit
def _mark_new(
    data: np.ndarray,
    indices: np.ndarray,
    indptr: np.ndarray,
    width: int,
    order: np.ndarray,
    key: np.ndarray,
    sign: np.ndarray,
    is_new: np.ndarray,
) -> None:
    """Clear the mark of every row that equals the one before it. O(non-zeros of equal keys)."""
    for p in range(1, order.shape[0]):
        a, b = order[p - 1], order[p]
        if key[a] != key[b] or sign[a] != sign[b]:
            continue
        a_start, a_end = a * width, (a + 1) * width
        b_start, b_end = b * width, (b + 1) * width
        if width == 0:
            a_start, a_end = indptr[a], indptr[a + 1]
            b_start, b_end = indptr[b], indptr[b + 1]
        if a_end - a_start != b_end - b_start:
            continue
        is_same = True
        for k in range(a_end - a_start):
            is_same = is_same and data[a_start + k] == data[b_start + k]
            if width == 0:
                is_same = is_same and indices[a_start + k] == indices[b_start + k]
        is_new[p] = not is_same

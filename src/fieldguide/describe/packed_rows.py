"""An attribute matrix as lists of entries, the form that the samplers read.

A row is the list of the attributes that it shows, followed by n_attributes + d for each attribute d
that is not known. A score strictly between 0 and 1 is an attribute that the row shows with some
probability: with the base rate p of the attribute, the score s is evidence

    log s / (1 - s) - log p / (1 - p)

for it, and samplers draw it along with everything else.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from fieldguide.errors import InvalidArgument

_BLOCK = 1 << 16
_SURE = 1e-6  # closer to 0 or 1 than this, a score is no longer a score


@dataclass(frozen=True)
class AttributeRows:
    """Entries of all rows.

    Attributes
    ----------
    n_attributes : int
    start, stop : ndarray of shape (n,)
        Where the entries of each row begin and end; ``stop`` changes when unsure ones are drawn.
    entries : ndarray of int32
    fixed_stop : ndarray of shape (n,)
        Where the entries end that never change.
    soft_start : ndarray of shape (n + 1,), soft : ndarray of int32
        The unsure attributes of each row, and ``evidence`` for them, in the same order.
    """

    n_attributes: int
    start: np.ndarray
    stop: np.ndarray
    entries: np.ndarray
    fixed_stop: np.ndarray
    soft_start: np.ndarray
    soft: np.ndarray
    evidence: np.ndarray

    def __len__(self) -> int:
        return len(self.start)

    def copy(self) -> "AttributeRows":
        """Return rows whose unsure entries can be drawn apart from these; the rest is shared."""
        if not len(self.soft):
            return self
        changed = {"stop": self.stop.copy(), "entries": self.entries.copy()}
        return AttributeRows(**{**self.__dict__, **changed})


def check_attributes(owner: str, A: Any) -> None:
    """Refuse values outside [0, 1]; NaN is allowed."""
    for begin in range(0, len(A), _BLOCK):
        block = A[begin : begin + _BLOCK]
        with np.errstate(invalid="ignore"):
            is_bad = (block < 0) | (block > 1)
        if is_bad.any():
            raise InvalidArgument(
                f"Attributes of {owner} must be in [0, 1], or NaN where unknown; got "
                f"{float(block[is_bad][0]):g}; scale scores to probabilities first."
            )


def base_rates(A: np.ndarray) -> np.ndarray:
    """Return the mean of each column over its known entries, kept off 0 and 1; 0.5 for none."""
    total = np.zeros(A.shape[1])
    known = np.zeros(A.shape[1])
    for begin in range(0, len(A), _BLOCK):
        block = A[begin : begin + _BLOCK]
        is_known = block == block
        total += np.where(is_known, block, 0).sum(axis=0, dtype=np.float64)
        known += is_known.sum(axis=0)
    return (total + 0.5) / (known + 1)


def pack_rows(A: np.ndarray, rates: np.ndarray) -> AttributeRows:
    """Turn a matrix of values in [0, 1] or NaN into lists, a block of rows at a time."""
    n, d = A.shape
    shift = np.log(rates) - np.log1p(-rates)
    lengths = np.zeros(n, dtype=np.int64)
    soft_lengths = np.zeros(n, dtype=np.int64)
    fixed, soft, evidence = [], [], []
    for begin in range(0, n, _BLOCK):
        block = A[begin : begin + _BLOCK]
        rows = slice(begin, begin + len(block))
        on = np.where(block != block, 2, block >= 1 - _SURE).astype(np.int8)
        at, column = np.nonzero(on)
        column = column.astype(np.int32)
        column[on[at, column] == 2] += d
        fixed.append(column)
        lengths[rows] = np.bincount(at, minlength=len(block))
        is_soft = (block > _SURE) & (block < 1 - _SURE)
        at, column = np.nonzero(is_soft)
        soft_lengths[rows] = np.bincount(at, minlength=len(block))
        soft.append(column.astype(np.int32))
        score = np.asarray(block[is_soft], dtype=np.float64)
        evidence.append(np.log(score) - np.log1p(-score) - shift[column])
    soft_start = np.concatenate([[0], np.cumsum(soft_lengths)])
    ends = np.cumsum(lengths + soft_lengths)
    start = ends - lengths - soft_lengths
    entries = np.concatenate(fixed) if fixed else np.zeros(0, dtype=np.int32)
    if len(soft_start) and soft_start[-1]:
        spread = np.zeros(int(ends[-1]), dtype=np.int32)
        place = np.repeat(start - (np.cumsum(lengths) - lengths), lengths)
        spread[np.arange(len(entries)) + place] = entries
        entries = spread
    return AttributeRows(
        d,
        start,
        start + lengths,
        entries,
        start + lengths,
        soft_start,
        np.concatenate(soft) if soft else np.zeros(0, dtype=np.int32),
        np.concatenate(evidence) if evidence else np.zeros(0),
    )

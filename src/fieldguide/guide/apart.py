"""What sets a kind apart: columns that it shows and others do not, true of specimens left out.

The specimens of every kind are dealt into five folds. Five times a fold is left out, and a column
is a candidate when, by the others, it is seen in at least 60 % of the kind and at least 1.5 times
as often as among those that the kind is set apart from. What is a candidate all five times is
counted: every specimen has been left out once, so that the numbers that are shown are of specimens
that did not choose. They must pass the same test, and differ by more than chance (Fisher's exact
test), since many columns are tried.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

N_FOLDS = 5
LEAST_SHARE = 0.6  # of the kind
LEAST_RATIO = 1.5  # to the share among the others
MOST_ELSEWHERE = 0.3  # share of all other kinds: what more of them show is no mark
CHANCE = 0.002  # some seventy measures are tried between two kinds


class Counts(NamedTuple):
    """How many specimens of each kind and fold there are, and how many show each column."""

    n: np.ndarray  # (n_kinds, N_FOLDS)
    shows: np.ndarray  # (n_kinds, N_FOLDS, n_columns)


class Passed(NamedTuple):
    """A column that sets a kind apart, with its held-out numbers."""

    column: int
    n_own: int  # specimens of the kind that show it
    of_own: int
    n_other: int  # of those that it is set apart from
    of_other: int

    @property
    def rise(self) -> float:
        """How much more often it is seen."""
        return self.n_own / self.of_own - self.n_other / max(self.of_other, 1)


def deal_folds(index: np.ndarray, seed: int) -> np.ndarray:
    """Return the fold of each specimen: those of every kind are dealt out in random order."""
    folds = np.zeros(len(index), dtype=np.int64)
    rng = np.random.default_rng(seed)
    for k in range(index.max(initial=-1) + 1):
        rows = rng.permutation(np.flatnonzero(index == k))
        folds[rows] = np.arange(len(rows)) % N_FOLDS
    return folds


def count_shows(shows: np.ndarray, index: np.ndarray, folds: np.ndarray) -> Counts:
    """Count what the specimens of each kind and fold show; ``index`` is −1 without a kind."""
    n_kinds = index.max(initial=-1) + 1
    known = index >= 0
    cell = index[known] * N_FOLDS + folds[known]
    n = np.bincount(cell, minlength=n_kinds * N_FOLDS)
    total = np.zeros((n_kinds * N_FOLDS, shows.shape[1]), dtype=np.int64)
    np.add.at(total, cell, shows[known])
    return Counts(n.reshape(n_kinds, N_FOLDS), total.reshape(n_kinds, N_FOLDS, -1))


def find_marks(
    counts: Counts, own: int, others: Sequence[int], most_elsewhere: float = 1.0
) -> list[Passed]:
    """Return the columns that set a kind apart from others, the largest difference first."""
    n_own, n_other = counts.n[own], counts.n[list(others)].sum(axis=0)
    in_own, in_other = counts.shows[own], counts.shows[list(others)].sum(axis=0)
    # Row f: without fold f.
    is_candidate = tell_apart(
        in_own.sum(axis=0) - in_own,
        (n_own.sum() - n_own)[:, None],
        in_other.sum(axis=0) - in_other,
        (n_other.sum() - n_other)[:, None],
    ).all(axis=0)
    x, y = in_own.sum(axis=0), in_other.sum(axis=0)
    n, m = int(n_own.sum()), int(n_other.sum())
    is_candidate &= tell_apart(x, n, y, m) & (y <= most_elsewhere * m)
    found = [Passed(int(j), int(x[j]), n, int(y[j]), m) for j in np.flatnonzero(is_candidate)]
    found = [each for each in found if compute_chance(each) <= CHANCE]
    return sorted(found, key=lambda each: (-each.rise, each.column))


def tell_apart(x: Any, n: Any, y: Any, m: Any) -> Any:
    """Whether x of n is at least 60 %, and 1.5 times y of m."""
    return (x >= LEAST_SHARE * n) & (x * m >= LEAST_RATIO * y * n) & (x > 0)


def compute_chance(passed: Passed) -> float:
    """Return how likely so large a difference is if there is none (Fisher's exact test)."""
    drawn, rest = passed.of_own, passed.of_other
    n_passed = passed.n_own + passed.n_other
    least, most = max(passed.n_own, n_passed - rest), min(drawn, n_passed)
    own = np.arange(least, most + 1)  # those that pass, as many as there are or more
    log_ways = _log_choose(drawn, own) + _log_choose(rest, n_passed - own)
    return min(float(np.exp(log_ways - _log_choose(drawn + rest, n_passed)).sum()), 1.0)


def _log_choose(n: int, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)

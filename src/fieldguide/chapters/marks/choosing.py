"""Choose the marks of a kind: what it shows and others do not, true of specimens left out.

The specimens of every kind are dealt into five folds. Five times a fold is left out, and a column
is a candidate when, by the others, it is seen in at least 60 % of the kind and at least 1.5 times
as often as among those that the kind is set apart from. What is a candidate all five times is
counted: every specimen has been left out once, so that the numbers that are shown are of specimens
that did not choose. They must pass the same test, and differ by more than chance (Fisher's exact
test), since many columns are tried.

Two kinds are compared by measures as well: with a threshold that is chosen without the fold that
is left out, "darker" is seen in a specimen, or not.

Which of them are said is in ``saying.py``.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from fieldguide.features import COLOURS, MEASURES

N_FOLDS = 5
LEAST_SHARE = 0.6  # of the kind
LEAST_RATIO = 1.5  # to the share among the others
MOST_ELSEWHERE = 0.3  # share of all other kinds: what more of them show is no mark
LEAST_RISE, LEAST_CLEAR = 0.5, 0.6  # difference of shares between two kinds, that can be seen
LEAST_COLOUR = 0.1  # share of the subject, or of its part, that can be seen
CHANCE = 0.002  # some seventy measures are tried between two kinds
PART_COST = 0.08


class Measured(NamedTuple):
    """What subjects are compared by."""

    measures: np.ndarray  # (n, n_measures), NaN without a subject
    around: np.ndarray  # (n, 11) share of each colour in the surroundings


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
    is_candidate = _tell_apart(
        in_own.sum(axis=0) - in_own,
        (n_own.sum() - n_own)[:, None],
        in_other.sum(axis=0) - in_other,
        (n_other.sum() - n_other)[:, None],
    ).all(axis=0)
    x, y = in_own.sum(axis=0), in_other.sum(axis=0)
    n, m = int(n_own.sum()), int(n_other.sum())
    is_candidate &= _tell_apart(x, n, y, m) & (y <= most_elsewhere * m)
    found = [Passed(int(j), int(x[j]), n, int(y[j]), m) for j in np.flatnonzero(is_candidate)]
    found = [each for each in found if compute_chance(each) <= CHANCE]
    return sorted(found, key=lambda each: (-each.rise, each.column))


def compare_measures(
    measured: Measured, folds: np.ndarray, own: np.ndarray, other: np.ndarray
) -> list[tuple[Passed, int, float]]:
    """Return by which measures specimens differ from others: each with its sign and threshold.

    ``own`` and ``other`` are the rows of the two kinds. ``Passed.column`` is the place in
    `MEASURES`. The threshold is that of all specimens, for new images. Of a colour that is
    hardly seen, or that the surroundings have more of too, nothing is said.
    """
    measures, around = measured
    own = own[np.isfinite(measures[own]).all(axis=1)]
    other = other[np.isfinite(measures[other]).all(axis=1)]
    if min(len(own), len(other)) < N_FOLDS:
        return []
    found = []
    medians, lent = (
        np.median(values[own], axis=0) - np.median(values[other], axis=0)
        for values in (measures, around)
    )
    for j, measure in enumerate(MEASURES):
        sign = 1 if medians[j] > 0 else -1
        if abs(medians[j]) < measure.least or (sign < 0 and not measure.less):
            continue
        if measure.colour and (
            np.median(measures[own, j]) < LEAST_COLOUR
            or lent[COLOURS.index(measure.colour)] >= measure.least / 2
        ):
            continue
        u, v = sign * measures[own, j], sign * measures[other, j]
        # Who has more of a colour has some of it to see.
        floor = LEAST_COLOUR if measure.colour else -np.inf
        n_own = n_other = 0
        for fold in range(N_FOLDS):
            is_left, others_left = folds[own] == fold, folds[other] == fold
            cut = max(_choose_cut(u[~is_left], v[~others_left]), floor)
            n_own += int((u[is_left] > cut).sum())
            n_other += int((v[others_left] > cut).sum())
        passed = Passed(j, n_own, len(own), n_other, len(other))
        is_true = _tell_apart(n_own, len(own), n_other, len(other))
        if is_true and passed.rise >= LEAST_CLEAR and compute_chance(passed) <= CHANCE:
            found.append((passed, sign, sign * max(_choose_cut(u, v), floor)))
    # A part of the subject is named only where it tells clearly more than the whole.
    return sorted(
        found,
        key=lambda each: (
            -each[0].rise + (PART_COST if MEASURES[each[0].column].part else 0),
            each[0].column,
        ),
    )


def _tell_apart(x: Any, n: Any, y: Any, m: Any) -> Any:
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


def _choose_cut(u: np.ndarray, v: np.ndarray) -> float:
    """Return the threshold that most of u and fewest of v are above; of equals the middle."""
    values = np.unique(np.concatenate([u, v]))
    if len(values) < 2:
        return float(values[0])
    cuts = (values[1:] + values[:-1]) / 2
    gains = (u[:, None] > cuts).mean(axis=0) - (v[:, None] > cuts).mean(axis=0)
    best = np.flatnonzero(gains >= gains.max() - 1e-9)
    return float(cuts[best[len(best) // 2]])

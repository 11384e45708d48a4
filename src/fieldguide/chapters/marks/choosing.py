"""Choose the marks of a kind: what it shows and others do not, true of specimens left out.

Columns are counted by the rule of :mod:`fieldguide.guide.apart`.

Two kinds are compared by measures as well: with a threshold that is chosen without the fold that
is left out, "darker" is seen in a specimen, or not.

Which of them are said is in ``saying.py``.
"""

from typing import NamedTuple

import numpy as np

from fieldguide.features import COLOURS, MEASURES
from fieldguide.guide.apart import CHANCE, N_FOLDS, Passed, compute_chance, tell_apart

LEAST_RISE, LEAST_CLEAR = 0.5, 0.6  # difference of shares between two kinds, that can be seen
LEAST_COLOUR = 0.1  # share of the subject, or of its part, that can be seen
PART_COST = 0.08


class Measured(NamedTuple):
    """What subjects are compared by."""

    measures: np.ndarray  # (n, n_measures), NaN without a subject
    around: np.ndarray  # (n, 11) share of each colour in the surroundings


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
        is_true = tell_apart(n_own, len(own), n_other, len(other))
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


def _choose_cut(u: np.ndarray, v: np.ndarray) -> float:
    """Return the threshold that most of u and fewest of v are above; of equals the middle."""
    values = np.unique(np.concatenate([u, v]))
    if len(values) < 2:
        return float(values[0])
    cuts = (values[1:] + values[:-1]) / 2
    gains = (u[:, None] > cuts).mean(axis=0) - (v[:, None] > cuts).mean(axis=0)
    best = np.flatnonzero(gains >= gains.max() - 1e-9)
    return float(cuts[best[len(best) // 2]])

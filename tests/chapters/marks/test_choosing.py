"""Marks are what sets a kind apart on specimens that did not choose them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from fieldguide.chapters.marks.choosing import Measured, compare_measures
from fieldguide.features import COLOURS, MEASURES
from fieldguide.guide.apart import (
    CHANCE,
    LEAST_RATIO,
    LEAST_SHARE,
    N_FOLDS,
    count_shows,
    deal_folds,
    find_marks,
)


def draw(seed, n_kinds=4, n_columns=12):
    rng = np.random.default_rng(seed)
    index = rng.integers(-1, n_kinds, 90)
    index[:n_kinds] = np.arange(n_kinds)
    rates = rng.random((n_kinds + 1, n_columns)) ** 2
    return rng.random((90, n_columns)) < rates[index], index, deal_folds(index, seed)


def find_naively(shows, index, folds, own, others, most):
    """The rule as it is written, one column and fold at a time."""
    found = []
    is_own, is_other = index == own, np.isin(index, others)
    for j in range(shows.shape[1]):

        def passes(where, j=j):
            a, b = shows[is_own & where, j], shows[is_other & where, j]
            x, y = a.sum() * len(b), b.sum() * len(a)
            return a.sum() >= LEAST_SHARE * len(a) and a.sum() > 0 and x >= LEAST_RATIO * y

        everywhere = np.ones(len(index), bool)
        if not all(passes(folds != f) for f in range(N_FOLDS)) or not passes(everywhere):
            continue
        x, n, y, m = (int(v) for v in (shows[is_own, j].sum(), is_own.sum(),
                                       shows[is_other, j].sum(), is_other.sum()))  # fmt: skip
        chance = fisher_exact([[x, n - x], [y, m - y]], "greater")[1]
        if y <= most * m and chance <= CHANCE:
            found.append((j, x, n, y, m))
    return sorted(found, key=lambda f: (-(f[1] / f[2] - f[3] / f[4]), f[0]))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.3, 1.0]))
def test_marks_are_those_of_the_rule(seed, most):
    shows, index, folds = draw(seed)
    counts = count_shows(shows, index, folds)
    for own, others in ((0, [1, 2, 3]), (1, [2]), (3, [0, 1])):
        expected = find_naively(shows, index, folds, own, others, most)
        assert [tuple(each) for each in find_marks(counts, own, others, most)] == expected


def test_columns_of_chance_are_no_marks():
    """Of 400 columns that have nothing to do with the kinds, hardly one passes."""
    n_passed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        index = np.arange(80) % 2
        shows = rng.random((80, 400)) < rng.uniform(0.2, 0.8, 400)
        counts = count_shows(shows, index, deal_folds(index, seed))
        n_passed += len(find_marks(counts, 0, [1]))
    assert n_passed <= 20 * 400 * CHANCE


def test_every_kind_is_dealt_into_folds_alike():
    index = np.repeat([0, 1, 2, -1], [23, 5, 2, 4])
    folds = deal_folds(index, 0)
    for k, n in ((0, 23), (1, 5), (2, 2)):
        counts = np.bincount(folds[index == k], minlength=N_FOLDS)
        assert counts.sum() == n
        assert counts.max() - counts.min() <= 1
    np.testing.assert_array_equal(folds, deal_folds(index, 0))
    assert not np.array_equal(folds, deal_folds(index, 1))


def draw_measures(seed, n=20):
    rng = np.random.default_rng(seed)
    measures = rng.normal(size=(2 * n, len(MEASURES))).astype(np.float32)
    measures[:, :55] *= 0.1
    measures[:, :55] += 0.3
    around = np.full((2 * n, len(COLOURS)), 0.1, np.float32)
    index = np.repeat([0, 1], n)
    return measures, around, index, deal_folds(index, seed)


def test_what_was_planted_is_found_either_way():
    measures, around, index, folds = draw_measures(0)
    paler = [m.more for m in MEASURES].index("paler")
    patterned = [m.more for m in MEASURES].index("more patterned")
    measures[index == 0, paler] += 30
    measures[index == 0, patterned] -= 30
    own, other = np.flatnonzero(index == 0), np.flatnonzero(index == 1)
    found = compare_measures(Measured(measures, around), folds, own, other)
    assert [(p.column, sign) for p, sign, _ in found] == [(paler, 1), (patterned, -1)]
    for passed, sign, cut in found:
        assert passed.n_own / passed.of_own >= 0.6
        side = sign * (measures[:, passed.column] - cut) > 0
        assert side[own].mean() - side[other].mean() > 0.9
    back = compare_measures(Measured(measures, around), folds, other, own)
    assert [(p.column, sign) for p, sign, _ in back] == [(paler, -1), (patterned, 1)]


def test_measures_of_chance_are_no_marks():
    n_found = 0
    for seed in range(200):
        measures, around, index, folds = draw_measures(seed)
        rows = np.flatnonzero(index == 0), np.flatnonzero(index == 1)
        n_found += len(compare_measures(Measured(30 * measures, around), folds, *rows))
    assert n_found <= 200 * len(MEASURES) * CHANCE


def test_a_colour_of_the_surroundings_is_not_of_the_subject():
    measures, around, index, folds = draw_measures(2)
    white = [m.more for m in MEASURES].index("more white")
    measures[index == 0, white] += 0.5
    rows = np.flatnonzero(index == 0), np.flatnonzero(index == 1)
    (found,) = compare_measures(Measured(measures, around), folds, *rows)
    assert found[0].column == white
    around[index == 0, COLOURS.index("white")] += 0.3
    assert compare_measures(Measured(measures, around), folds, *rows) == []


def test_who_has_more_of_a_colour_has_some_to_see():
    """Half of a kind has a fifth of white, and half none, beside a kind that has less than none."""
    measures, around, index, folds = draw_measures(2)
    white = [m.more for m in MEASURES].index("more white")
    measures[:20, white] = np.where(np.arange(20) < 11, 0.2, 0.0)
    measures[20:, white] = -0.2
    rows = np.flatnonzero(index == 0), np.flatnonzero(index == 1)
    assert compare_measures(Measured(measures, around), folds, *rows) == []
    measures[:20, white] = 0.2
    ((passed, sign, cut),) = compare_measures(Measured(measures, around), folds, *rows)
    assert (passed.column, sign) == (white, 1)
    assert cut >= 0.1


def test_specimens_without_a_subject_do_not_count():
    measures, around, index, folds = draw_measures(3)
    white = [m.more for m in MEASURES].index("more white")
    measures[index == 0, white] += 0.5
    measures[:4] = np.nan
    rows = np.flatnonzero(index == 0), np.flatnonzero(index == 1)
    ((passed, _, _),) = compare_measures(Measured(measures, around), folds, *rows)
    assert (passed.of_own, passed.of_other) == (16, 20)
    measures[4:17] = np.nan
    assert compare_measures(Measured(measures, around), folds, *rows) == []


@pytest.mark.parametrize("own", [0, 1])
def test_permuting_specimens_changes_nothing(own):
    shows, index, folds = draw(5)
    order = np.random.default_rng(0).permutation(len(index))
    first = find_marks(count_shows(shows, index, folds), own, [2, 3])
    again = find_marks(count_shows(shows[order], index[order], folds[order]), own, [2, 3])
    assert first == again

"""Whether a picture is of anything that a guide knows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.guide.familiarity import ALARMS, find_threshold, measure_familiarity
from fieldguide.guide.summaries import normalise_rows
from fieldguide.guide.words import find_near


def draw(seed, n=200, n_groups=5, dim=40, spread=0.8):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(n_groups, dim))
    return normalise_rows(middles[np.arange(n) % n_groups] + spread * rng.normal(size=(n, dim)))


@given(st.integers(0, 2**32 - 1))
def test_familiarity_is_the_mean_of_the_three_nearest(seed):
    likeness = np.random.default_rng(seed).normal(size=(4, 9))
    expected = [np.mean(sorted(row)[-3:]) for row in likeness]
    np.testing.assert_allclose(measure_familiarity(likeness), expected)


def test_the_threshold_leaves_each_specimen_out():
    X = draw(0)
    naive = []
    for i in range(len(X)):
        others = np.delete(X @ X[i], i)
        naive.append(np.sort(others)[-3:].mean())
    threshold = find_threshold(X, find_near(X, 10, 0))
    assert threshold == pytest.approx(np.quantile(naive, ALARMS), abs=1e-5)


def test_new_ones_of_known_groups_pass_and_strangers_do_not():
    X = draw(1, n=600)
    known, new = X[:400], X[400:]
    threshold = find_threshold(known, find_near(known, 10, 0))
    assert (measure_familiarity(new @ known.T) < threshold).mean() < 0.1
    strangers = normalise_rows(np.random.default_rng(9).normal(size=(100, 40)))
    assert (measure_familiarity(strangers @ known.T) < threshold).mean() > 0.9


def test_copies_do_not_make_strangers_of_the_rest():
    """Of a collection with every picture twice, the threshold is that of the pictures."""
    X = draw(2)
    twice = np.concatenate([X, X])
    once, both = (find_threshold(rows, find_near(rows, 10, 0)) for rows in (X, twice))
    assert both == pytest.approx(once, abs=0.03)


def test_too_few_specimens_know_nothing():
    X = draw(3, n=12)
    assert find_threshold(X, find_near(X, 10, 0)) is None
    same = np.tile(X[:1], (40, 1))
    assert find_threshold(same, find_near(same, 10, 0)) is None

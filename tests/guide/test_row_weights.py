"""How much one part of the rows counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.guide.row_weights import (
    LEAST_PER_KIND,
    MOST_ROWS,
    WEIGHTS,
    choose_weight,
    draw_labelled,
    reweigh,
)
from fieldguide.guide.summaries import normalise_rows

PART = slice(6, 12)


def draw_rows(seed, *, told_by, n_kinds=6, n=20):
    """Rows of two parts; only the one that is named tells the kinds apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_kinds), n)
    both = rng.normal(size=(2, len(y), 6))
    both[told_by] += 1.2 * np.eye(6)[y]
    first, second = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in both)
    return normalise_rows(np.concatenate([first, 0.5 * second], axis=1)), y


@pytest.mark.parametrize(("told_by", "weight"), [(0, 0.5), (1, 1.5)])
def test_a_part_counts_as_much_as_it_tells(told_by, weight):
    X, y = draw_rows(0, told_by=told_by)
    assert choose_weight(X, PART, 0.5, y, seed=0) == weight


def test_without_two_kinds_the_weight_stays():
    X, y = draw_rows(0, told_by=1)
    assert choose_weight(X, PART, 0.7, np.zeros_like(y), seed=0) == 0.7
    assert choose_weight(X[:0], PART, 0.7, y[:0], seed=0) == 0.7


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), weights=st.tuples(*2 * [st.floats(0.1, 4)]))
def test_only_the_share_of_the_part_changes(seed, weights):
    X, _ = draw_rows(seed, told_by=0, n_kinds=2, n=2)
    before, after = weights
    changed = reweigh(X, PART, before, after)
    np.testing.assert_allclose(np.linalg.norm(changed, axis=1), 1, rtol=1e-5)
    others = np.linalg.norm(X[:, :6], axis=1), np.linalg.norm(changed[:, :6], axis=1)
    own = np.linalg.norm(X[:, PART], axis=1), np.linalg.norm(changed[:, PART], axis=1)
    np.testing.assert_allclose(own[1] / others[1], own[0] / others[0] * after / before, rtol=1e-4)
    np.testing.assert_allclose(reweigh(changed, PART, after, before), X, atol=1e-5)


def test_specimens_are_drawn_evenly_from_kinds_that_are_large_enough():
    kinds = [*["a"] * 10, *["b"] * (LEAST_PER_KIND - 1), None, *["c"] * MOST_ROWS]
    rows, y = draw_labelled(kinds, 0)
    assert {kinds[i] for i in rows[y == 0]} == {"a"}
    assert {kinds[i] for i in rows[y == 1]} == {"c"}
    assert (y == 0).sum() == 10
    assert (y == 1).sum() == MOST_ROWS // 2
    np.testing.assert_array_equal(rows, draw_labelled(kinds, 0)[0])
    assert len(draw_labelled([None, "a"], 0)[0]) == 0
    assert WEIGHTS[0] == min(WEIGHTS)

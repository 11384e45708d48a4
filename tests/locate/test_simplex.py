"""The projection onto capped simplices, beside a convex solver."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.slow_regions import project_by_programme

from fieldguide.locate.simplex import find_caps, least_values, project

values = st.lists(st.floats(-5, 5), min_size=1, max_size=8)


@pytest.mark.parametrize("cap", [1.0, 0.6, 1 / 3, 0.15])
def test_the_projection_is_that_of_a_convex_solver(cap):
    rng = np.random.default_rng(0)
    sizes = [1, 2, 3, 5, 9, 7]
    start = np.concatenate([[0], np.cumsum(sizes)])
    for scale in (0.05, 0.5, 5):
        v = scale * rng.standard_normal(start[-1])
        s = project(v, start, find_caps(start, cap))
        for a, b in pairwise(start):
            np.testing.assert_allclose(s[a:b], project_by_programme(v[a:b], cap), atol=2e-6)


@given(values, values, st.floats(0.01, 1))
def test_every_bag_is_feasible_and_projecting_again_changes_nothing(one, other, cap):
    v, start = np.array(one + other), np.array([0, len(one), len(one) + len(other)])
    caps = find_caps(start, cap)
    s = project(v, start, caps)
    np.testing.assert_allclose(np.add.reduceat(s, start[:-1]), 1, atol=1e-9)
    assert (s >= 0).all()
    assert (s <= np.repeat(caps, np.diff(start)) + 1e-12).all()
    np.testing.assert_allclose(project(s, start, caps), s, atol=1e-9)
    # the larger value never gets the smaller weight
    first = slice(0, len(one))
    order = np.argsort(v[first], kind="stable")
    assert (np.diff(s[first][order]) >= -1e-12).all()


@given(values, st.floats(0.01, 1))
def test_the_least_value_is_no_more_than_at_any_feasible_point(g, cap):
    g, start = np.array(g), np.array([0, len(g)])
    caps = find_caps(start, cap)
    least = least_values(g, start, caps)[0]
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert least <= g @ project(3 * rng.standard_normal(len(g)), start, caps) + 1e-9
    # far down the gradient, the projection is the point of least value
    far = project(-1e6 * g, start, caps)
    assert g @ far == pytest.approx(least, abs=1e-4)


def test_equal_values_share_and_a_small_bag_has_one_point():
    start = np.array([0, 4, 6])
    caps = find_caps(start, 1 / 3)
    np.testing.assert_allclose(caps, [1 / 3, 1 / 2])
    s = project([7.0, 7, 7, 7, 100, -100], start, caps)
    np.testing.assert_allclose(s, [0.25] * 4 + [0.5] * 2)

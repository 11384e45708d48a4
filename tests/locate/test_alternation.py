"""The objective, its gradient and the search, beside libsvm, finite differences and brute force."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.reference.slow_regions import least_objective, objective, project_by_programme

from fieldguide.kernels import chi2_kernel
from fieldguide.locate.alternation import (
    draw_weights,
    place_best,
    select_best_region,
    select_regions,
)
from fieldguide.locate.region_problem import INTERCEPT_SCALING, GramProblem, RowProblem
from fieldguide.locate.simplex import find_caps, least_values, project
from fieldguide.svm import judge

SIZES = (4, 5, 3, 2)
START = np.concatenate([[0], np.cumsum(SIZES)])


def toy(seed=0, n_negative=12, d=6):
    rng = np.random.default_rng(seed)
    X = rng.dirichlet(np.full(d, 0.5), START[-1] + n_negative)
    X[START[:-1], 0] += 1.5  # the region that matters
    return X / X.sum(axis=1, keepdims=True)


def gram_problem(seed=0, costs=(3.0, 0.7)):
    problem = GramProblem(chi2_kernel(toy(seed)), START)
    problem.price(*costs)
    return problem


def row_problem(X, costs=(3.0, 0.7)):
    problem = RowProblem(X, START)
    problem.price(*costs)
    return problem


def weights(seed):
    return draw_weights(START, find_caps(START, 1.0), np.random.default_rng(seed))


@pytest.mark.parametrize("draw", [1, 2, 3])
def test_the_objective_is_that_of_libsvm(draw):
    problem, s = gram_problem(), weights(draw)
    plane = problem.solve(s, None, 1e-9)
    assert plane.objective == pytest.approx(objective(problem.K, START, s, 3.0, 0.7), rel=1e-6)
    # a start elsewhere ends in the same place
    again = problem.solve(s, np.random.default_rng(draw).uniform(0, 0.5, len(plane.alpha)), 1e-9)
    assert again.objective == pytest.approx(plane.objective, rel=1e-7)


@pytest.mark.parametrize("make", [gram_problem, lambda: row_problem(toy())])
def test_the_gradient_is_that_of_finite_differences(make):
    problem, s, h = make(), weights(4), 1e-4
    plane = problem.solve(s, None, 1e-10)
    gradient = -plane.alpha[: problem.n_bags][problem.bag] * plane.values
    assert np.abs(gradient).max() > 0.1
    for k in range(0, START[-1], 2):
        move = h * (np.arange(len(s)) == k)
        up, down = (problem.solve(s + t * move, plane.alpha, 1e-10).objective for t in (1, -1))
        assert gradient[k] == pytest.approx((up - down) / (2 * h), abs=5e-3)


def test_rows_and_their_sparse_form_are_one_problem():
    X = toy()
    X[X < 0.05] = 0
    dense, thin = row_problem(X), row_problem(sparse.csr_array(X))
    for s in (weights(5), np.eye(START[-1])[START[:-1]].sum(axis=0)):  # zeros keep their place
        a, b = dense.solve(s, None, 1e-8), thin.solve(s, None, 1e-8)
        assert a.objective == pytest.approx(b.objective, rel=1e-6)
        np.testing.assert_allclose(a.values, b.values, atol=1e-3)
        bags = np.concatenate(
            [
                [s[i:j] @ X[i:j] for i, j in pairwise(START)],
                X[START[-1] :],
            ]
        )
        for plane in (a, b):  # by the neutral judge, on rows that it makes itself
            gap = judge(
                bags,
                dense.signs,
                plane.coef,
                plane.intercept,
                plane.alpha,
                sample_weight=dense.upper,
                intercept_scaling=INTERCEPT_SCALING,
            )
            assert gap < 1e-6


@pytest.mark.parametrize("cap", [1.0, 1 / 2])
def test_the_search_falls_and_ends_at_a_stationary_point(cap):
    problem, caps = gram_problem(), find_caps(START, cap)
    found = select_regions(problem, caps, draw_weights(START, caps, None), tol=1e-4, max_iter=200)
    assert found.gap <= 1e-4
    assert len(found.objectives) > 2
    assert (np.diff(found.objectives) <= 0).all()
    np.testing.assert_allclose(np.add.reduceat(found.s, START[:-1]), 1)
    assert (found.s <= caps[problem.bag] + 1e-12).all()
    assert found.objectives[-1] == pytest.approx(
        objective(problem.K, START, found.s, 3.0, 0.7), rel=1e-3
    )
    n_used = np.add.reduceat((found.s > 1e-6).astype(int), START[:-1])
    assert n_used.min() == (1 if cap == 1 else 2)


@pytest.mark.parametrize("cap", [1.0, 1 / 2])
def test_the_best_of_several_starts_is_the_least_of_all_weights(cap):
    start = np.array([0, 3, 6])
    rng = np.random.default_rng(1)
    K = chi2_kernel(rng.dirichlet(np.ones(4), 11))
    problem = GramProblem(K, start)
    problem.price(2.0, 0.5)
    caps = find_caps(start, cap)
    ends = [
        select_regions(problem, caps, draw_weights(start, caps, each), tol=1e-4, max_iter=300)
        for each in [None, *(np.random.default_rng(k) for k in range(8))]
    ]
    least = least_objective(K, start, cap, 2.0, 0.5, n_steps=6)
    best = min(end.plane.objective for end in ends)
    assert best <= least * (1 + 1e-3)
    assert best >= least * (1 - 0.02)  # the grid is coarse


def test_the_objective_is_not_convex():
    """The reason for several starts: the middle of two weights can be worse than both."""
    problem = gram_problem()
    worse = 0
    for k in range(20):
        a, b = weights(2 * k), weights(2 * k + 1)
        ends = [problem.solve(s, None, 1e-8).objective for s in (a, b, (a + b) / 2)]
        worse += ends[2] > (ends[0] + ends[1]) / 2 + 1e-6
    assert worse > 0


def test_mi_svm_rests_where_the_chosen_regions_are_the_best():
    problem = gram_problem()
    found = select_best_region(problem, draw_weights(START, find_caps(START, 1.0), None))
    assert found.gap == 0
    chosen = np.flatnonzero(found.s)
    assert found.s[chosen].tolist() == [1.0] * len(SIZES)
    np.testing.assert_array_equal(chosen, place_best(found.plane.values, START))


def test_the_best_of_a_bag_is_its_first_largest():
    assert place_best(np.array([1.0, 3, 3, 2, 5, 0]), np.array([0, 4, 6])).tolist() == [1, 4]
    # a value of another bag that is as large does not count
    assert place_best(np.array([9.0, 1, 1, 9]), np.array([0, 2, 4])).tolist() == [0, 3]


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

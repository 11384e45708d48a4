import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.reference.convex_concert import (
    measure_violation,
    solve_by_faces,
    solve_by_slsqp,
    value,
)
from tests.select.problems import concert_problems, draw_votes

from fieldguide.errors import InvalidArgument
from fieldguide.select import (
    GramObjective,
    RowsObjective,
    _steps,
    solve_concert,
    solve_frank_wolfe,
    solve_working_set,
)
from fieldguide.select.concert_solvers import fill_vertex


def as_gram(F, t, **settings):
    v = settings.pop("weight", np.ones(len(t)))
    sums = {"mass": v.sum(), "sum_t": v @ t, "size": v @ t**2}
    return GramObjective([(1.0, (F.T * v) @ F)], F.T @ v, F.T @ (v * t), **sums, **settings)


@settings(max_examples=200)
@given(concert_problems())
@example((np.array([[0.6, 0.3, 0.04, 0.02]]), np.zeros(1), np.nextafter(4, 0)))
def test_the_value_is_that_of_the_best_face(problem):
    F, t, k = problem
    best = solve_by_faces(F, t, k)
    for objective in (RowsObjective(F, t), as_gram(F, t)):
        found = solve_working_set(objective, k, tol=1e-9)
        assert value(F, t, found.w) == pytest.approx(best, rel=1e-7, abs=1e-9)
        assert found.objectives[-1] == pytest.approx(value(F, t, found.w), abs=1e-9)
        infeasible, violation = measure_violation(F, t, k, found.w)
        assert infeasible < 1e-12
        assert violation < 1e-3


@pytest.mark.parametrize("n_rows", [8, 60])
@pytest.mark.parametrize("k", [1, 3, 7.5, 12])
def test_the_value_is_that_of_slsqp(n_rows, k):
    for seed in range(15):
        F, index = draw_votes(n_rows, 20, seed=seed)
        t = 0.5 * index
        best = solve_by_slsqp(F, t, k)
        found = solve_concert(F, t, k, tol=1e-8)
        assert value(F, t, found.w) <= best * (1 + 1e-7) + 1e-9
        assert value(F, t, found.w) >= best * (1 - 1e-6) - 1e-9
        assert found.gap <= 1e-8


def test_many_columns_enter_a_table_of_few():
    F, index = draw_votes(50, 3000, seed=1, dtype=np.float32)
    objective = RowsObjective(F, 0.5 * index, fit_bias=True)
    found = solve_working_set(objective, 20, tol=1e-7)
    wide = F.astype(np.float64)
    centred = wide - wide.mean(axis=0)
    t = 0.5 * index - 0.5 * index.mean()
    gradient = 2 * centred.T @ (centred @ found.w - t)
    best = gradient @ fill_vertex(-gradient, 20)
    gap = gradient @ found.w - best
    unit = max(value(centred, t, found.w), 1e-4 * t @ t)
    assert 0 <= gap / unit < 1.1e-7
    assert found.gap == pytest.approx(gap / unit, abs=1e-9)
    assert 20 <= (found.w > 0).sum() < 100


@given(concert_problems(max_features=30), st.randoms(use_true_random=False))
def test_a_permutation_of_features_permutes_the_weights(problem, random):
    F, t, k = problem
    n = F.shape[1]
    F = F + 1e-3 * np.random.default_rng(0).uniform(size=F.shape)  # one solution, not many
    F = np.concatenate([F, 0.1 * np.eye(n)])
    t = np.concatenate([t, np.zeros(n)])
    order = np.array(random.sample(range(n), n))
    w = solve_concert(F, t, k, tol=1e-10).w
    permuted = solve_concert(np.ascontiguousarray(F[:, order]), t, k, tol=1e-10).w
    np.testing.assert_allclose(permuted, w[order], atol=1e-4)


def test_golden_solutions():
    F = np.array([[0.9, 0.8, 0.1], [0.7, 0.9, 0.5], [0.1, 0.2, 0.3], [0.2, 0.1, 0.6]])
    t = np.array([0.5, 0.5, 0.0, 0.0])
    # By hand: with k = 3 the only feasible point; with k = 1 the gradient of the free pair is
    # equal at w = (a, 1 − a, 0), F₁ − F₂ = (.1, −.2, −.1, .1), residual of F₂ (.3, .4, .2, .1).
    np.testing.assert_allclose(solve_concert(F, t, 3).w, 1 / 3)
    a = -(0.1 * 0.3 - 0.2 * 0.4 - 0.1 * 0.2 + 0.1 * 0.1) / (0.01 + 0.04 + 0.01 + 0.01)
    pair = solve_concert(np.ascontiguousarray(F[:, :2]), t, 1, tol=1e-12).w
    np.testing.assert_allclose(pair, [a, 1 - a], atol=1e-9)


def test_weights_maps_and_bias_equal_a_mapped_matrix():
    F, index = draw_votes(40, 30, seed=2)
    t, v = 0.5 * index, np.random.default_rng(0).uniform(0.2, 2, 40)
    from fieldguide.select.objective import ColumnMap

    flips = np.arange(30) % 3 == 0
    columns = ColumnMap(np.full(30, 0.5), np.full(30, 0.25)).flipped(flips)
    mapped = 0.5 * F + 0.25
    mapped[:, flips] = 1 - mapped[:, flips]
    for fit_bias in (False, True):
        A, target = mapped, t
        if fit_bias:
            A, target = A - v @ A / v.sum(), t - v @ t / v.sum()
        A, target = np.sqrt(v)[:, None] * A, np.sqrt(v) * target
        expected = solve_concert(A, target, 4.5, tol=1e-9)
        settings = {"weight": v, "columns": columns, "fit_bias": fit_bias}
        for objective in (RowsObjective(F, t, **settings), as_gram(F, t, **settings)):
            found = solve_working_set(objective, 4.5, tol=1e-9)
            np.testing.assert_allclose(found.w, expected.w, atol=1e-5)
            assert found.objectives[-1] == pytest.approx(expected.objectives[-1], rel=1e-8)


def test_frank_wolfe_falls_and_comes_near():
    F, index = draw_votes(200, 100, seed=3)
    objective = RowsObjective(F, 0.5 * index)
    best = solve_working_set(objective, 20, tol=1e-9).objectives[-1]
    found = solve_frank_wolfe(objective, 20, tol=0.0, max_iter=100)
    assert (np.diff(found.objectives) <= 1e-9).all()
    assert len(found.objectives) == 101
    assert best <= found.objectives[-1] < best * 1.001
    assert found.objectives[-1] - best <= found.gap * found.objectives[-1] * (1 + 1e-9)


def test_a_warm_start_changes_nothing():
    F, index = draw_votes(100, 400, seed=4)
    objective = RowsObjective(F, 0.5 * index, fit_bias=True)
    cold = solve_working_set(objective, 20)
    assert solve_working_set(objective, 20, start=cold.w).n_steps == 0
    for other in (10, 25.5, 400):
        near = solve_working_set(objective, 20, start=solve_working_set(objective, other).w)
        assert near.objectives[-1] == pytest.approx(cold.objectives[-1], rel=1e-6)
        assert near.gap <= 1e-6


@given(st.integers(1, 40), st.integers(0, 1000), st.floats(0, 1), st.sampled_from([0, 0.5, 1, 3]))
def test_a_start_is_made_feasible_and_kept(n, seed, share, size):
    k = 1 + share * (n - 1)
    rng = np.random.default_rng(seed)
    start = size * rng.dirichlet(np.ones(n))
    e = rng.normal(size=n)
    w = fill_vertex(e, k, start)
    assert w.sum() == pytest.approx(1, abs=1e-12)
    assert w.min() >= 0
    assert w.max() <= 1 / k
    kept = np.minimum(start, 1 / k)
    if kept.sum() <= 1:
        assert (w >= kept - 1e-15).all()
    # Among all ways to fill in the rest, the largest slopes come first.
    filled, room = e[w > kept + 1e-12], e[w < 1 / k - 1e-12]
    if kept.sum() <= 1 and len(filled) and len(room):
        assert filled.min() >= room.max() - 1e-12
    np.testing.assert_allclose(fill_vertex(e, k, np.zeros(n)), fill_vertex(e, k), atol=1e-12)


def test_memory_mapped_rows(tmp_path):
    F, index = draw_votes(60, 200, seed=5, dtype=np.float32)
    np.save(tmp_path / "F.npy", F)
    mapped = np.load(tmp_path / "F.npy", mmap_mode="r")
    found = solve_concert(mapped, 0.5 * index, 10)
    np.testing.assert_array_equal(found.w, solve_concert(F, 0.5 * index, 10).w)


@pytest.mark.parametrize("k", [0, 0.5, 6, True, float("nan")])
def test_an_impossible_k_is_refused(k):
    with pytest.raises(InvalidArgument, match="k must be a number from 1 to 5"):
        solve_concert(np.zeros((3, 5)), np.zeros(3), k)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(InvalidArgument, match="one number for each of the 3 rows"):
        solve_concert(np.zeros((3, 5)), np.zeros(4), 2)
    with pytest.raises(InvalidArgument, match="two dimensions"):
        solve_concert(np.zeros(3), np.zeros(3), 2)


def test_kernels_equal_their_plain_twins():
    F, index = draw_votes(9, 6, seed=6)
    q = np.random.default_rng(0).normal(size=9)
    out = np.empty(6)
    _steps.back_project.py_func(F, q, out)
    np.testing.assert_allclose(out, F.T @ q)
    G, c = F.T @ F, F.T @ (0.5 * index)
    w = fill_vertex(c, 2.5)
    plain, compiled = (w.copy(), c - G @ w), (w.copy(), c - G @ w)
    for steps, (weights, e) in ((_steps.take_steps.py_func, plain), (_steps.take_steps, compiled)):
        steps(G, weights, e, 2.5, 1e-12, 10_000)
    np.testing.assert_allclose(plain[0], compiled[0], atol=1e-12)
    np.testing.assert_allclose(plain[1], c - G @ plain[0], atol=1e-12)
    e = c - G @ w
    expected = 2 * (e @ fill_vertex(e, 2.5) - e @ w)
    assert _steps.find_gap.py_func(w, e, 2.5) == pytest.approx(expected)


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 12), st.booleans())
def test_a_jump_never_rises_and_stays_feasible(seed, n_rows, has_copies):
    rng = np.random.default_rng(seed)
    F, t, cap = rng.uniform(size=(n_rows, 8)), rng.uniform(size=n_rows), 0.25
    if has_copies:
        F[:, 4:] = F[:, :4]
    w = rng.dirichlet(np.ones(8))
    w[w > cap] = cap
    w[rng.integers(8)] = 0.0
    before = w.copy()
    e = F.T @ t - F.T @ F @ w
    for jump in (_steps._jump, _steps._jump.py_func):
        w[:], slopes = before, e.copy()
        jump(np.ascontiguousarray(F.T @ F), cap, w, slopes)
        assert ((w >= 0) & (w <= cap)).all()
        assert w.sum() == pytest.approx(before.sum(), abs=1e-9)
        bound = (before == 0) | (before == cap)
        np.testing.assert_array_equal(w[bound], before[bound])
        assert ((F @ w - t) ** 2).sum() <= ((F @ before - t) ** 2).sum() + 1e-9
        np.testing.assert_allclose(slopes, F.T @ (t - F @ w), atol=1e-7)


@settings(max_examples=200)
@given(
    st.lists(st.integers(-5, 5) | st.floats(-1e6, 1e6), min_size=1, max_size=60),
    st.integers(0, 10**6),
)
def test_the_largest_come_first(values, seed):
    values = np.array(values, dtype=np.float64)
    k = seed % len(values)
    found = values.copy()
    _steps.put_largest_first(found, k)
    expected = np.sort(values)[::-1]
    np.testing.assert_array_equal(np.sort(found)[::-1], expected)
    assert found[k] == expected[k]
    assert (found[:k] >= found[k]).all()
    assert (found[k:] <= found[k]).all()

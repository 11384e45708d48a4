import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC

from fieldguide.svm.smo import _steps, best_intercept, judge, make_feasible, solve_kernel


def problem(seed, n=60, d=4, scale=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1, -1
    X = rng.normal(size=(n, d)) + 0.8 * y[:, None]
    distance = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    return np.exp(-distance / (2 * d)) * scale, y


def exact_dual(K, y, upper):
    """The optimum by a general solver, for a handful of rows."""
    low, high = np.where(y > 0, 0, -upper), np.where(y > 0, upper, 0)
    result = minimize(
        lambda b: 0.5 * b @ K @ b - b @ y,
        np.zeros(len(y)),
        jac=lambda b: K @ b - y,
        bounds=list(zip(low, high, strict=True)),
        constraints={"type": "eq", "fun": np.sum, "jac": lambda b: np.ones(len(b))},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return -result.fun


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_is_that_of_a_convex_solver(C, seed):
    K, y = problem(seed, n=12)
    solution = solve_kernel(K, y, np.full(12, C), tol=1e-10)
    assert solution.gap <= 1e-8
    assert solution.primal == pytest.approx(exact_dual(K, y, np.full(12, C)), rel=1e-5)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_classifier_is_libsvms(C, dtype, seed):
    K, y = problem(seed, n=150)
    solution = solve_kernel(K.astype(dtype), y, np.full(150, C), tol=1e-7)
    peer = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    beta = np.zeros(150)
    beta[peer.support_] = peer.dual_coef_[0]
    primal, gap, _ = judge(y, np.full(150, C), beta, y - K @ beta)
    assert gap < 1e-5
    assert solution.primal == pytest.approx(primal, rel=1e-5)
    margins = K @ solution.beta + solution.intercept
    np.testing.assert_allclose(margins, peer.decision_function(K), atol=5e-3)


def test_an_index_list_is_the_same_as_a_copy(seed):
    K, y = problem(seed, n=80)
    K = K.astype(np.float32)
    rows = np.random.default_rng(seed).permutation(80)[:50]
    there = solve_kernel(K, y[rows], np.ones(50), rows=rows, tol=1e-8)
    copied = solve_kernel(
        np.ascontiguousarray(K[np.ix_(rows, rows)]), y[rows], np.ones(50), tol=1e-8
    )
    np.testing.assert_array_equal(there.beta, copied.beta)


def test_a_doubled_row_is_a_doubled_weight(seed):
    K, y = problem(seed, n=30)
    rows = np.concatenate([np.arange(30), np.arange(10)])
    doubled = solve_kernel(K, y[rows], np.ones(40), rows=rows, tol=1e-9)
    weight = np.ones(30)
    weight[:10] = 2
    weighted = solve_kernel(K, y, weight, tol=1e-9)
    assert doubled.primal == pytest.approx(weighted.primal, rel=1e-6)


def test_a_row_of_weight_zero_takes_no_part(seed):
    K, y = problem(seed, n=40)
    upper = np.ones(40)
    upper[30:] = 0
    solution = solve_kernel(K, y, upper, tol=1e-9)
    assert not solution.beta[30:].any()
    alone = solve_kernel(K, y[:30], np.ones(30), rows=np.arange(30), tol=1e-9)
    assert solution.primal == pytest.approx(alone.primal, rel=1e-6)


def test_a_warm_start_ends_at_the_same_optimum_sooner(seed):
    K, y = problem(seed, n=200)
    cold = solve_kernel(K, y, np.full(200, 2.0), tol=1e-6)
    near = solve_kernel(K, y, np.full(200, 1.8), tol=1e-6)
    warm = solve_kernel(K, y, np.full(200, 2.0), beta0=near.beta, tol=1e-6)
    assert warm.primal == pytest.approx(cold.primal, rel=1e-5)
    assert warm.n_steps < cold.n_steps
    same = solve_kernel(K, y, np.full(200, 2.0), beta0=cold.beta, tol=1e-6)
    assert same.n_steps <= 48


@given(seed=st.integers(0, 10**6), C=st.sampled_from([1e-4, 0.3, 5.0, 1e4]), n=st.integers(2, 40))
def test_what_always_holds(seed, C, n):
    K, y = problem(seed, n=n)
    K[:, : n // 4] = K[:, :1]  # repeated rows
    K = (K + K.T) / 2 + n * np.eye(n) * (seed % 2)
    upper = C * np.random.default_rng(seed).integers(0, 3, n)
    solution = solve_kernel(K @ K, y, upper, tol=1e-4, max_steps=20_000)
    assert abs(solution.beta.sum()) <= 1e-8 * max(1, C * n)
    assert (solution.beta * y >= 0).all()
    assert (abs(solution.beta) <= upper).all()
    assert np.isfinite([solution.primal, solution.gap, solution.intercept]).all()
    assert solution.gap >= -1e-6


@given(seed=st.integers(0, 10**6), n=st.integers(1, 12))
def test_the_intercept_is_the_best_by_brute_force(seed, n):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    upper, errors = rng.integers(0, 4, n).astype(float), rng.integers(-3, 4, n).astype(float)

    def loss(b):
        return upper @ np.maximum(0, y * (errors - b))

    # 1 − y(f + b) with f = y − e is y(e − b), since y² = 1.
    least = min(loss(b) for b in errors)
    assert loss(best_intercept(y, upper, errors)) == pytest.approx(least)


@given(seed=st.integers(0, 10**6))
def test_a_start_is_made_feasible(seed):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], 20)
    upper = rng.random(20)
    low, high = np.where(y > 0, 0, -upper), np.where(y > 0, upper, 0)
    beta = make_feasible(rng.normal(size=20), low, high)
    assert abs(beta.sum()) < 1e-12
    assert ((beta >= low) & (beta <= high)).all()


def test_the_compiled_kernel_and_its_plain_twin_agree(seed):
    K, y = problem(seed, n=10)
    results = []
    for kernel in (_steps, _steps.py_func):
        beta, errors = np.zeros(10), y.copy()
        low, high = np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
        kernel(
            K, np.arange(10), True, K.diagonal().copy(), np.zeros(10), low, high, beta, errors, 30
        )
        results.append(beta)
    np.testing.assert_allclose(*results, atol=1e-12)


def test_one_class_alone_has_no_margin():
    solution = solve_kernel(np.eye(3), np.ones(3), np.ones(3))
    assert not solution.beta.any()
    assert solution.gap <= 1e-9

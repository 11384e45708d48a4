"""The squared hinge on a Gram matrix, with an intercept that is not penalised."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC
from tests.svm.test_smo import problem

from fieldguide.svm import train_one_vs_all_gram
from fieldguide.svm.smo import _steps, best_squared_intercept, judge, solve_kernel

SQUARED = {"loss": "squared_hinge"}


def solve_primal(K, y, upper):
    """The optimum over f = Kβ + b by Newton's method on the rows that cost, from the primal."""
    n = len(y)
    beta, b = np.zeros(n), 0.0

    def value(beta, b):
        return beta @ K @ beta / 2 + upper @ np.maximum(0, 1 - y * (K @ beta + b)) ** 2

    for _ in range(200):
        costs = (y * (K @ beta + b) < 1) & (upper > 0)
        # Stationary where β = 2 C (y − Kβ − b) on those rows, Σβ = 0; β = 0 elsewhere.
        rows = np.flatnonzero(costs)
        system = np.zeros((len(rows) + 1, len(rows) + 1))
        system[:-1, :-1] = K[np.ix_(rows, rows)] + np.diag(1 / (2 * upper[rows]))
        system[:-1, -1] = system[-1, :-1] = 1
        found = np.linalg.lstsq(system, np.append(y[rows], 0), rcond=None)[0]
        goal = np.zeros(n)
        goal[rows] = found[:-1]
        step = 1.0
        while step > 1e-8:
            new = beta + step * (goal - beta), b + step * (found[-1] - b)
            if value(*new) <= value(beta, b):
                break
            step /= 2
        if value(beta, b) - value(*new) <= 1e-15 * value(beta, b):
            return value(beta, b)
        beta, b = new
    return value(beta, b)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_is_that_of_newtons_method_on_the_primal(C, seed):
    K, y = problem(seed, n=40)
    upper = C * np.random.default_rng(seed).uniform(0.3, 2, 40)
    solution = solve_kernel(K, y, upper, tol=1e-9, **SQUARED)
    assert solution.gap <= 1e-9
    assert solution.primal == pytest.approx(solve_primal(K, y, upper), rel=1e-8)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_optimum_is_that_of_a_general_solver_of_the_dual(C, seed):
    K, y = problem(seed, n=12)
    whole = K + np.eye(12) / (2 * C)
    peer = minimize(
        lambda b: (b @ whole @ b / 2 - b @ y, whole @ b - y),
        np.zeros(12),
        jac=True,
        bounds=[(0, None) if side > 0 else (None, 0) for side in y],
        constraints={"type": "eq", "fun": np.sum, "jac": lambda b: np.ones(len(b))},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    solution = solve_kernel(K, y, np.full(12, C), tol=1e-9, **SQUARED)
    assert solution.primal == pytest.approx(-peer.fun, rel=1e-6)


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_libsvm_with_a_ridge_and_no_bound(C, dtype, seed):
    """A hinge with a huge C on K + 1/(2C) has the same dual."""
    K, y = problem(seed, n=150)
    peer = SVC(C=1e9, kernel="precomputed", tol=1e-9).fit(K + np.eye(150) / (2 * C), y)
    beta = np.zeros(150)
    beta[peer.support_] = peer.dual_coef_[0]
    primal, gap, intercept = judge(y, np.full(150, C), beta, y - K @ beta, "squared_hinge")
    assert gap < 1e-6
    assert intercept == pytest.approx(peer.intercept_[0], abs=1e-4)
    solution = solve_kernel(K.astype(dtype), y, np.full(150, C), tol=1e-6, **SQUARED)
    assert solution.gap <= 1e-6
    assert solution.primal == pytest.approx(primal, rel=1e-5)
    np.testing.assert_allclose(solution.beta, beta, atol=2e-2 * abs(beta).max())


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([1e-9, 1e-4, 0.3, 5.0, 1e4, 1e9]),
    n=st.integers(2, 30),
    shape=st.sampled_from(["plain", "one side", "copies", "zeros", "one positive", "weights"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_what_always_holds(seed, C, n, shape, dtype):
    K, y = problem(seed, n=n)
    upper = np.full(n, C)
    if shape == "one side":
        y[:] = 1
    elif shape == "copies":
        K[:] = 1.0
    elif shape == "zeros":
        K[: n // 2], K[:, : n // 2] = 0, 0
    elif shape == "one positive":
        y[:] = -1
        y[0] = 1
    elif shape == "weights":
        upper *= np.random.default_rng(seed).integers(0, 3, n)
    solution = solve_kernel(K.astype(dtype), y, upper, tol=1e-3, **SQUARED)
    assert solution.gap <= 1e-3
    assert abs(solution.beta.sum()) <= 1e-9 * max(abs(solution.beta).sum(), 1e-300)
    assert (solution.beta * y >= 0).all()
    assert not solution.beta[upper == 0].any()
    errors = y - K.astype(dtype).astype(float) @ solution.beta
    assert judge(y, upper, solution.beta, errors, "squared_hinge")[1] <= 1.1e-3
    order = np.random.default_rng(seed).permutation(n)
    again = solve_kernel(
        np.ascontiguousarray(K[np.ix_(order, order)].astype(dtype)),
        *(y[order], upper[order]),
        tol=1e-3,
        **SQUARED,
    )
    assert again.primal == pytest.approx(solution.primal, rel=2.1e-3, abs=1e-12)


@settings(max_examples=200)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), far=st.sampled_from([0.0, 1e6]))
def test_the_intercept_is_the_best_there_is(seed, n, far):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], n)
    upper, errors = rng.integers(0, 4, n).astype(float), rng.integers(-3, 4, n) + far

    def loss(b):
        return upper @ np.maximum(0, y * (errors - b)) ** 2

    # A convex function, by thirds.
    low, high = errors.min(), errors.max()
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if loss(a) <= loss(b) else (a, high)
    found = loss(best_squared_intercept(y, upper, errors.astype(float)))
    assert found <= loss(low) + 1e-9


def test_weights_repeats_index_lists_and_warm_starts(seed):
    K, y = problem(seed, n=60)
    weight = np.ones(60)
    weight[:10], weight[50:] = 2, 0
    whole = solve_kernel(K, y, weight, tol=1e-8, **SQUARED)
    rows = np.concatenate([np.arange(50), np.arange(10)])
    listed = solve_kernel(K, y[rows], np.ones(60), rows=rows, tol=1e-8, **SQUARED)
    assert listed.primal == pytest.approx(whole.primal, rel=1e-7)
    near = solve_kernel(K, y, 0.9 * weight, tol=1e-8, **SQUARED)
    warm = solve_kernel(K, y, weight, beta0=near.beta, tol=1e-8, **SQUARED)
    assert warm.primal == pytest.approx(whole.primal, rel=1e-7)
    assert warm.n_steps < whole.n_steps


def test_the_compiled_kernel_and_its_plain_twin_agree(seed):
    K, y = problem(seed, n=10)
    results = []
    for kernel in (_steps, _steps.py_func):
        beta, gradient, ridge = np.zeros(10), y.copy(), np.full(10, 0.7)
        low, high = np.where(y > 0, 0.0, -np.inf), np.where(y > 0, np.inf, 0.0)
        kernel(K, np.arange(10), True, K.diagonal() + ridge, ridge, low, high, beta, gradient, 30)
        np.testing.assert_allclose(gradient, y - K @ beta - ridge * beta, atol=1e-12)
        results.append(beta)
    np.testing.assert_allclose(*results, atol=1e-12)


def test_one_vs_all_takes_the_loss_and_a_start(seed):
    K, _ = problem(seed, n=60)
    index = np.random.default_rng(seed).integers(0, 3, 60)
    found = train_one_vs_all_gram(K, index, 3, C=2.0, tol=1e-6, **SQUARED)
    single = solve_kernel(K, np.where(index == 1, 1.0, -1.0), np.full(60, 2.0), tol=1e-6, **SQUARED)
    np.testing.assert_array_equal(found.beta[[1]].toarray()[0], single.beta)
    warm = train_one_vs_all_gram(K, index, 3, C=2.0, tol=1e-5, beta0=found.beta, **SQUARED)
    assert (warm.n_steps <= 48).all()
    assert (warm.n_steps < found.n_steps).all()
    with pytest.raises(ValueError, match="beta0 must have the shape"):
        train_one_vs_all_gram(K, index, 3, beta0=found.beta[:2])
    with pytest.raises(ValueError, match="loss of train_one_vs_all_gram must be one of 'hinge'"):
        train_one_vs_all_gram(K, index, 3, loss="log")
    with pytest.raises(ValueError, match="loss of solve_kernel must be one of 'hinge'"):
        solve_kernel(K, np.ones(60), np.ones(60), loss="log")

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix
from sklearn.svm import LinearSVC
from tests.svm.problems import draw_problem, solve_slowly

from fieldguide.svm import _kernels, dual_value, judge, primal_value, share_rows, solve_linear

LOSSES = ("hinge", "squared_hinge")


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("bias", [0.0, 1.0, 10.0])
def test_the_optimum_is_that_of_a_general_solver(loss, C, bias, seed):
    X, sign = draw_problem(seed)
    weight = np.random.default_rng(seed).integers(0, 4, len(X)).astype(float)
    problem = {"C": C, "loss": loss, "sample_weight": weight, "intercept_scaling": bias}
    found = solve_linear(X, sign, **problem, tol=1e-5, max_iter=100_000)
    best = solve_slowly(X, sign, C * weight, loss, bias)
    assert found.gap <= 1e-5
    assert found.primal == pytest.approx(best, rel=3e-5)
    assert found.primal == pytest.approx(primal_value(X, sign, found.w, found.b, **problem))
    assert judge(X, sign, found.w, found.b, found.alpha, **problem) <= 1.1e-5


@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_that_of_liblinear(loss, seed):
    X, sign = draw_problem(seed, n=300, d=20)
    weight = np.random.default_rng(seed).uniform(0.2, 3, len(X))
    peer = LinearSVC(loss=loss, C=0.5, tol=1e-8, max_iter=10**6, dual=True)
    peer.fit(X, sign, sample_weight=weight)
    problem = {"C": 0.5, "loss": loss, "sample_weight": weight}
    theirs = primal_value(X, sign, peer.coef_[0], peer.intercept_[0], **problem)
    ours = solve_linear(X, sign, **problem, tol=1e-5, max_iter=10**5)
    assert ours.primal == pytest.approx(theirs, rel=2e-5)
    assert dual_value(X, sign, ours.alpha, **problem) <= theirs * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("make", [csr_matrix, csr_array])
def test_types_and_layouts_agree_within_the_gap(loss, make, seed):
    X, sign = draw_problem(seed, n=80, d=7)
    X[np.abs(X) < 0.7] = 0
    exact = solve_linear(X, sign, loss=loss, tol=1e-4, max_iter=10**5)
    for rows in (X.astype(np.float32), make(X), make(X.astype(np.float32)), np.asfortranarray(X)):
        found = solve_linear(rows, sign, loss=loss, tol=1e-4, max_iter=10**5)
        assert found.gap <= 1e-4
        assert found.w.dtype == rows.dtype
        assert found.primal == pytest.approx(exact.primal, rel=2e-4)


def test_rows_are_shared_not_copied(seed):
    X, sign = draw_problem(seed)
    X = X.astype(np.float32)
    assert np.shares_memory(share_rows(X).data, X)
    sparse = csr_matrix(X)
    assert np.shares_memory(share_rows(sparse).data, sparse.data)
    rows = np.random.default_rng(seed).permutation(len(X))[:30]
    part = solve_linear(X, sign[rows], rows=rows, tol=1e-5, max_iter=10**5)
    copied = solve_linear(X[rows].copy(), sign[rows], tol=1e-5, max_iter=10**5)
    np.testing.assert_array_equal(part.w, copied.w)
    np.testing.assert_array_equal(part.alpha, copied.alpha)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(LOSSES),
    C=st.sampled_from([1e-6, 0.1, 1.0, 100.0]),
    shape=st.sampled_from(["plain", "one class", "copies", "zeros", "constant", "one positive"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_degenerate_problems(seed, loss, C, shape, dtype):
    X, sign = draw_problem(seed, n=24, d=4, noise=0.3)
    if shape == "one class":
        sign[:] = 1
    elif shape == "copies":
        X[:] = X[0]
    elif shape == "zeros":
        X[:, 1:] = 0
        X[::3] = 0
    elif shape == "constant":
        X[:] = 3.0
    elif shape == "one positive":
        sign[:] = -1
        sign[5] = 1
    X = X.astype(dtype)
    weight = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float)
    problem = {"C": C, "loss": loss, "sample_weight": weight}
    found = solve_linear(X, sign, **problem, tol=1e-2, max_iter=10**5)
    assert found.gap <= 1e-2
    assert np.isfinite(found.w).all()
    assert (found.alpha >= 0).all()
    assert (found.alpha[weight == 0] == 0).all()
    assert judge(X, sign, found.w, found.b, found.alpha, **problem) <= 1.1e-2
    order = np.random.default_rng(seed).permutation(len(X))
    problem["sample_weight"] = weight[order]
    again = solve_linear(X[order], sign[order], **problem, tol=1e-2, max_iter=10**5)
    assert again.primal == pytest.approx(found.primal, rel=1.1e-2)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), loss=st.sampled_from(LOSSES))
def test_a_doubled_row_is_a_doubled_weight(seed, loss):
    X, sign = draw_problem(seed, n=30, d=3)
    times = np.random.default_rng(seed).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), times)
    repeated = solve_linear(X, sign[rows], rows=rows, loss=loss, tol=1e-5, max_iter=10**5)
    weighted = solve_linear(X, sign, sample_weight=times, loss=loss, tol=1e-5, max_iter=10**5)
    assert repeated.primal == pytest.approx(weighted.primal, rel=2e-5)


def test_a_warm_start_saves_epochs_and_finds_the_same(seed):
    X, sign = draw_problem(seed, n=200, d=10)
    cold = solve_linear(X, sign, tol=1e-4, max_iter=10**5)
    warm = solve_linear(X, sign, tol=1e-4, max_iter=10**5, alpha0=cold.alpha)
    assert warm.n_iter == 0
    assert warm.gap <= 1e-4
    wild = solve_linear(X, sign, tol=1e-4, max_iter=10**5, alpha0=np.full(200, 1e9))
    assert wild.primal == pytest.approx(cold.primal, rel=2e-4)


def test_no_rows_and_no_weight_are_the_zero_function():
    X, sign = draw_problem()
    for found in (
        solve_linear(X, sign[:0], rows=np.empty(0, dtype=int)),
        solve_linear(X, sign, sample_weight=np.zeros(len(X))),
    ):
        assert (found.w == 0).all()
        assert (found.b, found.gap) == (0.0, 0.0)


def test_kernels_do_what_their_plain_twins_do(seed):
    X, sign = draw_problem(seed, n=12, d=3)
    for rows in (share_rows(X), share_rows(csr_matrix(X))):
        results = []
        for plain in (False, True):
            descend = _kernels.descend.py_func if plain else _kernels.descend
            alpha, w, active = np.zeros(12), np.zeros(4), np.arange(12)
            with np.errstate(over="ignore"):  # the random state wraps round
                descend(
                    *(*rows.layout, np.arange(12), sign, np.ones(12), rows.norms, True, 1.0),
                    *(alpha, w, active, 12, 1e-9, 7, np.array([3], dtype=np.uint64)),
                )
            results.append((alpha, w))
        np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-9)
        np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0.0}, "C of solve_linear must be a number"),
        ({"loss": "log"}, "loss of solve_linear must be one of 'hinge', 'squared_hinge'"),
        ({"tol": -1.0}, "tol of solve_linear must be a number"),
        ({"max_iter": 0}, "max_iter of solve_linear must be a whole number"),
        ({"y": np.zeros(60)}, "y must hold -1 and \\+1 only"),
        ({"y": np.ones(5)}, "y must have one label for each of the 60 rows"),
        ({"rows": np.array([60])}, "rows must lie in 0 to 59"),
        ({"sample_weight": np.ones(3)}, "sample_weight must have one number"),
        ({"sample_weight": np.full(60, -1.0)}, "sample_weight must be finite and at least 0"),
        ({"alpha0": np.full(60, np.nan)}, "alpha0 must have one finite number"),
        ({"X": np.full((60, 5), np.nan)}, "X holds NaN or infinity"),
        ({"X": np.full((60, 5), np.inf)}, "X holds NaN or infinity"),
        ({"X": np.zeros(60)}, "X must have two dimensions"),
        ({"X": np.zeros((60, 0))}, "X must have at least 1 column"),
    ],
)
def test_bad_input_is_one_sentence(change, message):
    X, sign = draw_problem()
    arguments = {"X": X, "y": sign, **change}
    with pytest.raises(ValueError, match=message) as error:
        solve_linear(arguments.pop("X"), arguments.pop("y"), **arguments)
    assert "\n" not in str(error.value)

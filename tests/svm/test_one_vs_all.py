import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from fieldguide.svm import (
    KernelSVM,
    LinearSVM,
    Problems,
    judge,
    solve_linear,
    train_one_vs_all,
)
from fieldguide.svm import one_vs_all as module
from fieldguide.svm.gram_one_vs_all import train_one_vs_all_gram
from fieldguide.svm.one_vs_all import balance_factors


def draw_kinds(seed, n=90, d=6, k=4):
    rng = np.random.default_rng(seed)
    index = rng.integers(0, k, n)
    X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(k, d))[index]
    return X.astype(np.float32), index


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    loss=st.sampled_from(["hinge", "squared_hinge"]),
    class_weight=st.sampled_from([None, "balanced"]),
    make=st.sampled_from([np.asarray, csr_matrix]),
)
def test_every_class_reaches_its_gap(seed, loss, class_weight, make):
    X, index = draw_kinds(seed)
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, len(X)).astype(float)
    settings = {"C": 0.3, "loss": loss, "tol": 1e-3}
    found = train_one_vs_all(
        make(X), index, 5, sample_weight=weight, class_weight=class_weight, max_iter=10**5,
        **settings,
    )  # fmt: skip
    assert (found.gaps <= 1e-3).all()
    factors = module.balance_factors(index, 5, weight, class_weight)
    for k in range(5):
        sign = np.where(index == k, 1.0, -1.0)
        cost = weight * np.where(index == k, factors[k, 1], factors[k, 0])
        alpha = found.alpha[[k]].toarray()[0]
        problem = {"C": 0.3, "loss": loss, "sample_weight": cost}
        assert judge(X, sign, found.coef[k], found.intercept[k], alpha, **problem) <= 1.1e-3
        if class_weight and weight[index == k].sum() > 0:
            assert cost[index == k].sum() == pytest.approx(weight.sum() / 2)


def test_the_result_does_not_depend_on_n_jobs_or_blocks(seed, monkeypatch):
    X, index = draw_kinds(seed, n=400, k=150)
    one, two = (train_one_vs_all(X, index, 150, n_jobs=n) for n in (1, 2))
    for name in ("coef", "intercept", "gaps", "n_iter"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.alpha.shape == (150, 400)
    monkeypatch.setattr(module, "_CLASSES_PER_BLOCK", 7)
    small = train_one_vs_all(X, index, 150)
    np.testing.assert_allclose(small.coef, one.coef, atol=0.02)


def test_a_row_of_weight_zero_is_left_out(seed):
    X, index = draw_kinds(seed)
    keep = np.arange(len(X)) % 3 > 0
    settings = {"tol": 1e-5, "max_iter": 10**5}
    weighted = train_one_vs_all(X, index, 4, sample_weight=keep.astype(float), **settings)
    copied = train_one_vs_all(X[keep], index[keep], 4, **settings)
    np.testing.assert_allclose(weighted.coef, copied.coef, atol=0.01)


def test_a_warm_start_needs_no_epoch_and_one_class_is_solve_linear(seed):
    X, index = draw_kinds(seed)
    cold = train_one_vs_all(X, index, 4)
    warm = train_one_vs_all(X, index, 4, alpha0=cold.alpha)
    assert (warm.n_iter == 0).all()
    single = solve_linear(X, np.where(index == 2, 1, -1), loss="squared_hinge", tol=1e-5)
    np.testing.assert_allclose(cold.coef[2], single.w, atol=0.05)


def test_digits_are_told_apart():
    X, y = load_digits(return_X_y=True)
    found = train_one_vs_all(X[::2] / 16, y[::2], 10, loss="hinge", C=1.0)
    answer = (X[1::2] / 16 @ found.coef.T + found.intercept).argmax(axis=1)
    assert np.mean(answer == y[1::2]) > 0.93


def test_bad_input_is_one_sentence():
    X, index = draw_kinds(0)
    for change, message in (
        ({"index": index[:5]}, "index must have one class for each of the 90 rows"),
        ({"index": index + 3}, "index must lie in 0 to 3"),
        ({"class_weight": "even"}, "class_weight of train_one_vs_all must be one of"),
        ({"n_classes": 0}, "n_classes of train_one_vs_all must be a whole number"),
        ({"alpha0": csr_matrix((2, 90))}, "alpha0 must have the shape"),
    ):
        with pytest.raises(ValueError, match=message):
            train_one_vs_all(**{"X": X, "index": index, "n_classes": 4, **change})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_indices_are_the_same_matrix(dtype, seed):
    X, index = draw_kinds(seed)
    X[np.abs(X) < 1] = 0
    narrow, wide = csr_matrix(X.astype(dtype)), csr_matrix(X.astype(dtype))
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for loss in ("hinge", "squared_hinge"):
        one, two = (train_one_vs_all(rows, index, 4, loss=loss) for rows in (narrow, wide))
        # Sums of single precision may run in another order.
        np.testing.assert_allclose(one.coef, two.coef, atol=1e-4)
        sign = np.where(index == 1, 1, -1)
        # C = 1e4: far enough for the interior-point method, which copies rows.
        one, two = (solve_linear(rows, sign, loss=loss, C=1e4) for rows in (narrow, wide))
        assert one.n_iter > 100
        assert one.primal == pytest.approx(two.primal, rel=2e-3)
    mixed = csr_matrix(X.astype(dtype))
    mixed.indptr = mixed.indptr.astype(np.int64)
    one, two = (train_one_vs_all(rows, index, 4) for rows in (narrow, mixed))
    np.testing.assert_allclose(one.coef, two.coef, atol=1e-4)
    for rows in (narrow, wide):
        svm = LinearSVM(C="cv").fit(rows, sign)
        assert svm.duality_gap_ <= 1e-3
        np.testing.assert_array_equal(svm.predict(wide), svm.predict(narrow))
    positive = [abs(rows) for rows in (narrow, wide)]
    positive[1].indices = positive[1].indices.astype(np.int64)
    one, two = (KernelSVM(kernel="chi2").fit(rows, sign) for rows in positive)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
    shared = [Problems(rows) for rows in (narrow, wide)]
    margins = [p.evaluate(p.one_vs_all(index, 4, C=1.0), np.arange(len(index))) for p in shared]
    np.testing.assert_allclose(*margins, atol=1e-3)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return rbf_kernel(X[:400] / 16, gamma=0.1), y[:400]


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_each_class_is_libsvms(digits, class_weight):
    K, y = digits
    ours = train_one_vs_all_gram(K, y, 10, C=2.0, class_weight=class_weight, tol=1e-8)
    assert (ours.gaps <= 1e-8).all()
    margins = K @ ours.beta.T + ours.intercept
    for c in range(0, 10, 3):
        t = np.where(y == c, 1, -1)
        peer = SVC(C=2.0, kernel="precomputed", class_weight=class_weight, tol=1e-8).fit(K, t)
        np.testing.assert_allclose(margins[:, c], peer.decision_function(K), atol=1e-3)


def test_threads_and_types_change_nothing_that_matters(digits):
    K, y = digits
    one = train_one_vs_all_gram(K, y, 10, n_jobs=1)
    two = train_one_vs_all_gram(K, y, 10, n_jobs=2)
    np.testing.assert_array_equal(one.beta.toarray(), two.beta.toarray())
    np.testing.assert_array_equal(one.intercept, two.intercept)
    single = train_one_vs_all_gram(K.astype(np.float32), y, 10)
    assert (single.gaps <= 1e-3).all()
    answers = [(K @ s.beta.T + s.intercept).argmax(axis=1) for s in (one, single)]
    assert (answers[0] == answers[1]).mean() > 0.99


def test_a_memory_mapped_matrix_is_used_where_it_is(digits, tmp_path):
    K, y = digits
    np.save(tmp_path / "K.npy", K)
    mapped = train_one_vs_all_gram(np.load(tmp_path / "K.npy", mmap_mode="r"), y, 10)
    np.testing.assert_array_equal(mapped.intercept, train_one_vs_all_gram(K, y, 10).intercept)


def test_weights(digits):
    K, y = digits
    weight = np.ones(400)
    weight[350:] = 0
    weighted = train_one_vs_all_gram(K, y, 10, sample_weight=weight, tol=1e-8)
    assert not weighted.beta.toarray()[:, 350:].any()
    alone = train_one_vs_all_gram(np.ascontiguousarray(K[:350, :350]), y[:350], 10, tol=1e-8)
    np.testing.assert_allclose(weighted.intercept, alone.intercept, atol=1e-4)


def test_both_sides_weigh_the_same():
    y, weight = np.array([1, -1, -1, -1.0]), np.array([2.0, 1, 1, 4])
    is_class = (y > 0).astype(int)
    factor = balance_factors(is_class, 2, weight, "balanced")[1, is_class]
    assert (factor * weight)[y > 0].sum() == pytest.approx((factor * weight)[y < 0].sum())


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.zeros((2, 3)), "must be a square Gram matrix"),
        (np.full((2, 2), np.nan), "holds NaN or infinity"),
        (np.full((2, 2), np.inf), "holds NaN or infinity"),
        ([[1.0]], "must be a square Gram matrix"),
    ],
)
def test_bad_matrices_are_clear(K, message):
    with pytest.raises(ValueError, match=message):
        train_one_vs_all_gram(K, np.array([0, 1]), 2)


def test_wrong_index_is_clear():
    with pytest.raises(ValueError, match="one class for each of the 3 rows"):
        train_one_vs_all_gram(np.eye(3), np.array([0, 1]), 2)

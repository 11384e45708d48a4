import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from fieldguide.svm.gram_one_vs_all import train_one_vs_all_gram
from fieldguide.svm.one_vs_all import balance_factors


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
    assert weighted.beta.toarray()[:, 350:].any() == False  # noqa: E712
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

"""One-vs-all and one-vs-one, linear and kernel, against scikit-learn and plain loops."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.identify.test_sample_weight import WEIGHT_CHECKS

from fieldguide._random import deal_folds
from fieldguide.errors import ModelError
from fieldguide.identify import OneVsAllClassifier, OneVsOneClassifier
from fieldguide.kernels import KERNELS
from fieldguide.svm import list_pairs
from fieldguide.svm.c_path import C_GRID

KEYS = (OneVsAllClassifier, OneVsOneClassifier)
NAMES = np.array(["ant", "bee", "cod", "doe", "eel"])


def blobs(seed, n=60, d=5, k=3):
    """Overlapping classes with values that are not negative."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return np.abs(rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(k, d))[y]), y


@parametrize_with_checks(
    [key(kernel="rbf", probability=False) for key in KEYS],
    expected_failed_checks=lambda key: WEIGHT_CHECKS,
)
def test_scikit_learn_contract_with_kernels(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_linear_one_vs_all_is_one_linear_svc_per_class(loss, seed):
    X, y = blobs(seed, k=4)
    ours = OneVsAllClassifier(C=0.7, loss=loss, tol=1e-7).fit(X, y)
    peer = LinearSVC(C=0.7, loss=loss, dual=True, tol=1e-9, max_iter=200_000).fit(X, y)
    np.testing.assert_allclose(ours.functions_.coef, peer.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.functions_.intercept, peer.intercept_, atol=2e-3)


@pytest.mark.parametrize("kernel", [*KERNELS, "precomputed"])
def test_kernel_one_vs_all_is_one_svc_per_class(kernel, seed):
    X, y = blobs(seed)
    new = blobs(seed + 1)[0]
    gram, across = X @ X.T, new @ X.T
    key = OneVsAllClassifier(C=2.0, kernel=kernel, tol=1e-9)
    if kernel == "precomputed":
        margins = key.fit(gram, y).decision_function(across)
    else:
        margins = key.fit(X, y).decision_function(new)
        options = {"gamma": key.functions_.gamma} if key.functions_.gamma else {}
        gram, across = (KERNELS[kernel](rows, X, **options) for rows in (X, new))
    supports = set()
    for c in range(3):
        peer = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(gram, y == c)
        np.testing.assert_allclose(margins[:, c], peer.decision_function(across), atol=2e-3)
        supports |= set(peer.support_.tolist())
    assert abs(len(supports) - key.evaluations(across if kernel == "precomputed" else new)[0]) <= 2


def test_one_vs_one_is_svc(seed):
    X, y = blobs(seed, k=5, n=80)
    new = blobs(seed + 1, k=5, n=80)[0]
    ours = OneVsOneClassifier(C=2.0, kernel="rbf", gamma=0.3, tol=1e-9).fit(X, y)
    peer = SVC(C=2.0, gamma=0.3, tol=1e-8, decision_function_shape="ovo").fit(X, y)
    # scikit-learn's pairs are positive for their first class, ours for the second
    np.testing.assert_allclose(ours.functions_at(new), -peer.decision_function(new), atol=2e-3)
    assert set(ours.functions_.support) >= set(peer.support_) - {-1}
    assert ours.evaluations(new)[0] == len(ours.functions_.support)


@given(seed=st.integers(0, 10**6), k=st.integers(2, 6))
@settings(max_examples=30)
def test_votes_and_ties_are_counted_as_written(seed, k):
    """Against plain loops over whole-number margins, which tie often."""
    rng = np.random.default_rng(seed)
    pairs = list_pairs(k)
    margins = rng.integers(-2, 3, (8, len(pairs))).astype(float)
    key = OneVsOneClassifier()
    key.classes_ = np.arange(k)
    for row, scores in zip(margins, key._score(margins), strict=True):
        votes, sums = [0] * k, [0.0] * k
        for (a, b), margin in zip(pairs.tolist(), row, strict=True):
            votes[b if margin > 0 else a] += 1
            sums[a] -= margin
            sums[b] += margin
        best = max(range(k), key=lambda c: (votes[c], sums[c], -c))
        assert scores.argmax() == best


@pytest.mark.parametrize("key_type", KEYS)
@pytest.mark.parametrize("kernel", ["linear", "chi2", "rbf"])
def test_two_classes_are_one_function(key_type, kernel, seed):
    X, y = blobs(seed, k=2)
    key = key_type(kernel=kernel, tol=1e-6).fit(X, NAMES[y])
    margin = key.decision_function(X)
    assert margin.shape == (60,)
    np.testing.assert_array_equal(key.predict(X), NAMES[(margin > 0).astype(int)])
    assert len(key.functions_.intercept) == 1
    np.testing.assert_array_equal(key.classes_[key.predict_proba(X).argmax(1)], key.predict(X))


@pytest.mark.parametrize("key_type", KEYS)
@pytest.mark.parametrize("kernel", ["linear", "intersection", "exponential_chi2", "precomputed"])
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5), C=st.sampled_from([0.01, 1.0, 100.0]))
def test_what_always_holds(key_type, kernel, seed, k, C):
    X, y = blobs(seed, n=40, k=k)
    X = X.astype(np.float32)
    rows = X @ X.T if kernel == "precomputed" else X
    key = key_type(C=C, kernel=kernel).fit(rows, NAMES[y])
    answers, probability = key.predict(rows), key.predict_proba(rows)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(key.classes_[probability.argmax(axis=1)], answers)
    # threads, other names, a file, the path without checks, one row at a time: the same
    two = key_type(C=C, kernel=kernel, n_jobs=2).fit(rows, NAMES[y])
    np.testing.assert_array_equal(two.predict_proba(rows), probability)
    renamed = key_type(C=C, kernel=kernel).fit(rows, np.char.add("z", NAMES[y]))
    np.testing.assert_array_equal(renamed.predict(rows), np.char.add("z", answers))
    arrays, state = key.to_state()
    again = key_type.from_state(arrays, json.loads(json.dumps(state)))
    np.testing.assert_array_equal(again.predict_proba(rows), probability)
    np.testing.assert_array_equal(key.fast_predict(rows), answers)
    alone = np.concatenate([key.fast_predict(rows[[i]]) for i in range(len(rows))])
    np.testing.assert_array_equal(alone, answers)
    # what it costs
    n_functions = key_type._count_functions(k)
    assert key.decision_path(rows).shape == (40, n_functions)
    if kernel == "linear":
        assert (key.evaluations(rows) == n_functions).all()
    else:
        used = np.unique(key.functions_.coef.indices)
        assert (key.evaluations(rows) == len(used)).all()
        assert len(used) == len(key.functions_.support)  # no row of the pool is idle
    assert key.graph_ is None


@pytest.mark.parametrize("key_type", KEYS)
@pytest.mark.parametrize("kernel", ["linear", "chi2", "rbf"])
def test_sparse_rows_are_dense_rows(key_type, kernel, seed):
    X, y = blobs(seed)
    X[X < 0.6] = 0
    dense = key_type(kernel=kernel, tol=1e-6).fit(X, y)
    sparse = key_type(kernel=kernel, tol=1e-6).fit(csr_array(X), y)
    np.testing.assert_allclose(
        sparse.decision_function(csr_array(X)), dense.decision_function(X), atol=5e-3
    )
    again = key_type.from_state(*sparse.to_state())
    np.testing.assert_array_equal(again.predict(csr_array(X)), sparse.predict(csr_array(X)))


@pytest.mark.parametrize("key_type", KEYS)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_C_by_cross_validation_is_the_best_of_separate_fits(key_type, kernel):
    """The warm-started path with shared folds against one fit per fold and C."""
    X, y = blobs(3, n=75, d=4, k=3)
    gamma = 0.2
    chosen = key_type("cv", kernel, gamma=gamma, tol=1e-5, probability=False).fit(X, y).C_
    fold = deal_folds(y, 5, 0)
    accuracy = []
    for C in C_GRID:
        answer = np.empty_like(y)
        for k in range(5):
            key = key_type(C, kernel, gamma=gamma, tol=1e-5, probability=False)
            answer[fold == k] = key.fit(X[fold != k], y[fold != k]).predict(X[fold == k])
        accuracy.append(np.mean([(answer == y)[y == c].mean() for c in range(3)]))
    best = C_GRID[int(np.argmax(np.round(accuracy, 9)))]
    assert abs(accuracy[C_GRID.index(chosen)] - max(accuracy)) < 0.02
    assert chosen == best or abs(np.log10(chosen / best)) <= 1


@pytest.mark.parametrize("key_type", KEYS)
def test_probabilities_are_calibrated_on_digits(key_type):
    X, y = load_digits(return_X_y=True)
    X, is_new = X / 16, np.arange(len(y)) % 3 == 0
    key = key_type().fit(X[~is_new], y[~is_new])
    sure, accuracy = key.predict_proba(X[is_new]).max(axis=1), key.score(X[is_new], y[is_new])
    assert accuracy > 0.94
    assert abs(sure.mean() - accuracy) < 0.03
    # and what it says of its own training rows foretells that
    assert abs(key.held_out_.accuracy - accuracy) < 0.02
    assert abs(key.held_out_.confidence.mean() - key.held_out_.accuracy) < 0.01


@pytest.mark.parametrize("key_type", KEYS)
def test_held_out_answers_are_those_of_separate_fits(key_type):
    X, y = blobs(1, n=50)
    key = key_type(tol=1e-6).fit(X, NAMES[y])
    fold = deal_folds(y, 5, 0)
    for k in range(5):
        alone = key_type(tol=1e-6, probability=False).fit(X[fold != k], y[fold != k])
        np.testing.assert_array_equal(key.held_out_.answer[fold == k], alone.predict(X[fold == k]))
    is_right = key.held_out_.answer == y
    assert key.held_out_.accuracy == is_right.mean()
    expected = np.mean([is_right[y == c].mean() for c in range(3)])
    assert key.held_out_.mean_class_accuracy == pytest.approx(expected)


@given(sizes=st.lists(st.integers(1, 12), min_size=2, max_size=6), seed=st.integers(0, 100))
def test_folds_are_even_within_each_kind_and_in_all(sizes, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    fold = deal_folds(y, 5, seed)
    for kind in range(len(sizes)):
        counts = np.bincount(fold[y == kind], minlength=5)
        assert counts.max() - counts.min() <= 1
    counts = np.bincount(fold, minlength=5)
    assert counts.max() - counts.min() <= 1


def test_a_class_of_one_row_and_equal_rows():
    X = np.array([[0.0, 1], [0, 1], [1, 0], [1, 0], [3, 3]])
    y = np.array(["a", "a", "b", "b", "c"])
    for key_type in KEYS:
        for kernel in ("linear", "intersection"):
            key = key_type(C=100.0, kernel=kernel).fit(X, y)
            np.testing.assert_array_equal(key.predict(X), y)
            assert np.isfinite(key.predict_proba(X)).all()
            apart = key_type(C=100.0, kernel=kernel).fit(X[2:], y[2:])
            assert apart.held_out_ is None
            assert apart.inverse_temperature_ == 1


def test_without_probabilities_there_are_none():
    X, y = blobs(0)
    key = OneVsAllClassifier(probability=False).fit(X, y)
    assert not hasattr(key, "predict_proba")
    again = OneVsAllClassifier.from_state(*key.to_state())
    assert not hasattr(again, "predict_proba")
    np.testing.assert_array_equal(again.predict(X), key.predict(X))


def test_a_new_fit_serves_new_functions():
    X, y = blobs(0)
    X = X.astype(np.float32)
    key = OneVsAllClassifier().fit(X, y)
    key.fast_predict(X[:1])
    key.fit(X, (y + 1) % 3)
    assert key.fast_predict(X[:1])[0] == key.predict(X[:1])[0]


def test_bad_input_is_clear():
    X, y = blobs(0)
    for key_type in KEYS:
        with pytest.raises(ValueError, match="needs at least 2 classes"):
            key_type().fit([[0.0], [1.0]], ["a", "a"])
        with pytest.raises(ValueError, match=f"C of {key_type.__name__} must be a number"):
            key_type(C=0).fit(X, y)
        with pytest.raises(ValueError, match='must be a number or "cv"'):
            key_type(C="best").fit(X, y)
        with pytest.raises(ValueError, match=f"kernel of {key_type.__name__} must be one of"):
            key_type(kernel="cosine").fit(X, y)
        with pytest.raises(ValueError, match="Negative values"):
            key_type(kernel="chi2").fit(-X, y)
        with pytest.raises(ValueError, match="Negative values"):
            key_type(kernel="chi2").fit(X, y).predict(-X)
        with pytest.raises(ValueError, match="NaN"):
            key_type().fit(np.where(X > 2, np.nan, X), y)
        with pytest.raises(ValueError, match="square"):
            key_type(kernel="precomputed").fit(X, y)


def test_parts_that_do_not_fit_are_refused():
    X, y = blobs(0)
    key = OneVsAllClassifier(kernel="rbf").fit(X, y)
    for place, name, value, message in (
        ("parameters", "kernel", "cosine", "kernel of OneVsAllClassifier must be one of"),
        ("parameters", "kernel", "chi2", "not of the kernel 'chi2'"),
        (
            "fitted",
            "inverse_temperature_",
            0,
            "inverse_temperature_ of OneVsAllClassifier must be above 0",
        ),
        ("fitted", "inverse_temperature_", None, "inverse_temperature_ must be a number"),
        ("fitted", "classes_", {"str1": ["a"]}, "held_out_.answer of OneVsAll"),
        ("fitted", "classes_", {"str1": ["a", "b"]}, "held_out_.answer of OneVsAll"),
    ):
        arrays, record = copy.deepcopy(key.to_state())
        del arrays["classes_"]
        record["model"]["fitted"]["classes_"] = {"str1": ["a", "b", "c"]}
        record["model"][place][name] = value
        with pytest.raises(ModelError, match=message):
            OneVsAllClassifier.from_state(arrays, record)

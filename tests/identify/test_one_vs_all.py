import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

from fieldguide.identify import OneVsAllClassifier, hold_out
from fieldguide.identify.held_out import deal_folds
from fieldguide.identify.one_vs_all import solve_least_squares


def blobs(seed, n=60, d=5, k=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, d)) + 2 * rng.normal(size=(k, d))[y], y


@pytest.mark.parametrize("d", [5, 90])
@pytest.mark.parametrize("C", [0.01, 1.0, 50.0])
def test_the_solution_is_ridge_regression(d, C, seed):
    """Primal (d < n) and dual (d > n) against scikit-learn, whose alpha is 1 / C."""
    X, y = blobs(seed, d=d)
    ours = OneVsAllClassifier(C=C).fit(X, y)
    peer = RidgeClassifier(alpha=1 / C).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=2e-5)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=2e-5)


@pytest.mark.parametrize("d", [4, 60])
def test_left_out_margins_are_those_of_a_fit_without_the_row(d, seed):
    X, y = blobs(seed, n=30, d=d)
    closed = solve_least_squares(X, y, 3, 2.0).left_out_margins
    for i in range(0, 30, 5):
        rest = np.arange(30) != i
        one = solve_least_squares(X[rest], y[rest], 3, 2.0)
        np.testing.assert_allclose(closed[i], one.coef @ X[i] + one.intercept, atol=1e-8)


def test_probabilities_are_calibrated_on_digits():
    X, y = load_digits(return_X_y=True)
    held_out = hold_out(OneVsAllClassifier(C=0.01), X, y)
    assert held_out.accuracy > 0.92
    assert abs(held_out.sure.mean() - held_out.accuracy) < 0.03


def test_held_out_accuracy_is_that_of_cross_validation():
    X, y = load_digits(return_X_y=True)
    ours = hold_out(OneVsAllClassifier(), X, y).accuracy
    peer = cross_val_score(
        RidgeClassifier(), X, y, cv=StratifiedKFold(5, shuffle=True, random_state=0)
    ).mean()
    assert abs(ours - peer) < 0.01


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5))
def test_what_always_holds(seed, k):
    X, y = blobs(seed, n=40, k=k)
    names = np.array(["ant", "bee", "cod", "doe", "eel"])[y]
    key = OneVsAllClassifier().fit(X, names)
    probability = key.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    np.testing.assert_array_equal(key.classes_[probability.argmax(axis=1)], key.predict(X))
    order = np.random.default_rng(seed).permutation(40)
    shuffled = OneVsAllClassifier().fit(X[order], names[order])
    np.testing.assert_allclose(shuffled.coef_, key.coef_, atol=1e-4)
    renamed = OneVsAllClassifier().fit(X, np.char.add("z", names))
    np.testing.assert_array_equal(np.char.add("z", key.predict(X)), renamed.predict(X))
    assert (key.evaluations(X) == k).all()
    np.testing.assert_array_equal(key.decision_path(X).sum(axis=1), key.evaluations(X))
    again = OneVsAllClassifier.from_state(*key.to_state())
    np.testing.assert_array_equal(again.predict_proba(X), probability)


@settings(deadline=None)
@given(sizes=st.lists(st.integers(1, 12), min_size=2, max_size=6), seed=st.integers(0, 100))
def test_folds_are_even_within_each_kind_and_in_all(sizes, seed):
    y = np.repeat(np.arange(len(sizes)), sizes)
    fold = deal_folds(y, 5, seed)
    for kind in range(len(sizes)):
        counts = np.bincount(fold[y == kind], minlength=5)
        assert counts.max() - counts.min() <= 1
    counts = np.bincount(fold, minlength=5)
    assert counts.max() - counts.min() <= 1


def test_folds_in_parallel_give_the_same_answers(seed):
    X, y = blobs(seed)
    one, two = (hold_out(OneVsAllClassifier(), X, y, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.answer, two.answer)
    np.testing.assert_array_equal(one.sure, two.sure)


def test_bad_input_is_clear():
    with pytest.raises(ValueError, match="needs at least 2 classes"):
        OneVsAllClassifier().fit([[0.0], [1.0]], ["a", "a"])
    with pytest.raises(ValueError, match="C of OneVsAllClassifier must be a number"):
        OneVsAllClassifier(C=0).fit([[0.0], [1.0]], ["a", "b"])
    arrays, settings = OneVsAllClassifier().fit([[0.0], [1.0]], ["a", "b"]).to_state()
    with pytest.raises(ValueError, match="do not fit together"):
        OneVsAllClassifier.from_state({**arrays, "intercept": np.zeros(5)}, settings)

"""Probabilities mean what they say, and the answer stays the answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.linear_model import LogisticRegression

from fieldguide.identify import (
    AttentionTreeClassifier,
    OneVsAllClassifier,
    OneVsOneClassifier,
    RelaxedHierarchyClassifier,
    Shortlist,
    tree_key,
)
from fieldguide.identify.back_off import choose_likeliest, find_rank_doubts, find_threshold
from fieldguide.identify.confidence import apply_confidence, fit_confidence, measure_growth
from fieldguide.metrics import measure_reliability
from fieldguide.svm import Problems, SigmoidCalibration

PROBABILITIES = arrays(np.float64, (6, 5), elements=st.floats(1e-6, 1)).map(
    lambda p: p / p.sum(axis=1, keepdims=True)
)
SIGMOIDS = st.builds(SigmoidCalibration, st.floats(0, 5), st.floats(-8, 8))


@given(PROBABILITIES, SIGMOIDS)
def test_the_answer_stays_the_largest_and_the_rest_in_proportion(probability, sigmoid):
    answer = probability.argmax(axis=1)
    told = apply_confidence(probability, answer, sigmoid)
    assert told.sum(axis=1) == pytest.approx(1)
    assert (told.argmax(axis=1) == answer).all()
    for before, after, own in zip(probability, told, answer, strict=True):
        others = np.delete(np.arange(5), own)
        rest = before[others] / before[others].sum()
        assert after[others] / after[others].sum() == pytest.approx(rest, abs=1e-6)


def test_it_is_a_logistic_regression_of_being_right():
    rng = np.random.default_rng(0)
    probability = rng.dirichlet(np.full(4, 0.4), 4000)
    answer = probability.argmax(axis=1)
    top = probability.max(axis=1)
    right = rng.random(4000) < top**2
    index = np.where(right, answer, (answer + 1) % 4)
    found = fit_confidence(probability, answer, index)
    top = np.clip(top, 1e-9, 1 - 1e-9)
    peer = LogisticRegression(C=1e9).fit(np.log(top / (1 - top))[:, None], right)
    assert found.slope == pytest.approx(peer.coef_[0, 0], rel=0.02)
    assert found.offset == pytest.approx(peer.intercept_[0], abs=0.02)
    told = apply_confidence(probability, answer, found).max(axis=1)
    before = measure_reliability(probability.max(axis=1), right).error
    assert measure_reliability(told, right).error < before / 2


def test_two_classes_have_the_scale_alone():
    assert fit_confidence(np.full((4, 2), 0.5), np.zeros(4, int), np.zeros(4, int)) is None


def test_functions_grow_with_their_rows():
    growth = measure_growth(np.array([2.0, 3.0, 0.0]), [np.array([1.0, 3.0, 0.0])] * 5)
    assert growth.tolist() == [2.0, 1.0, 1.0]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_length_is_that_of_the_normal(kernel):
    rng = np.random.default_rng(0)
    X, index = rng.normal(0, 1, (30, 3)), np.arange(30) % 3
    problems = Problems(X, kernel)
    trained = problems.one_vs_all(index, 3, C=1.0)
    beta = trained.beta.toarray()
    gram = X @ X.T if kernel == "linear" else problems._gram
    expected = np.sqrt(np.einsum("ki,ij,kj->k", beta, gram, beta))
    assert problems.lengths(trained) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    "make",
    [
        OneVsAllClassifier,
        OneVsOneClassifier,
        RelaxedHierarchyClassifier,
        AttentionTreeClassifier,
    ],
)
def test_new_rows_are_as_often_right_and_in_their_group_as_is_said(make):
    rng = np.random.default_rng(1)
    centres = rng.normal(0, 1, (12, 16))
    y = np.repeat(np.arange(12), 150)
    X = centres[y] + rng.normal(0, 1.1, (len(y), 16))
    order = rng.permutation(len(y))
    known, new = order[:500], order[500:]
    key = make().fit(X[known], y[known])
    probability = key.predict_proba(X[new])
    right = probability.argmax(axis=1) == y[new]
    assert measure_reliability(probability.max(axis=1), right).error < 0.08
    assert (probability.argmax(axis=1) == key.predict(X[new])).all()
    members = key.predict_likeliest(X[new], 0.9)
    assert members[np.arange(len(new)), y[new]].mean() >= 0.86
    assert members.sum(axis=1).mean() < 8


@given(PROBABILITIES, st.floats(0, 0.999))
def test_the_likeliest_are_the_fewest_above_the_threshold(probability, threshold):
    members = choose_likeliest(probability, threshold)
    for row, chosen in zip(probability, members, strict=True):
        n = int(chosen.sum())
        largest = np.sort(row)[::-1]
        assert row[chosen].sum() == pytest.approx(largest[:n].sum())
        assert largest[:n].sum() > threshold - 1e-12 or n == len(row)
        assert n == 1 or largest[: n - 1].sum() <= threshold + 1e-12


def test_a_doubt_is_what_comes_before_the_own_class():
    probability = np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    doubts = find_rank_doubts(probability, np.array([1, 2]))
    assert doubts.tolist() == pytest.approx([0.0, 0.5])
    assert find_threshold(doubts, 0.9) == np.inf


MOST = 40


@pytest.fixture
def trainings(monkeypatch):
    """Keep at most 40 rows, and list the rows that each training leaves out."""
    monkeypatch.setattr(tree_key, "_MAX_HELD_OUT", MOST)
    monkeypatch.setattr(tree_key, "_ROWS_PER_CLASS", 1)
    left_out = []
    train = RelaxedHierarchyClassifier._train_flat

    def listen(self, problems, index, weight):
        if weight is not None:
            left_out.append(np.flatnonzero(weight == 0))
        return train(self, problems, index, weight)

    monkeypatch.setattr(RelaxedHierarchyClassifier, "_train_flat", listen)
    return left_out


def draw(seed, n, k=5, d=6):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return rng.normal(size=(n, d)) + 2 * rng.normal(size=(k, d))[y], y


@pytest.mark.parametrize(
    ("n", "n_trainings"), [(30, 5), (40, 5), (50, 4), (75, 3), (117, 2), (200, 1), (400, 1)]
)
def test_as_few_trainings_as_the_rows_need(trainings, n, n_trainings, seed):
    X, y = draw(seed, n)
    key = RelaxedHierarchyClassifier(random_state=seed).fit(X, y)
    rows = key.held_out_.rows
    assert len(trainings) == n_trainings
    assert len(rows) == min(n, MOST)
    np.testing.assert_array_equal(np.sort(np.concatenate(trainings)), rows)
    for left_out in trainings:
        lost = np.bincount(y[left_out], minlength=5)
        assert (lost <= np.ceil(np.bincount(y) / 5)).all()
    if n % MOST == 0 and n >= 5 * MOST:
        assert np.ptp(np.bincount(y[rows], minlength=5)) <= 1  # each class in its proportion


def test_no_class_loses_all_its_rows(trainings, seed):
    X, y = draw(seed, 400)
    few = np.concatenate([np.flatnonzero(y == 0)[:2], np.flatnonzero(y > 0)])
    RelaxedHierarchyClassifier(random_state=seed).fit(X[few], y[few])
    assert len(trainings) == 1
    kept = np.setdiff1d(np.arange(len(few)), trainings[0])
    assert (y[few][kept] == 0).sum() >= 1


def test_answers_are_those_of_a_fit_without_the_rows(trainings, seed):
    """A shortlist of every class is one-vs-all."""
    X, y = draw(seed, 400)
    settings = {"search": Shortlist(1e6, max_classes=5), "tol": 1e-8}
    held_out = RelaxedHierarchyClassifier(random_state=seed, **settings).fit(X, y).held_out_
    kept = np.setdiff1d(np.arange(400), held_out.rows)
    alone = OneVsAllClassifier(tol=1e-8, probability=False).fit(X[kept], y[kept])
    np.testing.assert_array_equal(held_out.answer, alone.predict(X[held_out.rows]))


def test_threads_change_nothing_with_many_rows(trainings, seed):
    X, y = draw(seed, 400)
    one, two = (RelaxedHierarchyClassifier(n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.held_out_.rows, two.held_out_.rows)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))

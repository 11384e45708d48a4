"""Which rows a key with a graph leaves out to calibrate itself, and what it then says of them."""

import numpy as np
import pytest

from fieldguide.identify import OneVsAllClassifier, RelaxedHierarchyClassifier, Shortlist, tree_key

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

"""Held-out scores and the choice of C, against training on copies of the rows of each fold."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from fieldguide._random import deal_folds
from fieldguide.svm import Problems, choose_C, hold_out
from fieldguide.svm.c_path import C_GRID, ask_two_classes

GRID = (1e-3, 0.1, 10.0)


def draw_hard_kinds(seed, n=120, k=4):
    """Classes of very different sizes that overlap, so that C matters."""
    rng = np.random.default_rng(seed)
    index = np.sort(rng.choice(k, n, p=[0.55, 0.3, 0.1, 0.05]))
    index[:k] = np.arange(k)
    return rng.normal(size=(n, 6)) + 1.2 * rng.normal(size=(k, 6))[index], index


def one_vs_all(index, n_classes):
    return lambda problems, C, weight, start: problems.one_vs_all(
        index, n_classes, C=C, weight=weight, start=start
    )


def as_they_are(margins):
    return margins


def mean_accuracy(scores, index):
    answer = scores.argmax(axis=1)
    return np.mean([(answer[index == c] == c).mean() for c in np.unique(index)])


@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_linear_scores_are_those_of_scikit_learn_without_the_fold(make, seed):
    X, index = draw_hard_kinds(seed)
    problems = Problems(make(X), tol=1e-7, max_iter=10**5)
    folds = {"score": as_they_are, "grid": GRID, "n_folds": 3, "seed": 5}
    found = hold_out(problems, one_vs_all(index, 4), index, **folds)
    fold = deal_folds(index, 3, 5)
    expected = np.empty_like(found)
    for i, C in enumerate(GRID):
        for k in range(3):
            peer = LinearSVC(C=C, dual=True, tol=1e-8, max_iter=10**6)
            peer.fit(X[fold != k], index[fold != k])
            expected[i, fold == k] = peer.decision_function(X[fold == k])
    np.testing.assert_allclose(found, expected, atol=0.02)
    best = GRID[int(np.argmax([mean_accuracy(scores, index) for scores in expected]))]
    assert choose_C(problems, one_vs_all(index, 4), index, **folds) == best


@pytest.mark.parametrize("kernel", ["precomputed", "rbf"])
def test_kernel_scores_are_those_of_scikit_learn_without_the_fold(kernel, seed):
    X, index = draw_hard_kinds(seed)
    K = rbf_kernel(X, gamma=0.1)
    problems = Problems(K if kernel == "precomputed" else X, kernel, 0.1, loss="hinge", tol=1e-8)
    folds = {"score": as_they_are, "grid": GRID, "n_folds": 3, "seed": 5}
    found = hold_out(problems, one_vs_all(index, 4), index, **folds)
    fold = deal_folds(index, 3, 5)
    for k in range(3):
        keep, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        for c in range(4):
            peer = SVC(C=10.0, kernel="precomputed", tol=1e-8)
            peer.fit(K[np.ix_(keep, keep)], index[keep] == c)
            expected = peer.decision_function(K[np.ix_(held, keep)])
            np.testing.assert_allclose(found[2, held, c], expected, atol=0.02)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_two_classes_on_a_list_of_rows_with_weights(kernel, seed):
    """Some rows of a larger matrix; a class counts by the weight of its rows alone."""
    X, index = draw_hard_kinds(seed)
    rows = np.random.default_rng(seed).permutation(120)[:90]
    labels = (index[rows] == 0).astype(int)
    sign, weight = 2.0 * labels - 1, np.random.default_rng(seed).uniform(0.2, 2, 90)
    loss = "squared_hinge" if kernel == "linear" else "hinge"
    problems = Problems(X, kernel, 0.1, loss=loss, tol=1e-7, max_iter=10**5)
    settings = {"rows": rows, "weight": weight, "grid": GRID, "n_folds": 4, "seed": 3}
    train = ask_two_classes(rows, sign)
    scores = hold_out(problems, train, labels, **settings)
    np.testing.assert_array_equal(scores[:, :, 0], -scores[:, :, 1])
    fold = deal_folds(labels, 4, 3)
    keep, held = fold != 2, fold == 2
    for i, C in enumerate(GRID):
        peer = (
            LinearSVC(C=C, dual=True, tol=1e-8, max_iter=10**6)
            if kernel == "linear"
            else SVC(C=C, gamma=0.1, tol=1e-8)
        )
        peer.fit(X[rows[keep]], labels[keep], sample_weight=weight[keep])
        expected = peer.decision_function(X[rows[held]])
        np.testing.assert_allclose(scores[i, held, 1], expected, atol=0.02)
    is_right = scores.argmax(axis=2) == labels
    accuracy = [
        np.mean([np.average(r[labels == c], weights=weight[labels == c]) for c in (0, 1)])
        for r in is_right
    ]
    assert len(set(accuracy)) > 1
    chosen = choose_C(problems, train, labels, **settings)
    assert accuracy[GRID.index(chosen)] > max(accuracy) - 0.02  # the ranking is of loose solutions


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_threads_change_nothing(kernel, seed):
    X, index = draw_hard_kinds(seed)
    one, two = (
        hold_out(
            *(Problems(X, kernel, n_jobs=n), one_vs_all(index, 4), index),
            **{"score": as_they_are, "grid": GRID},
        )
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_class_that_a_fold_misses_and_rows_of_weight_zero(kernel, seed):
    X, index = draw_hard_kinds(seed, n=60, k=4)
    index[index == 2] = 0
    index[7] = 2  # one row: nobody can recognise it when it is held out
    weight = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    scores = hold_out(
        *(Problems(X, kernel), one_vs_all(index, 4), index),
        **{"score": as_they_are, "weight": weight, "grid": (1.0,)},
    )[0]
    assert np.isfinite(scores).all()
    assert scores[7].argmax() != 2


def test_among_equals_the_smallest_C_wins():
    X, index = np.repeat(np.eye(3), 4, axis=0), np.repeat([0, 1, 2], 4)
    settings = {"score": as_they_are, "n_folds": 2}
    train = one_vs_all(index, 3)
    assert choose_C(Problems(X), train, index, grid=(5.0, 2.0, 90.0), **settings) == 2.0
    assert choose_C(Problems(X), train, index, **settings) == C_GRID[0]


def test_classes_of_one_row_do_not_choose():
    """The held-out row of such a class is of a kind that the others never saw."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 30))
    index = np.arange(8)
    assert choose_C(Problems(X), one_vs_all(index, 8), index) == 1.0
    grid = (0.01, 5.0, 90.0)
    assert choose_C(Problems(X), one_vs_all(index, 8), index, grid=grid) == 5.0

    centre = 3 * rng.normal(size=(3, 5))
    index = np.concatenate([np.arange(3).repeat(15), [3]])
    X = np.concatenate([centre[index[:-1]] + rng.normal(size=(45, 5)), rng.normal(size=(1, 5))])
    problems, train = Problems(X), one_vs_all(index, 4)
    every = hold_out(problems.changed(tol=1e-2), train, index, score=as_they_are)
    right = [(scores[:-1].argmax(axis=1) == index[:-1]).mean() for scores in every]
    chosen = choose_C(problems, train, index, score=as_they_are)
    assert chosen == C_GRID[int(np.argmax(np.round(right, 9)))]

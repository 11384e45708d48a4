import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from tests.svm.test_one_vs_all import draw_kinds

from fieldguide.svm import (
    choose_C_gram,
    choose_C_one_vs_all,
    choose_C_one_vs_all_gram,
    held_out_margins_one_vs_all,
    held_out_margins_one_vs_all_gram,
    solve_kernel,
    train_one_vs_all,
    train_one_vs_all_gram,
)
from fieldguide.svm.c_path import path_margins_gram
from fieldguide.svm.folds import deal_folds

GRID = (1e-3, 0.1, 10.0)
TIGHT = {"tol": 1e-6}


def draw_hard_kinds(seed, n=120, k=4):
    """Classes of very different sizes that overlap, so that C matters."""
    rng = np.random.default_rng(seed)
    index = np.sort(rng.choice(k, n, p=[0.55, 0.3, 0.1, 0.05]))
    index[:k] = np.arange(k)
    X = rng.normal(size=(n, 6)) + 1.2 * rng.normal(size=(k, 6))[index]
    return X, index


def hold_out_slowly(train, measure, index, n_classes, C, n_folds, seed):
    """Margins by training on copies of the rows of each fold, without any warm start."""
    fold = deal_folds(index, n_folds, seed)
    margins = np.empty((len(index), n_classes))
    for k in range(n_folds):
        keep, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        margins[held] = measure(train(keep, C), keep, held)
    return margins


def mean_accuracy(margins, index):
    answer = margins.argmax(axis=1)
    return np.mean([(answer[index == c] == c).mean() for c in np.unique(index)])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("make", [np.asarray, csr_array])
def test_the_linear_path_is_training_on_copies(loss, make, seed):
    X, index = draw_hard_kinds(seed)

    def train(keep, C):
        settings = {"C": C, "loss": loss, "class_weight": "balanced", **TIGHT}
        return train_one_vs_all(X[keep], index[keep], 4, max_iter=10**5, **settings)

    def measure(found, keep, held):
        return X[held] @ found.coef.T + found.intercept

    settings = {"loss": loss, "class_weight": "balanced", "max_iter": 10**5, **TIGHT}
    slow = {C: hold_out_slowly(train, measure, index, 4, C, 3, 5) for C in GRID}
    scores = [mean_accuracy(slow[C], index) for C in GRID]
    assert len(set(scores)) > 1
    found, margins = choose_C_one_vs_all(
        make(X), index, 4, grid=GRID[::-1], n_folds=3, seed=5, **settings
    )
    assert found == GRID[int(np.argmax(scores))]
    np.testing.assert_allclose(margins, slow[found], atol=0.02)
    one = held_out_margins_one_vs_all(make(X), index, 4, C=10.0, n_folds=3, seed=5, **settings)
    np.testing.assert_allclose(one, slow[10.0], atol=0.03)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_gram_path_is_training_on_copies(loss, seed):
    X, index = draw_hard_kinds(seed)
    K = rbf_kernel(X, gamma=0.1)

    def train(keep, C):
        part = np.ascontiguousarray(K[np.ix_(keep, keep)])
        return train_one_vs_all_gram(part, index[keep], 4, C=C, loss=loss, **TIGHT)

    def measure(found, keep, held):
        return K[np.ix_(held, keep)] @ found.beta.T + found.intercept

    slow = {C: hold_out_slowly(train, measure, index, 4, C, 3, 5) for C in GRID}
    scores = [mean_accuracy(slow[C], index) for C in GRID]
    assert len(set(scores)) > 1
    settings = {"n_folds": 3, "seed": 5, "loss": loss, **TIGHT}
    found, margins = choose_C_one_vs_all_gram(K, index, 4, grid=GRID, **settings)
    assert found == GRID[int(np.argmax(scores))]
    np.testing.assert_allclose(margins, slow[found], atol=0.02)
    one = held_out_margins_one_vs_all_gram(K, index, 4, C=0.1, **settings)
    np.testing.assert_allclose(one, slow[0.1], atol=0.02)


def test_threads_and_types_change_nothing_that_matters(seed):
    X, index = draw_kinds(seed, n=150, k=5)
    K = rbf_kernel(X, gamma=0.1)
    for choose, rows in ((choose_C_one_vs_all, X), (choose_C_one_vs_all_gram, K)):
        one, two = (choose(rows, index, 5, grid=GRID, n_jobs=n) for n in (1, 2))
        assert one[0] == two[0]
        np.testing.assert_array_equal(one[1], two[1])
        other = choose(rows.astype(np.float64), index, 5, grid=(one[0],))
        assert (other[1].argmax(axis=1) == one[1].argmax(axis=1)).mean() > 0.98


def test_weights_and_classes_that_a_fold_misses(seed):
    X, index = draw_kinds(seed, n=60, k=3)
    index[index == 2] = 0
    index[7] = 2  # one row: nobody can recognise it when it is held out
    weight = np.ones(60)
    weight[40:] = 0
    found, margins = choose_C_one_vs_all(X, index, 4, grid=GRID, sample_weight=weight)
    assert found in GRID
    assert np.isfinite(margins).all()
    assert margins[7].argmax() != 2
    K = X @ X.T
    margins = held_out_margins_one_vs_all_gram(K, index, 4, sample_weight=weight)
    assert np.isfinite(margins).all()
    assert margins[7].argmax() != 2


def test_among_equals_the_smallest_C_wins():
    X, index = np.repeat(np.eye(3), 4, axis=0), np.repeat([0, 1, 2], 4)
    assert choose_C_one_vs_all(X, index, 3, grid=(5.0, 2.0, 90.0), n_folds=2)[0] == 2.0
    assert choose_C_one_vs_all_gram(X @ X.T, index, 3, grid=(5.0, 2.0), n_folds=2)[0] == 2.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_two_classes_on_a_gram_matrix(loss, seed):
    X, index = draw_hard_kinds(seed)
    sign = np.where(index == 1, 1.0, -1.0)
    K = rbf_kernel(X, gamma=0.1)
    weight = np.random.default_rng(seed).uniform(0.5, 2, len(sign))
    settings = {"n_folds": 4, "seed": 3, "loss": loss, **TIGHT}
    margins = path_margins_gram(K, sign, weight, grid=GRID, **settings)
    fold = deal_folds(sign, 4, 3)
    for i, C in enumerate(GRID):
        keep, held = np.flatnonzero(fold != 2), np.flatnonzero(fold == 2)
        cold = solve_kernel(K, sign[keep], C * weight[keep], rows=keep, loss=loss, **TIGHT)
        expected = K[np.ix_(held, keep)] @ cold.beta + cold.intercept
        np.testing.assert_allclose(margins[i, held], expected, atol=0.02)
    is_right = (margins > 0) == (sign > 0)
    scores = [
        np.mean([np.average(r[sign == s], weights=weight[sign == s]) for s in (-1, 1)])
        for r in is_right
    ]
    assert len(set(scores)) > 1
    chosen = choose_C_gram(K, sign, weight, grid=GRID, **settings)
    assert chosen == GRID[int(np.argmax(scores))]
    assert chosen == choose_C_gram(K, sign, weight, grid=GRID, n_jobs=2, **settings)


@pytest.mark.parametrize("choose", [choose_C_one_vs_all, choose_C_one_vs_all_gram])
def test_bad_input_is_one_sentence(choose):
    index = np.array([0, 1, 0, 1])
    for change, message in (
        ({"grid": ()}, "must hold at least one value of C"),
        ({"n_folds": 1}, "n_folds of choose_C_one_vs_all.* must be a whole number in"),
        ({"grid": (0.0,)}, "C of train_one_vs_all.* must be a number"),
        ({"index": index[:3]}, "one class for each of the 4 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            choose(np.eye(4), **{"index": index, "n_classes": 2, **change})

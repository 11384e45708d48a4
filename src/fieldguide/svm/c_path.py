"""Held-out scores for every C of a grid: one warm-started path, the same folds for every value.

For each fold the problems of increasing C are solved one after the other, each from the dual
solution of the last one, on the shared matrix or Gram matrix: rows that are held out have weight
0, and nothing is copied. It serves any classifier that is made of binary problems: how to train
and how margins become scores of classes are arguments.

The C with the best mean accuracy of the classes wins; among equals the smallest, which is the most
regular function. The ranking needs no exact solutions: a relative gap of 1e-2 is enough for it.
"""

from collections.abc import Callable, Sequence

import numpy as np

from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide._random import deal_folds
from fieldguide.svm.problems import Problems, Question, Trained

C_GRID = tuple(10.0**k for k in range(-3, 4))
N_FOLDS = 5
PATH_TOL = 1e-2
_ROWS_PER_BLOCK = 1024

# (problems, C, weights of the rows, what the last C got or None) -> functions
Train = Callable[[Problems, float, np.ndarray, Trained | None], Trained]
Score = Callable[[np.ndarray], np.ndarray]  # margins of the functions -> a score for each class


def ask_two_classes(rows: np.ndarray, sign: np.ndarray) -> Train:
    """Return how to train the one function that separates ``rows`` by their ``sign``."""

    def train(
        problems: Problems, C: float, weight: np.ndarray, start: Trained | None = None
    ) -> Trained:
        return problems.solve([Question(rows, sign, weight)], C=C, start=start)

    return train


def ask_one_vs_all(index: np.ndarray, n_classes: int) -> Train:
    """Return how to train each class against the rest; margins are scores as they are."""

    def train(
        problems: Problems, C: float, weight: np.ndarray, start: Trained | None = None
    ) -> Trained:
        return problems.one_vs_all(index, n_classes, C=C, weight=weight, start=start)

    return train


def score_as_is(margins: np.ndarray) -> np.ndarray:
    """Return the margins of one function for each class, which are their scores."""
    return margins


def score_two_classes(margins: np.ndarray) -> np.ndarray:
    """Return the scores of the negative and the positive class from one margin, (n, 2)."""
    scores: np.ndarray = margins * np.array([-1, 1], margins.dtype)
    return scores


def hold_out(
    problems: Problems,
    train: Train,
    labels: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    score: Score = score_two_classes,
    grid: Sequence[float] = C_GRID,
    n_folds: int = N_FOLDS,
    seed: int = 0,
) -> np.ndarray:
    """Return the scores of rows that were left out of the training, for each C of ``grid``.

    Parameters
    ----------
    problems : Problems
        Folds run side by side in its threads; the result does not depend on how many there are.
    train : callable
        Such as :func:`ask_two_classes`.
    labels : ndarray of shape (m,)
        Class of each row, by which folds are dealt.
    rows : ndarray of shape (m,), optional
        The rows that ``labels`` and ``weight`` speak of; all of them by default.
    weight : ndarray of shape (m,), optional
    score : callable
    grid : sequence of float
        Smallest first.
    n_folds, seed : int

    Returns
    -------
    ndarray of shape (len(grid), m, n_classes), float32

    Examples
    --------
    >>> y = np.repeat([0, 1], 6)
    >>> X = np.arange(12.0)[:, None]
    >>> train = ask_two_classes(y, 2 * y - 1)
    >>> hold_out(Problems(X), train, y, grid=(0.1, 10.0), n_folds=3).shape
    (2, 12, 2)
    """
    rows = np.arange(problems.n) if rows is None else rows
    weight = np.ones(len(labels)) if weight is None else weight
    fold = deal_folds(labels, n_folds, seed)
    serial = problems.changed(n_jobs=1)

    def walk(k: int) -> tuple[np.ndarray, list[np.ndarray]]:
        held_out = np.flatnonzero(fold == k)
        blocks = np.split(held_out, range(_ROWS_PER_BLOCK, len(held_out), _ROWS_PER_BLOCK))
        share = np.where(fold == k, 0.0, weight)
        trained, scores = None, []
        for C in grid:
            trained = train(serial, C, share, trained)
            parts = [score(serial.evaluate(trained, rows[block])) for block in blocks]
            scores.append(np.concatenate(parts).astype(np.float32))
        return held_out, scores

    # Threads of BLAS inside threads are slow, and may sum in another order.
    with one_blas_thread():
        done = list(map_in_order(walk, np.unique(fold), n_jobs=problems.n_jobs))
    result = np.empty((len(grid), len(labels), done[0][1][0].shape[1]), dtype=np.float32)
    for held_out, scores in done:
        result[:, held_out] = scores
    return result


def choose_C(
    problems: Problems,
    train: Train,
    labels: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    weight: np.ndarray | None = None,
    score: Score = score_two_classes,
    grid: Sequence[float] = C_GRID,
    n_folds: int = N_FOLDS,
    seed: int = 0,
) -> float:
    """Return the C of ``grid`` with the best held-out mean accuracy of the classes.

    Arguments as of :func:`hold_out`, with ``labels`` from 0 to n_classes - 1; a class counts by
    the weight of its rows alone. Classes of one row do not count, since nothing else knows them;
    where there are no others the C nearest to 1 is taken.

    Examples
    --------
    >>> X = np.arange(20.0)[:, None] - 9.5
    >>> index = (X[:, 0] > 0).astype(int)
    >>> train = ask_two_classes(np.arange(20), 2.0 * index - 1)
    >>> choose_C(Problems(X), train, index, n_folds=2)
    0.001
    """
    grid = sorted(grid)
    weight = np.ones(len(labels)) if weight is None else weight
    counts = np.bincount(labels, weights=weight > 0)
    if counts.max() < 2:
        return float(min(grid, key=lambda C: abs(np.log(C))))
    loose = problems.changed(tol=max(problems.tol, PATH_TOL))
    scores = hold_out(
        loose,
        train,
        labels,
        rows=rows,
        weight=weight,
        score=score,
        grid=grid,
        n_folds=n_folds,
        seed=seed,
    )
    mass = np.bincount(labels, weights=weight)
    shares = np.where(counts[labels] > 1, weight / np.maximum(mass[labels], 1e-300), 0.0)
    accuracy = (scores.argmax(axis=2) == labels) @ shares
    return float(grid[int(np.argmax(np.round(accuracy, 9)))])

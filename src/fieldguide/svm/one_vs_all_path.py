"""Held-out margins of one-vs-all classifiers, and the C that does best by them.

The folds are the same for every C and every class; within a fold the values of C are taken from
the smallest to the largest, each problem starting from the dual solution of the one before, which
the solver scales as suits the new value. Held-out rows have weight 0, so that the matrix or Gram
matrix is shared by all. One C serves all classes: the one with the best mean per-class accuracy
of the largest held-out margin; among equals the smallest. The margins at that C come with it, for
calibration (:func:`fieldguide.svm.calibrate_margins`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from fieldguide._check import InvalidArgument, check_number
from fieldguide._parallel import map_in_order
from fieldguide.svm.c_path import C_GRID, N_FOLDS
from fieldguide.svm.folds import deal_folds
from fieldguide.svm.gram_one_vs_all import check_gram, train_one_vs_all_gram
from fieldguide.svm.one_vs_all import check_index, train_one_vs_all, view_rows
from fieldguide.svm.rows import check_weights, share_rows

_ROWS_PER_BLOCK = 1024
_TOL = 1e-2

# (C, weights of the training rows, last dual solution or None) -> (dual solution, margins of rows)
_Train = Callable[[float, np.ndarray, Any], tuple[Any, Callable[[np.ndarray], np.ndarray]]]


def choose_C_one_vs_all(
    X: Any,
    index: np.ndarray,
    n_classes: int,
    *,
    grid: tuple[float, ...] = C_GRID,
    n_folds: int = N_FOLDS,
    sample_weight: np.ndarray | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    **settings: Any,
) -> tuple[float, np.ndarray]:
    """Return the best C of ``grid`` and the held-out margins of all rows at it.

    Parameters
    ----------
    X : ndarray, CSR matrix or Rows of shape (n, d)
        Shared by all folds: never copied.
    index : ndarray of shape (n,)
        Class of each row, 0 to n_classes - 1.
    grid : tuple of float
    n_folds : int
        At least 2. A class with a single row is never recognised when that row is held out.
    sample_weight : ndarray of shape (n,), optional
        Of the training, and of the rows in the accuracy of their class.
    seed : int
        Of the folds and of the solver.
    n_jobs : int
        Threads, a fold each; the result does not depend on it.
    settings
        ``loss``, ``class_weight``, ``intercept_scaling``, ``tol``, ``max_iter`` of
        :func:`~fieldguide.svm.one_vs_all.train_one_vs_all`; ``tol`` is 0.01 by default, which
        changes no margin that anybody would notice.

    Returns
    -------
    C : float
    margins : ndarray of shape (n, n_classes)

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 4, axis=0)
    >>> C, margins = choose_C_one_vs_all(X, np.repeat([0, 1, 2], 4), 3, n_folds=2)
    >>> C, margins.argmax(axis=1).tolist()
    (0.001, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    """
    n, train = X.shape[0], _linear_trainer(X, index, n_classes, seed, settings)
    problem = (n, index, n_classes, grid, n_folds, sample_weight, seed, n_jobs)
    return _choose("choose_C_one_vs_all", train, *problem)


def choose_C_one_vs_all_gram(
    K: np.ndarray,
    index: np.ndarray,
    n_classes: int,
    *,
    grid: tuple[float, ...] = C_GRID,
    n_folds: int = N_FOLDS,
    sample_weight: np.ndarray | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    **settings: Any,
) -> tuple[float, np.ndarray]:
    """Return the best C of ``grid`` and the held-out margins of all rows at it.

    As :func:`choose_C_one_vs_all`, for a Gram matrix (n, n); ``settings`` are ``loss``,
    ``class_weight``, ``tol``, ``max_steps`` of
    :func:`~fieldguide.svm.gram_one_vs_all.train_one_vs_all_gram`.

    Examples
    --------
    >>> X = np.repeat(np.eye(3), 4, axis=0)
    >>> choose_C_one_vs_all_gram(X @ X.T, np.repeat([0, 1, 2], 4), 3, n_folds=2)[0]
    0.001
    """
    K = check_gram("choose_C_one_vs_all_gram", K)
    n, train = len(K), _gram_trainer(K, index, n_classes, settings)
    problem = (n, index, n_classes, grid, n_folds, sample_weight, seed, n_jobs)
    return _choose("choose_C_one_vs_all_gram", train, *problem)


def held_out_margins_one_vs_all(
    X: Any,
    index: np.ndarray,
    n_classes: int,
    *,
    C: float = 1.0,
    n_folds: int = N_FOLDS,
    sample_weight: np.ndarray | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    **settings: Any,
) -> np.ndarray:
    """Return the margins (n, n_classes) of every row by functions trained without its fold.

    Arguments as of :func:`choose_C_one_vs_all`, with one C.
    """
    n, train = X.shape[0], _linear_trainer(X, index, n_classes, seed, settings)
    problem = (n, index, n_classes, (C,), n_folds, sample_weight, seed, n_jobs)
    return _choose("held_out_margins_one_vs_all", train, *problem)[1]


def held_out_margins_one_vs_all_gram(
    K: np.ndarray,
    index: np.ndarray,
    n_classes: int,
    *,
    C: float = 1.0,
    n_folds: int = N_FOLDS,
    sample_weight: np.ndarray | None = None,
    seed: int = 0,
    n_jobs: int = 1,
    **settings: Any,
) -> np.ndarray:
    """Return the margins (n, n_classes) of every row by functions trained without its fold.

    Arguments as of :func:`choose_C_one_vs_all_gram`, with one C.
    """
    owner = "held_out_margins_one_vs_all_gram"
    K = check_gram(owner, K)
    n, train = len(K), _gram_trainer(K, index, n_classes, settings)
    problem = (n, index, n_classes, (C,), n_folds, sample_weight, seed, n_jobs)
    return _choose(owner, train, *problem)[1]


def _linear_trainer(
    X: Any, index: np.ndarray, n_classes: int, seed: int, settings: dict[str, Any]
) -> _Train:
    matrix = share_rows(X)
    view = view_rows(matrix)

    def train(C: float, weight: np.ndarray, last: Any) -> Any:
        found = train_one_vs_all(
            *(matrix, index, n_classes),
            C=C,
            sample_weight=weight,
            alpha0=last,
            seed=seed,
            **{"tol": _TOL, **settings},
        )

        def measure(rows: np.ndarray) -> np.ndarray:
            return view[rows] @ found.coef.T + found.intercept

        return found.alpha, measure

    return train


def _gram_trainer(
    K: np.ndarray, index: np.ndarray, n_classes: int, settings: dict[str, Any]
) -> _Train:
    def train(C: float, weight: np.ndarray, last: Any) -> Any:
        found = train_one_vs_all_gram(
            *(K, index, n_classes),
            C=C,
            sample_weight=weight,
            beta0=last,
            **{"tol": _TOL, **settings},
        )
        used = np.unique(found.beta.indices)
        beta = np.ascontiguousarray(found.beta[:, used].toarray().T).astype(K.dtype)

        def measure(rows: np.ndarray) -> np.ndarray:
            return K[np.ix_(rows, used)] @ beta + found.intercept

        return found.beta, measure

    return train


def _choose(
    owner: str,
    train: _Train,
    n: int,
    index: np.ndarray,
    n_classes: int,
    grid: tuple[float, ...],
    n_folds: int,
    sample_weight: np.ndarray | None,
    seed: int,
    n_jobs: int,
) -> tuple[float, np.ndarray]:
    """Return the best C and its held-out margins."""
    check_number(owner, "n_folds", n_folds, 2, 10**9, integer=True)
    if not len(grid):
        raise InvalidArgument(f"grid of {owner} must hold at least one value of C; got none.")
    index = check_index(index, n, n_classes)
    weight = check_weights(sample_weight, len(index))
    fold = deal_folds(index, n_folds, seed)
    values = sorted(float(C) for C in grid)
    margins = np.empty((len(values), len(index), n_classes), dtype=np.float32)

    def walk(k: int) -> None:
        held_out = np.flatnonzero(fold == k)
        share = np.where(fold == k, 0.0, weight)
        dual = None
        for i, C in enumerate(values):
            dual, measure = train(C, share, dual)
            for low in range(0, len(held_out), _ROWS_PER_BLOCK):
                rows = held_out[low : low + _ROWS_PER_BLOCK]
                margins[i, rows] = measure(rows)

    # Threads of BLAS inside threads are slow; the limit must outlive those that the folds set.
    with threadpool_limits(1, "blas"):
        list(map_in_order(walk, np.unique(fold), n_jobs=n_jobs))
    scores = [_mean_accuracy(m.argmax(axis=1) == index, index, n_classes, weight) for m in margins]
    best = int(np.argmax(np.round(scores, 12)))
    return values[best], margins[best].copy()


def _mean_accuracy(
    is_right: np.ndarray, index: np.ndarray, n_classes: int, weight: np.ndarray
) -> float:
    """Return the mean over classes with weight of their weighted share of right answers."""
    total = np.bincount(index, weights=weight, minlength=n_classes)
    right = np.bincount(index, weights=weight * is_right, minlength=n_classes)
    return float((right[total > 0] / total[total > 0]).mean()) if total.any() else 0.0

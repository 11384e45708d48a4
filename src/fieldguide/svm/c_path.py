"""C by cross-validation: one warm-started path over a grid, the same folds for every value.

For each fold the problems of increasing C are solved one after the other, each from the dual
solution of the last one (scaled by the ratio of the two values), on the shared matrix or Gram
matrix: a fold is an index list, or rows of weight 0, and nothing is copied. The value with the best
mean accuracy of the classes wins; among equals the smallest, which is the most regular function.
Many classes at once are in :mod:`fieldguide.svm.one_vs_all_path`.
"""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from fieldguide._parallel import map_in_order
from fieldguide.svm import _kernels
from fieldguide.svm.coordinate_descent import solve_linear
from fieldguide.svm.folds import deal_folds
from fieldguide.svm.rows import Rows, share_rows
from fieldguide.svm.smo import solve_kernel

C_GRID = tuple(10.0**k for k in range(-3, 4))
N_FOLDS = 5


def choose_C(
    X: Any,
    sign: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    rows: np.ndarray | None = None,
    grid: tuple[float, ...] = C_GRID,
    n_folds: int = N_FOLDS,
    n_jobs: int = 1,
    seed: int = 0,
    **settings: Any,
) -> float:
    """Return the value of ``grid`` with the best cross-validated mean accuracy of the two classes.

    Parameters
    ----------
    X : ndarray, CSR matrix or Rows of shape (n, d)
    sign : ndarray of shape (n,)
        -1 or +1.
    weight : ndarray of shape (n,), optional
    rows : ndarray of shape (n,), optional
        The rows of X that ``sign`` and ``weight`` speak of; all of them by default.
    settings
        ``loss``, ``intercept_scaling``, ``tol``, ``max_iter`` of
        :func:`~fieldguide.svm.coordinate_descent.solve_linear`.

    Examples
    --------
    >>> X = np.arange(20.0)[:, None] - 9.5
    >>> choose_C(X, np.sign(X[:, 0]), n_folds=2)
    0.001
    """
    weight = np.ones(len(sign)) if weight is None else weight
    margins = path_margins(
        X, sign, weight, rows=rows, grid=grid, n_folds=n_folds, n_jobs=n_jobs, seed=seed, **settings
    )
    return _best_C(margins, sign, weight, grid)


def choose_C_gram(
    K: np.ndarray,
    sign: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    grid: tuple[float, ...] = C_GRID,
    n_folds: int = N_FOLDS,
    n_jobs: int = 1,
    seed: int = 0,
    **settings: Any,
) -> float:
    """Return the value of ``grid`` with the best cross-validated mean accuracy of the two classes.

    Parameters
    ----------
    K : ndarray of shape (n, n), float32 or float64, C-contiguous
        Gram matrix; it is not copied.
    sign : ndarray of shape (n,)
        -1 or +1.
    weight : ndarray of shape (n,), optional
    settings
        ``loss``, ``tol``, ``max_steps`` of :func:`~fieldguide.svm.smo.solve_kernel`.

    Examples
    --------
    >>> X = np.arange(20.0)[:, None] - 9.5
    >>> choose_C_gram(X @ X.T, np.sign(X[:, 0]), n_folds=2)
    0.1
    """
    weight = np.ones(len(sign)) if weight is None else weight
    margins = path_margins_gram(
        K, sign, weight, grid=grid, n_folds=n_folds, n_jobs=n_jobs, seed=seed, **settings
    )
    return _best_C(margins, sign, weight, grid)


def _best_C(
    margins: np.ndarray, sign: np.ndarray, weight: np.ndarray, grid: tuple[float, ...]
) -> float:
    """Return the smallest C among those with the best mean accuracy of the two classes."""
    is_right = (margins > 0) == (sign > 0)
    scores = np.zeros(len(grid))
    for side in (-1, 1):
        share = weight * (sign == side)
        scores += is_right @ (share / max(share.sum(), 1e-300))
    return float(sorted(grid)[int(np.argmax(np.round(scores, 12)))])


def path_margins(
    X: Any,
    sign: np.ndarray,
    weight: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    grid: tuple[float, ...] = C_GRID,
    n_folds: int = N_FOLDS,
    n_jobs: int = 1,
    seed: int = 0,
    **settings: Any,
) -> np.ndarray:
    """Return the held-out margin of every row for each C, smallest first: (len(grid), n)."""
    matrix = share_rows(X)
    chosen = np.arange(matrix.shape[0]) if rows is None else rows
    fold = deal_folds(sign, n_folds, seed)
    margins = np.zeros((len(grid), len(sign)))

    def walk(k: int) -> None:
        train, held_out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        alpha, last = None, 1.0
        for i, C in enumerate(sorted(grid)):
            solution = solve_linear(
                matrix,
                sign[train],
                rows=chosen[train],
                C=C,
                sample_weight=weight[train],
                seed=seed,
                alpha0=None if alpha is None else alpha * (C / last),
                **settings,
            )
            alpha, last = solution.alpha, C
            margins[i, held_out] = margins_of(matrix, chosen[held_out], solution.w, solution.b)

    list(map_in_order(walk, np.unique(fold), n_jobs=n_jobs))
    return margins


def path_margins_gram(
    K: np.ndarray,
    sign: np.ndarray,
    weight: np.ndarray,
    *,
    grid: tuple[float, ...] = C_GRID,
    n_folds: int = N_FOLDS,
    n_jobs: int = 1,
    seed: int = 0,
    **settings: Any,
) -> np.ndarray:
    """Return the held-out margin of every row for each C, smallest first: (len(grid), n)."""
    fold = deal_folds(sign, n_folds, seed)
    margins = np.zeros((len(grid), len(sign)))

    def walk(k: int) -> None:
        held_out = np.flatnonzero(fold == k)
        beta = None
        for i, C in enumerate(sorted(grid)):
            solution = solve_kernel(
                *(K, sign, np.where(fold == k, 0.0, C * weight)),
                beta0=beta,
                **settings,
            )
            beta = solution.beta
            support = np.flatnonzero(beta)
            values = K[np.ix_(held_out, support)].astype(np.float64)
            margins[i, held_out] = values @ beta[support] + solution.intercept

    with threadpool_limits(1, "blas"):
        list(map_in_order(walk, np.unique(fold), n_jobs=n_jobs))
    return margins


def margins_of(matrix: Rows, rows: np.ndarray, w: np.ndarray, b: float) -> np.ndarray:
    """Return w·x + b of some rows of the shared matrix."""
    out = np.empty(len(rows))
    _kernels.evaluate(*matrix.layout, rows, 1.0, np.append(w, w.dtype.type(b)), out)
    return out

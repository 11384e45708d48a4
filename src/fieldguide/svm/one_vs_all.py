"""One linear SVM per class against all others, on one shared matrix.

The rows are the same for every class and so is nearly every sign, which saves most of the work:

- Every class starts from one solution of the problem in which *all* rows are negative, so that its
  own rows are the only ones in the wrong.
- The margins of all rows for a block of classes are one matrix product W Xᵀ. It gives the exact
  duality gap of each class of the block, and the rows that are not settled.
- Coordinate descent visits those rows alone, a few per cent of the matrix.

Problem and symbols are those of :mod:`fieldguide.svm.coordinate_descent`, with y_i = +1 for the
rows of the class.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fieldguide._check import check_choice, check_number
from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide.errors import InvalidArgument
from fieldguide.svm import _kernels
from fieldguide.svm.coordinate_descent import (
    PATIENCE,
    check_settings,
    keep_better,
    plan_refinement,
    refine,
    relative_gap,
    solve_linear,
)
from fieldguide.svm.shared_rows import Rows, check_weights, share_rows

# Enough for the matrix product to run at full speed; memory is two numbers per class and row.
_CLASSES_PER_BLOCK = 64
_EPOCHS_PER_CHECK = 10
_START_TOL = 1e-3
_START_EPOCHS = 50


class OneVsAllSolution(NamedTuple):
    """Result of :func:`train_one_vs_all`.

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> found = train_one_vs_all(X, np.array([0, 0, 1, 1]), 2)
    >>> (X @ found.coef.T + found.intercept).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    coef: np.ndarray  # (n_classes, n_features), of the type of X
    intercept: np.ndarray  # (n_classes,)
    gaps: np.ndarray  # (n_classes,) relative duality gaps
    n_iter: np.ndarray  # (n_classes,) epochs, each over the rows that were not settled
    alpha: csr_array  # (n_classes, n) dual variables; the stored ones are the support rows


class _Problem(NamedTuple):
    """What all blocks of classes share."""

    matrix: Rows
    view: Any  # the same rows as a matrix that numpy or scipy can multiply
    labels: np.ndarray
    cost: np.ndarray  # (n,)
    factors: np.ndarray  # (n_classes, 2) of the costs of negative and positive rows
    squared: bool
    bias: float
    tol: float
    max_iter: int
    seed: int


def train_one_vs_all(
    X: Any,
    index: np.ndarray,
    n_classes: int,
    *,
    C: float = 1.0,
    loss: str = "squared_hinge",
    sample_weight: np.ndarray | None = None,
    class_weight: str | None = None,
    intercept_scaling: float = 1.0,
    tol: float = 1e-3,
    max_iter: int = 1000,
    alpha0: csr_array | None = None,
    n_jobs: int | None = None,
    seed: int = 0,
) -> OneVsAllSolution:
    """Train every class against the rest, each to a relative duality gap of ``tol``.

    Parameters
    ----------
    X : ndarray, CSR matrix or Rows of shape (n, d)
        Shared by all classes and threads: never copied, never changed.
    index : ndarray of shape (n,)
        Class of each row, 0 to n_classes - 1.
    n_classes : int
        A class without rows gets a function that is negative on all of them.
    C, loss, intercept_scaling, seed
        As in :func:`~fieldguide.svm.coordinate_descent.solve_linear`.
    sample_weight : ndarray of shape (n,), optional
        0 leaves a row out, which is how folds share one matrix.
    class_weight : {None, "balanced"}
        "balanced" gives the rows of the class and the rest half of the total weight each.
    tol : float
        Relative duality gap to reach, for each class.
    max_iter : int
        Largest number of epochs for one class; ``gaps`` says whether it was enough.
    alpha0 : csr_array of shape (n_classes, n), optional
        Where to start, for instance the ``alpha`` of the same problem with another C.
    n_jobs : int, optional
        Threads, each with a block of classes; the result does not depend on it.

    Examples
    --------
    >>> X = np.eye(3, dtype=np.float32)
    >>> found = train_one_vs_all(X, np.array([0, 1, 2]), 3, C=10.0)
    >>> (X @ found.coef.T + found.intercept).argmax(axis=1)
    array([0, 1, 2])
    """
    matrix = share_rows(X)
    check_settings("train_one_vs_all", C, loss, intercept_scaling, tol, max_iter)
    check_choice("train_one_vs_all", "class_weight", class_weight, (None, "balanced"))
    check_number("train_one_vs_all", "n_classes", n_classes, 1, 10**9, integer=True)
    n, d = matrix.shape
    weight = check_weights(sample_weight, n)
    index = check_index(index, n, n_classes)
    factors = balance_factors(index, n_classes, weight, class_weight)
    problem = _Problem(
        matrix=matrix,
        view=view_rows(matrix),
        labels=index,
        cost=float(C) * weight,
        factors=factors,
        squared=loss == "squared_hinge",
        bias=float(intercept_scaling),
        tol=tol,
        max_iter=max_iter,
        seed=seed,
    )
    if alpha0 is None:
        start = solve_linear(
            matrix,
            -np.ones(n),
            C=C,
            loss=loss,
            sample_weight=weight,
            intercept_scaling=intercept_scaling,
            tol=max(tol, _START_TOL),
            max_iter=_START_EPOCHS,
            seed=seed,
        ).alpha
    elif alpha0.shape != (n_classes, n):
        raise InvalidArgument(
            f"alpha0 must have the shape {(n_classes, n)}, classes and rows; got {alpha0.shape}."
        )

    def train(first: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, csr_array]:
        classes = np.arange(first, min(first + _CLASSES_PER_BLOCK, n_classes))
        if alpha0 is None:
            alpha = np.where(index == classes[:, None], 0.0, start)
        else:
            alpha = alpha0[classes].toarray().astype(np.float64)
        return _train_block(problem, classes, alpha, alpha0 is None)

    blocks = range(0, n_classes, _CLASSES_PER_BLOCK)
    # A BLAS of several threads inside several threads is slow, and may sum in another order.
    with one_blas_thread():
        done = list(map_in_order(train, blocks, n_jobs=n_jobs))
    w = np.concatenate([block[0] for block in done])
    return OneVsAllSolution(
        np.ascontiguousarray(w[:, :d]),
        w[:, d] * w.dtype.type(intercept_scaling),
        np.concatenate([block[1] for block in done]),
        np.concatenate([block[2] for block in done]),
        _stack([block[3] for block in done], n),
    )


def check_index(index: Any, n: int, n_classes: int) -> np.ndarray:
    """Return class numbers that are known to lie in 0 to n_classes - 1, one for each row."""
    numbers = np.ascontiguousarray(index, dtype=np.int64)
    if numbers.shape != (n,):
        raise InvalidArgument(
            f"index must have one class for each of the {n} rows; got the shape {numbers.shape}."
        )
    if n and (numbers.min() < 0 or numbers.max() >= n_classes):
        raise InvalidArgument(
            f"index must lie in 0 to {n_classes - 1}; got {numbers.min()} to {numbers.max()}."
        )
    return numbers


def balance_factors(
    index: np.ndarray, n_classes: int, weight: np.ndarray, class_weight: str | None
) -> np.ndarray:
    """Return the factors of the costs of negative and positive rows, (n_classes, 2)."""
    if class_weight is None:
        return np.ones((n_classes, 2))
    positive = np.bincount(index, weights=weight, minlength=n_classes)
    mass = np.stack([weight.sum() - positive, positive], axis=1)
    return np.where(mass > 0, weight.sum() / (2 * np.maximum(mass, 1e-300)), 1.0)


def _train_block(
    problem: _Problem, classes: np.ndarray, alpha: np.ndarray, is_cold: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, csr_array]:
    """Alternate one matrix product with descent on the unsettled rows of each class."""
    matrix, squared, bias = problem.matrix, problem.squared, problem.bias
    n, d = matrix.shape
    size = len(classes)
    w = np.zeros((size, d + 1), dtype=matrix.data.dtype)
    gaps, n_iter = np.ones(size), np.zeros(size, dtype=np.int64)
    patience, last_dual = np.full(size, PATIENCE), np.full(size, -np.inf)
    states = np.uint64(problem.seed) + classes.astype(np.uint64)[:, None]
    rows, active = np.arange(n), np.empty(n, dtype=np.int64)
    sign, cost = np.empty(n), np.empty(n)

    def label(k: Any) -> None:
        _kernels.label_rows(
            problem.labels, classes[k], problem.cost, problem.factors[classes[k]], sign, cost
        )

    for k in range(size):
        label(k)
        _kernels.clip_alpha(cost, squared, alpha[k])
        _kernels.combine(*matrix.layout, rows, sign, alpha[k], bias, w[k])
        stretch = _best_stretch(alpha[k], w[k], cost, squared)
        alpha[k] *= stretch
        w[k] *= w.dtype.type(stretch)
    pending, is_first = np.arange(size), is_cold
    while len(pending):
        unfinished = []
        for k, margin in zip(
            pending.tolist(), _margins(problem.view, w[pending], bias), strict=True
        ):
            label(k)
            primal, dual = _kernels.sum_objectives(margin, sign, cost, squared, alpha[k], w[k])
            gaps[k] = relative_gap(primal, dual)
            if gaps[k] <= problem.tol or n_iter[k] >= problem.max_iter:
                continue
            unfinished.append(k)
            if n_iter[k] >= patience[k]:
                n_active = _kernels.choose_active(
                    margin, sign, cost, squared, alpha[k], 0.0, active
                )
                problem_k = (matrix, rows, sign, cost, squared, bias, alpha[k])
                goal = 0.1 * problem.tol * max(dual, 1e-6 * primal)
                refined = refine(*problem_k, w[k], active[:n_active], goal)
                if refined is not None:
                    alpha[k] = keep_better(*problem_k, dual, refined)
                    _kernels.combine(*matrix.layout, rows, sign, alpha[k], bias, w[k])
                    n_iter[k] += 1
                    patience[k] = plan_refinement(n_iter[k], primal, dual, last_dual[k])
                    last_dual[k] = dual
                    continue
                patience[k] = 2 * n_iter[k]
            n_active = _kernels.choose_worst(
                margin, sign, cost, squared, alpha[k], is_first, active
            )
            n_iter[k] += _kernels.descend(
                *matrix.layout, rows, sign, cost, matrix.norms, squared, bias, alpha[k], w[k],
                active, n_active, primal * max(0.5 * problem.tol, 0.1 * gaps[k]),
                min(_EPOCHS_PER_CHECK, problem.max_iter - n_iter[k]), states[k],
            )  # fmt: skip
        pending, is_first = np.array(unfinished, dtype=np.int64), False
    return w, gaps, n_iter, csr_array(alpha)


def _best_stretch(alpha: np.ndarray, w: np.ndarray, cost: np.ndarray, squared: bool) -> float:
    """Return the factor of α with the largest dual value that its bounds allow."""
    used = np.flatnonzero(alpha)
    a, c, room = alpha[used], cost[used], np.inf
    bend = float(np.square(w, dtype=np.float64).sum())
    if squared:
        bend += float((a * a / (2 * c)).sum())
    elif len(used):
        room = float((c / a).min())
    return min(float(a.sum()) / bend, room) if bend > 0 else 1.0


def view_rows(matrix: Rows) -> Any:
    """Return the rows as a matrix that can be multiplied, sharing their memory."""
    if matrix.width:
        return matrix.data.reshape(matrix.shape)
    signed: Any = np.int32 if matrix.indices.dtype == np.uint32 else np.int64
    indices = matrix.indices.view(signed)
    return csr_array((matrix.data, indices, matrix.indptr.astype(signed)), shape=matrix.shape)


def _margins(view: Any, w: np.ndarray, bias: float) -> Iterator[np.ndarray]:
    """Yield the margins of all rows for each class."""
    if isinstance(view, np.ndarray):
        margins = w[:, :-1] @ view.T
    else:
        margins = np.ascontiguousarray((view @ np.ascontiguousarray(w[:, :-1].T)).T)
    margins += w[:, -1:] * w.dtype.type(bias)
    yield from margins


def _stack(parts: list[csr_array], n: int) -> csr_array:
    """Return the blocks one below the other."""
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    data = np.concatenate([part.data for part in parts])
    indices = np.concatenate([part.indices for part in parts])
    return csr_array((data, indices, np.append(0, np.cumsum(counts))), shape=(len(counts), n))

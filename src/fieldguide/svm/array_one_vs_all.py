"""One linear SVM per class by Newton's method on whole matrices, for processors that like those.

    P(w, b) = ½ (|w|² + (b / s)²) + Σ_i c_i max(0, t_i)²,    t_i = 1 − y_i (w·x_i + b)

The problem is that of :mod:`fieldguide.svm.one_vs_all` with the squared hinge, and so is the judge.
There, one row after the other is visited; here, every step is a product of all rows with the
functions of many classes at once, which a graphics processor does a hundred times as fast.

- A Newton step solves (I + 2 Σ_{t_i > 0} c_i x_i x_iᵀ) p = −gradient by conjugate gradients, for
  each class its own, side by side.
- It is taken whole, or halved until P falls by a share of what the slope promises.
- A row with y_i = 0 takes no part; so problems on parts of the rows are trained side by side too
  (:func:`train_sides_arrays`).
- α_i = 2 c_i max(0, t_i), stretched by the best factor, is a point of the dual: the relative gap
  is known at every step, and a class whose gap is small enough takes no further part.

Arrays are those of any library that follows the array API standard (NumPy, torch, CuPy), and stay
on the device where they are.

Reference: O. Chapelle, "Training a support vector machine in the primal", Neural Computation 2007.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from fieldguide._check import check_number
from fieldguide._device import is_out_of_memory
from fieldguide.errors import InvalidArgument
from fieldguide.svm.coordinate_descent import check_settings

# Numbers in the matrices of rows × classes that are in memory at a time, of which there are six.
_MOST_ELEMENTS = 2**28
_CG_STEPS = 20
_CG_SHARE = 0.1  # of the gradient that may be left
_SLOPE_SHARE = 1e-4
_HALVINGS = 10


class ArraySolution(NamedTuple):
    """Functions of problems side by side; arrays of the library and device of the rows."""

    coef: Any  # (n_problems, n_features)
    intercept: Any  # (n_problems,)
    gaps: np.ndarray  # (n_problems,) relative duality gaps
    n_iter: np.ndarray  # (n_problems,) Newton steps


class _Rows(NamedTuple):
    """What all blocks of problems share."""

    xp: Any
    X: Any  # (n, d)
    find_sides: Callable[[int, int], Any]  # (n, k) of the problems from the one to the other
    cost: Any  # (n, 1)
    bias: float  # s


def train_one_vs_all_arrays(X: Any, index: Any, n_classes: int, **settings: Any) -> ArraySolution:
    """Train every class against the rest, each to a relative duality gap of ``tol``.

    Parameters
    ----------
    X : array of shape (n, d)
        Of floats, on any device; the other arrays are on the same one.
    index : array of shape (n,)
        Class of each row, int64, 0 to n_classes - 1.
    n_classes : int
    settings
        As of :func:`train_sides_arrays`.

    Examples
    --------
    >>> X = np.eye(3, dtype=np.float32)
    >>> found = train_one_vs_all_arrays(X, np.array([0, 1, 2]), 3, C=10.0)
    >>> (X @ found.coef.T + found.intercept).argmax(axis=1)
    array([0, 1, 2])
    """
    check_number("train_one_vs_all_arrays", "n_classes", n_classes, 1, 10**9, integer=True)
    xp = find_namespace(X)

    def find_sides(first: int, stop: int) -> Any:
        numbers = xp.arange(first, stop, dtype=index.dtype, device=X.device)
        own = index[:, None] == numbers[None, :]
        return 2 * xp.astype(own, X.dtype) - 1

    return train_sides_arrays(X, find_sides, n_classes, **settings)


def train_sides_arrays(
    X: Any,
    find_sides: Callable[[int, int], Any],
    n_problems: int,
    *,
    C: float = 1.0,
    sample_weight: Any = None,
    intercept_scaling: float = 1.0,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> ArraySolution:
    """Train problems on the same rows, each to a relative duality gap of ``tol``.

    Parameters
    ----------
    X : array of shape (n, d)
        Of floats, on any device; the other arrays are on the same one.
    find_sides : callable
        Given the numbers of a first problem and of one after the last, it returns the side of each
        row in each of them, (n, k), of the kind of ``X``: -1, +1, or 0 where it takes no part.
    n_problems : int
    C, intercept_scaling
        As in :func:`~fieldguide.svm.coordinate_descent.solve_linear`.
    sample_weight : array of shape (n,), optional
        0 leaves a row out.
    tol : float
        In single precision, 1e-4 is about the least that can be reached.
    max_iter : int
        Newton steps.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]], dtype=np.float32)
    >>> sides = np.array([[-1.0, 0], [1, -1], [0, 1]], dtype=np.float32)
    >>> found = train_sides_arrays(X, lambda first, stop: sides[:, first:stop], 2, C=100.0)
    >>> (-found.intercept / found.coef[:, 0]).round(1)  # where each changes sides
    array([0.5, 2. ], dtype=float32)
    """
    check_settings("train_sides_arrays", C, "squared_hinge", intercept_scaling, tol, max_iter)
    xp = find_namespace(X)
    n = X.shape[0]
    weight = xp.ones_like(X[:, 0]) if sample_weight is None else xp.astype(sample_weight, X.dtype)
    cost = float(C) * xp.reshape(weight, (n, 1))
    rows = _Rows(xp, X, find_sides, cost, float(intercept_scaling))
    size = max(1, min(n_problems, _MOST_ELEMENTS // max(n, 1)))
    blocks, first = [], 0
    while first < n_problems:
        try:
            block = _train_block(rows, first, min(first + size, n_problems), tol, max_iter)
        except Exception as error:
            if not is_out_of_memory(error) or size == 1:
                raise
            size = (size + 1) // 2
            continue
        blocks.append(block)
        first += size
    w = xp.concat([block[0] for block in blocks])
    return ArraySolution(
        w[:, :-1],
        w[:, -1] * rows.bias,
        np.concatenate([block[1] for block in blocks]),
        np.concatenate([block[2] for block in blocks]),
    )


def find_namespace(X: Any) -> Any:
    """Return the functions of the library that an array is of, by the names of the standard."""
    try:
        from array_api_compat import array_namespace
    except ImportError:
        raise InvalidArgument(
            "Training by whole matrices needs the package array-api-compat; run "
            "'pip install \"fieldguide[gpu]\"'."
        ) from None
    return array_namespace(X)


class _Point(NamedTuple):
    """Functions, and what is known of them: one line for each problem."""

    w: Any  # (k, d + 1); the last is the weight of the constant column
    margin: Any  # (n, k)
    slack: Any  # (n, k), max(0, t)
    primal: Any  # (k,) double precision


def _train_block(
    rows: _Rows, first: int, stop: int, tol: float, max_iter: int
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return w, (k, d + 1), the gaps and the number of steps of some problems."""
    xp, X = rows.xp, rows.X
    size = stop - first
    done: Any = xp.zeros((size, X.shape[1] + 1), dtype=X.dtype, device=X.device)
    gaps, n_iter = np.ones(size), np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    sign = rows.find_sides(first, stop)
    point = _evaluate(rows, done, sign)
    for step in range(max_iter + 1):
        gradient, dual = _slope(rows, point, sign)
        is_empty = xp.astype(point.primal <= 0, point.primal.dtype)  # no row takes part
        found = _to_numpy((point.primal - dual) / (point.primal + is_empty))
        gaps[pending], n_iter[pending] = found, step
        is_open = found > tol
        done = _write(xp, done, pending, point.w)
        if not is_open.any() or step == max_iter:
            break
        if not is_open.all():
            left = xp.asarray(np.flatnonzero(is_open), device=X.device)
            pending = pending[is_open]
            sign = xp.take(sign, left, axis=1)
            gradient = xp.take(gradient, left, axis=0)
            point = _Point(
                xp.take(point.w, left, axis=0),
                xp.take(point.margin, left, axis=1),
                xp.take(point.slack, left, axis=1),
                xp.take(point.primal, left),
            )
        way = _solve_newton(rows, point.slack, gradient)
        point = _go(rows, point, sign, gradient, way)
    return done, gaps, n_iter


def _multiply(rows: _Rows, w: Any) -> Any:
    """Return the margins of all rows, (n, k)."""
    return rows.X @ w[:, :-1].T + rows.bias * w[:, -1][None, :]


def _gather(rows: _Rows, values: Any) -> Any:
    """Return Σ_i values_i (x_i, s) for each class, (k, d + 1)."""
    xp = rows.xp
    last = rows.bias * xp.sum(values, axis=0)
    return xp.concat([values.T @ rows.X, last[:, None]], axis=1)


def _evaluate(rows: _Rows, w: Any, sign: Any) -> _Point:
    margin = _multiply(rows, w)
    return _measure(rows, w, margin, sign)


def _measure(rows: _Rows, w: Any, margin: Any, sign: Any) -> _Point:
    xp = rows.xp
    slack = _positive(xp, xp.abs(sign) - sign * margin)
    primal = _sum(xp, w * w, 1) / 2 + _sum(xp, rows.cost * slack * slack, 0)
    return _Point(w, margin, slack, primal)


def _slope(rows: _Rows, point: _Point, sign: Any) -> tuple[Any, Any]:
    """Return the gradient, (k, d + 1), and the best dual value along α, (k,)."""
    xp = rows.xp
    pushed = 2 * rows.cost * point.slack
    pull = _gather(rows, sign * pushed)
    total = _sum(xp, pushed, 0)
    bend = _sum(xp, pull * pull, 1) + 2 * _sum(xp, rows.cost * point.slack * point.slack, 0)
    is_flat = xp.astype(bend <= 0, bend.dtype)  # then total is 0 too
    return point.w - pull, total * total / (2 * (bend + is_flat))


def _solve_newton(rows: _Rows, slack: Any, gradient: Any) -> Any:
    """Return p with (I + 2 Σ_{t > 0} c x xᵀ) p ≈ −gradient, for each class by its own steps."""
    xp = rows.xp
    weight = 2 * rows.cost * xp.astype(slack > 0, slack.dtype)
    way, left = xp.zeros_like(gradient), -gradient
    turn, square = left, _dot(xp, left, left)
    goal = _CG_SHARE**2 * square
    for _ in range(_CG_STEPS):
        is_open = square > goal
        if not bool(xp.any(is_open)):
            break
        bent = turn + _gather(rows, weight * _multiply(rows, turn))
        length = xp.where(is_open, square / _dot(xp, turn, bent), 0 * square)
        way = way + length[:, None] * turn
        left = left - length[:, None] * bent
        before, square = square, xp.where(is_open, _dot(xp, left, left), square)
        turn = xp.where(is_open[:, None], left + (square / before)[:, None] * turn, turn)
    return way


def _go(rows: _Rows, point: _Point, sign: Any, gradient: Any, way: Any) -> _Point:
    """Take the whole step, or halve it until P falls; each class by its own factor."""
    xp = rows.xp
    along = _multiply(rows, way)
    slope = _sum(xp, gradient * way, 1)
    length = xp.ones_like(way[:, 0])
    for _ in range(_HALVINGS):
        w, margin = point.w + length[:, None] * way, point.margin + length[None, :] * along
        reached = _measure(rows, w, margin, sign)
        wanted = point.primal + _SLOPE_SHARE * xp.astype(length, slope.dtype) * slope
        is_low = reached.primal <= wanted
        if bool(xp.all(is_low)):
            break
        length = xp.where(is_low, length, length / 2)
    return reached


def _positive(xp: Any, values: Any) -> Any:
    return xp.where(values > 0, values, 0 * values)


def _sum(xp: Any, values: Any, axis: int) -> Any:
    return xp.sum(values, axis=axis, dtype=xp.float64)


def _dot(xp: Any, a: Any, b: Any) -> Any:
    return xp.sum(a * b, axis=1)


def _write(xp: Any, done: Any, pending: np.ndarray, w: Any) -> Any:
    """Return ``done`` with the lines of the classes that are pending set to ``w``."""
    if len(pending) == done.shape[0]:
        return w
    place = np.full(done.shape[0], -1)
    place[pending] = np.arange(len(pending))
    both = xp.concat([w, done])
    order = np.where(place >= 0, place, len(pending) + np.arange(len(place)))
    return xp.take(both, xp.asarray(order, device=done.device), axis=0)


def _to_numpy(values: Any) -> np.ndarray:
    return np.asarray(values.cpu() if hasattr(values, "cpu") else values)

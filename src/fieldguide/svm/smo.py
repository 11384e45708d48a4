"""Binary kernel SVM on a Gram matrix that many problems share, by sequential minimal optimisation.

With β = y·α, the dual of the hinge-loss SVM with a free (unpenalised) intercept is

    max_β  Σ_k y_k β_k − ½ βᵀKβ     s.t.  Σ_k β_k = 0,  lo_k ≤ β_k ≤ hi_k

where [lo, hi] is [0, C_k] for y_k = +1 and [−C_k, 0] for y_k = −1. Each step moves two variables,
β_i += t and β_j −= t, chosen by their violation and the gain of the step (second order). The errors
e = y − Kβ are kept up to date, so a step costs two rows of K, and the duality gap costs O(n log n)
whenever it is asked for: the best intercept for given β is a weighted median of e.

=====  ======================================================
K      Gram matrix of all rows, shared, float32 or float64
rows   the rows of K that take part, in the order of y
β      signed dual variables, f(x) = Σ β_k K(x_k, x) + b
e      y − Kβ
gap    (primal − dual) / max(|primal|, tiny)
=====  ======================================================

Reference: R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order information
for training support vector machines", JMLR 6 (2005).
"""

from typing import NamedTuple

import numpy as np

from fieldguide._jit import jit

_CHECK_EVERY = 48  # steps between two looks at the gap: a look costs about as much as four steps
_TINY = 1e-12


class KernelSolution(NamedTuple):
    """Result of :func:`solve_kernel`."""

    beta: np.ndarray  # (m,) float64, y·α of the rows that took part
    intercept: float
    primal: float
    gap: float  # relative duality gap reached
    n_steps: int


def solve_kernel(
    K: np.ndarray,
    y: np.ndarray,
    upper: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    beta0: np.ndarray | None = None,
    tol: float = 1e-3,
    max_steps: int | None = None,
) -> KernelSolution:
    """Solve one binary problem.

    Parameters
    ----------
    K : ndarray of shape (n, n), float32 or float64, C-contiguous
        Gram matrix; it is not copied, and threads may share it.
    y : ndarray of shape (m,)
        +1 or −1.
    upper : ndarray of shape (m,)
        C times the weight of each row; rows with 0 take no part.
    rows : ndarray of shape (m,), optional
        Which rows of ``K`` these are; all of them, in order, by default.
    beta0 : ndarray of shape (m,), optional
        Where to start, such as the solution for another C; it is made feasible first.
    tol : float
        Relative duality gap to stop at.
    max_steps : int, optional
        100 times the number of rows, at least 100,000, by default.

    Returns
    -------
    KernelSolution
        With ``gap > tol`` when the steps ran out.
    """
    y = np.ascontiguousarray(y, dtype=np.float64)
    upper = np.ascontiguousarray(upper, dtype=np.float64)
    m = len(y)
    index = np.arange(m) if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
    low = np.where(y > 0, 0.0, -upper)
    high = np.where(y > 0, upper, 0.0)
    beta = np.zeros(m) if beta0 is None else make_feasible(beta0, low, high)
    errors = y.copy()
    used = np.flatnonzero(beta)
    if len(used):
        errors -= K[np.ix_(index, index[used])].astype(np.float64) @ beta[used]
    if not (low < high).any() or not (y > 0).any() or not (y < 0).any():
        return _finish(y, upper, beta, errors, 0)
    limit = max(100_000, 100 * m) if max_steps is None else max_steps
    n_steps = 0
    diagonal = np.ascontiguousarray(K.diagonal()[index], dtype=np.float64)
    is_whole = rows is None and m == len(K)
    while True:
        done, is_stuck = _steps(
            K,
            index,
            is_whole,
            diagonal,
            low,
            high,
            beta,
            errors,
            min(_CHECK_EVERY, limit - n_steps),
        )
        n_steps += done
        solution = _finish(y, upper, beta, errors, n_steps)
        if solution.gap <= tol or is_stuck or n_steps >= limit:
            return solution


def make_feasible(beta: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return ``beta`` inside the box with sum zero, by shrinking the side that weighs more."""
    beta = np.clip(np.asarray(beta, dtype=np.float64), low, high)
    plus, minus = beta[beta > 0].sum(), -beta[beta < 0].sum()
    if plus > minus:
        beta[beta > 0] *= minus / plus
    elif minus > plus:
        beta[beta < 0] *= plus / minus
    return beta


def judge(
    y: np.ndarray, upper: np.ndarray, beta: np.ndarray, errors: np.ndarray
) -> tuple[float, float, float]:
    """Return (primal, relative gap, intercept) of any feasible β, from e = y − Kβ alone."""
    intercept = best_intercept(y, upper, errors)
    f = y - errors
    quadratic = 0.5 * float(beta @ f)
    slack = np.maximum(0.0, 1.0 - y * (f + intercept))
    primal = quadratic + float(upper @ slack)
    dual = float(beta @ y) - quadratic
    return primal, (primal - dual) / max(abs(primal), _TINY), intercept


def best_intercept(y: np.ndarray, upper: np.ndarray, errors: np.ndarray) -> float:
    """Return the intercept with the least weighted hinge loss: a weighted median of the errors.

    A positive row costs while b < e, a negative one while b > e. The slope starts at minus the
    weight of the positives and rises by the weight of each row that b passes.
    """
    order = np.argsort(errors, kind="stable")
    weight = np.cumsum(upper[order])
    target = float(upper[y > 0].sum())
    k = int(np.searchsorted(weight, target - 1e-12 * max(target, 1.0)))
    k = min(k, len(order) - 1)
    at = errors[order[k]]
    is_flat = abs(weight[k] - target) <= 1e-12 * max(target, 1.0) and k + 1 < len(order)
    # Between two breakpoints of equal cost, the middle is the usual choice.
    return float((at + errors[order[k + 1]]) / 2 if is_flat else at)


def _finish(y, upper, beta, errors, n_steps: int) -> KernelSolution:
    primal, gap, intercept = judge(y, upper, beta, errors)
    return KernelSolution(beta, intercept, primal, gap, n_steps)


@jit
def _steps(K, rows, is_whole, diagonal, low, high, beta, errors, n_steps):
    """Take up to n_steps steps in place; return (taken, whether no step is left). O(m) each."""
    m = len(beta)
    first = np.empty(m, dtype=K.dtype)
    second = np.empty(m, dtype=K.dtype)
    i = -1
    best = -np.inf
    for k in range(m):
        if beta[k] < high[k] and errors[k] > best:
            best = errors[k]
            i = k
    for step in range(n_steps):
        if i < 0:
            return step, True
        if is_whole:
            row_i = K[i]
        else:
            for k in range(m):
                first[k] = K[rows[i], rows[k]]
            row_i = first
        j = -1
        best_gain = 0.0
        e_i = errors[i]
        k_ii = diagonal[i]
        for k in range(m):
            difference = e_i - errors[k]
            if beta[k] > low[k] and difference > 0:
                curvature = max(k_ii + diagonal[k] - 2.0 * row_i[k], 1e-12)
                gain = difference * difference / curvature
                if gain > best_gain:
                    best_gain = gain
                    j = k
        if j < 0 or e_i - errors[j] < 1e-10:
            return step, True
        if is_whole:
            row_j = K[j]
        else:
            for k in range(m):
                second[k] = K[rows[j], rows[k]]
            row_j = second
        curvature = max(k_ii + diagonal[j] - 2.0 * row_i[j], 1e-12)
        t = (e_i - errors[j]) / curvature
        room_i, room_j = high[i] - beta[i], beta[j] - low[j]
        if t >= room_i and room_i <= room_j:
            t = room_i
            beta[j] -= t
            beta[i] = high[i]
            if room_i == room_j:
                beta[j] = low[j]
        elif t >= room_j:
            t = room_j
            beta[i] += t
            beta[j] = low[j]
        else:
            beta[i] += t
            beta[j] -= t
        i = -1
        best = -np.inf
        for k in range(m):
            errors[k] -= t * (row_i[k] - row_j[k])
            if beta[k] < high[k] and errors[k] > best:
                best = errors[k]
                i = k
    return n_steps, False

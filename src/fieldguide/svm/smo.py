"""Binary kernel SVM on a Gram matrix that many problems share, by sequential minimal optimisation.

    primal  ½ |w|² + Σ_k C_k ℓ(1 − y_k (w·φ(x_k) + b)),  ℓ(t) = max(0, t), or its square

With β = y·α, the dual for a free (unpenalised) intercept is

    max_β  Σ_k y_k β_k − ½ βᵀKβ − ½ Σ_k r_k β_k²     s.t.  Σ_k β_k = 0,  lo_k ≤ β_k ≤ hi_k

where [lo, hi] is [0, C_k] for y_k = +1 and [−C_k, 0] for y_k = −1; the squared hinge has no C_k in
its bounds (a row of weight 0 stays out all the same) but a ridge r_k. Each step moves two
variables, β_i += t and β_j −= t, chosen by their violation and the gain of the step (second order).
The gradient y − Kβ − rβ is kept up to date, so a step costs two rows of K, and the duality gap
costs O(n log n) whenever it is asked for: the best intercept for given β is a weighted median of
the errors, or the root of a piecewise linear function with its corners at the errors.

=====  ======================================================
K      Gram matrix of all rows, shared, float32 or float64
rows   the rows of K that take part, in the order of y
β      signed dual variables, f(x) = Σ β_k K(x_k, x) + b
e      errors y − Kβ
r      1 / (2 C_k) for the squared hinge, 0 for the hinge
gap    (primal − dual) / max(|primal|, tiny)
=====  ======================================================

Reference: R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second order information
for training support vector machines", JMLR 6 (2005).
"""

from typing import NamedTuple

import numpy as np

from fieldguide._check import check_choice
from fieldguide._jit import inner_jit, jit
from fieldguide.svm._kernels import place_largest

LOSSES = ("hinge", "squared_hinge")
# Steps between two looks at the gap, a share of all steps so far: a look costs as much as many.
_CHECK_EVERY = 48
_CHECK_SHARE = 0.15
_TINY = 1e-12
_NEVER = -1e300  # the error of a row that may not rise


class KernelSolution(NamedTuple):
    """Result of :func:`solve_kernel`.

    Examples
    --------
    >>> found = solve_kernel(np.eye(2), np.array([-1.0, 1.0]), np.full(2, 10.0))
    >>> found.beta.tolist(), found.gap <= 1e-3
    ([-1.0, 1.0], True)
    """

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
    loss: str = "hinge",
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
        Where to start, such as the solution for another C; it is made feasible and multiplied by
        the best factor first.
    tol : float
        Relative duality gap to stop at.
    max_steps : int, optional
        100 times the number of rows, at least 100,000, by default.
    loss : {"hinge", "squared_hinge"}

    Returns
    -------
    KernelSolution
        With ``gap > tol`` when the steps ran out.

    Examples
    --------
    >>> x = np.array([-1.0, 1.0, 3.0])
    >>> found = solve_kernel(np.outer(x, x), np.array([-1.0, 1.0, 1.0]), np.full(3, 10.0))
    >>> found.beta.round(3)  # the two rows next to the border support it
    array([-0.5,  0.5,  0. ])
    >>> (np.outer(x, x) @ found.beta + found.intercept).round(2)
    array([-1.,  1.,  3.])
    """
    check_choice("solve_kernel", "loss", loss, LOSSES)
    y = np.ascontiguousarray(y, dtype=np.float64)
    upper = np.ascontiguousarray(upper, dtype=np.float64)
    m = len(y)
    index = np.arange(m) if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
    top = upper if loss == "hinge" else np.where(upper > 0, np.inf, 0.0)
    low, high = np.where(y > 0, 0.0, -top), np.where(y > 0, top, 0.0)
    ridge = find_ridge(upper, loss)
    beta = np.zeros(m) if beta0 is None else make_feasible(beta0, low, high)
    is_whole = rows is None and m == len(K)
    gradient = y.copy()
    if beta.any():
        values = np.zeros(m)
        _add_rows(K, index, is_whole, beta, values)
        stretch = _best_stretch(y, beta, values + ridge * beta, np.maximum(-low, high))
        beta *= stretch
        gradient -= stretch * values + ridge * beta

    def finish(n_steps: int) -> KernelSolution:
        primal, gap, intercept = judge(y, upper, beta, gradient + ridge * beta, loss)
        return KernelSolution(beta, intercept, primal, gap, n_steps)

    takes_part = upper > 0
    if not (takes_part & (y > 0)).any() or not (takes_part & (y < 0)).any():
        return finish(0)
    limit = max(100_000, 100 * m) if max_steps is None else max_steps
    n_steps = 0
    diagonal = np.ascontiguousarray(K.diagonal()[index], dtype=np.float64) + ridge
    while True:
        done, is_stuck = _steps(
            *(K, index, is_whole, diagonal, ridge, low, high, beta, gradient),
            min(max(_CHECK_EVERY, int(_CHECK_SHARE * n_steps)), limit - n_steps),
        )
        n_steps += done
        solution = finish(n_steps)
        if solution.gap <= tol or is_stuck or n_steps >= limit:
            return solution


def _best_stretch(y: np.ndarray, beta: np.ndarray, curved: np.ndarray, top: np.ndarray) -> float:
    """Return the factor of β with the largest dual value that the bounds allow."""
    bend, used = float(beta @ curved), beta != 0
    room = float((top[used] / np.abs(beta[used])).min())
    return min(float(beta @ y) / bend, room) if bend > 0 else 1.0


def find_ridge(upper: np.ndarray, loss: str) -> np.ndarray:
    """Return r of each row; 0 for rows that take no part."""
    if loss == "hinge":
        return np.zeros(len(upper))
    ridge = np.zeros(len(upper))
    np.divide(0.5, upper, out=ridge, where=upper > 0)
    return ridge


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
    y: np.ndarray, upper: np.ndarray, beta: np.ndarray, errors: np.ndarray, loss: str = "hinge"
) -> tuple[float, float, float]:
    """Return (primal, relative gap, intercept) of any feasible β, from e = y − Kβ alone."""
    is_squared = loss == "squared_hinge"
    find = best_squared_intercept if is_squared else best_intercept
    intercept = find(y, upper, errors)
    f = y - errors
    quadratic = 0.5 * float(beta @ f)
    slack = np.maximum(0.0, 1.0 - y * (f + intercept))
    primal = quadratic + float(upper @ (slack * slack if is_squared else slack))
    dual = float(beta @ y) - quadratic - 0.5 * float(find_ridge(upper, loss) @ (beta * beta))
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


def best_squared_intercept(y: np.ndarray, upper: np.ndarray, errors: np.ndarray) -> float:
    """Return the intercept with the least weighted squared hinge loss.

    Half the derivative is Σ C_k (b − e_k) over the positive rows with e > b and the negative rows
    with e < b: it rises with b and is linear between two errors. Between the two where it changes
    its sign, the root is the mean error of those rows.
    """
    used = np.flatnonzero(upper > 0)
    if not len(used):
        return 0.0
    order = used[np.argsort(errors[used], kind="stable")]
    corner, weight, is_up = errors[order], upper[order], y[order] > 0
    middle = float(np.median(corner))  # sums about it lose the fewest digits
    offset = corner - middle
    up, down = np.where(is_up, weight, 0.0), np.where(is_up, 0.0, weight)
    up_above = up[::-1].cumsum()[::-1]
    slope = up_above + down.cumsum()
    moment = (up * offset)[::-1].cumsum()[::-1] + (down * offset).cumsum()
    k = min(int((slope * offset < moment).sum()), len(order) - 1)
    # Below corner k: the positive rows from k on, the negative rows before it.
    active = np.concatenate([down[:k], up[k:]])
    below = corner[k - 1] if k else corner[0]
    if k + 1 < len(order) and not down[: k + 1].any() and not up[k + 1 :].any():
        return float((corner[k] + corner[k + 1]) / 2)  # no row costs anything between the two
    if not active.any():
        return float(corner[k])
    root = middle + float(active @ offset) / float(active.sum())
    return float(np.clip(root, below, corner[k]))


# The two long loops of a step have neither branches nor sums, so that the vector unit takes them.
# np.divide: the operator would test for zero.


@inner_jit
def _weigh_gains(
    e_i: float,
    k_ii: float,
    row_i: np.ndarray,
    diagonal: np.ndarray,
    low: np.ndarray,
    beta: np.ndarray,
    errors: np.ndarray,
    gain: np.ndarray,
) -> None:
    """Write the gain of a step with each row to ``gain``, 0 for rows that may not fall. O(m)."""
    for k in range(len(beta)):
        difference = e_i - errors[k]
        difference = difference if difference > 0.0 else 0.0
        curvature = k_ii + diagonal[k] - 2.0 * row_i[k]
        curvature = curvature if curvature > 1e-12 else 1e-12
        gain[k] = np.divide(difference * difference, curvature) * (beta[k] > low[k])


@inner_jit
def _update(
    t: float,
    row_i: np.ndarray,
    row_j: np.ndarray,
    high: np.ndarray,
    beta: np.ndarray,
    errors: np.ndarray,
    free: np.ndarray,
) -> None:
    """Take a step off the errors; write those of the rows that may rise to ``free``. O(m)."""
    for k in range(len(beta)):
        errors[k] -= t * (row_i[k] - row_j[k])
        free[k] = errors[k] if beta[k] < high[k] else _NEVER


@jit
def _add_rows(
    K: np.ndarray, rows: np.ndarray, is_whole: bool, beta: np.ndarray, values: np.ndarray
) -> None:
    """Add Kβ to values; K is symmetric, so its rows are read. O(m) for each β that is not 0."""
    for k in range(len(beta)):
        step = beta[k]
        if step == 0:
            continue
        if is_whole:
            row = K[k]
            for p in range(len(beta)):
                values[p] += step * row[p]
        else:
            for p in range(len(beta)):
                values[p] += step * K[rows[k], rows[p]]


@jit
def _steps(
    K: np.ndarray,
    rows: np.ndarray,
    is_whole: bool,
    diagonal: np.ndarray,
    ridge: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    beta: np.ndarray,
    errors: np.ndarray,
    n_steps: int,
) -> tuple[int, bool]:
    """Take up to n_steps steps in place; return (taken, whether no step is left). O(m) each.

    ``diagonal`` is that of K plus the ridge, ``errors`` the gradient.
    """
    m = len(beta)
    first = np.empty(m, dtype=K.dtype)
    second = np.empty(m, dtype=K.dtype)
    work = np.empty(m)
    row_i, row_j = first, second
    first[:] = 0
    _update(0.0, first, first, high, beta, errors, work)
    for step in range(n_steps):
        i = place_largest(work)
        if work[i] == _NEVER:
            return step, True
        if is_whole:
            row_i = K[i]
        else:
            for k in range(m):
                first[k] = K[rows[i], rows[k]]
            row_i = first
        _weigh_gains(errors[i], diagonal[i], row_i, diagonal, low, beta, errors, work)
        j = place_largest(work)
        if work[j] == 0 or errors[i] - errors[j] < 1e-10:
            return step, True
        if is_whole:
            row_j = K[j]
        else:
            for k in range(m):
                second[k] = K[rows[j], rows[k]]
            row_j = second
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], 1e-12)
        t = (errors[i] - errors[j]) / curvature
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
        errors[i] -= t * ridge[i]
        errors[j] += t * ridge[j]
        _update(t, row_i, row_j, high, beta, errors, work)
    return n_steps, False

"""Linear SVM of two classes by dual coordinate descent, on some rows of a shared matrix.

    primal  P(w, b) = ½ (|w|² + (b / s)²) + Σ_i c_i ℓ(1 − y_i (w·x_i + b))
    hinge          ℓ(t) = max(0, t)
    squared hinge  ℓ(t) = max(0, t)²
    dual    D(α) = Σ_i α_i − ½ |Σ_i α_i y_i (x_i, s)|² − [squared hinge] Σ_i α_i² / (4 c_i)
            with α ≥ 0, and α_i ≤ c_i for the hinge

| symbol | meaning |
|---|---|
| s | ``intercept_scaling``: the constant column that carries the intercept, which is penalised |
| c_i | ``C`` times the weight of row i |
| α_i | dual variable; w = Σ α_i y_i x_i and b = s² Σ α_i y_i |
| gap | (P − D) / P, at least the share of P that a perfect solver could still save |

One epoch visits the active rows in random order and minimises over one α_i each. Rows that rest
at a bound leave the active set. When the gap of the active rows is small, the gap of all rows is
measured; the search ends there or goes on with every row that is not settled. After 100 epochs
without success (long rows, columns of very different scale, or a large C) the unsettled rows are
solved by :mod:`fieldguide.svm.interior_point` where they are few enough to be copied, and again
with those that come up, while that helps.

Reference: C.-J. Hsieh et al., "A dual coordinate descent method for large-scale linear SVM",
ICML 2008.
"""

from typing import Any, NamedTuple

import numpy as np

from fieldguide._check import check_choice, check_number
from fieldguide.errors import InvalidArgument
from fieldguide.svm import _kernels
from fieldguide.svm.interior_point import solve_box
from fieldguide.svm.shared_rows import (
    Rows,
    check_rows,
    check_signs,
    check_weights,
    share_rows,
    take_rows,
)

LOSSES = ("hinge", "squared_hinge")
# The inner search aims below the gap asked for: its estimate mixes weights of one epoch, and a
# full measurement costs as much as an epoch over all rows.
_INNER_SHARE = 0.5
_EPOCHS_PER_CHECK = 20
# Epochs after which badly scaled problems are handed to the interior-point method, and the sizes
# (entries, the smaller of rows and columns) that it can hold.
PATIENCE = 100
_REFINED_ENTRIES = 10_000_000
_REFINED_SIDE = 1000
_PROGRESS = 0.02


class LinearSolution(NamedTuple):
    """Result of :func:`solve_linear`.

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> found = solve_linear(share_rows(X), np.array([-1.0, -1.0, 1.0, 1.0]), C=10.0)
    >>> (X @ found.w + found.b).round(1), found.gap <= 1e-3
    (array([-2., -1.,  1.,  2.]), True)
    """

    w: np.ndarray  # (n_features,)
    b: float
    alpha: np.ndarray  # (n_rows,), ≥ 0
    primal: float
    gap: float  # relative duality gap
    n_iter: int  # epochs


def solve_linear(
    X: Any,
    y: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    C: float = 1.0,
    loss: str = "hinge",
    sample_weight: np.ndarray | None = None,
    intercept_scaling: float = 1.0,
    tol: float = 1e-3,
    max_iter: int = 1000,
    alpha0: np.ndarray | None = None,
    seed: int = 0,
) -> LinearSolution:
    """Minimise P over (w, b) until the relative duality gap is at most ``tol``.

    Parameters
    ----------
    X : ndarray, CSR matrix or Rows of shape (n, d)
        Shared with other problems: never copied, never changed; the GIL is released.
    y : ndarray of shape (m,)
        -1 or +1 for each entry of ``rows`` (for each row of X without ``rows``).
    rows : ndarray of shape (m,), optional
        Indices of the rows to train on; repeats count again.
    C : float
    loss : {"hinge", "squared_hinge"}
    sample_weight : ndarray of shape (m,), optional
        At least 0; a row of weight 2 counts as two rows.
    intercept_scaling : float
        The constant column s; 0 leaves the intercept out.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of epochs; the ``gap`` of the result says whether it was enough.
    alpha0 : ndarray of shape (m,), optional
        Where to start, for instance the ``alpha`` of a similar problem; clipped to what is allowed.
    seed : int
        Of the order of the visits.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]], dtype=np.float32)
    >>> solution = solve_linear(X, np.array([-1, -1, 1, 1]), C=10.0, tol=1e-6)
    >>> bool(abs(solution.w[0] * 1.5 + solution.b) < 0.1)
    True
    """
    matrix = share_rows(X)
    check_settings("solve_linear", C, loss, intercept_scaling, tol, max_iter)
    chosen = np.arange(matrix.shape[0]) if rows is None else check_rows(rows, matrix.shape[0])
    sign = check_signs(y, len(chosen))
    cost = float(C) * check_weights(sample_weight, len(chosen))
    alpha = clip_alpha(alpha0, cost, loss)
    return _solve(
        matrix, chosen, sign, cost, loss, float(intercept_scaling), tol, max_iter, alpha, seed
    )


def _solve(
    matrix: Rows,
    rows: np.ndarray,
    sign: np.ndarray,
    cost: np.ndarray,
    loss: str,
    bias: float,
    tol: float,
    max_iter: int,
    alpha: np.ndarray,
    seed: int,
) -> LinearSolution:
    """Alternate descent on the active positions with measurements of the gap of all."""
    squared = loss == "squared_hinge"
    w = np.zeros(matrix.shape[1] + 1, dtype=matrix.data.dtype)
    margin = np.zeros(len(rows))
    active = np.empty(len(rows), dtype=np.int64)
    state = np.array([seed], dtype=np.uint64)
    n_iter, next_refinement, last_dual = 0, PATIENCE, -np.inf
    while True:
        _kernels.combine(*matrix.layout, rows, sign, alpha, bias, w)
        if w.any():
            _kernels.evaluate(*matrix.layout, rows, bias, w, margin)
        else:
            margin[:] = 0
        primal, dual = _kernels.sum_objectives(margin, sign, cost, squared, alpha, w)
        gap = relative_gap(primal, dual)
        if gap <= tol or n_iter >= max_iter:
            break
        n_active = _kernels.choose_active(margin, sign, cost, squared, alpha, 0.0, active)
        if n_iter >= next_refinement:
            problem = (matrix, rows, sign, cost, squared, bias, alpha)
            refined = refine(*problem, w, active[:n_active], 0.1 * tol * max(dual, 1e-6 * primal))
            if refined is not None:
                alpha = keep_better(*problem, dual, refined)
                n_iter += 1
                next_refinement, last_dual = plan_refinement(n_iter, primal, dual, last_dual), dual
                continue
            next_refinement = 2 * n_iter
        target = primal * max(_INNER_SHARE * tol, 0.1 * gap)
        n_iter += _kernels.descend(
            *matrix.layout, rows, sign, cost, matrix.norms, squared, bias, alpha, w, active,
            n_active, target, min(_EPOCHS_PER_CHECK, max_iter - n_iter), state,
        )  # fmt: skip
    return LinearSolution(w[:-1].copy(), float(w[-1] * bias), alpha, primal, gap, n_iter)


def refine(
    matrix: Rows,
    rows: np.ndarray,
    sign: np.ndarray,
    cost: np.ndarray,
    squared: bool,
    bias: float,
    alpha: np.ndarray,
    w: np.ndarray,
    active: np.ndarray,
    goal: float,
) -> np.ndarray | None:
    """Return α with its active entries solved by an interior-point method, the rest as it is.

    ``goal`` is the absolute gap that the active rows may keep. None where they are too many.
    """
    m, d = len(active), matrix.shape[1]
    if m == 0 or m * (d + 1) > _REFINED_ENTRIES or min(m, d) > _REFINED_SIDE:
        return None
    Z = np.empty((m, d + 1))
    Z[:, :d] = take_rows(matrix, rows[active])
    Z[:, d] = bias
    Z *= sign[active, None]
    fixed = w.astype(np.float64) - Z.T @ alpha[active]
    curve = 1 / (2 * cost[active]) if squared else np.zeros(m)
    top = np.full(m, np.inf) if squared else cost[active]
    refined = alpha.copy()
    refined[active] = solve_box(Z, 1 - Z @ fixed, curve, top, goal)
    return refined


def plan_refinement(n_iter: int, primal: float, dual: float, last_dual: float) -> int:
    """Return the epoch to refine again: at once, with the rows that have come up since, for as long
    as the dual value rises by a share of the gap; else after as many epochs again."""
    return n_iter if dual - last_dual >= _PROGRESS * (primal - dual) else 2 * n_iter


def keep_better(
    matrix: Rows,
    rows: np.ndarray,
    sign: np.ndarray,
    cost: np.ndarray,
    squared: bool,
    bias: float,
    alpha: np.ndarray,
    dual: float,
    refined: np.ndarray,
) -> np.ndarray:
    """Return the one of two dual points with the larger value."""
    w = np.empty(matrix.shape[1] + 1, dtype=matrix.data.dtype)
    _kernels.combine(*matrix.layout, rows, sign, refined, bias, w)
    value = _kernels.sum_objectives(np.zeros(len(rows)), sign, cost, squared, refined, w)[1]
    return refined if value > dual else alpha


def relative_gap(primal: float, dual: float) -> float:
    """Return (primal − dual) / primal; 0 for a problem whose optimum is 0."""
    return max(primal - dual, 0.0) / primal if primal > 0 else 0.0


def check_settings(
    owner: str, C: Any, loss: Any, intercept_scaling: Any, tol: Any, max_iter: Any
) -> None:
    """Refuse settings that no solver of this module can use."""
    check_number(owner, "C", C, 1e-12, 1e12)
    check_choice(owner, "loss", loss, LOSSES)
    check_number(owner, "intercept_scaling", intercept_scaling, 0, 1e6)
    check_number(owner, "tol", tol, 0, 1)
    check_number(owner, "max_iter", max_iter, 1, 10**9, integer=True)


def clip_alpha(alpha0: Any, cost: np.ndarray, loss: str) -> np.ndarray:
    """Return a start that the dual allows: α ≥ 0, at most the cost for the hinge."""
    if alpha0 is None:
        return np.zeros(len(cost))
    alpha = np.array(alpha0, dtype=np.float64)
    if alpha.shape != cost.shape or not np.isfinite(alpha).all():
        raise InvalidArgument(
            f"alpha0 must have one finite number for each of the {len(cost)} rows; leave it out."
        )
    top = cost if loss == "hinge" else np.where(cost > 0, np.inf, 0.0)
    return np.clip(alpha, 0, top)

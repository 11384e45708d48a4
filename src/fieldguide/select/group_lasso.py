"""Weights for the bins of many rows: a group lasso on the explicit map of the kernel.

With ψ the map of one bin and w_k its part of the hyperplane, the weights p can be eliminated from
the problem of :mod:`fieldguide.select.additive_pricing`: the best are p_k ∝ |w_k|/√a_k, and

    min_{w, b}  ½ t² + C Σ_i ℓ(y_i (Σ_k w_k·ψ(x_ik) + b)),      t = Σ_k √a_k |w_k|

is left. It has the solutions of the group lasso Σ ℓ + λt with λ = t/C, so that a path over C is a
path over λ, and C means the same here as in an SVM. The loss ℓ is the hinge with its corner
rounded over a width δ, which a descent over groups can follow:

    ℓ(m) = 0 for m ≥ 1,  (1 − m)²/(2δ) down to m = 1 − δ,  1 − m − δ/2 below

A step of group k has a closed form: with the curvature L of the loss, z = w_k − ∇/L and r the t of
the other groups, w_k becomes z/|z| · max(0, L|z| − r√a_k)/(L + a_k).

The dual, which certifies a solution, is that of the SVM with −δ/(2C) Σ β² beside it:

    max_β  Σ_i y_i β_i − δ/(2C) Σ_i β_i² − ½ max_k |Σ_i β_i ψ(x_ik)|²/a_k,   Σ β = 0, 0 ≤ yβ ≤ C

Reference: F. Bach, "Consistency of the group lasso and multiple kernel learning", JMLR 9 (2008).
"""

from typing import Any, NamedTuple

import numpy as np

from fieldguide.kernels import AdditiveKernelMap
from fieldguide.select import _steps
from fieldguide.svm.smo import make_feasible

CORNER = 0.5  # δ
MAP_ORDER = 1
_BINS_PER_BLOCK = 64
_EPOCHS = 5  # between two extrapolations
_ROUNDS = 4  # of extrapolation between two looks at all groups
_MOST_ADDED = 50
_FLAT, _LEAST_SPREAD = 1e-6, 1e-3  # as in additive_pricing, in single precision


class Mapped(NamedTuple):
    """The explicit map of all bins."""

    Z: np.ndarray  # (D, width, n) float32
    curvatures: np.ndarray  # (D,) largest eigenvalue of Z_kZ_kᵀ


class GroupSolution(NamedTuple):
    """Result of :func:`solve_groups`."""

    W: np.ndarray  # (D, width)
    intercept: float
    t: float  # Σ √a_k |w_k|
    objective: float
    gap: float  # relative
    n_epochs: int

    def shares(self, spreads: np.ndarray) -> np.ndarray:
        """Return q_k = √a_k |w_k| / t, the weights of the kernels κ_k/a_k; equal ones if all are 0.

        All are 0 where no bin tells the sides apart.
        """
        usable = np.isfinite(spreads)
        q = np.sqrt(np.where(usable, spreads, 0.0)) * np.linalg.norm(self.W, axis=1)
        q = q if q.any() else usable.astype(np.float64)
        shares: np.ndarray = q / q.sum()
        return shares


def map_bins(kernel: str, X: Any) -> Mapped:
    """Return the map of rows ``X`` (n, D), dense or CSR; "linear" is its own map."""
    width = 1 if kernel == "linear" else 2 * MAP_ORDER + 1
    n, D = X.shape
    Z = np.empty((D, width, n), dtype=np.float32)
    columns = X.tocsc() if hasattr(X, "tocsc") else X
    for low in range(0, D, _BINS_PER_BLOCK):
        part = columns[:, low : low + _BINS_PER_BLOCK]
        part = (part.toarray() if hasattr(part, "toarray") else part).astype(np.float64)
        if kernel != "linear":
            part = AdditiveKernelMap(kernel, order=MAP_ORDER).fit_transform(part)
        Z[low : low + _BINS_PER_BLOCK] = part.reshape(n, -1, width).transpose(1, 2, 0)
    products = np.stack([z.astype(np.float64) @ z.T for z in Z]) if D else np.empty((0, 1, 1))
    return Mapped(Z, np.linalg.eigvalsh(products)[:, -1])


def measure_mapped_spreads(mapped: Mapped, y: np.ndarray) -> np.ndarray:
    """Return a_k in the space of the map; infinity for bins that are the same in all rows."""
    Z, n = mapped.Z, len(y)
    flat = Z.reshape(-1, n)
    by_row = np.einsum("kjn,kjn->k", Z, Z, dtype=np.float64)
    sums = {side: flat @ (y == side).astype(np.float32) for side in (1, -1)}
    counts = {side: int((y == side).sum()) for side in (1, -1)}
    own = {1: np.empty(len(Z))}
    for k, z in enumerate(Z):
        part = z[:, y > 0]
        own[1][k] = np.einsum("jn,jn->", part, part, dtype=np.float64)
    own[-1] = by_row - own[1]

    def double(total: np.ndarray, count: int, diagonal: np.ndarray) -> np.ndarray:
        square = np.square(total.reshape(len(Z), -1), dtype=np.float64).sum(axis=1)
        values: np.ndarray = 2 * (count * diagonal - square)
        return values

    spread = sum(double(sums[s], counts[s], own[s]) for s in (1, -1))
    spread = np.maximum(spread, 0) / sum(count**2 for count in counts.values())
    overall = double(sums[1] + sums[-1], n, by_row) / n**2
    return np.where(
        overall > _FLAT * by_row / n, np.maximum(spread, _LEAST_SPREAD * overall), np.inf
    )


def solve_groups(
    mapped: Mapped,
    spreads: np.ndarray,
    y: np.ndarray,
    C: float,
    *,
    start: GroupSolution | None = None,
    tol: float = 1e-2,
    max_epochs: int = 5000,
) -> GroupSolution:
    """Solve one problem of two sides to a relative gap of ``tol`` over all groups.

    Parameters
    ----------
    mapped : Mapped
    spreads : ndarray of shape (D,)
        a_k; infinity leaves a bin out.
    y : ndarray of shape (n,)
        +1 or −1.
    start : GroupSolution, optional
        What the same rows got with another C.
    """
    Z = mapped.Z
    n = len(y)
    usable = np.isfinite(spreads)
    roots = np.sqrt(np.where(usable, spreads, 1.0))
    W = np.zeros(Z.shape[:2]) if start is None else start.W.copy()
    state = np.array([0.0, 0.0] if start is None else [start.t, start.intercept])
    f = np.full(n, state[1])
    for k in np.flatnonzero(W.any(axis=1)):
        f += W[k] @ Z[k]
    pull = np.empty(n)
    state[1] += _steps.move_intercept(y, CORNER, f)
    n_epochs = 0
    while True:
        objective, bound, norms = weigh(Z, y, C, roots, usable, state[0], f)
        gap = (objective - bound) / objective
        # For a small C the gap is small without any weight, but some bin is the best.
        if (gap <= tol and (n_epochs or W.any())) or n_epochs >= max_epochs:
            return GroupSolution(W, state[1], state[0], objective, gap, n_epochs)
        is_used = W.any(axis=1)
        order = np.argsort(-np.where(is_used, -np.inf, norms), kind="stable")[:_MOST_ADDED]
        groups = np.union1d(np.flatnonzero(is_used), order[norms[order] > state[0]])
        for _ in range(_ROUNDS):
            points = [(W[groups], state[1], f.copy())]
            for _ in range(_EPOCHS):
                _steps.descend_groups(
                    *(Z, groups, y, C, CORNER, roots, mapped.curvatures, W, state, f, pull)
                )
                points.append((W[groups], state[1], f.copy()))
            better = extrapolate(points, y, C, roots[groups])
            if better is not None:
                W[groups], state[1], f[:] = better
                state[0] = float(roots[groups] @ np.linalg.norm(W[groups], axis=1))
        n_epochs += _ROUNDS * _EPOCHS


def rounded_hinge(y: np.ndarray, f: np.ndarray) -> float:
    """Return Σ ℓ(y f)."""
    slack = np.maximum(0.0, 1 - y * f)
    return float(np.where(slack < CORNER, slack * slack / (2 * CORNER), slack - CORNER / 2).sum())


def extrapolate(
    points: list[tuple[np.ndarray, float, np.ndarray]], y: np.ndarray, C: float, roots: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """Return where the epochs are heading (Anderson's mixing), None if that is no better.

    A point is the weights of the groups, the intercept and the margins; margins are linear in the
    first two, so those of a mixture are the mixture of the margins.
    """
    used = [W.any(axis=1) for W, _, _ in points[1:]]
    if not all(np.array_equal(used[0], other) for other in used):
        return None  # a group came or left: the epochs are not heading anywhere yet
    stacked = np.array([W.ravel() for W, _, _ in points])
    steps = np.diff(stacked, axis=0)
    products = steps @ steps.T
    products[np.diag_indices_from(products)] += 1e-10 * max(np.trace(products), 1e-300)
    mix = np.linalg.solve(products, np.ones(len(steps)))
    mix /= mix.sum()
    W = (mix @ stacked[1:]).reshape(points[0][0].shape)
    b = float(mix @ [point[1] for point in points[1:]])
    f = mix @ np.array([point[2] for point in points[1:]])
    with np.errstate(over="ignore", invalid="ignore"):  # far off is no better
        old, new = (
            0.5 * np.square(roots @ np.linalg.norm(V, axis=1)) + C * rounded_hinge(y, g)
            for V, g in ((points[-1][0], points[-1][2]), (W, f))
        )
    return (W, b, f) if new < old else None


def weigh(
    Z: np.ndarray,
    y: np.ndarray,
    C: float,
    roots: np.ndarray,
    usable: np.ndarray,
    t: float,
    f: np.ndarray,
) -> tuple[float, float, np.ndarray]:
    """Return the objective, a lower bound of the optimum, and |Z_kβ|/√a_k of each group."""
    beta = C * y * np.clip((1 - y * f) / CORNER, 0.0, 1.0)
    beta = make_feasible(beta, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))
    image = (Z.reshape(-1, len(y)) @ beta.astype(np.float32)).reshape(Z.shape[:2])
    norms = np.where(usable, np.sqrt(np.square(image, dtype=np.float64).sum(axis=1)) / roots, 0.0)
    gain = float(beta @ y)
    bend = CORNER / C * float(beta @ beta) + float(norms.max()) ** 2
    room = C / max(float(np.abs(beta).max()), 1e-300)
    stretch = min(gain / bend, room) if bend > 0 else 0.0  # β is 0: no row is inside its margin
    return 0.5 * t * t + C * rounded_hinge(y, f), stretch * gain - 0.5 * stretch**2 * bend, norms

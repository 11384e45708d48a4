"""The dual of a linear SVM on few rows or few columns, however badly the columns are scaled.

    min_α  ½ |Zᵀα|² + ½ Σ e_i α_i² − Σ q_i α_i        0 ≤ α ≤ u

Coordinate descent needs an epoch for each digit of the conditioning; an interior-point method
needs 10 to 40 steps for any. A step solves one system with ZZᵀ + Θ, Θ diagonal, by rows in O(m³)
or, for many rows, by columns in O(m d²).

| symbol | meaning |
|---|---|
| Z | rows times their signs, with the constant column, (m, d + 1) |
| e, u | 1 / (2 c_i) and no bound for the squared hinge; 0 and c_i for the hinge |
| q | 1 − y_i f_i of the rows that are held fixed |
| z, s | multipliers of α ≥ 0 and α ≤ u |

Reference: S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM
Journal on Optimization 2 (1992); M. Ferris, T. Munson, "Interior-point methods for massive support
vector machines", SIAM Journal on Optimization 13 (2002).
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

_MAX_STEPS = 80
_TO_THE_WALL = 0.995
_ROWS = 1200
_RIDGE = 1e-14
_NEAR = (1e-4, 1e-6, 1e-8, 1e-10)  # to a bound, of the size of the variables


def solve_box(
    Z: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray, goal: float
) -> np.ndarray:
    """Return α with a duality gap of ``goal``, or the last one before rounding stopped the steps:
    what it is worth is for the caller to measure.

    Parameters
    ----------
    Z : ndarray of shape (m, d + 1)
    q, e : ndarray of shape (m,)
    u : ndarray of shape (m,)
        Larger than 0; infinity for no bound.
    goal : float
        An absolute number: where other rows are held fixed, the value of this part says little
        about that of the whole.
    """
    with np.errstate(all="ignore"):
        return _follow_path(Z, q, e, u, goal)


def _follow_path(
    Z: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray, goal: float
) -> np.ndarray:
    bounded = np.isfinite(u)
    alpha = np.where(bounded, u / 2, 1 / np.maximum(e, 1e-12))
    size = max(1.0, float(np.abs(Z @ (Z.T @ alpha) + e * alpha - q).max()))
    z, s = np.full(len(q), size), np.where(bounded, size, 0.0)
    count = len(q) + bounded.sum()
    # By rows even where columns are fewer, as long as it is cheap: free variables have a Θ of
    # nearly 0, and its inverse, which the way by columns needs, costs all digits.
    gram = Z @ Z.T if len(q) <= max(Z.shape[1], _ROWS) else None
    for _ in range(_MAX_STEPS):
        room = np.where(bounded, np.maximum(u - alpha, 1e-15 * u), 1.0)
        v = Z.T @ alpha
        slope = Z @ v + e * alpha - q
        left = z - s - slope
        slack = float(alpha @ z + room @ s)
        if _true_gap(alpha, slope, e, u) <= goal:
            break
        try:
            solve = _factor(Z, gram, e + z / alpha + s / room)
        except (LinAlgError, ValueError):
            break
        # Predictor: straight for the optimum. Corrector: back towards the centre by how far the
        # predictor can go, with its second-order terms.
        da, dz, ds = _direction(solve, left, alpha, room, z, s, bounded, 0.0, 0.0, 0.0)
        step = min(_reach(alpha, da), _reach(room, -da * bounded), _reach(z, dz), _reach(s, ds))
        ahead = (alpha + step * da) @ (z + step * dz) + (room - step * da) @ (s + step * ds)
        centre = (max(float(ahead), 0.0) / slack) ** 3 * slack / count
        da, dz, ds = _direction(solve, left, alpha, room, z, s, bounded, centre, da * dz, -da * ds)
        primal = min(_reach(alpha, da), _reach(room, -da * bounded), 1 / _TO_THE_WALL)
        dual = min(_reach(z, dz), _reach(s, ds), 1 / _TO_THE_WALL)
        # One length for both: the objective is quadratic.
        step = _TO_THE_WALL * min(primal, dual)
        if not np.isfinite(da).all() or step < 1e-12:
            break
        alpha, z, s = np.maximum(alpha + step * da, 1e-300), z + step * dz, s + step * ds
    return _snap(Z, q, e, u, alpha, z, s, goal)


def _true_gap(alpha: np.ndarray, slope: np.ndarray, e: np.ndarray, u: np.ndarray) -> float:
    """Return the duality gap of α itself, whatever the multipliers say."""
    rise = np.maximum(-slope, 0)
    bounded = np.isfinite(u)
    cost = np.where(bounded, np.where(bounded, u - alpha, 0) * rise, rise * rise / (2 * e))
    return float(alpha @ np.maximum(slope, 0) + cost.sum())


def _factor(
    Z: np.ndarray, gram: np.ndarray | None, theta: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that solves (ZZᵀ + Θ) x = r, by ZZᵀ where it is given, else by columns."""
    d = Z.shape[1]
    if gram is not None:
        diagonal = gram.diagonal()
        theta = np.maximum(theta, _RIDGE * float(diagonal.max()))
        whole = gram.copy()
        np.fill_diagonal(whole, diagonal + theta)
        factor = cho_factor(whole, lower=True, overwrite_a=True, check_finite=False)

        def solve_whole(r: np.ndarray) -> np.ndarray:
            x = cho_solve(factor, r, check_finite=False)
            again = r - theta * x - gram @ x
            solution: np.ndarray = x + cho_solve(factor, again, check_finite=False)
            return solution

        return solve_whole
    scaled = Z / theta[:, None]
    inner = cho_factor(np.eye(d) + Z.T @ scaled, check_finite=False)

    def solve(r: np.ndarray) -> np.ndarray:
        x = r / theta - scaled @ cho_solve(inner, scaled.T @ r, check_finite=False)
        again = r - theta * x - Z @ (Z.T @ x)
        solution: np.ndarray = (
            x + again / theta - scaled @ cho_solve(inner, scaled.T @ again, check_finite=False)
        )
        return solution

    return solve


def _direction(
    solve: Callable[[np.ndarray], np.ndarray],
    left: np.ndarray,
    alpha: np.ndarray,
    room: np.ndarray,
    z: np.ndarray,
    s: np.ndarray,
    bounded: np.ndarray,
    centre: float,
    bend_low: np.ndarray | float,
    bend_high: np.ndarray | float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the Newton step of α and both multipliers towards the given centrality."""
    low = (centre - bend_low) / alpha - z
    high = np.where(bounded, (centre - bend_high) / room - s, 0.0)
    da = solve(left + low - high)
    return da, low - z / alpha * da, high + np.where(bounded, s / room * da, 0.0)


def _reach(x: np.ndarray, dx: np.ndarray) -> float:
    """Return the longest step, at most 1, that keeps x + step · dx from falling below 0."""
    falling = dx < 0
    return min(1.0, float((x[falling] / -dx[falling]).min(initial=np.inf)))


def _snap(
    Z: np.ndarray,
    q: np.ndarray,
    e: np.ndarray,
    u: np.ndarray,
    alpha: np.ndarray,
    z: np.ndarray,
    s: np.ndarray,
    goal: float,
) -> np.ndarray:
    """Put variables exactly on the bound that their multiplier says they have reached.

    Long rows make much of a little: where that opens the gap, the free variables move so that Zᵀα
    stays what it was, or fewer variables are moved.
    """
    scale = float(alpha.max(initial=0))

    def measure(point: np.ndarray) -> float:
        return _true_gap(point, Z @ (Z.T @ point) + e * point - q, e, u)

    limit = max(2 * measure(alpha), goal)
    for near in _NEAR:
        is_low, is_high = (alpha < near * scale) & (z > near), (u - alpha < near * u) & (s > near)
        moved = np.where(is_high, u, np.where(is_low, 0.0, alpha))
        if measure(moved) <= limit:
            return moved
        free = np.flatnonzero(~is_low & ~is_high)
        if len(free):
            lost = Z.T @ (alpha - moved)
            moved[free] += np.linalg.lstsq(Z[free].T, lost, rcond=None)[0]
            moved = np.clip(moved, 0, u)
            if measure(moved) <= limit:
                return moved
    return alpha

"""The dual of a linear SVM on few rows or few columns, however badly the columns are scaled.

    min_α  ½ |Zᵀα|² + ½ Σ e_i α_i² − Σ q_i α_i        0 ≤ α ≤ u

Coordinate descent needs an epoch for each digit of the conditioning; an interior-point method
needs 10 to 40 steps for any. A step solves one system with ZZᵀ + Θ, Θ diagonal, in the smaller of
the row and the column dimension: O(m d min(m, d)).

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

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

_MAX_STEPS = 80
_TO_THE_WALL = 0.995


def solve_box(Z: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray, tol: float) -> np.ndarray:
    """Return α with a complementarity of ``tol`` relative to the objective, or the last one before
    rounding stopped the steps: what it is worth is for the caller to measure.

    Parameters
    ----------
    Z : ndarray of shape (m, d + 1)
    q, e : ndarray of shape (m,)
    u : ndarray of shape (m,)
        Larger than 0; infinity for no bound.
    """
    with np.errstate(all="ignore"):
        return _follow_path(Z, q, e, u, tol)


def _follow_path(
    Z: np.ndarray, q: np.ndarray, e: np.ndarray, u: np.ndarray, tol: float
) -> np.ndarray:
    bounded = np.isfinite(u)
    alpha = np.where(bounded, u / 2, 1 / np.maximum(e, 1e-12))
    size = max(1.0, float(np.abs(Z @ (Z.T @ alpha) + e * alpha - q).max()))
    z, s = np.full(len(q), size), np.where(bounded, size, 0.0)
    count = len(q) + bounded.sum()
    for _ in range(_MAX_STEPS):
        room = np.where(bounded, np.maximum(u - alpha, 1e-15 * u), 1.0)
        v = Z.T @ alpha
        left = q - Z @ v - e * alpha + z - s
        slack = float(alpha @ z + room @ s)
        value = float(q @ alpha - v @ v / 2 - (e * alpha) @ alpha / 2)
        goal = tol * max(abs(value), 1e-300)
        if slack <= goal and float(np.abs(left) @ alpha) <= goal:
            break
        try:
            solve = _factor(Z, e + z / alpha + s / room)
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
    return _snap(alpha, z, s, u)


def _factor(Z, theta):
    """Return a function that solves (ZZᵀ + Θ) x = r in the smaller dimension."""
    m, d = Z.shape
    if m <= d:
        whole = cho_factor(Z @ Z.T + np.diag(theta), check_finite=False)
        return lambda r: cho_solve(whole, r, check_finite=False)
    scaled = Z / theta[:, None]
    inner = cho_factor(np.eye(d) + Z.T @ scaled, check_finite=False)

    def solve(r: np.ndarray) -> np.ndarray:
        x = r / theta - scaled @ cho_solve(inner, scaled.T @ r, check_finite=False)
        again = r - theta * x - Z @ (Z.T @ x)
        return x + again / theta - scaled @ cho_solve(inner, scaled.T @ again, check_finite=False)

    return solve


def _direction(solve, left, alpha, room, z, s, bounded, centre, bend_low, bend_high):
    """Return the Newton step of α and both multipliers towards the given centrality."""
    low = (centre - bend_low) / alpha - z
    high = np.where(bounded, (centre - bend_high) / room - s, 0.0)
    da = solve(left + low - high)
    return da, low - z / alpha * da, high + np.where(bounded, s / room * da, 0.0)


def _reach(x: np.ndarray, dx: np.ndarray) -> float:
    """Return the longest step, at most 1, that keeps x + step · dx from falling below 0."""
    falling = dx < 0
    return min(1.0, float((x[falling] / -dx[falling]).min(initial=np.inf)))


def _snap(alpha: np.ndarray, z: np.ndarray, s: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Put variables exactly on the bound that their multiplier says they have reached."""
    scale = float(alpha.max(initial=0))
    alpha = np.where((alpha < 1e-6 * scale) & (z > 1e-6), 0.0, alpha)
    return np.where((u - alpha < 1e-6 * u) & (s > 1e-6), u, alpha)

"""The concert's convex problem by slow, obvious ways: every face of the feasible set, and SLSQP."""

from itertools import product

import numpy as np
from scipy.optimize import minimize

ROUNDING = 1e-12  # of a weight


def value(F, t, w):
    return float(np.sum((F @ w - t) ** 2))


def solve_by_faces(F, t, k):
    """Return the least value over all faces: each weight at 0, at the cap, or free."""
    n, cap = F.shape[1], 1.0 / k
    best = np.inf
    for face in product((0, 1, 2), repeat=n):
        face = np.array(face)
        free = np.flatnonzero(face == 2)
        w = np.where(face == 1, cap, 0.0)
        left = 1.0 - w.sum()
        if len(free):
            # Least squares with the free weights summing to what is left.
            A = F[:, free]
            system = np.zeros((len(free) + 1,) * 2)
            system[:-1, :-1], system[:-1, -1], system[-1, :-1] = A.T @ A, 1.0, 1.0
            right = np.append(A.T @ (t - F @ w), left)
            w[free] = np.linalg.lstsq(system, right, rcond=None)[0][:-1]
        is_feasible = abs(w.sum() - 1) < 1e-9 and w.min() > -1e-9 and w.max() < cap + 1e-9
        if is_feasible:
            best = min(best, value(F, t, w))
    return best


def solve_by_slsqp(F, t, k):
    """Return the value that SciPy's sequential least squares programming finds."""
    n = F.shape[1]
    G, c = F.T @ F, F.T @ t
    found = minimize(
        lambda w: w @ G @ w - 2 * c @ w,
        np.full(n, 1.0 / n),
        jac=lambda w: 2 * (G @ w - c),
        bounds=[(0.0, 1.0 / k)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(n)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return value(F, t, found.x)


def measure_violation(F, t, k, w):
    """Return how far w is from feasible, and from the conditions of Karush, Kuhn and Tucker.

    The second is the largest gain per unit of weight moved from a feature that has some to one
    that has room; less than ROUNDING is no weight and no room.
    """
    cap = 1.0 / k
    infeasible = max(abs(w.sum() - 1), -w.min(), w.max() - cap)
    gradient = 2 * F.T @ (F @ w - t)
    can_fall, can_rise = gradient[w > ROUNDING], gradient[w < cap - ROUNDING]
    if not len(can_rise):
        return infeasible, 0.0
    return infeasible, float(can_fall.max() - can_rise.min())

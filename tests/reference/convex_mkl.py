"""Kernel weights by a general convex solver, and the kernels of single bins, written plainly."""

import numpy as np
from scipy.optimize import minimize


def bin_kernel(kernel, x, z):
    """The kernel of one bin for every pair of two columns."""
    a, b = np.meshgrid(np.asarray(x, float), np.asarray(z, float), indexing="ij")
    if kernel == "linear":
        return a * b
    if kernel == "intersection":
        return np.minimum(a, b)
    total = a + b
    return np.divide(2 * a * b, total, out=np.zeros_like(total), where=total > 0)


def bin_spread(kernel, x, y):
    """The mean squared distance of two rows of the same side, pair by pair."""
    K = bin_kernel(kernel, x, x)
    pairs = [(i, j) for i in range(len(x)) for j in range(len(x)) if y[i] == y[j]]
    return np.mean([K[i, i] + K[j, j] - 2 * K[i, j] for i, j in pairs])


def optimum(kernels, y, C, ridge=0.0):
    """max_β Σ yβ − ½ ridge Σβ² − ½ max_k βᵀM_kβ over Σβ = 0, 0 ≤ yβ ≤ C; a handful of rows."""
    n, scale = len(y), C * len(y)
    low, high = np.where(y > 0, 0, -C), np.where(y > 0, C, 0)
    beta = np.where(y > 0, 0.1 * C * (y < 0).sum(), -0.1 * C * (y > 0).sum()) / n
    t = max(beta @ K @ beta for K in kernels)

    def split(v):
        return v[:-1], v[-1] * scale

    result = minimize(
        lambda v: (0.5 * split(v)[1] - v[:-1] @ y + 0.5 * ridge * v[:-1] @ v[:-1]) / scale,
        np.append(beta, t / scale),
        jac=lambda v: np.append(ridge * v[:-1] - y, 0.5 * scale) / scale,
        bounds=[*zip(low, high, strict=True), (0, None)],
        constraints=[
            {
                "type": "eq",
                "fun": lambda v: v[:-1].sum(),
                "jac": lambda v: np.append(np.ones(n), 0),
            },
            {
                "type": "ineq",
                "fun": lambda v: v[-1] - np.array([v[:-1] @ K @ v[:-1] for K in kernels]) / scale,
                "jac": lambda v: np.array(
                    [np.append(-2 * K @ v[:-1] / scale, 1.0) for K in kernels]
                ),
            },
        ],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    beta = result.x[:-1]
    worst = max(beta @ K @ beta for K in kernels)
    return float(beta @ y - 0.5 * ridge * beta @ beta - 0.5 * worst)

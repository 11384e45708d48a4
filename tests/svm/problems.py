"""Small problems, and a slow and obvious solver, for the tests of the linear SVMs."""

import numpy as np
from scipy.optimize import minimize


def draw_problem(seed=0, n=60, d=5, noise=1.0):
    """Rows of two overlapping classes with signs -1 and +1, both present."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=d) + noise * rng.normal(size=n) + 0.5
    sign = np.where(f > np.median(f), 1.0, -1.0)
    return X, sign


def solve_slowly(X, sign, cost, loss, bias=1.0):
    """Return the optimum of the dual by a general bounded quasi-Newton method."""
    rows = np.hstack([X, np.full((len(X), 1), bias)]) * sign[:, None]
    used = cost > 0
    rows, cost = rows[used], cost[used]
    gram = rows @ rows.T
    if loss == "squared_hinge":
        gram = gram + np.diag(1 / (2 * cost))
    top = [None] * len(cost) if loss == "squared_hinge" else cost
    found = minimize(
        lambda a: (a @ gram @ a / 2 - a.sum(), gram @ a - 1),
        np.zeros(len(cost)),
        jac=True,
        bounds=[(0, t) for t in top],
        method="L-BFGS-B",
        options={"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30},
    )
    return -found.fun

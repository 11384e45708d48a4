"""The compiled loop of the group lasso: groups one after the other, the margins kept up to date."""

import numpy as np

from fieldguide._jit import inner_jit, jit


@jit
def descend_groups(Z, groups, y, C, corner, roots, curvatures, W, state, f, pull):
    """Visit each group once; W, f and state = [t, intercept] change in place.

    Z is (D, width, n), W (D, width). ``corner`` is the width of the rounded part of the hinge,
    ``roots`` √a_k, ``curvatures`` the largest eigenvalue of Z_kZ_kᵀ, ``pull`` room for n numbers.
    O(n · width) for each group.
    """
    width = Z.shape[1]
    step = np.empty(width)
    state[1] += move_intercept(y, corner, f)
    for k in groups:
        old = 0.0
        for j in range(width):
            old += W[k, j] * W[k, j]
        old = np.sqrt(old)
        others = state[0] - roots[k] * old
        slope(y, corner, f, pull)
        bend = C / corner * curvatures[k]
        size = 0.0
        for j in range(width):
            step[j] = W[k, j] + C * dot(Z[k, j], pull) / bend
            size += step[j] * step[j]
        size = np.sqrt(size)
        new = max(bend * size - others * roots[k], 0.0) / (bend + roots[k] * roots[k])
        if new == 0.0 and old == 0.0:
            continue
        for j in range(width):
            w = step[j] * new / size if size > 0 else 0.0
            if w != W[k, j]:
                add(Z[k, j], w - W[k, j], f)
                W[k, j] = w
        state[0] = others + roots[k] * new


@jit
def move_intercept(y, corner, f):
    """Add to all margins what makes the rounded hinge least, by bisection; return it. O(n)."""
    low, high = -2.0, 2.0
    for i in range(len(f)):
        low = min(low, -f[i] - 2.0)
        high = max(high, -f[i] + 2.0)
    for _ in range(50):
        middle = 0.5 * (low + high)
        total = 0.0
        for i in range(len(f)):
            total += y[i] * min(max((1.0 - y[i] * (f[i] + middle)) / corner, 0.0), 1.0)
        if total > 0:
            low = middle
        else:
            high = middle
    middle = 0.5 * (low + high)
    for i in range(len(f)):
        f[i] += middle
    return middle


@inner_jit
def slope(y, corner, f, pull):
    """Write minus the slope of each row's loss to ``pull``. O(n)."""
    for i in range(len(f)):
        s = (1.0 - y[i] * f[i]) / corner
        s = s if s > 0.0 else 0.0
        pull[i] = y[i] * (s if s < 1.0 else 1.0)


@inner_jit
def add(z, factor, f):
    """Add factor · z to f. O(n)."""
    for i in range(len(f)):
        f[i] += factor * z[i]


@inner_jit(fastmath={"reassoc", "contract", "nsz"})
def dot(z, pull):
    """Return z·pull, summed in any order. O(n)."""
    total = 0.0
    for i in range(len(pull)):
        total += z[i] * pull[i]
    return total

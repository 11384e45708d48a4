"""Compiled steps of the factored Bernoulli model: theta and sigma, one attribute at a time."""

import math

from fieldguide._arrays import Floats, Ints, Words
from fieldguide._jit import inner_jit, jit
from fieldguide.describe._draws import uniform


@inner_jit(counted=False)
def log_logit(x: float, centre: float, precision: float, n1: float, n0: float) -> float:
    """Return the log-density of theta of one node."""
    soft = math.log1p(math.exp(-abs(x)))
    gap = x - centre
    total = -0.5 * precision * gap * gap
    if x > 0.0:
        return total - n1 * soft - n0 * (x + soft)
    return total + n1 * (x - soft) - n0 * soft


@jit(counted=False)
def draw_logits(
    words: Words, parent: Ints, theta: Floats, sigma: Floats, n1: Floats, n0: Floats, sums: Floats,
    n_children: Ints,
) -> None:  # fmt: skip
    """Draw theta up the tree, then down, by slice sampling with stepping out.

    theta, n1, n0 (n_attributes, n_nodes), nodes in pre-order; sums, n_children (n_nodes,) are room
    to work in.
    """
    n_attributes, n_nodes = theta.shape
    n_children[:] = 0
    for k in range(1, n_nodes):
        n_children[parent[k]] += 1
    for d in range(n_attributes):
        sums[:] = 0.0
        for k in range(1, n_nodes):
            sums[parent[k]] += theta[d, k]
        for turn in range(2 * n_nodes):
            k = n_nodes - 1 - turn if turn < n_nodes else turn - n_nodes
            above = theta[d, parent[k]] if k > 0 else 0.0
            precision = (1.0 + n_children[k]) / (sigma[d] * sigma[d])
            centre = (above + sums[k]) / (1.0 + n_children[k])
            a1, a0 = n1[d, k], n0[d, k]
            old = theta[d, k]
            level = log_logit(old, centre, precision, a1, a0) + math.log(uniform(words))
            width = 2.0 / math.sqrt(precision + 0.1 * (a1 + a0))
            low = old - width * uniform(words)
            high = low + width
            while log_logit(low, centre, precision, a1, a0) > level:
                low -= width
            while log_logit(high, centre, precision, a1, a0) > level:
                high += width
            x = old
            while high - low > 1e-12:
                x = low + (high - low) * uniform(words)
                if log_logit(x, centre, precision, a1, a0) >= level:
                    break
                if x < old:
                    low = x
                else:
                    high = x
                x = old
            theta[d, k] = x
            if k > 0:
                sums[parent[k]] += x - old


@jit(counted=False)
def draw_steps(words: Words, sigma: Floats, bounds: Floats, parent: Ints, theta: Floats) -> None:
    """Draw sigma of each attribute by slice sampling on its bounds (2,)."""
    n_nodes = len(parent)
    for d in range(len(sigma)):
        squares = theta[d, 0] ** 2
        for k in range(1, n_nodes):
            squares += (theta[d, k] - theta[d, parent[k]]) ** 2
        old = sigma[d]
        low, high = bounds
        level = log_step(old, n_nodes, squares) + math.log(uniform(words))
        while high - low > 1e-12:
            s = low + (high - low) * uniform(words)
            if log_step(s, n_nodes, squares) >= level:
                sigma[d] = s
                break
            if s < old:
                low = s
            else:
                high = s


@inner_jit(counted=False)
def log_step(sigma: float, n_nodes: int, squares: float) -> float:
    """Return the log-density of sigma, and of theta given it, but for a constant."""
    return -n_nodes * math.log(sigma) - 0.5 * squares / (sigma * sigma)

"""Compiled steps of the Attribute Tree Process: theta, omega and c, one attribute at a time.

Given the rows of each node, attributes are independent: each is handled with its own short arrays.
"""

import math

import numpy as np

from fieldguide._arrays import Floats, Ints, Words
from fieldguide._jit import inner_jit, jit
from fieldguide.describe._draws import uniform


@jit(counted=False)
def log_beta_line(table: Floats, log_c_low: float, step: float, c: float, line: Floats) -> None:
    """Interpolate the table of log B(x, c) in log c; table (n_c, n_x), line (n_x,) is written."""
    at = (math.log(c) - log_c_low) / step
    i = min(max(int(at), 1), len(table) - 3)
    w0, w1, w2, w3 = cubic_weights(at - i)
    for j in range(len(line)):
        line[j] = (
            w0 * table[i - 1, j] + w1 * table[i, j] + w2 * table[i + 1, j] + w3 * table[i + 2, j]
        )


@inner_jit(counted=False)
def cubic_weights(f: float) -> tuple[float, float, float, float]:
    """Return the weights of the values at -1, 0, 1, 2 for Lagrange's cubic at f."""
    return (
        -f * (f - 1.0) * (f - 2.0) / 6.0,
        (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0,
        -(f + 1.0) * f * (f - 2.0) / 2.0,
        (f + 1.0) * f * (f - 1.0) / 6.0,
    )


@jit(counted=False)
def interpolate(line: Floats, at: float) -> float:
    """Return the cubic through the four values of ``line`` around place ``at``."""
    i = min(max(int(at), 1), len(line) - 3)
    w0, w1, w2, w3 = cubic_weights(at - i)
    value: float = w0 * line[i - 1] + w1 * line[i] + w2 * line[i + 1] + w3 * line[i + 2]
    return value


@inner_jit(counted=False)
def log_rows_at(
    gain: Floats, rest: Floats, noise: float, n1: Floats, n0: Floats, nodes: Ints, m: int,
    total: float, least: float, terms: Floats,
) -> float:  # fmt: skip
    """Add to ``total`` the log-likelihood of the rows of m nodes below one whose theta is tried.

    gain is (1 - 2 noise)(1 - theta), rest the product of 1 - theta over the other nodes of a path;
    terms are written. Terms are never positive: the sum stops once it is below ``least``.
    """
    for i in range(m):
        if total < least:
            return total
        absent = noise + gain * rest[i]
        k = nodes[i]
        term = 0.0
        if n1[k] > 0.0:
            term += n1[k] * math.log(1.0 - absent)
        if n0[k] > 0.0:
            term += n0[k] * math.log(absent)
        terms[i] = term
        total += term
    return total


@jit(counted=False)
def draw_thetas(
    words: Words, parent: Ints, n_children: Ints, size: Ints, theta: Floats, noise: Floats,
    spread: Floats, root: Floats, n1: Floats, n0: Floats, table: Floats, log_c_low: float,
    c_step: float, x_edge: float, line: Floats, room: Floats, below: Ints,
) -> None:  # fmt: skip
    """Draw theta up the tree, then down, by slice sampling of its logit on [-x_edge, x_edge].

    theta, n1, n0 (n_attributes, n_nodes), nodes in pre-order; root (2,) is the root's a, b;
    line (n_x,), room (9, n_nodes) and below (n_nodes,) are room to work in.
    Logarithms are the cost: those of the present state are kept, so that only trials need any.
    """
    n_attributes, n_nodes = theta.shape
    per_step = (table.shape[1] - 1) / (2.0 * x_edge)
    log_t = room[0]
    log_r = room[1]  # of 1 - theta
    s1 = room[2]  # over the children: sum of log theta
    s2 = room[3]  # and of log(1 - theta)
    quiet = room[4]  # product of 1 - theta over the path
    term = room[5]  # log-likelihood of the rows of a node
    path = room[6]
    rest = room[7]
    trial = room[8]
    for d in range(n_attributes):
        c = spread[d]
        certain = 1.0 - 2.0 * noise[d]
        log_beta_line(table, log_c_low, c_step, c, line)
        for k in range(n_nodes):
            s1[k] = s2[k] = 0.0
        for k in range(n_nodes):
            log_t[k] = math.log(theta[d, k])
            log_r[k] = math.log(1.0 - theta[d, k])
            quiet[k] = 1.0 - theta[d, k]
            if k > 0:
                s1[parent[k]] += log_t[k]
                s2[parent[k]] += log_r[k]
                quiet[k] *= quiet[parent[k]]
            below[k] = k
        log_rows_at(certain, quiet, noise[d], n1[d], n0[d], below, n_nodes, 0.0, -np.inf, term)
        for turn in range(2 * n_nodes):
            k = n_nodes - 1 - turn if turn < n_nodes else turn - n_nodes
            above = parent[k]
            # Paths are multiplied, never divided: 1 - theta may be as small as the floor.
            path[k] = quiet[above] if above >= 0 else 1.0
            a, b = root[0], root[1]
            if above >= 0:
                a, b = c * theta[d, above], c * (1.0 - theta[d, above])
            x_old = min(max(log_t[k] - log_r[k], -x_edge), x_edge)
            level = math.log(uniform(words)) + a * log_t[k] + b * log_r[k]
            if n_children[k] > 0:
                log_b = interpolate(line, (x_old + x_edge) * per_step)
                t = theta[d, k]
                level += c * (t * s1[k] + (1.0 - t) * s2[k]) - n_children[k] * log_b
            m = 0
            for j in range(k, k + size[k]):
                if j > k:
                    path[j] = path[parent[j]] * (1.0 - theta[d, j])
                if n1[d, j] + n0[d, j] > 0.0:
                    rest[m], below[m] = path[j], j
                    level += term[j]
                    m += 1
            low, high = -x_edge, x_edge
            while high - low > 1e-10:
                x = low + (high - low) * uniform(words)
                grown = math.exp(-abs(x))
                near = 1.0 / (1.0 + grown)  # the larger one of theta and 1 - theta
                log_near = -math.log(1.0 + grown)
                if x > 0.0:
                    t, r, new_t, new_r = near, grown * near, log_near, log_near - x
                else:
                    t, r, new_t, new_r = grown * near, near, log_near + x, log_near
                value = a * new_t + b * new_r
                if n_children[k] > 0:
                    log_b = interpolate(line, (x + x_edge) * per_step)
                    value += c * (t * s1[k] + r * s2[k]) - n_children[k] * log_b
                value = log_rows_at(
                    certain * r, rest, noise[d], n1[d], n0[d], below, m, value, level, trial
                )
                if value >= level:
                    if above >= 0:
                        s1[above] += new_t - log_t[k]
                        s2[above] += new_r - log_r[k]
                    theta[d, k], log_t[k], log_r[k] = t, new_t, new_r
                    for i in range(m):
                        term[below[i]] = trial[i]
                    break
                if x < x_old:
                    low = x
                else:
                    high = x
            quiet[k] = path[k] * (1.0 - theta[d, k])


@inner_jit(counted=False)
def log_noise(omega: float, prior: Floats, quiet: Floats, n1: Floats, n0: Floats) -> float:
    """Return the log-density of logit omega."""
    total: float = prior[0] * math.log(omega) + prior[1] * math.log(1.0 - omega)
    for k in range(len(quiet)):
        absent = omega + (1.0 - 2.0 * omega) * quiet[k]
        if n1[k] > 0.0:
            total += n1[k] * math.log(1.0 - absent)
        if n0[k] > 0.0:
            total += n0[k] * math.log(absent)
    return total


@jit(counted=False)
def draw_noise(
    words: Words, noise: Floats, prior: Floats, x_most: float, quiet: Floats, n1: Floats, n0: Floats
) -> None:
    """Draw the chance of a flip of each attribute, the flips themselves summed out.

    quiet, n1, n0 (n_attributes, n_nodes). Slice sampling of its logit, stepping out; below x_most.
    """
    for d in range(len(noise)):
        x_old = math.log(noise[d] / (1.0 - noise[d]))
        level = log_noise(noise[d], prior, quiet[d], n1[d], n0[d]) + math.log(uniform(words))
        low = x_old - uniform(words)
        high = low + 1.0
        while low > -30.0 and log_noise(logistic(low), prior, quiet[d], n1[d], n0[d]) > level:
            low -= 1.0
        while high < x_most and log_noise(logistic(high), prior, quiet[d], n1[d], n0[d]) > level:
            high += 1.0
        low, high = max(low, -30.0), min(high, x_most)
        while high - low > 1e-12:
            x = low + (high - low) * uniform(words)
            if log_noise(logistic(x), prior, quiet[d], n1[d], n0[d]) >= level:
                noise[d] = logistic(x)
                break
            if x < x_old:
                low = x
            else:
                high = x


@inner_jit(counted=False)
def logistic(x: float) -> float:
    """Return 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + math.exp(-x))


@inner_jit(counted=False)
def weigh_precision(
    parent: Ints, theta: Floats, n_children: Ints, x_edge: float, per_step: float, place: Floats
) -> float:
    """Return the factor of c in the log-density of one attribute's theta (n_nodes,), root apart.

    place (n_nodes,) is written: where on the table of log B each node with children is.
    """
    total = 0.0
    for k in range(len(parent)):
        log_t, log_r = math.log(theta[k]), math.log(1.0 - theta[k])
        if n_children[k] > 0:
            place[k] = (log_t - log_r + x_edge) * per_step
        if k > 0:
            t = theta[parent[k]]
            total += t * log_t + (1.0 - t) * log_r
    return total


@inner_jit(counted=False)
def log_normalizers(
    c: float, table: Floats, log_c_low: float, c_step: float, n_children: Ints, place: Floats
) -> float:
    """Return the sum of log B over all nodes but the root, at precision c."""
    at = (math.log(c) - log_c_low) / c_step
    i = min(max(int(at), 1), len(table) - 3)
    w0, w1, w2, w3 = cubic_weights(at - i)
    total = 0.0
    for k in range(len(place)):
        if n_children[k] > 0:
            j = min(max(int(place[k]), 1), table.shape[1] - 3)
            v0, v1, v2, v3 = cubic_weights(place[k] - j)
            log_b = 0.0
            for w, r in ((w0, i - 1), (w1, i), (w2, i + 1), (w3, i + 2)):
                log_b += w * (
                    v0 * table[r, j - 1]
                    + v1 * table[r, j]
                    + v2 * table[r, j + 1]
                    + v3 * table[r, j + 2]
                )
            total += n_children[k] * log_b
    return total


@jit(counted=False)
def draw_spreads(
    words: Words, spread: Floats, bounds: Floats, parent: Ints, n_children: Ints, theta: Floats,
    table: Floats, log_c_low: float, c_step: float, x_edge: float, place: Floats,
) -> None:  # fmt: skip
    """Draw c of each attribute by slice sampling on its bounds (2,).

    theta (n_attributes, n_nodes); place (n_nodes,) is room to work in.
    """
    per_step = (table.shape[1] - 1) / (2.0 * x_edge)
    for d in range(len(spread)):
        slope = weigh_precision(parent, theta[d], n_children, x_edge, per_step, place)
        old = spread[d]
        low, high = bounds
        level = old * slope - log_normalizers(old, table, log_c_low, c_step, n_children, place)
        level += math.log(uniform(words))
        while high - low > 1e-10:
            c = low + (high - low) * uniform(words)
            value = c * slope - log_normalizers(c, table, log_c_low, c_step, n_children, place)
            if value >= level:
                spread[d] = c
                break
            if c < old:
                low = c
            else:
                high = c


@jit(counted=False)
def log_thetas(
    parent: Ints, n_children: Ints, theta: Floats, spread: Floats, table: Floats, log_c_low: float,
    c_step: float, x_edge: float, place: Floats,
) -> float:  # fmt: skip
    """Return the log-density of logit theta of all nodes but the root; place is room to work in."""
    per_step = (table.shape[1] - 1) / (2.0 * x_edge)
    total = 0.0
    for d in range(len(spread)):
        c = spread[d]
        total += c * weigh_precision(parent, theta[d], n_children, x_edge, per_step, place)
        total -= log_normalizers(c, table, log_c_low, c_step, n_children, place)
    return total


@jit(counted=False)
def log_rows(quiet: Floats, noise: Floats, n1: Floats, n0: Floats) -> float:
    """Return the log-likelihood of all rows; quiet, n1, n0 (n_attributes, n_nodes)."""
    total = 0.0
    for d in range(len(noise)):
        for k in range(quiet.shape[1]):
            absent = noise[d] + (1.0 - 2.0 * noise[d]) * quiet[d, k]
            if n1[d, k] > 0.0:
                total += n1[d, k] * math.log(1.0 - absent)
            if n0[d, k] > 0.0:
                total += n0[d, k] * math.log(absent)
    return total

"""Compiled steps of the Attribute Tree Process: theta, omega and c, one attribute at a time.

Given the rows of each node, attributes are independent: each is handled with its own short arrays.
"""

import math

import numpy as np

from fieldguide._jit import jit
from fieldguide.describe._draws import uniform


@jit
def log_beta_line(table, log_c_low, step, c, line):
    """Interpolate the table of log B(x, c) in log c; table (n_c, n_x), line (n_x,) is written."""
    at = (math.log(c) - log_c_low) / step
    i = min(max(int(at), 1), len(table) - 3)
    w0, w1, w2, w3 = cubic_weights(at - i)
    for j in range(len(line)):
        line[j] = (
            w0 * table[i - 1, j] + w1 * table[i, j] + w2 * table[i + 1, j] + w3 * table[i + 2, j]
        )


@jit
def cubic_weights(f):
    """Return the weights of the values at -1, 0, 1, 2 for Lagrange's cubic at f."""
    return (
        -f * (f - 1.0) * (f - 2.0) / 6.0,
        (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0,
        -(f + 1.0) * f * (f - 2.0) / 2.0,
        (f + 1.0) * f * (f - 1.0) / 6.0,
    )


@jit
def interpolate(line, at):
    """Return the cubic through the four values of ``line`` around place ``at``."""
    i = min(max(int(at), 1), len(line) - 3)
    w0, w1, w2, w3 = cubic_weights(at - i)
    return w0 * line[i - 1] + w1 * line[i] + w2 * line[i + 1] + w3 * line[i + 2]


@jit
def log_theta(x, least, a, b, c, n_children, s1, s2, line, x_edge, x_step, noise, rest, n1, n0, m):
    """Return the log-density of logit theta of one node, or a number below ``least``.

    Terms of rows are never positive, so the sum may stop once it is below ``least``.
    """
    grown = math.exp(-abs(x))
    log_near = -math.log1p(grown)  # log of the larger one of theta and 1 - theta
    if x > 0.0:
        t = 1.0 / (1.0 + grown)
        rest_t = grown / (1.0 + grown)
        total = (a + b) * log_near - b * x
    else:
        t = grown / (1.0 + grown)
        rest_t = 1.0 / (1.0 + grown)
        total = (a + b) * log_near + a * x
    if n_children > 0:
        log_b = interpolate(line, (x + x_edge) / x_step)
        total += c * (t * s1 + rest_t * s2) - n_children * log_b
    gain = (1.0 - 2.0 * noise) * rest_t
    for j in range(m):
        if total < least:
            return total
        absent = noise + gain * rest[j]
        if n1[j] > 0.0:
            total += n1[j] * math.log(1.0 - absent)
        if n0[j] > 0.0:
            total += n0[j] * math.log(absent)
    return total


@jit
def draw_thetas(
    words, parent, size, theta, noise, spread, root, n1, n0, table, log_c_low, c_step, x_edge
):
    """Draw theta up the tree, then down, by slice sampling of its logit on [-x_edge, x_edge].

    theta, n1, n0 (n_attributes, n_nodes), nodes in pre-order; root (2,) is the root's a, b.
    """
    n_attributes, n_nodes = theta.shape
    line = np.empty(table.shape[1])
    x_step = 2.0 * x_edge / (table.shape[1] - 1)
    quiet = np.empty(n_nodes)
    rest = np.empty(n_nodes)
    here1 = np.empty(n_nodes)
    here0 = np.empty(n_nodes)
    n_children = np.zeros(n_nodes, dtype=np.int64)
    for k in range(1, n_nodes):
        n_children[parent[k]] += 1
    s1 = np.empty(n_nodes)  # over the children: sum of log theta
    s2 = np.empty(n_nodes)  # and of log(1 - theta)
    for d in range(n_attributes):
        c = spread[d]
        log_beta_line(table, log_c_low, c_step, c, line)
        s1[:] = 0.0
        s2[:] = 0.0
        for k in range(1, n_nodes):
            s1[parent[k]] += math.log(theta[d, k])
            s2[parent[k]] += math.log(1.0 - theta[d, k])
        for turn in range(2 * n_nodes):
            k = n_nodes - 1 - turn if turn < n_nodes else turn - n_nodes
            above = parent[k]
            # Paths are multiplied, never divided: 1 - theta may be as small as the floor.
            upper = 1.0
            if turn >= n_nodes:
                if above >= 0:
                    upper = quiet[above]
            else:
                j = above
                while j >= 0:
                    upper *= 1.0 - theta[d, j]
                    j = parent[j]
            quiet[k] = upper
            m = 0
            if n1[d, k] + n0[d, k] > 0.0:
                rest[0], here1[0], here0[0] = upper, n1[d, k], n0[d, k]
                m = 1
            for j in range(k + 1, k + size[k]):
                quiet[j] = quiet[parent[j]] * (1.0 - theta[d, j])
                if n1[d, j] + n0[d, j] > 0.0:
                    rest[m], here1[m], here0[m] = quiet[j], n1[d, j], n0[d, j]
                    m += 1
            if above < 0:
                a, b = root[0], root[1]
            else:
                a, b = c * theta[d, above], c * (1.0 - theta[d, above])
            old = theta[d, k]
            x_old = min(max(math.log(old / (1.0 - old)), -x_edge), x_edge)
            level = math.log(uniform(words)) + log_theta(
                x_old, -np.inf, a, b, c, n_children[k], s1[k], s2[k], line, x_edge, x_step,
                noise[d], rest, here1, here0, m,
            )  # fmt: skip
            low, high = -x_edge, x_edge
            x = x_old
            while high - low > 1e-10:
                x = low + (high - low) * uniform(words)
                value = log_theta(
                    x, level, a, b, c, n_children[k], s1[k], s2[k], line, x_edge, x_step,
                    noise[d], rest, here1, here0, m,
                )  # fmt: skip
                if value >= level:
                    break
                if x < x_old:
                    low = x
                else:
                    high = x
                x = x_old
            t = old
            if x != x_old:
                t = 1.0 / (1.0 + math.exp(-x))
                theta[d, k] = t
                if above >= 0:
                    s1[above] += math.log(t) - math.log(old)
                    s2[above] += math.log(1.0 - t) - math.log(1.0 - old)
            quiet[k] = upper * (1.0 - t)


@jit
def log_noise(omega, prior, quiet, n1, n0):
    """Return the log-density of logit omega."""
    total = prior[0] * math.log(omega) + prior[1] * math.log(1.0 - omega)
    for k in range(len(quiet)):
        absent = omega + (1.0 - 2.0 * omega) * quiet[k]
        if n1[k] > 0.0:
            total += n1[k] * math.log(1.0 - absent)
        if n0[k] > 0.0:
            total += n0[k] * math.log(absent)
    return total


@jit
def draw_noise(words, noise, prior, quiet, n1, n0):
    """Draw the chance of a flip of each attribute, the flips themselves summed out.

    quiet, n1, n0 (n_attributes, n_nodes). Slice sampling of its logit, stepping out; below 1/2.
    """
    for d in range(len(noise)):
        x_old = math.log(noise[d] / (1.0 - noise[d]))
        level = log_noise(noise[d], prior, quiet[d], n1[d], n0[d]) + math.log(uniform(words))
        low = x_old - uniform(words)
        high = low + 1.0
        while low > -30.0 and log_noise(logistic(low), prior, quiet[d], n1[d], n0[d]) > level:
            low -= 1.0
        while high < 0.0 and log_noise(logistic(high), prior, quiet[d], n1[d], n0[d]) > level:
            high += 1.0
        low, high = max(low, -30.0), min(high, 0.0)
        while high - low > 1e-12:
            x = low + (high - low) * uniform(words)
            if log_noise(logistic(x), prior, quiet[d], n1[d], n0[d]) >= level:
                noise[d] = logistic(x)
                break
            if x < x_old:
                low = x
            else:
                high = x


@jit
def logistic(x):
    """Return 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + math.exp(-x))


@jit
def log_spread(c, table, log_c_low, c_step, place, above, t, log_t, log_rest):
    """Return the log-density of c of one attribute: that of theta of every node but the root."""
    at = (math.log(c) - log_c_low) / c_step
    i = min(max(int(at), 1), len(table) - 3)
    w0, w1, w2, w3 = cubic_weights(at - i)
    total = 0.0
    for k in range(1, len(above)):
        p = above[k]
        j = min(max(int(place[p]), 1), table.shape[1] - 3)
        v0, v1, v2, v3 = cubic_weights(place[p] - j)
        log_b = 0.0
        for w, r in ((w0, i - 1), (w1, i), (w2, i + 1), (w3, i + 2)):
            log_b += w * (
                v0 * table[r, j - 1]
                + v1 * table[r, j]
                + v2 * table[r, j + 1]
                + v3 * table[r, j + 2]
            )
        total += c * (t[p] * log_t[k] + (1.0 - t[p]) * log_rest[k]) - log_b
    return total


@jit
def draw_spreads(words, spread, bounds, parent, theta, table, log_c_low, c_step, x_edge):
    """Draw c of each attribute by slice sampling on its bounds (2,).

    theta (n_attributes, n_nodes).
    """
    x_step = 2.0 * x_edge / (table.shape[1] - 1)
    n_nodes = len(parent)
    place = np.empty(n_nodes)
    log_t = np.empty(n_nodes)
    log_rest = np.empty(n_nodes)
    for d in range(len(spread)):
        for k in range(n_nodes):
            log_t[k] = math.log(theta[d, k])
            log_rest[k] = math.log(1.0 - theta[d, k])
            place[k] = (log_t[k] - log_rest[k] + x_edge) / x_step
        old = spread[d]
        low, high = bounds
        level = math.log(uniform(words)) + log_spread(
            old, table, log_c_low, c_step, place, parent, theta[d], log_t, log_rest
        )
        while high - low > 1e-10:
            c = low + (high - low) * uniform(words)
            value = log_spread(
                c, table, log_c_low, c_step, place, parent, theta[d], log_t, log_rest
            )
            if value >= level:
                spread[d] = c
                break
            if c < old:
                low = c
            else:
                high = c


@jit
def log_thetas(parent, theta, spread, table, log_c_low, c_step, x_edge):
    """Return the log-density of logit theta of all nodes but the root."""
    x_step = 2.0 * x_edge / (table.shape[1] - 1)
    line = np.empty(table.shape[1])
    total = 0.0
    for d in range(len(spread)):
        c = spread[d]
        log_beta_line(table, log_c_low, c_step, c, line)
        for k in range(1, len(parent)):
            p = theta[d, parent[k]]
            log_t, log_rest = math.log(theta[d, k]), math.log(1.0 - theta[d, k])
            total += c * (p * log_t + (1.0 - p) * log_rest)
            total -= interpolate(line, (math.log(p / (1.0 - p)) + x_edge) / x_step)
    return total

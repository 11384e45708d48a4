"""Draws from the prior of the tree models, one row after another, with plain loops.

The sticks are never drawn: a row stops at a node with probability (1 + n_here) / (1 + b + n_all),
else it joins a child in proportion to its rows, or a new one in proportion to gamma.
"""

import numpy as np


def draw_labels(rng, n_rows, hyper, max_depth):
    """Return parent and labels; a parent precedes its children."""
    alpha, decay, gamma = hyper
    parent, depth, here, below = [-1], [0], [0], [0]
    labels = []
    for _ in range(n_rows):
        k = 0
        while depth[k] < max_depth:
            b = alpha * decay ** depth[k]
            if rng.random() < (1 + here[k]) / (1 + b + here[k] + below[k]):
                break
            children = [j for j in range(len(parent)) if parent[j] == k]
            weights = np.array([here[j] + below[j] for j in children] + [gamma], dtype=float)
            below[k] += 1
            at = rng.choice(len(weights), p=weights / weights.sum())
            if at == len(children):
                parent.append(k)
                depth.append(depth[k] + 1)
                here.append(0)
                below.append(0)
                k = len(parent) - 1
            else:
                k = children[at]
        here[k] += 1
        labels.append(k)
    return np.array(parent), np.array(labels)


def draw_truncated_beta(rng, a, b, floor):
    while True:
        t = rng.beta(a, b)
        if floor <= t <= 1 - floor:
            return t


def draw_attribute_theta(rng, parent, spread, root, floor):
    theta = np.empty((len(parent), len(spread)))
    for k, above in enumerate(parent):
        for d, c in enumerate(spread):
            a, b = root if above < 0 else (c * theta[above, d], c * (1 - theta[above, d]))
            theta[k, d] = draw_truncated_beta(rng, a, b, floor)
    return theta


def draw_bernoulli_theta(rng, parent, sigma):
    theta = np.empty((len(parent), len(sigma)))
    for k, above in enumerate(parent):
        theta[k] = (0 if above < 0 else theta[above]) + sigma * rng.normal(size=len(sigma))
    return theta

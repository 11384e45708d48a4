"""The exact posterior over trees of a few rows: every tree listed, integrals by quadrature.

A tree is a nested pair (rows that stop here, set of trees below). The sticks are integrated out in
closed form; theta of every node, omega and c by Gauss-Legendre rules. Slow and obvious; at most
three levels of nodes.
"""

from itertools import combinations, product
from math import lgamma, log

import numpy as np


def list_trees(rows, depth, max_depth):
    """Yield every tree that holds ``rows`` at or below a node of this depth."""
    rows = tuple(rows)
    if depth == max_depth:
        yield rows, frozenset()
        return
    for n_here in range(len(rows) + 1):
        for here in combinations(rows, n_here):
            below = tuple(i for i in rows if i not in here)
            for blocks in list_partitions(below):
                options = [list(list_trees(block, depth + 1, max_depth)) for block in blocks]
                for children in product(*options):
                    yield here, frozenset(children)


def list_partitions(items):
    """Yield every way to part ``items`` into blocks."""
    if not items:
        yield ()
        return
    first, rest = items[0], items[1:]
    for n in range(len(rest) + 1):
        for others in combinations(rest, n):
            left = tuple(i for i in rest if i not in others)
            for blocks in list_partitions(left):
                yield ((first, *others), *blocks)


def count_rows(tree):
    return len(tree[0]) + sum(count_rows(child) for child in tree[1])


def log_prior(tree, alpha, decay, gamma, max_depth, depth=0):
    """Return the log-probability of a tree, sticks integrated out."""
    here, children = tree
    sizes = [count_rows(child) for child in children]
    below = sum(sizes)
    total = 0.0
    if depth < max_depth:
        b = alpha * decay**depth
        total += lgamma(1 + len(here)) + lgamma(b + below) - lgamma(1 + len(here) + b + below)
        total += log(b)
    if below:
        total += lgamma(gamma) - lgamma(gamma + below)
        total += sum(log(gamma) + lgamma(n) for n in sizes)
    return total + sum(
        log_prior(child, alpha, decay, gamma, max_depth, depth + 1) for child in children
    )


def rule(low, high, n):
    x, w = np.polynomial.legendre.leggauss(n)
    return (low + high) / 2 + (high - low) / 2 * x, (high - low) / 2 * w


class ColumnIntegrals:
    """The probability of one column of attributes, and moments, for each tree.

    ``shows`` holds, for each row, p(what is known | shown) and p(what is known | not shown): (1, 0)
    and (0, 1) for a plain attribute, (1, 1) for one that is not known, a ratio for a score.
    """

    def __init__(self, kind, shows, settings, n_theta=30):
        self.kind, self.shows, self.memo = kind, np.asarray(shows, float), {}
        if kind == "attribute":
            edge = np.log(1 / settings["floor"] - 1)
            x, w = rule(-edge, edge, n_theta)
            t = 1 / (1 + np.exp(-x))
            c, wc = rule(*settings["c_bounds"], 8)
            omega, wo = rule(1e-6, settings.get("most_noise", 0.5), 16)
            p, q = settings["noise_prior"]
            wo = wo * omega ** (p - 1) * (1 - omega) ** (q - 1)
            self.outer = (wc[:, None] / wc.sum() * (wo / wo.sum())).ravel()
            self.c = np.repeat(c, len(omega))
            self.omega = np.tile(omega, len(c))
            a, b = settings["root"]
            root = w * t**a * (1 - t) ** b
            self.root = np.tile(root / root.sum(), (len(self.outer), 1))
            ct = self.c[:, None, None] * t[:, None]
            cr = self.c[:, None, None] * (1 - t)[:, None]
            step = w * np.exp(ct * np.log(t) + cr * np.log(1 - t))
            self.step = step / step.sum(axis=2, keepdims=True)
            self.t = t
        else:
            sigma, ws = rule(*settings["sigma_bounds"], 8)
            self.outer, self.c, self.omega = ws / ws.sum(), sigma, np.zeros(len(sigma))
            x, w = rule(-5 * sigma[-1] * 1.7, 5 * sigma[-1] * 1.7, 4 * n_theta)
            self.root = w * np.exp(-0.5 * (x / sigma[:, None]) ** 2)
            self.root /= self.root.sum(axis=1, keepdims=True)
            gap = (x[None, :] - x[:, None]) / sigma[:, None, None]
            self.step = w * np.exp(-0.5 * gap**2)
            self.step /= self.step.sum(axis=2, keepdims=True)
            self.t = x

    def rows_at(self, rows, path):
        """Return p(rows | theta of the path), axes (outer, theta of each node of the path)."""
        n = len(self.t)
        if self.kind == "attribute":
            quiet = np.ones([1] * (len(path) + 1))
            for level in range(len(path)):
                shape = [1] * (len(path) + 1)
                shape[level + 1] = n
                quiet = quiet * (1 - self.t).reshape(shape)
            omega = self.omega.reshape([-1] + [1] * len(path))
            absent = omega + (1 - 2 * omega) * quiet
        else:
            shape = [1] * (len(path) + 1)
            shape[-1] = n
            absent = (1 / (1 + np.exp(self.t))).reshape(shape)
        result = np.ones_like(absent)
        for i in rows:
            shown, hidden = self.shows[i]
            result = result * (shown * (1 - absent) + hidden * absent)
        return result

    def below(self, tree, depth):
        """Return p(rows of ``tree`` | theta of the nodes above), theta of its root summed out."""
        key = (self._pattern(tree), depth)
        if key not in self.memo:
            inner = self.rows_at(tree[0], [0] * (depth + 1))
            for child in tree[1]:
                inner = inner * self.below(child, depth + 1)
            shape = [len(self.outer)] + [1] * (depth - 1) + list(self.step.shape[1:])
            step = self.step.reshape(shape)
            self.memo[key] = (inner * step).sum(axis=-1)
        return self.memo[key]

    def _pattern(self, tree):
        rows = tuple(sorted(tuple(self.shows[i]) for i in tree[0]))
        return rows, tuple(sorted(self._pattern(child) for child in tree[1]))

    def evaluate(self, tree):
        """Return p(column | tree) and the means of root theta, omega and c under the posterior."""
        inner = self.rows_at(tree[0], [0])
        for child in tree[1]:
            inner = inner * self.below(child, 1)
        weight = self.outer[:, None] * self.root * inner
        total = weight.sum()
        means = [weight.sum(axis=0) @ self.t, weight.sum(axis=1) @ self.omega]
        means.append(weight.sum(axis=1) @ self.c)
        return total, np.array(means) / total


def exact_posterior(kind, shows, hyper, max_depth, settings):
    """Return {tree: probability} and the posterior means (n_columns, 3) of root theta, omega, c.

    shows has the shape (n_columns, n_rows, 2).
    """
    columns = [ColumnIntegrals(kind, column, settings) for column in shows]
    trees = list(list_trees(range(len(shows[0])), 0, max_depth))
    weights, means = [], []
    for tree in trees:
        found = [column.evaluate(tree) for column in columns]
        weights.append(np.exp(log_prior(tree, *hyper, max_depth)) * np.prod([p for p, _ in found]))
        means.append([m for _, m in found])
    weights = np.array(weights)
    weights /= weights.sum()
    return dict(zip(trees, weights, strict=True)), np.tensordot(weights, np.array(means), 1)


def as_tree(parent, labels):
    """Return a sampled tree in the form of this module."""
    children = {k: [] for k in range(len(parent))}
    here = {k: [] for k in range(len(parent))}
    for i, k in enumerate(labels):
        here[int(k)].append(i)
    for k in range(len(parent) - 1, -1, -1):
        tree = tuple(here[k]), frozenset(children[k])
        if k == 0:
            return tree
        children[int(parent[k])].append(tree)

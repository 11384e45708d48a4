"""Peer: the sampler of ``plain_python_tree.py`` with numpy vectors over attributes.

theta, omega and c are slice sampled for all attributes at once; rows and nodes stay loops. It has
the shortcut of Fieldguide's sweep: a row costs the attributes that it shows.
"""

import numpy as np
from scipy.special import betainc, betaln

from benchmarks.peers.plain_python_tree import Node, PlainTree


class NumpyTree(PlainTree):
    def __init__(self, A, seed=0, floor=1e-3, max_depth=15):
        super().__init__(A, seed, floor, max_depth)
        self.A = np.asarray(A, dtype=float)
        self.shown = [np.flatnonzero(row) for row in self.A]
        self.rng = np.random.default_rng(seed)

    def take_state(self, sample):
        super().take_state(sample)
        for node in self.nodes():
            node.theta = np.array(node.theta)
        self.omega, self.c = sample.noise.copy(), sample.spread.copy()

    def count_shown(self, node):
        node.n1 = self.A[node.rows].sum(axis=0)
        node.n0 = len(node.rows) - node.n1

    def fill(self, node):
        quiet = 1 - node.theta
        node.quiet = quiet if node.parent is None else quiet * node.parent.quiet
        absent = self.omega + (1 - 2 * self.omega) * node.quiet
        node.base = np.log(absent).sum()
        node.gain = np.log1p(-absent) - np.log(absent)

    def score(self, i, node):
        return node.base + node.gain[self.shown[i]].sum()

    def draw_child_theta(self, above):
        a, b = self.c * above, self.c * (1 - above)
        result = np.full(len(a), -1.0)
        left = np.arange(len(a))
        while len(left):
            t = self.rng.beta(a[left], b[left])
            good = (t >= self.floor) & (t <= 1 - self.floor)
            result[left[good]] = t[good]
            left = left[~good]
        return result

    def slice_all(self, x, low, high, density):
        """Slice sampling of a vector of independent numbers, each by shrinking its interval."""
        level = density(x) + np.log(self.rng.random(len(x)))
        low, high = np.full(len(x), low), np.full(len(x), high)
        result = x.copy()
        left = np.ones(len(x), dtype=bool)
        while left.any():
            trial = np.where(left, self.rng.uniform(low, high), result)
            good = density(trial) >= level
            result[left & good] = trial[left & good]
            left &= ~good
            low = np.where(left & (trial < x), trial, low)
            high = np.where(left & (trial >= x), trial, high)
            left &= high - low > 1e-10
        return result

    def log_betas(self, t, c):
        a, b = c * t, c * (1 - t)
        part = betainc(a, b, 1 - self.floor) - betainc(a, b, self.floor)
        return betaln(a, b) + np.log(part)

    def draw_theta(self, node: Node):
        rows = []
        for n in self.nodes(node):
            if n.rows:
                rest, k = np.ones(len(self.c)), n
                while k is not None:
                    if k is not node:
                        rest = rest * (1 - k.theta)
                    k = k.parent
                rows.append((n.n1, n.n0, rest))
        if node.parent is None:
            a, b = self.root_prior
        else:
            a, b = self.c * node.parent.theta, self.c * (1 - node.parent.theta)
        s1 = sum(np.log(child.theta) for child in node.children)
        s2 = sum(np.log1p(-child.theta) for child in node.children)

        def density(x):
            t = 1 / (1 + np.exp(-x))
            total = a * np.log(t) + b * np.log1p(-t)
            if node.children:
                total += self.c * (t * s1 + (1 - t) * s2)
                total -= len(node.children) * self.log_betas(t, self.c)
            for n1, n0, rest in rows:
                absent = self.omega + (1 - 2 * self.omega) * (1 - t) * rest
                total += n1 * np.log1p(-absent) + n0 * np.log(absent)
            return total

        x = np.log(node.theta / (1 - node.theta)).clip(-self.edge, self.edge)
        node.theta = 1 / (1 + np.exp(-self.slice_all(x, -self.edge, self.edge, density)))

    def draw_columns(self, nodes):
        def omega_density(x):
            omega = 1 / (1 + np.exp(-x))
            total = 5 * np.log(omega) + 20 * np.log1p(-omega)
            for node in nodes:
                if node.rows:
                    absent = omega + (1 - 2 * omega) * node.quiet
                    total += node.n1 * np.log1p(-absent) + node.n0 * np.log(absent)
            return total

        def c_density(c):
            total = np.zeros(len(c))
            for node in nodes:
                if node.children:
                    t = node.theta
                    total -= len(node.children) * self.log_betas(t, c)
                    for child in node.children:
                        total += c * (t * np.log(child.theta) + (1 - t) * np.log1p(-child.theta))
            return total

        x = self.slice_all(np.log(self.omega / (1 - self.omega)), -30, 0, omega_density)
        self.omega = 1 / (1 + np.exp(-x))
        self.c = self.slice_all(self.c, 20, 100, c_density)

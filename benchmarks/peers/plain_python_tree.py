"""Peer: the conditionals of the Attribute Tree Process in plain Python, nodes as objects.

Written as one would without a compiler: attributes are numpy vectors (theta, omega and c are slice
sampled for all of them at once), rows and nodes are loops.
"""

from math import lgamma, log

import numpy as np
from scipy.special import betainc, betaln


class Node:
    def __init__(self, parent, theta, stop, share):
        self.parent, self.theta, self.stop, self.share = parent, theta, stop, share
        self.children, self.rows = [], []
        self.depth = 0 if parent is None else parent.depth + 1


class PlainTree:
    """The state of one chain; ``sweep`` draws everything once."""

    def __init__(self, A, seed=0, floor=1e-3, max_depth=15):
        self.A = np.asarray(A, dtype=float)
        self.rng = np.random.default_rng(seed)
        self.floor, self.max_depth = floor, max_depth
        d = self.A.shape[1]
        self.root_prior = 10 / d, 5 * (d - 1) / d
        self.omega, self.c = np.full(d, 0.2), self.rng.uniform(20, 100, d)
        self.alpha, self.decay, self.gamma = 25.0, 0.25, 1.0
        self.root = Node(None, np.full(d, 0.05), 0.5, 1.0)
        self.node_of = [self.root] * len(self.A)

    def take_state(self, sample):
        """Start from a sample of Fieldguide's, so that both do the same work."""
        nodes = []
        for k, above in enumerate(sample.parent):
            parent = nodes[above] if above >= 0 else None
            nodes.append(Node(parent, sample.theta[k].copy(), 0.5, 0.5))
            if parent is not None:
                parent.children.append(nodes[-1])
        self.root = nodes[0]
        self.node_of = [nodes[k] for k in sample.labels]
        self.omega, self.c = sample.noise.copy(), sample.spread.copy()
        self.alpha, self.decay, self.gamma = sample.hyper
        self.gather()

    def nodes(self, node=None):
        node = node or self.root
        yield node
        for child in node.children:
            yield from self.nodes(child)

    def gather(self):
        for node in self.nodes():
            node.rows = []
        for i, node in enumerate(self.node_of):
            node.rows.append(i)
        self.count(self.root)

    def count(self, node):
        for child in node.children:
            self.count(child)
        node.children = [child for child in node.children if child.n_all]
        node.n_all = len(node.rows) + sum(child.n_all for child in node.children)

    def fill(self, node):
        quiet = 1 - node.theta
        node.quiet = quiet if node.parent is None else quiet * node.parent.quiet
        absent = self.omega + (1 - 2 * self.omega) * node.quiet
        node.base = np.log(absent).sum()
        node.score = np.log1p(-absent) - np.log(absent)

    def truncated_beta(self, a, b):
        result = np.full(len(a), -1.0)
        left = np.arange(len(a))
        while len(left):
            t = self.rng.beta(a[left], b[left])
            good = (t >= self.floor) & (t <= 1 - self.floor)
            result[left[good]] = t[good]
            left = left[~good]
        return result

    def add_child(self, parent, share):
        theta = self.truncated_beta(self.c * parent.theta, self.c * (1 - parent.theta))
        child = Node(parent, theta, 1.0, share)
        if child.depth < self.max_depth:
            child.stop = self.rng.beta(1, self.alpha * self.decay**child.depth)
        child.n_all = 0
        self.fill(child)
        parent.children.append(child)
        return child

    def draw_sticks(self, node):
        n_below = node.n_all - len(node.rows)
        node.stop = 1.0
        if node.depth < self.max_depth:
            b = self.alpha * self.decay**node.depth
            node.stop = self.rng.beta(1 + len(node.rows), b + n_below)
        waiting, node.children = node.children, []
        mass = [self.rng.gamma(child.n_all) for child in waiting]
        unborn = self.rng.gamma(self.gamma)
        while waiting:
            left = sum(mass) + unborn
            u = self.rng.random() * left
            if u >= sum(mass):
                taken = unborn * self.rng.beta(1, self.gamma)
                unborn -= taken
                self.add_child(node, taken / left)
                continue
            i = int(np.searchsorted(np.cumsum(mass), u))
            child = waiting.pop(i)
            child.share = mass.pop(i) / left
            node.children.append(child)
            self.draw_sticks(child)

    def find(self, u):
        node = self.root
        while node.depth < self.max_depth and u >= node.stop:
            u = (u - node.stop) / (1 - node.stop)
            i = 0
            while True:
                if i == len(node.children):
                    self.add_child(node, self.rng.beta(1, self.gamma))
                child = node.children[i]
                if u < child.share:
                    u /= child.share
                    break
                u = (u - child.share) / (1 - child.share)
                i += 1
            node = child
        return node

    def place(self, node):
        places = []
        while node.parent is not None:
            places.append(node.parent.children.index(node))
            node = node.parent
        return places[::-1]

    def draw_row(self, i):
        shown = np.flatnonzero(self.A[i])
        here = self.node_of[i]
        level = here.base + here.score[shown].sum() + log(self.rng.random())
        low, high = 0.0, 1.0
        while high - low > 1e-15:
            u = self.rng.uniform(low, high)
            node = self.find(u)
            if node is here or node.base + node.score[shown].sum() > level:
                self.node_of[i] = node
                return
            if self.place(node) < self.place(here):
                low = u
            else:
                high = u

    def slice(self, x, low, high, density):
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

    def log_beta(self, t, c):
        a, b = c * t, c * (1 - t)
        part = betainc(a, b, 1 - self.floor) - betainc(a, b, self.floor)
        return betaln(a, b) + np.log(part)

    def draw_theta(self, node):
        below = [n for n in self.nodes(node) if n.rows]
        n1 = [n.n1 for n in below]
        n0 = [len(n.rows) - n.n1 for n in below]
        rest = []
        for n in below:
            quiet = np.ones(len(self.c))
            while n is not None:
                if n is not node:
                    quiet = quiet * (1 - n.theta)
                n = n.parent
            rest.append(quiet)
        if node.parent is None:
            a, b = self.root_prior
        else:
            a, b = self.c * node.parent.theta, self.c * (1 - node.parent.theta)

        def density(x):
            t = 1 / (1 + np.exp(-x))
            total = a * np.log(t) + b * np.log1p(-t)
            for child in node.children:
                total += self.c * (t * np.log(child.theta) + (1 - t) * np.log1p(-child.theta))
            if node.children:
                total -= len(node.children) * self.log_beta(t, self.c)
            for one, zero, quiet in zip(n1, n0, rest, strict=True):
                absent = self.omega + (1 - 2 * self.omega) * (1 - t) * quiet
                total += one * np.log1p(-absent) + zero * np.log(absent)
            return total

        edge = log(1 / self.floor - 1)
        x = np.log(node.theta / (1 - node.theta)).clip(-edge, edge)
        node.theta = 1 / (1 + np.exp(-self.slice(x, -edge, edge, density)))

    def draw_columns(self):
        nodes = list(self.nodes())

        def omega_density(x):
            omega = 1 / (1 + np.exp(-x))
            total = 5 * np.log(omega) + 20 * np.log1p(-omega)
            for node in nodes:
                absent = omega + (1 - 2 * omega) * node.quiet
                total += node.n1 * np.log1p(-absent)
                total += (len(node.rows) - node.n1) * np.log(absent)
            return total

        def c_density(c):
            total = np.zeros(len(c))
            for node in nodes[1:]:
                p = node.parent.theta
                total += c * (p * np.log(node.theta) + (1 - p) * np.log1p(-node.theta))
                total -= self.log_beta(p, c)
            return total

        x = self.slice(np.log(self.omega / (1 - self.omega)), -30, 0, omega_density)
        self.omega = 1 / (1 + np.exp(-x))
        self.c = self.slice(self.c, 20, 100, c_density)

    def draw_hyper(self):
        nodes = list(self.nodes())

        def stops(alpha, decay):
            total = 0.0
            for node in nodes:
                if node.depth < self.max_depth:
                    b = alpha * decay**node.depth
                    n, below = len(node.rows), node.n_all - len(node.rows)
                    total += log(b) + lgamma(1 + n) + lgamma(b + below) - lgamma(1 + b + n + below)
            return np.array([total])

        def branches(gamma):
            total = (len(nodes) - 1) * log(gamma)
            for node in nodes:
                total += lgamma(gamma) - lgamma(gamma + node.n_all - len(node.rows))
            return np.array([total])

        one = np.array
        alpha, decay, gamma = one([self.alpha]), one([self.decay]), one([self.gamma])
        self.alpha = self.slice(alpha, 1, 50, lambda x: stops(x[0], self.decay))[0]
        self.decay = self.slice(decay, 0.05, 0.8, lambda x: stops(self.alpha, x[0]))[0]
        self.gamma = self.slice(gamma, 1, 10, lambda x: branches(x[0]))[0]

    def sweep(self):
        for node in self.nodes():
            self.fill(node)
        self.gather()
        self.draw_sticks(self.root)
        for i in range(len(self.A)):
            self.draw_row(i)
        self.gather()
        nodes = list(self.nodes())
        for node in nodes:
            node.n1 = self.A[node.rows].sum(axis=0)
        for node in [*nodes[::-1], *nodes]:
            self.draw_theta(node)
        for node in nodes:
            self.fill(node)
        self.draw_columns()
        self.draw_hyper()

"""Peer: the conditionals of the Attribute Tree Process in plain Python, nodes as objects.

Loops over rows, nodes and attributes, numbers as floats in lists. As in the code of 2010, the
likelihood of a row is computed from the parameters of its node when it is asked for; with
``keeps_rates``, a node keeps the logarithms of its rates for a whole sweep. The normalizer of the
truncated Beta is SciPy's. ``numpy_tree.py`` has the same with vectors over attributes.
"""

from math import exp, log, log1p
from math import lgamma as lg
from random import Random

from scipy.special import betainc, betaln


class Node:
    def __init__(self, parent, theta, share):
        self.parent, self.theta, self.share, self.stop = parent, theta, share, 1.0
        self.children, self.rows = [], []
        self.depth = 0 if parent is None else parent.depth + 1


class PlainTree:
    """The state of one chain; ``sweep`` draws everything once."""

    def __init__(self, A, seed=0, floor=1e-3, max_depth=15, keeps_rates=False):
        self.keeps_rates = keeps_rates
        self.rows = [[int(x) for x in row] for row in A]
        self.random = Random(seed)
        self.floor, self.max_depth = floor, max_depth
        self.edge = log(1 / floor - 1)
        n_attributes = len(self.rows[0])
        self.attributes = range(n_attributes)
        self.root_prior = 10 / n_attributes, 5 * (n_attributes - 1) / n_attributes

    def take_state(self, sample):
        """Start from a sample of Fieldguide's, so that both do the same work."""
        nodes = []
        for k, above in enumerate(sample.parent):
            parent = nodes[above] if above >= 0 else None
            nodes.append(Node(parent, sample.theta[k].tolist(), 0.5))
            if parent is not None:
                parent.children.append(nodes[-1])
        self.root = nodes[0]
        self.node_of = [nodes[k] for k in sample.labels]
        self.omega, self.c = sample.noise.tolist(), sample.spread.tolist()
        self.alpha, self.decay, self.gamma = sample.hyper.tolist()

    def sweep(self):
        for node in self.nodes():
            self.fill(node)
        self.gather()
        self.draw_sticks(self.root)
        for i in range(len(self.rows)):
            self.draw_row(i)
        self.gather()
        nodes = list(self.nodes())
        for node in nodes:
            self.count_shown(node)
        for node in [*nodes[::-1], *nodes]:
            self.draw_theta(node)
        for node in nodes:
            self.fill(node)
        self.draw_columns(nodes)
        self.draw_hyper(nodes)

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

    def count_shown(self, node):
        node.n1 = [0] * len(self.attributes)
        for i in node.rows:
            for d, x in enumerate(self.rows[i]):
                node.n1[d] += x
        node.n0 = [len(node.rows) - n for n in node.n1]

    def fill(self, node):
        above = node.parent.quiet if node.parent else [1.0] * len(self.attributes)
        node.quiet = [q * (1 - t) for q, t in zip(above, node.theta, strict=True)]
        if self.keeps_rates:
            absent = [w + (1 - 2 * w) * q for w, q in zip(self.omega, node.quiet, strict=True)]
            node.log_rates = [(log(p), log1p(-p)) for p in absent]  # not shown, shown

    def score(self, i, node):
        total = 0.0
        if self.keeps_rates:
            for x, log_rate in zip(self.rows[i], node.log_rates, strict=True):
                total += log_rate[x]
            return total
        for x, omega, quiet in zip(self.rows[i], self.omega, node.quiet, strict=True):
            absent = omega + (1 - 2 * omega) * quiet
            total += log(1 - absent) if x else log(absent)
        return total

    def draw_truncated(self, a, b):
        while True:
            t = self.random.betavariate(a, b)
            if self.floor <= t <= 1 - self.floor:
                return t

    def draw_child_theta(self, above):
        return [self.draw_truncated(c * t, c * (1 - t)) for c, t in zip(self.c, above, strict=True)]

    def add_child(self, parent, share):
        child = Node(parent, self.draw_child_theta(parent.theta), share)
        if child.depth < self.max_depth:
            child.stop = self.random.betavariate(1, self.alpha * self.decay**child.depth)
        child.n_all = 0
        self.fill(child)
        parent.children.append(child)
        return child

    def draw_sticks(self, node):
        n_below = node.n_all - len(node.rows)
        node.stop = 1.0
        if node.depth < self.max_depth:
            b = self.alpha * self.decay**node.depth
            node.stop = self.random.betavariate(1 + len(node.rows), b + n_below)
        waiting, node.children = node.children, []
        mass = [self.random.gammavariate(child.n_all, 1) for child in waiting]
        unborn = self.random.gammavariate(self.gamma, 1)
        while waiting:
            left = sum(mass) + unborn
            u = self.random.random() * left
            i = 0
            while i < len(mass) and u >= mass[i]:
                u -= mass[i]
                i += 1
            if i == len(mass):
                taken = unborn * self.random.betavariate(1, self.gamma)
                unborn -= taken
                self.add_child(node, taken / left)
                continue
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
                    self.add_child(node, self.random.betavariate(1, self.gamma))
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
        here = self.node_of[i]
        level = self.score(i, here) + log(self.random.random())
        low, high = 0.0, 1.0
        while high - low > 1e-15:
            u = low + (high - low) * self.random.random()
            node = self.find(u)
            if node is here or self.score(i, node) > level:
                self.node_of[i] = node
                return
            if self.place(node) < self.place(here):
                low = u
            else:
                high = u

    def slice(self, x, low, high, density):
        """Slice sampling of one number by shrinking its interval."""
        level = density(x) + log(self.random.random())
        while high - low > 1e-10:
            trial = low + (high - low) * self.random.random()
            if density(trial) >= level:
                return trial
            if trial < x:
                low = trial
            else:
                high = trial
        return x

    def log_beta(self, t, c):
        a, b = c * t, c * (1 - t)
        part = betainc(a, b, 1 - self.floor) - betainc(a, b, self.floor)
        return betaln(a, b) + log(part)

    def draw_theta(self, node):
        below = [n for n in self.nodes(node) if n.rows]
        for d in self.attributes:
            node.theta[d] = self.draw_one_theta(node, below, d)

    def draw_one_theta(self, node, below, d):
        c, omega = self.c[d], self.omega[d]
        if node.parent is None:
            a, b = self.root_prior
        else:
            a, b = c * node.parent.theta[d], c * (1 - node.parent.theta[d])
        s1 = sum(log(child.theta[d]) for child in node.children)
        s2 = sum(log1p(-child.theta[d]) for child in node.children)
        terms = []
        for n in below:
            rest, k = 1.0, n
            while k is not None:
                if k is not node:
                    rest *= 1 - k.theta[d]
                k = k.parent
            terms.append((n.n1[d], n.n0[d], rest))

        def density(x):
            t = 1 / (1 + exp(-x))
            total = a * log(t) + b * log1p(-t)
            if node.children:
                total += c * (t * s1 + (1 - t) * s2) - len(node.children) * self.log_beta(t, c)
            for n1, n0, rest in terms:
                absent = omega + (1 - 2 * omega) * (1 - t) * rest
                if n1:
                    total += n1 * log1p(-absent)
                if n0:
                    total += n0 * log(absent)
            return total

        t = node.theta[d]
        x = min(max(log(t / (1 - t)), -self.edge), self.edge)
        return 1 / (1 + exp(-self.slice(x, -self.edge, self.edge, density)))

    def draw_columns(self, nodes):
        for d in self.attributes:

            def omega_density(x, d=d):
                omega = 1 / (1 + exp(-x))
                total = 5 * log(omega) + 20 * log1p(-omega)
                for node in nodes:
                    if node.rows:
                        absent = omega + (1 - 2 * omega) * node.quiet[d]
                        total += node.n1[d] * log1p(-absent) + node.n0[d] * log(absent)
                return total

            def c_density(c, d=d):
                total = 0.0
                for node in nodes:
                    if node.children:
                        t = node.theta[d]
                        total -= len(node.children) * self.log_beta(t, c)
                        for child in node.children:
                            total += c * (t * log(child.theta[d]))
                            total += c * ((1 - t) * log1p(-child.theta[d]))
                return total

            x = log(self.omega[d] / (1 - self.omega[d]))
            self.omega[d] = 1 / (1 + exp(-self.slice(x, -30, 0, omega_density)))
            self.c[d] = self.slice(self.c[d], 20, 100, c_density)

    def draw_hyper(self, nodes):
        def stops(alpha, decay):
            total = 0.0
            for node in nodes:
                if node.depth < self.max_depth:
                    b = alpha * decay**node.depth
                    n, below = len(node.rows), node.n_all - len(node.rows)
                    total += log(b) + lg(1 + n) + lg(b + below) - lg(1 + b + n + below)
            return total

        def branches(gamma):
            total = (len(nodes) - 1) * log(gamma)
            for node in nodes:
                total += lg(gamma) - lg(gamma + node.n_all - len(node.rows))
            return total

        self.alpha = self.slice(self.alpha, 1, 50, lambda x: stops(x, self.decay))
        self.decay = self.slice(self.decay, 0.05, 0.8, lambda x: stops(self.alpha, x))
        self.gamma = self.slice(self.gamma, 1, 10, branches)

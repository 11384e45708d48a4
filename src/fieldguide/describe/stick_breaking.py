"""Sampling trees from the tree-structured stick-breaking prior, under any likelihood of a node.

The prior is an infinite tree. A row at node k stops there with probability nu_k, else it goes on
to the children, which share what is left in turn:

    nu_k ~ Beta(1, alpha lambda^depth),   psi_i ~ Beta(1, gamma)

A :class:`Chain` is a Markov chain whose stationary law is the posterior. One sweep draws

1. the sticks and the order of siblings, given how many rows are where;
2. the node of each row, by slice sampling on the stick; new nodes are born as they are met;
   then nodes as a whole are born, die, are hung elsewhere or put above others;
3. the parameters of nodes and attributes (the likelihood's own, see :class:`Likelihood`);
4. alpha, lambda and gamma, uniform on their bounds, with the sticks integrated out.

Between sweeps the chain holds only the nodes with rows at or below them, in pre-order, so that a
chain is a few arrays: saved and loaded, it goes on to the identical samples.

Reference: R. Adams, Z. Ghahramani, M. Jordan, "Tree-structured stick breaking for hierarchical
data", NIPS 2010.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fieldguide._saving import Array, Part
from fieldguide.describe import _moves, _sticks
from fieldguide.describe._draws import seed_words
from fieldguide.describe._node_parameters import Columns, fill_all_scores, make_nodes
from fieldguide.describe._node_proposals import make_room
from fieldguide.describe.packed_rows import AttributeRows
from fieldguide.describe.tree import check_parents, find_depth


@dataclass(frozen=True)
class StickPrior:
    """Bounds of the parameters of the sticks, and the largest depth; the root has depth 0."""

    max_depth: int = 15
    alpha_bounds: tuple[float, float] = (1.0, 50.0)
    lambda_bounds: tuple[float, float] = (0.05, 0.8)
    gamma_bounds: tuple[float, float] = (1.0, 10.0)

    def bounds(self) -> np.ndarray:
        """Return all bounds, (3, 2)."""
        return np.array([self.alpha_bounds, self.lambda_bounds, self.gamma_bounds], dtype=float)


@dataclass(frozen=True)
class Sample:
    """One tree with its parameters.

    Attributes
    ----------
    parent : ndarray of shape (n_nodes,)
        Pre-order; -1 for the root. Every node has rows at or below it.
    labels : ndarray of shape (n,)
        Node of each row.
    theta : ndarray of shape (n_nodes, n_attributes)
    noise, spread : ndarray of shape (n_attributes,)
        Parameters of the attributes; their meaning is the likelihood's.
    hyper : ndarray of shape (3,)
        alpha, lambda, gamma.
    """

    parent: np.ndarray
    labels: np.ndarray
    theta: np.ndarray
    noise: np.ndarray
    spread: np.ndarray
    hyper: np.ndarray

    def depth(self) -> np.ndarray:
        """Return the number of edges from the root to each node."""
        return find_depth(self.parent)

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows at each node, and those at or below it."""
        n_here = np.empty(len(self.parent), dtype=np.int64)
        n_all = np.empty(len(self.parent), dtype=np.int64)
        _sticks.count_up(self.parent, self.labels, n_here, n_all)
        return n_here, n_all


def read_sample(arrays: Mapping[str, np.ndarray], which: str) -> Sample:
    """Return "sample" or "best" of a chain that was kept as arrays."""
    names = Sample.__dataclass_fields__
    return Sample(**{name: np.array(arrays[f"{which}.{name}"]) for name in names})


def _check_sample(**parts: np.ndarray) -> Sample:
    check_parents(parts["parent"])
    return Sample(**parts)


SAMPLE = Part(
    Sample,
    {
        "parent": Array("int64", "n_nodes", within=(-1, "n_nodes")),
        "labels": Array("int64", "n_rows", within=(0, "n_nodes")),
        "theta": Array("float64", "n_nodes", "n_features"),
        "noise": Array("float64", "n_features"),
        "spread": Array("float64", "n_features"),
        "hyper": Array("float64", 3, above=0),
    },
    _check_sample,
)


class Likelihood(ABC):
    """What a node says about the attributes of its rows."""

    kind: int
    floor: float = 0.0

    @abstractmethod
    def start(self, n_attributes: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Return ``theta`` (1, n_attributes) of the root, ``noise`` and ``spread``."""

    @abstractmethod
    def fit_nodes(self, parent: np.ndarray, n_shown: np.ndarray, n_here: np.ndarray) -> np.ndarray:
        """Return ``theta`` of the nodes of a tree that fits how often each attribute is shown.

        ``n_shown``, of shape (n_nodes, n_attributes), counts rows at each node that show each
        attribute, ``n_here`` those at each node.
        """

    @abstractmethod
    def draw(
        self, words: np.ndarray, sample: Sample, size: np.ndarray, n1: np.ndarray, n0: np.ndarray
    ) -> None:
        """Draw theta, noise and spread of ``sample`` in place.

        ``size`` counts the nodes of each subtree; n1 and n0, of shape (n_attributes, n_nodes),
        count the rows of each node that show each attribute, and those that do not.
        """

    @abstractmethod
    def table(self) -> tuple[np.ndarray, float, float, float]:
        """Return the normalizer of the prior of theta as a table, where there is one."""

    @abstractmethod
    def log_density(self, sample: Sample, n1: np.ndarray, n0: np.ndarray) -> float:
        """Return log p(attributes, theta, noise, spread | tree, labels)."""

    @abstractmethod
    def rates(self, sample: Sample) -> np.ndarray:
        """Return the probability that a row at each node shows each attribute."""

    @abstractmethod
    def stated_rates(self, sample: Sample) -> np.ndarray:
        """Return the same without the noise of annotations: what the tree says of a node."""

    @abstractmethod
    def unborn_rates(self, sample: Sample) -> np.ndarray:
        """Return the rates at a child of each node that is not there yet, its theta averaged."""


class State(NamedTuple):
    """All that a chain carries from one sweep to the next."""

    n_done: int
    words: np.ndarray  # of the random generator
    sample: Sample
    best: Sample
    best_log_joint: float


TRACED = ("log_joint", "n_nodes", "alpha", "lambda", "gamma")


class Chain:
    """A Markov chain over trees of the rows of an attribute matrix.

    A sweep works on copies and puts the new state in place at its end, so that a chain that is
    interrupted at any point can go on from its last whole sweep.

    Attributes
    ----------
    state : State
        ``sample`` is where the chain is, ``best`` the sample with the largest joint density after
        ``burn_in`` sweeps. The density of a tree falls with every parameter: that of the single
        root where a chain starts can be larger than that of any tree it comes to.
    trace : dict of str to list
        Of each sweep, what :data:`TRACED` names.
    n_moves : ndarray of shape (3,)
        Tries of each sweep: births or deaths, grafts, gatherings or releases.
    n_moved : ndarray of shape (5, 2)
        Births, deaths, grafts, gatherings and releases of nodes: tried and accepted.
    """

    def __init__(
        self,
        rows: AttributeRows,
        likelihood: Likelihood,
        prior: StickPrior,
        state: State,
        n_moves: int | Sequence[int] | None = None,
        burn_in: int = 0,
    ) -> None:
        self.rows = rows.copy()
        self.likelihood = likelihood
        self.prior = prior
        self.state = state
        self.trace: dict[str, list[float]] = {name: [] for name in TRACED}
        # Many rows make a move dear; the number must not depend on the state of the chain.
        self.n_moves = np.full(3, min(max(60_000 // len(rows), 2), 6))
        if n_moves is not None:
            self.n_moves[:] = n_moves
        self.burn_in = burn_in
        self.n_moved = np.zeros((5, 2), dtype=np.int64)
        self._nodes = make_nodes(256, rows.n_attributes)

    @classmethod
    def begin(
        cls,
        rows: AttributeRows,
        likelihood: Likelihood,
        prior: StickPrior,
        generator: np.random.Generator,
        n_moves: int | Sequence[int] | None = None,
        burn_in: int = 0,
        tree: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    ) -> "Chain":
        """Start with all rows at the root, or at a ``tree``: parents, labels of rows and theta."""
        bounds = prior.bounds()
        sample = Sample(
            parent=np.array([-1]),
            labels=np.zeros(len(rows), dtype=np.int64),
            hyper=np.clip([25.0, 0.25, 1.0], bounds[:, 0], bounds[:, 1]),
            **likelihood.start(rows.n_attributes, generator),
        )
        if tree is not None:
            parent, labels, theta = (part.copy() for part in tree)
            sample = replace(sample, parent=parent, labels=labels, theta=theta)
        state = State(0, seed_words(generator), sample, sample, -np.inf)
        return cls(rows, likelihood, prior, state, n_moves, burn_in)

    @property
    def sample(self) -> Sample:
        """Where the chain is."""
        return self.state.sample

    def sweep(self) -> None:
        """Draw every part of the state once."""
        words, sample = self._move_rows()
        if self.n_moves.any():
            sample = self._move_nodes(words, sample)
        size = subtree_sizes(sample.parent)
        n_here, n_all = sample.counts()
        n1, n0 = self._count(sample, n_here)
        self.likelihood.draw(words, sample, size, n1, n0)
        _sticks.draw_hyper(
            words,
            sample.hyper,
            self.prior.bounds(),
            self.prior.max_depth,
            sample.parent,
            sample.depth(),
            n_here,
            n_all,
        )
        log_joint = self.likelihood.log_density(sample, n1, n0) + log_tree(sample, self.prior)
        self._finish(words, sample, log_joint)

    def _finish(self, words: np.ndarray, sample: Sample, log_joint: float) -> None:
        n_done, _, _, best, best_log_joint = self.state
        if n_done < self.burn_in or log_joint > best_log_joint:
            best, best_log_joint = sample, log_joint
        values = (log_joint, len(sample.parent), *sample.hyper)
        for name, value in zip(TRACED, values, strict=True):
            self.trace[name][n_done:] = [float(value)]
        self.state = State(n_done + 1, words, sample, best, best_log_joint)

    def _move_rows(self) -> tuple[np.ndarray, Sample]:
        """Draw unsure attributes, sticks and labels; return generator and sample anew."""
        old = self.state.sample
        n_here, n_all = old.counts()
        while True:
            words, labels = self.state.words.copy(), old.labels.copy()
            if self._try_to_move(words, old, labels, n_here, n_all):
                return words, self._without_empty(old, labels)
            # The same stream from the same state with more room: growing changes no result.
            self._nodes = make_nodes(2 * len(self._nodes.parent), self.rows.n_attributes)

    def _try_to_move(
        self,
        words: np.ndarray,
        old: Sample,
        labels: np.ndarray,
        n_here: np.ndarray,
        n_all: np.ndarray,
    ) -> bool:
        """Draw sticks, then labels in place; False when the nodes have run out of room."""
        rows, nodes = self.rows, self._nodes
        n_nodes = len(old.parent)
        if n_nodes > len(nodes.parent):
            return False
        columns = self._write_nodes(old)
        if len(rows.soft):
            _sticks.draw_unsure(
                nodes,
                words,
                labels,
                rows.stop,
                rows.entries,
                rows.fixed_stop,
                rows.soft_start,
                rows.soft,
                rows.evidence,
            )
        children = 1 + np.argsort(old.parent[1:], kind="stable")
        offset = np.searchsorted(old.parent[children], np.arange(n_nodes + 1))
        room = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes)
        end = _sticks.draw_sticks(nodes, columns, words, n_here, n_all, children, offset, *room)
        if end == _sticks.FULL:
            return False
        segments = _sticks.make_segments(len(nodes.parent))
        found = _sticks.assign_rows(
            nodes, columns, segments, words, rows.start, rows.stop, rows.entries, labels
        )
        return bool(found != _sticks.FULL)

    def _write_nodes(self, sample: Sample) -> Columns:
        """Copy a sample into the nodes, with their scores."""
        nodes, n_nodes = self._nodes, len(sample.parent)
        nodes.n_used[0] = n_nodes
        nodes.parent[:n_nodes] = sample.parent
        nodes.depth[:n_nodes] = sample.depth()
        nodes.theta[:n_nodes] = sample.theta
        columns = Columns(
            self.likelihood.kind,
            self.likelihood.floor,
            self.prior.max_depth,
            sample.noise,
            sample.spread,
            sample.hyper,
        )
        fill_all_scores(nodes, columns)
        return columns

    def _move_nodes(self, words: np.ndarray, sample: Sample) -> Sample:
        """Try moves of whole nodes; return the sample anew."""
        rows, n_nodes = self.rows, len(sample.parent)
        room = n_nodes + int(self.n_moves.sum())
        if room > len(self._nodes.parent):
            self._nodes = make_nodes(2 * room, rows.n_attributes)
        columns = self._write_nodes(sample)
        counts = np.zeros((room, 2 * rows.n_attributes), dtype=np.int64)
        _sticks.count_entries(rows.start, rows.stop, rows.entries, sample.labels, counts)
        n_here, n_all = np.zeros((2, room), dtype=np.int64)
        n_here[:n_nodes], n_all[:n_nodes] = sample.counts()
        labels = sample.labels.copy()
        table = self.likelihood.table()
        _moves.try_moves(
            self._nodes,
            columns,
            table,
            make_room(len(rows), len(self._nodes.parent), rows.n_attributes, table[0].shape[1]),
            words,
            rows.start,
            rows.stop,
            rows.entries,
            labels,
            n_here,
            n_all,
            counts,
            self.n_moves,
            self.n_moved,
        )
        _sticks.link_all(self._nodes, n_all)
        return self._without_empty(sample, labels, n_all)

    def _without_empty(
        self, old: Sample, labels: np.ndarray, n_all: np.ndarray | None = None
    ) -> Sample:
        """Return the nodes with rows at or below them, in pre-order."""
        nodes = self._nodes
        n_nodes = int(nodes.n_used[0])
        if n_all is None:
            n_here = np.empty(n_nodes, dtype=np.int64)
            n_all = np.empty(n_nodes, dtype=np.int64)
            _sticks.count_up(nodes.parent[:n_nodes], labels, n_here, n_all)
        order = np.empty(n_nodes, dtype=np.int64)
        pending = np.empty(n_nodes + 1, dtype=np.int64)
        order = order[: _sticks.find_preorder(nodes, n_all, order, pending)]
        place = np.full(n_nodes + 1, -1)  # the last one is the root's parent
        place[order] = np.arange(len(order))
        return Sample(
            parent=place[nodes.parent[order]],
            labels=place[labels],
            theta=nodes.theta[order],
            noise=old.noise.copy(),
            spread=old.spread.copy(),
            hyper=old.hyper.copy(),
        )

    def _count(self, sample: Sample, n_here: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = self.rows
        d = rows.n_attributes
        counts = np.empty((len(sample.parent), 2 * d), dtype=np.int64)
        _sticks.count_entries(rows.start, rows.stop, rows.entries, sample.labels, counts)
        n1 = np.ascontiguousarray(counts[:, :d].T, dtype=np.float64)
        n0 = n_here - n1 - counts[:, d:].T
        return n1, np.ascontiguousarray(n0)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return all that is needed to go on; the rows and the settings are the caller's."""
        state = self.state
        arrays = {"words": state.words, "best_log_joint": np.array([state.best_log_joint])}
        for which in ("sample", "best"):
            for name, value in getattr(state, which).__dict__.items():
                arrays[f"{which}.{name}"] = value
        for name, values in self.trace.items():
            arrays[f"trace.{name}"] = np.array(values[: state.n_done], dtype=np.float64)
        return {name: value.copy() for name, value in arrays.items()}

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, np.ndarray],
        rows: AttributeRows,
        likelihood: Likelihood,
        prior: StickPrior,
        burn_in: int = 0,
    ) -> "Chain":
        """Take up a chain where :meth:`to_arrays` left it."""
        state = State(
            len(arrays["trace.log_joint"]),
            np.array(arrays["words"]),
            read_sample(arrays, "sample"),
            read_sample(arrays, "best"),
            float(arrays["best_log_joint"][0]),
        )
        chain = cls(rows, likelihood, prior, state, burn_in=burn_in)
        for name in TRACED:
            chain.trace[name] = np.asarray(arrays[f"trace.{name}"]).tolist()
        return chain


def log_tree(sample: Sample, prior: StickPrior) -> float:
    """Return log p(labels | alpha, lambda, gamma), sticks integrated out."""
    n_here, n_all = sample.counts()
    alpha, decay, gamma = sample.hyper
    n_nodes = len(sample.parent)
    return float(
        _sticks.log_stops(alpha, decay, prior.max_depth, n_nodes, sample.depth(), n_here, n_all)
        + _sticks.log_branches(gamma, n_nodes, n_here, n_all)
    )


def subtree_sizes(parent: np.ndarray) -> np.ndarray:
    """Return the number of nodes at and below each node."""
    size = np.ones(len(parent), dtype=np.int64)
    for k in range(len(parent) - 1, 0, -1):
        size[parent[k]] += size[k]
    return size

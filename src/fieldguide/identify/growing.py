"""From nested sets of classes to a decision graph.

A builder answers one question: how does a node split its classes? Each class goes left (−1), right
(+1) or both ways (0), and a function tells the decided classes apart. Sets of classes that are
reached twice are one node, so the result is a graph; a set of one class is a leaf. Sets of one
wave are split side by side in threads; what a node becomes does not depend on the wave.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array, vstack

from fieldguide._parallel import map_in_order
from fieldguide.identify.graph import ABSENT, DecisionGraph, make_graph
from fieldguide.identify.node_classifiers import TrainedEstimators, join_trained
from fieldguide.svm import Problems, Question, Trained

Classes = tuple[int, ...]
LEAST_DRAWN = 16  # rows of a class


class AnyPlan(Protocol):
    """What a key needs of its plan, whether classes or rows are sent one way or the other."""

    @property
    def left(self) -> np.ndarray: ...  # noqa: D102
    @property
    def right(self) -> np.ndarray: ...  # noqa: D102
    @property
    def roots(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def n_nodes(self) -> int: ...  # noqa: D102
    @property
    def n_classes(self) -> int: ...  # noqa: D102

    def questions(self, index: np.ndarray, weight: np.ndarray | None = None) -> list[Question]:
        """Return the binary problem of each node."""

    def sides(self, index: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return which way rows should go at each node, (len(rows), n_nodes), as colours."""

    def leaf_counts(self, index: np.ndarray) -> csr_array:
        """Return the weight of each class at each leaf, (n_leaves, n_classes)."""

    def colors(self) -> np.ndarray:
        """Return which way each class goes at each node, (n_nodes, n_classes)."""


class Split(NamedTuple):
    """How a node splits its classes."""

    colors: np.ndarray  # (len(classes),) int8: −1 left, +1 right, 0 both ways


class Plan(NamedTuple):
    """The shape of a graph: its sets of classes, largest first, and how each is split."""

    sets: list[Classes]  # those of the inner nodes
    splits: list[Split]
    left: np.ndarray  # (n_nodes,) a node, or −1 − leaf
    right: np.ndarray
    leaves: list[Classes]  # the classes of each leaf
    n_classes: int
    roots: tuple[int, ...]  # where each tree begins, numbered as children are

    @property
    def n_nodes(self) -> int:
        """Inner nodes of all trees."""
        return len(self.sets)

    def questions(self, index: np.ndarray, weight: np.ndarray | None = None) -> list[Question]:
        """Return the binary problem of each node: the rows of its decided classes."""
        return [ask_node(colors, index, weight) for colors in self.colors()]

    def sides(self, index: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return which way rows should go at each node, (len(rows), n_nodes): colours."""
        return self.colors()[:, index[rows]].T

    def leaf_counts(self, index: np.ndarray) -> csr_array:
        """Return the training rows of each class at each leaf, (n_leaves, n_classes)."""
        count = np.bincount(index, minlength=self.n_classes).astype(np.float64)
        places = np.concatenate([list(classes) for classes in self.leaves]).astype(np.int64)
        ends = np.concatenate([[0], np.cumsum([len(classes) for classes in self.leaves])])
        return csr_array((count[places], places, ends), shape=(len(self.leaves), self.n_classes))

    def colors(self) -> np.ndarray:
        """Return the colour of every class at every node, (n_nodes, n_classes)."""
        colors = np.full((len(self.sets), self.n_classes), ABSENT, dtype=np.int8)
        for node, (classes, split) in enumerate(zip(self.sets, self.splits, strict=True)):
            colors[node, list(classes)] = split.colors
        return colors


def grow(
    n_classes: int,
    split: Callable[[Classes], Split],
    force: Callable[[Classes], Split],
    *,
    max_nodes: int,
    max_depth: int | None = None,
    n_jobs: int | None = None,
) -> tuple[Plan, bool]:
    """Split sets of classes until one class is left everywhere; say whether the cap was met.

    ``force`` lets no class go both ways, so that a set of m classes ends in m − 1 nodes. A split
    is taken only if the sets that would then be known can still end so within ``max_nodes``;
    otherwise the set, and all that is found later, is split by ``force``. There are thus never
    more nodes than ``max_nodes``, or one less than classes if that is more. Sets that are still
    whole after ``max_depth`` splits are leaves.
    """
    whole = tuple(range(n_classes))
    splits: dict[Classes, Split] = {}
    pending, known = [whole], {whole}
    n_ended = n_classes - 1  # nodes, if every set known now were split by force
    depth, is_capped = 0, False
    while pending and depth != max_depth:
        pending = [classes for classes in pending if len(classes) > 1]
        made = list(map_in_order(force if is_capped else split, pending, n_jobs=n_jobs))
        refused = []
        for classes, proposed in zip(pending, made, strict=True):
            found = set(children(classes, proposed)) - known
            n_more = sum(len(child) - 1 for child in found) - (len(classes) - 2)
            if n_ended + n_more > max_nodes and n_more > 0:
                refused.append(classes)
                continue
            splits[classes] = proposed
            known |= found
            n_ended += n_more
        if refused:
            is_capped = True
            made = list(map_in_order(force, refused, n_jobs=n_jobs))
            splits.update(zip(refused, made, strict=True))
        every = [child for classes in pending for child in children(classes, splits[classes])]
        known.update(every)
        pending = [child for child in dict.fromkeys(every) if child not in splits]
        depth += 1
    # A child is a smaller set than its parent: from the largest on, every edge leads onward.
    order = sorted(splits, key=lambda classes: (-len(classes), classes))
    leaves = sorted(known - set(splits))
    number = {classes: node for node, classes in enumerate(order)}
    number |= {classes: -1 - leaf for leaf, classes in enumerate(leaves)}
    ends = np.array(
        [[number[child] for child in children(classes, splits[classes])] for classes in order],
        dtype=np.int32,
    ).reshape(-1, 2)
    made = [splits[classes] for classes in order]
    root = (number[whole],)
    return Plan(order, made, ends[:, 0], ends[:, 1], leaves, n_classes, root), is_capped


def plant(plans: list[Plan]) -> Plan:
    """Return several trees of the same classes as one plan."""
    left, right, roots = join_links([(p.left, p.right, p.roots, len(p.leaves)) for p in plans])
    return Plan(
        [classes for plan in plans for classes in plan.sets],
        [split for plan in plans for split in plan.splits],
        left,
        right,
        [classes for plan in plans for classes in plan.leaves],
        plans[0].n_classes,
        roots,
    )


def join_links(
    trees: Sequence[tuple[np.ndarray, np.ndarray, tuple[int, ...], int]],
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Return left, right and roots of trees side by side, each numbered after the one before.

    A tree comes as its own left, right and roots, and its number of leaves.
    """
    parts, n_nodes, n_leaves = [], 0, 0
    for left, right, roots, own_leaves in trees:
        own = left, right, np.array(roots)
        parts.append([np.where(a >= 0, a + n_nodes, a - n_leaves) for a in own])
        n_nodes, n_leaves = n_nodes + len(left), n_leaves + own_leaves
    joined = [np.concatenate(links) for links in zip(*parts, strict=True)]
    return joined[0], joined[1], tuple(joined[2].tolist())


def children(classes: Classes, split: Split) -> tuple[Classes, Classes]:
    """Return the classes that go left and those that go right."""
    pairs = list(zip(classes, split.colors.tolist(), strict=True))
    return tuple(c for c, s in pairs if s <= 0), tuple(c for c, s in pairs if s >= 0)


def draw_rows(index: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return about ``n`` rows, of each class its share, and 16 at least where it has them.

    Examples
    --------
    >>> rows = draw_rows(np.repeat([0, 1], [900, 100]), 200, seed=0)
    >>> np.bincount(np.repeat([0, 1], [900, 100])[rows])
    array([180,  20])
    """
    rng = np.random.default_rng(seed)
    drawn = []
    for c in range(int(index.max()) + 1):
        members = np.flatnonzero(index == c)
        wanted = max(LEAST_DRAWN, round(len(members) * n / len(index)))
        drawn.append(rng.permutation(members)[:wanted])
    return np.sort(np.concatenate(drawn))


def ask_node(colors: np.ndarray, index: np.ndarray, weight: np.ndarray | None = None) -> Question:
    """Return the problem of the rows whose classes go one way; ``colors`` is (n_classes,)."""
    side = colors[index]
    rows = np.flatnonzero(np.abs(side) == 1)
    return Question(rows, side[rows].astype(np.float64), None if weight is None else weight[rows])


def build_graph(
    plan: AnyPlan, problems: Problems, nodes: Trained, flat: Trained, index: np.ndarray
) -> DecisionGraph:
    """Return the graph of trained nodes; the functions of the classes follow those of the nodes.

    A leaf of several classes has the name of the one with most rows.
    """
    leaf_counts = plan.leaf_counts(index)
    return make_graph(
        problems.functions(join(nodes, flat)),
        plan.left,
        plan.right,
        np.asarray(leaf_counts.argmax(axis=1)),
        plan.n_classes,
        leaf_counts=leaf_counts,
        colors=plan.colors(),
        roots=plan.roots,
    )


def join(first: Trained, second: Trained) -> Any:
    """Return the functions of both, one after the other."""
    if any(isinstance(part, TrainedEstimators) for part in (first, second)):
        return join_trained(first, second)
    return Trained(
        csr_array(vstack([first.beta, second.beta])),
        None
        if first.coef is None or second.coef is None
        else np.concatenate([first.coef, second.coef]),
        np.concatenate([first.intercept, second.intercept]),
        np.concatenate([first.gaps, second.gaps]),
    )

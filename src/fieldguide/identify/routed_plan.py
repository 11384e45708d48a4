"""The plan of trees whose rows, not classes, go one way or the other.

Rows of one class may part at any node, so that a plan holds the rows of every node and leaf: which
of them are decided is the binary problem of the node, and the colour of a class is where its rows
went. Rows that join later (:func:`graft`) are added to the lists of the nodes on their way.
:func:`pick_examples` chooses a few rows of each node for a person to look at. ``PLAN`` says how a
plan is saved: without the classes of its rows, which are known where the rows are.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from fieldguide._saving import INTEGERS, Array, Part, Rows
from fieldguide.errors import InvalidArgument
from fieldguide.identify.attention_growing import AttentionTree
from fieldguide.identify.graph import ABSENT
from fieldguide.identify.growing import join_links
from fieldguide.svm import Question


class RoutedPlan(NamedTuple):
    """Trees with the rows of their nodes and leaves; see :class:`AttentionTree`."""

    left: np.ndarray  # (n_nodes,) a node of a larger number, or −1 − leaf
    right: np.ndarray
    roots: tuple[int, ...]  # where each tree begins, numbered as children are
    n_classes: int
    class_of: np.ndarray  # (n,) the class of each row
    start: np.ndarray  # (n_nodes + 1,)
    rows: np.ndarray  # those of node j from start[j] to start[j + 1]
    labels: np.ndarray  # int8: +1 right, −1 left, 0 hard
    leaf_start: np.ndarray  # (n_leaves + 1,)
    leaf_rows: np.ndarray
    counts: csr_array  # (n_leaves, n_classes)
    C_factor: np.ndarray  # (n_nodes,) of the C of each node

    @property
    def n_nodes(self) -> int:
        """Inner nodes of all trees."""
        return len(self.left)

    @property
    def n_leaves(self) -> int:
        """Leaves of all trees."""
        return len(self.leaf_start) - 1

    def mean_way(self) -> float:
        """Return how many nodes a row passes in each tree, on average over the training rows."""
        n, weight = self.n_nodes, np.asarray(self.counts.sum(axis=1)).ravel()
        mass = np.concatenate([np.zeros(n), weight[::-1]])  # leaf l has the place −1 − l
        for j in range(n - 1, -1, -1):
            mass[j] = mass[self.left[j]] + mass[self.right[j]]
        return float(mass[:n].sum() / weight.sum())

    def rows_of_leaf(self, leaf: int) -> np.ndarray:
        """Return the rows at a leaf."""
        return self.leaf_rows[self.leaf_start[leaf] : self.leaf_start[leaf + 1]]

    def questions(self, index: np.ndarray, weight: np.ndarray | None = None) -> list[Question]:
        """Return the binary problem of each node: its decided rows."""
        return [self.ask(node, weight) for node in range(self.n_nodes)]

    def ask(self, node: int, weight: np.ndarray | None = None) -> Question:
        """Return the problem of one node, rows ascending; a factor of its C is a weight of them."""
        own = slice(self.start[node], self.start[node + 1])
        places = np.flatnonzero(self.labels[own])
        places = places[np.argsort(self.rows[own][places])]
        rows, factor = self.rows[own][places], float(self.C_factor[node])
        weights = None
        if weight is not None or factor != 1:
            weights = np.full(len(rows), factor) if weight is None else factor * weight[rows]
        return Question(rows, self.labels[own][places].astype(np.float64), weights)

    def sides(self, index: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the labels of rows at each node, (len(rows), n_nodes); 2 where they never came."""
        place = np.full(len(self.class_of), -1)
        place[rows] = np.arange(len(rows))
        at = place[self.rows]
        sides = np.full((len(rows), self.n_nodes), ABSENT, dtype=np.int8)
        sides[at[at >= 0], self._owners()[at >= 0]] = self.labels[at >= 0]
        return sides

    def leaf_counts(self, index: np.ndarray) -> csr_array:
        """Return the weight of each class at each leaf, (n_leaves, n_classes)."""
        return self.counts

    def colors(self) -> np.ndarray:
        """Return where the rows of each class went from each node, (n_nodes, n_classes).

        −1 or +1 where all went one way, 0 where they parted or some went both ways, 2 where none
        came.
        """
        # Leaf l has the place −1 − l, from the end, which is how arrays read negative numbers.
        is_there = np.zeros((self.n_nodes + self.n_leaves, self.n_classes), dtype=bool)
        is_there[self._owners(), self.class_of[self.rows]] = True
        leaf = np.repeat(np.arange(self.n_leaves), np.diff(self.leaf_start))
        is_there[-1 - leaf, self.class_of[self.leaf_rows]] = True
        way = is_there[self.right].astype(np.int8) - is_there[self.left].astype(np.int8)
        return np.where(is_there[: self.n_nodes], way, ABSENT).astype(np.int8)

    def count_sides(self) -> np.ndarray:
        """Return how many classes have decided rows on the left and right, (2, n_nodes)."""
        seen = np.zeros((2, self.n_nodes, self.n_classes), dtype=bool)
        owner = self._owners()
        for side, label in enumerate((-1, 1)):
            is_own = self.labels == label
            seen[side, owner[is_own], self.class_of[self.rows[is_own]]] = True
        counts: np.ndarray = seen.sum(axis=2)
        return counts

    def _owners(self) -> np.ndarray:
        """Return the node of each entry of the list of rows."""
        return np.repeat(np.arange(self.n_nodes), np.diff(self.start))


def read_plan(
    left: np.ndarray,
    right: np.ndarray,
    roots: np.ndarray,
    start: np.ndarray,
    rows: np.ndarray,
    labels: np.ndarray,
    leaf_start: np.ndarray,
    leaf_rows: np.ndarray,
    counts: csr_array,
    C_factor: np.ndarray,
) -> RoutedPlan:
    """Return a plan from its saved parts; the classes of its rows are still to be given."""
    for name, ends, n in (("start", start, len(rows)), ("leaf_start", leaf_start, len(leaf_rows))):
        if ends[0] != 0 or ends[-1] != n or (np.diff(ends) < 0).any():
            raise InvalidArgument(f"{name} must rise from 0 to the number of rows.")
    return RoutedPlan(
        *(left, right, tuple(roots.tolist()), counts.shape[1], np.empty(0, dtype=np.int64)),
        *(start, rows, labels, leaf_start, leaf_rows, counts, C_factor),
    )


_N_LEVELS, _N_EXAMPLES = 5, 12  # of nodes that examples are kept of, and of those of each side
_LINK: dict[str, Any] = {"within": (-2147483648, "n_nodes")}
PLAN = Part(
    RoutedPlan,
    {
        "left": Array(INTEGERS, "n_nodes", **_LINK),
        "right": Array(INTEGERS, "n_nodes", **_LINK),
        "roots": Array(INTEGERS, "n_trees", **_LINK),
        "start": Array("int64", "n_starts"),
        "rows": Array(INTEGERS, "n_steps", low=0),
        "labels": Array("int8", "n_steps", low=-1, high=1),
        "leaf_start": Array("int64", "n_leaf_starts"),
        "leaf_rows": Array(INTEGERS, "n_ends", low=0),
        "counts": Rows("n_leaves", "n_classes", always_sparse=True, low=0),
        "C_factor": Array("float64", "n_nodes", above=0),
    },
    read_plan,
)


class Examples(NamedTuple):
    """A few rows of the first nodes that went left, both ways and right."""

    node: np.ndarray  # (m,) int32
    rows: np.ndarray  # (m, 3, n) int32: left, both ways, right; −1 where there are no more


def pick_examples(plan: RoutedPlan) -> Examples:
    """Choose rows of the first levels of the first tree: one of each class before a second.

    Classes that go one way only come first, and of those the ones with most rows.
    """
    nodes = [plan.roots[0]] if plan.roots[0] >= 0 else []
    last = nodes
    for _ in range(_N_LEVELS - 1):
        last = [int(c) for v in last for c in (plan.left[v], plan.right[v]) if c >= 0]
        nodes = nodes + last
    picked = np.full((len(nodes), 3, _N_EXAMPLES), -1, dtype=np.int32)
    for place, node in enumerate(nodes):
        own = slice(plan.start[node], plan.start[node + 1])
        rows, labels = plan.rows[own], plan.labels[own]
        count = np.zeros((3, plan.n_classes), dtype=np.int64)
        np.add.at(count, (labels + 1, plan.class_of[rows]), 1)
        is_parted = (count > 0).sum(axis=0) > 1
        for way in range(3):
            there = np.sort(rows[labels == way - 1])
            kind = plan.class_of[there]
            order = np.lexsort((there, -count[way][kind], is_parted[kind], _turns(kind)))
            best = there[order[:_N_EXAMPLES]]
            picked[place, way, : len(best)] = best
    return Examples(np.array(nodes, dtype=np.int32), picked)


def _turns(kind: np.ndarray) -> np.ndarray:
    """Return how many earlier entries are of the same kind."""
    order = np.argsort(kind, kind="stable")
    turns = np.empty(len(kind), dtype=np.int64)
    firsts = np.searchsorted(kind[order], kind[order])
    turns[order] = np.arange(len(kind)) - firsts
    return turns


def plant_trees(trees: Sequence[AttentionTree], index: np.ndarray, n_classes: int) -> RoutedPlan:
    """Return the plan of some trees on the same rows; each has a node."""
    left, right, roots = join_links([(t.left, t.right, (0,), t.n_leaves) for t in trees])
    return RoutedPlan(
        left=left,
        right=right,
        roots=roots,
        n_classes=n_classes,
        class_of=index,
        start=_join_starts([tree.start for tree in trees]),
        rows=np.concatenate([tree.rows for tree in trees]),
        labels=np.concatenate([tree.labels for tree in trees]),
        leaf_start=_join_starts([tree.leaf_start for tree in trees]),
        leaf_rows=np.concatenate([tree.leaf_rows for tree in trees]),
        counts=csr_array(vstack([tree.leaf_counts for tree in trees])),
        C_factor=np.ones(len(left)),
    )


def renumber(plan: RoutedPlan, place: np.ndarray, index: np.ndarray, n_classes: int) -> RoutedPlan:
    """Return the plan for more rows and classes; ``place`` is the new number of each old class."""
    counts = plan.counts.tocoo()
    moved = csr_array(
        (counts.data, (counts.coords[0], place[counts.coords[1]])),
        shape=(plan.n_leaves, n_classes),
    )
    return plan._replace(class_of=index, n_classes=n_classes, counts=moved)


def graft(
    plan: RoutedPlan,
    way: tuple[np.ndarray, np.ndarray, np.ndarray],
    trees: dict[int, AttentionTree],
) -> RoutedPlan:
    """Return the plan with trees in the place of some leaves; old nodes keep their numbers.

    Parameters
    ----------
    plan : RoutedPlan
        That knows all rows and classes (:func:`renumber`).
    way : node, row and label of each step
        What new rows were asked on their way to the leaves.
    trees : dict of leaf to AttentionTree
        Their rows are numbered as those of the plan. The first leaf of each takes the number of
        the leaf that it replaces, the others come last.
    """
    owner = np.concatenate([plan._owners(), way[0]])
    order = np.argsort(owner, kind="stable")
    count = np.bincount(owner, minlength=plan.n_nodes)
    rows = [np.concatenate([plan.rows, way[1]])[order]]
    labels = [np.concatenate([plan.labels, way[2]])[order]]
    sizes = [count]
    left, right = [plan.left.copy()], [plan.right.copy()]
    leaf_rows = [plan.rows_of_leaf(leaf) for leaf in range(plan.n_leaves)]
    counts = list(plan.counts.toarray())
    n_nodes, roots = plan.n_nodes, np.array(plan.roots)
    for leaf, tree in trees.items():
        number = np.array([leaf, *(len(leaf_rows) + np.arange(tree.n_leaves - 1))])
        new = [
            np.where(a >= 0, a + n_nodes, -1 - number[np.maximum(-1 - a, 0)])
            for a in (tree.left, tree.right)
        ]
        for links in (*left, *right, roots):
            links[links == -1 - leaf] = n_nodes
        left.append(new[0])
        right.append(new[1])
        rows.append(tree.rows)
        labels.append(tree.labels)
        sizes.append(np.diff(tree.start))
        parts = [tree.rows_of(-1 - own) for own in range(tree.n_leaves)]
        own_counts = list(tree.leaf_counts.toarray())
        leaf_rows[leaf], counts[leaf] = parts[0], own_counts[0]
        leaf_rows += parts[1:]
        counts += own_counts[1:]
        n_nodes += tree.n_nodes
    return plan._replace(
        left=np.concatenate(left),
        right=np.concatenate(right),
        roots=tuple(roots.tolist()),
        start=_to_starts(np.concatenate(sizes)),
        rows=np.concatenate(rows),
        labels=np.concatenate(labels),
        leaf_start=_to_starts(np.array([len(part) for part in leaf_rows])),
        leaf_rows=np.concatenate(leaf_rows),
        counts=csr_array(np.stack(counts)),
        C_factor=np.concatenate([plan.C_factor, np.ones(n_nodes - plan.n_nodes)]),
    )


def _join_starts(starts: Sequence[np.ndarray]) -> np.ndarray:
    return _to_starts(np.concatenate([np.diff(start) for start in starts]))


def _to_starts(sizes: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

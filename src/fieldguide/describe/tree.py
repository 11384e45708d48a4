"""The shape of a tree, as every method of this folder returns it."""

from dataclasses import dataclass

import numpy as np

from fieldguide._display import make_card
from fieldguide._saving import Array, Part

_BLOCK = 4096  # rows at a time


@dataclass(frozen=True, repr=False)
class Tree:
    """A rooted tree as flat arrays in pre-order: a subtree is a run of nodes.

    Attributes
    ----------
    parent : ndarray of shape (n_nodes,)
        Parent of each node; -1 for node 0, the root. A parent precedes its children.
    height : ndarray of shape (n_nodes,)
        Distance at which the node's parts were joined; 0 where a method has none.

    Examples
    --------
    >>> tree = Tree(np.array([-1, 0, 1, 1, 0]), np.zeros(5))
    >>> tree
    <Tree: 5 nodes on 3 levels>
    """

    parent: np.ndarray
    height: np.ndarray

    def __post_init__(self) -> None:
        check_parents(np.asarray(self.parent))

    def __len__(self) -> int:
        return len(self.parent)

    def __repr__(self) -> str:
        return f"<Tree: {len(self):,} nodes on {self._count_levels().size:,} levels>"

    def _repr_html_(self) -> str:
        rows = [(level, f"{n:,}") for level, n in enumerate(self._count_levels())]
        title = f"A tree of {len(self):,} nodes"
        return make_card(title, columns=("level", "nodes"), rows=rows[:12])

    def _count_levels(self) -> np.ndarray:
        return np.bincount(find_depth(np.asarray(self.parent)))

    def children(self) -> list[list[int]]:
        """Return the children of each node, in order."""
        lists: list[list[int]] = [[] for _ in range(len(self))]
        for node in range(1, len(self)):
            lists[self.parent[node]].append(node)
        return lists

    def sum_up(self, values: np.ndarray) -> np.ndarray:
        """Return, for each node, the sum of ``values`` over it and all nodes below."""
        totals = np.array(values)
        for node in range(len(self) - 1, 0, -1):
            totals[self.parent[node]] += totals[node]
        return totals


TREE = Part(
    Tree,
    {
        "parent": Array("int64", "n_nodes", within=(-1, "n_nodes")),
        "height": Array("float64", "n_nodes"),
    },
)


def check_parents(parent: np.ndarray) -> None:
    """Refuse parents of no tree in pre-order."""
    is_before = (parent[1:] >= 0) & (parent[1:] < np.arange(1, len(parent)))
    if not len(parent) or parent[0] != -1 or not is_before.all():
        raise ValueError("parent must be in pre-order, with -1 for the root alone.")


def find_depth(parent: np.ndarray) -> np.ndarray:
    """Return the number of edges from the root to each node, whose parent precedes it."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for k in range(1, len(parent)):
        depth[k] = depth[parent[k]] + 1
    return depth


def subtree_means(tree: Tree, labels: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return the mean of the known attributes of the rows at or below each node."""
    sums = np.zeros((len(tree), A.shape[1]))
    known = np.zeros_like(sums)
    for begin in range(0, len(A), _BLOCK):
        block = A[begin : begin + _BLOCK].astype(np.float64)
        is_known = block == block
        at = labels[begin : begin + _BLOCK]
        for k in np.unique(at):
            here = at == k
            sums[k] += np.where(is_known[here], block[here], 0).sum(axis=0)
            known[k] += is_known[here].sum(axis=0)
    means: np.ndarray = tree.sum_up(sums) / np.maximum(tree.sum_up(known), 1)
    return means

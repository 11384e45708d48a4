"""The shape of a tree, as every method of this folder returns it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tree:
    """A rooted tree as flat arrays in pre-order: a subtree is a run of nodes.

    Attributes
    ----------
    parent : ndarray of shape (n_nodes,)
        Parent of each node; -1 for node 0, the root. A parent precedes its children.
    height : ndarray of shape (n_nodes,)
        Distance at which the node's parts were joined; 0 where a method has none.
    """

    parent: np.ndarray
    height: np.ndarray

    def __post_init__(self) -> None:
        parent = np.asarray(self.parent)
        if not len(parent) or parent[0] != -1 or (parent[1:] >= np.arange(1, len(parent))).any():
            raise ValueError("parent must be in pre-order, with -1 for the root alone.")

    def __len__(self) -> int:
        return len(self.parent)

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


def ancestor_matrix(parent: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return 1 where the node of a column is that of the row or above it, (n_nodes, n_nodes)."""
    is_above = np.eye(len(parent))
    for node in range(1, len(parent)):
        is_above[node] += is_above[parent[node]]
    return is_above

"""How well a tree of specimens agrees with their kinds, from the counts of kinds at the nodes.

==============  ======================================================================
measure         mean over
==============  ======================================================================
edge error      pairs of rows: |edges between their nodes - edges between their kinds|
purity          rows: is the row of the most frequent kind of its node
locality        pairs of rows of one kind: - edges between their nodes; kinds weighted
==============  ======================================================================

All pairs are unordered. Rows are counted by node and kind first, so that the cost grows with the
numbers of nodes and kinds and not with the pairs of rows.

Reference: R. Mittelman, M. Sun, B. Kuipers, S. Savarese, "Learning hierarchical linguistic
descriptions of visual datasets", 2013, equations 10-12.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fieldguide.errors import InvalidArgument

Taxonomy = Mapping[Any, Sequence[str]]


def average_edge_error(tree: Any, labels: Any, y: Any, taxonomy: Taxonomy) -> float:
    """Return the mean difference between distances in a tree and in a taxonomy of the kinds.

    Parameters
    ----------
    tree : Tree, or array-like of shape (n_nodes,)
        A tree with ``parent``, or the parent of each node itself; -1 for the root.
    labels : array-like of shape (n,)
        Node of each row.
    y : array-like of shape (n,)
        Kind of each row.
    taxonomy : mapping of kind to sequence of str
        The groups that hold each kind, from the most general on, as loaders give them; () for a
        kind right below the root. Groups are known by their path: two of the same name in
        different groups differ.

    Examples
    --------
    >>> from fieldguide.metrics import average_edge_error
    >>> taxonomy = {"owl": ("bird",), "wren": ("bird",), "car": ()}
    >>> average_edge_error([-1, 0, 0], [1, 1, 2], ["owl", "wren", "car"], taxonomy)
    1.3333333333333333
    """
    counts, nodes, kinds = _count(labels, y, "average_edge_error")
    between_nodes = _node_distances(_parents(tree), nodes, "average_edge_error")
    between_kinds = taxonomy_distances(kinds, taxonomy)
    n = counts.sum()
    if n < 2:
        return 0.0
    total = 0.0
    for distance in np.unique(between_nodes):
        pairs = counts.T @ (between_nodes == distance) @ counts
        total += (pairs * np.abs(distance - between_kinds)).sum()
    return float(total / (n * (n - 1)))  # a row with itself adds nothing


def purity(labels: Any, y: Any) -> float:
    """Return the share of rows that are of the most frequent kind of their node.

    Parameters
    ----------
    labels : array of shape (n,)
        The node of each row.
    y : array of shape (n,)
        The kind of each row.

    Examples
    --------
    >>> from fieldguide.metrics import purity
    >>> purity([0, 0, 0, 1], ["owl", "owl", "wren", "wren"])
    0.75
    """
    counts, _, _ = _count(labels, y, "purity")
    return float(counts.max(axis=1).sum() / counts.sum())


def locality(tree: Any, labels: Any, y: Any) -> float:
    """Return minus the mean distance of two rows of one kind, kinds weighted by their rows.

    0 is best: every kind in one node. A kind of a single row counts as 0.

    Parameters
    ----------
    tree : array of shape (n_nodes,)
        The parent of each node, -1 for the root; or a tree with ``parent``.
    labels : array of shape (n,)
        The node of each row.
    y : array of shape (n,)
        The kind of each row.

    Examples
    --------
    >>> from fieldguide.metrics import locality
    >>> locality([-1, 0, 0], [1, 2, 1, 1], ["owl", "owl", "wren", "wren"])
    -1.0
    """
    counts, nodes, _ = _count(labels, y, "locality")
    between_nodes = _node_distances(_parents(tree), nodes, "locality")
    total = 0.0
    for column in counts.T:
        n = column.sum()
        if n > 1:
            total -= n * (column @ between_nodes @ column) / (n * (n - 1))
    return float(total / counts.sum())


def taxonomy_distances(kinds: Sequence[Any], taxonomy: Taxonomy) -> np.ndarray:
    """Return the edges between every two kinds, (n_kinds, n_kinds)."""
    missing = [kind for kind in kinds if kind not in taxonomy]
    if missing:
        raise InvalidArgument(
            f"taxonomy of average_edge_error lacks {missing[0]!r}; give every kind of y its groups."
        )
    paths = [(*taxonomy[kind], kind) for kind in kinds]
    result = np.zeros((len(paths), len(paths)))
    for i, one in enumerate(paths):
        for j, other in enumerate(paths[:i]):
            shared = 0
            while shared < min(len(one), len(other)) - 1 and one[shared] == other[shared]:
                shared += 1
            result[i, j] = result[j, i] = len(one) + len(other) - 2 * shared
    return result


def ancestor_matrix(parent: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return 1 where the node of a column is that of the row or above it, (n_nodes, n_nodes).

    A parent precedes its children; that of a root is -1.

    Examples
    --------
    >>> ancestor_matrix([-1, 0, 0, 2])
    array([[1., 0., 0., 0.],
           [1., 1., 0., 0.],
           [1., 0., 1., 0.],
           [1., 0., 1., 1.]])
    """
    is_above = np.eye(len(parent))
    for node, above in enumerate(parent):
        if above >= 0:
            is_above[node] += is_above[above]
    return is_above


def _count(labels: Any, y: Any, owner: str) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Return rows by node and kind, the nodes in use, and the kinds."""
    labels, y = np.asarray(labels), np.asarray(y)
    if labels.ndim != 1 or labels.shape != y.shape or not labels.size:
        raise InvalidArgument(
            f"labels and y of {owner} must be two lists of the same length, not empty; "
            f"got shapes {labels.shape} and {y.shape}."
        )
    nodes, at = np.unique(labels, return_inverse=True)
    kinds, of = np.unique(y, return_inverse=True)
    counts = np.zeros((len(nodes), len(kinds)))
    np.add.at(counts, (at, of), 1)
    return counts, nodes, kinds.tolist()


def _parents(tree: Any) -> np.ndarray:
    return np.asarray(getattr(tree, "parent", tree))


def _node_distances(parent: np.ndarray, nodes: np.ndarray, owner: str) -> np.ndarray:
    """Return the edges between every two of ``nodes``."""
    if nodes.dtype.kind not in "iu" or nodes[0] < 0 or nodes[-1] >= len(parent):
        raise InvalidArgument(
            f"labels of {owner} must be nodes of the tree, 0 to {len(parent) - 1}; "
            f"got {nodes.tolist()[-1]!r}."
        )
    above = ancestor_matrix(parent)[nodes]
    depth = above.sum(axis=1)
    return np.asarray(depth[:, None] + depth - 2 * (above @ above.T))

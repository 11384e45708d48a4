"""The pruning of an attention tree: nodes that do not help held-out rows become leaves."""

import numpy as np
from scipy.sparse import csr_array

from fieldguide.identify.attention_growing import PRUNED, AttentionTree, find_starts


def prune_attention_tree(
    tree: AttentionTree, margins: np.ndarray, held_out: np.ndarray, index: np.ndarray
) -> AttentionTree:
    """Make leaves of the nodes below which held-out rows are named no better than by a leaf.

    From the bottom on, a node becomes a leaf where that makes no more errors than its subtree as
    it then is; the root stays. Of all trees that can be cut out of this one from its root, none
    makes fewer errors on the held-out rows, and none with as few is smaller.

    Parameters
    ----------
    tree : AttentionTree
        With a node.
    margins : array of shape (m, n_nodes)
        Of held-out rows at every node; above 0 goes right.
    held_out : array of shape (m,)
        Their classes.
    index : array of shape (n,)
        Classes of the rows that the tree was grown on.
    """
    n_nodes, n_classes = tree.n_nodes, tree.leaf_counts.shape[1]
    owner = np.repeat(np.arange(n_nodes), np.diff(tree.start))
    counts = np.zeros((n_nodes, n_classes))
    np.add.at(counts, (owner, index[tree.rows]), tree.weights)
    counts *= np.diff(tree.start)[:, None]
    at: dict[int, np.ndarray] = {0: np.arange(len(held_out))}
    for j in range(n_nodes):
        here = at[j]
        is_right = margins[here, j] > 0
        at[int(tree.left[j])], at[int(tree.right[j])] = here[~is_right], here[is_right]
    leaf_class = np.asarray(tree.leaf_counts.argmax(axis=1))
    errors = {
        -1 - leaf: np.count_nonzero(held_out[at[-1 - leaf]] != name)
        for leaf, name in enumerate(leaf_class)
    }
    is_kept = np.ones(n_nodes, dtype=bool)
    for j in range(n_nodes - 1, -1, -1):
        below = errors[int(tree.left[j])] + errors[int(tree.right[j])]
        alone = np.count_nonzero(held_out[at[j]] != counts[j].argmax())
        is_kept[j] = j == 0 or below < alone
        errors[j] = below if is_kept[j] else alone
    return _cut(tree, is_kept, counts)


def _cut(tree: AttentionTree, is_kept: np.ndarray, counts: np.ndarray) -> AttentionTree:
    """Return the tree with leaves in the place of nodes that are not kept."""
    nodes, number = [0], {0: 0}
    ends: list[int] = []
    for j in nodes:  # grows while it is read
        for child in (int(tree.left[j]), int(tree.right[j])):
            if child >= 0 and is_kept[child]:
                number[child] = len(nodes)
                nodes.append(child)
            else:
                number[child] = -1 - len(ends)
                ends.append(child)
    node_rows, leaf_rows = [tree.rows_of(j) for j in nodes], [tree.rows_of(e) for e in ends]
    own = np.concatenate([np.arange(tree.start[j], tree.start[j + 1]) for j in nodes])
    old_counts = tree.leaf_counts.toarray()
    return tree._replace(
        left=np.array([number[int(tree.left[j])] for j in nodes], dtype=np.int32),
        right=np.array([number[int(tree.right[j])] for j in nodes], dtype=np.int32),
        **{
            name: getattr(tree, name)[nodes]
            for name in ("depth", "feature", "threshold", "n_stumps")
        },
        start=find_starts(node_rows),
        rows=np.concatenate(node_rows),
        labels=tree.labels[own],
        weights=tree.weights[own],
        leaf_counts=csr_array(
            np.stack([counts[e] if e >= 0 else old_counts[-1 - e] for e in ends])
        ),
        leaf_depth=np.array(
            [tree.depth[e] if e >= 0 else tree.leaf_depth[-1 - e] for e in ends], dtype=np.int32
        ),
        leaf_start=find_starts(leaf_rows),
        leaf_rows=np.concatenate(leaf_rows),
        leaf_cause=np.array(
            [PRUNED if e >= 0 else tree.leaf_cause[-1 - e] for e in ends], dtype=np.int8
        ),
    )

"""Agglomerative clustering of attributes, exact, in memory linear in the number of rows.

Two clusters with weights m, means c and mean squared norms s are at distance

    average   s_A + s_B − 2 c_A·c_B              (mean squared distance over all pairs)
    ward      m_A m_B / (m_A + m_B) · |c_A − c_B|²

For 0/1 attributes the squared distance of two rows is the number of attributes in which they
differ, so *average* is average linkage under Hamming distance. Both need m, c and s alone, so the
nearest-neighbour chain finds the exact dendrogram in O(n² D) time and O(n D) memory: no matrix of
distances is ever held. Equal rows are joined first, as one row with their weight.

Reference: F. Murtagh, "A survey of recent advances in hierarchical clustering algorithms",
The Computer Journal 26 (1983).
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from fieldguide._check import check_choice, check_number
from fieldguide._jit import jit
from fieldguide._saving import ROWS, Array, Saved
from fieldguide.describe.tree import TREE, Tree, subtree_means
from fieldguide.describe.wording import NamedNodes
from fieldguide.errors import InvalidArgument

LINKAGES = ("average", "ward")


class AgglomerativeTree(Saved, NamedNodes, BaseEstimator):
    """Cluster the rows of an attribute matrix; keep the dendrogram above a cut.

    Parameters
    ----------
    linkage : {"average", "ward"}
    n_leaves : int, optional
        The dendrogram is cut where it has this many leaves. By default, and without a
        ``threshold``, where the next merge is lower by the largest factor, among 2 to √n leaves.
    threshold : float, optional
        Cut at this height instead; not together with ``n_leaves``.

    Attributes
    ----------
    tree_ : Tree
        The binary dendrogram above the cut, everything below it merged.
    labels_ : ndarray of shape (n,)
        The node of ``tree_`` (a leaf) where each row sits.
    means_ : ndarray of shape (n_nodes, n_attributes)
        Mean of the rows at or below each node.

    Examples
    --------
    >>> from fieldguide.describe import AgglomerativeTree
    >>> AgglomerativeTree(n_leaves=2).fit([[0, 1], [0, 1], [1, 0]]).labels_
    array([1, 1, 2])
    """

    _fitted: ClassVar = {
        **ROWS,
        "fill_": Array("float64", "n_features"),
        "tree_": TREE,
        "labels_": Array("int64", "n_rows", within=(0, "n_nodes")),
        "means_": Array("float64", "n_nodes", "n_features"),
    }

    def __init__(
        self,
        linkage: str = "average",
        n_leaves: int | None = None,
        *,
        threshold: float | None = None,
    ) -> None:
        self.linkage = linkage
        self.n_leaves = n_leaves
        self.threshold = threshold

    def fit(self, A: Any, y: Any = None) -> "AgglomerativeTree":
        """Build the tree of the rows of ``A``; a missing attribute (NaN) counts as its mean."""
        self._check_arguments()
        A = validate_data(self, A, dtype=np.float64, ensure_all_finite="allow-nan")
        self.fill_ = _column_means(A)
        A = np.where(np.isnan(A), self.fill_, A)
        rows, group, weight = np.unique(A, axis=0, return_inverse=True, return_counts=True)
        group = group.ravel()
        merges, heights = join_nearest(rows, weight.astype(np.float64), self.linkage)
        n_leaves = choose_leaves(heights, self.n_leaves, self.threshold)
        self.tree_, leaf_of_group = cut_dendrogram(merges, heights, n_leaves)
        self.labels_ = leaf_of_group[group]
        self.means_ = subtree_means(self.tree_, self.labels_, A)
        return self

    def predict(self, A: Any) -> np.ndarray:
        """Return the leaf whose mean is nearest to each row."""
        check_is_fitted(self)
        A = validate_data(self, A, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        A = np.where(np.isnan(A), self.fill_, A)
        leaves = np.unique(self.labels_)
        means = self.means_[leaves]
        distance = (means**2).sum(axis=1) - 2 * A @ means.T
        nearest: np.ndarray = leaves[distance.argmin(axis=1)]
        return nearest

    def _check_arguments(self) -> None:
        check_choice("AgglomerativeTree", "linkage", self.linkage, LINKAGES)
        if self.n_leaves is not None:
            check_number("AgglomerativeTree", "n_leaves", self.n_leaves, 1, 10**9, integer=True)
            if self.threshold is not None:
                raise InvalidArgument(
                    "AgglomerativeTree takes n_leaves or threshold, not both; leave one out."
                )

    def _check_opened(self) -> None:
        if not len(self.labels_):
            raise InvalidArgument("labels_ must be one or more.")

    def _stated_rates(self) -> np.ndarray:
        return self.means_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _column_means(A: np.ndarray) -> np.ndarray:
    """Return the mean of each column over its known entries; 0 for a column without any."""
    known = ~np.isnan(A)
    means: np.ndarray = np.where(known, A, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return means


def join_nearest(
    rows: np.ndarray, weight: np.ndarray, linkage: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the dendrogram of weighted rows by the nearest-neighbour chain.

    Returns
    -------
    merges : ndarray of shape (n - 1, 2)
        Clusters joined, lowest first; i < n is row i, n + k is the result of merge k.
    heights : ndarray of shape (n - 1,)
        Their distances, never falling.
    """
    n = len(rows)
    pairs = np.empty((max(n - 1, 0), 2), dtype=np.int64)
    heights = np.empty(max(n - 1, 0))
    means = np.array(rows, dtype=np.float64, order="C")
    _chain(means, (means**2).sum(axis=1), weight.copy(), linkage == "ward", pairs, heights)
    order = np.argsort(heights, kind="stable")
    return _relabel(pairs[order], n), heights[order]


def _relabel(pairs: np.ndarray, n: int) -> np.ndarray:
    """Turn pairs of representative rows, sorted by height, into cluster numbers."""
    top = np.arange(n)  # union-find over rows
    number = np.arange(n)

    def find(i: int) -> int:
        while top[i] != i:
            top[i] = top[top[i]]
            i = top[i]
        return i

    merges = np.empty_like(pairs)
    for k, (i, j) in enumerate(pairs):
        a, b = find(i), find(j)
        merges[k] = sorted((number[a], number[b]))
        top[b] = a
        number[a] = n + k
    return merges


def choose_leaves(heights: np.ndarray, n_leaves: int | None, threshold: float | None) -> int:
    """Return the number of leaves that the arguments of :class:`AgglomerativeTree` ask for."""
    n = len(heights) + 1
    if threshold is not None:
        return int((heights > threshold).sum()) + 1
    if n_leaves is not None:
        return min(n_leaves, n)
    most = int(np.sqrt(n))
    if most < 2 or heights[-1] <= 0:
        return min(2, n)
    falling = np.maximum(heights[::-1][: most + 1], 1e-9 * heights[-1])
    return 2 + int(np.argmax(falling[:-1] / falling[1:])) if len(falling) > 1 else 2


def cut_dendrogram(
    merges: np.ndarray, heights: np.ndarray, n_leaves: int
) -> tuple[Tree, np.ndarray]:
    """Keep the merges above the cut.

    Returns
    -------
    tree : Tree
        Pre-order; the child with the smaller first row comes first.
    leaf : ndarray of shape (n,)
        The leaf of each row.
    """
    n = len(merges) + 1
    first_kept = len(merges) - (n_leaves - 1)
    first_row = np.concatenate([np.arange(n), np.zeros(len(merges), dtype=np.int64)])
    for k, (a, b) in enumerate(merges):
        first_row[n + k] = min(first_row[a], first_row[b])
    parent: list[int] = []
    height: list[float] = []
    leaf = np.empty(n, dtype=np.int64)
    pending = [(2 * n - 2, -1)]
    while pending:
        cluster, above = pending.pop()
        node = len(parent)
        parent.append(above)
        height.append(float(heights[cluster - n]) if cluster >= n else 0.0)
        if cluster - n >= first_kept:
            parts = sorted(merges[cluster - n], key=lambda c: first_row[c])
            pending += [(int(part), node) for part in reversed(parts)]
        else:
            below = [cluster]
            while below:
                c = below.pop()
                if c < n:
                    leaf[c] = node
                else:
                    below += list(merges[c - n])
    return Tree(np.array(parent), np.array(height)), leaf


@jit
def _chain(
    means: np.ndarray,
    norms: np.ndarray,
    weight: np.ndarray,
    is_ward: bool,
    pairs: np.ndarray,
    heights: np.ndarray,
) -> None:
    """Nearest-neighbour chain; means (n, D) are changed in place. O(n² D).

    Live clusters fill the first rows: the last one moves into the place of one that was joined.
    """
    n = len(means)
    representative = np.arange(n)
    squares = np.empty(n)
    for i in range(n):
        squares[i] = np.dot(means[i], means[i])
    chain = np.empty(n + 1, dtype=np.int64)
    link = np.empty(n + 1)  # distance from each cluster of the chain to the one before
    length = 0
    live = n
    for k in range(n - 1):
        if length == 0:
            chain[0] = 0
            link[0] = np.inf
            length = 1
        while True:
            here = chain[length - 1]
            products = np.dot(means[:live], means[here])
            best = -1
            best_distance = np.inf
            for other in range(live):
                if is_ward:
                    gap = squares[here] + squares[other] - 2 * products[other]
                    distance = gap * weight[here] * weight[other] / (weight[here] + weight[other])
                else:
                    distance = norms[here] + norms[other] - 2 * products[other]
                if distance < best_distance and other != here:
                    best = other
                    best_distance = distance
            # The chain grows only while its links shorten: neither ties nor rounding, which may
            # differ between the two directions, can lead it in a circle.
            before = chain[length - 2] if length > 1 else -1
            if best == before or best_distance >= link[length - 1] or length == live:
                break
            chain[length] = best
            link[length] = best_distance
            length += 1
        length -= 2
        low, high = min(here, before), max(here, before)
        pairs[k, 0], pairs[k, 1] = representative[low], representative[high]
        heights[k] = max(link[length + 1], 0.0)
        total = weight[low] + weight[high]
        means[low] = (weight[low] * means[low] + weight[high] * means[high]) / total
        norms[low] = (weight[low] * norms[low] + weight[high] * norms[high]) / total
        squares[low] = np.dot(means[low], means[low])
        weight[low] = total
        live -= 1
        means[high] = means[live]
        norms[high] = norms[live]
        squares[high] = squares[live]
        weight[high] = weight[live]
        representative[high] = representative[live]
        for position in range(length):
            if chain[position] == live:
                chain[position] = high

"""The growing of an attention tree: what is easy is decided early, what is hard goes on.

At a node with weighted rows: two super-classes by the question of least entropy, AdaBoost on them,
and then by its p(+1 | x)

    p(+1) > Δ    to the right, label +          p(−1) > Δ    to the left, label −
    otherwise    to both, label *, with weight p(+1) on the right and p(−1) on the left

Decided rows have weight 1 again; a child's weights are normalised. The + and − rows are the
binary problem of the node, whose SVM decides at test time; the * rows take no part in it. Rows
with sample weights have them as a factor throughout. With Δ = ½ nobody goes both ways. For two
classes there is nothing to choose: the second class is +1.

========  ===================================================================
Δ         ``delta``: how sure the boosted classifier must be of a decided row
T, γ      ``n_rounds``, ``gamma``: of :func:`fieldguide.identify.boosting.boost`
L         ``max_depth``: levels of inner nodes; the root has depth 1
========  ===================================================================

Reference: P. Panda, K. Roy, "Attention Tree: learning hierarchies of visual features for
large-scale image recognition", Algorithms 1 and 2.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_array

from fieldguide._check import check_number
from fieldguide._parallel import map_in_order
from fieldguide.errors import InvalidArgument
from fieldguide.identify.binning import Binned
from fieldguide.identify.boosting import boost, gather, probability, split_classes
from fieldguide.identify.node_cap import Branch, Rules, grow_within, walk
from fieldguide.svm import Question

# Why a leaf is a leaf.
PURE, FEW, DEEP, UNPARTED, STALLED, CAPPED, PRUNED = range(7)

Decide = Callable[[Question, np.ndarray], np.ndarray]
Judge = Callable[[Question, np.ndarray], float]


class AttentionTree(NamedTuple):
    """Nodes and leaves with the rows that reached them; node 0 is the root.

    The lists of rows of all nodes stand one after the other: those of node j are
    ``rows[start[j] : start[j + 1]]``, in the order of their classes; so are those of the leaves.
    """

    left: np.ndarray  # (n_nodes,) int32: a node of a larger number, or −1 − leaf
    right: np.ndarray
    depth: np.ndarray  # (n_nodes,) 1 for the root
    start: np.ndarray  # (n_nodes + 1,)
    rows: np.ndarray  # int32
    labels: np.ndarray  # int8: +1 right, −1 left, 0 hard
    weights: np.ndarray  # of the rows while the node was grown, with the sum 1
    feature: np.ndarray  # (n_nodes,) that made the super-classes; −1 for two classes
    threshold: np.ndarray  # (n_nodes,) level at which it parted them
    n_stumps: np.ndarray  # (n_nodes,)
    leaf_counts: csr_array  # (n_leaves, n_classes) weight of the rows, 1 for a decided one
    leaf_depth: np.ndarray  # (n_leaves,) one more than its parent's
    leaf_start: np.ndarray  # (n_leaves + 1,)
    leaf_rows: np.ndarray  # int32
    leaf_cause: np.ndarray  # (n_leaves,) int8: PURE to PRUNED
    is_capped: bool  # whether the cap on nodes kept rows from going both ways, or ended the growing

    @property
    def n_nodes(self) -> int:
        """Inner nodes; 0 where the tree is one leaf."""
        return len(self.left)

    @property
    def n_leaves(self) -> int:
        """Leaves; at least one."""
        return len(self.leaf_depth)

    def rows_of(self, node: int) -> np.ndarray:
        """Return the rows of a node; −1 − l means leaf l."""
        if node < 0:
            return self.leaf_rows[self.leaf_start[-1 - node] : self.leaf_start[-node]]
        return self.rows[self.start[node] : self.start[node + 1]]

    def question(self, node: int) -> Question:
        """Return the binary problem of a node: its decided rows and their sides."""
        return _ask(self.rows_of(node), self.labels[self.start[node] : self.start[node + 1]])

    def hard_rows(self, node: int) -> np.ndarray:
        """Return the rows of a node that went both ways and take no part in its problem."""
        is_hard = self.labels[self.start[node] : self.start[node + 1]] == 0
        rows: np.ndarray = self.rows_of(node)[is_hard]
        return rows


class Routed(NamedTuple):
    """Who goes where."""

    labels: np.ndarray  # (m,) int8: +1 right, −1 left, 0 both
    left: np.ndarray  # (m,) weight on the left: 1, p(−1) if hard, 0 if the row does not go there
    right: np.ndarray  # (m,) weight on the right


class _Part(NamedTuple):
    """Rows that come together to a place of the tree."""

    rows: np.ndarray
    weight: np.ndarray
    depth: int


class _Attempt(NamedTuple):
    """Two super-classes and what boosting made of them."""

    routed: Routed
    feature: int
    threshold: int
    n_stumps: int


class _Split(NamedTuple):
    """What became of an inner node: labels of its rows, and its children."""

    labels: np.ndarray
    left: _Part
    right: _Part
    feature: int
    threshold: int
    n_stumps: int


def route(p_right: np.ndarray, delta: float) -> Routed:
    """Return who goes where by p(+1); with ``delta`` ½, a row of p = ½ goes right.

    Examples
    --------
    >>> routed = route(np.array([0.1, 0.45, 0.9]), 0.6)
    >>> routed.labels.tolist(), routed.left.tolist(), routed.right.tolist()
    ([-1, 0, 1], [1.0, 0.55, 0.0], [0.0, 0.45, 1.0])
    """
    if delta == 0.5:
        labels = np.where(p_right >= 0.5, 1, -1)
    else:
        labels = (p_right > delta).astype(int) - (1 - p_right > delta)
    left = np.where(labels == 0, 1 - p_right, labels < 0)
    right = np.where(labels == 0, p_right, labels > 0)
    return Routed(labels.astype(np.int8), left, right)


def grow_attention_tree(
    binned: Binned,
    index: np.ndarray,
    n_classes: int,
    sample_weight: np.ndarray | None = None,
    *,
    delta: float = 0.6,
    n_rounds: int = 50,
    gamma: float = 0.48,
    max_depth: int = 30,
    min_samples: int = 2,
    max_kept: float = 0.9,
    max_nodes: int = 5000,
    decide: Decide | None = None,
    n_candidates: int = 1,
    judge: Judge | None = None,
    n_jobs: int | None = None,
) -> AttentionTree:
    """Grow a tree, wave by wave.

    Parameters
    ----------
    binned : Binned
        All rows, from :func:`fieldguide.identify.binning.bin_features`.
    index : array of shape (n,)
        The class of each row, 0 to n_classes − 1.
    n_classes : int
        With two classes, the second is +1 at every node; with more, two super-classes are chosen
        at every node anew.
    sample_weight : array of shape (n,), optional
        Above 0; 1 by default.
    delta : float
        In [0.5, 1]. The larger it is, the more rows go both ways; at 0.5 none does.
    n_rounds, gamma : int, float
        Stumps of a node, and the largest weighted error of one.
    max_depth : int
        Levels of inner nodes.
    min_samples : int
        A node with fewer rows is a leaf.
    max_kept : float
        A node is a leaf when each child would keep more than this share of its rows: as ``delta``
        nears 1, nearly all rows go both ways, and children are like their parents. One large
        child alone is progress: its sister has taken a few easy rows away.
    max_nodes : int
        A tree of more is grown again: rows go both ways in its first parts only, level by level,
        as many as fit; below them nobody does, as for ``delta`` ½. Should that not be enough, some
        parts that could be split are leaves. In both cases ``is_capped`` is True.
    decide : callable, optional
        Takes the problem of a node and the rows of the node, and returns p(right) of each: the
        children then receive the rows as it says, and not as the boosted classifier does. It is
        called from several threads.
    n_candidates, judge : int and callable, optional
        So many features that part the classes best are tried, each with its own super-classes and
        its own boosting; ``judge`` takes the problem of a node and the rows of the node, and the
        largest value wins, of equals the first. It is called from several threads.
    n_jobs : int, optional
        Threads; the tree does not depend on it.

    Examples
    --------
    >>> from fieldguide.identify.binning import bin_features
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    >>> tree = grow_attention_tree(bin_features(X), np.array([0, 0, 1, 1, 2, 2]), 3)
    >>> tree.n_nodes, tree.leaf_depth.tolist(), tree.rows_of(-1).tolist()
    (2, [2, 3, 3], [0, 1])
    """
    owner = "grow_attention_tree"
    check_number(owner, "delta", delta, 0.5, 1)
    check_number(owner, "max_depth", max_depth, 0, 2**31 - 1, integer=True)
    check_number(owner, "min_samples", min_samples, 1, 2**31 - 1, integer=True)
    check_number(owner, "max_kept", max_kept, 0, 1)
    check_number(owner, "max_nodes", max_nodes, 0, 2**31 - 1, integer=True)
    check_number(owner, "n_candidates", n_candidates, 1, 2**31 - 1, integer=True)
    index = np.asarray(index)
    n = len(binned.levels)
    if index.shape != (n,) or not n or index.min() < 0 or index.max() >= n_classes:
        raise InvalidArgument(
            f"index of {owner} must hold a class from 0 to {n_classes - 1} for each of {n} rows, "
            "at least one."
        )
    own = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    grower = _Grower(
        *(binned, index, n_classes, own, delta, n_rounds, gamma),
        *(max_depth, min_samples, max_kept, decide, n_candidates if judge else 1, judge),
    )
    # Rows in the order of their classes stay so in every node, and splits are found sooner.
    order = np.argsort(index, kind="stable").astype(np.int32)
    constrained = grower._replace(delta=0.5)
    rules = Rules(
        relaxed=partial(grower.split_all, n_jobs=n_jobs),
        strict=partial(constrained.split_all, n_jobs=n_jobs) if delta > 0.5 else None,
        name=grower.name,
        end=lambda part: CAPPED if (cause := grower.find_end(part)) is None else cause,
    )
    root, is_capped = grow_within(_Part(order, own[order], 1), rules, max_nodes)
    return _to_tree(root, index, n_classes, is_capped)


def split_once(index: np.ndarray, side: np.ndarray, n_classes: int) -> AttentionTree:
    """Return a tree of one node that parts rows by their classes; ``side`` is −1 or +1 of each.

    For rows that no stump can part.
    """
    order = np.argsort(index, kind="stable").astype(np.int32)
    labels = side[index[order]].astype(np.int8)
    ones = np.ones(len(order))
    parts = [_Part(order[labels == way], ones[labels == way], 2) for way in (-1, 1)]
    split = _Split(labels, parts[0], parts[1], -1, 0, 0)
    leaves = (Branch(parts[0], UNPARTED), Branch(parts[1], UNPARTED))
    root = Branch(_Part(order, ones, 1), split, leaves)
    return _to_tree(root, index, n_classes, False)


class _Grower(NamedTuple):
    """What all nodes of a tree share."""

    binned: Binned
    class_of: np.ndarray  # (n,)
    n_classes: int
    own: np.ndarray  # (n,) weights of the rows before anything is known of them
    delta: float
    n_rounds: int
    gamma: float
    max_depth: int
    min_samples: int
    max_kept: float
    decide: Decide | None
    n_candidates: int
    judge: Judge | None

    def find_end(self, part: _Part) -> int | None:
        """Return why a part is a leaf before anything is asked of it, if it is one."""
        classes = self.class_of[part.rows]
        if (classes == classes[0]).all():
            return PURE
        if part.depth > self.max_depth:
            return DEEP
        return FEW if len(part.rows) < self.min_samples else None

    def name(self, part: _Part) -> tuple[set[int], int]:
        """Return the classes of a part, and the one of most weight."""
        weight = np.bincount(self.class_of[part.rows], part.weight, self.n_classes)
        return set(np.flatnonzero(weight).tolist()), int(weight.argmax())

    def split_all(self, wave: list[_Part], n_jobs: int | None) -> list[_Split | int]:
        """Return how each part is split, or why it is a leaf."""
        # A wave of few nodes leaves threads free for their features.
        split = partial(self.split, n_threads=max(1, effective_n_jobs(n_jobs) // len(wave)))
        return list(map_in_order(split, wave, n_jobs=n_jobs))

    def split(self, part: _Part, n_threads: int) -> _Split | int:
        """Return how a part is split, or why it is a leaf."""
        cause = self.find_end(part)
        if cause is not None:
            return cause
        rows = part.rows
        tried = self._try_groups(part, n_threads)
        if not tried:
            return UNPARTED
        best = tried[0]
        if len(tried) > 1:
            assert self.judge is not None
            worth = [self.judge(_ask(rows, attempt.routed.labels), rows) for attempt in tried]
            best = tried[int(np.argmax(worth))]
        routed, labels = best.routed, best.routed.labels
        if self.decide is not None:
            routed = route(self.decide(_ask(rows, labels), rows), self.delta)
        to_left, to_right = routed.left > 0, routed.right > 0
        n_left, n_right = np.count_nonzero(to_left), np.count_nonzero(to_right)
        if not (n_left and n_right):
            return UNPARTED
        if min(n_left, n_right) > self.max_kept * len(rows):
            return STALLED
        left, right = routed.left * self.own[rows], routed.right * self.own[rows]
        return _Split(
            labels,
            _Part(rows[to_left], left[to_left], part.depth + 1),
            _Part(rows[to_right], right[to_right], part.depth + 1),
            *(best.feature, best.threshold, best.n_stumps),
        )

    def _try_groups(self, part: _Part, n_threads: int) -> list[_Attempt]:
        """Return one attempt, or several, that have decided rows on both sides."""
        rows, weight, classes = part.rows, part.weight, self.class_of[part.rows]
        subset = gather(self.binned, rows)
        groups: list[tuple[int, int, np.ndarray]] = []
        if self.n_classes == 2:
            groups.append((-1, 0, 2 * classes - 1))
        else:
            skip: list[int] = []
            seen: set[bytes] = set()
            for _ in range(self.n_candidates):
                found = split_classes(
                    *(subset, classes, self.n_classes, weight), skip=tuple(skip), n_jobs=n_threads
                )
                if found is None:
                    break
                skip.append(found.feature)
                if found.side.tobytes() not in seen:
                    seen.add(found.side.tobytes())
                    groups.append((found.feature, found.threshold, found.side[classes]))
        tried = []
        for feature, threshold, sign in groups:
            boosted = boost(
                *(subset, sign, weight),
                n_rounds=self.n_rounds,
                gamma=self.gamma,
                n_jobs=n_threads,
            )
            routed = route(probability(boosted.score), self.delta)
            if (routed.labels > 0).any() and (routed.labels < 0).any():
                n_stumps = len(boosted.stumps.alpha)
                tried.append(_Attempt(routed, feature, threshold, n_stumps))
        return tried


def _ask(rows: np.ndarray, labels: np.ndarray) -> Question:
    is_decided = labels != 0
    order = np.argsort(rows[is_decided])  # a problem of all rows has them in their own order
    return Question(rows[is_decided][order], labels[is_decided][order].astype(np.float64))


def _to_tree(root: Branch, index: np.ndarray, n_classes: int, is_capped: bool) -> AttentionTree:
    """Return nodes and leaves as arrays, numbered level by level."""
    every = walk(root)
    nodes = [(branch.part, branch.found) for branch in every if branch.children]
    leaves = [(branch.part, branch.found) for branch in every if not branch.children]
    number = {branch: j for j, branch in enumerate(b for b in every if b.children)}
    number |= {branch: -1 - leaf for leaf, branch in enumerate(b for b in every if not b.children)}
    children = np.array(
        [[number[child] for child in branch.children] for branch in every if branch.children],
        dtype=np.int32,
    ).reshape(-1, 2)
    node_rows = [part.rows for part, _ in nodes]
    leaf_rows = [part.rows for part, _ in leaves]
    leaf_weights = np.concatenate([part.weight for part, _ in leaves])
    leaf_start, places = find_starts(leaf_rows), np.concatenate(leaf_rows)
    owner = np.repeat(np.arange(len(leaves)), np.diff(leaf_start))
    none = np.empty(0)
    return AttentionTree(
        left=children[:, 0].copy(),
        right=children[:, 1].copy(),
        depth=np.array([part.depth for part, _ in nodes], dtype=np.int32),
        start=find_starts(node_rows),
        rows=np.concatenate([none.astype(np.int32), *node_rows]),
        labels=np.concatenate([none.astype(np.int8), *(found.labels for _, found in nodes)]),
        weights=np.concatenate([none, *(part.weight / part.weight.sum() for part, _ in nodes)]),
        feature=np.array([found.feature for _, found in nodes], dtype=np.int32),
        threshold=np.array([found.threshold for _, found in nodes], dtype=np.int32),
        n_stumps=np.array([found.n_stumps for _, found in nodes], dtype=np.int32),
        leaf_counts=csr_array(
            (leaf_weights, (owner, index[places])), shape=(len(leaves), n_classes)
        ),
        leaf_depth=np.array([part.depth for part, _ in leaves], dtype=np.int32),
        leaf_start=leaf_start,
        leaf_rows=places,
        leaf_cause=np.array([cause for _, cause in leaves], dtype=np.int8),
        is_capped=is_capped,
    )


def find_starts(lists: list[np.ndarray]) -> np.ndarray:
    """Return where each list begins when they stand one after the other, and where all end."""
    return np.concatenate([[0], np.cumsum([len(part) for part in lists], dtype=np.int64)]).astype(
        np.int64
    )

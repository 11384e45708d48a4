"""Trees of a guide, named by the same rules, with rivals of the Attribute Tree Process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans

from benchmarks.problems.region_selection import interval
from fieldguide.describe import AgglomerativeTree
from fieldguide.describe.tree import Tree
from fieldguide.guide.likeness import Likeness
from fieldguide.guide.tree_evidence import Evidence
from fieldguide.guide.trees import (
    GrownTree,
    WordTree,
    find_least,
    grow_by,
    grow_tree,
    put_into_words,
)
from fieldguide.metrics import purity

N_TRIALS = 5  # halvings of the number of parts
Parts = Callable[[np.ndarray, int], tuple[Tree, np.ndarray]]  # rows, number of parts


def compare_named(
    grown: list[GrownTree], evidence: Evidence, likeness: Likeness, y: np.ndarray
) -> dict[str, list[str]]:
    """Return branches and purity of every method, by words and in all.

    Of ours they are means over seeds; rivals are grown once, with as many branches."""
    n_words, n_all = (
        round(np.mean([len(np.unique(find_labels(tree, whole=whole))) for tree in grown]))
        for whole in (False, True)
    )
    found = {"Attribute Tree Process": (grown, grown)}
    for name, parts in (("Ward", part_by_ward), ("k-means", part_by_means)):
        pair = (
            [match(parts, n_words, evidence, likeness, whole=False)],
            [match(parts, n_all, evidence, likeness, whole=True)],
        )
        found[name] = pair
    grow = partial(grow_parts, part_by_density, 0.0, len(y))
    for name, tree in (
        ("HDBSCAN", grow_by(grow, evidence, likeness, 0)),
        ("FBLM", grow_tree(evidence, likeness, "bernoulli")),
    ):
        found[name] = [tree], [tree]
    return {
        name: [*_judge(by_words, y, whole=False), *_judge(in_all, y, whole=True)]
        for name, (by_words, in_all) in found.items()
    }


def _judge(trees: list[GrownTree], y: np.ndarray, *, whole: bool) -> list[str]:
    labels = [find_labels(tree, whole=whole) for tree in trees]
    n_branches = np.mean([len(np.unique(at)) for at in labels])
    return [f"{n_branches:.0f}", interval([purity(at, y) for at in labels])]


def find_labels(grown: GrownTree, *, whole: bool) -> np.ndarray:
    """Return the branch of each specimen: any, or the deepest that has words."""
    tree = grown.described
    at = np.arange(len(tree.parent))
    if not whole:
        for v in np.flatnonzero(grown.is_likeness):
            at[v] = at[tree.parent[v]]
    labels: np.ndarray = at[tree.labels]
    return labels


def match(
    parts: Parts, n_branches: int, evidence: Evidence, likeness: Likeness, *, whole: bool
) -> GrownTree:
    """Return the rival's tree whose number of branches with specimens is nearest."""
    low, high = np.log(2e-3), np.log(0.25)  # parts for each specimen
    best: tuple[int, GrownTree] | None = None
    for _ in range(N_TRIALS):
        middle = (low + high) / 2
        grow = partial(grow_parts, parts, float(np.exp(middle)), len(likeness.X))
        tree = grow_by(grow, evidence, likeness, 0)
        n_found = len(np.unique(find_labels(tree, whole=whole)))
        if best is None or abs(n_found - n_branches) < best[0]:
            best = abs(n_found - n_branches), tree
        low, high = (middle, high) if n_found < n_branches else (low, middle)
    assert best is not None
    return best[1]


def grow_parts(
    parts: Parts, share: float, n_all: int, evidence: Evidence, _near: np.ndarray
) -> WordTree:
    """Return the tree in words of the parts that a rival makes of some specimens."""
    A = (np.nan_to_num(evidence.joined) >= 0.5).astype(float)
    tree, labels = parts(A, min(max(2, round(share * len(A))), len(A)))
    described = put_into_words(tree, labels, evidence, find_least(n_all))
    return WordTree(described, np.full(len(described.parent), np.nan), {})


def part_by_ward(A: np.ndarray, n_parts: int) -> tuple[Tree, np.ndarray]:
    fitted = AgglomerativeTree("ward", n_leaves=n_parts).fit(A)
    return fitted.tree_, fitted.labels_


def part_by_means(A: np.ndarray, n_parts: int) -> tuple[Tree, np.ndarray]:
    n_parts = min(n_parts, len(np.unique(A, axis=0)))
    return _hang(KMeans(n_parts, n_init=1, random_state=0).fit_predict(A))


def part_by_density(A: np.ndarray, n_parts: int) -> tuple[Tree, np.ndarray]:
    return _hang(HDBSCAN(min_cluster_size=5, metric="hamming", copy=True).fit_predict(A))


def _hang(labels: np.ndarray) -> tuple[Tree, np.ndarray]:
    """Return parts as the children of a root, what is in none (-1) at the root."""
    n_parts = int(labels.max(initial=-1)) + 1
    return Tree(np.array([-1] + [0] * n_parts), np.zeros(n_parts + 1)), labels + 1

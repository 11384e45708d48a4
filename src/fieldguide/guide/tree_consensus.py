"""One tree of many samples: each specimen goes where most of them put it and what looks like it.

Two branches of two samples are the same where the first words on the way to them are: *animal ›
bird* is *animal › bird*, whoever else is in it. Each specimen begins at the root and goes on to
the branch that most samples put it in, as long as no more of them leave it where it is.

The nearest specimens of one have a say: what samples say of them, on average, counts as much as
what they say of itself. A picture of which the words are unsure goes with those that look like it.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fieldguide.describe import DescribedTree

Way = tuple[str, ...]  # the first word of each branch from the root on


def find_consensus(
    trees: Sequence[DescribedTree], least: int, near: np.ndarray | None = None
) -> DescribedTree:
    """Return the tree that most of ``trees`` agree on.

    Parameters
    ----------
    trees : sequence of DescribedTree
        Of the same specimens.
    least : int
        Specimens of a branch.
    near : ndarray of shape (n, k), optional
        The nearest specimens of each, which have a say in where it goes; -1 for none.
    """
    n = len(trees[0].labels)
    votes: dict[Way, np.ndarray] = {}  # of each branch: how many trees have each specimen in it
    names: dict[Way, Counter[tuple[str, ...]]] = {}
    stays: dict[Way, np.ndarray] = {}  # the same of specimens that go no further
    for tree in trees:
        ways = find_ways(tree)
        for v, way in enumerate(ways):
            names.setdefault(way, Counter())[tree.words[v]] += 1
            here = tree.labels == v
            stays.setdefault(way, np.zeros(n, dtype=np.int32))[here] += 1
            for k in range(len(way) + 1):
                votes.setdefault(way[:k], np.zeros(n, dtype=np.int32))[here] += 1
    if near is not None and near.shape[1]:
        votes, stays = (
            {way: _add_near(said, near) for way, said in some.items()} for some in (votes, stays)
        )
    parent: list[int] = []
    words: list[tuple[str, ...]] = []
    labels = np.zeros(n, dtype=np.int64)

    def write(way: Way, rows: np.ndarray, above: int) -> None:
        node = len(parent)
        parent.append(above)
        words.append(names[way].most_common(1)[0][0])
        labels[rows] = node
        below = sorted(other for other in votes if other[:-1] == way and other)
        if not below:
            return
        found = np.stack([votes[other][rows] for other in below])
        goes = found.max(axis=0) >= np.maximum(stays[way][rows], 1)
        parts = [rows[goes & (found.argmax(axis=0) == j)] for j in range(len(below))]
        for j in sorted(range(len(below)), key=lambda j: (-len(parts[j]), j)):
            if len(parts[j]) >= least:
                write(below[j], parts[j], node)

    write((), np.arange(n), -1)
    return DescribedTree(np.array(parent), tuple(words), np.ones(len(parent)), labels)


def _add_near(said: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return k times the votes of each specimen, and one time those of its k nearest."""
    padded = np.append(said, 0)  # at -1
    total: np.ndarray = near.shape[1] * said + padded[near].sum(axis=1, dtype=said.dtype)
    return total


def find_ways(tree: DescribedTree) -> list[Way]:
    """Return the first words on the way to each branch."""
    ways: list[Way] = [()]
    for v in range(1, len(tree.parent)):
        ways.append((*ways[tree.parent[v]], tree.words[v][0]))
    return ways

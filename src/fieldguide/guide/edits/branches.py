"""Branches of a tree that edits are about, found again in another tree.

A rebuild may grow another tree, and number it otherwise. An edit of a branch keeps its path in
words and its specimens, by the beginnings of their digests: all of them where the branch becomes a
kind, else those with the smallest digests, up to 200. Digests are as good as random, so these are a
fair sample, and below the largest of them the sample is complete: there, what a branch of another
tree shares with it can be counted.
"""

from collections.abc import Sequence

import numpy as np

from fieldguide.guide.edits.hand import BEGINNING
from fieldguide.guide.edits.records import BRANCH, Target

SAMPLE = 200  # specimens that tell a branch
LEAST_SHARED = 0.5  # of the specimens in either, that a branch must share to be the same one


class TreeIndex:
    """Finds the branches that edits are about.

    Parameters
    ----------
    parents : sequence of int or None
        The branch above each; the first is the whole collection.
    sentences : sequence of str
        The path to each branch, in the words of the build.
    places : sequence of int
        Where each specimen sits.
    digests : sequence of str
        Of each specimen.
    """

    def __init__(
        self,
        parents: Sequence[int | None],
        sentences: Sequence[str],
        places: Sequence[int],
        digests: Sequence[str],
    ) -> None:
        self._parents = parents
        self._sentences = sentences
        self._places = np.asarray(places, dtype=np.int64)
        self._beginnings = np.array([digest[:BEGINNING] for digest in digests], dtype=str)

    def describe(self, branch: int, *, is_whole: bool = False) -> Target:
        """Return a branch as the target of an edit, with all its specimens or a sample."""
        below = [v for v in range(len(self._parents)) if branch in self._list_above(v)]
        found = np.sort(self._beginnings[np.isin(self._places, below)])
        kept = found if is_whole else found[:SAMPLE]
        return Target(
            BRANCH, self._sentences[branch], count=len(found), specimens=tuple(kept.tolist())
        )

    def find(self, target: Target) -> int | None:
        """Return the branch that shares most specimens with the target; None where none does.

        It shares at least half of those in either, or some and has the same path in words.
        """
        same = [v for v, sentence in enumerate(self._sentences) if sentence == target.name]
        if not target.specimens:
            return same[0] if len(same) == 1 else None
        is_all = len(target.specimens) >= target.count
        reach = np.ones(len(self._places), dtype=bool)
        if not is_all:
            reach = self._beginnings <= max(target.specimens)
        own = reach & np.isin(self._beginnings, target.specimens)
        n_both, n_here = self._count(own), self._count(reach)
        shared = n_both / np.maximum(n_here + len(target.specimens) - n_both, 1)
        shared[0] = -1  # the whole collection is no branch to name or hide
        best = max(range(len(shared)), key=lambda v: (shared[v], v in same, v))
        if shared[best] >= LEAST_SHARED:
            return best
        return next((v for v in same if shared[v] > 0), None)

    def _count(self, is_counted: np.ndarray) -> np.ndarray:
        """Return how many specimens of some sit at each branch and below."""
        counts = np.bincount(self._places[is_counted], minlength=len(self._parents)).astype(float)
        for v in range(len(counts) - 1, 0, -1):
            counts[self._parents[v]] += counts[v]
        return counts

    def _list_above(self, branch: int) -> list[int]:
        path = [branch]
        while (parent := self._parents[path[-1]]) is not None:
            path.append(parent)
        return path

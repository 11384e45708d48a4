"""Two trees side by side: which branches are the same in both, and which specimens moved.

Branches a of one tree and b of the other share the specimens that both hold, here or below. They
are paired so that the sum over pairs of

    |a ∩ b| / |a ∪ b|

is largest (the assignment problem); the two roots are a pair, and pairs under ``LEAST_LIKENESS``
are none. A specimen has stayed when each tree has it in the branch that the other one's branch of
it is paired with, or below; otherwise it moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fieldguide.errors import GuideError
from fieldguide.metrics import ancestor_matrix

if TYPE_CHECKING:
    from fieldguide.guide.guide import Guide

LEAST_LIKENESS = 0.2


@dataclass(frozen=True)
class Pair:
    """A branch of each tree; None where one has no counterpart."""

    first: int | None
    second: int | None
    n_first: int  # specimens, of those that both guides have
    n_second: int
    n_both: int


@dataclass(frozen=True)
class Move:
    """Specimens that sit at one branch of the first tree and at another of the second."""

    first: int
    second: int
    rows: tuple[int, ...]  # of the shared specimens


@dataclass(frozen=True)
class Comparison:
    """What two trees of the same specimens have in common."""

    shared: tuple[tuple[int, int], ...]  # ids of each shared specimen in the first and the second
    pairs: tuple[Pair, ...]  # in the order of the first tree, then what only the second has
    moves: tuple[Move, ...]  # largest first

    @property
    def n_moved(self) -> int:
        """Specimens that moved."""
        return sum(len(move.rows) for move in self.moves)


def compare_guides(first: "Guide", second: "Guide") -> Comparison:
    """Compare the trees of two guides, by the images that both hold."""
    shared = share_specimens(first.digests, second.digests)
    if not shared:
        raise GuideError(
            f"The guides {first.title!r} and {second.title!r} have no image in common, so their "
            "trees cannot be compared; give two guides of one collection."
        )
    parents, labels = [], []
    for k, guide in enumerate((first, second)):
        parents.append([-1 if b.parent is None else b.parent for b in guide.branches])
        specimens = guide.specimens([ids[k] for ids in shared])
        labels.append([specimen.branch for specimen in specimens])
    pairs, moves = compare_trees(parents[0], labels[0], parents[1], labels[1])
    return Comparison(tuple(shared), tuple(pairs), tuple(moves))


def share_specimens(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of equal digests in both lists; copies of an image are paired in order."""
    places: dict[str, list[int]] = {}
    for j, digest in enumerate(second):
        places.setdefault(digest, []).append(j)
    shared = []
    for i, digest in enumerate(first):
        if places.get(digest):
            shared.append((i, places[digest].pop(0)))
    return shared


def compare_trees(
    parent_1: Sequence[int],
    labels_1: Sequence[int],
    parent_2: Sequence[int],
    labels_2: Sequence[int],
) -> tuple[list[Pair], list[Move]]:
    """Pair the branches of two trees of the same rows, and find the rows that moved.

    ``parent`` is in pre-order with -1 for the root; ``labels`` is the node of each row.
    """
    above_1, above_2 = ancestor_matrix(parent_1), ancestor_matrix(parent_2)
    inside_1, inside_2 = above_1[np.asarray(labels_1)], above_2[np.asarray(labels_2)]
    both = inside_1.T @ inside_2
    n_1, n_2 = inside_1.sum(axis=0), inside_2.sum(axis=0)
    likeness = both / np.maximum(n_1[:, None] + n_2 - both, 1)
    partner = _pair_up(likeness)
    pairs = []
    for a in range(len(parent_1)):
        b = partner.get(a)
        counts = (n_2[b], both[a, b]) if b is not None else (0, 0)
        pairs.append(Pair(a, b, int(n_1[a]), *map(int, counts)))
    lonely = sorted(set(range(len(parent_2))) - set(partner.values()))
    pairs += [Pair(None, b, 0, int(n_2[b]), 0) for b in lonely]
    back = {b: a for a, b in partner.items()}
    moved: dict[tuple[int, int], list[int]] = {}
    for row, (a, b) in enumerate(zip(labels_1, labels_2, strict=True)):
        there = partner[_nearest(a, parent_1, partner)]
        here = back[_nearest(b, parent_2, back)]
        if not (inside_2[row, there] and inside_1[row, here]):
            moved.setdefault((int(a), int(b)), []).append(row)
    moves = [Move(a, b, tuple(rows)) for (a, b), rows in moved.items()]
    return pairs, sorted(moves, key=lambda move: (-len(move.rows), move.first, move.second))


def describe_comparison(first: "Guide", second: "Guide", comparison: Comparison) -> str:
    """Say in one or two sentences how far two trees agree."""
    n_shared = len(comparison.shared)
    n_paired = sum(None not in (pair.first, pair.second) for pair in comparison.pairs) - 1
    share = comparison.n_moved / n_shared
    return (
        f"The trees have {n_shared:,} specimens in common. "
        f"{n_paired:,} of {len(first.branches) - 1:,} branches of the first have a counterpart "
        f"among the {len(second.branches) - 1:,} of the second, and {comparison.n_moved:,} "
        f"specimens ({share:.0%}) moved."
    )


def _pair_up(likeness: np.ndarray) -> dict[int, int]:
    """Return the partner of each node of the first tree that has one; the roots are a pair."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-likeness[1:, 1:])
    partner = {0: 0}
    for a, b in zip(rows + 1, columns + 1, strict=True):
        if likeness[a, b] >= LEAST_LIKENESS:
            partner[int(a)] = int(b)
    return partner


def _nearest(node: int, parent: Sequence[int], partner: dict[int, int]) -> int:
    """Return the nearest node, from ``node`` up, that has a partner."""
    while node not in partner:
        node = parent[node]
    return int(node)

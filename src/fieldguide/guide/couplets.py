"""A key with a graph as a printed key: numbered couplets, the first question first.

A couplet is a node of the decision graph. Couplets are numbered by their distance from the first,
so that whoever lists or draws a few of them has the ones that every specimen meets.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from fieldguide.guide.views import Couplet, Exemplar
from fieldguide.identify import BOTH, LEFT, RIGHT, DecisionGraph

Ways = tuple[tuple[Exemplar, ...], ...]


def make_couplets(
    graph: DecisionGraph, kinds: Sequence[str], examples: Mapping[int, Ways] | None = None
) -> tuple[Couplet, ...]:
    """Return the nodes of a graph whose classes are ``kinds``, nearest to the root first.

    ``examples`` are specimens of some nodes that went left, both ways and right.
    """
    depth = {0: 0} if graph.n_nodes else {}
    order = list(depth)
    for node in order:  # grows while it is read: nodes are met level by level
        for child in (int(graph.left[node]), int(graph.right[node])):
            if child >= 0 and child not in depth:
                depth[child] = depth[node] + 1
                order.append(child)
    number = {node: place for place, node in enumerate(order, start=1)}

    def going(node: int, way: int) -> tuple[str, ...]:
        return tuple(kinds[int(k)] for k in np.flatnonzero(graph.colors[node] == way))

    def end(child: int) -> tuple[str, ...]:
        return () if child >= 0 else tuple(kinds[k] for k in leaf_classes(graph, -1 - child))

    return tuple(
        Couplet(
            number=number[node],
            node=node,
            depth=depth[node],
            minus=going(node, LEFT),
            both=going(node, BOTH),
            plus=going(node, RIGHT),
            to_minus=number.get(int(graph.left[node])),
            to_plus=number.get(int(graph.right[node])),
            minus_end=end(int(graph.left[node])),
            plus_end=end(int(graph.right[node])),
            examples=(examples or {}).get(node, ((), (), ())),
        )
        for node in order
    )


def leaf_classes(graph: DecisionGraph, leaf: int) -> np.ndarray:
    """Return the classes that a leaf leaves open, the one that it is named by first."""
    own = int(graph.leaf_class[leaf])
    others = graph.leaf_counts[[leaf]].indices
    return np.array([own, *sorted(int(k) for k in others if k != own)])


def find_way(couplets: Sequence[Couplet], kind: str) -> list[tuple[Couplet, int]]:
    """Return the shortest way to a kind: couplets, and −1 or +1 for the side to take at each.

    Empty where no way that the kind goes ends with its name first.
    """
    before: dict[int, tuple[int, int]] = {}
    order = [1] if couplets else []
    for number in order:  # grows while it is read
        couplet = couplets[number - 1]
        ways = [(-1, couplet.minus, couplet.to_minus, couplet.minus_end)]
        ways += [(1, couplet.plus, couplet.to_plus, couplet.plus_end)]
        for side, only, to, end in ways:
            if kind not in only and kind not in couplet.both:
                continue
            if end and end[0] == kind:
                steps = [(number, side)]
                while steps[-1][0] in before:
                    steps.append(before[steps[-1][0]])
                return [(couplets[n - 1], sign) for n, sign in reversed(steps)]
            if to is not None and to not in before and to != 1:
                before[to] = number, side
                order.append(to)
    return []


class Agreement(NamedTuple):
    """How alike two keys are in which kinds they part, and when."""

    n_pairs: int  # pairs of kinds that both keys have
    same_first: float  # share of them that the first couplets of both part, or neither
    by_chance: float  # that share for unrelated keys whose first couplets part as many
    apart: float  # mean difference between the couplets on the way to where a pair parts


def compare_keys(one: Sequence[Couplet], other: Sequence[Couplet]) -> Agreement | None:
    """Compare which kinds two keys part, and when; None where they share fewer than two."""
    shared = sorted(_kinds_of(one) & _kinds_of(other))
    if len(shared) < 2:
        return None
    pairs = np.array(list(combinations(range(len(shared)), 2)))
    depths = [part_depths(couplets, shared)[tuple(pairs.T)] for couplets in (one, other)]
    first, second = (depth == 0 for depth in depths)
    p, q = first.mean(), second.mean()
    return Agreement(
        len(pairs),
        float((first == second).mean()),
        float(p * q + (1 - p) * (1 - q)),
        float(np.abs(depths[0] - depths[1]).mean()),
    )


def part_depths(couplets: Sequence[Couplet], kinds: Sequence[str]) -> np.ndarray:
    """Return how many couplets come before the first one that parts two kinds, for each two.

    One past the deepest couplet for two kinds that none parts.
    """
    place = {kind: k for k, kind in enumerate(kinds)}
    last = 1 + max((couplet.depth for couplet in couplets), default=-1)
    depths = np.full((len(kinds), len(kinds)), last)
    for couplet in couplets:  # from the first on: no later one is nearer
        left = [place[kind] for kind in couplet.minus if kind in place]
        right = [place[kind] for kind in couplet.plus if kind in place]
        for block in (np.ix_(left, right), np.ix_(right, left)):
            depths[block] = np.minimum(depths[block], couplet.depth)
    return depths


def _kinds_of(couplets: Sequence[Couplet]) -> set[str]:
    first = couplets[0]
    return {*first.minus, *first.both, *first.plus}

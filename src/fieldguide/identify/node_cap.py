"""A tree within a cap on its nodes, in which as many rows go both ways as fit.

A part of a tree can be split in two ways: *relaxed*, where hard rows go to both children, and
*strict*, where each row goes to one.

1. The relaxed tree is grown whole. If it fits within the cap, that is all.
2. Otherwise the first m parts, level by level, are split as in the relaxed tree, and every part
   below them strictly. Bisection finds an m that fits where m + 1 does not.
3. If even the strict tree is too large, it grows first where a class would otherwise be the name of
   no leaf, and then everywhere, until it has as many nodes as the cap allows.

What becomes of a part depends on that part alone, so that none is split twice in the same way.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

_LEAST_WAVE = 64  # parts that are split together, also near the cap: threads have something to do


class Rules(NamedTuple):
    """How parts are split. What a split returns has ``left`` and ``right``, two parts.

    In its place a number says why the part is a leaf.
    """

    relaxed: Callable[[list[Any]], list[Any]]
    strict: Callable[[list[Any]], list[Any]] | None  # None where the relaxed split is strict too
    name: Callable[[Any], tuple[set[int], int]]  # classes of a part, and the one that a leaf names
    end: Callable[[Any], int]  # why a part is a leaf that the cap keeps from being split


@dataclass(slots=True, eq=False)
class Branch:
    """A part of the tree, and what became of it."""

    part: Any
    found: Any = None  # the split, or why it is a leaf; None as long as nobody has asked
    children: tuple["Branch", ...] = ()
    twin: "Branch | None" = None  # the same part, split strictly


def grow_within(part: Any, rules: Rules, max_nodes: int) -> tuple[Branch, bool]:
    """Return the tree of a part, and whether the cap changed it."""
    root = Branch(part)
    if _grow([root], rules.relaxed, max_nodes):
        return root, False
    if rules.strict is None:
        _grow_for_names(root, rules.relaxed, rules, max_nodes)
        return root, True
    every = walk(root)
    n_asked = sum(branch.found is not None for branch in every)  # these come first
    if not _fits(every, 0, rules.strict, max_nodes):
        assert root.twin is not None
        _grow_for_names(root.twin, rules.strict, rules, max_nodes)
        return root.twin, True
    fits, exceeds = 0, n_asked
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        if _fits(every, middle, rules.strict, max_nodes):
            fits = middle
        else:
            exceeds = middle
    for branch in _below(every, fits):
        assert branch.twin is not None
        branch.found, branch.children = branch.twin.found, branch.twin.children
    return root, True


def walk(root: Branch) -> list[Branch]:
    """Return all parts of a tree, level by level."""
    every = [root]
    for branch in every:  # grows while it is read
        every += branch.children
    return every


def _below(every: list[Branch], n_first: int) -> list[Branch]:
    """Return the parts right below the first ones of a tree, level by level."""
    n_nodes = sum(bool(branch.children) for branch in every[:n_first])
    return every[n_first : 1 + 2 * n_nodes]


def _fits(every: list[Branch], n_first: int, strict: Callable[..., Any], max_nodes: int) -> bool:
    """Return whether the tree fits if all but its first parts are split strictly."""
    n_nodes = sum(bool(branch.children) for branch in every[:n_first])
    if n_nodes > max_nodes:
        return False
    below = _below(every, n_first)
    for branch in below:
        branch.twin = branch.twin or Branch(branch.part)
    return _grow([branch.twin for branch in below if branch.twin], strict, max_nodes - n_nodes)


def _grow(branches: list[Branch], split: Callable[..., Any], room: int) -> bool:
    """Split branches and all that comes of them; stop and return False beyond ``room`` nodes."""
    n_nodes, waiting = 0, branches
    while waiting and n_nodes <= room:
        size = max(_LEAST_WAVE, room - n_nodes + 1)
        wave, waiting = waiting[:size], waiting[size:]
        _ask(wave, split)
        for branch in wave:
            n_nodes += bool(branch.children)
            waiting += branch.children
    return n_nodes <= room


def _grow_for_names(root: Branch, split: Callable[..., Any], rules: Rules, max_nodes: int) -> None:
    """Split where a class is the name of no leaf, then everywhere; cut off what is too much."""
    ends, n_nodes = [root], 0
    while n_nodes < max_nodes:
        known = [rules.name(branch.part) for branch in ends]
        named = {name for _, name in known}
        n_lost = {
            branch: len(classes - named)
            for branch, (classes, _) in zip(ends, known, strict=True)
            if not isinstance(branch.found, int)
        }
        if not n_lost:
            return
        first = sorted(n_lost, key=lambda branch: -n_lost[branch])
        if n_lost[first[0]]:
            first = [branch for branch in first if n_lost[branch]]
        wave = first[: max_nodes - n_nodes]
        _ask(wave, split)
        n_nodes += sum(bool(branch.children) for branch in wave)
        opened = set(wave)
        ends = [
            end
            for branch in ends
            for end in (branch.children if branch in opened and branch.children else (branch,))
        ]
    for branch in ends:
        if not isinstance(branch.found, int):
            branch.found, branch.children = rules.end(branch.part), ()


def _ask(branches: list[Branch], split: Callable[..., Any]) -> None:
    """Split those branches that were not split before."""
    new = [branch for branch in branches if branch.found is None]
    if not new:
        return
    for branch, found in zip(new, split([branch.part for branch in new]), strict=True):
        branch.found = found
        if not isinstance(found, int):
            branch.children = (Branch(found.left), Branch(found.right))

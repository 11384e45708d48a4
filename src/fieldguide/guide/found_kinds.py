"""Kinds of a collection that has no labels: branches of its tree.

Nobody has named these kinds. They are found: the key learns to tell branches apart, marks and
plates are those of branches, and *identify* answers with one. What a key of them scores on held-out
specimens is how often it agrees with the tree, and no accuracy: the tree has seen the specimens.

Which branches: from the whole collection down, a branch gives way to those below it while at least
two of them are large enough and named by words, and together hold most of it; else it is a kind.
Branches by likeness alone serve where words part nothing. Specimens that are in none of the chosen
branches have no kind, and the key says where they would belong. What the owner calls a branch or a
specimen by an edit is its kind, beside those that are found.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fieldguide.guide import specimens, trees
from fieldguide.guide.specimens import Table
from fieldguide.guide.summaries import list_children
from fieldguide.guide.trees import GrownTree
from fieldguide.guide.workspace import Workspace

NAME = "found_kinds"
LABELS, BRANCHES = "labels", "branches"  # where the kinds of a guide come from
LEAST = 5  # specimens of a kind, or this share of all if that is more:
LEAST_SHARE = 1 / 200
_MOST_LOST = 0.5  # share of a branch that may be in none of those that it gives way to
BECAUSE = "Without labels, the kinds are branches of the tree: found, and not given."
_TOO_FEW = (
    "Without labels, kinds would be branches of the tree, but {}: there are no kinds and no key."
)


class FoundKinds(NamedTuple):
    """Branches that serve as kinds."""

    branches: dict[str, int]  # by the name of the kind
    kinds: list[str | None]  # of each specimen


def build(work: Workspace) -> None:
    """Give the specimens of a collection without labels the branches of the tree as kinds."""
    table: Table = work.built[specimens.NAME]
    if any(work.collection.items[i].kind is not None for i in table.item_rows):
        work.info["kinds_from"] = LABELS
        return
    grown: GrownTree = work.built[trees.NAME]
    found = find_kinds(grown)
    named = sum(kind is not None for kind in table.kinds)  # by the owner's edits
    table.kinds = [table.hand.label(i, kind) for i, kind in enumerate(found.kinds)]
    if found.branches:
        work.info["kinds_from"] = BRANCHES
        why = BECAUSE + (f" The owner has named {named:,} specimens since." if named else "")
    else:
        work.info["kinds_from"] = LABELS if named else None
        why = tell_none(grown)
    work.info["kind_branches"] = {
        name: b for name, b in found.branches.items() if name in table.kinds
    }
    work.info["kinds_because"] = f"{work.collection.kinds_because} {why}".strip()


def are_found(info: dict[str, Any]) -> bool:
    """Whether the kinds of a guide are branches of its tree, by its guide.json."""
    return info.get("kinds_from") == BRANCHES


def find_kinds(grown: GrownTree) -> FoundKinds:
    """Return the branches of a tree that serve as kinds; none where there are no two."""
    described = grown.described
    parent, labels = described.parent, described.labels
    n_below = count_below(parent, labels)
    chosen = choose_branches(parent, n_below, grown.is_likeness)
    if len(chosen) < 2:
        return FoundKinds({}, [None] * len(labels))
    names = name_branches(chosen, parent, described.words)
    name_of = dict(zip(chosen, names, strict=True))
    above = np.full(len(parent), -1)  # the chosen branch that each branch lies in
    for b in range(len(parent)):
        above[b] = b if b in name_of else (above[parent[b]] if b else -1)
    kinds = [name_of.get(int(above[label])) for label in labels]
    return FoundKinds({name: b for b, name in name_of.items()}, kinds)


def count_below(parent: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return how many specimens sit at each branch or below it."""
    counts = np.bincount(labels, minlength=len(parent))
    for b in range(len(parent) - 1, 0, -1):  # pre-order: children come after their parents
        counts[parent[b]] += counts[b]
    return counts


def choose_branches(parent: np.ndarray, n_below: np.ndarray, is_likeness: np.ndarray) -> list[int]:
    """Return branches none of which lies in another, in order; see the module.

    Examples
    --------
    >>> import numpy as np
    >>> parent, n_below = np.array([-1, 0, 1, 1, 0]), np.array([60, 40, 25, 15, 20])
    >>> choose_branches(parent, n_below, np.zeros(5, dtype=bool))
    [2, 3, 4]
    """
    least = max(LEAST, int(n_below[0] * LEAST_SHARE))
    children = list_children(parent)
    chosen: list[int] = []
    pending = [0]
    while pending:
        b = pending.pop()
        large = [c for c in children[b] if n_below[c] >= least]
        worded = [c for c in large if not is_likeness[c]]
        is_wordless = (b == 0 or is_likeness[b]) and len(worded) < 2
        below = large if is_wordless else worded
        is_most = sum(n_below[c] for c in below) >= (1 - _MOST_LOST) * n_below[b]
        # A single branch below the whole collection is the collection once more.
        if (len(below) >= 2 and is_most) or (b == 0 and below):
            pending += below
        elif b:
            chosen.append(b)
    return sorted(chosen)


def name_branches(
    chosen: Sequence[int], parent: np.ndarray, words: Sequence[Sequence[str]]
) -> list[str]:
    """Return a name for each branch: its words, with those above it where two would be alike."""
    paths: list[list[str]] = []
    for b in chosen:
        path = []
        while b > 0:
            path.append(", ".join(words[b]))
            b = int(parent[b])
        paths.append(path)
    names = [path[0] for path in paths]
    for depth in range(2, max(map(len, paths), default=0) + 1):
        names = [
            " › ".join(reversed(path[:depth])) if names.count(name) > 1 else name
            for name, path in zip(names, paths, strict=True)
        ]
    return [
        name if names.count(name) == 1 else f"{name} ({b})"
        for name, b in zip(names, chosen, strict=True)
    ]


def tell_none(grown: GrownTree) -> str:
    """Say why a collection without labels has no kinds."""
    n, n_branches = len(grown.described.labels), len(grown.described.parent) - 1
    if n == 1:
        return _TOO_FEW.format("a single picture has no others to be told from")
    if not n_branches:
        return _TOO_FEW.format(f"nothing parts its {n:,} pictures into branches")
    return _TOO_FEW.format(f"its tree has no two branches of {LEAST} specimens or more")

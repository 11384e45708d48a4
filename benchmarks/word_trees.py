"""Trees of aPascal made by hand from what its words can carry: how near a tree of words can come.

Every kind is a node of its own below the groups that a word names: *animal*, *vehicle*, *alive*.
No word says *indoor* or *household*, so that these kinds hang from the root; *Furn. Back* gathers
chairs and sofas. Persons are one node, or are parted by what is seen of them.
"""

from collections.abc import Iterator

import numpy as np

from fieldguide.datasets.apascal import TAXONOMIES

_FURNITURE = ("chair", "sofa")
_SMALLER = {
    **dict.fromkeys(("cat", "dog"), "pet"),
    **dict.fromkeys(("cow", "horse"), "Furry"),
    **dict.fromkeys(("bicycle", "motorbike"), "Handlebars"),
    **dict.fromkeys(("bus", "car"), "3D Boxy"),
}


def make_word_trees(
    A: np.ndarray, names: list[str], y: np.ndarray
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield what each tree is, the parents of its nodes, and the node of each row."""
    seen = [A[:, names.index(word)] > 0 for word in ("Nose", "Leg")]
    parts = {
        "in one node": [()] * len(y),
        "by their faces": [("face",) if face else () for face in seen[0]],
        "by faces and legs": [
            ("face",) if face else ("legs",) if legs else ()
            for face, legs in zip(*seen, strict=True)
        ],
    }
    for groups in ("animal, vehicle", "alive, animal, vehicle", "also smaller groups"):
        for how, part in parts.items():
            ways = [_place(kind, groups) for kind in y]
            found = [
                way + own if kind == "person" else way
                for way, own, kind in zip(ways, part, y, strict=True)
            ]
            yield f"{groups}; persons {how}", *_hang(found)


def _place(kind: str, groups: str) -> tuple[str, ...]:
    """Return the groups of a kind, and the kind itself."""
    if kind in _FURNITURE:
        return "Furn. Back", kind
    above: tuple[str, ...] = TAXONOMIES["alive"][kind]
    if not groups.startswith("alive"):
        above = tuple(group for group in above if group != "alive")
    if "indoor" in above:
        above = ()
    if groups == "also smaller groups" and kind in _SMALLER:
        above = (*above, _SMALLER[kind])
    return *above, kind


def _hang(ways: list[tuple[str, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the tree of all ways from the root, and the node at the end of each."""
    found = sorted({way[:k] for way in ways for k in range(len(way) + 1)})
    number = {way: v for v, way in enumerate(found)}
    parent = [-1, *(number[way[:-1]] for way in found[1:])]
    return np.array(parent), np.array([number[way] for way in ways])

"""Whether branches form a tree, and branches and kinds say of specimens what can be.

Both come as rows of the catalogue, whose lists are JSON.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fieldguide.guide.validation.shapes import (
    Shape,
    UnsoundError,
    list_of,
    one_of,
    or_none,
    row_of,
    share,
    text,
    whole,
)

_WORD = text()
_NAME = text(32_768)  # of a kind: that of a folder, or a label


def check_branches(rows: Iterable[tuple[Any, ...]], n_specimens: int) -> int:
    """Refuse branches that are no tree in pre-order; return how many there are."""
    shapes: dict[str, Shape] = {
        "depth": whole(0, n_specimens),
        "words": list_of(_WORD, 1000),
        "likeness": one_of(0, 1),
        "count": whole(0, n_specimens),
        "here": whole(0, n_specimens),
        "truth": share(),
        "stability": or_none(share()),
        "exemplars": list_of(whole(0, n_specimens - 1), n_specimens),
        "kinds": list_of(row_of(_NAME, whole(0, n_specimens))),
        "last": whole(),
    }
    parents: list[int] = []
    counts, totals, ends = [], [], []
    path: list[int] = []  # from the whole collection down to the branch before
    for number, (given, parent, *values) in enumerate(rows):
        place = f"branch {number}"
        if given != number:
            raise UnsoundError(f"it holds no {place}, and holds branch {given}")
        branch = _read(shapes, values, place)
        del path[branch["depth"] :]
        is_placed = branch["depth"] == len(path) and parent == (path[-1] if path else None)
        if not is_placed or (number > 0) != bool(path):
            raise UnsoundError(f"{place} must be below a branch that comes before it in the tree")
        if branch["count"] and not branch["exemplars"]:
            raise UnsoundError(f"{place} must have exemplars")
        if bool(branch["words"]) != bool(number):
            raise UnsoundError(f"{place} must have a name, unless it is the whole collection")
        path.append(number)
        parents.append(parent)
        counts.append(branch["count"])
        totals.append(branch["here"])
        ends.append(branch["last"])
    if not parents:
        raise UnsoundError("it holds no branch, not even the whole collection")
    _check_sums(parents, counts, totals, ends)
    if counts[0] != n_specimens:
        raise UnsoundError(f"the tree holds {counts[0]} specimens of {n_specimens}")
    return len(parents)


def _check_sums(parents: list[int], counts: list[int], totals: list[int], ends: list[int]) -> None:
    """Every branch counts what is here and below, and says which branch is the last below it."""
    last = list(range(len(parents)))
    for number in range(len(parents) - 1, -1, -1):
        if counts[number] != totals[number] or ends[number] != last[number]:
            raise UnsoundError(
                f"branch {number} must count {totals[number]} specimens and end at branch "
                f"{last[number]}; got {counts[number]} and {ends[number]}"
            )
        if number:
            totals[parents[number]] += totals[number]
            last[parents[number]] = max(last[parents[number]], last[number])


def check_kinds(rows: Iterable[tuple[Any, ...]], n_specimens: int, n_branches: int) -> list[str]:
    """Refuse kinds that name specimens, branches or other kinds that there are not; return their
    names."""
    shapes: dict[str, Shape] = {
        "slug": text(pattern="[a-z0-9][a-z0-9-]{0,80}"),
        "count": whole(1, n_specimens),
        "exemplars": list_of(whole(0, n_specimens - 1), n_specimens),
        "words": list_of(row_of(_WORD, share(), share()), 1000),
        "recall": or_none(share()),
        "look_alikes": list_of(row_of(_NAME, share())),
        "branches": list_of(row_of(whole(0, n_branches - 1), whole(0, n_specimens))),
    }
    names, alike = [], []
    for name, *values in rows:
        _NAME(name, "the name of a kind")
        kind = _read(shapes, values, f"kind {name[:60]!r}")
        if not kind["exemplars"]:
            raise UnsoundError(f"kind {name[:60]!r} must have exemplars")
        names.append(name)
        alike += [other for other, _ in kind["look_alikes"]]
    unknown = sorted(set(alike).difference(names))
    if unknown:
        raise UnsoundError(f"a kind looks like {unknown[0][:60]!r}, which is no kind of the guide")
    return names


def _read(shapes: Mapping[str, Shape], values: list[Any], place: str) -> dict[str, Any]:
    """Return the values of a row by name, each checked; lists are read from their JSON."""
    read = {}
    for (name, shape), value in zip(shapes.items(), values, strict=True):
        if isinstance(value, str) and value.startswith("["):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                raise UnsoundError(f"{name} of {place} is no list") from None
        shape(value, f"{name} of {place}")
        read[name] = value
    return read

"""The index at the back of the guide: kinds and words from A to Z, each with where to look."""

import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fieldguide.guide import Guide

_MOST_REFERENCES = 6


@dataclass
class Entry:
    """One line of the index."""

    name: str
    count: int
    kind: str | None = None  # a kind of this name
    branch: int | None = None  # the branch that the word names
    see: list[str] = field(default_factory=list)  # kinds that the word sets apart


def letters(guide: "Guide") -> list[tuple[str, list[Entry]]]:
    """Entries by their first letter; what begins with no letter comes first, under ``"#"``."""
    set_apart = defaultdict(list)
    for kind in guide.kinds:
        for word in kind.words:
            set_apart[word.name].append((word.elsewhere - word.share, kind.name))
    entries = [Entry(kind.shown, kind.count, kind=kind.name) for kind in guide.kinds]
    for name, count, branch in guide.words:
        strongest = sorted(pair for pair in set_apart[name] if guide.shown_name(pair[1]) != name)
        entries.append(
            Entry(
                name, count, branch=branch, see=[kind for _, kind in strongest[:_MOST_REFERENCES]]
            )
        )
    entries.sort(key=lambda entry: (_letter(entry.name), _plain(entry.name), entry.kind is None))
    return [(letter, list(group)) for letter, group in groupby(entries, lambda e: _letter(e.name))]


def _plain(name: str) -> str:
    """Spell a name without accents and case, for sorting."""
    decomposed = unicodedata.normalize("NFKD", name)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def _letter(name: str) -> str:
    first = _plain(name)[:1].upper()
    return first if first.isalpha() else "#"

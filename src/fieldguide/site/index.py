"""The index at the back of the guide: kinds, then words by where they come from, from A to Z."""

import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from fieldguide._languages import say
from fieldguide.site.phrases import name_source, rank_source

if TYPE_CHECKING:
    from fieldguide.guide import Guide

_MOST_REFERENCES = 6
_FEW = 40  # entries that need no letters


@dataclass
class Entry:
    """One line of the index."""

    name: str
    count: int
    kind: str | None = None  # a kind of this name
    word: str | None = None  # or a word
    see: list[str] = field(default_factory=list)  # kinds that the word sets apart


@dataclass(frozen=True)
class Section:
    """Kinds, or the words of one source."""

    title: str
    count: int
    letters: list[tuple[str, list[Entry]]]  # one letter, "", where there are few entries


def sections(guide: "Guide") -> list[Section]:
    """Entries of the index: kinds first, then words by their source, in the order of SOURCES."""
    set_apart = defaultdict(list)
    for kind in guide.kinds:
        for word in kind.words:
            set_apart[word.name].append((word.elsewhere - word.share, kind.name))
    kinds = [Entry(kind.shown, kind.count, kind=kind.name) for kind in guide.kinds]
    by_source = defaultdict(list)
    for name, count, _ in guide.words:
        strongest = sorted(pair for pair in set_apart[name] if guide.shown_name(pair[1]) != name)
        see = [kind for _, kind in strongest[:_MOST_REFERENCES]]
        by_source[guide.sources.get(name, "")].append(Entry(name, count, word=name, see=see))
    ordered = sorted(by_source, key=lambda source: (rank_source(source), source))
    found = [(say("Kinds"), kinds)] if kinds else []
    found += [
        (name_source(source) if source else say("Words"), by_source[source]) for source in ordered
    ]
    return [Section(title, len(entries), _by_letter(entries)) for title, entries in found]


def _by_letter(entries: list[Entry]) -> list[tuple[str, list[Entry]]]:
    """Entries by their first letter; what begins with no letter comes first, under ``"#"``."""
    entries = sorted(entries, key=lambda entry: (_letter(entry.name), _plain(entry.name)))
    if len(entries) <= _FEW:
        return [("", entries)]
    return [(letter, list(group)) for letter, group in groupby(entries, lambda e: _letter(e.name))]


def _plain(name: str) -> str:
    """Spell a name without accents and case, for sorting."""
    decomposed = unicodedata.normalize("NFKD", name)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def _letter(name: str) -> str:
    first = _plain(name)[:1].upper()
    return first if first.isalpha() else "#"

"""The owner's hand: what the edits that hold come to, for one set of specimens.

A specimen is found by its path and content; where they part ways, by its content, so that a file
that was moved keeps its edits; else by its path, so that one that was rotated or cropped does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fieldguide.guide.edits.records import Edit, Target, read_word

LEAST = 2  # specimens of each sort that teach a word
BEGINNING = 12  # hexadecimal digits of a digest that tell a specimen of a branch


class SpecimenIndex:
    """Finds the specimens that edits are about.

    Parameters
    ----------
    paths, digests : sequences of str
        Of each specimen; a digest that is not known is empty.
    """

    def __init__(self, paths: Sequence[str], digests: Sequence[str]) -> None:
        self.digests = digests
        self._of_path = {path: i for i, path in enumerate(paths)}
        self._of_digest: dict[str, list[int]] = {}
        for i, digest in enumerate(digests):
            if digest:
                self._of_digest.setdefault(digest[:BEGINNING], []).append(i)

    def find(self, target: Target) -> int | None:
        """Return the row of a specimen; None where there is none."""
        own = self._of_path.get(target.name)
        if not target.digest or (own is not None and self.digests[own] == target.digest):
            return own
        same = self.find_content(target.digest)
        return same[0] if same else own

    def find_content(self, beginning: str) -> list[int]:
        """Return the rows of specimens whose digest begins so."""
        found = self._of_digest.get(beginning[:BEGINNING], [])
        return [i for i in found if self.digests[i].startswith(beginning)]


class Lesson(NamedTuple):
    """The specimens that teach a word, in the order of their numbers."""

    yes: tuple[int, ...] = ()  # show it
    no: tuple[int, ...] = ()  # do not show it

    @property
    def is_enough(self) -> bool:
        """Whether a word can be learnt from so many."""
        return min(map(len, self)) >= LEAST

    def add(self, is_shown: Mapping[int, bool]) -> "Lesson":
        """Return the lesson with more specimens; of one that was in it the last word counts."""
        told = dict.fromkeys(self.yes, True) | dict.fromkeys(self.no, False) | dict(is_shown)
        yes, no = (tuple(sorted(i for i, says in told.items() if says is w)) for w in (True, False))
        return Lesson(yes, no)


@dataclass(frozen=True)
class Hand:
    """What the owner's edits come to; specimens are rows of an index."""

    labels: Mapping[int, str | None] = field(default_factory=dict)  # corrected
    kind_names: Mapping[str, str] = field(default_factory=dict)  # of kinds merged or renamed
    excluded: frozenset[int] = frozenset()
    words: Mapping[int, Mapping[str, bool]] = field(default_factory=dict)
    pinned: tuple[int, ...] = ()  # the last first
    rejected: frozenset[int] = frozenset()
    lessons: Mapping[str, Lesson] = field(default_factory=dict)  # by the words that they teach

    def label(self, i: int, own: str | None) -> str | None:
        """Return the kind of a specimen whose label is ``own``."""
        kind = self.labels.get(i, own)
        return kind if kind is None else self.kind_names.get(kind, kind)


def read_hand(edits: Iterable[Edit], index: SpecimenIndex) -> Hand:
    """Return what the edits that hold come to; those about specimens that are gone wait."""
    labels: dict[int, str | None] = {}
    kind_names: dict[str, str] = {}
    excluded: set[int] = set()
    words: dict[int, dict[str, bool]] = {}
    taste: dict[int, bool] = {}  # whether a specimen is pinned or rejected, the last one last
    lessons: dict[str, Lesson] = {}
    word_names: dict[str, str] = {}  # first names of words, by those that they have now
    for edit in edits:
        target = edit.target
        if target is None:
            continue
        if target.form == "kind" and edit.verb in ("merge", "rename"):
            for name in [n for n, now in kind_names.items() if now == target.name]:
                kind_names[name] = edit.value
            kind_names[target.name] = edit.value
            if kind_names.get(edit.value) == edit.value:  # it has its first name again
                del kind_names[edit.value]
        elif target.form == "word" and edit.verb == "rename":
            word_names[edit.value] = word_names.pop(target.name, target.name)
        elif edit.verb == "teach":
            word = word_names.get(target.name, target.name)
            lessons[word] = lessons.get(word, Lesson()).add(read_lesson(edit, index))
        elif edit.verb == "name":
            for beginning in target.specimens:
                labels.update(dict.fromkeys(index.find_content(beginning), edit.value))
        elif target.form == "specimen" and (i := index.find(target)) is not None:
            if edit.verb == "kind":
                labels[i] = edit.value or None
            elif edit.verb == "exclude":
                excluded.add(i)
            elif edit.verb == "word":
                word, is_shown = read_word(edit.value)
                words.setdefault(i, {})[word] = is_shown
            elif edit.verb in ("pin", "reject"):
                taste.pop(i, None)
                taste[i] = edit.verb == "pin"
    return Hand(
        labels,
        kind_names,
        frozenset(excluded),
        words,
        tuple(i for i in reversed(taste) if taste[i]),
        frozenset(i for i in taste if not taste[i]),
        {
            word: Lesson(*(tuple(i for i in side if i not in excluded) for side in lesson))
            for word, lesson in lessons.items()
        },
    )


def read_lesson(edit: Edit, index: SpecimenIndex) -> dict[int, bool]:
    """Return the specimens of an edit that teaches a word, and whether each shows it."""
    told = [(each, True) for each in edit.yes] + [(each, False) for each in edit.no]
    found = ((index.find(each), is_shown) for each, is_shown in told)
    return {i: is_shown for i, is_shown in found if i is not None}


def arrange_exemplars(
    chosen: Iterable[int], members: Iterable[int], hand: Hand, most: int
) -> tuple[int, ...]:
    """Return exemplars: the pinned first, then those chosen, then others; none that is rejected.

    ``members`` are all that may be exemplars, the most typical first.
    """
    members = dict.fromkeys(i for i in members if i not in hand.rejected)
    ranked = [*(i for i in hand.pinned if i in members), *chosen, *members]
    return tuple([i for i in dict.fromkeys(ranked) if i in members][:most])

"""What is said of marks: those of a kind, those between two kinds, those that one picture shows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from fieldguide._display import make_card
from fieldguide.features.network import Box


class Threshold(NamedTuple):
    """From where on a measure of the subject counts as a mark."""

    measure: int  # place in MEASURES
    sign: int  # 1: more of it, −1: less
    cut: float


class MarkedSpecimen(NamedTuple):
    """A specimen that shows a mark."""

    id: int
    box: Box | None  # where, in shares of the picture; None for the whole of it


# How an attribute begins, or ends, that says what a thing is like and not what it has.
_LIKE_FIRST = frozenset(
    {"on", "in", "at", "of", "under", "against", "among", "with", "from"}
    | {"seen", "facing", "partly", "close", "mostly", "much", "very"}
)
_LIKE_LAST = frozenset({"open", "shut", "left", "right", "up"})


def negate(text: str) -> str:
    """Say that an attribute is lacking, as a person does.

    Examples
    --------
    >>> [negate(text) for text in ("red crown", "has a beak", "spotted", "on water", "gills")]
    ['no red crown', 'no beak', 'not spotted', 'not on water', 'no gills']
    >>> negate("bill shape: cone")
    'bill shape not cone'
    """
    about, colon, value = text.partition(": ")
    if colon:
        return f"{about} not {value}"
    first, *rest = text.split()
    if first == "has" and rest:
        return f"no {' '.join(rest[rest[0] in ('a', 'an') :])}"
    is_like = first in _LIKE_FIRST or _is_done(text.split()[-1])
    is_like |= len(rest) > 1 and _is_done(first) and rest[1] == "the"  # striped along the side
    is_thing = bool(rest) or (text.endswith("s") and not text.endswith("ss"))
    return f"no {text}" if is_thing and not is_like else f"not {text}"


def _is_done(word: str) -> bool:
    """Whether a word says how a thing is or what it does: "banded", "swimming", "open"."""
    return word in _LIKE_LAST or (len(word) > 4 and word.endswith(("ed", "ing")))


@dataclass(frozen=True)
class Mark:
    """Something that specimens of a kind show more often than others, counted on specimens that
    did not choose it."""

    text: str  # "black above"; between two kinds also "darker"
    source: str  # owner, network, subject, surroundings or picture
    negated: bool  # the kind lacks it: "no red above"
    n_own: int  # specimens of the kind that show it, or lack it where negated
    of_own: int
    n_other: int  # the same among those that the kind is set apart from
    of_other: int
    colours: tuple[str, ...] = ()
    part: str = ""  # of the subject
    column: int | None = None  # of the pool
    threshold: Threshold | None = None  # of a comparison
    is_little: bool = False  # where negated: it has a little of the colour
    specimens: tuple[MarkedSpecimen, ...] = ()  # exemplars of the kind that show it

    @property
    def is_english(self) -> bool:
        """Whether its words are ours: the owner's may be of any language."""
        return self.source != "owner"

    @property
    def words(self) -> str:
        """The mark as it is said: "black above", "no red above", "less red", "not mostly red"."""
        if not self.negated:
            return self.text
        if self.source == "subject" and len(self.colours) > 1:
            return f"not {self.text}"
        is_part = self.source == "subject" and self.colours and not self.text.startswith("mostly")
        if not is_part:
            return negate(self.text)
        return f"{'less' if self.is_little else 'no'} {self.text}"


@dataclass(frozen=True)
class PairMarks:
    """What sets a kind apart from one look-alike."""

    other: str
    shown: str  # the look-alike as people write it
    confused: float  # share of the specimens of both that the key takes for the other
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class PatternMark:
    """A small pattern, shown by windows of pictures, that a kind has more often than others."""

    picture: str  # address inside the guide: windows side by side
    n_patches: int
    n_own: int
    of_own: int
    n_other: int
    of_other: int


class NetworkClass(NamedTuple):
    """What the network calls pictures, of its own thousand classes."""

    name: str
    share: float  # mean probability


@dataclass(frozen=True)
class KindMarks:
    """What tells a kind from the others of a guide."""

    kind: str
    marks: tuple[Mark, ...]  # from all other kinds; those that are said first
    n_said: int  # of marks: as many as the sentence names
    n_sufficient: int  # of those: as many as a linear rule needs
    apart: tuple[PairMarks, ...]  # from each of its look-alikes
    patterns: tuple[PatternMark, ...]
    classes: tuple[NetworkClass, ...]  # as the network sees it; () where it has other outputs
    colours: tuple[str, ...]  # that its subjects have, the most characteristic first
    sentence: str  # the marks in words; empty where none was found

    @property
    def said(self) -> tuple[Mark, ...]:
        """The marks that the sentence names."""
        return self.marks[: self.n_said]

    def _repr_html_(self) -> str:
        rows = [
            (m.words, f"{m.n_own:,} of {m.of_own:,}", f"{m.n_other:,} of {m.of_other:,}")
            for m in self.marks
        ]
        columns = ("mark", "of these", "of others")
        return make_card(self.kind, [self.sentence or "No mark was found."], columns, rows[:12])


@dataclass(frozen=True)
class PairDifferences:
    """What sets two kinds apart."""

    marks: tuple[Mark, ...]  # of the first, that the second has not
    other_marks: tuple[Mark, ...]  # of the second


@dataclass(frozen=True)
class ImageMark:
    """A mark that the image shows or lacks."""

    text: Annotated[str, "the mark in words; with “no” where the kind lacks it"]
    source: Annotated[str, "where it comes from: owner, network, subject, surroundings, picture"]
    is_shown: Annotated[bool, "whether the image shows it"]
    n_own: Annotated[int, "specimens of the kind that show it, none of which chose it"]
    of_own: Annotated[int, "specimens of the kind"]
    n_other: Annotated[int, "specimens that show it among those that the kind is set apart from"]
    of_other: Annotated[int, "specimens that the kind is set apart from"]
    box: Annotated[
        Box | None,
        "where it is looked for: x0, y0, x1, y1 in shares of width and height; "
        "null for the whole picture",
    ]

    @property
    def is_english(self) -> bool:
        """Whether its words are ours: the owner's may be of any language."""
        return self.source != "owner"


@dataclass(frozen=True)
class ImageMarks:
    """The marks of the first kind, in the image."""

    kind: Annotated[str, "name of the kind"]
    because: Annotated[str, "the marks that the image shows, in words; empty if none"]
    marks: Annotated[tuple[ImageMark, ...], "what sets the kind apart from all others"]
    against: Annotated[str | None, "the second kind; null where there is none"]
    against_marks: Annotated[tuple[ImageMark, ...], "what sets the kind apart from the second"]
    unusual: Annotated[tuple[str, ...], "what the image shows and no specimen of the kind does"]


class MarkRecord(NamedTuple):
    """A mark, as ``fieldguide marks --json`` tells it."""

    text: str
    source: str
    n_own: int
    of_own: int
    n_other: int
    of_other: int
    specimens: tuple[MarkedSpecimen, ...]


class PairRecord(NamedTuple):
    """What sets a kind apart from a look-alike, as ``fieldguide marks --json`` tells it."""

    other: str
    confused: float
    marks: tuple[MarkRecord, ...]


class MovementRecord(NamedTuple):
    """A mark of movement, as ``fieldguide marks --json`` tells it."""

    text: str
    way: str
    speed: float  # a second, in shares of the longer side of the frame
    height: str
    n_own: int
    of_own: int
    n_other: int
    of_other: int
    adds: float  # to the score of the key of movement, in the mean
    specimens: tuple[int, ...]  # clips of the kind that show it


@dataclass(frozen=True)
class MarksRecord:
    """The marks of a kind, as ``fieldguide marks --json`` tells them."""

    kind: str
    sentence: str
    colours: tuple[str, ...]
    n_said: int
    n_sufficient: int
    marks: tuple[MarkRecord, ...]
    apart: tuple[PairRecord, ...]
    network: tuple[NetworkClass, ...]
    movement: tuple[MovementRecord, ...] = ()

    @classmethod
    def from_marks(cls, found: KindMarks, movement: Iterable[MovementRecord] = ()) -> "MarksRecord":
        """Make the record from the marks of a kind, and those of its movement."""
        pairs = (PairRecord(p.other, p.confused, list_records(p.marks)) for p in found.apart)
        return cls(
            found.kind,
            found.sentence,
            found.colours,
            found.n_said,
            found.n_sufficient,
            list_records(found.marks),
            tuple(pairs),
            found.classes,
            tuple(movement),
        )


@dataclass(frozen=True)
class DifferencesRecord:
    """What sets two kinds apart, as ``fieldguide compare --json`` tells it."""

    sentence: str
    marks: tuple[MarkRecord, ...]
    other_marks: tuple[MarkRecord, ...]


def list_records(marks: tuple[Mark, ...]) -> tuple[MarkRecord, ...]:
    """Return marks as plain data."""
    return tuple(
        MarkRecord(m.words, m.source, m.n_own, m.of_own, m.n_other, m.of_other, m.specimens)
        for m in marks
    )


_RED_CAP = ImageMark("red above", "subject", True, 23, 24, 51, 744, (0.31, 0.2, 0.66, 0.41))
_DARKER = ImageMark("darker", "subject", False, 20, 24, 5, 24, (0.31, 0.2, 0.66, 0.84))
EXAMPLE = ImageMarks(
    kind="wren",
    because="red above",
    marks=(_RED_CAP,),
    against="robin",
    against_marks=(_DARKER,),
    unusual=("none of the 24 specimens of this kind is mostly blue",),
)
"""What docs/answer.md shows."""

"""What is said of marks: those of a kind, and those that one picture shows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np

from fieldguide.guide.answer import PAGE_ONLY


@dataclass(frozen=True)
class WindowMark:
    """A word of the network, in windows of a picture, that speaks for a kind or against it."""

    word: str
    lacks: bool  # it speaks for the kind where it is not seen
    weight: float  # of all its windows together; the weights of a kind sum to 1
    windows: tuple[tuple[str, float], ...]  # names of features.network.SIX, heaviest first
    typical: float  # its mean vote in specimens of the kind, 0 to 1
    elsewhere: float  # in specimens of other kinds
    specimens: tuple[tuple[int, str], ...]  # of the kind, strongest vote first; its best window


@dataclass(frozen=True)
class WordMark:
    """A visual word that tells a kind from the others."""

    number: int
    lacks: bool  # it is rarer in the kind than elsewhere
    weight: float  # share of the kernel; those of a kind sum to 1
    n_patches: int  # windows of the kind (of others if it lacks the word), side by side
    picture: str  # address inside the guide


@dataclass(frozen=True)
class HeatPicture:
    """A specimen of a kind, faded but for the places where words of the kind are."""

    specimen: int
    picture: str  # address inside the guide
    width: int
    height: int


@dataclass(frozen=True)
class KindMarks:
    """What tells a kind from the others of a guide."""

    kind: str
    windows: tuple[WindowMark, ...]  # () where the network has no ImageNet outputs
    words: tuple[WordMark, ...]  # () where pictures have too little contrast for words
    n_words: int  # that were weighed; 0 without words
    path: tuple[tuple[int, float], ...]  # (words kept, held-out score), fewest first
    enough: int | None  # the fewest of the path whose score is as good as the best
    heat: tuple[HeatPicture, ...]

    @property
    def sentence(self) -> str:
        """What the network sees in the kind, in words: "steel bridge, dock; not bus"."""
        has = dict.fromkeys(mark.word for mark in self.windows if not mark.lacks)
        lacks = dict.fromkeys(mark.word for mark in self.windows if mark.lacks)
        parts = [", ".join(has), "not " + " or ".join(lacks) if lacks else ""]
        return "; ".join(part for part in parts if part)


class SeenMark(NamedTuple):
    """A window mark of a kind, in one picture."""

    mark: WindowMark
    vote: float  # 0 to 1, as mark.typical
    is_shown: bool  # nearer to what is typical of the kind than to what is elsewhere
    box: tuple[float, float, float, float]  # what the network saw, in shares of the sides


@dataclass(frozen=True, eq=False)
class SeenMarks:
    """The marks of a kind, in one picture."""

    kind: str
    windows: tuple[SeenMark, ...]  # heaviest first
    heat: np.ndarray | None  # (rows, columns): where words of the kind are, and how much


@dataclass(frozen=True)
class ImageMark:
    """A mark of a kind: a word of the network in windows of the image."""

    word: Annotated[str, "what the network calls it; it need not be true, only telling"]
    lacks: Annotated[bool, "whether it speaks for the kind where it is not seen"]
    windows: Annotated[tuple[str, ...], "where it is looked for, heaviest first"]
    weight: Annotated[float, "share of the vote for the kind"]
    vote: Annotated[float, "how strong the mark is in the image, 0 to 1"]
    typical: Annotated[float, "mean vote in specimens of the kind"]
    elsewhere: Annotated[float, "mean vote in specimens of other kinds"]
    is_shown: Annotated[bool, "whether the vote is nearer to typical than to elsewhere"]
    box: Annotated[
        tuple[float, float, float, float],
        "what the network saw in the first window: x0, y0, x1, y1 in shares of width and height",
    ]


@dataclass(frozen=True)
class ImageMarks:
    """The marks of the first kind, in the image."""

    kind: Annotated[str, "name of the kind"]
    because: Annotated[str, "the marks that the image shows, in words; empty if none"]
    windows: Annotated[tuple[ImageMark, ...], "marks in windows of the image, heaviest first"]
    # (rows, columns): where visual words of the kind are, and how much.
    heat: np.ndarray | None = field(default=None, compare=False, repr=False, metadata=PAGE_ONLY)

    @classmethod
    def from_seen(cls, seen: SeenMarks) -> "ImageMarks":
        """Make the record from what was seen in the image."""
        windows = tuple(
            ImageMark(
                word=mark.word,
                lacks=mark.lacks,
                windows=tuple(name for name, _ in mark.windows),
                weight=mark.weight,
                vote=vote,
                typical=mark.typical,
                elsewhere=mark.elsewhere,
                is_shown=is_shown,
                box=box,
            )
            for mark, vote, is_shown, box in seen.windows
        )
        return cls(seen.kind, word_because(windows), windows, seen.heat)


class MarkSpecimen(NamedTuple):
    """A specimen with a strong vote of a mark."""

    id: int
    window: str  # where the vote is strongest


@dataclass(frozen=True)
class WindowMarkRecord:
    """A window mark, as ``fieldguide marks --json`` tells it."""

    word: str
    lacks: bool
    weight: float
    windows: Mapping[str, float]  # heaviest first
    typical: float
    elsewhere: float
    specimens: tuple[MarkSpecimen, ...]


class WordMarkRecord(NamedTuple):
    """A visual word, as ``fieldguide marks --json`` tells it."""

    word: int
    lacks: bool
    weight: float


class KeptWords(NamedTuple):
    """How well a kind is told from the others by a few visual words."""

    words: int
    score: float


@dataclass(frozen=True)
class MarksRecord:
    """The marks of a kind, as ``fieldguide marks --json`` tells them."""

    kind: str
    sentence: str
    windows: tuple[WindowMarkRecord, ...]
    words: tuple[WordMarkRecord, ...]
    path: tuple[KeptWords, ...]
    enough: int | None

    @classmethod
    def from_marks(cls, marks: KindMarks) -> "MarksRecord":
        """Make the record from the marks of a kind."""
        windows = tuple(
            WindowMarkRecord(
                word=mark.word,
                lacks=mark.lacks,
                weight=mark.weight,
                windows=dict(mark.windows),
                typical=mark.typical,
                elsewhere=mark.elsewhere,
                specimens=tuple(MarkSpecimen(*each) for each in mark.specimens),
            )
            for mark in marks.windows
        )
        words = tuple(WordMarkRecord(mark.number, mark.lacks, mark.weight) for mark in marks.words)
        path = tuple(KeptWords(*each) for each in marks.path)
        return cls(marks.kind, marks.sentence, windows, words, path, marks.enough)


def word_because(marks: tuple[ImageMark, ...]) -> str:
    """Say in one line which marks an image shows: "lynx (centre), tabby; no bus"."""
    shown = [mark for mark in marks if mark.is_shown]
    has = dict.fromkeys(_name_mark(mark) for mark in shown if not mark.lacks)
    lacks = dict.fromkeys(mark.word for mark in shown if mark.lacks)
    parts = [", ".join(has), f"no {' or '.join(lacks)}" if lacks else ""]
    return "; ".join(part for part in parts if part)


def _name_mark(mark: ImageMark) -> str:
    """Name a mark with the window where it weighs most: "lynx (bottom-right)"."""
    window = mark.windows[0]
    return mark.word if window == "whole" else f"{mark.word} ({window})"


_CREST = ImageMark(
    word="house finch",
    lacks=False,
    windows=("centre", "top-left"),
    weight=0.1845,
    vote=0.8712,
    typical=0.8104,
    elsewhere=0.4331,
    is_shown=True,
    box=(0.2375, 0.2, 0.7625, 0.9),
)
EXAMPLE = ImageMarks("wren", "house finch (centre)", (_CREST,))
"""What docs/answer.md shows."""

"""The answer of a guide about one new image: one record, and its form as plain data.

``Guide.identify`` returns an :class:`Answer`; ``fieldguide identify --json`` and the server give
what its ``to_plain`` returns. The meaning of each field stands in its annotation, and
``docs/answer.md`` is written from there. A part that only some guides have is a field of its own,
None in the others: a new part is a new record and one more field.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np

from fieldguide.guide.views import KeyPath, Located, SeenMarks

SCHEMA = 1  # raise it when a field is renamed, removed or means something else
N_DIGITS = 4  # of every fraction in plain data
PAGE_ONLY = {"plain": False}  # metadata of a field that plain data leaves out


class NamedKind(NamedTuple):
    """A kind that the image may be."""

    name: Annotated[str, "name of the kind"]
    probability: Annotated[float, "calibrated, 0 to 1"]


class AnswerBranch(NamedTuple):
    """A place in the tree."""

    id: Annotated[int, "number of the branch; 0 is the whole collection"]
    sentence: Annotated[str, "the path to it in words"]


class ShownWord(NamedTuple):
    """A word that the image shows."""

    word: Annotated[str, "the word"]
    score: Annotated[float, "how much it shows it, 0.5 to 1"]


class Neighbour(NamedTuple):
    """A specimen that looks like the image."""

    id: Annotated[int, "number of the specimen"]
    path: Annotated[str, "its file, relative to the folder of the collection"]
    kind: Annotated[str | None, "its label; null if it has none"]


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


@dataclass(frozen=True)
class Answer:
    """What a guide says of one new image.

    Examples
    --------
    >>> answer = Answer((NamedKind("wren", 0.91234567),), AnswerBranch(2, "animal › winged"))
    >>> answer.kinds[0].name
    'wren'
    >>> plain = answer.to_plain()
    >>> plain["schema"], plain["kinds"], plain["marks"]
    (1, [{'name': 'wren', 'probability': 0.9123}], None)
    """

    kinds: Annotated[
        tuple[NamedKind, ...], "at most 10, most probable first; empty in a guide without kinds"
    ]
    branch: Annotated[AnswerBranch, "where the image belongs in the tree"]
    words: Annotated[tuple[ShownWord, ...], "surest first, those of the picture itself last"] = ()
    neighbours: Annotated[tuple[Neighbour, ...], "the nearest specimens, nearest first"] = ()
    path: Annotated[KeyPath | None, "the way through the key; null for keys without a graph"] = None
    located: Annotated[Located | None, "where the first kind shows; null if it is not known"] = None
    marks: Annotated[ImageMarks | None, "marks of the first kind; null in a guide without"] = None

    def to_plain(self) -> dict[str, Any]:
        """Return the answer as values that JSON can hold, ``schema`` first."""
        return {"schema": SCHEMA, **to_plain(self)}


def to_plain(value: Any) -> Any:
    """Return a record as dicts, lists, strings and rounded numbers."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return round(float(value), N_DIGITS)
    if is_record(type(value)):
        return {name: to_plain(getattr(value, name)) for name in plain_fields(type(value))}
    return [to_plain(item) for item in value]


def is_record(kind: Any) -> bool:
    """Whether a type has named fields."""
    return isinstance(kind, type) and (is_dataclass(kind) or hasattr(kind, "_fields"))


def plain_fields(record: type) -> Iterator[str]:
    """Yield the names of the fields of a record that plain data has."""
    if is_dataclass(record):
        yield from (f.name for f in fields(record) if f.metadata.get("plain", True))
    else:
        yield from record._fields  # type: ignore[attr-defined]


def list_records(kind: Any) -> list[type]:
    """Return a record and those inside it, each once, in the order of the fields."""
    found: dict[type, None] = {}

    def visit(kind: Any) -> None:
        if is_record(kind) and kind not in found:
            found[kind] = None
            hints = get_type_hints(kind)
            for name in plain_fields(kind):
                visit(hints[name])
        for inner in get_args(kind):
            visit(inner)

    visit(kind)
    return list(found)


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

"""The answer of a guide about one new image: one record, and its form as plain data.

``Guide.identify`` returns an :class:`Answer`; ``fieldguide identify --json`` and the server give
what its ``to_plain`` returns. The meaning of each field stands in its annotation, and
``docs/answer.md`` is written from there. What an optional chapter says stands under the chapter's
name: the record is the chapter's own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Integral, Real
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

from fieldguide._display import make_card, show_share
from fieldguide.chapters import OPTIONAL
from fieldguide.guide.views import KeyPath

SCHEMA = 3  # raise it when a field is renamed, removed or means something else
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


@dataclass(frozen=True, repr=False)
class Answer:
    """What a guide says of one new image.

    Examples
    --------
    >>> answer = Answer((NamedKind("wren", 0.91234567),), AnswerBranch(2, "animal › winged"))
    >>> answer.kinds[0].name
    'wren'
    >>> plain = answer.to_plain()
    >>> plain["schema"], plain["kinds"], plain["path"]
    (3, [{'name': 'wren', 'probability': 0.9123}], None)
    """

    kinds: Annotated[
        tuple[NamedKind, ...], "at most 10, most probable first; empty in a guide without kinds"
    ]
    branch: Annotated[AnswerBranch, "where the image belongs in the tree"]
    words: Annotated[tuple[ShownWord, ...], "surest first, those of the picture itself last"] = ()
    neighbours: Annotated[tuple[Neighbour, ...], "the nearest specimens, nearest first"] = ()
    path: Annotated[KeyPath | None, "the way through the key; null for keys without a graph"] = None
    none_of_these: Annotated[
        bool, "whether it is so unlike all specimens that it may be of no kind of the guide"
    ] = False
    nothing_to_see: Annotated[
        bool, "whether no subject stands out in it as one does in the specimens"
    ] = False
    group: Annotated[
        tuple[str, ...],
        "the fewest kinds among which it is, nine times in ten, the likeliest first; empty where "
        "that is not known",
    ] = ()
    kinds_from: Annotated[
        str | None,
        '"labels"; "branches" where kinds are branches of the tree, found and not given; null in a '
        "guide without kinds",
    ] = None
    # What optional chapters say, by their name; one that says nothing is not there.
    parts: dict[str, Any] = field(default_factory=dict, metadata=PAGE_ONLY)

    def __repr__(self) -> str:
        named = [f"{kind.name} ({show_share(kind.probability)})" for kind in self.kinds[:3]]
        return f"<Answer: {', '.join([*named, self.branch.sentence])}>"

    def _repr_html_(self) -> str:
        lines = [
            "It may be of no kind of the guide." if self.none_of_these else "",
            "No subject stands out in it." if self.nothing_to_see else "",
            f"In the tree: {self.branch.sentence}.",
            f"It shows: {', '.join(shown.word for shown in self.words)}." if self.words else "",
        ]
        rows = [(kind.name, show_share(kind.probability)) for kind in self.kinds[:5]]
        title = self.kinds[0].name if self.kinds else self.branch.sentence
        return make_card(title, lines, ("kind", "probability"), rows)

    def to_plain(self) -> dict[str, Any]:
        """Return the answer as values that JSON can hold, ``schema`` first, parts last."""
        parts = {name: to_plain(self.parts.get(name)) for name in OPTIONAL}
        return {"schema": SCHEMA, **to_plain(self), **parts}


def to_plain(value: Any, n_digits: int | None = N_DIGITS) -> Any:
    """Return a record as dicts, lists, strings and numbers, rounded unless ``n_digits`` is None."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if n_digits is None else round(float(value), n_digits)
    if is_record(type(value)):
        value = {name: getattr(value, name) for name in plain_fields(type(value))}
    if isinstance(value, Mapping):
        return {name: to_plain(item, n_digits) for name, item in value.items()}
    return [to_plain(item, n_digits) for item in value]


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

"""How a value is written to named arrays and JSON and read back, whatever it is made of.

A *field* says what a value is made of, writes it and reads it again:

    write(value, path, out)      arrays go to ``out.arrays[path]``; the JSON for it is returned
    read(record, path, source)   the value, or a :class:`~fieldguide.errors.ModelError`

``path`` is the name that an error gives, such as ``graph_.functions.coef``. Sizes have names:
``Array(FLOATS, "n_classes", "n_features")``. The first field that is read says how large
``n_classes`` is, and all others must agree. No size comes from the JSON alone, so that nothing is
allocated that the file does not hold.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from reprlib import repr as shorten
from typing import Any, NoReturn

import numpy as np

from fieldguide.errors import ModelError, OtherFormError

State = tuple[dict[str, np.ndarray], dict[str, Any]]

VERSION = 1


class Writer:
    """The arrays of a model that is being written."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.arrays: dict[str, np.ndarray] = {}

    def refuse(self, path: str, why: str) -> NoReturn:
        """Say why a value cannot be saved."""
        raise ModelError(f"{path} of {self.owner} {why}.")


class Reader:
    """The arrays of a model that is being read, the sizes that they agree on, and checks to come.

    A check that needs sizes waits until the thing that it belongs to is read.
    """

    def __init__(self, owner: str, arrays: Mapping[str, Any]) -> None:
        self.owner = owner
        self.arrays = arrays
        self.taken: set[str] = set()
        self.sizes: dict[str, int] = {}
        self.later: list[Callable[[], None]] = []

    def refuse(self, path: str, why: str) -> NoReturn:
        """Say what is wrong with a field."""
        raise ModelError(f"{path} of {self.owner} {why}; the file is damaged.")

    def differ(self, path: str, why: str) -> NoReturn:
        """Say that a field is there which no model has, or the other way round."""
        raise OtherFormError(
            f"{path} of {self.owner} {why}; another version saved it, or the file is damaged."
        )

    def take(self, path: str) -> np.ndarray:
        """Return an array; each must be asked for once."""
        array = self.arrays.get(path)
        if not isinstance(array, np.ndarray):
            self.differ(path, "is missing")
        self.taken.add(path)
        return array

    def inside(self, *, apart: bool = False) -> "Reader":
        """Return a reader with sizes of its own: those of this one first, or ``apart`` none."""
        other = Reader(self.owner, self.arrays)
        other.taken = self.taken
        other.sizes = {} if apart else dict(self.sizes)
        return other

    def settle(self) -> None:
        """Make the checks that waited for sizes."""
        while self.later:
            self.later.pop(0)()

    def agree(self, path: str, wanted: tuple[int | str, ...], found: tuple[int, ...]) -> None:
        """Refuse a shape that is not the wanted one, with the sizes that are known."""
        known = tuple(w if isinstance(w, int) else self.sizes.get(w, w) for w in wanted)
        fits = len(known) == len(found)
        for k, f in zip(known, found, strict=False):
            fits &= k == f or isinstance(k, str)
        if not fits:
            wish = ", ".join(map(str, known)) + ("," if len(known) == 1 else "")
            self.refuse(path, f"must have the shape ({wish}); got {short(found)}")
        for name, size in zip(wanted, found, strict=True):
            # The same name may stand twice, as in (n, n).
            if isinstance(name, str) and self.sizes.setdefault(name, size) != size:
                self.refuse(path, f"must have equal sides; got the shape {short(found)}")

    def keys(self, record: Any, path: str, wanted: set[str], more: set[str]) -> dict[str, Any]:
        """Return a record that is known to have the wanted keys, and none besides ``more``."""
        if not isinstance(record, dict):
            self.refuse(path, f"must be an object; got {short(record)}")
        for name in sorted(wanted - record.keys()):
            self.differ(join(path, name), "is missing")
        for name in record:
            if name not in wanted and name not in more:
                self.differ(join(path, short(name)), "is not known")
        return record

    @contextmanager
    def making(self, path: str) -> Iterator[None]:
        """Turn whatever goes wrong while a thing is put together into a sentence about it."""
        try:
            yield
        except ModelError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            self.refuse(path, f"cannot be used ({reason[:300]})")


def short(value: Any) -> str:
    """Return a value as a sentence can hold it."""
    text = shorten(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def join(path: str, name: Any) -> str:
    """Return the path of a part."""
    return f"{path}.{name}" if path else str(name)


class Field(ABC):
    """What a value is made of."""

    may_be_absent = False
    old_name: str | None = None  # of the attribute, in files of earlier versions

    def once(self, old_name: str) -> "Field":
        """Return the field, to be read under another name too, which it once had."""
        self.old_name = old_name
        return self

    @abstractmethod
    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Put the arrays of ``value`` into ``out``; return the rest as JSON."""

    @abstractmethod
    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the value, every part of it checked."""


def pack(field: Field, value: Any, owner: str | None = None) -> State:
    """Return a value as named arrays, and as a record that JSON can hold."""
    out = Writer(owner or type(value).__name__)
    record = field.write(value, "", out)
    return out.arrays, {"saved": VERSION, "model": record}


def unpack(field: Field, arrays: Any, record: Any, owner: str) -> Any:
    """Return the value that :func:`pack` was given; refuse all else in one sentence."""
    if not isinstance(arrays, Mapping) or not isinstance(record, dict) or "saved" not in record:
        raise ModelError(
            f"This is no saved {owner}; give the arrays and the record that to_state returned."
        )
    if record["saved"] != VERSION:
        raise ModelError(
            f"This {owner} was saved in form {short(record['saved'])} and this version reads "
            f"{VERSION}; open it with the version that saved it, or fit and save it again."
        )
    source = Reader(owner, arrays)
    source.keys(record, "", {"saved", "model"}, set())
    value = field.read(record["model"], "", source)
    source.settle()
    for name in arrays:
        if name not in source.taken:
            source.differ(short(name), "is not known")
    return value

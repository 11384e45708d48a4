"""One way to save a model: everything to named arrays and JSON, and back, checked field by field.

A *field* says what a value is made of, writes it and reads it again:

    write(value, path, out)      arrays go to ``out.arrays[path]``; the JSON for it is returned
    read(record, path, source)   the value, or a :class:`~fieldguide.errors.ModelError`

``path`` is the name that an error gives, such as ``graph_.functions.coef``. Sizes have names:
``Array(FLOATS, "n_classes", "n_features")``. The first field that is read says how large
``n_classes`` is, and all others must agree. No size comes from the JSON alone, so that nothing is
allocated that the file does not hold. :mod:`fieldguide._saved` has the fields of whole things.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from reprlib import repr as shorten
from typing import Any, NoReturn

import numpy as np

from fieldguide.errors import ModelError

State = tuple[dict[str, np.ndarray], dict[str, Any]]

VERSION = 1
FLOATS = ("float32", "float64")
INTEGERS = ("int32", "int64")
_LARGEST = 2**1023  # of a whole number
_DEEPEST = 16  # lists in lists
_TEXT = 2**28  # characters of all labels together, at the width of the longest


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

    def take(self, path: str) -> np.ndarray:
        """Return an array; each must be asked for once."""
        array = self.arrays.get(path)
        if not isinstance(array, np.ndarray):
            self.refuse(path, "is missing")
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
            self.refuse(join(path, name), "is missing")
        for name in record:
            if name not in wanted and name not in more:
                self.refuse(join(path, short(name)), "is not known")
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
            source.refuse(short(name), "is not known")
    return value


# -- plain values -------------------------------------------------------------------------


def write_plain(value: Any, path: str, out: Writer) -> Any:
    """Return a number, a text, or lists and dicts of them as JSON that keeps every type.

    What JSON has no word for is an object with one key: ``{"tuple": [1, 2]}``.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        if abs(value) > _LARGEST:
            out.refuse(path, "is a whole number too large to save")
        return value
    if kind is float:
        return value if np.isfinite(value) else {"float": repr(value)}
    if kind is str:
        return _check_text(value, path, out)
    if isinstance(value, np.generic):
        return {"numpy": [_name_scalar(value, path, out), write_plain(value.item(), path, out)]}
    if kind is np.ndarray:
        return {"array": ANY.write(value, path, out)}
    if kind in (list, tuple):
        parts = [write_plain(part, join(path, i), out) for i, part in enumerate(value)]
        return parts if kind is list else {"tuple": parts}
    if kind is dict:
        pairs = [
            [write_plain(key, join(path, i), out), write_plain(part, join(path, i), out)]
            for i, (key, part) in enumerate(value.items())
        ]
        return {"dict": pairs}
    if kind is slice:
        ends = [value.start, value.stop, value.step]
        return {"slice": [write_plain(end, path, out) for end in ends]}
    if isinstance(value, os.PathLike):
        return {"path": _check_text(os.fspath(value), path, out)}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        out.refuse(path, f"is a {kind.__name__}, whose state is not saved; give a whole number")
    out.refuse(
        path,
        f"is a {kind.__name__}, which cannot be saved; give numbers, strings, None, paths, "
        "arrays, or lists, tuples, dicts and slices of these",
    )


def read_plain(record: Any, path: str, source: Reader, depth: int = 0) -> Any:
    """Return what :func:`write_plain` was given."""
    if record is None or isinstance(record, (bool, str)):
        return record
    if isinstance(record, int) and abs(record) <= _LARGEST:
        return record
    if isinstance(record, float) and np.isfinite(record):
        return record
    if depth > _DEEPEST:
        source.refuse(path, f"is nested more than {_DEEPEST} deep")

    def read(part: Any, name: Any) -> Any:
        return read_plain(part, join(path, name), source, depth + 1)

    if isinstance(record, list):
        return [read(part, i) for i, part in enumerate(record)]
    if not isinstance(record, dict) or len(record) != 1:
        source.refuse(path, f"is no value that a model has; got {short(record)}")
    ((kind, body),) = record.items()
    if kind == "float" and isinstance(body, str) and body in ("nan", "inf", "-inf"):
        return float(body)
    if kind == "path" and isinstance(body, str):
        return Path(body)
    if kind == "array":
        return ANY.read(body, path, source)
    if kind in ("tuple", "dict", "slice", "numpy") and isinstance(body, list):
        if kind == "tuple":
            return tuple(read(part, i) for i, part in enumerate(body))
        if kind == "slice" and len(body) == 3:
            return slice(*(read(part, i) for i, part in enumerate(body)))
        if kind == "numpy" and len(body) == 2:
            return _read_scalar(body[0], read(body[1], 1), path, source)
        if kind == "dict" and all(isinstance(pair, list) and len(pair) == 2 for pair in body):
            with source.making(path):  # a key may be a list
                return {read(key, i): read(part, i) for i, (key, part) in enumerate(body)}
    source.refuse(path, f"is no value that a model has; got {short(record)}")


def _check_text(value: str, path: str, out: Writer) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        out.refuse(path, "holds characters that UTF-8 does not have, so no file can hold them")
    return value


def _name_scalar(value: np.generic, path: str, out: Writer) -> str:
    name = "str" if isinstance(value, np.str_) else value.dtype.name
    if name != "str" and name not in _SCALARS:
        out.refuse(path, f"is a {type(value).__name__}, which cannot be saved; give a plain number")
    return name


_SCALARS = {
    np.dtype(kind).name: np.dtype(kind).type
    for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}


def _read_scalar(name: Any, value: Any, path: str, source: Reader) -> Any:
    if name == "str" and isinstance(value, str):
        return np.str_(value)
    if isinstance(name, str) and name in _SCALARS and isinstance(value, (bool, int, float)):
        with source.making(path), np.errstate(over="ignore"):
            made = _SCALARS[name](value)
            if made == value or value != value:
                return made
    source.refuse(path, f"is no number of a known type; got {short([name, value])}")


# -- fields of one value ------------------------------------------------------------------


class Plain(Field):
    """Any value that :func:`write_plain` takes."""

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Return the value with its types."""
        return write_plain(value, path, out)

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the value."""
        return read_plain(record, path, source)


class Number(Plain):
    """A number of any type in [low, high], and above ``above``."""

    def __init__(
        self,
        low: float = -np.inf,
        high: float = np.inf,
        *,
        above: float = -np.inf,
        whole: bool = False,
        finite: bool = True,
    ) -> None:
        self.low, self.high, self.above, self.whole, self.finite = low, high, above, whole, finite

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the number."""
        value = read_plain(record, path, source)
        # No float32: sums with one are rounded otherwise than those with a float.
        is_number = isinstance(value, Integral if self.whole else (int, float))
        if not is_number or isinstance(value, bool):
            what = "a whole number" if self.whole else "a number"
            source.refuse(path, f"must be {what}; got {short(value)}")
        is_known = value == value and (not self.finite or self.whole or abs(float(value)) < np.inf)
        if is_known and self.low <= value <= self.high and value > self.above:
            return value
        if value != value and not self.finite and self.low == self.above:  # no limit at all
            return value
        low = f"above {self.above:g}" if self.above > -np.inf else f"at least {self.low:g}"
        end = "finite" if self.high == np.inf else f"at most {self.high:g}"
        source.refuse(path, f"must be {low} and {end}; got {short(value)}")


class Size(Plain):
    """A whole number that other fields have as a size."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the number; it must be that of the arrays, which are read before or after."""
        value = read_plain(record, path, source)
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not is_whole or not 0 <= int(value) < 2**48:
            source.refuse(path, f"must be a whole number that is not negative; got {short(value)}")
        source.agree(path, (self.name,), (int(value),))
        return value


class OneOf(Plain):
    """One of a few values, of the same type."""

    def __init__(self, *choices: Any) -> None:
        self.choices = choices

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the value."""
        value = read_plain(record, path, source)
        for choice in self.choices:
            if type(value) is type(choice) and value == choice:
                return value
        allowed = ", ".join(map(repr, self.choices))
        source.refuse(path, f"must be one of {allowed}; got {short(value)}")


Limit = int | float | str  # a number, or the name of a size, "-name" for its negative


class Array(Field):
    """An array of given types, shape and range.

    Parameters
    ----------
    dtypes : tuple of names, or None for any
    shape : sizes, by number or name, or ``...`` for any
    within : pair of (low, end), optional
        Values are at least low and less than end; each a number or the name of a size, ``"-n"``
        for its negative.
    low, high, above : float
        Values are in [low, high] and larger than ``above``.
    finite : bool
    """

    def __init__(
        self,
        dtypes: str | tuple[str, ...] | None,
        *shape: Any,
        within: tuple[Limit, Limit] | None = None,
        low: float = -np.inf,
        high: float = np.inf,
        above: float = -np.inf,
        finite: bool = True,
    ) -> None:
        self.dtypes = (dtypes,) if isinstance(dtypes, str) else dtypes
        self.shape = None if shape == (...,) else shape
        self.within, self.low, self.high, self.above = within, low, high, above
        self.finite = finite

    def write(self, value: Any, path: str, out: Writer) -> str:
        """Keep the array; return its type, and F if it is stored by columns.

        Products of matrices may round otherwise in another order, so the order is kept.
        """
        array = np.asarray(value)
        if array.dtype.name not in _SCALARS or not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if array.dtype.name not in _SCALARS:
            out.refuse(path, f"is an array of {array.dtype}, which cannot be saved; give numbers")
        by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
        out.arrays[path] = np.require(array.T if by_columns else array, requirements="C")
        return f"{array.dtype.name} F" if by_columns else array.dtype.name

    def read(self, record: Any, path: str, source: Reader) -> np.ndarray:
        """Return the array."""
        name, _, order = record.partition(" ") if isinstance(record, str) else ("", "", "")
        allowed = tuple(_SCALARS) if self.dtypes is None else self.dtypes
        if name not in allowed or order not in ("", "F"):
            wanted = "numbers" if self.dtypes is None else " or ".join(allowed)
            source.refuse(path, f"must be an array of {wanted}; got {short(record)}")
        array = source.take(path)
        if array.dtype != np.dtype(name):
            source.refuse(path, f"must be an array of {name}; got {array.dtype}")
        # Compiled loops are for memory that can be written to.
        array = np.require(array, requirements=["C", "W", "A"])
        array = array.T if order else array
        if self.shape is not None:
            source.agree(path, self.shape, array.shape)
        if self.finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            source.refuse(path, "holds NaN or infinity")
        if array.size and array.dtype.kind != "b":
            self._check_range(array, path, source)
        return array

    def _check_range(self, array: np.ndarray, path: str, source: Reader) -> None:
        known = array if self.finite else array[np.isfinite(array)]
        if not known.size:
            return
        least, most = known.min(), known.max()
        if not (self.low <= least and most <= self.high and least > self.above):
            low = f"above {self.above:g}" if self.above > -np.inf else f"at least {self.low:g}"
            got = most if most > self.high else least
            source.refuse(path, f"must be {low} and at most {self.high:g}; got {got:g}")
        if self.within is not None:
            low_name, end_name = self.within

            def check() -> None:
                low, end = (_limit(name, source.sizes) for name in (low_name, end_name))
                if not low <= least <= most < end:
                    got = most if most >= end else least
                    source.refuse(path, f"must lie in {low:g} to {end - 1:g}; got {got:g}")

            source.later.append(check)


ANY = Array(None, ..., finite=False)


def _limit(limit: Limit, sizes: dict[str, int]) -> int | float:
    if not isinstance(limit, str):
        return limit
    return -sizes[limit[1:]] if limit.startswith("-") else sizes[limit]


class Labels(Field):
    """A flat array of different labels: numbers, or strings, which JSON holds."""

    def __init__(self, size: int | str, *, unique: bool = True) -> None:
        self.size, self.unique = size, unique

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Return strings and their type; keep numbers as an array."""
        array = np.asarray(value)
        if array.dtype.kind not in "OU":
            return ANY.write(array, path, out)
        name = "object" if array.dtype.kind == "O" else f"str{array.dtype.itemsize // 4}"
        return {name: [write_plain(label, path, out) for label in array.tolist()]}

    def read(self, record: Any, path: str, source: Reader) -> np.ndarray:
        """Return the labels, each once."""
        if isinstance(record, str):
            labels = ANY.read(record, path, source)
        else:
            labels = self._read_texts(record, path, source)
        source.agree(path, (self.size,), labels.shape)
        values = labels.tolist()
        if self.unique and len(set(values)) < len(values):
            source.refuse(path, "must be different labels")
        if any(value != value for value in values):
            source.refuse(path, "holds NaN")
        return labels

    def _read_texts(self, record: Any, path: str, source: Reader) -> np.ndarray:
        if not isinstance(record, dict) or len(record) != 1:
            source.refuse(path, f"must be labels; got {short(record)}")
        ((name, values),) = record.items()
        if not isinstance(values, list):
            source.refuse(path, f"must be a list of labels; got {short(values)}")
        if name == "object":
            labels = np.empty(len(values), dtype=object)
            for i, value in enumerate(values):
                label = read_plain(value, path, source)
                if not isinstance(label, (str, int, float)):
                    source.refuse(path, f"must be strings or numbers; got {short(label)}")
                labels[i] = label
            return labels
        is_width = name.startswith("str") and name[3:].isdecimal() and len(name) <= 12
        width = int(name[3:]) if is_width else -1
        if not all(isinstance(value, str) for value in values):
            source.refuse(path, "must be strings")
        if not max(map(len, values), default=0) <= width or width * len(values) > _TEXT:
            source.refuse(path, f"must be strings of the length that {short(name)} says")
        return np.array(values, dtype=f"<U{width}")

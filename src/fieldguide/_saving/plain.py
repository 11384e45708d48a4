"""Plain values with their types: numbers, texts, labels, and lists and dicts of them."""

import os
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from fieldguide._saving.arrays import ANY, SCALARS
from fieldguide._saving.codec import Field, Reader, Writer, join, short

_LARGEST = 2**1023  # of a whole number
_DEEPEST = 16  # lists in lists
_TEXT = 2**28  # characters of all labels together, at the width of the longest


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
    if name != "str" and name not in SCALARS:
        out.refuse(path, f"is a {type(value).__name__}, which cannot be saved; give a plain number")
    return name


def _read_scalar(name: Any, value: Any, path: str, source: Reader) -> Any:
    if name == "str" and isinstance(value, str):
        return np.str_(value)
    if isinstance(name, str) and name in SCALARS and isinstance(value, (bool, int, float)):
        with source.making(path), np.errstate(over="ignore"):
            made = SCALARS[name](value)
            if made == value or value != value:
                return made
    source.refuse(path, f"is no number of a known type; got {short([name, value])}")


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

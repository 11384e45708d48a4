"""What a value read from JSON is allowed to be, said as a value: ``list_of(text())``.

A shape is a function of a value and its place, such as ``key.point.share``; it raises
:class:`UnsoundError` with a sentence about that place, or returns nothing.
"""

import re
from collections.abc import Callable, Mapping
from math import isfinite
from reprlib import repr as shorten
from typing import Any, NoReturn

Shape = Callable[[Any, str], None]

MOST = 2**53  # whole numbers up to here are exact wherever they are read


class UnsoundError(Exception):
    """Something in the files of a guide is not as any version writes it; a clause says what."""


def refuse(place: str, wanted: str, value: Any) -> NoReturn:
    """Say that a value is none of those that are allowed."""
    raise UnsoundError(f"{place} must be {wanted}; got {shorten(value)[:60]}")


def text(most: int = 100_000, pattern: str = "") -> Shape:
    """A text without zero bytes and lone surrogates, of at most so many letters."""
    allowed = re.compile(pattern) if pattern else None

    def check(value: Any, place: str) -> None:
        if not is_text(value, most):
            refuse(place, "a text", value)
        if allowed is not None and not allowed.fullmatch(value):
            refuse(place, f"of the form {pattern}", value)

    return check


def is_text(value: Any, most: int = 100_000) -> bool:
    """Whether a value is a text that a page, a file name and a database can hold."""
    if not isinstance(value, str) or len(value) > most or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole(low: int = 0, high: int = MOST) -> Shape:
    """A whole number from ``low`` to ``high``."""

    def check(value: Any, place: str) -> None:
        if type(value) is not int or not low <= value <= high:
            refuse(place, f"a whole number from {low} to {high}", value)

    return check


def number(low: float = -1e15, high: float = 1e15) -> Shape:
    """A finite number from ``low`` to ``high``."""

    def check(value: Any, place: str) -> None:
        if type(value) not in (int, float) or not (isfinite(value) and low <= value <= high):
            refuse(place, f"a number from {low:g} to {high:g}", value)

    return check


def share() -> Shape:
    """A number from 0 to 1; the sum of a million of them may round a little above."""
    return number(0, 1 + 1e-6)


def truth() -> Shape:
    """True or false."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, bool):
            refuse(place, "true or false", value)

    return check


def one_of(*allowed: Any) -> Shape:
    """One of a few values."""

    def check(value: Any, place: str) -> None:
        if not any(type(value) is type(each) and value == each for each in allowed):
            refuse(place, f"one of {', '.join(map(repr, allowed))}", value)

    return check


def or_none(shape: Shape) -> Shape:
    """What ``shape`` allows, or nothing."""

    def check(value: Any, place: str) -> None:
        if value is not None:
            shape(value, place)

    return check


def list_of(shape: Shape, most: int = MOST) -> Shape:
    """A list of what ``shape`` allows."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list) or len(value) > most:
            refuse(place, "a list" if most == MOST else f"a list of at most {most}", value)
        for i, part in enumerate(value):
            shape(part, f"{place}.{i}")

    return check


def row_of(*shapes: Shape) -> Shape:
    """A list of so many values, each of its own shape."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, list) or len(value) != len(shapes):
            refuse(place, f"a list of {len(shapes)}", value)
        for i, (shape, part) in enumerate(zip(shapes, value, strict=True)):
            shape(part, f"{place}.{i}")

    return check


def table_of(shape: Shape) -> Shape:
    """An object whose values are what ``shape`` allows, under any names."""

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            refuse(place, "an object", value)
        for name, part in value.items():
            if not is_text(name):
                refuse(place, "an object with texts as names", name)
            shape(part, f"{place}.{name[:40]}")

    return check


def record(needed: Mapping[str, Shape], more: Mapping[str, Shape] | None = None) -> Shape:
    """An object with named values: those that it needs, and those that it may have more.

    Names that are not known are passed over: nothing reads them.
    """

    def check(value: Any, place: str) -> None:
        if not isinstance(value, dict):
            refuse(place or "it", "an object", value)
        start = f"{place}." if place else ""
        for name, shape in needed.items():
            if name not in value:
                raise UnsoundError(f"{start}{name} is missing")
            shape(value[name], f"{start}{name}")
        for name, shape in (more or {}).items():
            if name in value:
                shape(value[name], f"{start}{name}")

    return check

"""Fields of things that are made of fields: named tuples, lists, tables, one of several kinds."""

from collections.abc import Callable, Mapping
from typing import Any

from fieldguide._saving.codec import Field, Reader, Writer, join, short


class OrNone(Field):
    """A field that may be None."""

    def __init__(self, field: Field) -> None:
        self.field = field

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Return null, or the field's record."""
        return None if value is None else self.field.write(value, path, out)

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return None or the value."""
        return None if record is None else self.field.read(record, path, source)


class IfSet(Field):
    """A field of an attribute that is not there after every fit."""

    may_be_absent = True

    def __init__(self, field: Field) -> None:
        self.field = field

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Write the field."""
        return self.field.write(value, path, out)

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Read the field."""
        return self.field.read(record, path, source)


class Items(Field):
    """A list of things of one kind; sizes that they do not share with others are each one's own."""

    def __init__(self, field: Field, size: str | None = None) -> None:
        self.field, self.size = field, size

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Write one after the other."""
        return [self.field.write(part, join(path, i), out) for i, part in enumerate(value)]

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the list."""
        if not isinstance(record, list):
            source.refuse(path, f"must be a list; got {short(record)}")
        if self.size is not None:
            source.agree(path, (self.size,), (len(record),))
        return [self._read(part, join(path, i), source) for i, part in enumerate(record)]

    def _read(self, record: Any, path: str, source: Reader) -> Any:
        inside = source.inside()
        value = self.field.read(record, path, inside)
        inside.settle()
        return value


class Table(Items):
    """A dict of names to things of one kind, in order."""

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Write pairs of name and thing."""
        return [
            [name, self.field.write(part, join(path, name), out)] for name, part in value.items()
        ]

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the dict."""
        if not isinstance(record, list):
            source.refuse(path, f"must be a list of pairs; got {short(record)}")
        made: dict[str, Any] = {}
        for pair in record:
            is_pair = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
            if not is_pair or pair[0] in made:
                source.refuse(path, f"must be pairs, each name once; got {short(pair)}")
            made[pair[0]] = self._read(pair[1], join(path, pair[0]), source)
        return made


class Part(Field):
    """A thing with named fields: a named tuple, a dataclass, or any object with attributes.

    Parameters
    ----------
    kind : type
    fields : mapping of attribute to Field
    make : callable, optional
        Makes and checks the thing from its fields by name; ``kind`` by default.
    apart : bool
        Its sizes have nothing to do with those around it.
    """

    def __init__(
        self,
        kind: type,
        fields: Mapping[str, Field],
        make: Callable[..., Any] | None = None,
        *,
        apart: bool = False,
    ) -> None:
        self.kind, self.fields, self.make, self.apart = kind, fields, make or kind, apart

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Write every field."""
        return write_fields(self.fields, value, path, out)

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the thing that the fields make."""
        if self.apart:
            source = source.inside(apart=True)
        values = read_fields(self.fields, record, path, source)
        source.settle()
        with source.making(path or self.kind.__name__):
            return self.make(**values)


class Either(Field):
    """One of a few kinds of parts; the record names which."""

    def __init__(self, *parts: Part) -> None:
        self.parts = {part.kind.__name__: part for part in parts}

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Write the part with the name of its kind."""
        name = type(value).__name__
        if name not in self.parts:
            out.refuse(path, f"is a {name}, which is not one of {', '.join(self.parts)}")
        return {name: self.parts[name].write(value, path, out)}

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the part."""
        name, body = next(iter(record.items())) if isinstance(record, dict) and record else ("", 0)
        if name not in self.parts or len(record) != 1:
            source.refuse(path, f"must be one of {', '.join(self.parts)}; got {short(record)}")
        return self.parts[name].read(body, path, source)


def write_fields(fields: Mapping[str, Field], value: Any, path: str, out: Writer) -> dict[str, Any]:
    """Return the record of all fields that ``value`` has."""
    return {
        name: field.write(getattr(value, name), join(path, name), out)
        for name, field in fields.items()
        if hasattr(value, name) or not field.may_be_absent
    }


def read_fields(
    fields: Mapping[str, Field], record: Any, path: str, source: Reader
) -> dict[str, Any]:
    """Return the values of all fields that the record has."""
    names = {name: _find_name(name, field, record) for name, field in fields.items()}
    optional = {names[name] for name, field in fields.items() if field.may_be_absent}
    record = source.keys(record, path, set(names.values()) - optional, optional)
    return {
        name: field.read(record[names[name]], join(path, names[name]), source)
        for name, field in fields.items()
        if names[name] in record
    }


def _find_name(name: str, field: Field, record: Any) -> str:
    """Return the name that a field has in a record: its own, or the one that it once had."""
    is_old = isinstance(record, dict) and name not in record and field.old_name in record
    return field.old_name if is_old and field.old_name is not None else name

"""Fields of whole things, and the base of everything that can be saved.

An estimator declares its fitted attributes, and has ``to_state`` and ``from_state`` by that:

    class LinearSVM(Saved, ClassifierMixin, BaseEstimator):
        _fitted = {**ROWS, "classes_": Labels("n_classes"), "coef_": Array(FLOATS, 1, "n_features")}

All constructor parameters are kept with their types. A file never names code: ``Part`` and
``Estimator`` say which classes may be made, and a record can only choose among these.
"""

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from fieldguide._codec import (
    ANY,
    FLOATS,
    INTEGERS,
    Array,
    Field,
    Labels,
    Reader,
    Size,
    State,
    Writer,
    join,
    pack,
    read_plain,
    short,
    unpack,
    write_plain,
)

_MOST_JOBS = 4096


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


class Rows(Field):
    """A matrix, as an array or in compressed sparse rows."""

    def __init__(
        self, *shape: int | str, is_sparse: bool | None = None, low: float = -np.inf
    ) -> None:
        self.shape, self.is_sparse, self.low = shape, is_sparse, low

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Write the array, or the parts of the sparse one."""
        if not sparse.issparse(value):
            return ANY.write(value, path, out)
        if value.format != "csr":
            out.refuse(path, f"is sparse by {value.format}; give a CSR array")
        name = "csr_array" if isinstance(value, sparse.sparray) else "csr_matrix"
        parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
        record = {part: ANY.write(v, join(path, part), out) for part, v in parts.items()}
        return {name: {"shape": list(map(int, value.shape)), **record}}

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the matrix."""
        if isinstance(record, str) and self.is_sparse is not True:
            return Array(FLOATS, *self.shape, low=self.low).read(record, path, source)
        name, body = next(iter(record.items())) if isinstance(record, dict) and record else ("", 0)
        if name not in ("csr_array", "csr_matrix") or len(record) != 1 or self.is_sparse is False:
            source.refuse(path, f"must be a matrix; got {short(record)}")
        body = source.keys(body, path, {"shape", "data", "indices", "indptr"}, set())
        shape = body["shape"]
        is_shape = isinstance(shape, list) and len(shape) == 2
        if not is_shape or not all(type(n) is int and 0 <= n < 2**48 for n in shape):
            source.refuse(join(path, "shape"), f"must be two whole numbers; got {short(shape)}")
        source.agree(path, self.shape, tuple(shape))
        inside = source.inside(apart=True)
        fields = {
            "data": Array(FLOATS, "n_values", low=self.low),
            "indices": Array(INTEGERS, "n_values", within=(0, shape[1])),
            "indptr": Array(INTEGERS, shape[0] + 1),
        }
        values = {n: f.read(body[n], join(path, n), inside) for n, f in fields.items()}
        inside.settle()
        ends = values["indptr"]
        if ends[0] != 0 or ends[-1] != len(values["data"]) or (ends[1:] < ends[:-1]).any():
            source.refuse(join(path, "indptr"), "must rise from 0 to the number of values")
        with source.making(path):
            return getattr(sparse, name)(tuple(values.values()), shape=tuple(shape))


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
    optional = {name for name, field in fields.items() if field.may_be_absent}
    record = source.keys(record, path, fields.keys() - optional, optional)
    return {
        name: field.read(record[name], join(path, name), source)
        for name, field in fields.items()
        if name in record
    }


# -- estimators ---------------------------------------------------------------------------

ROWS: dict[str, Field] = {
    "n_features_in_": Size("n_features"),
    "feature_names_in_": IfSet(Labels("n_features", unique=False)),
}


class Saved:
    """Base of estimators that can be saved: they declare what they have learnt.

    Attributes
    ----------
    _fitted : dict of attribute to Field
        What :meth:`to_state` keeps besides the parameters. A subclass adds to it.
    _unsaved : tuple of attributes
        What a fit tells of the training and no file keeps.
    _sizes : tuple of parameters
        Parameters that are sizes of fitted arrays.
    """

    _fitted: ClassVar[dict[str, Field]] = {}
    _unsaved: ClassVar[tuple[str, ...]] = ()
    _sizes: ClassVar[tuple[str, ...]] = ()

    def to_state(self) -> State:
        """Return the fitted estimator as named arrays, and as a record that JSON can hold."""
        return pack(Estimator(type(self)), self)

    @classmethod
    def from_state(cls, arrays: Mapping[str, np.ndarray], record: dict[str, Any]) -> Self:
        """Make a fitted estimator from what :meth:`to_state` returned.

        Its parameters and its answers are the same bit for bit. A state that is damaged is refused
        with a :class:`~fieldguide.errors.ModelError` that names the field.
        """
        return unpack(Estimator(cls), arrays, record, cls.__name__)

    def _check_arguments(self) -> None:
        """Refuse parameters that make no sense."""

    def _check_opened(self) -> None:
        """Refuse fitted attributes that do not fit together; set what follows from the others."""


class Estimator(Field):
    """An estimator of one of a few classes: parameters and fitted attributes."""

    def __init__(self, *kinds: type[Any]) -> None:
        self.kinds: dict[str, Any] = {kind.__name__: kind for kind in kinds}

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Return class, parameters and fitted attributes."""
        name = type(value).__name__
        if self.kinds.get(name) is not type(value):
            out.refuse(path or name, f"is not one of {', '.join(self.kinds)}")
        fields = list_fitted(type(value))
        if fields:
            check_is_fitted(value)
        parameters = value.get_params(deep=False)
        return {
            "class": name,
            "parameters": {
                key: write_plain(part, join(path, key), out) for key, part in parameters.items()
            },
            "fitted": write_fields(fields, value, path, out),
        }

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the estimator."""
        record = source.keys(record, path, {"class", "parameters", "fitted"}, set())
        name = record["class"]
        if not isinstance(name, str) or name not in self.kinds:
            allowed = ", ".join(self.kinds)
            source.refuse(join(path, "class"), f"must be one of {allowed}; got {short(name)}")
        kind, inside = self.kinds[name], source.inside(apart=True)
        inside.owner = source.owner if path else name
        names = set(kind._get_param_names())
        given = inside.keys(record["parameters"], path, names, set())
        values = {key: read_plain(part, join(path, key), inside) for key, part in given.items()}
        self._check_machine(values, path, inside)
        with inside.making(path or "parameters"):
            made = kind(**values)
            made._check_arguments()
        inside.sizes = {key: int(values[key]) for key in kind._sizes}
        for key, part in read_fields(list_fitted(kind), record["fitted"], path, inside).items():
            setattr(made, key, part)
        inside.settle()
        with inside.making(path or "fitted"):
            made._check_opened()
        return made

    def _check_machine(self, values: dict[str, Any], path: str, source: Reader) -> None:
        """Refuse threads and seeds that no estimator can use; each takes them in its own way."""
        for key, low, high in (("n_jobs", -_MOST_JOBS, _MOST_JOBS), ("random_state", 0, 2**128)):
            value = values.get(key)
            is_whole = isinstance(value, Integral) and not isinstance(value, bool)
            is_idle = key == "n_jobs" and value == 0
            if value is not None and (not is_whole or is_idle or not low <= value <= high):
                what = f"must be null or a whole number in [{low}, {high:.4g}]"
                what += " but 0" if key == "n_jobs" else ""
                source.refuse(join(path, key), f"{what}; got {short(value)}")


def list_fitted(kind: type) -> dict[str, Field]:
    """Return the fields that a class and those that it builds on declare."""
    fields: dict[str, Field] = {}
    for base in reversed(kind.__mro__):
        fields |= base.__dict__.get("_fitted", {})
    return fields

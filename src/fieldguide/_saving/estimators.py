"""Estimators: all parameters, and the fitted attributes that they declare."""

import os
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fieldguide._saving.codec import Field, Reader, State, Writer, join, pack, short, unpack
from fieldguide._saving.parts import IfSet, read_fields, write_fields
from fieldguide._saving.plain import Labels, Plain, Size

_MOST_JOBS = 4096
_PLAIN = Plain()
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
    _newer : tuple of parameters
        Parameters that files of earlier versions lack, and that then have their defaults.
    _gone : tuple of parameters
        Parameters that files of earlier versions may have, and that no longer exist.
    _parameters : dict of parameter to Field
        Parameters that are no plain values.
    """

    _fitted: ClassVar[dict[str, Field]] = {}
    _unsaved: ClassVar[tuple[str, ...]] = ()
    _sizes: ClassVar[tuple[str, ...]] = ()
    _newer: ClassVar[tuple[str, ...]] = ()
    _gone: ClassVar[tuple[str, ...]] = ()
    _parameters: ClassVar[dict[str, Field]] = {}

    def to_state(self) -> State:
        """Return the fitted estimator as named arrays, and as a record that JSON can hold."""
        return pack(Estimator(type(self)), self)

    @classmethod
    def from_state(cls, arrays: Mapping[str, np.ndarray], record: dict[str, Any]) -> Self:
        """Make a fitted estimator from what :meth:`to_state` returned.

        Its parameters and its answers are the same bit for bit. A state that is damaged is refused
        with a :class:`~fieldguide.errors.ModelError` that names the field.
        """
        opened: Self = unpack(Estimator(cls), arrays, record, cls.__name__)
        return opened

    @classmethod
    def _update_parameters(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters in a file of an earlier version as those of today."""
        return given

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
        own = type(value)._parameters
        return {
            "class": name,
            "parameters": {
                key: own.get(key, _PLAIN).write(part, join(path, key), out)
                for key, part in value.get_params(deep=False).items()
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
        newer = names & set(kind._newer)
        given = record["parameters"]
        if isinstance(given, dict):
            kept = {key: part for key, part in given.items() if key not in kind._gone}
            given = kind._update_parameters(kept)
        given = inside.keys(given, path, names - newer, newer)
        values = {
            key: kind._parameters.get(key, _PLAIN).read(part, join(path, key), inside)
            for key, part in given.items()
        }
        self._check_machine(values, path, inside)
        with inside.making(path or "parameters"):
            made = kind(**values)
            made._check_arguments()
        with inside.making(path or "parameters"):
            inside.sizes = {key: int(values[key]) for key in kind._sizes}
        for key, part in read_fields(list_fitted(kind), record["fitted"], path, inside).items():
            setattr(made, key, part)
        inside.settle()
        with inside.making(path or "fitted"):
            made._check_opened()
        return made

    def _check_machine(self, values: dict[str, Any], path: str, source: Reader) -> None:
        """Refuse threads, seeds and networks that no estimator can use; each takes them in its own
        way."""
        network = values.get("embedder")
        paths = network if isinstance(network, tuple | list) else [network]
        is_path = bool(paths) and all(
            isinstance(p, str | os.PathLike) and "\0" not in str(p) for p in paths
        )
        if network is not None and not is_path:
            wish = "must be null or the path of an ONNX file, or of several"
            source.refuse(join(path, "embedder"), f"{wish}; got {short(network)}")
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

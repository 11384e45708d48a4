"""One way to save a model: everything to named arrays and JSON, and back, checked field by field.

An estimator declares its fitted attributes, and has ``to_state`` and ``from_state`` by that:

    class LinearSVM(Saved, ClassifierMixin, BaseEstimator):
        _fitted = {**ROWS, "classes_": Labels(2), "coef_": Array(FLOATS, 1, "n_features")}

All constructor parameters are kept with their types. A file never names code: ``Part`` and
``Estimator`` say which classes may be made, and a record can only choose among these.
"""

from fieldguide._saving.arrays import FLOATS, INTEGERS, Array, Rows
from fieldguide._saving.codec import Field, Reader, State, Writer, pack, unpack
from fieldguide._saving.estimators import ROWS, Estimator, Saved
from fieldguide._saving.parts import Either, IfSet, Items, OrNone, Part, Table
from fieldguide._saving.plain import Labels, Number, OneOf, Plain, Size

__all__ = [
    "FLOATS",
    "INTEGERS",
    "ROWS",
    "Array",
    "Either",
    "Estimator",
    "Field",
    "IfSet",
    "Items",
    "Labels",
    "Number",
    "OneOf",
    "OrNone",
    "Part",
    "Plain",
    "Reader",
    "Rows",
    "Saved",
    "Size",
    "State",
    "Table",
    "Writer",
    "pack",
    "unpack",
]

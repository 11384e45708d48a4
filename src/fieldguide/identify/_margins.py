"""Margins of rows, compiled into their callers, and the graph as the searches read it.

A margin is the product of a row of ``coef`` with the values of a row (``width`` columns, float32),
or, with ``width`` 0, a number that is known already. Every row takes the same code whatever the
number of rows, so that single rows and batches agree; and the same compiled code, whichever of the
two there is.
"""

from typing import NamedTuple, cast

import numpy as np

from fieldguide._arrays import Float, Floats, Int
from fieldguide._jit import CompiledFunction, inline_jit, inner_jit
from fieldguide.svm._kernels import dot_single

FAST = {"reassoc", "contract", "nsz"}  # sums in any order, as those of dot_single
_same_sum = cast(CompiledFunction, dot_single).py_func
_dot = inner_jit(_same_sum, plain=np.dot, counted=False, fastmath=FAST)


class Rows(NamedTuple):
    """Rows as the searches read them: their values, or the margins of all functions."""

    values: np.ndarray  # (n, width) float32
    margins: np.ndarray  # (n, n_functions) float64, or (n, 0)


class Row(NamedTuple):
    """One of them."""

    values: np.ndarray
    margins: np.ndarray


class Source(NamedTuple):
    """Where margins come from: functions, or with ``width`` 0 the rows themselves."""

    width: int
    coef: np.ndarray  # (n_functions, width) float32
    intercept: np.ndarray  # (n_functions,) float32


class Links(NamedTuple):
    """A graph as the searches read it."""

    left: np.ndarray  # (n_nodes,) int32, as in DecisionGraph
    right: np.ndarray
    scale: np.ndarray  # (n_nodes,) float32
    leaf_class: np.ndarray  # (n_leaves,) int32
    n_classes: int
    roots: np.ndarray  # (n_trees,) int32
    class_logits: np.ndarray  # (n_nodes, n_classes) float32, or (0, n_classes)
    precision: np.ndarray  # (n_nodes,) float32, or (0,)
    leaf_bonus: float
    class_leaf: np.ndarray  # (n_classes,) int32: the first leaf of each class, or -1


@inline_jit
def margin(x: Row, source: Source, j: Int) -> float:
    """Return function j at the row x. O(width)."""
    if source.width > 0:
        return float(apply(x.values, source.coef, source.intercept, j))
    known: float = x.margins[j]
    return known


@inline_jit
def apply(values: Floats, coef: Floats, intercept: Floats, j: Int) -> Float:
    return np.float32(_dot(coef[j], values) + intercept[j])

"""ONNX operators and constants, added to a graph one after the other.

Values of the graph can be computed with: ``a * 2 + b`` adds a product and a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


class Operators:
    """Operators and constants of a graph; all names begin with ``prefix``."""

    def __init__(self, prefix: str = "fieldguide") -> None:
        self.prefix = prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator; return the name of its output."""
        from onnx import helper

        name = f"{self.prefix}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """Add a constant; return its name."""
        from onnx import numpy_helper

        name = f"{self.prefix}_constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def sum(self, x: str) -> str:
        """Return the sum of each row, as a column."""
        return self.add("ReduceSum", x, self.constant([1], np.int64), keepdims=1)

    def largest(self, x: str) -> str:
        """Return the largest value of each row, as a column."""
        return self.add("ReduceMax", x, axes=[1], keepdims=1)

    def cast(self, x: str, dtype: Any = np.float64) -> str:
        """Return values of another type."""
        from onnx import helper

        return self.add("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def columns(self, x: str, start: int, end: int) -> str:
        """Return some columns."""
        places = (self.constant([value], np.int64) for value in (start, end, 1))
        return self.add("Slice", x, *places)

    def call(self, operator: str, *inputs: Value | float | str, **attributes: Any) -> Value:
        """Add an operator; return its output to reckon with. Numbers are doubles."""
        names = [each if isinstance(each, str) else self.as_value(each).name for each in inputs]
        return Value(self, self.add(operator, *names, **attributes))

    def as_value(self, value: Value | float) -> Value:
        """Return a value, or a number as one."""
        return value if isinstance(value, Value) else Value(self, self.constant(value))

    def floats(self, value: Any) -> Value:
        """Return a constant in single precision."""
        return Value(self, self.constant(value, np.float32))

    def integers(self, value: Any) -> Value:
        """Return a constant of whole numbers."""
        return Value(self, self.constant(value, np.int64))

    def count(self, n: Value) -> Value:
        """Return 0, 1, … n − 1."""
        return self.call("Range", 0.0, n, 1.0)

    def where(self, condition: Value, yes: Value | float, no: Value | float) -> Value:
        """Return the one where a condition holds, and else the other."""
        return self.call("Where", condition, yes, no)

    def choose(
        self, condition: Value, yes: Callable[[Operators], Value], no: Callable[[Operators], Value]
    ) -> Value:
        """Return what one of two functions adds; the other is not run."""
        graphs = {}
        for name, make in (("then_branch", yes), ("else_branch", no)):
            inner = self.begin(name)
            graphs[name] = inner.end([], [make(inner)])
        return self.call("If", condition, **graphs)

    def begin(self, name: str) -> Operators:
        """Begin a graph inside this one, which may use all that is there."""
        inner = Operators(f"{self.prefix}_{len(self.nodes)}_{name}")
        inner.constants = self.constants
        return inner

    def end(self, inputs: list[Any], outputs: list[Value]) -> Any:
        """Return what was added as a graph with some outputs; ``inputs`` are as of ONNX."""
        from onnx import TypeProto, helper

        made = [helper.make_value_info(value.name, TypeProto()) for value in outputs]
        return helper.make_graph(self.nodes, self.prefix, inputs, made)

    def join(self, *scalars: Value | float) -> Value:
        """Return numbers one after the other, as whole numbers: a shape."""
        parts = [self.as_value(s).as_type(np.int64).reshape(1) for s in scalars]
        return self.call("Concat", *parts, axis=0)


class Value:
    """An output of an operator."""

    def __init__(self, to: Operators, name: str) -> None:
        self.to, self.name = to, name

    def __add__(self, other: Value | float) -> Value:
        return self.to.call("Add", self, other)

    def __sub__(self, other: Value | float) -> Value:
        return self.to.call("Sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.to.call("Sub", other, self)

    def __mul__(self, other: Value | float) -> Value:
        return self.to.call("Mul", self, other)

    def __truediv__(self, other: Value | float) -> Value:
        return self.to.call("Div", self, other)

    def __rtruediv__(self, other: float) -> Value:
        return self.to.call("Div", other, self)

    def __matmul__(self, other: Value) -> Value:
        return self.to.call("MatMul", self, other)

    def __ge__(self, other: Value | float) -> Value:
        return self.to.call("GreaterOrEqual", self, other)

    def __gt__(self, other: Value | float) -> Value:
        return self.to.call("Greater", self, other)

    def __lt__(self, other: Value | float) -> Value:
        return self.to.call("Less", self, other)

    def __and__(self, other: Value) -> Value:
        return self.to.call("And", self, other)

    def floor(self) -> Value:
        """Return the next whole numbers below."""
        return self.to.call("Floor", self)

    def ceil(self) -> Value:
        """Return the next whole numbers above."""
        return self.to.call("Ceil", self)

    def round(self) -> Value:
        """Return whole numbers; halves become even, as in Python."""
        return self.to.call("Round", self)

    def abs(self) -> Value:
        """Return sizes without signs."""
        return self.to.call("Abs", self)

    def at_least(self, other: Value | float) -> Value:
        """Return the larger of the two."""
        return self.to.call("Max", self, other)

    def at_most(self, other: Value | float) -> Value:
        """Return the smaller of the two."""
        return self.to.call("Min", self, other)

    def sum(self, *axes: int, keepdims: int = 0) -> Value:
        """Return the sum over axes, or over all."""
        listed = (self.to.integers(list(axes)),) if axes else ()
        return self.to.call("ReduceSum", self, *listed, keepdims=keepdims)

    def max(self, *axes: int) -> Value:
        """Return the largest over axes, or over all."""
        return self.to.call("ReduceMax", self, keepdims=0, **({"axes": list(axes)} if axes else {}))

    def min(self, *axes: int) -> Value:
        """Return the smallest over axes."""
        return self.to.call("ReduceMin", self, keepdims=0, axes=list(axes))

    def as_type(self, dtype: Any) -> Value:
        """Return values of another type."""
        return Value(self.to, self.to.cast(self.name, dtype))

    def reshape(self, *shape: int | Value) -> Value:
        """Return the same numbers in another shape."""
        if all(isinstance(side, int) for side in shape):
            return self.to.call("Reshape", self, self.to.integers(list(shape)))
        return self.to.call("Reshape", self, self.to.join(*shape))

    def transpose(self, *axes: int) -> Value:
        """Return its axes in another order."""
        return self.to.call("Transpose", self, perm=list(axes))

    def shape(self) -> Value:
        """Return its sides, as doubles."""
        return self.to.call("Shape", self).as_type(np.float64)

    def take(self, place: int) -> Value:
        """Return one of a list of numbers."""
        return self.to.call("Gather", self, self.to.constant(place, np.int64), axis=0)

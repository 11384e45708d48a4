"""Both looks at a picture as ONNX operators: the subject is found, and looked at closer.

What is computed is that of :mod:`fieldguide.features.looks` and
:mod:`fieldguide.features.subject_finder`, one picture at a time. The pieces of what looks like a
subject are told apart in a loop: every place begins with a number of its own and takes the largest
of its neighbours', until none changes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fieldguide.exports.onnx_operators import Operators, Value
from fieldguide.exports.onnx_resize import Side, resize
from fieldguide.features import FeatureStack, SubjectFinder
from fieldguide.features._efficientnet import CELLS, LITE0, STRIDE_PX
from fieldguide.features._preparation import CROP
from fieldguide.features.looks import (
    CLOSER,
    CLOSER_FINER,
    DEEP,
    FINER,
    N_QUARTERS,
    PEAKS,
    PLAIN_SPREAD,
    QUARTERS,
    SUBJECT,
)
from fieldguide.features.stack import split_parts
from fieldguide.features.subject_finder import FINER as MASK_FINER

_CLOSER_PX = round(CLOSER_FINER * LITE0.size_px / STRIDE_PX) * STRIDE_PX
_N_LONGEST = round(FINER * LITE0.size_px / STRIDE_PX)
_LEAST_LENGTH = 1e-12


class Picture(NamedTuple):
    """A picture in the graph."""

    pixels: Value  # (3, height, width), doubles
    width: Value
    height: Value


class NetworkCopies:
    """The built-in network, as often as it is needed, with one set of weights."""

    def __init__(self, to: Operators, model: Any) -> None:
        self.to, self.model, self.n = to, model, 0
        self.constants = {constant.name for constant in model.graph.initializer}

    def run(self, seen: Value, output: str) -> Value:
        """Return an output of the network for pixels (3, height, width)."""
        from onnx import NodeProto

        pixels = seen.transpose(1, 2, 0).as_type(np.uint8)
        pixels = self.to.call("Unsqueeze", pixels, self.to.integers([0]))
        prefix, self.n = f"network_{self.n}_", self.n + 1

        def rename(name: str) -> str:
            if name == "pixels":
                return pixels.name
            return name if name in self.constants or not name else prefix + name

        for node in _list_needed(self.model.graph.node, output):
            copy = NodeProto()
            copy.CopyFrom(node)
            copy.input[:] = [rename(name) for name in node.input]
            copy.output[:] = [rename(name) for name in node.output]
            copy.name = f"{prefix}{node.name}" if node.name else ""
            self.to.nodes.append(copy)
        return Value(self.to, prefix + output)


def _list_needed(nodes: Sequence[Any], output: str) -> list[Any]:
    """Return the nodes that an output depends on, in their order."""
    needed, kept = {output}, []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    return kept[::-1]


def open_picture(to: Operators, name: str) -> Picture:
    """Return the picture of an input, uint8 (height, width, 3)."""
    given = Value(to, name)
    sides = given.shape()
    return Picture(given.as_type(np.float64).transpose(2, 0, 1), sides.take(1), sides.take(0))


def add_row(to: Operators, picture: Picture, stack: FeatureStack | None, model: Any) -> Value:
    """Return the row by which a picture is compared, (1, n_columns), in single precision."""
    network = NetworkCopies(to, model)
    names = (DEEP,) if stack is None else split_parts(stack.parts)
    parts: dict[str, Value] = {}
    if DEEP in names:
        parts[DEEP] = network.run(_see_first(to, picture), "embedding")
    if stack is not None and stack.finder_ is not None:
        parts |= _look_closer(to, picture, stack, network)
    weights = np.array(
        [stack.quarters_weight if stack and name == QUARTERS else 1.0 for name in names]
    )
    weights /= np.linalg.norm(weights)
    blocks = []
    for name, weight in zip(names, weights, strict=True):
        length = to.call("ReduceL2", parts[name], axes=[1], keepdims=1)
        scaled = parts[name] / length.at_least(to.floats(_LEAST_LENGTH))
        blocks.append(scaled * to.floats(weight))
    return to.call("Concat", *blocks, axis=1)


def _see_first(to: Operators, picture: Picture) -> Value:
    """Return the middle square at the network's size."""
    side = picture.width.at_most(picture.height) * CROP
    sides = []
    for length in (picture.width, picture.height):
        start = (length - side) / 2.0
        sides.append(Side(length, start, start + side, float(LITE0.size_px), float(LITE0.size_px)))
    return resize(to, picture.pixels, *sides)


def _look_closer(
    to: Operators, picture: Picture, stack: FeatureStack, network: NetworkCopies
) -> dict[str, Value]:
    """Return the parts of a row that the second look adds, (1, n) each."""
    n_rows, n_columns = _fit_grid(picture)
    sides = [
        Side(length, to.as_value(0.0), length, n * float(STRIDE_PX), n * float(STRIDE_PX))
        for length, n in ((picture.width, n_columns), (picture.height, n_rows))
    ]
    maps = network.run(resize(to, picture.pixels, *sides), CELLS)
    cells = maps.transpose(0, 2, 3, 1).reshape(to.as_value(-1.0), maps.shape().take(1))
    finder = stack.finder_
    assert finder is not None
    scores = _score_cells(to, picture, finder, cells)
    box = _find_box(to, scores.reshape(n_rows, n_columns), n_rows, n_columns, finder.cut)
    square = network.run(_crop_square(to, picture, box), CELLS)
    total = scores.sum()
    even = to.floats(1.0) / (n_rows * n_columns).as_type(np.float32)
    weights = to.where(total > to.floats(0.0), scores / total, even)  # as many as scores
    parts = {
        CLOSER: square.max(2, 3),
        PEAKS: cells.max(0).reshape(1, -1),
        SUBJECT: weights.reshape(1, -1) @ cells,
    }
    if stack.basis_ is not None:
        means = _weigh_quarters(to, n_rows, n_columns) @ cells
        parts[QUARTERS] = (means @ to.floats(stack.basis_)).reshape(1, -1)
    return parts


def _fit_grid(picture: Picture) -> tuple[Value, Value]:
    """Return rows and columns of nearly square cells over the picture."""
    cell = picture.width.at_least(picture.height) / float(_N_LONGEST)
    n_rows, n_columns = (
        (length / cell).round().at_least(2.0) for length in (picture.height, picture.width)
    )
    return n_rows, n_columns


def _score_cells(to: Operators, picture: Picture, finder: SubjectFinder, cells: Value) -> Value:
    """Return how much each cell looks like a subject, (n_cells,); 0 in a picture of one colour."""
    coef = to.floats(finder.coef_[:, None])
    scores = ((cells - to.floats(finder.mean_)) @ coef).reshape(-1).at_least(to.floats(0.0))
    spread = (picture.pixels.max(1, 2) - picture.pixels.min(1, 2)).max()
    return scores * (spread > float(PLAIN_SPREAD)).as_type(np.float32)


def _find_box(
    to: Operators, scores: Value, n_rows: Value, n_columns: Value, cut: float
) -> tuple[Value, ...]:
    """Return the box around the strongest piece, in shares; the whole picture where none is."""
    down, across = (_spread_linearly(to, n) for n in (n_rows, n_columns))
    finer = (down @ scores.as_type(np.float64) @ across.transpose(1, 0)).as_type(np.float32)
    is_found = finer >= finer.max() * to.floats(cut)
    pieces = _number_pieces(to, is_found, *(n * float(MASK_FINER) for n in (n_rows, n_columns)))
    numbers = pieces.reshape(-1).as_type(np.int64)
    size = n_rows * n_columns * float(MASK_FINER**2)
    nothing = to.call("ConstantOfShape", to.join(size + 1.0)).as_type(np.float64)
    held = to.where(is_found, finer.as_type(np.float64), 0.0).reshape(-1)
    held = to.call("ScatterElements", nothing, numbers, held, axis=0, reduction="add")
    strongest = to.call("ArgMax", held, axis=0, keepdims=0).as_type(np.float64)
    is_own = to.call("Equal", pieces.as_type(np.float64), strongest).as_type(np.float32)
    has_subject = scores.max() > to.floats(0.0)
    sides = []
    for axis, n in ((0, n_columns), (1, n_rows)):
        any_of = is_own.max(axis)
        first, last = (
            to.call("ArgMax", any_of, axis=0, keepdims=0, select_last_index=last).as_type(
                np.float64
            )
            for last in (0, 1)
        )
        length = n * float(MASK_FINER)
        sides.append(
            (
                to.where(has_subject, first / length, 0.0),
                to.where(has_subject, (last + 1.0) / length, 1.0),
            )
        )
    (x0, x1), (y0, y1) = sides
    return x0, y0, x1, y1


def _spread_linearly(to: Operators, n: Value) -> Value:
    """Return the weights that make a grid finer, linear between the middles of cells."""
    place = (to.count(n * float(MASK_FINER)) + 0.5) / float(MASK_FINER) - 0.5
    place = place.at_least(0.0).at_most(n - 1.0).reshape(-1, 1)
    return (1.0 - (place - to.count(n).reshape(1, -1)).abs()).at_least(0.0)


def _number_pieces(to: Operators, is_found: Value, n_rows: Value, n_columns: Value) -> Value:
    """Return a number for each piece that hangs together, 0 elsewhere, (rows, columns)."""
    from onnx import TensorProto, helper

    shape = to.join(1.0, 1.0, n_rows, n_columns)
    where = to.call("Reshape", is_found.as_type(np.float32), shape)
    own = (to.count(n_rows * n_columns) + 1.0).as_type(np.float32)
    start = to.call("Reshape", own, shape) * where
    body = to.begin("pieces")
    names = [f"{body.prefix}_{name}" for name in ("turn", "goes_on", "pieces")]
    inputs = [
        helper.make_tensor_value_info(names[0], TensorProto.INT64, []),
        helper.make_tensor_value_info(names[1], TensorProto.BOOL, []),
        helper.make_tensor_value_info(names[2], TensorProto.FLOAT, [1, 1, None, None]),
    ]
    before = Value(body, names[2])
    tall = body.call("MaxPool", before, kernel_shape=[3, 1], pads=[1, 0, 1, 0])
    wide = body.call("MaxPool", before, kernel_shape=[1, 3], pads=[0, 1, 0, 1])
    after = tall.at_least(wide) * Value(body, where.name)
    goes_on = (after - before).max() > body.floats(0.0)
    most = to.call("Cast", n_rows * n_columns, to=TensorProto.INT64)
    pieces = to.call(
        "Loop", most, to.constant(True, np.bool_), start, body=body.end(inputs, [goes_on, after])
    )
    return to.call("Reshape", pieces, to.join(n_rows, n_columns))


def _crop_square(to: Operators, picture: Picture, box: tuple[Value, ...]) -> Value:
    """Return the square around a box at the size of the closer look; black beyond the picture."""
    lengths = (picture.width, picture.height)
    starts = [share * length for share, length in zip(box[:2], lengths, strict=True)]
    ends = [share * length for share, length in zip(box[2:], lengths, strict=True)]
    longest = (ends[0] - starts[0]).at_least(ends[1] - starts[1])
    span = longest.at_most(lengths[0].at_least(lengths[1]))
    side = span.at_least(1.0)
    sides = []
    for start, end, length in zip(starts, ends, lengths, strict=True):
        inside = ((start + end) / 2.0 - span / 2.0).at_least(0.0).at_most(length - span)
        left = to.where(span > length, (length - span) / 2.0, inside)
        first, last = left.at_least(0.0), (left + side).at_most(length)
        scale = float(_CLOSER_PX) / side
        n = ((last - first) * scale).round().at_least(1.0)
        skipped = ((first - left) * scale).round()
        sides.append(Side(length, first, last, n, float(_CLOSER_PX), skipped))
    return resize(to, picture.pixels, *sides)


def _weigh_quarters(to: Operators, n_rows: Value, n_columns: Value) -> Value:
    """Return the weights of the means over the quarters of a map, (4, n_cells)."""
    halves = []
    for n in (n_rows, n_columns):
        at = to.count(n)
        own = [at < ((n + 1.0) / 2.0).floor(), at >= (n / 2.0).floor()]
        both = to.call("Concat", *(each.as_type(np.float64).reshape(1, -1) for each in own), axis=0)
        halves.append(both / both.sum(1, keepdims=1))
    down, across = halves[0].reshape(2, 1, -1, 1), halves[1].reshape(1, 2, 1, -1)
    return (down * across).as_type(np.float32).reshape(N_QUARTERS, -1)

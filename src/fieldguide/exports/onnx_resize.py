"""Pillow's resizing as ONNX operators, pixel for pixel.

``image.resize(size, BICUBIC, box, reducing_gap=2.0)`` first averages blocks of pixels where the box
is four times the size or more, then weighs pixels along each row and, of what that gave, along each
column; or columns first, where a picture loses more than twice as many rows as columns. Every
weight is a whole number of 2⁻²², and every step ends in whole numbers of 0 to 255. Whole numbers up
to 2⁵³ are exact in double precision, so that two products of matrices do the same:

    out = clip ⌊(K in + 2²¹) / 2²²⌋,    K = [weight of pixel x for pixel i of the result] · 2²²

No operator of ONNX does: Resize has other weights at the borders, and none rounds between the two.
"""

from typing import NamedTuple

import numpy as np
import PIL

from fieldguide.exports.onnx_operators import Operators, Value

_BITS = 2.0**22  # of a weight
_BLOCK_BITS = 2.0**24  # of the inverse of the number of pixels in a block
_SUPPORT, _SLOPE = 2.0, -0.5  # of the bicubic filter
_GAP = 2.0
_ORDERED = 13  # from this Pillow on, columns may be weighed before rows


class Side(NamedTuple):
    """What of one side of a picture is taken, and what becomes of it."""

    length: Value  # pixels of the picture
    start: Value  # of the box
    end: Value
    n: Value | float  # pixels that the box becomes
    n_all: Value | float  # pixels of the result; where the box is not, it is black
    skipped: Value | float = 0.0  # pixels of the result before the box


def resize(to: Operators, picture: Value, across: Side, down: Side) -> Value:
    """Return a box of a picture at another size, (3, height, width), doubles of whole numbers."""
    picture, across, down = _average_blocks(to, picture, across, down)
    of_columns, of_rows = _find_weights(to, across).transpose(1, 0), _find_weights(to, down)

    def rows_first(inner: Operators) -> Value:
        seen, columns, rows = (Value(inner, v.name) for v in (picture, of_columns, of_rows))
        return _weigh(rows @ _weigh(seen @ columns))

    def columns_first(inner: Operators) -> Value:
        seen, columns, rows = (Value(inner, v.name) for v in (picture, of_columns, of_rows))
        return _weigh(_weigh(rows @ seen) @ columns)

    if int(PIL.__version__.split(".")[0]) < _ORDERED:
        return rows_first(to)
    lost = down.length - down.n
    is_tall = (lost > 0.0) & (lost > (across.length - across.n) * 2.0)
    return to.choose(is_tall, columns_first, rows_first)


def _weigh(products: Value) -> Value:
    return ((products + _BITS / 2) / _BITS).floor().at_least(0.0).at_most(255.0)


def _average_blocks(
    to: Operators, picture: Value, across: Side, down: Side
) -> tuple[Value, Side, Side]:
    """Return a picture of the means of blocks, and the sides in it."""
    factors = [_find_factor(side) for side in (across, down)]
    is_reduced = to.call("Max", *factors) > 1.0
    starts, ends = [], []
    for side in (across, down):
        margin = (side.end - side.start) / side.n * (_SUPPORT - 0.5)
        first = (side.start - margin).floor().at_least(0.0)
        last = (side.end + margin).ceil().at_most(side.length)
        starts.append(to.where(is_reduced, first, 0.0))
        ends.append(to.where(is_reduced, last, side.length))
    axes = to.integers([2, 1])
    cut = to.call("Slice", picture, to.join(*starts), to.join(*ends), axes)
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    n_blocks = [(n / f).ceil() for n, f in zip(lengths, factors, strict=True)]
    missing = [n * f - m for n, f, m in zip(n_blocks, factors, lengths, strict=True)]
    padded = to.call("Pad", cut, to.join(0.0, 0.0, 0.0, 0.0, missing[1], missing[0]), 0.0)
    blocks = padded.reshape(to.as_value(3.0), n_blocks[1], factors[1], n_blocks[0], factors[0])
    counts = [
        (m - to.count(n) * f).at_most(f) for n, f, m in zip(n_blocks, factors, lengths, strict=True)
    ]
    held = counts[1].reshape(-1, 1) * counts[0].reshape(1, -1)
    # Pillow multiplies by an inverse that was rounded down.
    inverse = (to.floats(_BLOCK_BITS) / held.as_type(np.float32)).as_type(np.float64).floor()
    means = ((blocks.sum(2, 4) + (held / 2.0).floor()) * inverse / _BLOCK_BITS).floor()
    sides = [
        side._replace(
            length=n, start=(side.start - start) / factor, end=(side.end - start) / factor
        )
        for side, n, start, factor in zip((across, down), n_blocks, starts, factors, strict=True)
    ]
    return means, sides[0], sides[1]


def _find_factor(side: Side) -> Value:
    return ((side.end - side.start) / side.n / _GAP).floor().at_least(1.0)


def _find_weights(to: Operators, side: Side) -> Value:
    """Return the weight of each pixel of a side for each of the result, (n_all, length)."""
    start, end = (each.as_type(np.float32) for each in (side.start, side.end))
    scale = (end - start).as_type(np.float64) / side.n
    widening = scale.at_least(1.0)
    support = widening * _SUPPORT
    place = to.count(to.as_value(side.n_all)) - side.skipped
    middle = (start.as_type(np.float64) + (place + 0.5) * scale).reshape(-1, 1)
    first = (middle - support + 0.5).floor().at_least(0.0)
    last = (middle + support + 0.5).floor().at_most(side.length)
    at = to.count(side.length).reshape(1, -1)
    t = ((at - middle + 0.5) * (1.0 / widening)).abs()
    near = ((t * (_SLOPE + 2) - (_SLOPE + 3)) * t * t) + 1.0
    far = (((t - 5.0) * t + 8.0) * t - 4.0) * _SLOPE
    bicubic = to.where(t < 1.0, near, to.where(t < 2.0, far, 0.0))
    weight = to.where((at >= first) & (at < last), bicubic, 0.0)
    share = weight / weight.sum(1, keepdims=1) * _BITS
    whole = to.where(share < 0.0, (share - 0.5).ceil(), (share + 0.5).floor())
    is_in_box = ((place >= 0.0) & (place < side.n)).reshape(-1, 1)
    return to.where(is_in_box, whole, 0.0)

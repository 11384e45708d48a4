"""Resizing in ONNX: pixel for pixel what Pillow does."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from PIL import Image

from fieldguide.exports.onnx_looks import open_picture
from fieldguide.exports.onnx_operators import Operators, Value
from fieldguide.exports.onnx_resize import Side, resize


@pytest.fixture(scope="module")
def session():
    """A model that resizes a box of a picture."""
    to = Operators()
    picture = open_picture(to, "picture")
    box, size = Value(to, "box"), Value(to, "size")
    across = Side(picture.width, box.take(0), box.take(2), size.take(0), size.take(0))
    down = Side(picture.height, box.take(1), box.take(3), size.take(1), size.take(1))
    made = resize(to, picture.pixels, across, down)
    graph = helper.make_graph(
        to.nodes,
        "resize",
        [
            helper.make_tensor_value_info("picture", TensorProto.UINT8, ["height", "width", 3]),
            helper.make_tensor_value_info("box", TensorProto.DOUBLE, [4]),
            helper.make_tensor_value_info("size", TensorProto.DOUBLE, [2]),
        ],
        [helper.make_tensor_value_info(made.name, TensorProto.DOUBLE, [3, None, None])],
        to.constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return onnxruntime.InferenceSession(model.SerializeToString())


shares = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted)


@given(
    st.integers(0, 10_000),
    st.tuples(st.integers(2, 400), st.integers(2, 400)),
    st.tuples(st.integers(1, 90), st.integers(1, 90)),
    st.tuples(shares, shares),
)
def test_pixels_are_those_of_pillow(session, seed, length, size, shares):
    width, height = length
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    starts = [min(start * n, n - 1.0) for (start, _), n in zip(shares, length, strict=True)]
    ends = [max(end * n, s + 1) for (_, end), n, s in zip(shares, length, starts, strict=True)]
    box = (*starts, *ends)
    ours = Image.fromarray(picture).resize(size, Image.Resampling.BICUBIC, box, reducing_gap=2.0)
    given = {"picture": picture, "box": np.array(box), "size": np.array(size, dtype=np.float64)}
    (found,) = session.run(None, given)
    np.testing.assert_array_equal(found.transpose(1, 2, 0), np.asarray(ours))

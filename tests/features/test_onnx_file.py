"""A network of the user's may be anything: each fault is one sentence, and none hangs."""

import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.fuzz.files import make_network

from fieldguide.errors import EmbedderError
from fieldguide.features import DeepFeatures, _onnx_file
from fieldguide.features.network import Network


def save(model: onnx.ModelProto, path):
    path.write_bytes(model.SerializeToString())
    return path


def refuse(path, match: str) -> None:
    with pytest.raises(EmbedderError, match=match) as caught:
        Network(path)
    assert "\n" not in str(caught.value)


def test_a_network_of_one_picture_at_a_time_gives_the_same(tmp_path):
    images = [np.random.default_rng(i).integers(0, 256, (20, 20, 3), np.uint8) for i in range(3)]
    free = save(make_network(), tmp_path / "free.onnx")
    single = save(make_network((1, 3, 8, 8)), tmp_path / "single.onnx")
    found = DeepFeatures("logits", embedder=single, n_jobs=1).transform(images)
    expected = DeepFeatures("logits", embedder=free, n_jobs=1).transform(images)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ((4, 3, 8, 8), "takes 4 pictures at a time"),
        (("n", 3, 8, 16), "must take square pictures of 1 to 4096 pixels; it takes 8 × 16"),
        (("n", 3, 0, 0), "must take square pictures|must take one image"),
        (("n", 3, 2**40, 2**40), "must take square pictures"),
    ],
)
def test_sizes_that_no_picture_has_are_refused(tmp_path, shape, match):
    refuse(save(make_network(shape), tmp_path / "m.onnx"), match)


def test_numbers_that_are_none_are_refused(tmp_path):
    model = make_network()
    weight = numpy_helper.to_array(model.graph.initializer[0])
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weight * np.nan, "kernel"))
    refuse(save(model, tmp_path / "m.onnx"), "gives NaN or infinity for a picture")


def test_what_fails_only_when_it_runs_is_one_sentence(tmp_path):
    model = make_network()
    model.graph.initializer[2].CopyFrom(numpy_helper.from_array(np.zeros(7, np.float32), "bias"))
    refuse(save(model, tmp_path / "m.onnx"), r"cannot (look at pictures|be run) \(")


def test_weights_in_another_file_are_told_of(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save_model(
        make_network(), path, save_as_external_data=True, location="m.data", size_threshold=0
    )
    refuse(path, r"keeps its weights in another file \('m.data'\), which is not read; save it as")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "m.onnx")
    refuse(tmp_path / "m.onnx", "cannot be opened: it is no regular file")
    refuse(tmp_path, "cannot be opened: ")


def make_endless() -> onnx.ModelProto:
    """A network with a loop that never ends."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("Identity", ["held"], ["kept"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("held", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("kept", TensorProto.FLOAT, None),
        ],
    )
    graph = helper.make_graph(
        [
            helper.make_node("GlobalAveragePool", ["x"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["flat"]),
            helper.make_node("Loop", ["", "true", "flat"], ["embedding"], body=body),
        ],
        "endless",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(np.array(True), "true")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_a_loop_without_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(_onnx_file, "MOST_SECONDS", 0.3)
    path = save(make_endless(), tmp_path / "m.onnx")
    refuse(path, "did not come to an end within 0.3 seconds")

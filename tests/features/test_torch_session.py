import numpy as np
import pytest
from PIL import Image
from tests.conftest import draw_blobs

from fieldguide.errors import FieldguideWarning
from fieldguide.features import FeatureStack
from fieldguide.features import _torch_session as module
from fieldguide.features._own_network import open_session
from fieldguide.features.network import Network, builtin_graph

torch = pytest.importorskip("torch", reason="torch is not installed (extra gpu)")


@pytest.fixture
def on_torch(monkeypatch):
    """Torch's processor in place of a graphics one: the same operators, the same way through."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    session = module.TorchSession
    monkeypatch.setattr(module, "TorchSession", lambda graph, _: session(graph, "cpu"))


def draw(shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("size", [(224, 224), (288, 384), (64, 32)])
def test_the_built_in_network_says_the_same(size):
    pixels, names = draw((2, *size, 3)), ["embedding", "logits", "cells", "finer"]
    one, two = (
        session.run(names, {"pixels": pixels})
        for session in (
            open_session(builtin_graph(), "built-in"),
            module.TorchSession(builtin_graph(), "cpu"),
        )
    )
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4 * np.abs(a).max())


def test_operators_of_other_convolutional_networks():
    from onnx import TensorProto, helper, numpy_helper

    rng = np.random.default_rng(0)
    constants = {
        "w": rng.normal(size=(6, 3, 3, 3)),
        "b": rng.normal(size=6),
        "scale": rng.uniform(0.5, 2, 6),
        "shift": rng.normal(size=6),
        "mean": rng.normal(size=6),
        "var": rng.uniform(0.5, 2, 6),
        "out": rng.normal(size=(4, 6)),
        "half": np.array(0.5),
    }
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2]),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"], epsilon=1e-3),
        node("Relu", ["n"], ["r"]),
        node("Sigmoid", ["n"], ["s"]),
        node("Mul", ["n", "s"], ["m"]),
        node("Sub", ["m", "half"], ["d"]),
        node("Div", ["d", "half"], ["q"]),
        node("Add", ["q", "r"], ["a"]),
        node("MaxPool", ["a"], ["p"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 1]),
        node("GlobalAveragePool", ["p"], ["g"]),
        node("Flatten", ["g"], ["f"], axis=1),
        node("Identity", ["f"], ["i"]),
        node("Gemm", ["i", "out"], ["y"], transB=1, alpha=0.5),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in constants.items()],
    )
    opset = {"opset_imports": [helper.make_opsetid("", 17)], "ir_version": 9}
    model = helper.make_model(graph, **opset).SerializeToString()
    x = {"x": rng.normal(size=(2, 3, 21, 18)).astype(np.float32)}
    (one,), (two,) = (
        session.run(["y"], x)
        for session in (open_session(model, "small"), module.TorchSession(model, "cpu"))
    )
    assert module.list_unknown(model) == []
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)


def test_a_batch_that_does_not_fit_is_run_as_two(monkeypatch):
    session, pixels = module.TorchSession(builtin_graph(), "cpu"), draw((5, 64, 64, 3))
    whole = session.run(["logits", "head_bias"], {"pixels": pixels})
    sizes, convolve = [], module._OPERATORS["Conv"]

    def convolve_with_little_memory(options, x, *rest):
        if len(x) > 2:
            raise torch.OutOfMemoryError
        sizes.append(len(x))
        return convolve(options, x, *rest)

    monkeypatch.setitem(module._OPERATORS, "Conv", convolve_with_little_memory)
    parts = session.run(["logits", "head_bias"], {"pixels": pixels})
    assert {1, 2} == set(sizes)
    np.testing.assert_allclose(parts[0], whole[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(parts[1], whole[1])


def test_rows_of_both_looks_agree_to_four_digits(on_torch):
    pictures = [Image.fromarray(image) for image in draw_blobs()[0][:9]]
    here, there = Network(), Network(device="cuda")
    assert (here.n_at_once, there.n_at_once) == (1, 128)
    stack = FeatureStack("looks", n_jobs=1).fit(pictures, network=here)
    rows = []
    for network in (here, there):
        looks = stack.look_closer_all(pictures, network)
        rows.append(stack.describe(pictures, network.see(pictures).embedding, looks))
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-4)


def test_a_network_that_torch_cannot_run_is_said_and_stays(on_torch, monkeypatch):
    monkeypatch.setattr(module, "list_unknown", lambda graph: ["Einsum", "Loop"])
    with pytest.warns(FieldguideWarning, match=r"operators Einsum, Loop\); the processor is used"):
        network = Network(device="cuda")
    assert network.n_at_once == 1

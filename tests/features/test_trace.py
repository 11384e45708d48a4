"""What cells say is led back to a finer map, exactly: the slope is that of the network itself."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, load_from_string
from onnx.utils import Extractor
from PIL import Image

from fieldguide.features import Look
from fieldguide.features.network import Network, builtin_graph

WHOLE = (0.0, 0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def network():
    return Network()


@pytest.fixture(scope="module")
def seen(network):
    """A bright square on soft noise, 4 × 4 cells."""
    noise = np.random.default_rng(0).integers(60, 160, (8, 8, 3), dtype=np.uint8)
    pixels = np.array(Image.fromarray(noise).resize((128, 128), Image.Resampling.BICUBIC))
    pixels[40:72, 60:92] = (230, 60, 40)
    return network.run(pixels[None], cells=True)


@pytest.fixture(scope="module")
def from_finer():
    """The network's own layers after the finer map, cut out of its graph."""
    cut = Extractor(load_from_string(builtin_graph())).extract_model(["finer"], ["cells"])
    return onnxruntime.InferenceSession(cut.SerializeToString())


def test_what_each_place_adds_is_the_slope_of_the_networks_own_layers(network, seen, from_finer):
    rng = np.random.default_rng(1)
    pull = rng.normal(size=seen.cells.shape)
    field = network.trace(seen.finer, pull)[0]
    assert field.shape == (8, 8)

    def evaluate(finer):
        (cells,) = from_finer.run(None, {"finer": finer.astype(np.float32)})
        return float((cells.transpose(0, 2, 3, 1).astype(np.float64) * pull).sum())

    steps = []
    for y, x in np.ndindex(8, 8):
        more, less = seen.finer.copy(), seen.finer.copy()
        more[0, :, y, x] *= 1 + 1e-3
        less[0, :, y, x] *= 1 - 1e-3
        steps.append((evaluate(more) - evaluate(less)) / 2e-3)
    # A step crosses a few kinks of ReLU6.
    wrong = np.abs(field.ravel() - steps)
    assert np.median(wrong) < 0.01 * np.abs(field).max()
    assert np.corrcoef(field.ravel(), steps)[0, 1] > 0.99


def test_a_look_pulls_at_the_cells_that_are_its_largest(network, seen):
    coef = np.random.default_rng(2).normal(size=seen.cells.shape[3])
    look = Look("closer", seen.cells[0], None, WHOLE, finer=seen.finer[0])
    flat = seen.cells[0].reshape(-1, len(coef))
    pull = (flat == flat.max(axis=0)) / (flat == flat.max(axis=0)).sum(axis=0) * coef
    pull /= np.linalg.norm(flat.max(axis=0))
    # Channels that are 0 everywhere add nothing, whichever cell is taken.
    expected = network.trace(seen.finer, pull.reshape(seen.cells.shape))[0]
    np.testing.assert_allclose(look.trace(coef, network), expected, atol=1e-5)
    assert (pull * flat).sum() == pytest.approx(look.share_out(coef).sum(), abs=1e-5)


def test_a_patch_changes_the_cells_around_its_own_place(network):
    """Maps are filled up at the right and below alone; what was learnt makes up for it."""
    rng, n_cells, cell = np.random.default_rng(0), 8, 32
    picture = rng.integers(0, 256, (n_cells * cell, n_cells * cell, 3), dtype=np.uint8)
    before, middles, offsets = network.map(picture[None])[0], np.arange(n_cells) + 0.5, []
    for _ in range(40):
        y, x = rng.integers(3 * cell, 5 * cell, 2)
        patched = picture.copy()
        patched[y - 4 : y + 4, x - 4 : x + 4] = rng.integers(0, 256, 3)
        change = ((network.map(patched[None])[0] - before) ** 2).sum(axis=2)
        at = np.array([change.sum(axis=1) @ middles, change.sum(axis=0) @ middles]) / change.sum()
        offsets.append(np.array([y, x]) / cell - at)
    assert np.abs(np.mean(offsets, axis=0)).max() < 0.2  # in cells; by the fill alone it is 0.48


def test_means_and_networks_of_ones_own_have_no_finer_map(network, seen, tmp_path):
    even = np.full((1, 4, 4), 1 / 16)
    mean = Look("deep", seen.cells[0], even, WHOLE, finer=seen.finer[0])
    assert mean.trace(np.ones(seen.cells.shape[3]), network) is None
    graph = helper.make_graph(
        [
            helper.make_node("GlobalAveragePool", ["x"], ["mean"]),
            helper.make_node("Flatten", ["mean"], ["embedding"]),
        ],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    (tmp_path / "own.onnx").write_bytes(model.SerializeToString())
    own = Network(tmp_path / "own.onnx")
    outputs = own.run(np.zeros((1, 8, 8, 3), dtype=np.uint8), cells=True)
    assert not own.has_finer
    assert outputs.finer is None
    assert Look("closer", outputs.cells[0], None, WHOLE).trace(np.ones(3), own) is None

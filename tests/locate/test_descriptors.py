"""Rows of regions: word histograms window by window, deep features pixel by pixel."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.reference.slow_regions import count_words

from fieldguide.errors import EmbedderError, InvalidArgument
from fieldguide.features import BagOfWords
from fieldguide.features.bag_of_words import soft_shares
from fieldguide.features.codebook import nearest_words
from fieldguide.features.network import Network
from fieldguide.features.transformer import shrink
from fieldguide.locate import region_features, region_words, superpixels, to_regions
from fieldguide.locate.descriptors import cell_weights


@pytest.fixture(scope="module")
def picture():
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 255, (12, 16, 3), dtype=np.uint8)
    return np.kron(coarse, np.ones((10, 10, 1), dtype=np.uint8))


@pytest.fixture(scope="module")
def bag(picture):
    return BagOfWords(
        n_words=30, pyramid=((1, 1),), max_side_px=120, bin_sizes_px=(4, 6), n_iter=4
    ).fit([picture])


@pytest.fixture(scope="module")
def network():
    return Network()


def test_words_are_counted_where_their_windows_lie(picture, bag):
    regions = superpixels(picture, n_regions=9)
    rows = region_words(picture, regions, bag)
    small = shrink(picture, bag.max_side_px)
    found, frames = bag.descriptors(small)
    word, distance = nearest_words(found, bag.words_[:-1], bag.n_nearest)
    word[~found.any(axis=1)] = bag.n_words - 1
    share = soft_shares(distance, bag.radius_)
    scale = np.array(picture.shape[1::-1]) / small.shape[1::-1]
    slow = count_words(regions.labels, frames, word, share, scale, regions.n_regions, bag.n_words)
    assert slow.any(axis=1).all()
    np.testing.assert_allclose(rows, slow / slow.sum(axis=1, keepdims=True), atol=1e-6)


def test_one_region_has_the_words_of_the_picture(picture, bag):
    whole = to_regions(np.zeros(picture.shape[:2], int))
    np.testing.assert_allclose(
        region_words(picture, whole, bag), bag.transform([picture]), atol=1e-6
    )


def test_a_region_without_a_window_has_the_words_of_the_picture(picture, bag):
    labels = np.zeros(picture.shape[:2], int)
    labels[0, 0] = 1  # no window has its middle in the corner
    rows = region_words(picture, to_regions(labels), bag)
    np.testing.assert_allclose(rows[1], rows[0], atol=1e-6)
    assert rows[0].sum() == pytest.approx(1)


def test_cells_count_by_bilinear_weights():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, (11, 14))
    weights = cell_weights(labels, 3, 4, 5)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    slow = np.zeros((3, 4, 5))
    for y, x in np.ndindex(labels.shape):
        v, u = (y + 0.5) * 4 / 11 - 0.5, (x + 0.5) * 5 / 14 - 0.5
        for row, column in np.ndindex(4, 5):
            near_y = max(0.0, 1 - abs(min(max(v, 0), 3) - row))
            near_x = max(0.0, 1 - abs(min(max(u, 0), 4) - column))
            slow[labels[y, x], row, column] += near_y * near_x
    slow /= slow.sum(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(weights.reshape(3, 4, 5), slow, atol=1e-12)


def test_the_map_is_what_the_network_pools(picture, network):
    pixels = np.random.default_rng(0).integers(0, 255, (2, 224, 224, 3), dtype=np.uint8)
    maps = network.map(pixels)
    assert maps.shape == (2, 7, 7, 1280)
    np.testing.assert_allclose(
        maps.mean(axis=(1, 2)), Network().run(pixels).embedding, rtol=1e-3, atol=1e-4
    )
    assert Network().map(np.zeros((1, 320, 256, 3), np.uint8)).shape[1:3] == (10, 8)


def test_deep_rows_of_regions(picture, network):
    half = np.zeros(picture.shape[:2], int)
    half[:, 80:] = 1
    rows = region_features(picture, to_regions(half), network)
    assert rows.shape == (2, 1280)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    assert rows[0] @ rows[1] < 0.999  # they look at different places


def test_regions_must_be_those_of_the_picture(picture, bag, network):
    other = to_regions(np.zeros((5, 6), int))
    with pytest.raises(InvalidArgument, match=r"160 × 120 px; they are of one of 6 × 5 px"):
        region_words(picture, other, bag)
    with pytest.raises(InvalidArgument, match="cut the same picture"):
        region_features(picture, other, network)


def save_network(path, nodes, constants=(), dim=3, n_classes=0):
    outputs = {"embedding": dim} | ({"logits": n_classes} if n_classes else {})
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])
            for name, width in outputs.items()
        ],
        list(constants),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


def test_a_network_of_ones_own_is_cut_too(tmp_path):
    weights = np.random.default_rng(0).standard_normal((5, 3, 2, 2)).astype(np.float32)
    path = save_network(
        tmp_path / "own.onnx",
        [
            helper.make_node("Conv", ["x", "w"], ["map"], strides=[2, 2]),
            helper.make_node("GlobalAveragePool", ["map"], ["mean"]),
            helper.make_node("Flatten", ["mean"], ["embedding"]),
        ],
        [numpy_helper.from_array(weights, "w")],
        dim=5,
    )
    pixels = np.random.default_rng(1).integers(0, 255, (2, 8, 8, 3), dtype=np.uint8)
    network = Network(path)
    maps = network.map(pixels)
    assert (network.size_px, network.stride_px, network.is_mean) == (8, 2, True)
    assert maps.shape == (2, 4, 4, 5)
    np.testing.assert_allclose(maps.mean(axis=(1, 2)), network.run(pixels).embedding, atol=1e-5)
    # a larger square has a larger map, and the same one where it holds the same pixels
    wide = network.map(np.tile(pixels, (1, 2, 2, 1)))
    np.testing.assert_allclose(wide, np.tile(maps, (1, 2, 2, 1)), atol=1e-5)


@pytest.mark.parametrize("is_linear", [True, False])
def test_the_head_of_a_network_of_ones_own(tmp_path, is_linear):
    rng = np.random.default_rng(0)
    shapes = {"w": (5, 3, 2, 2), "head": (1000, 5), "bias": (1000,)}
    constants = {name: rng.standard_normal(s).astype(np.float32) for name, s in shapes.items()}
    last = "embedding" if is_linear else "bent"
    path = save_network(
        tmp_path / "own.onnx",
        [
            helper.make_node("Conv", ["x", "w"], ["map"], strides=[2, 2]),
            helper.make_node("GlobalAveragePool", ["map"], ["mean"]),
            helper.make_node("Flatten", ["mean"], ["embedding"]),
            helper.make_node("Tanh", ["embedding"], ["bent"]),
            helper.make_node("Gemm", [last, "head", "bias"], ["logits"], transB=1),
        ],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
        dim=5,
        n_classes=1000,
    )
    head = Network(path).head
    if is_linear:
        np.testing.assert_array_equal(head[0], constants["head"].T)
        np.testing.assert_array_equal(head[1], constants["bias"])
    else:
        assert head is None


def test_a_network_without_pooling_has_no_map(tmp_path):
    nodes = [helper.make_node("Flatten", ["x"], ["embedding"])]
    path = save_network(tmp_path / "flat.onnx", nodes, dim=192)
    network = Network(path)
    assert network.stride_px is None
    with pytest.raises(EmbedderError, match="no map of places"):
        network.map(np.zeros((1, 8, 8, 3), np.uint8))

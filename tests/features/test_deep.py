import io
import pickle
import struct
from collections import OrderedDict

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image
from tests.features.contract import check_image_transformer

from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.errors import EmbedderError, UnreadableImageError
from fieldguide.features import DeepFeatures
from fieldguide.features._efficientnet import build_graph
from fieldguide.features._weights import _MAGIC, read_tensors
from fieldguide.features.network import SIX, Network


def test_shapes_and_names_agree_for_every_output(blobs):
    images = blobs[0][:3]
    for output, width in (("embedding", 1280), ("logits", 1000), ("probabilities", 1000)):
        for windows, n in (("whole", 1), ("six", 6)):
            features = DeepFeatures(output, windows, n_jobs=1)
            rows = features.transform(images)
            assert rows.shape == (3, n * width)
            assert rows.dtype == np.float32
            names = features.get_feature_names_out()
            assert len(names) == len(set(names)) == n * width


def test_probabilities_are_the_softmax_of_the_logits(blobs):
    logits = DeepFeatures("logits", n_jobs=1).transform(blobs[0][:4]).astype(np.float64)
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = DeepFeatures("probabilities", n_jobs=1).transform(blobs[0][:4])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)


def test_the_answer_does_not_depend_on_batches_or_threads(blobs):
    images = blobs[0]
    one = DeepFeatures(batch_size=1, n_jobs=1).transform(images)
    np.testing.assert_array_equal(one, DeepFeatures(batch_size=7, n_jobs=2).transform(images))


def test_arrays_pillow_images_paths_and_collections_agree(blobs, tmp_path):
    images = blobs[0][:3]
    paths = [tmp_path / f"{i}.png" for i in range(3)]
    for image, path in zip(images, paths, strict=True):
        Image.fromarray(image).save(path)
    expected = DeepFeatures(n_jobs=1).transform(images)
    for source in (map(Image.fromarray, images), paths, Collection.from_folder(tmp_path)):
        np.testing.assert_array_equal(DeepFeatures(n_jobs=1).transform(source), expected)


def test_six_windows_are_crops_of_the_picture():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 255, (200, 200, 3), dtype=np.uint8)
    six = DeepFeatures(windows="six", n_jobs=1).transform([image]).reshape(6, 1280)
    for row, (x0, y0, x1, y1) in zip(six, SIX.values(), strict=True):
        crop = image[round(y0 * 200) : round(y1 * 200), round(x0 * 200) : round(x1 * 200)]
        alone = DeepFeatures(n_jobs=1).transform([crop])[0]
        assert np.corrcoef(row, alone)[0, 1] > 0.99


def test_some_of_the_six_windows_by_name():
    image = np.random.default_rng(0).integers(0, 255, (90, 120, 3), dtype=np.uint8)
    six = DeepFeatures("logits", "six", n_jobs=1)
    two = DeepFeatures("logits", ("bottom-left", "centre"), n_jobs=1)
    kept = [list(SIX).index(window) for window in two.windows]
    rows = six.transform([image]).reshape(6, 1000)[kept]
    np.testing.assert_array_equal(two.transform([image])[0], rows.ravel())
    names = six.get_feature_names_out().reshape(6, 1000)[kept]
    assert two.get_feature_names_out().tolist() == names.ravel().tolist()


def test_an_open_network_describes_the_same(blobs):
    features, network = DeepFeatures("logits", ("centre", "whole"), n_jobs=1), Network()
    images = [Image.fromarray(image) for image in blobs[0][:3]]
    expected = features.transform(blobs[0][:3])
    np.testing.assert_array_equal(features.describe(images, network), expected)
    np.testing.assert_array_equal(features.describe(images), expected)
    np.testing.assert_array_equal(features.describe(images[1:2], network), expected[1:2])


def test_the_network_knows_what_it_sees():
    """Drawn mushrooms are mushrooms; a wrong channel order or scale would break that."""
    drawn = load_specimens(n_per_kind=4, size_px=200)
    agarics = drawn.images[drawn.target == drawn.target_names.index("white-warted agaric")]
    features = DeepFeatures("probabilities", n_jobs=1)
    straight = features.transform(agarics).mean(axis=0)
    swapped = features.transform(agarics[..., ::-1]).mean(axis=0)
    best = straight.argmax()
    assert features.get_feature_names_out()[best] == "whole: agaric mushroom"
    assert straight[best] > 3 * swapped[best]


def naive_forward(tensors: dict[str, np.ndarray], pixels: np.ndarray) -> np.ndarray:
    """The first two convolutions of the network with plain loops, batch norms not folded."""

    def norm(x, name):
        w, b, mean, var = (
            tensors[f"{name}.{part}"] for part in ("weight", "bias", "running_mean", "running_var")
        )
        scaled = (x - mean[:, None, None]) / np.sqrt(var + 1e-3)[:, None, None]
        return np.clip(scaled * w[:, None, None] + b[:, None, None], 0, 6)

    x = (pixels.astype(np.float64).transpose(2, 0, 1) / 255 - 0.498) / 0.502
    weight = tensors["_conv_stem.weight"].astype(np.float64)
    padded = np.pad(x, ((0, 0), (0, 1), (0, 1)))  # SAME_UPPER of an even side, stride 2
    out = np.empty((32, 112, 112))
    for i in range(112):
        for j in range(112):
            patch = padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
            out[:, i, j] = (weight * patch).sum(axis=(1, 2, 3))
    x = norm(out, "_bn0")
    depthwise = tensors["_blocks.0._depthwise_conv.weight"].astype(np.float64)[:, 0]
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    out = sum(
        depthwise[:, i, j][:, None, None] * padded[:, i : i + 112, j : j + 112]
        for i in range(3)
        for j in range(3)
    )
    return norm(out, "_blocks.0._bn1")


def test_the_graph_computes_what_the_weights_say():
    """The folded graph against naive loops, at the second convolution."""
    import onnxruntime

    from fieldguide.features import _efficientnet

    model = onnx.load_from_string(build_graph())
    clips = [node.output[0] for node in model.graph.node if node.op_type == "Clip"]
    model.graph.output.append(helper.make_tensor_value_info(clips[1], TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    pixels = np.random.default_rng(0).integers(0, 255, (224, 224, 3), dtype=np.uint8)
    found = session.run([clips[1]], {"pixels": pixels[None]})[0][0]
    tensors = read_tensors(io.BytesIO(_efficientnet._read_weights(_efficientnet.LITE0)))
    np.testing.assert_allclose(found, naive_forward(tensors, pixels), atol=2e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "hidden"}, "output of DeepFeatures must be one of"),
        ({"windows": "nine"}, "windows of DeepFeatures must be one of"),
        ({"windows": ("centre", "attic")}, "windows of DeepFeatures must be one of"),
        ({"windows": ("centre", "centre")}, "one or more different names"),
        ({"windows": ()}, "one or more different names"),
        ({"windows": 6}, "windows of DeepFeatures must be one of"),
        ({"batch_size": 0}, "batch_size of DeepFeatures must be a whole number"),
    ],
)
def test_bad_arguments_are_clear(arguments, message):
    with pytest.raises(ValueError, match=message):
        DeepFeatures(**arguments).fit()


def test_bad_images_are_clear(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"no")
    with pytest.raises(UnreadableImageError, match=r"a\.jpg': not an image"):
        DeepFeatures(n_jobs=1).transform([tmp_path / "a.jpg"])
    with pytest.raises(UnreadableImageError, match="There is no image"):
        DeepFeatures(n_jobs=1).transform([])


def test_contract_of_an_estimator_over_images(blobs, tmp_path):
    check_image_transformer(DeepFeatures("logits", n_jobs=1), blobs[0][:3], tmp_path)


def make_network(path, *, channels_first=True, dtype=TensorProto.FLOAT, outputs=("embedding",)):
    """A network that averages each channel."""
    shape = ["n", 3, 8, 8] if channels_first else ["n", 8, 8, 3]
    nodes = [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT)]
    axes = [2, 3] if channels_first else [1, 2]
    nodes += [helper.make_node("ReduceMean", ["f"], [o], axes=axes, keepdims=0) for o in outputs]
    infos = [helper.make_tensor_value_info(o, TensorProto.FLOAT, ["n", 3]) for o in outputs]
    graph = helper.make_graph(
        nodes, "mean", [helper.make_tensor_value_info("x", dtype, shape)], infos
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("channels_first", [True, False])
def test_any_onnx_file_can_be_the_embedder(tmp_path, channels_first):
    image = np.full((20, 30, 3), (255, 0, 51), np.uint8)
    path = make_network(tmp_path / "m.onnx", channels_first=channels_first)
    found = DeepFeatures(embedder=path, n_jobs=1).transform([image])[0]
    expected = (np.array([1, 0, 0.2]) - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    raw = make_network(tmp_path / "u.onnx", channels_first=channels_first, dtype=TensorProto.UINT8)
    found = DeepFeatures(embedder=raw, n_jobs=1).transform([image])[0]
    np.testing.assert_allclose(found, [255, 0, 51])


def test_a_network_without_classes_has_no_logits(tmp_path):
    path = make_network(tmp_path / "m.onnx")
    with pytest.raises(EmbedderError, match="no output of 1000 ImageNet classes"):
        DeepFeatures("logits", embedder=path).transform([np.zeros((9, 9), np.uint8)])
    with pytest.raises(EmbedderError, match="no output of 1000 ImageNet classes"):
        DeepFeatures("logits").describe([Image.new("RGB", (9, 9))], Network(path))


def test_bad_network_files_are_clear(tmp_path):
    with pytest.raises(EmbedderError, match="cannot be opened"):
        Network(tmp_path / "missing.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"not a graph")
    with pytest.raises(EmbedderError, match="cannot be run"):
        Network(tmp_path / "bad.onnx")
    text = make_network(tmp_path / "t.onnx", dtype=TensorProto.INT64)
    with pytest.raises(EmbedderError, match="must take one image input"):
        Network(text)


def legacy_file(state: object, storages: dict[str, np.ndarray]) -> io.BytesIO:
    parts = [pickle.dumps(_MAGIC), pickle.dumps(1001), pickle.dumps({})]
    parts += [state if isinstance(state, bytes) else pickle.dumps(state)]
    parts += [pickle.dumps(list(storages))]
    for array in storages.values():
        parts += [struct.pack("<q", array.size), array.tobytes()]
    return io.BytesIO(b"".join(parts))


def test_a_pickle_that_names_a_function_is_refused():
    class Evil:
        def __reduce__(self):
            return (print, ("ran",))

    with pytest.raises(EmbedderError, match=r"asks for builtins\.print, which is refused"):
        read_tensors(legacy_file(OrderedDict(x=Evil()), {}))


@pytest.mark.parametrize("cut", [0, 5, 40, -1])
def test_damaged_weights_are_refused(cut):
    data = legacy_file(OrderedDict(), {}).getvalue()
    data = data[:cut] if cut >= 0 else b"\x80\x02K\x07." + data[5:]
    with pytest.raises(EmbedderError, match="weights file"):
        read_tensors(io.BytesIO(data))

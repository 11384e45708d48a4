"""Fuzzers of single files: pictures, tables, matrices, networks, weights, saved models."""

import io
import json
import random
import warnings
from collections import OrderedDict
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from PIL import Image, TiffImagePlugin

from fieldguide.collection.folder import read_sidecar
from fieldguide.collection.images import read_header, read_picture
from fieldguide.errors import CollectionError, EmbedderError, GuideError, UnreadableImageError
from fieldguide.features._weights import _MAGIC, read_tensors
from fieldguide.features.network import Network
from fieldguide.guide import folder as guide_files
from tests.fuzz.harm import harm_bytes, harm_json
from tests.fuzz.runner import Fuzzer

# -- pictures -----------------------------------------------------------------------------------


def draw_pictures() -> list[bytes]:
    """Return small pictures of every format and mode that is read, with what they may carry."""
    rng = np.random.default_rng(0)
    colour = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
    exif = Image.Exif()
    exif[0x0112], exif[0x9C9E] = 6, "reeds;heron".encode("utf-16-le")
    exif.get_ifd(0x8769)[0x9003] = "2021:05:03 14:07:00"
    exif.get_ifd(0x8825).update({1: "N", 2: (47.0, 39.0, 36.0), 3: "E", 4: (9.0, 10.0, 30.0)})
    xmp = (
        b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
        b'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
        b'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag><rdf:li>heron</rdf:li>'
        b"</rdf:Bag></dc:subject></rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    profile = _colour_profile()
    made = [
        ("JPEG", colour, {"exif": exif, "icc_profile": profile, "xmp": xmp, "comment": b"hello"}),
        ("JPEG", colour, {"progressive": True}),
        ("JPEG", colour.convert("CMYK"), {}),
        ("JPEG", colour.convert("L"), {}),
        ("PNG", colour, {"exif": exif, "icc_profile": profile}),
        ("PNG", colour.convert("RGBA"), {}),
        ("PNG", colour.convert("P"), {"transparency": 3}),
        ("PNG", colour.convert("1"), {}),
        ("PNG", Image.fromarray(rng.integers(0, 2**16, (24, 32), dtype=np.uint16)), {}),
        ("WEBP", colour, {"exif": exif, "xmp": xmp}),
        ("WEBP", colour.convert("RGBA"), {"lossless": True}),
        ("GIF", colour, {"save_all": True, "append_images": [colour.rotate(90)]}),
        ("TIFF", colour, {"compression": "tiff_lzw", "exif": exif}),
        ("TIFF", colour, {"compression": "tiff_adobe_deflate"}),
        ("TIFF", colour.convert("1"), {"compression": "group4"}),
        ("TIFF", Image.fromarray(rng.random((24, 32), dtype=np.float32)), {}),
        ("TIFF", colour.convert("CMYK"), {}),
        ("BMP", colour, {}),
        ("BMP", colour.convert("P"), {}),
    ]
    pictures = []
    for form, image, options in made:
        out = io.BytesIO()
        image.save(out, form, **options)
        pictures.append(out.getvalue())
    info = TiffImagePlugin.ImageFileDirectory_v2()
    info[33723] = b"\x1c\x02\x19\x00\x05heron"  # IPTC
    out = io.BytesIO()
    colour.save(out, "TIFF", tiffinfo=info)
    return [*pictures, out.getvalue()]


def _colour_profile() -> bytes:
    from PIL import ImageCms

    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def attempt_picture(state: object, seed: int) -> bool:
    rng = random.Random(seed)
    data = rng.choice(state)
    if seed % 50:
        data = harm_bytes(data, rng)
    read_header(data)
    image = read_picture(data, at_least_px=rng.choice((0, 16, 1024))).image
    assert image.mode == "RGB"
    assert min(image.size) > 0
    return True


IMAGES = Fuzzer(
    "images", lambda work, guides: draw_pictures(), attempt_picture, (UnreadableImageError,)
)

# -- tables -------------------------------------------------------------------------------------

_TABLE = (
    b"path,label,keywords,red,round\n"
    b'a/1.png,robin,"reeds;heron",yes,0.5\nb/2.png,,,no,\n"c,""3"".png","=1+1",a;b,1,0\n'
)


def attempt_sidecar(state: object, seed: int) -> bool:
    assert isinstance(state, Path)
    rng = random.Random(seed)
    data = harm_bytes(_TABLE, rng)
    if rng.random() < 0.3:
        odd = ("é", "🦜", "\ufeff", '"', "\r", "nan", "1e999", ",,,,", "\x1a", "a" * 200_000)
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice(odd).encode() + data[at:]
    state.write_bytes(data)
    table = read_sidecar(state)
    known = table.attributes[~np.isnan(table.attributes)]
    assert ((known >= 0) & (known <= 1)).all()
    return True


SIDECAR = Fuzzer(
    "sidecar", lambda work, guides: work / "sidecar.csv", attempt_sidecar, (CollectionError,)
)

# -- matrices -----------------------------------------------------------------------------------


def prepare_matrix(work: Path, guides: dict[str, Path]) -> object:
    (work / "features").mkdir(exist_ok=True)
    path = work / guide_files.feature_file("rows")
    np.save(path, np.random.default_rng(0).random((6, 5), dtype=np.float32))
    return work, path.read_bytes()


def attempt_matrix(state: object, seed: int) -> bool:
    work, data = state
    rng = random.Random(seed)
    if rng.random() < 0.5:  # something else in the header
        shape = rng.choice(["(6, 5)", "(6,)", "(6, -5)", "(6, 5.0)", "(10**9, 5)", "('a', 5)", "6"])
        shape = rng.choice([shape, "(6, " + "9" * rng.randrange(1, 60) + ")"])
        descr = rng.choice(["'<f4'", "'|O'", "'<f8'", "[('a', '<f4')]", "'<U9'", "3", "'>f4'"])
        order = rng.choice(["False", "True", "1", "None"])
        text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
        data = data[:10] + text.ljust(117)[:117].encode() + b"\n" + data[128:]
    if rng.random() < 0.6:
        data = harm_bytes(data, rng)
    (work / guide_files.feature_file("rows")).write_bytes(data)
    rows = guide_files.read_features(work, "rows", 6)
    assert rows.dtype == np.float32
    assert rows.shape[0] == 6
    float(np.nansum(rows))
    return True


MATRIX = Fuzzer("npy", prepare_matrix, attempt_matrix, (GuideError,))

# -- networks -----------------------------------------------------------------------------------


def make_network(shape: tuple = ("n", 3, 8, 8)) -> onnx.ModelProto:
    """A network with a convolution, a pooling and a linear layer."""
    rng = np.random.default_rng(0)
    arrays = {
        "kernel": rng.normal(size=(4, 3, 3, 3)).astype(np.float32),
        "weight": rng.normal(size=(4, 1000)).astype(np.float32),
        "bias": np.zeros(1000, dtype=np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["maps"], pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["maps"], ["cells"]),
        helper.make_node("GlobalAveragePool", ["cells"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["embedding"]),
        helper.make_node("Gemm", ["embedding", "weight", "bias"], ["logits"]),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [
            helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["n", 4]),
            helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 1000]),
        ],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def attempt_network(state: object, seed: int) -> bool:
    path, data = state
    rng = random.Random(seed)
    if rng.random() < 0.5:
        model = onnx.load_from_string(data)
        _harm_network(model, rng)
        data = model.SerializeToString()
    else:
        data = harm_bytes(data[: rng.choice((600, len(data)))], rng)
    path.write_bytes(data)
    network = Network(path)
    side = network.size_px
    found = network.run(np.zeros((2, side, side, 3), dtype=np.uint8))
    assert found.embedding.shape[0] == 2
    assert np.isfinite(found.embedding).all()
    return True


def _harm_network(model: onnx.ModelProto, rng: random.Random) -> None:
    graph = model.graph
    way = rng.randrange(9)
    node = rng.choice(graph.node)
    if way == 0:
        graph.node.remove(node)
    elif way == 1:
        node.op_type = rng.choice(("Loop", "If", "Relu", "Identity", "MatMul", "Foo", "Expand"))
    elif way == 2 and node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(("x", "", "cells", "nowhere"))
    elif way == 3:
        dims = graph.input[0].type.tensor_type.shape.dim
        dim = rng.choice(dims)
        dim.Clear()
        dim.dim_value = rng.choice((0, 1, 2, 3, 5, 7, 16, -1, 2**40))
    elif way == 4:
        array = rng.choice(graph.initializer)
        array.dims[0] = rng.choice((0, 1, 2**40, -1))
    elif way == 5:
        array = rng.choice(graph.initializer)
        array.raw_data = np.full(len(array.raw_data) // 4, np.nan, dtype=np.float32).tobytes()
    elif way == 6:
        array = rng.choice(graph.initializer)
        array.data_location = TensorProto.EXTERNAL
        place = rng.choice(("/etc/passwd", "../x", "m.onnx", "nothing"))
        array.external_data.add(key="location", value=place)
    elif way == 7:
        kind = graph.input[0].type.tensor_type
        kind.elem_type = rng.choice(range(17))
    else:
        output = rng.choice(graph.output)
        output.type.tensor_type.shape.dim[0].dim_value = rng.choice((0, 1, 7))


ONNX = Fuzzer(
    "onnx",
    lambda work, guides: (work / "m.onnx", make_network().SerializeToString()),
    attempt_network,
    (EmbedderError,),
)

# What may lie beside a network and says how pictures are shown to it.
_SAID: list[tuple[str, dict]] = [
    (
        "preprocessor_config.json",
        {
            **{"do_resize": True, "do_center_crop": True, "do_rescale": True, "do_normalize": True},
            **{"image_processor_type": "CLIPImageProcessor", "resample": 3},
            **{"size": {"shortest_edge": 9}, "crop_size": {"height": 8, "width": 8}},
            **{"image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.3, 0.2]},
            **{"rescale_factor": 1 / 255, "fieldguide": {"output": "embedding"}},
        },
    ),
    (
        "preprocessor_config.json",
        {"image_processor_type": "ConvNextImageProcessor", "size": 8, "crop_pct": 0.9},
    ),
    ("processor_config.json", {"image_processor": {"size": {"height": 8, "width": 8}}}),
    (
        "open_clip_config.json",
        {
            "model_cfg": {"vision_cfg": {"image_size": 8}},
            "preprocess_cfg": {
                **{"mode": "RGB", "resize_mode": "squash", "interpolation": "bicubic"},
                **{"mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "size": [8, 8]},
            },
        },
    ),
]
_KNOWN = {"vision_config": {"patch_size": 4}, "patch_size": 4, "id2label": {"0": "tench"}}


def attempt_said(state: object, seed: int) -> bool:
    folder, picture = state
    rng = random.Random(seed)
    for old in folder.glob("*.json"):
        old.unlink()
    name, said = rng.choice(_SAID)
    known = json.dumps(_KNOWN).encode()
    if rng.random() < 0.2:
        (folder / "config.json").write_bytes(harm_json(known.decode(), rng))
    (folder / name).write_bytes(harm_json(json.dumps(said), rng))
    network = Network(folder / "m.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = network.see([picture])
    assert np.isfinite(found.embedding).all()
    return True


def prepare_said(work: Path, guides: dict[str, Path]) -> object:
    folder = work / "said"
    folder.mkdir(exist_ok=True)
    (folder / "m.onnx").write_bytes(make_network().SerializeToString())
    return folder, Image.fromarray(
        np.random.default_rng(0).integers(0, 256, (24, 32, 3), dtype=np.uint8)
    )


SAID = Fuzzer("said", prepare_said, attempt_said, (EmbedderError,))

# -- weights ------------------------------------------------------------------------------------


def make_weights() -> bytes:
    """Return a legacy torch file of two tensors."""
    import pickle
    import struct

    # The names of torch's own functions, without torch: written by hand as a pickle writes them.
    def tensor(key: str, n: int, shape: str, strides: str) -> bytes:
        storage = (
            b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
            + b"X"
            + struct.pack("<I", len(key))
            + key.encode()
            + b"X\x03\x00\x00\x00cpuJ"
            + struct.pack("<i", n)
            + b"tQ"
        )
        parts = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00"
        parts += shape.encode("latin-1") + strides.encode("latin-1") + b"\x89ccollections\n"
        return parts + b"OrderedDict\n)RtR"

    state = b"\x80\x02ccollections\nOrderedDict\n)R("
    state += b"X\x01\x00\x00\x00a" + tensor("k0", 6, "K\x02K\x03\x86", "K\x03K\x01\x86")
    state += b"X\x01\x00\x00\x00b" + tensor("k1", 4, "K\x04\x85", "K\x01\x85") + b"u."
    data = [pickle.dumps(_MAGIC), pickle.dumps(1001), pickle.dumps({}), state]
    data.append(pickle.dumps(["k0", "k1"]))
    for n in (6, 4):
        data += [struct.pack("<q", n), np.arange(n, dtype=np.float32).tobytes()]
    return b"".join(data)


def attempt_weights(state: object, seed: int) -> bool:
    rng = random.Random(seed)
    assert isinstance(state, bytes)
    tensors = read_tensors(io.BytesIO(harm_bytes(state, rng)))
    assert all(isinstance(array, np.ndarray) for array in tensors.values())
    return True


def prepare_weights(work: Path, guides: dict[str, Path]) -> bytes:
    data = make_weights()
    whole = read_tensors(io.BytesIO(data))
    assert isinstance(whole, dict | OrderedDict)
    np.testing.assert_array_equal(whole["a"], [[0, 1, 2], [3, 4, 5]])
    return data


WEIGHTS = Fuzzer("weights", prepare_weights, attempt_weights, (EmbedderError,))

# -- saved models -------------------------------------------------------------------------------


def attempt_state(state: object, seed: int) -> bool:
    from tests.test_saving import MODELS, try_harm

    names = sorted(MODELS)
    return try_harm(names[seed % len(names)], seed)[1] != "refused"


def prepare_states(work: Path, guides: dict[str, Path]) -> object:
    from tests.test_saving import MODELS, fit

    for name in MODELS:  # fitted before the first fork
        fit(name)
    return None


STATES = Fuzzer("states", prepare_states, attempt_state, ())

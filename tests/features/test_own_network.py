"""Networks in the layouts of those that people have: the same numbers as by their own programs."""

import json

import numpy as np
import onnxruntime
import pytest
from PIL import Image
from tests.features import exported
from tests.features.test_onnx_file import refuse

from fieldguide.features import DeepFeatures, picture_cells
from fieldguide.features.network import SIX, Network

SIZES = ((90, 61), (61, 90), (40, 40), (33, 300), (21, 19))


def make_pictures() -> list[Image.Image]:
    """Smooth pictures of several shapes; one is smaller than what the network is shown."""
    rng = np.random.default_rng(0)
    pictures = []
    for width, height in SIZES:
        small = Image.fromarray(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8))
        pictures.append(small.resize((width, height), Image.Resampling.BICUBIC))
    return pictures


def scale(pixels: np.ndarray, config: dict) -> np.ndarray:
    """Pixels as a network of transformers takes them, channels first."""
    mean, std = np.array(config["image_mean"]), np.array(config["image_std"])
    return ((pixels / 255 - mean) / std).transpose(2, 0, 1).astype(np.float32)


def show_cropped(image: Image.Image, resize: int, crop: int, filter_: int = 3) -> np.ndarray:
    """Resize the shorter side, then cut out the middle, as CLIP and DINOv2 do."""
    width, height = image.size
    if width <= height:
        size = (resize, int(resize * height / width))
    else:
        size = (int(resize * width / height), resize)
    pixels = np.asarray(image.resize(size, filter_)).astype(np.float64)
    top, left = (pixels.shape[0] - crop) // 2, (pixels.shape[1] - crop) // 2
    return pixels[top : top + crop, left : left + crop]


def show_open_clip(image: Image.Image) -> np.ndarray:
    """The same by torchvision, which rounds half a pixel to the nearest even number."""
    width, height = image.size
    resize = 32
    size = (
        (resize, int(resize * height / width))
        if width <= height
        else (int(resize * width / height), resize)
    )
    resized = image.resize(size, Image.Resampling.BICUBIC)
    left, top = (int(round((side - 32) / 2.0)) for side in size)  # noqa: RUF046
    pixels = np.asarray(resized.crop((left, top, left + 32, top + 32))) / 255
    scaled = (pixels - exported.OPENAI["mean"]) / exported.OPENAI["std"]
    return scaled.transpose(2, 0, 1).astype(np.float32)


def ask(path, output: str, pixels: np.ndarray, **others) -> np.ndarray:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = next(each.name for each in session.get_inputs() if len(each.shape) == 4)
    return session.run([output], {name: pixels, **others})[0]


def check_same(path, expected) -> None:
    found = DeepFeatures(embedder=path, n_jobs=1).transform(make_pictures())
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.ptp(found, axis=0).max() > 0.01  # the pictures differ


def test_clip(tmp_path):
    path = exported.save_clip(tmp_path)  # the configuration is in the folder around "onnx"
    shown = [scale(show_cropped(p, 32, 32), exported.CLIP) for p in make_pictures()]
    check_same(path, ask(path, "image_embeds", np.stack(shown)))
    assert Network(path).about == (
        "Pictures are shown by their middle, the shorter side scaled to 32 px "
        "and the longer one cut to it (bicubic), pixels divided by 255 less 0.481 0.458 0.408, "
        "over 0.269 0.261 0.276 (as preprocessor_config.json says); 8 numbers are 'image_embeds'; "
        "its map for the second look is of 4 × 4 cells."
    )


def test_both_towers_in_one_file(tmp_path):
    path = exported.save_two_towers(tmp_path)
    shown = [scale(show_cropped(p, 32, 32), exported.CLIP) for p in make_pictures()]
    text = {n: np.ones((2, 5), np.int64) for n in ("input_ids", "attention_mask")}
    check_same(path, ask(path, "image_embeds", np.stack(shown), **text))


def test_siglip(tmp_path):
    path = exported.save_siglip(tmp_path)
    shown = [
        scale(np.asarray(p.resize((32, 32), Image.Resampling.BICUBIC)), exported.SIGLIP)
        for p in make_pictures()
    ]
    check_same(path, ask(path, "pooler_output", np.stack(shown)))


def test_dinov2(tmp_path):
    path = exported.save_dinov2(tmp_path)
    shown = [scale(show_cropped(p, 256, 224), exported.DINOV2) for p in make_pictures()]
    tokens = ask(path, "last_hidden_state", np.stack(shown))
    assert tokens.shape == (len(SIZES), 257, 384)
    check_same(path, tokens[:, 0])


def test_bioclip(tmp_path):
    path = exported.save_bioclip(tmp_path)
    shown = np.stack([show_open_clip(picture) for picture in make_pictures()])
    check_same(path, ask(path, "embedding", shown))


def test_vit_as_the_first_versions_wrote_it(tmp_path):
    path = exported.save_siglip(tmp_path, exported.VIT)
    shown = [
        scale(np.asarray(p.resize((32, 32), Image.Resampling.BILINEAR)), exported.VIT)
        for p in make_pictures()
    ]
    check_same(path, ask(path, "pooler_output", np.stack(shown)))


def test_a_newer_file_holds_the_same_inside_another(tmp_path):
    path = exported.save_siglip(tmp_path, None)
    (tmp_path / "processor_config.json").write_text(
        json.dumps({"image_processor": exported.SIGLIP})
    )
    inside = Network(path).see(make_pictures()).embedding
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(exported.SIGLIP))
    np.testing.assert_array_equal(inside, Network(path).see(make_pictures()).embedding)


def test_convnext_crops_small_pictures_and_squashes_large_ones(tmp_path):
    config = exported.SIGLIP | {
        "image_processor_type": "ConvNextImageProcessor",
        "size": {"shortest_edge": 32},
        "crop_pct": 0.875,
    }
    path = exported.save_siglip(tmp_path, config)
    shown = [scale(show_cropped(p, int(32 / 0.875), 32), config) for p in make_pictures()]
    check_same(path, ask(path, "pooler_output", np.stack(shown)))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"pooling": "cls"}, lambda tokens: tokens[:, 0]),
        ({"pooling": "mean"}, lambda tokens: tokens[:, 1:].mean(axis=1)),
        ({"output": "pooler_output"}, lambda tokens: tokens[:, 0]),
        ({"pooling": "pooler"}, lambda tokens: tokens[:, 0]),
        (
            {"pooling": "cls", "normalize": True},
            lambda tokens: tokens[:, 0] / np.linalg.norm(tokens[:, 0], axis=1, keepdims=True),
        ),
    ],
)
def test_output_and_pooling_can_be_told(tmp_path, said, expected):
    path = exported.save_clip(tmp_path, exported.CLIP | {"fieldguide": said})
    shown = [scale(show_cropped(p, 32, 32), exported.CLIP) for p in make_pictures()]
    check_same(path, expected(ask(path, "last_hidden_state", np.stack(shown))))
    assert Network(path).is_mean == (said == {"pooling": "mean"})


def test_tokens_are_a_map_of_their_own_size(tmp_path):
    path = exported.save_siglip(tmp_path)
    network, picture = Network(path), make_pictures()[0]
    assert (network.stride_px, network.map_px) == (8, 32)
    cells = picture_cells(picture, network)
    pixels = np.asarray(picture.resize((32, 32), Image.Resampling.BICUBIC))
    shown = scale(pixels, exported.SIGLIP)
    tokens = ask(path, "last_hidden_state", shown[None])
    np.testing.assert_allclose(cells, tokens.reshape(4, 4, 12), atol=2e-2)
    outputs = network.see([picture], cells=True)
    assert outputs.cells.shape == (1, 4, 4, 12)


def test_tokens_are_a_map_of_any_size_where_the_network_takes_it(tmp_path):
    network = Network(exported.save_dinov2(tmp_path, is_free=True))
    assert (network.stride_px, network.map_px) == (14, None)
    assert network.map(np.zeros((2, 28, 70, 3), np.uint8)).shape == (2, 2, 5, 384)
    fixed = Network(exported.save_dinov2(tmp_path))
    assert (fixed.stride_px, fixed.map_px) == (14, 224)
    wide = Image.new("RGB", (300, 100))
    assert picture_cells(wide, network).shape == (9, 27, 384)
    assert picture_cells(wide, fixed).shape == (16, 16, 384)


def test_what_is_shown_of_a_window_is_where_it_says(tmp_path):
    """A white picture with a black frame around the area: nothing of the frame is shown."""
    for save, config in (
        (exported.save_clip, exported.CLIP),
        (exported.save_siglip, exported.SIGLIP),
        (exported.save_dinov2, exported.DINOV2),
    ):
        folder = tmp_path / save.__name__
        folder.mkdir()
        network = Network(save(folder, config | {"resample": 4}))  # means of boxes
        for box in SIX.values():
            x0, y0, x1, y1 = network.find_area(box, 400, 300)
            left, top, right, bottom = round(400 * x0), round(300 * y0), 400 * x1, 300 * y1
            pixels = np.zeros((300, 400, 3), np.uint8)
            rows = slice(max(top - 2, 0), round(bottom) + 3)
            pixels[rows, max(left - 2, 0) : round(right) + 3] = 255
            framed = network.see([Image.fromarray(pixels)], [box]).embedding
            white = network.see([Image.new("RGB", (400, 300), "white")], [box]).embedding
            np.testing.assert_allclose(framed, white, atol=1e-3)


def test_the_name_changes_with_what_is_shown(tmp_path):
    path = exported.save_siglip(tmp_path)
    before = Network(path).name
    (tmp_path / "preprocessor_config.json").write_text(
        json.dumps(exported.SIGLIP | {"resample": 2})
    )
    assert Network(path).name != before


def test_long_pictures_take_no_more_memory(tmp_path):
    network = Network(exported.save_dinov2(tmp_path))
    assert network.see([Image.new("RGB", (20_000, 3))]).embedding.shape == (1, 384)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"do_pad": True}, r"'do_pad' in '.*' is true, which is not understood: pictures can be"),
        ({"do_resize": False}, "'do_resize' in .* pictures of all sizes must be resized"),
        ({"rescale_offset": True}, "'rescale_offset' in .* is true, which is not understood"),
        ({"size": {"longest_edge": 32}}, "'size' in .* it must be a shortest_edge, or height and"),
        ({"size": {"shortest_edge": 32}}, "'do_center_crop' in .* shown as squares"),
        ({"size": {"height": 32, "width": 48}}, "'size' in .* shown as squares"),
        ({"size": {"height": 64, "width": 64}}, "takes pictures of 32 pixels and .* says 64"),
        ({"size": 0}, "'size' in .* it must be a whole number from 1 to 4096"),
        ({"size": 10**400}, "'size' in .* it must be a whole number from 1 to 4096"),
        ({"size": True}, "'size' in .* it must be a whole number from 1 to 4096"),
        ({"do_center_crop": True, "crop_size": 64}, "'crop_size' in .* scaled to 32 pixels before"),
        ({"resample": 9}, "'resample' in .* Pillow's filters"),
        ({"resample": [3]}, "'resample' in .* Pillow's filters"),
        ({"image_mean": [1, 2]}, "'image_mean' in .* it must be three numbers"),
        ({"image_mean": [1, 2, 10**400]}, "'image_mean' in .* it must be three numbers"),
        ({"image_std": [1, 0, 1]}, "'image_std' in .* all three must be above 0"),
        ({"rescale_factor": 0}, "'rescale_factor' in .* above 0"),
        (
            {"image_processor_type": "ConvNextImageProcessor", "size": {"longest_edge": 32}},
            "'size' in .* it must be a whole number from 1 to 4096",
        ),
        ({f"do_{'x' * 10_000}": 1}, "'do_xxx.{74}' in .* which is not understood"),
        ({"fieldguide": {"output": "x" * 10_000}}, "an output called 'x{80}' of one row"),
        ({"do_normalize": "yes"}, "'do_normalize' in .* true or false"),
        ({"image_processor_type": "Odd", "resample": None}, "'resample' in .* is null, which"),
        ({"fieldguide": {"pooling": "max"}}, "'pooling' in '.*', fieldguide is \"max\""),
        ({"fieldguide": {"pooling": "cls"}}, "has no CLS token before the patches in 'last_hidden"),
        ({"fieldguide": {"output": "embeds"}}, "an output called 'embeds' .* it gives last_hidden"),
        ({"fieldguide": {"outputs": "a"}}, "'outputs' in .* output, pooling and normalize alone"),
        ({"fieldguide": 3}, "fieldguide must be a JSON object; got 3"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path, change, match):
    path = exported.save_siglip(tmp_path, exported.SIGLIP | change)
    refuse(path, match)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"resize_mode": "longest"}, "'resize_mode' in .*preprocess_cfg is \"longest\""),
        ({"interpolation": "random"}, "'interpolation' in .* it must be bicubic or bilinear"),
        ({"mode": "L"}, "'mode' in .* it must be RGB"),
        ({"size": [32, 48]}, "'size' in .* shown as squares"),
        ({"mean": "grey"}, "'mean' in .* three numbers"),
        ({"size": 64}, "takes pictures of 32 pixels and open_clip_config.json says 64"),
    ],
)
def test_what_open_clip_says_and_is_not_understood(tmp_path, change, match):
    config = exported.BIOCLIP | {"preprocess_cfg": exported.OPENAI | change}
    refuse(exported.save_bioclip(tmp_path, config), match)


def test_files_that_are_none_are_refused(tmp_path):
    path = exported.save_siglip(tmp_path)
    config = tmp_path / "preprocessor_config.json"
    for data in (b"{", b"\xff\xfe", b"[" * 100_000):
        config.write_bytes(data)
        refuse(path, "which says how the network is shown pictures, is no JSON")
    config.write_text("[]")
    refuse(path, r"must be a JSON object; got \[\]")
    config.write_bytes(b" " * 5_000_000)
    refuse(path, "cannot be read: it is larger than 4 MB")
    config.unlink()
    config.mkdir()
    refuse(path, "cannot be read: ")
    config.rmdir()
    refuse(
        path, "takes 'pixel_values', as transformers writes them, and nothing beside it says how"
    )


def test_what_needs_more_than_a_picture_is_refused(tmp_path):
    path = exported.save_two_towers(tmp_path, mixes=True)
    refuse(path, r"takes more than a picture \('input_ids', 'attention_mask'\), and has no output")

"""Every mode becomes the RGB that its definition says, whole, in tiles, shrunk and turned."""

import struct

import numpy as np
import pytest
from PIL import Image, ImageCms
from tests.collection.crafted import encode

from fieldguide.collection import convert, read_picture

RNG = np.random.default_rng(0)
H, W = 37, 53


def noise(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def over_white(rgb: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return round((rgb α + 255 (255 - α)) / 255)."""
    weight = alpha[:, :, None].astype(np.int64)
    return (2 * (rgb * weight + 255 * (255 - weight)) + 255) // 510


def grey(values: np.ndarray) -> np.ndarray:
    return np.repeat(values[:, :, None], 3, axis=2)


def stretched(values: np.ndarray) -> np.ndarray:
    values = values.astype(np.float64)
    finite = values[np.isfinite(values)]
    low, high = finite.min(), finite.max()
    filled = np.where(np.isnan(values), low, values)
    return grey(np.floor(np.clip((filled - low) / (high - low), 0, 1) * 255))


def swapped_profile() -> bytes:
    """sRGB with red and green exchanged: a profile whose effect is plain to see."""
    plain = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    n_tags = struct.unpack_from(">I", plain, 128)[0]
    where = {}
    for i in range(n_tags):
        name, start = struct.unpack_from(">4sI", plain, 132 + 12 * i)
        where[name] = slice(start, start + 20)
    profile = bytearray(plain)
    profile[where[b"rXYZ"]], profile[where[b"gXYZ"]] = plain[where[b"gXYZ"]], plain[where[b"rXYZ"]]
    return bytes(profile).replace("sRGB".encode("utf-16-be"), "oRGB".encode("utf-16-be"))


def make_cases() -> dict[str, tuple[bytes, np.ndarray]]:
    """Return files, each with the RGB that it must become."""
    one, three, four, alpha = noise(H, W), noise(H, W, 3), noise(H, W, 4), noise(H, W)
    colours, levels = noise(256, 3), noise(256)
    sixteen = RNG.integers(0, 65_536, (H, W), dtype=np.uint16)
    wide = RNG.integers(-(2**31), 2**31 - 1, (H, W), dtype=np.int32)
    real = RNG.normal(size=(H, W)).astype(np.float32)
    holes = real.copy()
    holes.flat[::7], holes.flat[1::11], holes.flat[2::13] = np.nan, np.inf, -np.inf
    bits = one > 128
    palette = Image.fromarray(one)
    palette.putpalette(colours.tobytes())
    colour = Image.fromarray(three)
    picture, hidden = Image.fromarray(one), tuple(int(v) for v in three[0, 0])
    profile, swapped = swapped_profile(), three[:, :, [1, 0, 2]]
    rgba = Image.fromarray(four)
    flat = over_white(four[:, :, :3], four[:, :, 3])
    la = Image.merge("LA", [picture, Image.fromarray(alpha)])
    black = 255 - four[:, :, 3:].astype(np.int64)
    printed = black - (2 * black * four[:, :, :3] + 255) // 510
    opaque = np.where((three == hidden).all(axis=2), 0, 255)
    holed = np.where(one == 7, 0, 255)
    cases = {
        "1": (encode(Image.fromarray(bits), "PNG"), grey(bits * 255)),
        "L": (encode(picture, "PNG"), grey(one)),
        "L hidden": (encode(picture, "PNG", transparency=7), over_white(grey(one), holed)),
        "P": (encode(palette, "PNG"), colours[one]),
        "P gif": (encode(palette, "GIF"), colours[one]),
        "P hidden": (encode(palette, "PNG", transparency=7), over_white(colours[one], holed)),
        "P levels": (
            encode(palette, "PNG", transparency=levels.tobytes()),
            over_white(colours[one], levels[one]),
        ),
        "LA": (encode(la, "PNG"), over_white(grey(one), alpha)),
        "RGB": (encode(colour, "PNG"), three),
        "RGB bmp": (encode(colour, "BMP"), three),
        "RGB hidden": (encode(colour, "PNG", transparency=hidden), over_white(three, opaque)),
        "RGB profile": (encode(colour, "PNG", icc_profile=profile), swapped),
        "RGB broken profile": (encode(colour, "PNG", icc_profile=b"none"), three),
        "RGBA": (encode(rgba, "PNG"), flat),
        "RGBA webp": (encode(rgba, "WEBP", lossless=True, exact=True), flat),
        "RGBA profile": (
            encode(rgba, "TIFF", icc_profile=profile),
            over_white(four[:, :, [1, 0, 2]], four[:, :, 3]),
        ),
        "CMYK": (encode(Image.frombytes("CMYK", (W, H), four.tobytes()), "TIFF"), printed),
        "I;16": (encode(Image.fromarray(sixteen), "PNG"), grey(sixteen // 257)),
        "I;16 tiff": (encode(Image.fromarray(sixteen), "TIFF"), grey(sixteen // 257)),
        "I": (encode(Image.fromarray(wide), "TIFF"), stretched(wide)),
        "F": (encode(Image.fromarray(real), "TIFF"), stretched(real)),
        "F holes": (encode(Image.fromarray(holes), "TIFF"), stretched(holes)),
        "F flat": (encode(Image.fromarray(np.full((H, W), 3, np.float32)), "TIFF"), grey(one * 0)),
        "F nothing": (
            encode(Image.fromarray(np.full((H, W), np.nan, np.float32)), "TIFF"),
            grey(one * 0),
        ),
    }
    return cases


CASES = make_cases()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tile_pixels", [2**18, 100, 7])
def test_pixels_are_those_of_the_definition_in_tiles_of_any_size(name, tile_pixels, monkeypatch):
    monkeypatch.setattr(convert, "_TILE_PIXELS", tile_pixels)
    data, expected = CASES[name]
    picture = read_picture(data).image
    assert picture.mode == "RGB"
    assert picture.info == {}
    assert type(picture) is Image.Image  # not the file, whose decoder may hold copies
    # lcms rounds within a level; everything else is exact
    allowed = 1 if name.endswith("A profile") or name == "RGB profile" else 0
    assert np.abs(np.asarray(picture, dtype=int) - expected).max() <= allowed


def test_lab_and_ycbcr():
    """Against stored values: Pillow has lcms convert the one, tables the other."""
    values = np.array([[(0, 0, 0), (255, 255, 255), (200, 30, 90), (10, 220, 130)]], np.uint8)
    stored = {
        "LAB": [[1, 0, 1], [252, 255, 255], [255, 171, 0], [0, 46, 203]],
        "YCbCr": [[0, 135, 0], [255, 120, 255], [146, 255, 26], [12, 0, 173]],
    }
    for mode, expected in stored.items():
        data = encode(Image.frombytes(mode, (4, 1), values.tobytes()), "TIFF")
        found = np.asarray(read_picture(data).image, dtype=int)[0]
        assert np.abs(found - expected).max() <= 1, mode


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("tile_pixels", [2**18, 100])
@pytest.mark.parametrize("factor", [2, 3, 5])
def test_a_shrunk_picture_is_the_mean_of_its_blocks(name, tile_pixels, factor, monkeypatch):
    monkeypatch.setattr(convert, "_TILE_PIXELS", tile_pixels)
    data, expected = CASES[name]
    at_least_px = H // factor
    found = np.asarray(read_picture(data, at_least_px=at_least_px).image, dtype=float)
    assert found.shape[:2] == (-(-H // factor), -(-W // factor))
    whole = expected[: H // factor * factor, : W // factor * factor].astype(float)
    blocks = whole.reshape(H // factor, factor, W // factor, factor, 3).mean(axis=(1, 3))
    difference = np.abs(found[: H // factor, : W // factor] - blocks)
    assert difference.max() <= (1.6 if "profile" in name else 0.6)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format", ["PNG", "WEBP", "TIFF"])
def test_a_shrunk_picture_stands_upright(orientation, format):
    corner = Image.new("RGB", (400, 200), "black")
    corner.paste("white", (0, 0, 200, 100))
    exif = Image.Exif()
    exif[0x0112] = orientation
    if format == "TIFF":
        data = encode(corner, "TIFF", tiffinfo={0x0112: orientation}, compression="tiff_lzw")
    else:
        data = encode(corner, format, exif=exif, **({"lossless": True} if format == "WEBP" else {}))
    picture = read_picture(data, at_least_px=50)
    upright = (400, 200) if orientation < 5 else (200, 400)
    assert (picture.width, picture.height) == upright
    assert picture.image.size == (upright[0] // 4, upright[1] // 4)
    x, y = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0), (1, 0), (1, 1), (0, 1)][orientation - 1]
    white = np.zeros((2, 2), bool)
    white[y, x] = True
    means = np.asarray(picture.image.convert("L").resize((2, 2), Image.Resampling.BOX))
    assert ((means > 200) == white).all()


def test_profiles_of_absurd_size_are_ignored():
    colour = Image.fromarray(noise(4, 4, 3))
    data = encode(colour, "TIFF", icc_profile=swapped_profile() + bytes(5 * 2**20))
    assert np.array_equal(np.asarray(read_picture(data).image), np.asarray(colour))

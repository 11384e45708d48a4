import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, PngImagePlugin

from fieldguide.collection import read_picture
from fieldguide.errors import UnreadableImageError


def encode(image, format, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def pixel(data: bytes, xy=(0, 0)):
    return read_picture(data).image.getpixel(xy)


RED = Image.new("RGB", (8, 6), (250, 10, 10))


@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP"])
def test_every_format_is_read_as_rgb(format):
    picture = read_picture(encode(RED, format))
    assert picture.image.mode == "RGB"
    assert (picture.width, picture.height) == (8, 6)
    assert np.abs(np.array(picture.image)[3, 4].astype(int) - (250, 10, 10)).max() < 12


@pytest.mark.parametrize(
    ("orientation", "corner"),
    [
        (1, (0, 0)),
        (2, (3, 0)),
        (3, (3, 1)),
        (4, (0, 1)),
        (5, (0, 0)),
        (6, (1, 0)),
        (7, (1, 3)),
        (8, (0, 3)),
    ],
)
def test_exif_orientation_moves_the_first_pixel_where_it_belongs(orientation, corner):
    image = Image.new("RGB", (4, 2), "black")
    image.putpixel((0, 0), (255, 255, 255))
    exif = Image.Exif()
    exif[0x0112] = orientation
    picture = read_picture(encode(image, "PNG", exif=exif))
    assert (picture.width, picture.height) == ((4, 2) if orientation < 5 else (2, 4))
    assert picture.image.size == (picture.width, picture.height)
    assert picture.image.getpixel(corner) == (255, 255, 255)


def test_alpha_is_laid_over_white():
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((1, 0), (0, 0, 0, 255))
    assert pixel(encode(image, "PNG")) == (255, 255, 255)
    assert pixel(encode(image, "PNG"), (1, 0)) == (0, 0, 0)
    assert pixel(encode(image.convert("LA"), "PNG")) == (255, 255, 255)


def test_palette_and_its_transparency():
    image = Image.new("P", (2, 1), 0)
    image.putpalette([10, 200, 30, 1, 2, 3])
    image.putpixel((1, 0), 1)
    assert pixel(encode(image, "PNG")) == (10, 200, 30)
    assert pixel(encode(image, "GIF", transparency=0)) == (255, 255, 255)
    assert pixel(encode(image, "PNG", transparency=1), (1, 0)) == (255, 255, 255)


def test_16_bit_grey_keeps_its_scale():
    image = Image.fromarray(np.array([[0, 32768, 65535]], dtype=np.uint16))
    values = np.array(read_picture(encode(image, "PNG")).image)[0, :, 0]
    assert values.tolist() == [0, 127, 255]
    assert np.array(read_picture(encode(image, "TIFF")).image)[0, :, 0].tolist() == [0, 127, 255]


def test_float_pictures_use_their_range():
    image = Image.fromarray(np.array([[-2.0, 0.0, np.nan, 2.0]], dtype=np.float32))
    values = np.array(read_picture(encode(image, "TIFF")).image)[0, :, 0]
    assert values.tolist() == [0, 127, 0, 255]


def test_cmyk_becomes_the_colour_it_prints():
    image = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    red, green, blue = pixel(encode(image, "JPEG", quality=100), (4, 4))
    assert red > 240
    assert green < 15
    assert blue < 15


def test_an_embedded_profile_is_applied_and_a_broken_one_ignored():
    lab = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert pixel(encode(RED, "PNG", icc_profile=lab)) == (250, 10, 10)
    assert pixel(encode(RED, "PNG", icc_profile=b"not a profile")) == (250, 10, 10)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "I;16", "CMYK"])
def test_every_mode_becomes_rgb(mode):
    image = Image.new(mode, (5, 4))
    data = encode(image, "TIFF" if mode in ("I;16", "CMYK") else "PNG")
    assert read_picture(data).image.mode == "RGB"


def test_a_large_jpeg_is_decoded_smaller_but_says_its_true_size():
    data = encode(Image.new("RGB", (1600, 800)), "JPEG")
    picture = read_picture(data, at_least_px=256)
    assert (picture.width, picture.height) == (1600, 800)
    assert 256 <= min(picture.image.size) < 800


def test_keywords_of_the_owner_are_found():
    xmp = (
        b"<x:xmpmeta><dc:subject><rdf:Bag><rdf:li>Heron</rdf:li><rdf:li>river &amp; reed</rdf:li>"
        b"</rdf:Bag></dc:subject></x:xmpmeta>"
    )
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", xmp.decode())
    assert read_picture(encode(RED, "PNG", pnginfo=info)).keywords == ("heron", "river & reed")


def bomb() -> bytes:
    """A small PNG that claims 60,000 × 60,000 pixels."""
    header = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n"
    for name, body in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(10_000)))):
        data += struct.pack(">I", len(body)) + name + body
        data += struct.pack(">I", zlib.crc32(name + body))
    return data


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"hello", "not an image"),
        (encode(RED.resize((300, 300)), "JPEG")[:-500], "damaged or truncated"),
        (encode(RED.resize((300, 300)), "PNG")[:120], "damaged or truncated"),
        (bomb(), "large"),
        (b"GIF89a", "not an image|damaged"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "not an image"),
    ],
)
def test_bad_bytes_are_refused_with_a_reason(data, reason):
    with pytest.raises(UnreadableImageError, match=reason):
        read_picture(data)


def test_too_many_pixels_are_refused_before_decoding():
    data = encode(Image.new("RGB", (200, 100)), "PNG")
    with pytest.raises(UnreadableImageError, match="200 × 100 pixels is more than the limit"):
        read_picture(data, max_pixels=10_000)


def test_paths_that_are_not_files(tmp_path):
    with pytest.raises(UnreadableImageError, match="not a regular file"):
        read_picture(tmp_path)
    with pytest.raises(UnreadableImageError, match="no such file"):
        read_picture(tmp_path / "missing.jpg")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damage_never_raises_anything_else(data):
    format = data.draw(st.sampled_from(["JPEG", "PNG", "WEBP", "GIF", "BMP"]))
    whole = bytearray(encode(RED.resize((40, 30)), format))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert read_picture(bytes(whole)).image.mode == "RGB"
    except UnreadableImageError as error:
        assert str(error)  # noqa: PT017

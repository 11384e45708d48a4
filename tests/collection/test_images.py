import copy
import os
import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, PngImagePlugin
from tests.collection.crafted import encode, exif, png_chunk, png_with, tiff_with

from fieldguide.collection import images, read_picture
from fieldguide.collection.images import read_file, shrink_factor
from fieldguide.errors import UnreadableImageError


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


@pytest.mark.parametrize("format", ["PNG", "WEBP", "GIF", "TIFF", "BMP"])
def test_other_large_pictures_are_shrunk_too(format):
    picture = read_picture(encode(Image.new("RGB", (1600, 810)), format), at_least_px=256)
    assert (picture.width, picture.height) == (1600, 810)
    assert picture.image.size == (534, 270)


def test_a_jpeg_is_shrunk_by_its_decoder_and_then_further():
    data = encode(Image.new("RGB", (1600, 1600), "teal"), "JPEG")
    assert read_picture(data, at_least_px=50).image.size == (50, 50)  # 32 = 8 × 4
    assert read_picture(data, at_least_px=65).image.size == (67, 67)  # 24 = 8 × 3
    assert read_picture(data, at_least_px=270).image.size == (400, 400)  # 5 ≥ 4 × 1


@given(st.integers(1, 100_000), st.integers(1, 100_000), st.integers(1, 2_000))
def test_a_shrunk_picture_is_neither_too_small_nor_too_large(width, height, at_least_px):
    factor = shrink_factor((width, height), at_least_px)
    short, long = sorted((-(-width // factor), -(-height // factor)))
    ratio = max(width, height) / min(width, height)
    if ratio <= 4 and factor > 1:
        assert short >= at_least_px
    if ratio <= 4:
        assert short < 2 * at_least_px
    if short > 1:
        assert (short - 1) * (long - 1) <= 16 * at_least_px**2
    assert shrink_factor((width, height), 0) == 1


def test_a_long_thin_picture_is_shrunk_as_well():
    data = encode(Image.new("L", (30_000, 100)), "PNG")
    assert read_picture(data, at_least_px=128).image.size == (7_500, 25)


def test_exif_behind_the_pixels_of_a_png_is_found():
    turned = exif([(0x0112, 3, 1, b"\6\0")])
    wide = encode(Image.new("RGB", (20, 10)), "PNG")
    end = wide.index(b"IEND") - 4
    picture = read_picture(wide[:end] + png_chunk(b"eXIf", turned) + wide[end:])
    assert picture.image.size == (picture.width, picture.height) == (10, 20)


@pytest.mark.parametrize(
    "data",
    [
        png_with(png_chunk(b"eXIf", b"no directory at all")),
        png_with(png_chunk(b"tEXt", b"xmp\0text where Pillow expects bytes")),
        png_with(png_chunk(b"eXIf", exif([(0x0112, 2, 1, b"x")]))),
        png_with(png_chunk(b"eXIf", exif([(0x0112, 3, 1, b"\x63\0")]))),
        encode(Image.new("RGB", (16, 16)), "WEBP", exif=b"Exif\0\0" + bytes(50)),
        tiff_with([(34665, 4, 1, 5_000_000), (34853, 2, 1, b"x"), (0x0112, 2, 1, b"x")]),
    ],
)
def test_damaged_metadata_cost_no_picture(data):
    picture = read_picture(data)
    assert picture.image.size == (picture.width, picture.height) == (16, 16)
    assert picture.keywords == ()


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


def test_a_file_that_is_not_there_now_may_be_there_later(tmp_path):
    for reader in (read_file, read_picture):
        with pytest.raises(UnreadableImageError, match="no such file") as caught:
            reader(tmp_path / "missing.jpg")
        assert caught.value.passing


def test_a_file_that_we_may_not_open_may_be_opened_later(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(encode(RED, "PNG"))

    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(images.os, "open", refuse)
    with pytest.raises(
        UnreadableImageError, match=r"cannot be opened \(permission denied\)"
    ) as caught:
        read_picture(path)
    assert caught.value.passing


def test_memory_that_is_not_free_now_may_be_free_later(tmp_path, monkeypatch):
    def fail(*args):
        raise MemoryError

    data = encode(RED, "PNG")
    monkeypatch.setattr(images, "to_rgb", fail)
    with pytest.raises(UnreadableImageError, match="more memory than is free") as caught:
        read_picture(data)
    assert caught.value.passing


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", encode(RED, "PNG")[:-20], encode(RED, "JPEG")[:300], b"II*\0" + bytes(99)],
)
def test_damage_does_not_pass(data, tmp_path):
    (tmp_path / "a").write_bytes(data)
    for source in (data, tmp_path / "a"):
        with pytest.raises(UnreadableImageError) as caught:
            read_picture(source)
        assert not caught.value.passing


def test_what_is_no_file_does_not_pass(tmp_path, monkeypatch):
    (tmp_path / "large").write_bytes(bytes(2_000))
    monkeypatch.setattr(images, "MAX_FILE_BYTES", 1_000)
    for path, reason in (
        (tmp_path, "not a regular"),
        (tmp_path / "large", "more than"),
        ("a\0b", "null"),
    ):
        with pytest.raises(UnreadableImageError, match=reason) as caught:
            read_file(path)
        assert not caught.value.passing


def change_after_the_first_look(monkeypatch, change) -> None:
    """Have ``change(path)`` happen between the look at a file and its opening."""
    look = os.stat

    def stat_then_change(path, *args, **options):
        status = look(path, *args, **options)
        monkeypatch.setattr(images.os, "stat", look)
        change(Path(path))
        return status

    monkeypatch.setattr(images.os, "stat", stat_then_change)


def test_a_file_that_vanishes_while_it_is_read(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"x")
    change_after_the_first_look(monkeypatch, Path.unlink)
    with pytest.raises(UnreadableImageError, match="no such file") as caught:
        read_file(tmp_path / "a")
    assert caught.value.passing


def test_a_file_that_becomes_a_pipe_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"x")

    def replace(path):
        path.unlink()
        os.mkfifo(path)

    change_after_the_first_look(monkeypatch, replace)
    with pytest.raises(UnreadableImageError, match="not a regular file"):
        read_file(tmp_path / "a")


@pytest.mark.parametrize("content", [b"longer than it was", b"", b"same, later"])
def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch, content):
    path = tmp_path / "a"
    path.write_bytes(b"same, early")
    look = os.fstat

    def fstat_then_change(number):
        status = look(number)
        monkeypatch.setattr(images.os, "fstat", look)
        path.write_bytes(content)
        os.utime(path, ns=(1, 1))
        return status

    monkeypatch.setattr(images.os, "fstat", fstat_then_change)
    with pytest.raises(UnreadableImageError, match="it changed while it was read") as caught:
        read_file(path)
    assert caught.value.passing
    assert read_file(path) == content


@pytest.mark.parametrize("passing", [False, True])
def test_the_error_is_carried_whole(passing):
    error = UnreadableImageError("no such file", passing=passing)
    for carried in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(carried) is UnreadableImageError
        assert str(carried) == "no such file"
        assert carried.passing is passing
    assert UnreadableImageError("damaged").passing is False
    with pytest.raises(TypeError):
        UnreadableImageError("damaged", pasing=True)


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

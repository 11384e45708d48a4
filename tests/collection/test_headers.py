"""Headers that keep Pillow busy are refused; odd but honest ones are not."""

import io
import re
import struct
import zlib

import numpy as np
import pytest
from PIL import Image
from tests.clock import within_cpu_seconds
from tests.collection.crafted import (
    RED,
    bmp_with_runs,
    encode,
    exif,
    gif_with,
    jpeg_segment,
    jpeg_with,
    png_chunk,
    png_with,
    tiff_with,
)

from fieldguide.collection import read_picture
from fieldguide.collection.headers import check_parts, find_directory_problem
from fieldguide.errors import UnreadableImageError

N = 1_000_000
MANY_TAGS = [(number, 1, 1, b"a") for number in range(300, 65_000)]
OVERLAPPING = [(number, 1, 20_000, 8) for number in range(1_000, 5_000)]
FRACTIONS = struct.pack("<2L", 4_294_967_291, 4_294_967_279) * (N // 8)
TURNED = (0x0112, 3, 1, b"\6\0")


def exif_segments(block: bytes) -> bytes:
    parts = (block[i : i + 65_000] for i in range(0, len(block), 65_000))
    return b"".join(jpeg_segment(0xE1, b"Exif\0\0" + part) for part in parts)


def repeat_last_scan(n: int, side: int = 2_000) -> bytes:
    """A progressive JPEG with one scan many times over."""
    whole = encode(Image.new("L", (side, side)), "JPEG", progressive=True)
    last = [found.start() for found in re.finditer(rb"\xff\xda", whole)][-1]
    return whole[:-2] + whole[last:-2] * n + whole[-2:]


REFUSED = {
    "png chunks": (lambda: png_with(png_chunk(b"prIv", b"") * (N // 12)), "chunks"),
    "png chunks behind": (lambda: png_with(b"", png_chunk(b"tEXt", b"") * (N // 12)), "chunks"),
    "png frames": (lambda: png_with(png_chunk(b"fcTL", bytes(26)) * (N // 38)), "chunks"),
    "png profiles": (
        lambda: png_with(png_chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(N), 9)) * 900),
        "more than 64 compressed chunks",
    ),
    "png texts": (
        lambda: png_with(png_chunk(b"iTXt", b"a\0\1\0\0\0" + zlib.compress(b"\xff" * N, 9)) * 900),
        "more than 64 compressed chunks",
    ),
    "jpeg segments": (lambda: jpeg_with(jpeg_segment(0xFE, b"") * (N // 4)), "segments"),
    "jpeg restarts": (lambda: jpeg_with(b"\xff\xd0" * (N // 2)), "segments"),
    "jpeg padding": (lambda: jpeg_with(b"\xff" * N), "padding"),
    "jpeg junk": (lambda: jpeg_with(b"\xff\0" * (N // 2)), "padding"),
    "jpeg exif in pieces": (
        lambda: jpeg_with(
            jpeg_segment(0xE1, b"Exif\0\0" + bytes(64_000)) * 8
            + jpeg_segment(0xE1, b"Exif\0\0a") * 45_000,
            keep_jfif=False,
        ),
        "segments",
    ),
    "jpeg exif tags": (
        lambda: jpeg_with(exif_segments(exif(MANY_TAGS)), keep_jfif=False),
        "tags",
    ),
    "jpeg scans": (lambda: repeat_last_scan(100), "more than 64 scans"),
    "gif comments": (lambda: gif_with(b"!\xfe" + b"\1a" * (N // 2) + b"\0"), "blocks"),
    "gif junk": (lambda: gif_with(b"\1" * N), "blocks"),
    "tiff tags": (lambda: tiff_with(MANY_TAGS), "tags"),
    "tiff overlaps": (lambda: tiff_with(OVERLAPPING), "overlap"),
    "tiff fractions": (lambda: tiff_with([(282, 5, N // 8, FRACTIONS)]), "fractions"),
    "tiff strips": (
        lambda: tiff_with([(273, 4, 150_000, struct.pack("<L", 8) * 150_000)]),
        "strips",
    ),
    "bmp runs": (lambda: bmp_with_runs(65_000, 1_200, b"\1\1\0\0" * 1_200), "run lengths"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_headers_that_keep_pillow_busy_are_refused_at_once(name):
    make, reason = REFUSED[name]
    data = make()
    with within_cpu_seconds(0.5), pytest.raises(UnreadableImageError, match=reason) as caught:
        read_picture(data, at_least_px=256)
    assert not caught.value.passing


EXIF_ATTACKS = {
    "tags": exif(MANY_TAGS),
    "overlaps": exif(OVERLAPPING),
    "fractions": exif([TURNED, (0xC000, 5, N // 8, FRACTIONS)]),
    "directories": exif(
        [TURNED, *((n, 4, 1, 8) for n in (34665, 34853, 40965)), *MANY_TAGS[:3000]]
    ),
    "size": exif([TURNED, (0x010F, 2, 3 * N, b"a" * 3 * N)]),
}


@pytest.mark.parametrize("name", EXIF_ATTACKS)
@pytest.mark.parametrize("format", ["PNG", "WEBP"])
def test_hostile_exif_costs_neither_time_nor_the_picture(name, format):
    """Turning a picture upright made Pillow write all of it anew, which took up to 8 s."""
    block = EXIF_ATTACKS[name]
    if format == "PNG":
        data = png_with(png_chunk(b"eXIf", block))
    else:
        data = encode(RED, "WEBP", exif=b"Exif\0\0" + block)
    with within_cpu_seconds(1):
        assert read_picture(data).image.size == (16, 16)


def test_directories_within_directories_are_not_read():
    """Pillow reads them, and directories within, while it decodes a TIFF."""
    loops = [(number, 4, 1, 8 + 768) for number in (34665, 34853, 40965)]
    data = tiff_with([*loops, *((n, 1, 1, b"a") for n in range(1_000, 5_000))])
    with within_cpu_seconds(1):
        assert read_picture(data).image.size == (16, 16)


def test_damaged_metadata_print_nothing(recwarn, capfd):
    """Each tag that is wrong made Pillow warn, 13 MB of text for one file."""
    claims = exif([(number, 2, 10_000, 4_000_000) for number in range(300, 500)])
    for data in (
        encode(RED, "WEBP", exif=b"Exif\0\0" + claims),
        png_with(png_chunk(b"eXIf", claims)),
        tiff_with([(number, 2, 10_000, 4_000_000) for number in range(500, 600)]),
    ):
        assert read_picture(data).image.size == (16, 16)
    assert not recwarn.list
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("cut", [1, 9, 13, 20])
def test_a_png_without_its_end_is_refused(cut):
    with pytest.raises(UnreadableImageError, match="damaged or truncated"):
        read_picture(encode(RED, "PNG")[: -cut - 4])


def test_a_changed_byte_of_a_png_is_noticed():
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (20, 20, 3), dtype=np.uint8))
    whole = encode(noise, "PNG")
    for i in range(8, len(whole) - 12, 41):
        altered = bytearray(whole)
        altered[i] ^= 1
        with pytest.raises(UnreadableImageError):
            read_picture(bytes(altered))


def test_many_frames_and_chunks_of_pixels_are_honest():
    frames = [Image.new("P", (3, 3), i % 256) for i in range(200)]
    movie = io.BytesIO()
    frames[0].save(movie, "PNG", save_all=True, append_images=frames[1:])
    header = b"IHDR" + struct.pack(">IIBBBBB", 100, 100, 8, 0, 0, 0, 0)
    pixels = zlib.compress(
        np.random.default_rng(0).integers(0, 255, (100, 101), np.uint8).tobytes()
    )
    pieces = b"".join(png_chunk(b"IDAT", pixels[i : i + 2]) for i in range(0, len(pixels), 2))
    small = png_chunk(header[:4], header[4:]) + pieces + png_chunk(b"IEND", b"")
    for data in (movie.getvalue(), b"\x89PNG\r\n\x1a\n" + small):
        check_parts(data)
    assert read_picture(movie.getvalue()).image.size == (3, 3)


def test_a_jpeg_with_large_metadata_is_honest():
    """Programs cut XMP and profiles of some megabytes into segments."""
    extended = jpeg_segment(0xE1, b"http://ns.adobe.com/xmp/extension/\0" + bytes(65_000)) * 300
    assert read_picture(jpeg_with(extended)).image.size == (16, 16)
    read_picture(repeat_last_scan(20, side=64))


@pytest.mark.parametrize(
    "data",
    [b"", b"II", b"II*\0", b"II*\0\xff\xff\xff\xff", b"II+\0\x08\0\0\0" + b"\xff" * 8, bytes(40)],
)
def test_directories_that_are_cut_off_are_left_to_pillow(data):
    assert find_directory_problem(data) is None
    check_parts(data)

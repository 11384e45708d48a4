"""One small file must not stop a build or a server: bounds on time and on memory."""

import io
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from PIL import Image

from fieldguide.collection import Collection, read_picture
from fieldguide.collection.memory import limit_bytes
from fieldguide.errors import UnreadableImageError

SUBJECTS = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<r:Description xmlns:d="http://purl.org/dc/elements/1.1/"><d:subject><r:Bag>{items}</r:Bag>'
    "</d:subject></r:Description></r:RDF></x:xmpmeta>"
)


def encode(image, form, **options):
    data = io.BytesIO()
    image.save(data, form, **options)
    return data.getvalue()


def small(**options):
    return encode(Image.new("RGB", (48, 48), "teal"), "WEBP", **options)


def test_words_in_xmp_are_found_whatever_their_prefix():
    items = "".join(f"<r:li>{word}</r:li>" for word in ("Red &amp; blue", "wren ", "wren"))
    found = read_picture(small(xmp=SUBJECTS.format(items=items).encode()))
    assert found.keywords == ("red & blue", "wren")


@pytest.mark.parametrize(
    "xmp",
    [
        b"<x:xmpmeta>" + b"<dc:subject>" * 26_000,
        b"<dc:subject>" + b"<rdf:li" * 40_000,
        SUBJECTS.format(items="<r:li>" * 40_000).encode(),
        b'<!DOCTYPE a [<!ENTITY a "ha">' + b'<!ENTITY b "&a;&a;&a;&a;">' * 9_000 + b"]><a>&b;</a>",
        b"\xff\xfe\x00" * 100_000,
    ],
    ids=["subjects", "items", "nested", "entities", "noise"],
)
def test_hostile_metadata_takes_no_time_and_costs_no_picture(xmp):
    """The patterns were quadratic: a file of 314 KB held a server for minutes."""
    start = time.perf_counter()
    found = read_picture(small(xmp=xmp))
    assert time.perf_counter() - start < 3
    assert found.image.size == (48, 48)
    assert found.keywords == ()


def test_many_words_are_cut_off():
    items = "".join(f"<r:li>word {i}</r:li>" for i in range(20_000))
    start = time.perf_counter()
    assert len(read_picture(small(xmp=SUBJECTS.format(items=items).encode())).keywords) == 40
    assert time.perf_counter() - start < 3


PEAK = """
import resource, sys, threading
from fieldguide.collection import read_picture
data = open(sys.argv[1], "rb").read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
threads = [
    threading.Thread(target=read_picture, args=(data,), kwargs={"at_least_px": 1024})
    for _ in range(int(sys.argv[2]))
]
[t.start() for t in threads]
[t.join() for t in threads]
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def float_tiff():
    return encode(
        Image.fromarray(np.zeros((6000, 6000), np.float32)), "TIFF", compression="tiff_deflate"
    )


def clear_png():
    return encode(Image.new("RGBA", (6000, 6000), (9, 9, 9, 99)), "PNG", compress_level=1)


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is that of Linux")
@pytest.mark.parametrize(
    ("make", "n_threads", "most_mb"),
    [(float_tiff, 1, 300), (clear_png, 1, 300), (float_tiff, 3, 640)],
)
def test_a_small_file_of_many_pixels_takes_little_memory(tmp_path, make, n_threads, most_mb):
    """36 megapixels took 1,400, 720 and 4,000 MB."""
    (tmp_path / "picture").write_bytes(make())
    arguments = [sys.executable, "-c", PEAK, str(tmp_path / "picture"), str(n_threads)]
    told = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert int(told.stdout) < most_mb


def test_what_would_take_too_much_memory_is_refused_before_it_is_decoded():
    data = encode(Image.new("RGB", (4000, 4000)), "WEBP", lossless=True)
    with pytest.raises(UnreadableImageError, match=r"would take .* more than the .* that we allow"):
        read_picture(data, max_pixels=16_000_000)
    assert read_picture(data, max_pixels=40_000_000).width == 4000
    assert limit_bytes(80_000_000) < 700 * 2**20


def test_pictures_that_wait_for_memory_all_get_through():
    data = encode(Image.new("RGB", (3000, 3000)), "PNG")
    sizes = []

    def read():
        sizes.append(read_picture(data, max_pixels=9_000_000, at_least_px=512).image.size)

    threads = [threading.Thread(target=read) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sizes == [(600, 600)] * 6


@pytest.mark.parametrize(
    ("mode", "form"),
    [("RGB", "PNG"), ("L", "PNG"), ("P", "PNG"), ("RGBA", "PNG"), ("I;16", "PNG"), ("F", "TIFF"),
     ("CMYK", "TIFF"), ("RGB", "BMP"), ("RGB", "GIF")],
)  # fmt: skip
def test_a_large_picture_is_the_mean_of_its_pixels(mode, form, seed):
    """Shrunk while it is read, it is what it would be if it were shrunk afterwards."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (24, 30, 3), dtype=np.uint8)
    picture = Image.fromarray(np.kron(coarse, np.ones((100, 100, 1), np.uint8)))
    if mode == "I;16":
        picture = Image.fromarray(np.asarray(picture.convert("L")).astype(np.uint16) * 257)
    elif mode == "F":
        picture = Image.fromarray(np.asarray(picture.convert("L")).astype(np.float32))
    else:
        picture = picture.convert(mode)
    data = encode(picture, form)
    whole = read_picture(data).image
    less = read_picture(data, at_least_px=1024).image
    assert whole.size == (3000, 2400)
    assert less.size == (1500, 1200)
    expected = np.asarray(whole, np.float64).reshape(1200, 2, 1500, 2, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(np.asarray(less), expected, atol=1)


def test_reasons_of_the_moment_are_told_from_others(tmp_path):
    for name in ("gone.png", "bad.png"):
        (tmp_path / name).write_bytes(b"no picture")
    collection = Collection.from_folder(tmp_path)
    (tmp_path / "gone.png").unlink()
    passing = {}
    for i, item in enumerate(collection.items):
        with pytest.raises(UnreadableImageError) as caught:
            collection.picture(i)
        passing[item.path] = caught.value.passing
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.passing) == (str(caught.value), caught.value.passing)
    assert passing == {"gone.png": True, "bad.png": False}


def test_words_of_a_camera_are_found(tmp_path):
    exif = Image.Exif()
    exif[0x9C9E] = "wren;Hedge ".encode("utf-16-le") + b"\0\0"
    found = read_picture(encode(Image.new("RGB", (48, 48)), "JPEG", exif=exif))
    assert found.keywords == ("wren", "hedge")

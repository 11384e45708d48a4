"""What decoding costs: estimated, refused, shared, and measured in another process."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PIL import Image
from tests.clock import within_cpu_seconds
from tests.collection.crafted import black_png, black_tiff, encode

from fieldguide.collection import images, read_picture
from fieldguide.collection.memory import MemoryBudget, check_cost
from fieldguide.errors import UnreadableImageError

SIDE = 3_000  # 9 million pixels
SHRUNK_PX = 300
ROOT = Path(__file__).parents[2]


def new(mode: str) -> Image.Image:
    return Image.new(mode, (SIDE, SIDE))


def one_scan_per_colour() -> bytes:
    """A plain JPEG with several scans, for which libjpeg keeps all coefficients."""
    whole = encode(new("RGB"), "JPEG", subsampling=0)
    start = whole.index(b"\xff\xda")
    return whole[:start] + b"\xff\xda\0\x08\1\1\0\0\x3f\0" + whole[start + 14 :]


# bytes per pixel at the peak: at full size, and shrunk
COSTS = {
    "jpeg": (lambda: encode(new("RGB"), "JPEG"), 4, 0.1),
    "jpeg grey": (lambda: encode(new("L"), "JPEG"), 5, 0.1),
    "jpeg cmyk": (lambda: encode(new("CMYK"), "JPEG"), 8, 0.1),
    "jpeg progressive": (
        lambda: encode(new("RGB"), "JPEG", progressive=True, subsampling=0),
        10,
        6.1,
    ),
    "jpeg progressive, halved": (
        lambda: encode(new("RGB"), "JPEG", progressive=True, subsampling=2),
        7,
        3.1,
    ),
    "png grey": (lambda: encode(new("L"), "PNG"), 5, 1.1),
    "png palette": (lambda: encode(new("P"), "PNG", transparency=0), 5, 1.1),
    "png rgb": (lambda: encode(new("RGB"), "PNG"), 4, 4.1),
    "png rgba": (lambda: black_png(SIDE, SIDE), 8, 4.1),
    "png rgba of 16 bits": (lambda: black_png(SIDE, SIDE, bits=16), 8, 4.1),
    "png grey of 16 bits": (lambda: black_png(SIDE, SIDE, bits=16, colour=0, n_layers=1), 6, 2.1),
    "webp": (lambda: encode(new("RGB"), "WEBP", lossless=True, quality=0, method=0), 16, 16),
    "webp alpha": (lambda: encode(new("RGBA"), "WEBP", quality=0, method=0), 16, 16),
    "gif": (lambda: encode(new("P"), "GIF", transparency=0), 5, 2),
    "bmp": (lambda: encode(new("RGB"), "BMP"), 4, 4.1),
    "tiff": (lambda: encode(new("RGB"), "TIFF"), 4, 4.1),
    "tiff tiles": (lambda: black_tiff((SIDE, SIDE), (256, 256), is_tiled=True), 4, 4.1),
    "tiff one strip": (lambda: black_tiff((SIDE, SIDE), (SIDE, SIDE)), 7, 7),
    "tiff one strip of 16 bits": (lambda: black_tiff((SIDE, SIDE), (SIDE, SIDE), bits=16), 10, 10),
    "tiff floats": (
        lambda: black_tiff(
            (SIDE, SIDE), (SIDE, SIDE), n_layers=1, bits=32, photometric=1, sample_format=3
        ),
        8,
        8,
    ),
    "tiff floats in strips": (lambda: encode(new("F"), "TIFF", compression="tiff_lzw"), 8, 4.1),
    "tiff one strip, turned": (
        lambda: encode(
            new("F"), "TIFF", compression="tiff_lzw", strip_size=2**30, tiffinfo={0x0112: 6}
        ),
        12,
        12,
    ),
    "tiff cmyk": (lambda: encode(new("CMYK"), "TIFF", compression="tiff_lzw"), 8, 4.1),
    "tiff lab": (lambda: encode(new("LAB"), "TIFF", compression="tiff_lzw"), 8, 4.1),
}


@pytest.mark.parametrize("name", [*COSTS, "jpeg of several scans"])
def test_the_cost_is_known_before_anything_is_decoded(name, monkeypatch):
    make, *expected = COSTS.get(name, (one_scan_per_colour, 10, 6.1))
    data = make()
    asked: list[int] = []

    def note(n_bytes, size, max_pixels):
        asked.append(n_bytes)
        raise UnreadableImageError("enough")

    monkeypatch.setattr(images, "check_cost", note)
    monkeypatch.setattr(Image.Image, "load", lambda self: pytest.fail("decoded"))
    for at_least_px in (0, SHRUNK_PX):
        with pytest.raises(UnreadableImageError, match="enough"):
            read_picture(data, at_least_px=at_least_px)
    found = [n_bytes / SIDE**2 for n_bytes in asked]
    assert found == pytest.approx(expected, rel=0.03, abs=0.06)


# The C library keeps freed memory of up to 32 MB; with this it gives back even little pieces, so
# that a peak is that of one picture.
GIVE_BACK = {"MALLOC_MMAP_THRESHOLD_": "65536"}
MEASURE = """
import gc, json, sys
from tests.collection.test_memory import COSTS, SHRUNK_PX
from fieldguide.collection import images, read_picture

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

asked = []
check = images.check_cost
images.check_cost = lambda n_bytes, *rest: asked.append(n_bytes)
rows = {}
for name, (make, *_) in COSTS.items():
    data = make()
    for at_least_px in (SHRUNK_PX, SHRUNK_PX, 0):  # the first warms up
        gc.collect()
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # forget the peak so far
        before = status("VmRSS")
        read_picture(data, at_least_px=at_least_px)
        rows[f"{name} {at_least_px}"] = (status("VmHWM") - before, asked[-1])
print(json.dumps(rows))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_no_picture_takes_more_than_its_estimate():
    rows = json.loads(_run(MEASURE, **GIVE_BACK))
    assert len(rows) == 2 * len(COSTS)
    margin = 16e6
    above = {name: row for name, row in rows.items() if row[0] > row[1] + margin}
    assert not above
    # and the estimates are no idle fears: a frame to come of a GIF is the one that seldom comes
    below = {n: row for n, row in rows.items() if row[0] < row[1] - margin and "gif" not in n}
    assert not below


AT_ONCE = """
import threading
from tests.collection.test_memory import COSTS
from fieldguide.collection import images, read_picture
from fieldguide.collection.memory import MemoryBudget, limit_bytes

images.BUDGET = MemoryBudget(limit_bytes(9_000_000), small_bytes=2**20)
files = [COSTS[name][0]() for name in ("tiff floats", "png rgba", "webp")] * 2
def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

read_picture(files[0], at_least_px=1024)
before = status("VmRSS")
threads = [
    threading.Thread(target=read_picture, args=(data,), kwargs={"at_least_px": 1024})
    for data in files
]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(status("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_pictures_decoded_at_once_share_the_memory_of_one():
    """Alone they need 72, 37 and 144 MB; all six at once would be 0.5 GB, and were 1.8 GB."""
    assert int(_run(AT_ONCE, **GIVE_BACK)) < 144e6 + 30e6


THREE = """
import io, resource, threading
from tests.collection.crafted import black_png, black_tiff
from fieldguide.collection import read_picture

size = (8_940, 8_940)
floats = black_tiff(size, size, n_layers=1, bits=32, photometric=1, sample_format=3)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

read_picture(black_png(900, 900), at_least_px=64)
before = peak()
threads = [
    threading.Thread(target=read_picture, args=(data,), kwargs={"at_least_px": 1024})
    for data in (floats, black_png(*size), floats)
]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has another unit elsewhere")
def test_three_hostile_uploads_of_80_megapixels_at_once():
    """They came to 8 GB: the floats to 3.1 GB each, the other to 1.6 GB."""
    assert int(_run(THREE)) < 1e9


def _run(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


HOSTILE = {
    "webp of 80 megapixels": lambda: encode(
        Image.new("RGB", (8_940, 8_940)), "WEBP", lossless=True, quality=0, method=0
    ),
    "a row": lambda: black_png(79_000_000, 1),
    "a column": lambda: black_png(1, 79_000_000),
    "a tile larger than its picture": lambda: black_tiff(
        (16, 16), (20_000, 20_000), n_layers=4, extra=(2,), is_tiled=True
    ),
    "16 bits in one strip": lambda: black_tiff((8_940, 8_940), (8_940, 8_940), bits=16),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_would_take_too_much_is_refused_at_once(name):
    data = HOSTILE[name]()
    assert len(data) < 3e6
    reason = r"would take \d\.\d GB, more than the 0\.7 GB that we allow"
    with within_cpu_seconds(0.5), pytest.raises(UnreadableImageError, match=reason) as caught:
        read_picture(data, at_least_px=1024)
    assert not caught.value.passing


def test_the_limit_grows_with_the_number_of_pixels():
    data = HOSTILE["16 bits in one strip"]()
    size = (8_940, 8_940)
    with pytest.raises(UnreadableImageError, match=r"8940 × 8940 pixels would take 0\.8 GB"):
        check_cost(800_000_000, size, 80_000_000)
    check_cost(800_000_000, size, 100_000_000)
    with pytest.raises(UnreadableImageError, match=r"more than the 0\.7 GB"):
        read_picture(data)


@pytest.mark.parametrize("name", ["jpeg", "png", "tiff"])
def test_ordinary_pictures_of_80_megapixels_are_within_the_limit(name, monkeypatch):
    image = Image.new("RGB", (8_944, 8_944))
    options = {"tiff": {"compression": "tiff_lzw"}, "png": {"compress_level": 1}}
    data = encode(image, name.upper(), **options.get(name, {}))
    seen = []
    monkeypatch.setattr(Image.Image, "load", lambda self: seen.append(1) or 1 / 0)
    with pytest.raises(UnreadableImageError, match="division"):  # it got as far as decoding
        read_picture(data)
    assert seen


def test_the_budget_is_given_back_when_decoding_fails(monkeypatch):
    budget = MemoryBudget(2**30, small_bytes=0)
    monkeypatch.setattr(images, "BUDGET", budget)
    taken: list[int] = []
    monkeypatch.setattr(budget, "_take", lambda n: taken.append(n) or MemoryBudget._take(budget, n))
    jpeg, tiff = COSTS["jpeg"][0](), COSTS["tiff one strip"][0]()
    for whole, broken in ((jpeg, jpeg[:-9]), (tiff, tiff[:8] + bytes(40) + tiff[48:])):
        read_picture(whole)
        assert budget.used == 0
        with pytest.raises(UnreadableImageError, match="damaged"):
            read_picture(broken)
        assert budget.used == 0
    assert len(taken) == 4


class Holder(threading.Thread):
    """A thread that takes a share and holds it until it is told."""

    def __init__(self, budget: MemoryBudget, n_bytes: int) -> None:
        super().__init__(daemon=True)
        self.budget, self.n_bytes = budget, n_bytes
        self.has, self.done = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with self.budget.share(self.n_bytes):
            self.has.set()
            self.done.wait(20)

    def let_go(self) -> None:
        self.done.set()
        self.join(20)


def test_shares_wait_for_room():
    budget = MemoryBudget(100, small_bytes=10)
    first, second = Holder(budget, 60), Holder(budget, 40)
    assert first.has.wait(20)
    assert second.has.wait(20)
    third = Holder(budget, 30)
    assert not third.has.wait(0.1)
    second.let_go()
    assert third.has.wait(20)
    assert budget.used == 90
    first.let_go()
    third.let_go()
    assert budget.used == 0


def test_small_shares_do_not_wait():
    budget = MemoryBudget(100, small_bytes=10)
    large = Holder(budget, 100)
    assert large.has.wait(20)
    small = Holder(budget, 10)
    assert small.has.wait(20)
    assert budget.used == 100
    large.let_go()
    small.let_go()


def test_a_share_over_the_budget_goes_alone_and_is_not_passed_over():
    budget = MemoryBudget(100, small_bytes=0)
    first = Holder(budget, 50)
    assert first.has.wait(20)
    large = Holder(budget, 500)
    assert not large.has.wait(0.1)
    late = Holder(budget, 50)  # there is room, but it came later
    assert not late.has.wait(0.1)
    first.let_go()
    assert large.has.wait(20)
    assert not late.has.wait(0.1)
    large.let_go()
    assert late.has.wait(20)
    late.let_go()
    assert budget.used == 0


def test_an_interrupted_wait_leaves_the_queue(monkeypatch):
    budget = MemoryBudget(100, small_bytes=0)
    first = Holder(budget, 100)
    assert first.has.wait(20)

    def interrupt(self, predicate):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threading.Condition, "wait_for", interrupt)
        with pytest.raises(KeyboardInterrupt), budget.share(50):
            pass
    assert budget.used == 100
    first.let_go()
    with budget.share(50):  # nobody stands before it
        assert budget.used == 50


def test_many_threads_never_hold_more_than_the_budget():
    budget = MemoryBudget(100, small_bytes=0)
    peaks: list[int] = []

    def work(n_bytes: int) -> None:
        for _ in range(50):
            with budget.share(n_bytes):
                peaks.append(budget.used)

    threads = [threading.Thread(target=work, args=(n,)) for n in (10, 30, 45, 60, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(peaks) == 250
    assert max(peaks) <= 100
    assert budget.used == 0

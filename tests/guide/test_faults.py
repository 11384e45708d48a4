"""Files that come and go, and disks that are full: nothing is lost, nothing is a traceback."""

import errno
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors import SafetensorError
from tests.guide.contents import contents, everything
from tests.interrupts import interrupt_at

from fieldguide.collection import Collection
from fieldguide.errors import CollectionError, GuideError, UnreadableImageError
from fieldguide.guide import Guide
from fieldguide.guide.workspace import explained_faults

ROOT = Path(__file__).parent.parent.parent
QUICK = {"features": "deep", "marks": False, "places": False, "n_jobs": 1}


@pytest.fixture
def images(blobs, tmp_path):
    root = tmp_path / "images"
    for i, (image, kind) in enumerate(list(zip(*blobs, strict=True))[::2]):
        path = root / kind / f"{i:02d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    return root


@pytest.fixture
def unreadable(monkeypatch):
    """Paths that cannot be read for now, as if by a missing permission."""
    paths: set[str] = set()
    picture = Collection.picture

    def read(self, i, **options):
        if self.items[i].path in paths:
            raise UnreadableImageError("cannot be opened (permission denied)", passing=True)
        return picture(self, i, **options)

    monkeypatch.setattr(Collection, "picture", read)
    return paths


def test_what_failed_for_a_reason_of_the_moment_is_tried_again(images, tmp_path, unreadable):
    whole = Guide.build(images, tmp_path / "whole", **QUICK)
    (images / "disc" / "bad.png").write_bytes(b"no picture")
    unreadable.add("disc/00.png")
    guide = Guide.build(images, tmp_path / "guide", **QUICK)
    assert [f.path for f in guide.unreadable] == ["disc/00.png", "disc/bad.png"]
    assert guide.n_specimens == 11
    unreadable.clear()
    read = []
    guide = Guide.build(images, tmp_path / "guide", progress=lambda *now: read.append(now), **QUICK)
    assert ("reading images", 12, 13) in read  # the damaged one is not read again, this one is
    assert [f.path for f in guide.unreadable] == ["disc/bad.png"]
    assert contents(guide.folder)["specimen"] == contents(whole.folder)["specimen"]


def test_a_killed_build_too_tries_again(images, tmp_path, unreadable):
    unreadable.add("disc/00.png")
    stop = interrupt_at(0, "growing the tree")
    with pytest.raises(KeyboardInterrupt):
        Guide.build(images, tmp_path / "guide", progress=stop, **QUICK)
    unreadable.clear()
    assert Guide.build(images, tmp_path / "guide", **QUICK).unreadable == ()


@pytest.mark.parametrize("features", ["deep", "words+color", "auto"])
def test_a_file_that_vanishes_between_two_looks_is_listed(blobs, images, tmp_path, features):
    rng = np.random.default_rng(0)
    for path in sorted(images.rglob("*.png")):  # kinds that the network cannot tell apart
        if features == "auto":
            noise = rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)
            Image.fromarray(noise).save(path)
    gone = images / "disc" / "01.png"

    def take_away(step, done, total):
        if step == "reading images" and done == total:
            gone.unlink(missing_ok=True)

    guide = Guide.build(
        *(images, tmp_path / "guide"),
        features=features,
        n_jobs=1,
        marks=False,
        places=False,
        progress=take_away,
    )
    if features == "deep":  # never looked at again
        assert guide.n_specimens == 12
        return
    assert guide.n_specimens == 11
    assert [(f.path, f.reason) for f in guide.unreadable] == [
        ("disc/01.png", "cannot be opened (no such file or directory)")
    ]
    fresh = Guide.build(
        images, tmp_path / "fresh", features=features, n_jobs=1, marks=False, places=False
    )
    one, two = contents(guide.folder), contents(fresh.folder)
    assert one["specimen"] == two["specimen"]
    assert {k for k in one if one[k] != two[k]} <= {"unreadable", "info"}


def test_a_disk_that_is_taken_away_loses_nothing(images, tmp_path):
    out = tmp_path / "guide"
    Guide.build(images, out, features="words+color", n_jobs=1, marks=False, places=False)
    before = contents(out)
    for path in images.rglob("*.png"):
        os.utime(path, ns=(0, 0))

    def unplug(step, done, total):
        if step == "reading images" and done == total:
            shutil.move(images, tmp_path / "unplugged")

    with pytest.raises(CollectionError, match="None of the 12 files"):
        Guide.build(
            images, out, features="hog", n_jobs=1, marks=False, places=False, progress=unplug
        )
    assert contents(out) == before


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        OSError("294912 requested and 4096 written"),
        SafetensorError(
            "Error while serializing: I/O error: No space left on device (os error 28)"
        ),
        sqlite3.OperationalError("database or disk is full"),
    ],
)
def test_a_full_disk_is_one_sentence(tmp_path, error):
    said = r"There is no room left on the disk of .*; free some"
    with pytest.raises(GuideError, match=said), explained_faults(tmp_path):
        raise error


def test_other_faults_of_a_disk_keep_their_reason(tmp_path):
    said = r"cannot be written \(disk I/O error\)"
    with pytest.raises(GuideError, match=said), explained_faults(tmp_path):
        raise sqlite3.OperationalError("disk I/O error")
    with pytest.raises(PermissionError), explained_faults(tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("a small disk can be mounted by root alone")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=False)


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount")
def test_a_build_on_a_full_disk_goes_on_when_there_is_room(images, small_disk, tmp_path):
    whole = Guide.build(images, tmp_path / "whole", **QUICK)
    out = small_disk / "guide"
    ballast = small_disk / "ballast"
    said = []
    for kilobytes in range(960, -1, -60):
        ballast.write_bytes(b"x" * 1024 * kilobytes)
        try:
            Guide.build(images, out, **QUICK)
        except GuideError as error:
            said.append(str(error))
        else:
            break
    assert len(said) >= 3
    assert {sentence[:22] for sentence in said} == {"There is no room left "}
    assert contents(out) == contents(whole.folder)
    before = everything(out)
    # No room for an update: the guide stays as it is.
    for path in images.rglob("*.png"):
        os.utime(path, ns=(0, 0))
    free = shutil.disk_usage(small_disk).free
    ballast.write_bytes(b"x" * (ballast.stat().st_size + max(free - 100_000, 0)))
    with pytest.raises(GuideError, match="There is no room left"):
        Guide.build(images, out, **QUICK)
    after = everything(out)
    assert {name: after[name] for name in before} == before
    assert contents(out) == contents(whole.folder)


def run_sweep(work, marks, every):
    """Kill builds at every so many of their file operations; return what was seen, by form."""
    command = [sys.executable, "tests/guide/kill_sweep.py", str(work), marks, str(every)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        form, total, seen = line.split()
        assert int(total) > 100
        found[form] = set(seen.split(","))
    return found


@pytest.mark.skipif(not hasattr(os, "fork") or not hasattr(signal, "SIGKILL"), reason="needs fork")
def test_a_build_killed_at_any_operation_loses_nothing(tmp_path):
    seen = run_sweep(tmp_path, "quick", 29)
    assert {"none"} <= seen["fresh"] <= {"none", "new"}
    assert {"old"} <= seen["update"] <= {"old", "new"}


@pytest.mark.slow
@pytest.mark.parametrize("marks", ["quick", "marks"])
def test_a_build_killed_at_every_operation_loses_nothing(tmp_path, marks):
    seen = run_sweep(tmp_path, marks, 1)
    assert seen == {"fresh": {"none", "new"}, "update": {"old", "new"}}

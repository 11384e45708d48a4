"""When and where specimens were taken, what their owner says of them, and files that move."""

import os
import shutil
import sqlite3

import pytest
from PIL import Image
from tests.guide.contents import contents

from fieldguide import Collection, Guide

SETTINGS = {"features": "deep", "key": "ova", "marks": False, "n_jobs": 1}


@pytest.fixture(scope="module")
def photographs(blobs, tmp_path_factory):
    """A folder of 24 JPEG files; one with all tags, one with a caption beside it."""
    root = tmp_path_factory.mktemp("taken") / "photographs"
    for i, (image, kind) in enumerate(zip(*blobs, strict=True)):
        path = root / kind / f"{i:02d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        tags = Image.Exif()
        tags[0x8769] = {0x9003: f"2021:0{1 + i % 3}:03 14:07:09", 0x9011: "+02:00"}
        tags[0x8825] = {1: "N", 2: (47.0, 39.0, 36.0), 3: "E", 4: (9.0, 10.0, 30.0 + i)}
        Image.fromarray(image).save(path, exif=tags if i else b"")
    (root / "disc" / "01.txt").write_text("A disc near the lake.", encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def taken_guide(photographs, tmp_path_factory):
    return Guide.build(photographs, tmp_path_factory.mktemp("taken") / "guide", **SETTINGS)


@pytest.fixture
def copies(photographs, taken_guide, tmp_path):
    """The images and their guide, to change."""
    shutil.copytree(photographs, tmp_path / "photographs")  # with its times
    shutil.copytree(taken_guide.folder, tmp_path / "guide")
    return tmp_path / "photographs", tmp_path / "guide"


@pytest.fixture
def decoded(monkeypatch):
    """The paths of images that are decoded from here on."""
    picture, paths = Collection.picture, []

    def noted(self, i, **options):
        paths.append(self.items[i].path)
        return picture(self, i, **options)

    monkeypatch.setattr(Collection, "picture", noted)
    return paths


def test_records_say_when_and_where(taken_guide):
    bare, told = taken_guide.specimens([0, 1])
    assert (bare.date, bare.latitude, bare.longitude, bare.caption) == (None, None, None, "")
    assert told.date == "2021-02-03T14:07:09+02:00"
    assert (told.latitude, told.longitude) == (47.66, 9.175278)
    assert told.caption == "A disc near the lake."
    assert told.owner_words == ("disc", "lake")


def test_the_guide_of_an_earlier_version_opens_and_its_headers_alone_are_read(copies, decoded):
    images, out = copies
    whole = contents(out)
    with sqlite3.connect(Guide.open(out).edition / "catalogue.sqlite") as db:
        db.execute("DROP TABLE taken")
        db.execute("DROP TABLE owner")
    assert Guide.open(out).specimen(1).date is None
    guide = Guide.build(images, out, **SETTINGS)
    assert not decoded
    assert guide.specimen(1).date == "2021-02-03T14:07:09+02:00"
    assert contents(out) == whole


def test_files_that_moved_are_recognised_by_content(copies, decoded):
    images, out = copies
    (images / "disc").rename(images / "round")
    (images / "stripe" / "10.jpg").rename(images / "square" / "10.jpg")
    os.utime(images / "square" / "20.jpg", (1, 1))
    shutil.copy(images / "square" / "21.jpg", images / "square" / "copy.jpg")
    images = images.rename(images.parent / "elsewhere")
    before = Guide.open(out)
    guide = Guide.build(images, out, **SETTINGS)
    assert not decoded
    assert guide.about["update"] == {"measured": 0, "kept": 15, "moved": 10, "gone": 0}
    (moved,) = (s for s in guide.specimens(range(25)) if s.path == "round/01.jpg")
    assert (moved.kind, moved.date) == ("round", "2021-02-03T14:07:09+02:00")
    assert moved.thumbnail == before.specimen(1).thumbnail
    fresh = Guide.build(images, out.parent / "fresh", **SETTINGS)
    assert len(decoded) == 25
    assert contents(out) == contents(fresh.folder)


def test_a_file_of_the_same_size_and_other_content_is_measured(copies, decoded):
    images, out = copies
    path = images / "disc" / "02.jpg"
    changed = bytearray(path.read_bytes())
    changed[-40] ^= 1  # within the scan
    path.write_bytes(changed)
    guide = Guide.build(images, out, **SETTINGS)
    assert decoded == ["disc/02.jpg"]
    assert guide.about["update"] == {"measured": 1, "kept": 23, "moved": 0, "gone": 1}


def test_thumbnails_say_neither_when_nor_where(taken_guide):
    pictures = list((taken_guide.folder / "pictures").rglob("*.jpg"))
    assert len(pictures) == 24
    for path in pictures:
        with Image.open(path) as image:
            assert not dict(image.getexif())
        assert b"2021:0" not in path.read_bytes()

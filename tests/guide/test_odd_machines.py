"""A clock that was set back, a disk that cannot be written, a catalogue that somebody has open."""

import os
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from tests.guide.contents import everything

from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.guide import folder as files

QUICK = {"features": "deep", "marks": False, "places": False, "n_jobs": 1, "key": "ova"}


@pytest.fixture
def copied(flat_guide, tmp_path) -> Path:
    return Path(shutil.copytree(flat_guide.folder, tmp_path / "copied"))


def test_a_clock_that_was_set_back_hides_no_new_edition(copied, blobs):
    """What tells editions apart is not which is later."""
    guide = Guide.open(copied)
    ahead = time.time() + 10**6
    for path in copied.rglob("*"):
        os.utime(path, (ahead, ahead))
    guide = Guide.open(copied)
    again = Guide.build(Collection.from_arrays(*blobs, name="shapes"), copied, **QUICK)
    assert (copied / "guide.json").stat().st_mtime < ahead
    assert not guide.is_current()
    assert guide.reopen().about["edition"] == again.about["edition"] == 2
    edit = again.edits.add("rename", "kind:disc", "moon")
    os.utime(copied / "edits.jsonl", (1, 1))
    assert [each.number for each in Guide.open(copied).edits] == [edit.number]


def test_a_catalogue_that_somebody_has_locked_is_read(copied):
    guide = Guide.open(copied)
    db = sqlite3.connect(guide.edition / files.CATALOGUE, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    try:
        assert Guide.open(copied).n_specimens == guide.n_specimens == 24
        assert len(guide.find("disc").finds) == 8
    finally:
        db.close()


@pytest.mark.parametrize(("version", "match"), [(2, "earlier version"), (99, "has format 99")])
def test_a_guide_of_another_version_says_so(copied, blobs, version, match):
    place = copied / "guide.json"
    place.write_text(place.read_text().replace('"format": 3', f'"format": {version}'))
    with pytest.raises(GuideError, match=match):
        Guide.open(copied)
    if version > files.FORMAT:  # what a newer version wrote is not written over
        before = everything(copied)
        with pytest.raises(GuideError, match="holds a guide of format 99"):
            Guide.build(Collection.from_arrays(*blobs), copied, **QUICK)
        assert everything(copied) == before


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE specimen SET keywords = '{}', width = 'wide'",
        "UPDATE specimen SET id = 1000000000 WHERE id = 3",
        "DELETE FROM branch",
        "DROP TABLE taken; CREATE VIEW taken AS SELECT 1 AS specimen",
    ],
)
def test_a_build_takes_nothing_over_from_a_harmed_guide(copied, blobs, statement):
    db = sqlite3.connect(copied / "editions" / "1" / "catalogue.sqlite")
    db.executescript(statement)
    db.close()
    with pytest.raises(GuideError):
        Guide.open(copied)
    again = Guide.build(Collection.from_arrays(*blobs, name="shapes"), copied, **QUICK)
    assert again.about["update"] is None  # as if there had been none
    assert again.identify([blobs[0][0]])[0].kinds[0].name == "disc"


def test_a_disk_that_cannot_be_written_is_one_sentence(copied, blobs, tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, check=False).returncode:
        pytest.skip("a disk can be mounted by root alone")
    try:
        shutil.copytree(copied, place / "guide")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        guide = Guide.open(place / "guide")
        before = everything(place)
        sentence = r"A guide cannot be written to .* \(Read-only file system\); choose another"
        with pytest.raises(GuideError, match=sentence) as caught:
            Guide.build(Collection.from_arrays(*blobs), place / "guide", **QUICK)
        assert "\n" not in str(caught.value)
        with pytest.raises(GuideError, match=r"Read-only file system.*; nothing was changed\."):
            guide.edits.add("rename", "kind:disc", "moon")
        with pytest.raises(OSError, match="Read-only file system"):
            guide.export_site(place / "site")
        assert guide.identify([blobs[0][0]])[0].kinds[0].name == "disc"  # it goes on to answer
        assert everything(place) == before
        subprocess.run(["mount", "-o", "remount,rw", str(place)], check=True)
        (place / "guide" / "build.journal-journal").write_bytes(b"what SQLite would roll back")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        with pytest.raises(GuideError, match=sentence):
            Guide.build(Collection.from_arrays(*blobs), place / "guide", **QUICK)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False)

"""Watching a folder: built when it is at rest, once, and again when something goes wrong."""

import pytest
from PIL import Image

from fieldguide import Collection, Guide
from fieldguide.errors import GuideError
from fieldguide.guide.build import build_guide
from fieldguide.guide.watching import Watcher, is_guide_of, take_again
from fieldguide.guide.workspace import Settings


class Watched:
    """A watcher with a clock that the test moves, and a build that only counts."""

    def __init__(self, folder, is_current=False, fault=None):
        self.now, self.n_built, self.said, self.fault = 0.0, 0, [], fault
        self._watcher = Watcher(
            folder,
            lambda: is_current,
            self._build,
            self.said.append,
            settle_s=10,
            clock=lambda: self.now,
        )

    def _build(self):
        if self.fault:
            raise self.fault
        self.n_built += 1

    def look(self, after=5.0):
        self.now += after
        return self._watcher.look()


def _put(folder, name, colour="teal"):
    folder.mkdir(exist_ok=True)
    Image.new("RGB", (40, 30), colour).save(folder / name)


def test_files_that_still_grow_are_waited_for(tmp_path):
    _put(tmp_path, "a.png")
    watched = Watched(tmp_path)
    for size in (1, 2, 3):
        (tmp_path / "b.png").write_bytes(b"x" * size)
        assert not watched.look(after=9)
    assert not watched.look(after=9)
    assert watched.look(after=2)
    assert watched.n_built == 1


def test_nothing_is_built_while_nothing_changes(tmp_path):
    _put(tmp_path, "a.png")
    watched = Watched(tmp_path)
    built = [watched.look() for _ in range(8)]
    assert built.count(True) == 1
    _put(tmp_path, "b.png")
    built = [watched.look() for _ in range(8)]
    assert built.count(True) == 1
    assert watched.said == ["The folder has changed; waiting until its files are at rest."]


def test_a_guide_that_is_up_to_date_is_not_built(tmp_path):
    _put(tmp_path, "a.png")
    watched = Watched(tmp_path, is_current=True)
    assert not any(watched.look() for _ in range(5))
    assert watched.said == ["The guide is up to date."]
    (tmp_path / "a.png").unlink()
    assert any(watched.look() for _ in range(5))


def test_a_build_that_fails_is_tried_again_and_told_once(tmp_path):
    _put(tmp_path, "a.png")
    watched = Watched(tmp_path, fault=GuideError("Another build is writing to 'guide'."))
    assert not any(watched.look() for _ in range(9))
    assert watched.said == ["Another build is writing to 'guide'."]
    watched.fault = None
    assert any(watched.look() for _ in range(4))


def test_a_folder_that_is_away_is_waited_for(tmp_path):
    folder = tmp_path / "photographs"
    watched = Watched(folder)
    assert not any(watched.look() for _ in range(3))
    assert len(watched.said) == 1
    _put(folder, "a.png")
    assert any(watched.look() for _ in range(4))


@pytest.fixture
def folder(blobs, tmp_path):
    root = tmp_path / "images"
    root.mkdir()
    for i, image in enumerate(blobs[0][:6]):
        Image.fromarray(image).save(root / f"{i}.png")
    (root / "bad.jpg").write_bytes(b"\xff\xd8\xff and no more")
    return root


def test_a_guide_knows_whether_it_is_that_of_a_folder(folder, tmp_path):
    out = tmp_path / "guide"
    assert not is_guide_of(out, Collection.from_folder(folder))
    settings = Settings(features="deep", marks=False, places=False, n_jobs=1)
    build_guide(Collection.from_folder(folder), out, settings, lambda *_: None)
    assert is_guide_of(out, Collection.from_folder(folder))
    (folder / "0.png").rename(folder / "new.png")
    assert not is_guide_of(out, Collection.from_folder(folder))
    assert Guide.open(out).about["labels"] == {"kinds": "auto", "sidecar": None}


def test_labels_are_looked_for_where_they_were(folder, tmp_path, monkeypatch):
    out, sidecar = tmp_path / "guide", tmp_path / "names.csv"
    sidecar.write_text("path,label\n0.png,disc\n1.png,ring\n2.png,disc\n")
    assert len(take_again(out, folder)) == 7  # there is no guide yet
    settings = Settings(features="deep", marks=False, places=False, n_jobs=1)
    monkeypatch.chdir(tmp_path)
    given = Collection.from_folder("images", kinds="none", sidecar="names.csv")
    build_guide(given, out, settings, lambda *_: None)
    monkeypatch.chdir(folder)
    again = take_again(out, folder)
    assert (again.kinds_rule, [item.kind for item in again.items]) == (
        "none",
        ["disc", "ring", "disc"],
    )
    sidecar.write_text("path\n0.png\n")
    other = take_again(out, folder, kinds="parent", sidecar=sidecar)
    assert (other.kinds_rule, len(other)) == ("parent", 1)

"""The static export: whole, safe, beside other files, and quick for 10,000 specimens."""

import os

import pytest
from tests.clock import within_cpu_seconds
from tests.interrupts import interrupt_at

from fieldguide.errors import FieldguideError
from fieldguide.site import Renderer, export_site
from fieldguide.site.chapter_pages import list_assets
from fieldguide.site.export import MARKER


@pytest.fixture
def small(make_stand_in):
    places = [
        (f"kind {i % 3}", ("word", f"part {i % 2}"), (300, 200), f"{i}.jpg") for i in range(9)
    ]
    return make_stand_in(places)


def names_in(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_an_export_holds_every_page_asset_and_used_picture(small, tmp_path):
    (small.folder / "pictures" / "unused.jpg").write_bytes(b"x")
    steps = []
    index = export_site(small, tmp_path / "out" / "site", progress=lambda *step: steps.append(step))
    assert index == tmp_path / "out" / "site" / "index.html"
    renderer = Renderer(small, live=False)
    expected = set(renderer.addresses()) | {MARKER}
    expected |= {f"assets/{name}" for name in list_assets()}
    for specimen in small.specimens(range(9)):
        expected |= {specimen.thumbnail, specimen.picture}
    assert names_in(index.parent) == expected
    for address in renderer.addresses():
        assert (index.parent / address).read_text(encoding="utf-8") == renderer.page(address)
    assert os.listdir(tmp_path / "out") == ["site"]
    assert steps[-1][1] == steps[-1][2] == len(steps) == len(expected) - 1


def test_an_earlier_export_is_replaced_and_other_files_stay(small, make_stand_in, tmp_path):
    target = tmp_path / "site"
    export_site(small, target)
    before = names_in(target)
    mine = ("CNAME", ".git/HEAD", "specimen/999.html", "pictures/mine/0.jpg")
    for name in mine:
        (target / name).parent.mkdir(exist_ok=True)
        (target / name).write_text(name)
    fewer = make_stand_in([("other kind", ("word",), (300, 200), "x.jpg")])
    export_site(fewer, str(target))
    assert names_in(target) < before | set(mine) | {"kind/other-kind.html"}
    assert not (target / "specimen" / "8.html").exists()
    export_site(small, target)
    assert names_in(target) == before | set(mine)
    assert [(target / name).read_text() for name in mine] == list(mine)
    assert os.listdir(tmp_path) == ["site"]


def test_a_file_that_no_export_wrote_is_not_replaced(small, make_stand_in, tmp_path):
    target = tmp_path / "site"
    fewer = make_stand_in([("kind 0", ("word",), (300, 200), "x.jpg")])
    export_site(fewer, target)
    (target / "specimen" / "5.html").write_text("mine")
    before = names_in(target)
    with pytest.raises(FieldguideError, match=r"'specimen/5.html' in 'site' was not written by"):
        export_site(small, target)
    assert names_in(target) == before
    assert (target / "specimen" / "5.html").read_text() == "mine"
    export_site(small, target, overwrite=True)
    assert (target / "specimen" / "5.html").read_text() != "mine"


def test_an_export_without_a_list_is_brought_up_to_date(small, tmp_path):
    target = tmp_path / "site"
    export_site(small, target)
    (target / MARKER).write_text('{"made_by": "fieldguide", "pages": 20, "specimens": 9}')
    (target / "CNAME").write_text("guide.example")
    (target / "index.html").write_text("old")
    export_site(small, target)
    assert (target / "CNAME").read_text() == "guide.example"
    assert (target / "index.html").read_text() != "old"


def test_an_export_that_was_killed_is_brought_up_to_date(
    small, make_stand_in, tmp_path, monkeypatch
):
    """Whatever it had moved is on the list."""
    target = tmp_path / "site"
    fewer = make_stand_in([("other kind", ("word",), (300, 200), "x.jpg")])
    export_site(fewer, target)
    replace, n_moved = os.replace, 0

    def dies(source, place):
        nonlocal n_moved
        n_moved += 1
        if n_moved == 12:
            raise KeyboardInterrupt
        replace(source, place)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            export_site(small, target)
    (target / "CNAME").write_text("guide.example")
    export_site(small, target)
    export_site(small, tmp_path / "fresh")
    assert names_in(target) == names_in(tmp_path / "fresh") | {"CNAME"}


def test_an_export_of_a_stranger_whose_list_is_hostile_is_no_export(small, tmp_path):
    """The finding: nesting without end was a traceback, and a pipe was waited for."""
    target = tmp_path / "site"
    export_site(small, target)
    (target / "letter.txt").write_text("mine")
    marker = target / "fieldguide-site.json"
    marker.write_text('{"files": ' + "[" * 100_000)
    with pytest.raises(FieldguideError, match="overwrite"):
        export_site(small, target)
    marker.unlink()
    os.mkfifo(marker)
    with pytest.raises(FieldguideError, match="overwrite"):
        export_site(small, target)
    marker.unlink()
    marker.write_text('{"files": ["../victim", "letter.txt/../../victim", "/etc/x", ""]}')
    (tmp_path / "victim").write_text("mine")
    export_site(small, target, overwrite=True)
    assert (tmp_path / "victim").exists()
    assert (target / "letter.txt").exists()


def test_a_folder_of_an_export_that_is_a_link_is_not_followed(small, tmp_path):
    target, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    export_site(small, target)
    elsewhere.mkdir()
    (target / "kind").rename(tmp_path / "old")
    (target / "kind").symlink_to(elsewhere)
    with pytest.raises(FieldguideError, match="'kind' in 'site' is a link to another folder"):
        export_site(small, target)
    assert not os.listdir(elsewhere)


def test_a_folder_of_something_else_is_refused_unless_told(small, tmp_path):
    target = tmp_path / "photos"
    target.mkdir()
    export_site(small, target)  # an empty folder is welcome
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("dear")
    with pytest.raises(FieldguideError, match="not an earlier export"):
        export_site(small, other)
    assert (other / "letter.txt").read_text() == "dear"
    export_site(small, other, overwrite=True)
    assert (other / "index.html").exists()
    assert (other / "letter.txt").read_text() == "dear"


@pytest.mark.parametrize("inside", [".", "..", "pictures", "pictures/x", "models", "a/b"])
def test_the_guide_itself_is_never_replaced(small, inside):
    before = names_in(small.folder)
    with pytest.raises(FieldguideError):
        export_site(small, small.folder / inside, overwrite=True)
    assert names_in(small.folder) == before


def test_the_guide_may_hold_its_site(small):
    assert export_site(small, small.folder / "site").is_file()
    assert export_site(small, small.folder / "site").is_file()


def test_files_and_links_are_not_folders(small, tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(FieldguideError, match="not a folder"):
            export_site(small, tmp_path / name, overwrite=True)


def test_a_failed_export_leaves_what_was_there(small, tmp_path, monkeypatch):
    target = tmp_path / "site"
    export_site(small, target)
    before = names_in(target)
    with pytest.raises(KeyboardInterrupt):
        export_site(small, target, progress=interrupt_at(20))
    assert names_in(target) == before

    assert os.listdir(tmp_path) == ["site"]

    def fail(source, place):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", fail)
        with pytest.raises(OSError, match="disk full"):
            export_site(small, tmp_path / "new")
    assert os.listdir(tmp_path) == ["site"]


def test_pictures_are_copies(small, tmp_path):
    """With hard links, whoever appended to one changed the guide's."""
    index = export_site(small, tmp_path / "site")
    address = small.specimen(0).thumbnail
    before = (small.folder / address).read_bytes()
    assert (index.parent / address).read_bytes() == before
    with open(index.parent / address, "ab") as file:
        file.write(b"more")
    assert (small.folder / address).read_bytes() == before


def test_a_missing_or_foreign_picture_is_one_sentence(small, tmp_path):
    picture = small.folder / small.specimen(0).thumbnail
    picture.unlink()
    with pytest.raises(FieldguideError, match="is missing"):
        export_site(small, tmp_path / "site")
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    picture.symlink_to(tmp_path / "secret.jpg")
    with pytest.raises(FieldguideError, match="outside its own folder"):
        export_site(small, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_real_guide_is_exported(guide, tmp_path):
    index = export_site(guide, tmp_path / "site")
    assert guide.summary.split(";")[0][:20] in index.read_text(encoding="utf-8")


@pytest.mark.parametrize("n", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_pages_stay_short_and_quick_however_many_specimens(make_stand_in, tmp_path, n):
    places = [
        (f"kind {i % 120:03d}", (f"group {i % 12}", f"word {i % 60}"), (240, 180), f"{i:05d}.jpg")
        for i in range(n)
    ]
    guide = make_stand_in(places, draw=None)
    with within_cpu_seconds(6e-3 * n):
        index = export_site(guide, tmp_path / "site")
    assert len(os.listdir(index.parent / "specimen")) == n
    assert index.stat().st_size < 1_000_000
    longest = max(path.stat().st_size for path in (index.parent / "branch").iterdir())
    assert longest < 200_000

"""Whose files are whose: what a build may delete, and what it must never touch."""

import json
import os
import shutil
import sqlite3

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from tests.guide.contents import contents, everything
from tests.interrupts import interrupt_at

from fieldguide._files import remove_listed
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.guide import folder as files
from fieldguide.guide.editions import check_folder
from fieldguide.guide.journal import Journal
from fieldguide.guide.shelf import PART_NAMES, Shelf

QUICK = {"features": "deep", "key": "ova", "marks": False, "places": False, "n_jobs": 1}
FOREIGN = st.sampled_from(
    ("w.bin", "beach.raw", "holiday/beach.raw", ".git/HEAD", "CNAME", "key.json.old", "0.jpg",
     "models/bert/w.bin", "features/f.csv", "pictures/holiday/beach.raw", "parts/note")
)  # fmt: skip


@pytest.fixture
def images(blobs, tmp_path):
    root = tmp_path / "images"
    for i, image in enumerate(blobs[0][:9]):
        path = root / "abc"[i % 3] / f"{i}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    return root


@pytest.mark.parametrize("form", ["images inside", "out inside", "by a link", "the same"])
def test_images_and_guide_never_share_a_folder(images, tmp_path, form):
    out = {
        "images inside": tmp_path,
        "out inside": images / "a" / "guide",
        "by a link": tmp_path / "link" / "guide",
        "the same": images,
    }[form]
    (tmp_path / "link").symlink_to(images)
    before = everything(images)
    with pytest.raises(GuideError, match=r"inside the folder for the guide|into the folder of ima"):
        Guide.build(images, out)
    assert everything(images) == before


def test_a_folder_with_pictures_is_not_a_guide(images, tmp_path):
    """`fieldguide build p/pictures --out p` deleted every original."""
    home = tmp_path / "p"
    shutil.copytree(images, home / "pictures")
    for name in ("models/bert/w.bin", "features/f.csv", "pictures/holiday/beach.raw"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    before = everything(home)
    for source in (home / "pictures", images):
        with pytest.raises(GuideError, match=r"inside the folder for|holds other files"):
            Guide.build(source, home)
    assert everything(home) == before


def write_database(path):
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE diary (day TEXT)")
    db.commit()
    db.close()


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("guide.json", lambda path: path.write_text('{"city": "Rome"}')),
        ("guide.json", lambda path: path.write_text('{"format": "gpx"}')),
        ("guide.json", lambda path: path.write_text("[1]")),
        ("guide.json", lambda path: path.write_text("{")),
        ("build.journal", lambda path: path.write_text("dear diary")),
        ("build.journal", write_database),
        ("pictures", lambda path: path.mkdir()),
        (".next", lambda path: path.mkdir()),
        ("editions", lambda path: (path / "1").mkdir(parents=True)),
    ],
)
def test_only_our_own_files_make_a_folder_ours(images, tmp_path, name, write):
    out = tmp_path / "guide"
    out.mkdir()
    write(out / name)
    before = everything(out)
    with pytest.raises(GuideError, match="holds other files"):
        Guide.build(images, out)
    assert everything(out) == before
    assert os.listdir(out) == [name]


def test_a_killed_build_that_had_just_begun_is_ours(tmp_path):
    (tmp_path / "build.journal").touch()
    check_folder(tmp_path)
    Journal(tmp_path, "settings").close()
    check_folder(tmp_path)


def test_a_file_in_the_place_of_the_journal_is_set_aside(images, tmp_path):
    out = tmp_path / "guide"
    Guide.build(images, out, **QUICK)
    whole = contents(out)
    for number in (1, 2):
        (out / "build.journal").write_text(f"mine {number}")
        Guide.build(images, out, **QUICK)
        assert (out / f"build.journal.damaged-{number}").read_text() == f"mine {number}"
    assert contents(out) == whole
    assert not (out / "build.journal").exists()


@pytest.mark.parametrize("version", [4, 99])
def test_a_guide_of_a_newer_format_is_never_written_over(images, tmp_path, version):
    out = tmp_path / "guide"
    Guide.build(images, out, **QUICK)
    info = json.loads((out / "guide.json").read_text())
    (out / "guide.json").write_text(json.dumps(info | {"format": version}))
    before = everything(out)
    with pytest.raises(GuideError, match=f"holds a guide of format {version}, and this version"):
        Guide.build(images, out)
    assert everything(out) == before


def test_a_damaged_guide_json_is_built_again(images, tmp_path):
    out = tmp_path / "guide"
    Guide.build(images, out, **QUICK)
    whole = contents(out)
    (out / "guide.json").write_text('{"format": 2, "edi')
    Guide.build(images, out, **QUICK)
    assert contents(out) == whole


def list_folders(root):
    return sorted(["", *(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_dir())])


@pytest.fixture
def before_updates(images, tmp_path):
    """Images, the guide of them and its pages."""
    shutil.copytree(images, tmp_path / "before" / "images")
    guide = Guide.build(tmp_path / "before" / "images", tmp_path / "before" / "guide", **QUICK)
    guide.export_site(tmp_path / "before" / "site")
    return tmp_path / "before"


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_foreign_files_at_every_level_stay(before_updates, blobs, tmp_path_factory, data):
    """Two updates that drop images, words, editions and pictures; each file by its content."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(before_updates, home, dirs_exist_ok=True)
    out, site = home / "guide", home / "site"
    put: dict = {}
    for step in range(3):
        for root in (out, site):
            for folder in list_folders(root):
                path = root / folder / data.draw(FOREIGN)
                if not os.path.lexists(path):
                    try:
                        path.parent.mkdir(parents=True, exist_ok=True)
                    except FileExistsError:  # one of the other foreign files
                        continue
                    put[path] = f"{path} {step}".encode()
                    path.write_bytes(put[path])
        changed = home / "images" / "a" / "0.png"
        changed.unlink()
        Image.fromarray(blobs[0][-1 - step]).save(changed)
        guide = Guide.build(home / "images", out, **QUICK)
        guide.export_site(site)
        assert {path: path.read_bytes() for path in put} == put
    fresh = Guide.build(home / "images", home / "fresh", **QUICK)
    assert contents(out) == contents(fresh.folder)


def test_an_update_keeps_one_edition_back_and_deletes_by_name(images, blobs, tmp_path):
    out = tmp_path / "guide"
    pictures = []
    for step in range(4):
        Image.fromarray(blobs[0][10 + step]).save(images / "a" / "0.png")
        guide = Guide.build(images, out, **QUICK)
        pictures.append({s.thumbnail for s in guide.specimens(range(9))})
        assert guide.edition.name == str(step + 1)
        assert sorted(os.listdir(out / "editions")) == [str(n) for n in (step, step + 1) if n]
        there = {p.relative_to(out).as_posix() for p in (out / "pictures").rglob("*.jpg")}
        assert there == pictures[-1] | pictures[max(step - 1, 0)]
    assert sorted(os.listdir(out)) == ["editions", "guide.json", "pictures"]


def test_an_edition_that_is_open_goes_on_to_say_the_same(images, blobs, tmp_path):
    out = tmp_path / "guide"
    old = Guide.build(images, out, **QUICK)
    assert old.is_current()
    for kind in "bc":
        shutil.rmtree(images / kind)
    Image.fromarray(blobs[0][12]).save(images / "a" / "x.png")
    new = Guide.build(images, out, **QUICK)
    assert not old.is_current()
    assert old.n_specimens == 9
    assert [len(old.neighbours([i])[0]) for i in range(9)] == [8] * 9
    assert old.identify([blobs[0][0]])[0].kinds
    assert old.reopen().n_specimens == new.n_specimens == 4


def to_format_1(guide):
    """Lay a guide out as the first format had it."""
    info = json.loads((guide / "guide.json").read_text())
    edition = guide / "editions" / str(info.pop("edition"))
    info.pop("previous_edition")
    (edition / "contents.json").unlink()
    for model in ("owner", "check"):  # there were none
        for path in (edition / "models").glob(f"{model}.*"):
            path.unlink()
    for path in edition.iterdir():
        path.rename(guide / path.name)
    shutil.rmtree(guide / "editions")
    (guide / "guide.json").write_text(json.dumps(info | {"format": 1}))


def test_a_guide_of_the_first_format_is_carried_over(images, tmp_path, monkeypatch):
    out = tmp_path / "guide"
    Guide.build(images, out, **QUICK)
    whole = contents(out)
    to_format_1(out)
    with pytest.raises(GuideError, match="earlier version; run the same 'fieldguide build' again"):
        Guide.open(out)
    (out / "models" / "mine.bin").write_bytes(b"mine")
    monkeypatch.setattr(Collection, "picture", lambda *_, **__: pytest.fail("measured again"))
    Guide.build(images, out, **QUICK)
    assert contents(out) == whole
    assert sorted(os.listdir(out)) == ["editions", "guide.json", "models", "pictures"]
    assert os.listdir(out / "models") == ["mine.bin"]


def test_what_only_an_interrupted_build_has_measured_goes_by_name(images, blobs, tmp_path):
    out = tmp_path / "guide"
    with pytest.raises(KeyboardInterrupt):
        Guide.build(images, out, progress=interrupt_at(0, "growing the tree"), **QUICK)
    (out / "pictures" / "mine.jpg").write_bytes(b"mine")
    shutil.rmtree(images / "b")
    Guide.build(images, out, **QUICK)
    there = {p.name for p in (out / "pictures").rglob("*.jpg")}
    assert len(there) == 6 + 1
    assert sorted(os.listdir(out / "editions" / "1")) == [
        "catalogue.sqlite", "contents.json", "features", "models",
    ]  # fmt: skip


def test_a_list_deletes_files_below_its_folder_alone(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    for name in ("a/b/one", "a/b/two", "a/three", "c/four"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    outside.mkdir()
    (outside / "five").write_text("five")
    (root / "link").symlink_to(outside)
    names = ["a/b/one", "c/four", "c/nothing", "a", "../outside/five", str(outside / "five")]
    remove_listed(root, [*names, "link/five", "..", ""])
    assert set(everything(root)) == {"a/b/two", "a/three"}
    assert (outside / "five").read_text() == "five"
    assert not (root / "c").exists()
    remove_listed(root, ["a/b/two", "a/three"])
    assert os.listdir(root) == ["link"]


def test_a_picture_is_written_once_and_an_empty_one_again(tmp_path):
    (tmp_path / "parts").mkdir()
    shelf = Shelf(tmp_path, [tmp_path / name for name in PART_NAMES])
    address = shelf.keep("marks", b"content", "png")
    assert (tmp_path / address).read_bytes() == b"content"
    assert not os.listdir(tmp_path / "parts")
    (tmp_path / address).write_bytes(b"")
    assert not shelf.has(address)
    shelf.put(address, b"content")
    before = (tmp_path / address).stat().st_mtime_ns
    shelf.put(address, b"content")
    assert (tmp_path / address).stat().st_mtime_ns == before


@pytest.mark.parametrize("value", ['{"format": 3}', '{"format": 3, "edition": "../../x"}'])
def test_an_edition_is_a_number(tmp_path, value):
    (tmp_path / files.INFO).write_text(value)
    with pytest.raises(GuideError, match="is damaged"):
        Guide.open(tmp_path)


@pytest.mark.parametrize("loss", ["gone", "empty"])
def test_a_lost_thumbnail_is_made_again(images, tmp_path, loss):
    out = tmp_path / "guide"
    guide = Guide.build(images, out, **QUICK)
    whole = contents(out)
    picture = out / guide.specimen(4).thumbnail
    if loss == "gone":
        picture.unlink()
    else:
        picture.write_bytes(b"")
    read = []
    Guide.build(images, out, progress=lambda *now: read.append(now), **QUICK)
    assert ("reading images", 8, 9) in read
    assert contents(out) == whole


def test_the_demonstration_does_not_replace_a_guide(images, tmp_path):
    from fieldguide.guide.demo import finished_demo

    Guide.build(images, tmp_path / "guide", **QUICK)
    with pytest.raises(GuideError, match="holds a guide of 'images'; choose another folder"):
        finished_demo(tmp_path / "guide")
    assert finished_demo(tmp_path / "nothing") is None


def test_the_demonstration_is_of_all_code_that_draws_and_builds_it():
    from fieldguide.guide.demo import list_code

    code = {"/".join(path.parts[-2:]) for path in list_code()}
    assert {"specimens/songbirds.py", "svm/smo.py", "edits/hand.py", "fieldguide/_jit.py"} <= code
    assert not code & {"site/server.py", "cli/build.py", "terminal/reporter.py"}


def test_arrays_have_no_folder_to_be_inside(blobs, tmp_path):
    collection = Collection.from_arrays(np.stack(blobs[0][:4]))
    assert Guide.build(collection, tmp_path / "guide", **QUICK).n_specimens == 4

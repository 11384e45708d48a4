"""When and where specimens were taken, what their owner says of them, and files that move."""

import os
import shutil
import sqlite3

import pytest
from PIL import Image
from starlette.testclient import TestClient
from tests.cli.commands import call, check_refusal
from tests.guide.contents import contents
from tests.site.browsing import check_width, in_browser, serve_guide

from fieldguide import Collection, Guide
from fieldguide.site.phrases import list_notes
from fieldguide.site.server import create_app

SETTINGS = {"features": "deep", "key": "ova", "marks": False, "places": False, "n_jobs": 1}


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


@pytest.mark.filterwarnings("ignore")  # of its own packages
def test_dates_are_read_by_mlcroissant(taken_guide, tmp_path):
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is heavy")
    call("export", taken_guide.folder, tmp_path / "out", "--format", "croissant")
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "out/croissant.json"))
    dates = [record["specimens/date"] for record in dataset.records("specimens")]
    told = [specimen.date for specimen in taken_guide.specimens(range(24))]
    assert told.count(None) == 1
    assert [date and date.isoformat() for date in dates] == told


def test_thumbnails_say_neither_when_nor_where(taken_guide):
    pictures = list((taken_guide.folder / "pictures").rglob("*.jpg"))
    assert len(pictures) == 24
    for path in pictures:
        with Image.open(path) as image:
            assert not dict(image.getexif())
        assert b"2021:0" not in path.read_bytes()


def test_specimens_are_found_by_date(taken_guide):
    def find(query):
        return {find.specimen.id for find in taken_guide.find(query, limit=None).finds}

    dates = {s.id: s.date for s in taken_guide.specimens(range(24))}
    for query, fits in (
        ("date:2021-02", lambda d: d.startswith("2021-02")),
        ("date:feb", lambda d: d[5:7] == "02"),
        ("date:2021-02-03", lambda d: d.startswith("2021-02-03")),
        ("date:2021-02..2021", lambda d: d >= "2021-02"),
        ("date:..2021-02", lambda d: d < "2021-03"),
        ("date:..", bool),
        ("date:2020", lambda d: False),
    ):
        assert find(query) == {i for i, d in dates.items() if d and fits(d)}, query
    assert find("-date:..") == {0}
    assert find("kind:disc, date:2021-02") == {1, 4, 7}
    found = taken_guide.find("date:2021-02, disc")
    assert found.finds[0].because == ("disc", "2021-02-03")
    assert taken_guide.narrow("date:2021-02")[0].query.startswith("date:2021-02, ")


def test_what_is_no_date_is_said(taken_guide):
    found = taken_guide.find("date:soon")
    assert (found.total, found.terms[0].how) == (0, "")
    (note,) = list_notes(found)
    assert note.startswith("“soon” is no date; write one as in date:2021")


def test_doubts_are_the_specimens_of_which_the_key_says_another_kind(blobs, tmp_path):
    images, kinds = blobs
    kinds = ["square", *kinds[1:8], "disc", *kinds[9:]]  # two wrong labels
    guide = Guide.build(Collection.from_arrays(images, kinds), tmp_path / "guide", **SETTINGS)
    doubted = [s.id for s in guide.specimens(range(24)) if s.answer not in (None, s.kind)]
    assert doubted
    found = guide.find("doubt", limit=None)
    assert sorted(find.specimen.id for find in found.finds) == doubted
    sure = [find.specimen.confidence for find in found.finds]
    assert sure == sorted(sure, reverse=True)
    assert guide.find("not doubt").total == 24 - len(doubted)


def test_an_original_is_a_specimen_that_lies_unchanged_in_its_folder(copies):
    images, out = copies
    guide = Guide.build(images, out, **SETTINGS)
    client = TestClient(create_app(guide), base_url="http://localhost")
    digest, data = guide.digests[1], (images / "disc" / "01.jpg").read_bytes()
    answer = client.get(f"/originals/{digest}")
    assert (answer.content, answer.headers["content-type"]) == (data, "image/jpeg")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert f"originals/{digest}" in client.get("/specimen/1.html").text
    (images / "disc" / "secret.jpg").write_bytes(b"\xff\xd8\xff secret")
    for wrong in ("0" * 24, "..%2f..%2fdisc%2fsecret.jpg", "disc/secret.jpg", ""):
        assert client.get(f"/originals/{wrong}").status_code == 404
    (images / "disc" / "01.jpg").write_bytes(data + b"changed")
    assert client.get(f"/originals/{digest}").status_code == 404
    (images / "disc" / "01.jpg").unlink()
    outside = images.parent / "outside.jpg"
    outside.write_bytes(data)
    (images / "disc" / "01.jpg").symlink_to(outside)
    assert client.get(f"/originals/{digest}").status_code == 404
    (images / "disc" / "01.jpg").unlink()
    (images / "disc" / "01.jpg").symlink_to(images / "disc" / "copy.jpg")
    (images / "disc" / "copy.jpg").write_bytes(data)  # a link inside the folder is a file of it
    assert client.get(f"/originals/{digest}").content == data
    images.rename(images.parent / "away")
    assert client.get(f"/originals/{digest}").status_code == 404
    fresh = TestClient(create_app(Guide.open(out)), base_url="http://localhost")
    assert "originals/" not in fresh.get("/specimen/1.html").text


def test_an_export_has_no_originals_and_can_do_without_dates_and_places(taken_guide, tmp_path):
    taken_guide.export_site(tmp_path / "whole")
    page = (tmp_path / "whole" / "specimen" / "1.html").read_text()
    for text in ("3 February 2021, 14:07 (UTC+02:00)", "47.6600° N, 9.1753° E", "near the lake"):
        assert text in page
    assert "originals/" not in page
    kind = (tmp_path / "whole" / "kind" / "disc.html").read_text()
    assert "When and where" in kind
    assert "from January 2021 to March 2021" in kind
    taken_guide.strip().export_site(tmp_path / "bare")
    for path in (tmp_path / "bare").rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        for text in (b"2021", b"47.66", b"When and where"):
            assert text not in data, path
        if path.suffix == ".jpg":
            with Image.open(path) as image:
                assert not dict(image.getexif())
    assert "near the lake" in (tmp_path / "bare" / "specimen" / "1.html").read_text()


def test_any_export_can_do_without_dates_and_places(taken_guide, photographs, tmp_path):
    out = tmp_path / "specimens.csv"
    for words, has_date in (((), True), (("--strip", "--overwrite"), False)):
        assert call("export", taken_guide.folder, out, "--format", "csv", *words).exit_code == 0
        assert ("2021-02-03" in out.read_text()) is has_date
    for words, has_date in (((), False), (("--no-strip",), True)):  # of pages, which are shown
        assert call("export", taken_guide.folder, tmp_path / "site", *words).exit_code == 0
        page = (tmp_path / "site" / "specimen" / "1.html").read_text()
        assert ("February 2021" in page) is has_date
    both = ["export", taken_guide.folder, out, "--strip", "--images", photographs]
    check_refusal([str(word) for word in both], "give one of the two")


@pytest.fixture
def live_taken(taken_guide):
    yield from serve_guide(taken_guide)


@in_browser
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_pages_say_when_and_where_on_a_telephone(live_taken, open_page, taken_guide, scripts):
    told = next(s for s in taken_guide.specimens(range(24)) if s.caption)
    settings = {"viewport": {"width": 390, "height": 844}, "java_script_enabled": scripts}
    page = open_page(f"{live_taken}/specimen/{told.id}.html", **settings)
    check_width(page)
    assert page.locator(".owner-caption").inner_text() == "A disc near the lake."
    facts = page.locator(".facts")
    assert "3 February 2021" in facts.inner_text()
    assert "47.6600° N, 9.1753° E" in facts.inner_text()
    link = page.get_by_role("link", name="the original at full size").get_attribute("href")
    original = page.request.get(f"{live_taken}/specimen/{link}")
    assert original.body() == taken_guide.original(told.id).read_bytes()
    facts.get_by_role("link").first.focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")  # all of that month
    assert "date:2021-02" in page.url
    check_width(page)
    assert page.locator("main .grid a").count() == 8
    page.goto(f"{live_taken}/kind/disc.html")
    check_width(page)
    assert page.get_by_role("heading", name="When and where").is_visible()
    assert page.locator(".charts svg").count() == 2
    assert page.locator(".charts").inner_text().count("Of 8 specimens, 7 have a ") == 2

"""Field marks on the page of a kind, on the identify page and in a terminal."""

import base64
import dataclasses
import io
import re

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from fieldguide.chapters.marks.page import (
    list_mark_pictures,
    marks_lines,
    show_image_marks,
    word_enough,
)
from fieldguide.chapters.marks.records import (
    HeatPicture,
    ImageMarks,
    KindMarks,
    MarksRecord,
    SeenMark,
    SeenMarks,
    WindowMark,
    WordMark,
)
from fieldguide.guide.answer import to_plain
from fieldguide.site import Renderer, create_app, export_site

ADDRESS = "pictures/marks/" + "0" * 32


def make_marks(kind):
    places = (("centre", 0.3), ("whole", 0.1))
    picture = f"{ADDRESS}.png"
    return KindMarks(
        kind,
        (
            WindowMark("lynx", False, 0.4, places, 0.9, 0.4, ((0, "centre"),)),
            WindowMark("bus", True, 0.2, (("top-left", 0.2),), 0.8, 0.5, ((0, "top-left"),)),
        ),
        (WordMark(7, False, 0.75, 5, picture), WordMark(9, True, 0.25, 4, picture)),
        199,
        ((2, 0.8), (5, 0.92), (9, 0.93)),
        5,
        (HeatPicture(0, f"{ADDRESS}.jpg", 288, 192),),
    )  # fmt: skip


@pytest.fixture
def marked(make_stand_in):
    """A guide of hostile names whose first kind has marks."""
    names = ("<b>robin</b> & co", "wren", "jay")
    places = [(names[i % 3], ("bird",), (300, 200), f"{i}.jpg") for i in range(9)]
    guide = make_stand_in(places)
    guide.marks_of[names[0]] = make_marks(names[0])
    for suffix in ("png", "jpg"):
        path = guide.folder / f"{ADDRESS}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 10)).save(path)
    return guide


def test_the_page_of_a_kind_shows_its_marks(marked):
    renderer = Renderer(marked, live=False)
    html = renderer.page(renderer.book.kind("<b>robin</b> & co"))
    assert '<p class="marks-sentence">lynx; not bus.</p>' in html
    assert html.count('class="tile"') == 1  # what the kind lacks has no picture
    assert "centre and whole picture" in html
    assert "<i>not</i> bus" in html
    assert "of the vote" in html
    assert '<image href="../pictures/00/00000000.s.jpg"' in html
    view = [float(v) for v in re.search(r'class="tile" viewBox="([^"]*)"', html)[1].split()]
    width, height = renderer.pictures([0])[0].thumbnail_size
    side = 0.875 * 0.6 * min(width, height)
    assert view == pytest.approx([(width - side) / 2, (height - side) / 2, side, side], abs=0.06)
    assert "5 of 199 visual words are enough" in html
    assert "Held-out score by number of words: 2 words 80%, 5 words 92%, 9 words 93%" in html
    assert "the strongest tenth outlined" in html
    assert "<b>robin</b>" not in html
    other = renderer.page(renderer.book.kind("wren"))
    assert "Field marks" not in other


def test_marks_stand_on_the_first_page_of_a_kind_alone(make_stand_in):
    guide = make_stand_in([("wren", ("bird",), (90, 60), f"{i}.jpg") for i in range(70)])
    guide.marks_of["wren"] = dataclasses.replace(make_marks("wren"), words=(), heat=())
    renderer = Renderer(guide, live=True)
    assert "Field marks" in renderer.page(renderer.book.kind("wren"))
    assert "Field marks" not in renderer.page(renderer.book.kind("wren", 2))


def test_a_kind_without_words_of_the_network_says_so(marked):
    marked.marks_of["wren"] = dataclasses.replace(make_marks("wren"), windows=())
    renderer = Renderer(marked, live=False)
    html = renderer.page(renderer.book.kind("wren"))
    assert "has no words for what it sees" in html
    assert "Where its patterns are" in html


def test_the_export_and_the_server_hold_every_picture_of_marks(guide, tmp_path):
    pictures = list_mark_pictures(guide)
    assert len(pictures) > len(guide.kinds)
    export_site(guide, tmp_path / "site")
    html = (
        tmp_path / "site" / Renderer(guide, live=False).book.kind(guide.kinds[0].name)
    ).read_text()
    named = re.findall(r"pictures/marks/[0-9a-f]{32}\.(?:png|jpg)", html)
    assert named
    assert set(named) <= set(pictures)
    client = TestClient(create_app(guide), base_url="http://localhost")
    for address in pictures:
        assert (tmp_path / "site" / address).is_file()
    for address in named:
        answer = client.get(f"/{address}")
        assert answer.status_code == 200
        with Image.open(io.BytesIO(answer.content)) as image:
            image.load()


def test_identify_shows_the_marks_of_the_kind(guide):
    specimen = guide.specimen(3)
    client = TestClient(create_app(guide), base_url="http://localhost")
    data = (guide.folder / specimen.picture).read_bytes()
    marks = guide.identify([data])[0].parts["marks"]
    assert [m.word for m in marks.windows] == [m.word for m in guide.marks(marks.kind).windows]
    html = client.post("/api/identify.html", files={"image": ("a.jpg", data, "image/jpeg")}).text
    shown = html[html.index('class="seen-marks"') :]
    assert f"Because of {marks.because}." in shown
    found = re.findall(
        r'<img src="data:image/jpeg;base64,([^"]+)" width="(\d+)" height="(\d+)" alt="([^"]+)">',
        shown,
    )
    assert len(found) == len(marks.windows) + 1  # and where its visual words are
    for source, width, height, alt in found:
        assert "our picture" in alt
        with Image.open(io.BytesIO(base64.b64decode(source))) as image:
            assert image.size == (int(width), int(height))


def test_identify_without_marks_answers(marked):
    client = TestClient(create_app(marked), base_url="http://localhost")
    data = (marked.folder / marked.specimen(0).thumbnail).read_bytes()
    files = {"image": ("a.jpg", data, "image/jpeg")}
    assert client.post("/api/identify", files=files).json()["marks"] is None
    assert "Marks of" not in client.post("/api/identify.html", files=files).text


def test_because_names_what_is_shown_alone():
    lynx, bus = make_marks("robin").windows
    whole = dataclasses.replace(lynx, word="tabby", windows=(("whole", 0.4),))
    box = (0.0, 0.0, 1.0, 1.0)
    seen = SeenMarks(
        "robin", (SeenMark(lynx, 0.9, True, box), SeenMark(whole, 0.7, True, box),
                  SeenMark(dataclasses.replace(lynx, word="ox"), 0.1, False, box),
                  SeenMark(bus, 0.9, True, box)), np.zeros((4, 4)),
    )  # fmt: skip
    marks = ImageMarks.from_seen(seen)
    assert marks.because == "lynx (centre), tabby; no bus"
    assert ImageMarks.from_seen(dataclasses.replace(seen, windows=())).because == ""
    shown = show_image_marks(marks, Image.new("RGB", (9, 9)))
    assert [tile.places for tile in shown.tiles[:2]] == [
        "centre and whole picture",
        "whole picture",
    ]
    assert shown.heat is None  # for there is none anywhere


def test_how_many_words_are_enough():
    marks = make_marks("robin")
    assert word_enough(marks) == (
        "5 of 199 visual words are enough: by them, a held-out specimen of the kind scores above "
        "one of another kind 92% of the time."
    )
    one = dataclasses.replace(marks, enough=1, path=((1, 1.0),))
    assert word_enough(one).startswith("1 of 199 visual words is enough: by it, ")
    assert word_enough(dataclasses.replace(marks, enough=None, path=())) == ""


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_of_a_terminal(width):
    lines = marks_lines(make_marks("grey_robin"), width, full="#")
    assert lines[0] == "grey robin: lynx; not bus"
    bars = {line.split(",")[0].strip(): line.count("#") for line in lines if "#" in line}
    assert bars["lynx"] == 2 * bars["not bus"] > 0
    assert any(line.startswith("  word 7") for line in lines)
    assert any(line.startswith("  not word 9") for line in lines)
    assert all(len(line) <= width for line in lines if "#" in line)
    empty = dataclasses.replace(make_marks("robin"), windows=(), words=(), enough=None)
    assert marks_lines(empty, width)[-1].startswith("It has no marks")


def test_a_record_holds_everything():
    record = to_plain(MarksRecord.from_marks(make_marks("robin")))
    assert list(record) == ["kind", "sentence", "windows", "words", "path", "enough"]
    assert record["sentence"] == "lynx; not bus"
    assert record["windows"][0]["windows"] == {"centre": 0.3, "whole": 0.1}
    assert record["windows"][0]["specimens"] == [{"id": 0, "window": "centre"}]
    assert record["windows"][1]["lacks"]
    assert record["words"][1] == {"word": 9, "lacks": True, "weight": 0.25}
    assert record["path"][-1] == {"words": 9, "score": 0.93}
    assert record["enough"] == 5

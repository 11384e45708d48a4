"""Field marks on the page of a kind, on the identify page and in a terminal."""

import base64
import dataclasses
import io
import re

import pytest
from PIL import Image
from starlette.testclient import TestClient

from fieldguide.chapters.marks.page import (
    describe_sufficient,
    difference_lines,
    image_lines,
    marks_lines,
    show_image_marks,
)
from fieldguide.chapters.marks.records import (
    ImageMark,
    ImageMarks,
    KindMarks,
    Mark,
    MarkedSpecimen,
    MarksRecord,
    NetworkClass,
    PairDifferences,
    PairMarks,
    PatternMark,
)
from fieldguide.chapters.marks.sentences import NO_MARK
from fieldguide.guide.answer import to_plain
from fieldguide.site import Renderer, create_app, export_site

ADDRESS = "pictures/marks/" + "0" * 32 + ".png"
ROBIN, WREN, JAY = "<b>robin</b> & co", "wren", "jay"


def make_marks(kind, other=WREN):
    red = Mark(
        "red above", "subject", False, 21, 24, 3, 48, ("red",), "above", 4,
        specimens=(MarkedSpecimen(0, (0.25, 0.25, 0.75, 0.5)),),
    )  # fmt: skip
    bird = Mark("bird", "network", False, 24, 24, 10, 48, column=1)
    no_bar = Mark("wing bar", "owner", True, 20, 24, 2, 24, column=2)
    return KindMarks(
        kind,
        (bird, red),
        1,
        1,
        (PairMarks(other, other.title(), 0.125, (no_bar,)), PairMarks(JAY, "Jay", 0.0, ())),
        (PatternMark(ADDRESS, 5, 8, 8, 1, 16),),
        (NetworkClass("house finch", 0.31),),
        ("red", "brown"),
        "Bird. Unlike Wren: no wing bar.",
    )


@pytest.fixture
def marked(make_stand_in):
    """A guide of hostile names whose first kind has marks."""
    names = (ROBIN, WREN, JAY)
    places = [(names[i % 3], ("bird",), (300, 200), f"{i}.jpg") for i in range(9)]
    guide = make_stand_in(places)
    guide.marks_of[ROBIN] = make_marks(ROBIN)
    path = guide.folder / ADDRESS
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (20, 10)).save(path)
    return guide


def test_the_page_of_a_kind_shows_its_marks(marked):
    renderer = Renderer(marked, live=False)
    html = renderer.page(renderer.book.kind(ROBIN))
    assert '<p class="marks-sentence">Bird. Unlike Wren: no wing bar.</p>' in html
    assert "in 24 of 24; in 10 of 48 others" in html
    assert "in 20 of 24; in 2 of 24 Wren" in html
    assert "Its colours: red and brown." in html
    assert "1 more mark" in html
    assert "No difference that can be named" in html
    assert f'src="../{ADDRESS}"' in html
    assert "house finch 31%" in html
    assert '<image href="../pictures/00/000000000000000000000000.s.jpg"' in html
    view = [float(v) for v in re.search(r'class="tile" viewBox="([^"]*)"', html)[1].split()]
    width, height = renderer.pictures([0])[0].thumbnail_size
    side = 1.3 * 0.5 * width
    middle = 0.5 * width, 0.375 * height
    assert view[2] == view[3] == pytest.approx(min(side, height), abs=0.06)
    assert view[0] + view[2] / 2 == pytest.approx(middle[0], abs=0.06)
    assert "<b>robin</b>" not in html
    assert "What sets it apart" not in renderer.page(renderer.book.kind(WREN))


def test_a_kind_without_marks_says_so(marked):
    marked.marks_of[ROBIN] = dataclasses.replace(
        make_marks(ROBIN), marks=(), n_said=0, n_sufficient=0, apart=(), patterns=(), sentence=""
    )
    renderer = Renderer(marked, live=False)
    html = renderer.page(renderer.book.kind(ROBIN))
    assert NO_MARK in html
    assert "mark-list" not in html


def test_marks_stand_on_the_first_page_of_a_kind_alone(make_stand_in):
    guide = make_stand_in([(WREN, ("bird",), (90, 60), f"{i}.jpg") for i in range(70)])
    guide.marks_of[WREN] = dataclasses.replace(make_marks(WREN), patterns=(), apart=())
    renderer = Renderer(guide, live=True)
    assert "What sets it apart" in renderer.page(renderer.book.kind(WREN))
    assert "What sets it apart" not in renderer.page(renderer.book.kind(WREN, 2))


def test_the_export_and_the_server_hold_every_picture_of_marks(guide, tmp_path):
    pictures = guide.list_mark_pictures()
    export_site(guide, tmp_path / "site")
    client = TestClient(create_app(guide), base_url="http://localhost")
    for address in pictures:
        assert (tmp_path / "site" / address).is_file()
        answer = client.get(f"/{address}")
        assert answer.status_code == 200
        with Image.open(io.BytesIO(answer.content)) as image:
            image.load()


def test_identify_shows_the_marks_of_the_kind(guide):
    client = TestClient(create_app(guide), base_url="http://localhost")
    data = (guide.folder / guide.specimen(3).picture).read_bytes()
    marks = guide.identify([data])[0].parts["marks"]
    assert [m.text for m in marks.marks] == [m.words for m in guide.marks(marks.kind).said]
    html = client.post("/api/identify.html", files={"image": ("a.jpg", data, "image/jpeg")}).text
    shown = html[html.index('class="seen-marks"') :]
    found = re.findall(
        r'<img src="data:image/jpeg;base64,([^"]+)" width="(\d+)" height="(\d+)" alt="([^"]+)">',
        shown,
    )
    assert len(found) == len(marks.marks) + len(marks.against_marks) > 0
    for source, width, height, alt in found:
        assert "our picture" in alt
        with Image.open(io.BytesIO(base64.b64decode(source))) as image:
            assert image.size == (int(width), int(height))


def test_identify_without_marks_answers(marked):
    client = TestClient(create_app(marked), base_url="http://localhost")
    data = (marked.folder / marked.specimen(0).thumbnail).read_bytes()
    files = {"image": ("a.jpg", data, "image/jpeg")}
    assert client.post("/api/identify", files=files).json()["marks"] is None
    assert "Field marks" not in client.post("/api/identify.html", files=files).text


def make_seen():
    def mark(text, is_shown, box=None):
        return ImageMark(text, "subject", is_shown, 21, 24, 3, 48, box)

    return ImageMarks(
        "grey_robin",
        "red above",
        (mark("red above", True, (0.2, 0.1, 0.6, 0.4)), mark("plump", False)),
        WREN,
        (mark("darker", False),),
        ("none of the 24 specimens of this kind is mostly blue",),
    )


def test_what_a_picture_shows_and_lacks():
    seen = make_seen()
    assert image_lines(seen, lambda name: name.replace("_", " ")) == [
        "marks of grey robin: red above",
        "but not: plump",
        "unlike wren, not seen: darker",
        "unusual: none of the 24 specimens of this kind is mostly blue",
    ]
    shown = show_image_marks(seen, Image.new("RGB", (90, 60)), str.upper)
    assert [each.numbers for each in shown.against] == ["in 21 of 24; in 3 of 48 WREN"]
    assert {(each.tile.width, each.tile.height) for each in shown.seen} == {(120, 120)}


def test_how_many_marks_are_enough():
    marks = make_marks("robin")
    assert describe_sufficient(marks) == ""
    two = dataclasses.replace(marks, n_said=2)
    assert describe_sufficient(two) == "1 of these 2 is enough to tell it from the others."


def test_lines_of_a_terminal():
    lines = marks_lines(make_marks("grey_robin"), spell=str.title)
    assert lines[:2] == [
        "Grey_Robin: Bird. Unlike Wren: no wing bar.",
        "Its colours: red and brown.",
    ]
    assert "  bird       in 24 of 24; in 10 of 48 others" in lines
    assert "From Wren, confused in 12% of cases" in lines
    assert "  no wing bar  in 20 of 24; in 2 of 24 Wren" in lines
    assert lines[-1] == "As the network sees it: house finch 31%"
    marks = make_marks("robin")
    both = PairDifferences(marks.marks, ())
    told = difference_lines(both, ("Robin", "Wren"))
    assert told[0] == "Robin: bird, red above."
    assert told[2:5] == ["Robin", "  bird       in 24 of 24; in 10 of 48 Wren",
                         "  red above  in 21 of 24; in 3 of 48 Wren"]  # fmt: skip


def test_a_record_holds_everything():
    record = to_plain(MarksRecord.from_marks(make_marks("robin")))
    assert list(record) == [
        "kind", "sentence", "colours", "n_said", "n_sufficient", "marks", "apart", "network",
        "movement",
    ]  # fmt: skip
    assert record["movement"] == []
    assert record["sentence"] == "Bird. Unlike Wren: no wing bar."
    assert record["marks"][1]["text"] == "red above"
    assert record["marks"][1]["specimens"] == [{"id": 0, "box": [0.25, 0.25, 0.75, 0.5]}]
    assert record["apart"][0]["other"] == WREN
    assert record["apart"][0]["marks"][0]["text"] == "no wing bar"
    assert record["network"] == [{"name": "house finch", "share": 0.31}]

"""What sets two kinds apart: on their page, in lines of text, as data."""

import json
import re

import pytest
from tests.site.test_render import read
from typer.testing import CliRunner

from fieldguide.chapters.marks.page import NO_MARKS, PAGE, difference_lines
from fieldguide.chapters.marks.records import Mark, MarkedSpecimen, PairDifferences
from fieldguide.chapters.marks.sentences import NO_DIFFERENCE
from fieldguide.cli import app
from fieldguide.guide.answer import to_plain
from fieldguide.site import Renderer
from fieldguide.site.comparison import compare_kinds_on_page

ROBIN, WREN = "<b>robin</b> & co", "wren"
RED = Mark(
    "red <i>above</i>", "subject", False, 7, 8, 1, 9,
    specimens=(MarkedSpecimen(0, (0.25, 0.25, 0.75, 0.5)), MarkedSpecimen(2, None)),
)  # fmt: skip
NO_TAIL = Mark("tail", "owner", True, 6, 8, 0, 9)


@pytest.fixture
def marked(make_stand_in):
    """A guide of two kinds, of which the first has marks that the second has not."""
    places = [((ROBIN, WREN)[i % 2], ("bird",), (300, 200), f"{i}.jpg") for i in range(8)]
    guide = make_stand_in(places)
    found = PairDifferences((RED, NO_TAIL), ())
    guide.differences[ROBIN, WREN] = {"marks": found}
    return guide


def test_the_page_of_two_kinds_shows_their_marks(marked):
    renderer = Renderer(marked, live=False)
    html = renderer.page(renderer.book.pair(WREN, ROBIN))
    section = html[html.index('id="marks-title"') : html.index('id="border-title"')]
    text = re.sub("<[^>]*>", "", section)
    assert "What sets them apart" in text
    assert "red &lt;i&gt;above&lt;/i&gt;" in section
    assert "in 7 of 8; in 1 of 9 wren" in text
    assert "not tail" in text
    assert "No mark of its own that can be named." in text
    assert section.count('class="tile"') == 2
    assert 'href="../specimen/2.html"' in section
    assert "<b>robin</b>" not in html
    assert "<i>above" not in html


def test_the_marks_of_a_page_that_stands_alone_have_their_pictures_inside(marked):
    html = compare_kinds_on_page(marked, marked.compare(ROBIN, WREN))
    read(html)
    tiles = re.findall(r'<image href="([^"]{0,30})', html)
    assert len(tiles) == 2
    assert all(tile.startswith("data:image/jpeg;base64,") for tile in tiles)
    assert ".mark-list" in html[: html.index("</style>")]


def test_two_kinds_without_a_difference_say_so_once(marked):
    marked.differences[ROBIN, WREN] = {"marks": PairDifferences((), ())}
    renderer = Renderer(marked, live=False)
    html = renderer.page(renderer.book.pair(ROBIN, WREN))
    assert html.count(NO_DIFFERENCE) == 1
    assert "mark-list" not in html
    assert difference_lines(PairDifferences((), ()), ("robin", "wren")) == [NO_DIFFERENCE]


def test_lines_and_data_name_every_mark(marked):
    pair = marked.compare(ROBIN, WREN)
    lines = PAGE.word_pair(marked, pair)
    assert lines[0] == f"{ROBIN}: red <i>above</i>, not tail."
    assert "  not tail          in 6 of 8; in 0 of 9 wren" in lines
    assert lines[-1] == f"  {NO_DIFFERENCE}"
    record = to_plain(PAGE.record_pair(marked, pair))
    assert record["sentence"] == lines[0]
    assert [mark["text"] for mark in record["marks"]] == ["red <i>above</i>", "not tail"]
    assert record["marks"][0]["specimens"][1] == {"id": 2, "box": None}
    assert record["other_marks"] == []


def test_a_guide_without_marks_compares_all_the_same(keyed_guide):
    first, second = (kind.name for kind in keyed_guide.kinds[:2])
    pair = keyed_guide.compare(first, second)
    assert PAGE.show_pair(keyed_guide, pair, None) is None
    told = CliRunner().invoke(app, ["compare", str(keyed_guide.folder), first, second])
    assert told.exit_code == 0
    assert told.stdout.startswith(f"{NO_MARKS}\n\nHeld out, the key ")
    as_json = CliRunner().invoke(app, ["compare", str(keyed_guide.folder), first, second, "--json"])
    assert json.loads(as_json.stdout)["marks"] is None


def test_a_guide_with_marks_names_them(small_guide):
    pair = small_guide.compare("disc", "stripe")
    found = pair.parts["marks"]
    assert found.marks or found.other_marks
    lines = PAGE.word_pair(small_guide, pair)
    for mark in (*found.marks, *found.other_marks):
        assert any(line.startswith(f"  {mark.words} ") for line in lines)

"""The key to print: which one it is, its couplets, its page, its text, its evidence."""

import re

import numpy as np
import pytest
from tests.cli.commands import call, check_refusal
from tests.site.test_render import read

from fieldguide.chapters import OPTIONAL
from fieldguide.chapters.walk.characters import Character, Characters
from fieldguide.chapters.walk.dichotomy import GrownKey, Walked, follow_key, grow_key
from fieldguide.chapters.walk.printed import MOST_COUPLETS, PrintedKey, print_key
from fieldguide.chapters.walk.printed_page import WIDTH, key_lines
from fieldguide.guide.views import CoupletWords, SideWords, Word
from fieldguide.site import Renderer

NEEDS_MARKS = pytest.mark.skipif("marks" not in OPTIONAL, reason="characters come from marks")
KINDS = ("ant", "bee", "cat", "dog", "elk")
TEXTS = ("winged", "striped", "furry", "antlered", "six-legged")
SHARES = np.array([
    [0.1, 0.1, 0.1, 0.1, 0.9],
    [0.9, 0.9, 0.1, 0.1, 0.9],
    [0.1, 0.3, 0.9, 0.1, 0.1],
    [0.1, 0.6, 0.9, 0.1, 0.1],
    [0.1, 0.1, 0.9, 0.9, 0.1],
])  # fmt: skip


def grow(shares=SHARES, kinds=KINDS):
    characters = tuple(Character(text, "owner") for text in TEXTS)
    n = np.full(len(kinds), 20)
    return GrownKey(
        Characters(kinds, characters, shares, n, np.arange(len(TEXTS))),
        grow_key(shares),
        Walked(100, 58, 97),
    )


@pytest.fixture
def animals(make_stand_in):
    """A guide of five kinds, of which the key of characters leaves two together."""
    places = [(KINDS[i % 5], ("animal",), (300, 200), f"{i}.jpg") for i in range(20)]
    guide = make_stand_in(places, title="Animals")
    guide.dichotomy = grow()
    guide.about["confusions"] = [["cat", "dog", 2], ["dog", "cat", 1], ["ant", "bee", 3]]
    guide.about["confusions"].append(["bee", "elk", 1])  # one of eight is no evidence
    return guide


def list_leads(key):
    return [(lead.mark, lead.words, lead.to, lead.end) for c in key.couplets for lead in c.leads]


def test_couplets_are_numbered_and_refer_back(animals):
    key = print_key(animals)
    assert list_leads(key) == [
        ("1a", "furry", 2, ()),
        ("1b", "six-legged", 3, ()),
        ("2a", "antlered", None, ("elk",)),
        ("2b", "not so", None, ("cat", "dog")),
        ("3a", "winged, striped", None, ("bee",)),
        ("3b", "not so", None, ("ant",)),
    ]
    assert [couplet.back for couplet in key.couplets] == [(), ("1a",), ("1b",)]
    assert key.plates == {"ant": 1, "bee": 2, "cat": 3, "dog": 4, "elk": 5}
    assert key.title == "Key to the 5 kinds of Animals"
    assert "A key of characters." in key.statement
    assert "It leads to 3 of 5 kinds alone; 58 of 100 specimens" in key.statement
    assert "97 to an end that names it" in key.statement


def test_kinds_that_are_not_told_apart_have_their_evidence(animals):
    key = print_key(animals)
    assert [each.kinds for each in key.together] == [("cat", "dog")]
    assert "“striped” differs most, 60% and 30%" in key.together[0].evidence
    # Each kind has 4 specimens; ant and bee are parted by a couplet.
    assert [(each.kinds, each.evidence) for each in key.confused] == [
        (("ant", "bee"), "3 of 8 held-out pictures are taken for the other; couplet 3 parts them"),
        (("cat", "dog"), "3 of 8 held-out pictures are taken for the other"),
    ]
    animals.about["confusions"] = None
    assert print_key(animals).confused == ()


def test_a_specimen_that_shows_what_a_kind_shows_is_led_to_it(animals):
    """Who reads the printed words, and nothing else, comes where the key would lead."""
    key, grown = print_key(animals), animals.dichotomy
    for k, kind in enumerate(KINDS):
        shows = SHARES[k] > 0.5
        shown = {text for text, is_shown in zip(TEXTS, shows, strict=True) if is_shown}
        number = 1
        while number is not None:
            first, second = key.couplets[number - 1].leads
            words = first.words.split(", ")
            opposite = [] if second.words == "not so" else second.words.split(", ")
            votes = [word in shown for word in words] + [word not in shown for word in opposite]
            tie = 2 * sum(votes) == len(votes)
            lead = first if 2 * sum(votes) > len(votes) or (tie and votes[0]) else second
            number = lead.to
        assert kind in lead.end
        assert lead.end == tuple(KINDS[j] for j in follow_key(grown.steps, shows))


def test_the_key_that_names_more_kinds_is_printed(make_stand_in):
    places = [(KINDS[i % 5], ("animal",), (300, 200), f"{i}.jpg") for i in range(20)]
    guide = make_stand_in(places, has_graph=True)
    guide.couplet_words = {1: CoupletWords(SideWords((Word("winged", 0.9, 0.1),), ("dog",)))}
    alone = print_key(guide)
    guide.dichotomy = grow()
    key = print_key(guide)
    assert key == alone
    assert "The key that the machine asks." in key.statement
    assert guide.verdict in key.statement
    assert "(1 of 10)" in key.statement
    first, second = key.couplets[0].leads
    assert (first.words, second.words) == ("winged; also dog", "not so")
    assert first.shown == ()
    other = key.couplets[1].leads
    assert all(lead.words == "" for lead in other)
    assert [each.kind for each in other[0].shown]
    # Couplet 5 is reached by two leads.
    assert max(len(couplet.back) for couplet in key.couplets) == 2
    certain = np.where(np.arange(5)[:, None] == np.arange(5), 0.98, 0.02)
    guide.dichotomy = grow(certain)
    assert "A key of characters." in print_key(guide).statement


def test_a_long_key_is_cut_and_says_so(make_stand_in):
    places = [(f"kind {k:02d}", (), (30, 20), f"{k}.jpg") for k in range(30)]
    guide = make_stand_in(places, has_graph=True)
    key = print_key(guide)
    assert len(key.couplets) == MOST_COUPLETS
    assert key.n_left_out == len(guide.couplets) - MOST_COUPLETS
    lines = key_lines(key, guide.shown_name)
    assert any(f"The other {key.n_left_out} couplets" in line for line in lines)


def test_the_text_is_set_with_dots(animals):
    lines = key_lines(print_key(animals), animals.shown_name)
    assert max(map(len, lines)) <= WIDTH
    assert lines[0] == "Key to the 5 kinds of Animals"
    assert f"1a       Furry {'.' * 61} 2" in lines
    assert f"3a (1b)  Winged, striped {'.' * 40} bee, plate 2" in lines
    assert f"2b       Not so {'.' * 33} cat, plate 3 or dog, plate 4" in lines
    assert "- ant and bee: 3 of 8 held-out pictures are taken for the other; couplet 3" in lines


def test_long_words_and_names_are_wrapped(animals):
    name = "a kind whose name is so long that " * 4
    key = print_key(animals)
    lines = key_lines(key, lambda kind: name + kind)
    assert max(map(len, lines)) <= WIDTH
    said = " ".join(" ".join(lines).split())
    assert "bee, plate 2" in said
    assert isinstance(key, PrintedKey)


def test_the_page_has_every_lead_and_plate(animals):
    renderer = Renderer(animals, live=False)
    html = renderer.page("printed-key.html")
    read(html)
    text = " ".join(re.sub("<[^>]*>", " ", html).split())
    for mark, words, to, end in list_leads(print_key(animals)):
        assert mark in text
        assert words in text.lower()
        assert to is None or f'<a href="#couplet-{to}">{to}</a>' in html
        for kind in end:
            assert f'<a href="{renderer.book.kind(kind)}">{kind}</a>, ' in html
    assert "3a ( 1b )" in text
    assert html.count('class="plate-name"') == 5
    assert "<script" not in html
    assert 'href="printed-key.html"' in renderer.page("kinds.html")
    assert "plate 3" in renderer.page(renderer.book.kind("cat"))


def test_a_guide_without_a_key_to_print_has_no_page(animals, plain_guide, keyed_guide):
    assert "printed-key.html" in list(Renderer(keyed_guide, live=False).addresses())
    animals.dichotomy = None
    renderer = Renderer(animals, live=False)
    assert "printed-key.html" not in list(renderer.addresses())
    assert "printed-key.html" not in renderer.page("kinds.html")
    assert print_key(plain_guide) is None


def test_hostile_names_are_printed_as_text(hostile_guide):
    html = Renderer(hostile_guide, live=False).page("printed-key.html")
    read(html)
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html


@NEEDS_MARKS
def test_the_command_writes_text_or_a_page_that_stands_alone(guide, keyed_guide, tmp_path):
    text, page = tmp_path / "key.txt", tmp_path / "key.html"
    for out in (text, page, page):  # its own files are replaced
        told = call("key", guide.folder, "--print", out)
        assert told.exit_code == 0, told.output
        assert told.stdout == f"The key is in {out}\n"
    assert text.read_text() == "\n".join([*key_lines(print_key(guide), guide.shown_name), ""])
    html = page.read_text()
    read(html)
    assert 'href="kind' not in html
    sources = re.findall(r'<img src="([^"]{0,30})', html)
    assert len(sources) >= len(guide.kinds)
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    assert ".lead-line" in html[: html.index("</style>")]
    check_refusal(["key", str(guide.folder), "--print", str(tmp_path / "key.pdf")], "neither in")
    pictured = tmp_path / "pictured.html"
    assert call("key", keyed_guide.folder, "--print", pictured).exit_code == 0
    assert pictured.read_text().count('class="lead-pictures"') == 2 * len(keyed_guide.couplets)


def test_a_guide_of_one_kind_says_why_there_is_none(blobs, build_once, tmp_path):
    from fieldguide.collection import Collection

    images = [image for image, kind in zip(*blobs, strict=True) if kind == "disc"]
    collection = Collection.from_arrays(images, ["disc"] * len(images), name="discs")
    guide = build_once("discs", collection, tree="agglomerative", features="deep", n_jobs=1)
    check_refusal(["key", str(guide.folder), "--print", str(tmp_path / "a.txt")], "fewer than two")


@NEEDS_MARKS
def test_the_key_of_a_real_guide_leads_specimens_to_their_kinds(guide):
    grown = guide.dichotomy
    assert grown.walked.n == guide.n_specimens
    assert grown.walked.n_alone >= 0.95 * grown.walked.n
    assert len(print_key(guide).couplets) == len(grown.steps)
    assert {end for c in print_key(guide).couplets for lead in c.leads for end in lead.end} == {
        kind.name for kind in guide.kinds
    }

"""Two kinds side by side on pages: of look-alikes, of any two on the server, alone in a file."""

import re
from itertools import pairwise
from urllib.parse import unquote

import numpy as np
import pytest
from tests.site.fixtures import HOSTILE
from tests.site.test_render import read

from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.guide.compare import Comparison, Move, Pair, compare_guides
from fieldguide.site import Renderer
from fieldguide.site.addresses import AddressBook
from fieldguide.site.comparison import compare_kinds_on_page, compare_on_page
from fieldguide.site.pairs import NO_BORDER, pair_lines
from fieldguide.site.phrases import word_confusion


@pytest.fixture(scope="module")
def birds(make_stand_in):
    """A guide of three kinds whose names people write otherwise."""
    names = ("017.Cardinal", "018.Grey_Catbird", "019.Wren")
    places = [(names[i % 3], ("bird",), (300, 200), f"{i}.jpg") for i in range(60)]
    return make_stand_in(places)


def test_each_pair_of_look_alikes_has_one_address(hostile_guide):
    book = AddressBook(hostile_guide)
    alike = {
        frozenset((kind.name, other))
        for kind in hostile_guide.kinds
        for other, _ in kind.look_alikes
    }
    assert {frozenset(pair) for pair in book.pairs} == alike
    assert len(book.pairs) == len(alike)
    addresses = [book.pair(*pair) for pair in book.pairs]
    assert len({address.casefold() for address in addresses}) == len(addresses)
    for k, (kind, other) in enumerate(book.pairs):
        assert book.pair(other, kind) == addresses[k]
        assert book.find(addresses[k]).key == k
        assert addresses[k] in list(book)


def test_names_that_join_to_the_same_have_addresses_of_their_own(make_stand_in):
    names = ("a", "b--c", "a--b", "c", "A--B")
    guide = make_stand_in([(name, (), (30, 20), f"{name}.jpg") for name in names])
    book = AddressBook(guide)
    addresses = [address.casefold() for address in book if address.startswith("pair/")]
    assert len(addresses) == len(set(addresses)) == len(book.pairs) == 10


def test_a_pair_that_is_not_alike_has_no_address(make_stand_in):
    guide = make_stand_in([(f"kind {k}", (), (30, 20), f"{k}.jpg") for k in range(8)])
    book = AddressBook(guide)
    with pytest.raises(KeyError):
        book.pair("kind 6", "kind 7")


@pytest.mark.parametrize("name", ["plain_guide", "bare_guide", "empty_guide"])
def test_fewer_than_two_kinds_have_nothing_to_compare(request, name):
    renderer = Renderer(request.getfixturevalue(name), live=True)
    assert not any("compare" in address or "pair/" in address for address in renderer.addresses())
    with pytest.raises(KeyError):
        renderer.page("compare.html")
    with pytest.raises(KeyError):
        renderer.compare("a", "b")


def test_the_page_of_a_pair_shows_both_and_what_is_between(birds):
    renderer = Renderer(birds, live=False)
    kind, other = "018.Grey_Catbird", "019.Wren"
    html = renderer.page(renderer.book.pair(other, kind))
    page, text = read(html), re.sub(r"\s+", " ", re.sub("<[^>]*>", "", html))
    pair = birds.compare(kind, other)
    assert "Grey Catbird or Wren?" in text
    assert word_confusion(pair, birds.shown_name) in text
    links = [unquote(link) for _, link in page.links]
    assert links.count(f"../{renderer.book.kind(kind)}") == 2
    for side in (kind, other):
        for i in birds.kind(side).exemplars[:4]:
            assert f"../specimen/{i}.html" in links
    assert pair.border
    for i in pair.border:
        assert f"../specimen/{i}.html" in links
    assert "the key says Wren, 48% sure" in text
    assert "<select" not in html


def test_look_alikes_lead_to_their_pair(birds):
    for live in (True, False):
        renderer = Renderer(birds, live=live)
        links = [
            unquote(link) for _, link in read(renderer.page(renderer.book.kind("019.Wren"))).links
        ]
        for other in ("017.Cardinal", "018.Grey_Catbird"):
            assert f"../{renderer.book.pair('019.Wren', other)}" in links
        assert ("../compare.html?a=019.Wren" in links) == live
        assert ("../compare.html" in links) != live
        assert 'href="compare.html"' in renderer.page("kinds.html")


def test_an_export_lists_pairs_in_place_of_the_form(birds):
    html = Renderer(birds, live=False).page("compare.html")
    assert '<form class="chooser"' not in html
    assert html.count("<dt>") == 3
    assert html.count("<dd>") == 6
    live = Renderer(birds, live=True).page("compare.html")
    assert "<dd>" not in live
    assert live.count("<option") == 6
    assert live.count(" selected>") == 2


def test_any_two_kinds_are_compared_on_the_server(make_stand_in):
    guide = make_stand_in([(f"kind {k % 8}", (), (30, 20), f"{k}.jpg") for k in range(16)])
    html = Renderer(guide, live=True).compare("kind 7", "kind 6")
    assert re.search(r"<h1>.*kind 7.* or .*kind 6.*\?</h1>", html)
    assert re.findall(r'value="([^"]*)" selected', html) == ["kind 7", "kind 6"]


@pytest.mark.parametrize(
    ("kind", "other", "sentence"),
    [
        ("robin", "robin", "is one kind; give two to compare."),
        ("robin", "dodo", "No kind of this guide is called &#39;dodo&#39;."),
        ("<script>alert(2)</script>", "robin", "No kind of this guide is called"),
        ("robin", "", ""),
        ("", "robin", ""),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(hostile_guide, kind, other, sentence):
    html = Renderer(hostile_guide, live=True).compare(kind, other)
    read(html)
    assert "<script>" not in html
    assert sentence in html
    assert ('role="status">' in html) == bool(sentence)
    first, second = re.findall(r'value="([^"]*)" selected', html)
    assert first != second
    if kind == "robin":
        assert first == "robin"


def test_hostile_names_are_text_in_every_comparison(hostile_guide):
    renderer = Renderer(hostile_guide, live=True)
    for kind, other in pairwise(HOSTILE):
        alone = compare_kinds_on_page(hostile_guide, hostile_guide.compare(kind, other))
        is_named = any("{{ 7 * 7 }}" in name for name in (kind, other))
        # The page of a server lists all kinds.
        for html, expected in ((renderer.compare(kind, other), True), (alone, is_named)):
            assert "<script>alert" not in html
            assert "<i>Hostile" not in html
            found = set(re.findall(r"émoji 🦜 &amp; (\S+)", html))
            assert found == ({"{{"} if expected else set())


def test_a_page_of_one_file_stands_alone(birds):
    pair = birds.compare("018.Grey_Catbird", "019.Wren")
    html = compare_kinds_on_page(birds, pair)
    page = read(html.replace("<style>", "<style >"))
    assert html.startswith("<!doctype html>")
    assert page.headings == ["main", "h1"]
    assert len(page.ids) == len(set(page.ids))
    assert {link[:23] for _, link in page.links} == {"data:image/jpeg;base64,"}
    assert len(page.images) == 8 + len(pair.border)
    assert str(birds.folder) not in html
    assert re.search("<title>Two kinds of A stand-in guide: Grey Catbird or Wren</title>", html)


def test_lines_of_text_say_what_the_page_says(birds):
    pair = birds.compare("018.Grey_Catbird", "019.Wren")
    lines = pair_lines(birds, pair)
    assert word_confusion(pair, birds.shown_name) in lines
    border = lines[lines.index("On the border") + 1 :]
    assert [line.split(":")[0].strip() for line in border] == [
        birds.specimen(i).path for i in pair.border
    ]
    assert border[0].endswith(": Grey Catbird, the key says Wren, 48% sure")


def test_a_border_without_specimens_is_said(make_stand_in):
    guide = make_stand_in([("ab"[i % 2], (), (30, 20), f"{i}.jpg") for i in range(4)])
    pair = guide.compare("a", "b")
    assert pair_lines(guide, pair)[-1] == NO_BORDER
    assert NO_BORDER in Renderer(guide, live=False).page(AddressBook(guide).pair("a", "b"))


@pytest.fixture(scope="module")
def other(guide, specimens, tmp_path_factory):
    """The guide of the fixture ``guide``, with another tree: nobody has noted what they show."""
    images = [np.asarray(specimens.picture(i)[0].image) for i in range(guide.n_specimens)]
    kinds = [specimen.kind for specimen in guide.specimens(range(guide.n_specimens))]
    out = tmp_path_factory.mktemp("guides") / "other"
    settings = {"tree": "agglomerative", "features": "color", "marks": False, "places": False}
    return Guide.build(Collection.from_arrays(images, kinds, name="drawn"), out, **settings)


def test_the_page_stands_alone(guide, other):
    comparison = compare_guides(guide, other)
    html = compare_on_page(guide, other, comparison)
    page = read(html.replace("<style>", "<style >"))
    assert page.headings == ["main", "h1"]
    text = " ".join(page.text)
    assert f"{guide.n_specimens} specimens in common" in text
    assert "Ward clustering" in text
    assert "Attribute Tree Process" in text
    assert {source[:23] for _, source in page.links} == {"data:image/jpeg;base64,"}
    assert str(guide.folder) not in html
    assert f"{comparison.n_moved:,} specimens" in text
    assert text.count("→") == min(len(comparison.moves), 60) > 0
    for image in page.images:
        assert image["alt"]


def test_equal_trees_say_so(guide):
    html = compare_on_page(guide, guide, compare_guides(guide, guide))
    assert "both trees hold every specimen in the same branches" in html
    assert "no counterpart" not in html


def test_names_are_escaped_and_long_lists_are_cut(hostile_guide):
    n_nodes = len(hostile_guide.branches)
    pairs = tuple(Pair(b, b if b % 2 == 0 else None, 9, 9, 4) for b in range(n_nodes))
    pairs += tuple(Pair(None, b, 0, 9, 0) for b in range(1, n_nodes, 2))
    moves = tuple(Move(b % n_nodes, (b + 1) % n_nodes, (b % 80,)) for b in range(70))
    shared = tuple((i, i) for i in range(hostile_guide.n_specimens))
    made_up = Comparison(shared, pairs, moves)
    html = compare_on_page(hostile_guide, hostile_guide, made_up)
    page = read(html)
    assert "<script>" not in html
    assert "<i>Hostile</i>" not in html
    text = " ".join(page.text)
    assert "62 more ways" in text
    assert "10 ways of fewer specimens are not shown" in text
    assert "Only in the second tree" in text
    assert text.count("no counterpart") == n_nodes // 2


def test_a_missing_picture_is_one_clear_error(make_stand_in):
    broken = make_stand_in([("a", ("x",), (300, 200), "a.jpg"), ("b", ("y",), (300, 200), "b.jpg")])
    (broken.folder / broken.specimen(0).thumbnail).unlink()
    made_up = Comparison(((0, 0), (1, 1)), (Pair(0, 0, 2, 2, 2),), (Move(0, 0, (0,)),))
    with pytest.raises(GuideError, match="cannot be used"):
        compare_on_page(broken, broken, made_up)

"""The picture of a key: its places, its exemplars, the file and the page."""

import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.identify.graphs import draw_graph, make_dagsvm

from fieldguide.errors import GuideError, InvalidArgument
from fieldguide.guide.couplets import compare_keys, find_way, make_couplets
from fieldguide.guide.views import (
    CoupletWords,
    Exemplar,
    KeyPath,
    PathStep,
    SideWords,
    Word,
)
from fieldguide.identify.graph import make_graph
from fieldguide.site import couplets as page_couplets
from fieldguide.site.key_drawing import NAME_PX, fit, name_kinds, shorten, text_width
from fieldguide.site.key_layout import (
    CARD_PX,
    choose_spanning,
    follows,
    lay_out,
)
from fieldguide.site.phrases import is_close_call, word_path
from fieldguide.site.plots import plot_key, word_agreement
from fieldguide.site.render import Renderer
from fieldguide.svm import LinearFunctions

SVG = "{http://www.w3.org/2000/svg}"


def name_all(n):
    return [f"kind {k:03d}" for k in range(n)]


def balanced(n):
    """Couplets that halve n kinds until one is left."""
    left, right, leaves, sets = [], [], [], [range(n)]
    number = {range(n): 0}
    for kinds in sets:
        middle = kinds.start + len(kinds) // 2
        for half, side in ((range(kinds.start, middle), left), (range(middle, kinds.stop), right)):
            if len(half) == 1:
                leaves.append(half.start)
                side.append(-len(leaves))
            else:
                number[half] = len(sets)
                side.append(len(sets))
                sets.append(half)
    functions = LinearFunctions(np.ones((len(sets), 2), np.float32), np.zeros(len(sets)))
    return make_couplets(make_graph(functions, left, right, leaves, n), name_all(n))


@given(st.integers(0, 10_000), st.integers(1, 7))
def test_every_couplet_has_a_place_of_its_own(seed, levels):
    graph = draw_graph(seed)
    couplets = make_couplets(graph, name_all(graph.n_classes))
    if not couplets:
        return
    layout = lay_out(couplets, levels)
    assert list(layout.cards) == [c.number for c in couplets if c.depth < levels]
    placed = {}
    for card in layout.cards.values():
        assert card.y >= 0
        assert card.y + card.height <= layout.height + 1e-9
        assert card.x + CARD_PX <= layout.width
        placed.setdefault(card.x, []).append((card.y, card.y + card.height))
    for column in placed.values():
        column.sort()
        assert all(above[1] < below[0] for above, below in itertools.pairwise(column))
    # Each card but the first hangs from exactly one line; other ways to it are told.
    ends = [child for _, child in layout.links]
    assert sorted(ends) == [number for number in layout.cards if number != 1]
    for card in layout.cards.values():
        number = card.couplet.number
        others = {a for a in layout.cards if number in follows(layout.cards[a].couplet)}
        linked = {a for a, child in layout.links if child == number}
        assert set(card.also_from) - linked == others - linked


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12])
def test_exemplars_span_the_kinds(n):
    couplets = balanced(64)
    kinds = name_all(64)
    chosen = choose_spanning(kinds, 1, couplets, n)
    assert len(chosen) == len(set(chosen)) == n
    places = sorted(kinds.index(kind) for kind in chosen)
    gaps = np.diff([*places, 64])
    # No half of the key is left without its share.
    assert max(gaps) <= 64 / 2 ** int(np.log2(n))


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_exemplars_are_of_the_kinds(seed, n):
    graph = draw_graph(seed)
    kinds = name_all(graph.n_classes)
    couplets = make_couplets(graph, kinds)
    chosen = choose_spanning(kinds, 1 if couplets else None, couplets, n)
    assert len(set(chosen)) == len(chosen) == min(n, len(kinds))
    assert set(chosen) <= set(kinds)


def test_exemplars_of_a_very_deep_key_are_found():
    couplets = make_couplets(make_dagsvm(np.ones((4950, 2), np.float32), 100), name_all(100))
    assert len(choose_spanning(couplets[0].both, couplets[0].to_minus, couplets, 12)) == 12


@given(
    st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=30, unique=True),
    st.integers(1, 3),
)
def test_names_fit_into_their_lines_and_count_everyone(kinds, n_lines):
    lines = name_kinds(kinds, kinds[:2], 160, n_lines)
    assert 1 <= len(lines) <= n_lines
    assert all(text_width(line, NAME_PX) <= 161 for line in lines)
    more = re.search(r"\+ (\d+) more$", lines[-1])
    assert more is None or 0 < int(more[1]) < len(kinds)


def test_long_names_are_cut_and_strange_characters_replaced():
    assert shorten("short", 100, 10) == "short"
    cut = shorten("a very long name of a kind", 50, 10)
    assert cut.endswith("…")
    assert text_width(cut, 10) <= 50
    assert fit("a\x00b\x1b_c\ud800") == "a\ufffdb\ufffd_c\ufffd"
    assert text_width("日本", 10) == 20


def parse(text):
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    return root


def texts(root):
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


def check_is_self_contained(root):
    ids = {node.get("id") for node in root.iter() if node.get("id")}
    assert len(ids) == sum(1 for node in root.iter() if node.get("id"))
    for node in root.iter():
        for name, value in node.attrib.items():
            if name.endswith("href"):
                assert value.startswith("data:image/jpeg;base64,") or value[1:] in ids
                assert value.startswith(("data:", "#"))
        assert node.tag != f"{SVG}script"
    style = root.find(f"{SVG}style").text
    assert "url(" not in style
    assert "var(" not in style


@pytest.fixture(scope="module")
def two_hundred(make_stand_in):
    places = [(name, ("word",), (32, 24), f"{name}.jpg") for name in name_all(200)]
    guide = make_stand_in(places, draw=None)
    guide.couplets = balanced(200)
    guide.about["settings"]["key"] = "RelaxedHierarchyClassifier"
    return guide


def test_a_drawing_of_200_kinds_stays_small(two_hundred):
    drawn = plot_key(two_hundred)
    root = parse(drawn.text)
    check_is_self_contained(root)
    width, height = float(root.get("width")), float(root.get("height"))
    assert width < 1300
    assert height < 4000
    assert len(drawn.text) < 2_000_000
    assert len(list(root.iter(f"{SVG}use"))) < 500
    minus = root.find(f"{SVG}desc").text.split("minus: ")[1].split(";")[0]
    assert minus.startswith("100 kinds, such as kind 000")
    assert minus.count("kind 0") == 4
    assert "200 kinds, relaxed hierarchy, the first 31 of 199 couplets." in texts(root)
    assert any("+ 9" in text and "more" in text for text in texts(root))
    signs = [node.text for node in root.iter(f"{SVG}text") if node.get("class") == "key-sign"]
    words = [node.text for node in root.iter(f"{SVG}text") if node.get("class") == "key-word"]
    assert signs.count("−") == signs.count("+") == words.count("minus") == words.count("plus") == 31


def test_levels_say_how_much_is_drawn(two_hundred):
    def n_cards(levels):
        root = parse(plot_key(two_hundred, levels).text)
        return sum(node.get("class") == "key-number" for node in root.iter(f"{SVG}text"))

    assert [n_cards(levels) for levels in (1, 2, 3)] == [1, 3, 7]
    for levels in (0, 101, 2.5, True):
        with pytest.raises(InvalidArgument, match="levels"):
            plot_key(two_hundred, levels)


def test_a_drawing_of_a_real_guide_is_whole(keyed_guide):
    root = parse(plot_key(keyed_guide, 100).text)
    check_is_self_contained(root)
    said = " ".join(texts(root))
    for kind in keyed_guide.kinds:
        assert kind.name in said
    assert f"all {len(keyed_guide.couplets)} couplets" in said
    n_ends = sum(len(c.minus_end) + len(c.plus_end) for c in keyed_guide.couplets)
    assert len(list(root.iter(f"{SVG}circle"))) == n_ends
    assert root.find(f"{SVG}title").text
    assert "Couplet 1, minus" in root.find(f"{SVG}desc").text


def test_hostile_names_are_drawn_as_text(hostile_guide):
    text = plot_key(hostile_guide, 4, beside=hostile_guide).text
    check_is_self_contained(parse(text))
    assert "<script" not in text
    assert "&lt;script&gt;alert" in text


def test_names_that_xml_cannot_hold_are_drawn_all_the_same(make_stand_in):
    kinds = ("bell\x07", "null\x00byte", "half\ud83d", "\x1b[31mred")
    places = [(kind, (), (32, 24), f"{k}.jpg") for k, kind in enumerate(kinds)]
    guide = make_stand_in(places, has_graph=True, title="odd\x02title")
    text = plot_key(guide).text
    check_is_self_contained(parse(text.encode("utf-8")))
    assert "\ufffd[31mred" in text


def test_a_couplet_on_two_ways_is_drawn_once(hostile_guide):
    root = parse(plot_key(hostile_guide, 3).text)
    numbers = [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "key-number"]
    assert numbers == ["1", "2", "3", "4", "5", "6"]
    refers = [t.text for t in root.iter(f"{SVG}text") if t.get("class") == "key-refer"]
    assert "→ 5" in refers  # from couplet 3, whose minus side meets the plus side of couplet 2
    assert any("also from 3" in text for text in texts(root))


def test_two_keys_are_drawn_beside_each_other(hostile_guide, keyed_guide, two_hundred):
    alone, both = plot_key(keyed_guide), plot_key(keyed_guide, beside=keyed_guide)
    check_is_self_contained(parse(both.text))
    assert alone.statement == ""
    assert "treat 100% alike" in both.statement
    assert both.statement.count(". ") == 0
    width = float(parse(alone.text).get("width"))
    assert float(parse(both.text).get("width")) > 1.5 * width
    agreement = compare_keys(keyed_guide.couplets, keyed_guide.couplets)
    assert word_agreement(agreement) == both.statement
    with pytest.raises(GuideError, match="share fewer than two kinds"):
        plot_key(hostile_guide, beside=two_hundred)


def test_guides_without_a_graph_say_what_to_do(guide, plain_guide, keyed_guide):
    with pytest.raises(GuideError, match=r"is flat.*--key relaxed"):
        plot_key(guide)
    with pytest.raises(GuideError, match="has no kinds"):
        plot_key(plain_guide)
    with pytest.raises(GuideError, match="is flat"):
        plot_key(keyed_guide, beside=guide)


def test_a_missing_picture_is_one_sentence(make_stand_in):
    places = [(kind, (), (32, 24), f"{kind}.jpg") for kind in "abc"]
    guide = make_stand_in(places, has_graph=True)
    (guide.folder / guide.specimen(1).thumbnail).unlink()
    with pytest.raises(GuideError, match="cannot be used"):
        plot_key(guide)
    guide._specimens[1] = replace(guide.specimen(1), thumbnail="../outside.jpg")
    with pytest.raises(GuideError, match="no plain file of the guide"):
        plot_key(guide)


# -- the page -----------------------------------------------------------------------------


def test_only_a_key_with_a_graph_has_a_page(guide, keyed_guide):
    assert "key.html" not in list(Renderer(guide, live=False).addresses())
    assert "key.html" not in Renderer(guide, live=False).page("index.html")
    assert 'href="key.html"' in Renderer(keyed_guide, live=False).page("index.html")
    with pytest.raises(KeyError):
        Renderer(guide, live=True).page("key.html")


def test_the_page_lists_every_couplet(keyed_guide):
    html = Renderer(keyed_guide, live=False).page("key.html")
    listed = html[html.index('class="couplets"') :]
    for couplet in keyed_guide.couplets:
        start = listed.index(f'id="couplet-{couplet.number}"')
        entry = listed[start : listed.index("</li>", start)]
        for kind in (*couplet.minus, *couplet.both, *couplet.plus):
            assert kind in entry
        for to in follows(couplet):
            assert f'href="#couplet-{to}">→ {to}</a>' in entry
        assert ("both ways" in entry) == bool(couplet.both)
    assert "style=" not in html
    assert 'role="group" aria-label="The key as a tree of pictures' in html


def test_couplets_are_told_apart_in_words_where_words_do(make_stand_in):
    places = [(kind, (), (32, 24), f"{kind}.jpg") for kind in "abcd"]
    guide = make_stand_in(places, has_graph=True)
    renderer = Renderer(guide, live=False)
    bare = renderer.page("key.html")
    assert "ask which side the specimen is more like" in bare
    assert "side-words" not in bare
    assert "No words tell" not in bare
    winged = SideWords((Word("winged", 0.9, 0.1), Word("<i>open</i>", 0.8, 0.0)), ("b", "c"))
    guide.couplet_words = {1: CoupletWords(winged, SideWords())}
    html = renderer.page("key.html")
    entries = html[html.index('class="couplets"') :].split('<li class="couplet"')[1:]
    assert len(entries) == len(guide.couplets) > 1
    assert "Winged, &lt;i&gt;open&lt;/i&gt;; also b and c:</span>" in entries[0]
    assert "Not so:</span>" in entries[0]
    assert "compare the pictures" not in entries[0]
    assert all("No words tell the two sides apart: compare the pictures." in e for e in entries[1:])
    way = renderer.page(renderer.book.kind("a"))
    assert "Winged, &lt;i&gt;open" in way[way.index("way-title") :]


def test_the_page_of_a_kind_tells_the_way_to_it(keyed_guide, guide):
    renderer = Renderer(keyed_guide, live=False)
    for kind in keyed_guide.kinds:
        html = renderer.page(renderer.book.kind(kind.name))
        way = [couplet.number for couplet, _ in find_way(keyed_guide.couplets, kind.name)]
        told = re.findall(r'href="\.\./key\.html#couplet-(\d+)">', html)
        assert [int(number) for number in told] == way
    flat = Renderer(guide, live=False)
    assert "through the key" not in flat.page(flat.book.kind(guide.kinds[0].name))


def test_pictures_of_specimens_are_told_to_be_such(keyed_guide, monkeypatch):
    first = keyed_guide.couplets[0]
    kind = first.minus[0]
    specimen = int(keyed_guide.members(kind=kind)[-1])
    shown = replace(first, examples=((Exemplar(kind, specimen),), (), ()))
    monkeypatch.setitem(vars(keyed_guide), "couplets", (shown, *keyed_guide.couplets[1:]))
    html = Renderer(keyed_guide, live=False).page("key.html")
    assert "The pictures are specimens" in html
    drawn = html[html.index('id="key-1"') : html.index('id="key-2"')]
    assert re.findall(r'href="([^"#]+\.jpg)"', drawn) == [keyed_guide.specimen(specimen).thumbnail]
    assert "The pictures are specimens" in plot_key(keyed_guide).text.replace("\n", " ")


def test_a_page_of_many_couplets_stops_and_says_so(two_hundred, monkeypatch):
    monkeypatch.setattr(page_couplets, "MOST_COUPLETS", 20)
    monkeypatch.setattr("fieldguide.site.render.MOST_COUPLETS", 20)
    html = Renderer(two_hundred, live=False).page("key.html")
    assert html.count('class="couplet"') == 20
    assert "The other 179 couplets lie further on" in html
    assert "#couplet-21" not in html
    assert "→ 21" in html
    assert "and 88 more" in html


def test_the_way_is_told_in_words():
    path = KeyPath((PathStep(1, "plus", 0.4, 0.7, (), (), ()),), ("crab_spider",), 5, 34)
    assert word_path(path, "crab_spider") == (
        "The likelier sides lead to crab spider. The answer took 5 evaluations; one-vs-all would "
        "take 34."
    )
    assert "decide for ant" in word_path(path, "ant")
    assert "other side of close calls" in word_path(path, "ant")
    several = replace(path, end=("ant", "bee"))
    assert "lead to ant or bee, and the functions of these kinds decide for bee" in word_path(
        several, "bee"
    )
    assert is_close_call(0.74)
    assert not is_close_call(0.75)

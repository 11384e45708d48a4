"""Every page of every shape of guide: whole, linked, escaped."""

import re
from dataclasses import is_dataclass
from html.parser import HTMLParser
from typing import get_type_hints
from urllib.parse import unquote, urljoin, urlsplit

import numpy as np
import pytest
from PIL import Image

from fieldguide.guide.views import Unreadable
from fieldguide.site import Renderer
from fieldguide.site.addresses import PAGE_SIZE, AddressBook, n_pages
from fieldguide.site.chapter_pages import list_assets
from fieldguide.site.index import sections
from fieldguide.site.plots import plot_key

SHAPES = ("guide", "hostile_guide", "plain_guide", "bare_guide", "empty_guide", "worded_guide",
          "keyed_guide")  # fmt: skip
VOID = {"meta", "link", "img", "input", "circle", "rect", "br"}
ADDRESSES = {"href", "src", "action"}


class Reader(HTMLParser):
    """Collects what a page refers to, and checks that its tags close in order."""

    def __init__(self):
        super().__init__()
        self.links, self.ids, self.images, self.open, self.text = [], [], [], [], []
        self.headings, self.inline = [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.links += [(tag, values[name]) for name in ADDRESSES & values.keys()]
        self.inline += [name for name in values if name.startswith("on") or name == "style"]
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "img":
            self.images.append(values)
        if tag == "script" and values.get("type") != "application/json":  # data is not run
            assert "src" in values
            assert "defer" in values
        if tag in ("h1", "main"):
            self.headings.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module", params=SHAPES)
def any_guide(request):
    if request.param == "worded_guide" and request.config.getoption("--few"):
        pytest.skip("keyed_guide has couplets too, and is built in half the time")
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module", params=[True, False], ids=["live", "static"])
def renderer(any_guide, request):
    return Renderer(any_guide, live=request.param)


@pytest.fixture(scope="module")
def pages(renderer):
    return {address: (html, read(html)) for address, html in renderer.pages()}


def test_every_link_and_picture_leads_somewhere(renderer, pages):
    addresses = set(renderer.addresses())
    assert set(pages) == addresses
    for address, (_, page) in pages.items():
        for tag, link in page.links:
            parts = urlsplit(link)
            assert not parts.scheme, (address, link)
            assert not parts.netloc, (address, link)
            assert not link.startswith("/"), (address, link)
            target = unquote(urlsplit(urljoin(f"http://x/{address}", link)).path.lstrip("/"))
            if target.startswith("pictures/"):
                assert (renderer.guide.folder / target).is_file(), (address, link)
            elif target.startswith("assets/"):
                assert target.removeprefix("assets/") in list_assets(), (address, link)
            else:
                assert target in addresses, (address, tag, link)
                if parts.fragment:
                    assert parts.fragment in pages[target][1].ids, (address, link)


def test_every_page_is_whole(renderer, pages):
    for address, (html, page) in pages.items():
        assert html.startswith("<!doctype html>"), address
        assert page.headings.count("h1") == 1, address
        assert page.headings.count("main") == 1, address
        assert len(page.ids) == len(set(page.ids)), address
        assert page.inline == [], address
        assert "None" not in page.text, address
        assert str(renderer.guide.folder) not in html, address
        for image in page.images:
            assert image["alt"], address
            assert int(image["width"]) > 0, address
            assert int(image["height"]) > 0, address


def test_every_page_is_reached_from_home(renderer, pages):
    reached, front = {"index.html"}, ["index.html"]
    while front:
        address = front.pop()
        for tag, link in pages[address][1].links:
            target = unquote(urlsplit(urljoin(f"http://x/{address}", link)).path.lstrip("/"))
            if tag == "a" and target.endswith(".html") and target not in reached:
                reached.add(target)
                front.append(target)
    left_out = set(renderer.addresses()) - reached - {"404.html"}
    if not renderer.guide.kinds:
        left_out -= {"kinds.html"}
    if not renderer.guide.n_specimens:
        left_out -= {"branch/0.html"}
    assert left_out == set()


def test_hostile_names_are_text(hostile_guide):
    found = set()
    for address, html in Renderer(hostile_guide, live=True).pages():
        assert "<script>alert" not in html, address
        assert "<i>Hostile" not in html, address
        assert "<img src=x" not in html, address
        found.update(re.findall(r"émoji 🦜 &amp; (\S+)", html))
        assert re.fullmatch(
            r"[\w.\-]+\.html|(branch|kind|word|pair|specimen)/\w[\w.\-]*\.html", address
        )
    assert found == {"{{"}
    about = Renderer(hostile_guide, live=True).page("about.html")
    assert "&lt;img src=x onerror=alert(1)&gt;.jpg" in about


def test_kinds_are_shown_as_people_write_them(make_stand_in):
    names = ("017.Cardinal", "018.Grey_Catbird", "019.Cape_May_Warbler")
    places = [(names[i % 3], ("bird",), (40, 30), f"{i}.jpg") for i in range(9)]
    guide = make_stand_in(places, has_graph=True)
    renderer = Renderer(guide, live=True)
    asked = renderer.show(guide.identify([None])[0], Image.new("RGB", (8, 8)), 0.1)
    for address, html in [*renderer.pages(), ("answer", renderer.answer(asked))]:
        unseen = r'<p class="note">Labelled .*?</p>|data-name="[^"]*"|<script type.*?</script>'
        shown = re.sub(unseen, "", html)
        assert not re.search(r"01\d[.]|_", re.sub(r"<[^>]*>", "", shown)), address
    page = renderer.page(renderer.book.kind("018.Grey_Catbird"))
    assert "<h1>Grey Catbird</h1>" in page
    assert 'Labelled <span class="file">018.Grey_Catbird</span>' in page
    assert 'data-name="Cardinal 017.Cardinal"' in renderer.page("search.html")
    drawing = plot_key(guide).text
    assert "Cape May Warbler" in drawing
    assert not re.search(r"01\d[.]", drawing)


def test_few_of_many_unreadable_pictures_are_listed(make_stand_in):
    many = [Unreadable(f"{i:05d}.jpg", "it is damaged") for i in range(9601)]
    guide = make_stand_in([(None, (), (40, 30), "a.jpg")], unreadable=many)
    guide.about |= {
        "other_files": {".xml": 9000, ".csv": 601},
        "kinds_because": "No folder names a kind (dates: 2020).",
        "n_captions": 12,
    }
    about = Renderer(guide, live=True).page("about.html")
    assert "9,601 files that are no pictures: .xml (9,000), .csv (601)" in about
    assert "No folder names a kind (dates: 2020)." in about
    assert "00199.jpg" in about
    assert "00200.jpg" not in about
    assert "And 9,401 more files; " in about
    assert len(about) < 40_000


def test_kind_addresses_never_clash(hostile_guide):
    book = AddressBook(hostile_guide)
    addresses = list(book)
    assert len({address.casefold() for address in addresses}) == len(addresses) == len(book)
    assert book.kind("robin-2") != book.kind("robin", 2)
    for address in addresses:
        assert ".." not in address
    for kind in hostile_guide.kinds:
        assert hostile_guide.kinds[book.find(book.kind(kind.name)).key] is kind


@pytest.mark.parametrize(
    "address",
    [
        "",
        "index",
        "nope.html",
        "branch/99999.html",
        "branch/0-1.html",
        "branch/00.html",
        "branch/0-99.html",
        "branch/-1.html",
        "branch/١.html",
        "specimen/0-2.html",
        "specimen/" + "9" * 5000 + ".html",
        "kind/nope.html",
        "../index.html",
        "templates/base.html",
        "parts.html",
        "base.html",
    ],
)
def test_unknown_addresses_are_key_errors(guide, address):
    with pytest.raises(KeyError):
        Renderer(guide, live=True).page(address)


@pytest.mark.parametrize("count", [0, 1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 3 * PAGE_SIZE])
def test_pages_hold_every_specimen_once(make_stand_in, count):
    places = [("k", ("word",), (32, 24), f"{i}.jpg") for i in range(count)]
    renderer = Renderer(make_stand_in(places, draw=None), live=False)
    assert n_pages(count) == max(1, (count + PAGE_SIZE - 1) // PAGE_SIZE)
    seen = []
    for number in range(1, n_pages(count) + 1):
        html = renderer.page(renderer.book.branch(0, number))
        listed = html[html.index('id="specimens"') :]
        seen += [int(i) for i in re.findall(r'<li><a href="\.\./specimen/(\d+)\.html">', listed)]
        assert ('rel="next"' in html) == (number < n_pages(count))
        assert ('rel="prev"' in html) == (number > 1)
    assert seen == list(range(count))
    with pytest.raises(KeyError):
        renderer.page(renderer.book.branch(0, n_pages(count) + 1))


def test_home_opens_a_few_branches_and_reaches_the_deepest(make_stand_in):
    path = tuple(f"level {depth}" for depth in range(40))
    places = [("k", path[: 1 + i], (32, 24), f"{i}.jpg") for i in range(40)]
    places += [("k", (f"word {i}",), (32, 24), f"w{i}.jpg") for i in range(60)]
    html = Renderer(make_stand_in(places, draw=None), live=False).page("index.html")
    assert html.count("<details") > html.count(" open>")
    assert "branches further down" in html
    assert "word 59" in html


def test_the_index_points_at_what_else_shows_a_word(make_stand_in):
    places = [(kind, ("fox", "furry"), (32, 24), f"{kind}.jpg") for kind in ("fox", "Élan", "7up")]
    kinds, noted, picture = sections(make_stand_in(places, draw=None))
    assert [section.title for section in (kinds, noted, picture)] == [
        *("Kinds", "Noted by the owner", "About the picture")
    ]
    assert [entry.kind for _, entries in kinds.letters for entry in entries] == [
        "7up",
        "Élan",
        "fox",
    ]
    fox, furry = noted.letters[0][1]
    assert (fox.word, fox.kind, fox.count) == ("fox", None, 3)
    assert fox.see == ["7up", "Élan"]
    assert furry.see == ["7up", "fox", "Élan"]


def test_a_long_part_of_the_index_has_letters(make_stand_in):
    words = [*(f"b{i:02}" for i in range(30)), *(f"Á{i:02}" for i in range(30)), "7th"]
    guide = make_stand_in([(None, (word,), (32, 24), f"{word}.jpg") for word in words], draw=None)
    noted = sections(guide)[0]
    assert noted.count == 61
    assert [(letter, len(entries)) for letter, entries in noted.letters] == [
        *(("#", 1), ("A", 30), ("B", 30))
    ]


def test_words_of_a_source_that_the_page_does_not_know_have_its_name(make_stand_in):
    guide = make_stand_in([(None, tuple("abcdef"), (32, 24), "x.jpg")], draw=None)
    sources = ("picture", "field_notes", "surroundings", "subject", "kind", "zoo")
    guide.sources = guide.sources | dict(zip("abcdef", sources, strict=True))
    assert [section.title for section in sections(guide)] == [
        *("Names of kinds", "About the subject", "Field notes", "Zoo"),
        *("About the surroundings", "About the picture"),
    ]


def test_a_word_has_its_specimens_and_what_goes_with_them(make_stand_in):
    places = [
        ("k" if i % 2 else "l", ("word", f"part {i % 3}"), (32, 24), f"{i}.jpg") for i in range(70)
    ]
    guide = make_stand_in([*places, ("k", ("other",), (32, 24), "x.jpg")], draw=None)
    live, static = Renderer(guide, live=True), Renderer(guide, live=False)
    html = live.page(live.book.word("word")) + live.page(live.book.word("word", 2))
    listed = re.findall(r'<li><a href="\.\./specimen/(\d+)\.html">', html)
    assert listed == [str(i) for i in guide.members(word="word")]
    assert sorted(map(int, listed)) == list(range(70))
    assert '<a href="../search.html?q=word%2C+part+1">part 1</a>' in html
    copied = static.page(static.book.word("word"))
    assert "search.html?q=" not in copied
    assert '<a href="../word/part-1.html">part 1</a>' in copied
    for name, count in (("part 1", 23), ("k", 35)):
        pattern = rf'">{name}</a><span class="leader"></span><span class="count">{count}</span>'
        assert re.search(pattern, html)
        assert re.search(pattern, copied)


def test_words_on_every_page_lead_to_their_page(hostile_guide):
    renderer = Renderer(hostile_guide, live=True)
    link = f'href="../{renderer.book.word("dup")}">dup</a>'
    branch = next(b for b in hostile_guide.branches if b.words == ("dup",))
    assert link in renderer.page(renderer.book.branch(branch.id))
    assert link in renderer.page(renderer.book.kind("robin-2"))
    assert link in renderer.page(renderer.book.specimen(0))


@pytest.mark.parametrize(
    "query", ["dup", "robin", "many, robin", "dup -robin", "<b>", "nothing so", "Robin 5"]
)
def test_results_are_escaped_and_lead_somewhere(hostile_guide, query):
    renderer = Renderer(hostile_guide, live=True)
    page = read(renderer.results(query))
    addresses = set(renderer.addresses())
    for _, link in page.links:
        target = urlsplit(link)
        assert not target.scheme
        assert not target.netloc
        assert not link.startswith("/")
        is_file = target.path.startswith(("assets/", "pictures/"))
        assert is_file or unquote(target.path) in addresses or link.startswith("#")
    assert page.inline == []
    assert page.headings.count("h1") == 1
    assert len(page.ids) == len(set(page.ids))


@pytest.mark.parametrize(
    "query",
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "{{ 7 * 7 }}",
        "x" * 501,
        ", ,",
    ],
)
def test_a_hostile_query_is_text(hostile_guide, query):
    html = Renderer(hostile_guide, live=True).results(query)
    read(html)
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert ">49<" not in html


def test_a_facet_leads_to_as_many_specimens_as_it_says(guide):
    renderer = Renderer(guide, live=True)
    word, n_showing, _ = guide.words[0]
    facets = guide.narrow(word=word)
    assert len(facets) > 10
    for facet in facets:
        assert guide.find(facet.query, limit=1).total == facet.count, facet
        if facet.count < n_showing:
            assert f"{facet.count:,} specimen" in renderer.results(facet.query)


def test_a_word_that_no_query_can_hold_has_a_page(make_stand_in):
    long = "x" * 900
    places = [("k", (long, " "), (32, 24), name) for name in ("a.jpg", "b.jpg")]
    guide = make_stand_in(places, draw=None)
    renderer = Renderer(guide, live=True)
    for word in (long, " "):
        assert "2 specimens show it" in renderer.page(renderer.book.word(word))


def test_a_branch_reads_as_a_sentence(plain_guide):
    renderer = Renderer(plain_guide, live=False)
    winged = next(branch for branch in plain_guide.branches if branch.words == ("winged",))
    page = read(renderer.page(renderer.book.branch(winged.id)))
    text = " ".join(" ".join(page.text).split())
    assert "the whole collection animal winged" in text
    assert "Set apart from furry by winged" in text


def test_a_specimen_says_what_it_is_and_why(hostile_guide):
    renderer = Renderer(hostile_guide, live=False)
    specimens = hostile_guide.specimens(range(16, hostile_guide.n_specimens))
    wrong = next(s for s in specimens if s.answer != s.kind)
    right = next(s for s in specimens if s.answer == s.kind)
    assert "instead" in renderer.page(renderer.book.specimen(wrong.id))
    html = renderer.page(renderer.book.specimen(right.id))
    assert "the key agrees" in html
    assert "almost certain, 97%" in html
    assert right.path in html


def test_identify_says_when_it_is_a_copy(guide):
    static = Renderer(guide, live=False).page("identify.html")
    live = Renderer(guide, live=True).page("identify.html")
    assert "fieldguide serve" in static
    assert "<script" not in static
    assert 'method="post"' in live
    assert 'method="post"' not in static
    assert "identify.js" in live


def test_one_page_is_the_same_alone_and_in_turn(guide):
    alone, in_turn = Renderer(guide, live=False), Renderer(guide, live=False)
    assert {address: alone.page(address) for address in alone.addresses()} == dict(in_turn.pages())


def test_pages_are_given_records():
    """Templates get the fields of a typed record, never a loose dict."""
    gathered = [name for name in vars(Renderer) if name.startswith("_show_")]
    assert len(gathered) >= 10
    for name in gathered:
        record = get_type_hints(getattr(Renderer, name))["return"]
        assert is_dataclass(record), name
        assert record.__dataclass_params__.frozen, name


def test_a_stranger_is_said_to_be_one(small_guide, blobs):
    renderer = Renderer(small_guide, live=True)
    noise = np.random.default_rng(0).integers(0, 256, (72, 72, 3), dtype=np.uint8)
    for image, is_stranger in ((noise, True), (blobs[0][2], False)):
        answer = small_guide.identify([image])[0]
        html = renderer.answer(renderer.show(answer, Image.fromarray(image), 0.1))
        title = re.search(r'answer-title"[^>]*>(?:<a[^>]*>)?([^<]*)<', html)[1]
        assert (title == "perhaps none of these kinds") == is_stranger
        assert answer.kinds[0].name in html


def test_no_name_turns_the_letters_of_a_page_around(make_stand_in):
    """Signs stand for controls; what a form sends back is the name itself."""
    kinds = ("gull\u202egnp.exe", "\x1b[31mred\x07", "bell\u2066\x7f", "رجل\u200fheron")
    places = [
        (kind, (f"word {kind}",), (32, 24), f"{i} {kind}.jpg") for i, kind in enumerate(kinds * 2)
    ]
    title = "birds\u202e"
    renderer = Renderer(make_stand_in(places, title=title, has_graph=True), live=True)
    unfit = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
    for address in ["kinds.html", *renderer.book]:
        html = renderer.page(address)
        sent_back = re.sub('<option value="[^"]*"', "", html)
        assert not unfit.search(sent_back), address
    html = renderer.page("kinds.html")
    assert "gull\ufffdgnp.exe" in html
    assert "رجل\u200fheron" in html
    html = renderer.compare(*kinds[:2])
    assert all(f'<option value="{kind}"' in html for kind in kinds)

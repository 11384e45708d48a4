"""Pages in other languages: whole catalogues, no sentence outside them, and who reads which."""

import html
import re
import sys
from dataclasses import replace
from gettext import NullTranslations
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient
from tests.site.browsing import in_browser
from tests.site.fixtures import StandInGuide

from fieldguide import _languages
from fieldguide._languages import (
    ENGLISH,
    FOLDER,
    choose_language,
    grouped,
    list_languages,
    say,
    say_count,
    speaking,
)
from fieldguide._languages.catalogue import read_catalogue, read_entries, write_entries
from fieldguide.errors import FieldguideError
from fieldguide.guide.movement import Movement, Movements, MovingFrame
from fieldguide.guide.movement_marks import HEIGHTS, WAYS, MovementMark, SeenMark
from fieldguide.guide.telling import tell_verdict
from fieldguide.guide.views import Specimen
from fieldguide.site import create_app, export_site
from fieldguide.site.addresses import AddressBook
from fieldguide.site.english import is_english
from fieldguide.site.making import word_others, word_tree, word_update
from fieldguide.site.movement import show_kind_movement, show_movement
from fieldguide.site.render import Renderer
from fieldguide.site.seasons import draw_months, draw_places
from fieldguide.site.times import word_place

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from catalogues import SOURCE, collect_messages, in_catalogue

sys.path.pop(0)

CATALOGUES = [language for language in list_languages() if language != ENGLISH]
SPOKEN = ("alt", "title", "aria-label", "placeholder")
UNITS = {"MB", "UTC", "km", "m", "s"}
NOT_THERE = ("not-there", "nor-there")


def name_source(path):
    return path.relative_to(SOURCE).as_posix()


class Marked(NullTranslations):
    """A language in which all that a sentence says by itself stands in brackets."""

    def gettext(self, message):
        parts = re.split(r"(<[^>]*>|%\(\w+\)s|%%)", message)
        return "".join(f"⟦{part}⟧" if k % 2 == 0 and part else part for k, part in enumerate(parts))

    def ngettext(self, msgid1, msgid2, n):
        return self.gettext(msgid1 if n == 1 else msgid2)

    def pgettext(self, context, message):
        return message


class Texts(HTMLParser):
    """Every text of a page that is read or heard."""

    def __init__(self, page):
        super().__init__()
        self.found, self._hidden = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "style", "code"):
            self._hidden.append(tag)
        self.found += [value for name, value in attributes if name in SPOKEN and value]

    def handle_endtag(self, tag):
        if self._hidden and self._hidden[-1] == tag:
            self._hidden.pop()

    def handle_data(self, data):
        if not self._hidden:
            self.found.append(data)


def list_data(guide):
    """Return what is the guide's own on its pages, the longest first."""
    found = [guide.title, *guide.sources.values(), *NOT_THERE, version("fieldguide")]
    found += [guide.summary] if isinstance(guide, StandInGuide) else []
    found += [name for kind in guide.kinds for name in (kind.name, kind.shown)]
    found += [word for word, *_ in guide.words]
    found += [word for branch in guide.branches for word in branch.words]
    for specimen in guide.specimens(range(guide.n_specimens)):
        found += [specimen.path, specimen.path.rsplit("/", 1)[-1], specimen.caption or ""]
        found += specimen.owner_words
    found += [text for each in guide.unreadable for text in (each.path, each.reason)]
    found += list_texts(guide.about)
    found += list_mark_texts(guide)
    spaced = {" ".join(text.split()) for text in found}
    return sorted({*found, *spaced, *(html.unescape(t) for t in found)} - {""}, key=len)[::-1]


def list_mark_texts(guide):
    """Return the words of all marks."""
    of_kinds = [each for kind in guide.kinds if (each := guide.marks(kind.name)) is not None]
    marks = [mark for each in of_kinds for mark in each.marks]
    marks += [mark for each in of_kinds for pair in each.apart for mark in pair.marks]
    for pair in AddressBook(guide).pairs if of_kinds else ():
        found = guide.compare(*pair).parts["marks"]
        marks += [*found.marks, *found.other_marks]
    words = [text for mark in marks for text in (mark.words, mark.text)]
    words += [colour for each in of_kinds for colour in each.colours]
    return [*words, *(found.name for each in of_kinds for found in each.classes)]


def list_texts(value):
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in (key, *list_texts(each))]
    if isinstance(value, list | tuple):
        return [text for each in value for text in list_texts(each)]
    return [value] if isinstance(value, str) else []


def find_unmarked(page, data):
    """Return the texts of a page, or their parts, that are neither marked nor data."""
    left = []
    for text in Texts(page).found:
        rest = re.sub(r"⟦[^⟦⟧]*⟧", " ", text)
        if not re.search(r"[^\W\d_]", rest):  # no letter is left
            continue
        rest = drop_cut_names(rest, data)
        for known in data:
            if known.lower() in rest.lower():
                rest = re.sub(re.escape(known), " ", rest, flags=re.IGNORECASE)
        words = [w for w in re.findall(r"[^\W\d_]{2,}|\b[a-z]\b", rest) if w not in UNITS]
        if words:
            left.append(text.strip())
    return left


class Foreign(HTMLParser):
    """Every text of a page that stands in no element of its own language."""

    def __init__(self, page):
        super().__init__()
        self.found, self._tags = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "link", "img", "input", "br", "image"):
            self._tags.append(tag if "lang" not in dict(attributes) or tag == "html" else "(lang)")

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if self._tags:
            self._tags.pop()

    def handle_data(self, data):
        if not {"(lang)", "title", "script", "option"} & set(self._tags):
            self.found.append(" ".join(data.split()).lower())


def find_unmarked_english(page, guide):
    """Return the words of the network and of the picture that a page does not say are English."""
    english = {word.lower() for word in guide.sources if is_english(guide, word)}
    return sorted(english.intersection(Foreign(page).found))


def drop_cut_names(text, data):
    """Return a text without names that a drawing cut short: "chestnut-heade…"."""
    while "…" in text:
        before, _, after = text.partition("…")
        starts = (k for k in range(len(before)) if len(before) - k > 1)
        cut = (k for k in starts if any(known.startswith(before[k:]) for known in data))
        text = before[: next(cut, len(before))] + " " + after
    return text


@pytest.fixture
def marked(monkeypatch):
    """Pages in the language of brackets."""
    monkeypatch.setattr(_languages, "_load", lambda language: Marked())
    monkeypatch.setattr(_languages, "list_languages", lambda: (ENGLISH, "marked"))
    return "marked"


@pytest.fixture(scope="module")
def messages():
    """Every sentence of the code."""
    return set(collect_messages())


@pytest.mark.parametrize("language", CATALOGUES)
def test_a_catalogue_has_exactly_the_sentences_of_the_code(language, messages):
    entries = read_entries((FOLDER / f"{language}.po").read_text(encoding="utf-8"))
    said = {key for key in entries if key[1]}
    assert said == messages, "bring it up to date: python docs/catalogues.py"
    assert [key for key, texts in entries.items() if not all(texts)] == []


@pytest.mark.parametrize("language", CATALOGUES)
def test_translations_keep_places_and_marks(language):
    entries = read_entries((FOLDER / f"{language}.po").read_text(encoding="utf-8"))
    for (_, one, many), texts in entries.items():
        if not one:
            continue
        assert set(find_places(texts[-1])) == set(find_places(many or one)), one
        for text in texts:
            assert set(find_places(text)) <= set(find_places(one + many)), one
            assert re.findall("<[^>]+>", text) in [
                re.findall("<[^>]+>", each) for each in (one, many or one)
            ], one
            text % dict.fromkeys(find_places(one + many), "")


def find_places(text):
    return re.findall(r"%\((\w+)\)s", text)


@pytest.mark.parametrize("shape", ["guide", "keyed_guide", "plain_guide", "bare_guide"])
@pytest.mark.parametrize("live", [True, False], ids=["live", "static"])
def test_no_sentence_of_a_page_is_outside_the_catalogue(shape, live, marked, request):
    guide = request.getfixturevalue(shape)
    data = list_data(guide)
    renderer = Renderer(guide, live=live, language=marked)
    pages = dict(renderer.pages())
    if live:
        pages["results"] = renderer.results(guide.words[0][0]) if guide.words else ""
        pages["no results"] = renderer.results(", ".join(NOT_THERE))
    unmarked = {
        address: left for address, page in pages.items() if (left := find_unmarked(page, data))
    }
    assert unmarked == {}
    foreign = {a: left for a, page in pages.items() if (left := find_unmarked_english(page, guide))}
    assert foreign == {}
    assert all('<html lang="marked">' in page for page in pages.values() if page)


def test_pages_of_an_editor_are_whole_too(guide, marked):
    renderer = Renderer(guide, live=True, editing=True, language=marked)
    data, word, kind = list_data(guide), guide.words[0][0], guide.kinds[0]
    pages = [
        renderer.edits(),
        renderer.teach(),
        renderer.teach(word),
        renderer.compare(*renderer.book.pairs[0]),
        renderer.compare(kind.name, ""),
        *(renderer.page(address) for address in ("specimen/0.html", renderer.book.kind(kind.name))),
        *(renderer.page(address) for address in (renderer.book.word(word), "branch/1.html")),
    ]
    assert [find_unmarked(page, data) for page in pages] == [[]] * len(pages)


def list_rare_sentences():
    """Return what is said of guides that these tests do not build."""
    frames = (MovingFrame(0.0, "a.jpg", (0.2, 0.1, 0.6, 0.9)),)
    seen = SeenMark(0, 0.2, 0.5, 1.1, "b.jpg", (0.3, 0.3, 0.7, 0.7), (0.4, 0.0))
    marks = [
        MovementMark(way, 0.2, height, 0.14, 0.7, 9, 12, 1, 36, 0.3)
        for way, height in zip(WAYS, (*HEIGHTS, *HEIGHTS), strict=False)
    ]
    movement = Movement("wave", 0.8, frames, 0.0, 1.5, "wave", 0.6, (seen,))
    moving = Movements({"0a": movement}, n_asked=3, n_right=1, marks={"wave": tuple(marks)})
    clip = Specimen(0, "a.mp4", "wave", 9, 9, "a.s.jpg", "a.l.jpg", 0, None, None, clip=True)
    stand_in = SimpleNamespace(movements=moving, digests=["0a"], shown_name=str)
    shown = show_movement(stand_in, 0, clip)
    yield from shown.sentences
    yield from (outline.words for _, outline in shown.frames)
    yield shown.marks_title
    yield from (part for mark in shown.marks for part in (mark.words, mark.numbers))
    yield from (part for strip in shown.marks[0].strips for part in (strip.alt, strip.caption))
    stand_in.overlay = SimpleNamespace(excluded=())
    of_kind = show_kind_movement(
        stand_in, "wave", lambda ids: [SimpleNamespace(alt="xml") for _ in ids]
    )
    yield of_kind.note
    yield from (mark.words for mark in of_kind.marks)
    yield of_kind.marks[0].strips[0].alt
    taken = [
        replace(
            clip, path="wave", date=f"20{k}-0{k % 9 + 1}-03", latitude=k, longitude=-k, clip=None
        )
        for k in range(10, 15)
    ]
    for chart in (draw_months(taken), draw_places(taken)):
        yield chart.sentence
        yield from re.findall(">([^<]+)<", chart.markup)
    update = {"measured": 0, "kept": 2, "moved": 1, "gone": 3}
    yield word_update({"update": update, "step_seconds": {"reading images": 3.0}})
    yield from (text for fact in word_tree({"tree": {"method": "attribute"}}) for text in fact)
    yield word_others({"": 3, "xml": 2})
    yield word_place(-47.1, 9.2)
    found = {"kind_branches": {"a": 1}, "n_kinds": 2, "n_folds": 5, "agreement": 0.5}
    yield tell_verdict({**found, "kinds_from": "branches"})
    measured = {"n_kinds": 2, "n_folds": 5, "accuracy": 0.5, "mean_class_accuracy": 0.5}
    for share in (None, 0.5):
        yield tell_verdict({**measured, "growth": {"kinds": ["a"], "accuracy": share}})


def test_rare_sentences_are_in_the_catalogue(marked):
    with speaking(marked):
        said = list(list_rare_sentences())
    assert len(said) > 30
    assert [left for text in said for left in find_unmarked(text, ["wave", "xml"])] == []


@pytest.mark.parametrize(
    "path", [path for path in sorted(SOURCE.rglob("*.html")) if in_catalogue(path)], ids=name_source
)
def test_a_template_has_no_text_of_its_own(path):
    """All states of a page, also those that no guide of these tests is in."""
    text = path.read_text(encoding="utf-8")
    for known in (r"\{#.*?#\}", r"\{% trans.*?endtrans %\}", r"\{\{.*?\}\}", r"\{%.*?%\}"):
        text = re.sub(known, "", text, flags=re.DOTALL)
    text = re.sub(r"(?<=</)(?=>)|(?<=<)(?= )", "p", text).replace('href=""', "")
    assert find_unmarked(text, []) == []


def test_a_sentence_outside_is_found():
    page = '<p>⟦seen by many⟧ <b>wren</b></p><img alt="A wren"><code>fieldguide serve</code>'
    assert find_unmarked(page, ["wren"]) == []
    assert find_unmarked(page.replace("A wren", "The wren"), ["wren"]) == ["The wren"]
    assert find_unmarked("<p>⟦seen⟧ by many</p>", []) == ["⟦seen⟧ by many"]


def test_an_answer_is_whole_too(guide, marked):
    renderer = Renderer(guide, live=True, language=marked)
    sighting = guide.look((guide.folder / guide.specimen(0).picture).read_bytes())
    answer = guide.identify([sighting])[0]
    shown = renderer.show(answer, sighting.image, 1.0)
    assert find_unmarked(renderer.answer(shown), list_data(guide)) == []


def test_what_the_owner_wrote_is_not_said_to_be_english(plain_guide):
    page = Renderer(plain_guide, live=True, language="de").page("index.html")
    words = [word for branch in plain_guide.branches[1:] for word in branch.words]
    for word in words:
        marked = f'<span lang="en">{word}</span>' in page
        assert marked == is_english(plain_guide, word)
    assert "<span lang=" not in Renderer(plain_guide, live=True).page("index.html")


@pytest.mark.parametrize("language", CATALOGUES)
def test_pages_are_in_the_language_asked_for(language, plain_guide, tmp_path):
    page = export_site(plain_guide, tmp_path / "site", language=language)
    text = page.read_text(encoding="utf-8")
    assert f'<html lang="{language}">' in text
    assert "Skip to the content" not in text


def test_a_server_answers_in_the_language_of_the_browser(plain_guide):
    client = TestClient(create_app(plain_guide), base_url="http://localhost")
    english = client.get("/", headers={"Accept-Language": "en-GB"})
    german = client.get("/", headers={"Accept-Language": "de-AT, en;q=0.5"})
    assert '<html lang="en">' in english.text
    assert '<html lang="de">' in german.text
    assert german.headers["content-language"] == "de"
    assert german.headers["vary"] == english.headers["vary"] == "Accept-Language"
    assert german.headers["etag"] != english.headers["etag"]
    known = {"Accept-Language": "en", "If-None-Match": german.headers["etag"]}
    assert client.get("/", headers=known).status_code == 200
    assert client.get("/", headers=known | {"Accept-Language": "de"}).status_code == 304
    assert (
        '<html lang="de">'
        in client.get("/no", headers={"Accept-Language": "de", "Accept": "text/html"}).text
    )


def test_what_programs_ask_for_is_english(plain_guide):
    client = TestClient(create_app(plain_guide), base_url="http://localhost")
    in_german = {"Accept-Language": "de"}
    assert client.get("/api/guide", headers=in_german).json() == client.get("/api/guide").json()
    said = client.get("/api/find", params={"limit": "no"}, headers=in_german).json()
    assert said["error"]["message"] == "limit must be a whole number from 1 on."


def test_a_server_may_have_one_language(plain_guide):
    client = TestClient(create_app(plain_guide, language="de"), base_url="http://localhost")
    page = client.get("/", headers={"Accept-Language": "en"})
    assert '<html lang="de">' in page.text
    assert "vary" not in page.headers


def test_a_language_that_there_is_not_is_refused(plain_guide, tmp_path):
    for ask in (
        lambda: create_app(plain_guide, language="tlh"),
        lambda: export_site(plain_guide, tmp_path / "site", language="tlh"),
    ):
        with pytest.raises(FieldguideError, match="Pages cannot be written in 'tlh'"):
            ask()


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("*", "en"),
        ("de", "de"),
        ("DE-ch", "de"),
        ("tlh, de;q=0.2", "de"),
        ("en;q=0.4, de;q=0.5", "de"),
        ("de;q=0.4, en;q=0.5", "en"),
        ("de;q=0", "en"),
        ("de;q=much, en", "en"),
        ("de;level=1", "en"),
        (",;,de;q=", "en"),
        ("x," * 10_000 + "de", "en"),
    ],
)
def test_languages_are_chosen_as_browsers_ask(accepted, language):
    assert choose_language(accepted) == language


@in_browser
def test_scripts_speak_it_too(open_page, keyed_guide, tmp_path):
    home = export_site(keyed_guide, tmp_path / "site", language="de")
    page = open_page(home.with_name("walk.html").as_uri())
    page.get_by_role("button", name="Schwer zu sagen").click()
    page.get_by_text("Frage 2").wait_for()
    page.goto(home.with_name("search.html").as_uri() + "?q=nowhere")
    page.get_by_text("0 Einträge zu „nowhere“.").wait_for()
    english = export_site(keyed_guide, tmp_path / "english")
    page.goto(english.with_name("search.html").as_uri() + "?q=nowhere")
    page.get_by_text("0 entries for “nowhere”.").wait_for()


def test_numbers_are_written_as_the_language_does():
    with speaking("de"):
        assert grouped(1234567.891, 2) == "1.234.567,89"
        assert say_count("%(n)s specimen", "%(n)s specimens", 1204) == "1.204 Exemplare"
        with speaking(ENGLISH):
            assert grouped(1204) == "1,204"
    assert say("%(number)s%%", number=7) == "7%"


HEAD = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nPlural-Forms: nplurals=2; plural=n > 1;\\n"\n\n'  # noqa: E501


def test_a_catalogue_is_read_as_gettext_writes_it():
    text = (
        HEAD + '# a note\n#: a/place.py\nmsgid "two "\n"lines"\nmsgstr "zwei\\n\\"Zeilen\\""\n'
        '\nmsgid "one"\nmsgid_plural "many"\nmsgstr[0] "un"\nmsgstr[1] "des"\n'
        '\nmsgctxt "here"\nmsgid "one"\nmsgstr "ici"\n\nmsgid "not yet"\nmsgstr ""\n'
    )
    catalogue = read_catalogue(text)
    assert catalogue.gettext("two lines") == 'zwei\n"Zeilen"'
    assert [catalogue.ngettext("one", "many", n) for n in (0, 1, 2)] == ["un", "un", "des"]
    assert catalogue.pgettext("here", "one") == "ici"
    assert catalogue.gettext("not yet") == "not yet"
    entries = read_entries(text)
    assert read_entries(write_entries(entries)) == entries


@pytest.mark.parametrize(
    "text",
    [
        'msgid "a"\n',
        'msgstr "a"\n',
        'msgid "a"\nmsgid "b"\nmsgstr "c"\n',
        'msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n',
        'msgid "a"\nmsgid_plural "b"\nmsgstr "c"\n',
        'msgid "a"\nmsgid_plural "b"\nmsgstr[1] "c"\n',
        'msgid "a" "b"\nmsgstr "c" + "d"\n',
        "msgid a\nmsgstr b\n",
        '"a"\n',
    ],
)
def test_a_catalogue_that_is_not_whole_is_refused(text):
    with pytest.raises(ValueError, match="catalogue"):
        read_entries(text)

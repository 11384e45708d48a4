"""The walk in a real browser: to a kind, back, after a wrong answer, from a file, scripts off."""

import itertools
import re

import numpy as np
import pytest
from tests.chapters.walk.test_printed import grow
from tests.site.browsing import NEEDS_BROWSER, check_answer, serve_guide

from fieldguide.chapters.walk.characters import Character, Characters
from fieldguide.chapters.walk.dichotomy import GrownKey, Walked, grow_key
from fieldguide.chapters.walk.printed import print_key
from fieldguide.chapters.walk.questions import read_questions
from fieldguide.chapters.walk.walking import Walk, temper
from fieldguide.guide.views import CoupletWords, SideWords, Word
from fieldguide.site import export_site

pytest.importorskip("fieldguide.chapters.marks")
pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def walked_site(guide, tmp_path_factory):
    """An exported guide of characters, by its file address."""
    return export_site(guide, tmp_path_factory.mktemp("walked") / "site").parent.as_uri()


@pytest.fixture(scope="module")
def live_worded(worded_guide):
    """A guide whose key has couplets."""
    yield from serve_guide(worded_guide)


@pytest.fixture(scope="module")
def live_hostile(hostile_guide):
    yield from serve_guide(hostile_guide)


def read_belief(page):
    """The probability of each kind that the page lists."""
    return dict(
        page.locator("#kinds li").evaluate_all(
            "items => items.map(i => [i.dataset.kind, Number(i.dataset.probability)])"
        )
    )


def check_belief(page, walk):
    """The page believes what the same answers make of a walk in Python."""
    expected = dict(walk.rank_kinds())
    shown = read_belief(page)
    assert shown.keys() <= expected.keys()
    for kind, p in shown.items():
        assert p == pytest.approx(expected[kind], rel=1e-9)
    assert list(shown) == [kind for kind, _ in walk.rank_kinds()][: len(shown)]


def click(page, said):
    name = {True: "Yes", False: "No", None: "Cannot tell"}[said]
    page.get_by_role("button", name=name, exact=True).click()


def title_of(question):
    return f"{question.text[:1].upper()}{question.text[1:]}?"


def walk_to(page, walk, kind, wrong=()):
    """Answer what the page asks by what is true of a kind; those at ``wrong`` wrongly."""
    k = walk.questions.kinds.index(kind)
    while not walk.is_decided:
        j = walk.next_question(by_couplets=False)
        assert page.locator("#asked").inner_text() == title_of(walk.questions.questions[j])
        said = bool(walk.questions.levels[k, j] > 31) != (len(walk.answers) in wrong)
        click(page, said)
        walk.answer(j, said)
        check_belief(page, walk)
    assert page.locator("#asked").inner_text().casefold() == kind.casefold()
    assert page.locator("#hint").inner_text().startswith("Most likely, with a probability of 9")


def test_a_walk_to_a_kind_from_a_file(open_page, walked_site, guide):
    page = open_page(f"{walked_site}/index.html")
    page.get_by_role("link", name="Walk", exact=True).click()
    page.get_by_role("heading", name="Walk the key").wait_for()
    kind = guide.kinds[3]
    walk = Walk(read_questions(guide))
    check_belief(page, walk)
    walk_to(page, walk, kind.name)
    likeliest = page.locator("#kinds li").first
    assert likeliest.locator("img").evaluate("i => i.decode().then(() => i.naturalWidth)") > 0
    assert kind.shown in page.locator("#told").inner_text()
    # The address keeps the walk.
    address = page.url
    again = open_page(address)
    check_belief(again, walk)
    assert again.locator("#said li").count() == len(walk.answers)
    # One may go on, and read the plate.
    page.get_by_role("button", name="Go on asking").click()
    j = walk.next_question(by_couplets=False)
    if j is not None:
        assert page.locator("#asked").inner_text() == title_of(walk.questions.questions[j])
    likeliest.get_by_role("link").click()
    page.get_by_role("heading", level=1, name=kind.shown).wait_for()


def test_a_wrong_answer_is_survived_and_corrected(open_page, walked_site, guide):
    page = open_page(f"{walked_site}/walk.html")
    assert not page.get_by_text("The questions need scripts").is_visible()
    walk, kind = Walk(read_questions(guide)), guide.kinds[5].name
    walk_to(page, walk, kind, wrong=(0,))
    first = next(iter(walk.answers))
    before = read_belief(page)[kind]
    page.locator(f"#said-{first}").select_option("no" if walk.answers[first] else "yes")
    walk.answer(first, not walk.answers[first])
    check_belief(page, walk)
    assert read_belief(page)[kind] > before
    page.locator(f"#said-{first}").select_option("forget")
    del walk.answers[first]
    check_belief(page, walk)
    assert page.locator(f"#said-{first}").count() == 0


def test_undo_and_cannot_tell(open_page, walked_site, guide):
    page = open_page(f"{walked_site}/walk.html")
    walk = Walk(read_questions(guide))
    undo = page.get_by_role("button", name="Undo")
    assert undo.is_disabled()
    first = page.locator("#asked").inner_text()
    for said in (True, None, False):
        j = walk.next_question(by_couplets=False)
        click(page, said)
        walk.answer(j, said)
        check_belief(page, walk)
    for _ in range(3):
        undo.click()
        walk.undo()
        check_belief(page, walk)
    assert page.locator("#asked").inner_text() == first
    assert page.get_by_text("None yet.").is_visible()
    click(page, True)
    page.get_by_role("button", name="Begin again").click()
    check_belief(page, Walk(read_questions(guide)))
    assert page.locator("#said li").count() == 0


def test_any_question_can_be_chosen_by_keyboard(open_page, walked_site, guide):
    questions = read_questions(guide)
    j = questions.n_characters - 1
    wanted = questions.questions[j].text
    page = open_page(f"{walked_site}/walk.html")
    page.locator("#all summary").focus()
    page.keyboard.press("Enter")
    choices = page.locator("#choices li")
    choices.first.wait_for()
    assert choices.count() == questions.n_characters
    page.keyboard.press("Tab")
    page.keyboard.type(wanted.upper())
    assert 1 <= choices.count() < questions.n_characters
    page.get_by_role("button", name=f"{wanted[:1].upper()}{wanted[1:]}", exact=True).press("Enter")
    assert page.locator("#asked").inner_text() == title_of(questions.questions[j])
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the button after the question is "Yes"
    walk = Walk(questions)
    walk.answer(j, True)
    check_belief(page, walk)
    page.locator("#narrow").fill("no such question")
    assert page.get_by_text("No question is called that.").is_visible()


def test_it_is_usable_on_a_phone(open_page, walked_site):
    page = open_page(f"{walked_site}/walk.html", viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for name in ("Yes", "No", "Cannot tell"):
        box = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert box["height"] >= 40
        assert box["y"] + box["height"] <= 740


def test_couplets_and_characters_are_one_belief(open_page, live_worded, worded_guide):
    page = open_page(f"{live_worded}/key.html")
    page.get_by_role("link", name=re.compile("Walk it by hand")).click()
    walk = Walk(read_questions(worded_guide))
    page.get_by_label("by the couplets of the key").check()
    for said in (True, False):
        j = walk.next_question(by_couplets=True)
        if j is None or walk.is_decided:
            break
        assert page.locator("#asked").inner_text() == "Which of the two is it more like?"
        assert page.locator(".walk-side").count() == 2
        page.get_by_role("button", name="The second" if said else "The first").click()
        walk.answer(j, said)
        check_belief(page, walk)
    page.get_by_label("about characters").check()
    j = walk.next_question(by_couplets=False)
    if j is not None and not walk.is_decided:
        click(page, True)
        walk.answer(j, True)
    check_belief(page, walk)


def test_the_machine_begins_and_the_person_corrects(open_page, live, guide, find):
    page = open_page(f"{live}/identify.html")
    page.set_input_files("#image", find)
    check_answer(page, guide)
    page.get_by_role("link", name="Walk the key with this answer as a start").click()
    page.get_by_role("heading", name="Walk the key").wait_for()
    questions, said = read_questions(guide), guide.identify([find])[0].kinds
    prior = temper(questions.kinds, {k.name: round(k.probability, 4) for k in said})
    walk = Walk(questions, prior)
    check_belief(page, walk)
    if walk.is_decided:
        page.get_by_role("button", name="Go on asking").click()
    assert re.fullmatch(
        "The machine (sees it|does not see it) in the picture.", page.locator("#hint").inner_text()
    )
    j = walk.next_question(by_couplets=False)
    click(page, False)
    walk.answer(j, False)
    check_belief(page, walk)


def test_without_scripts_it_says_what_each_kind_shows(open_page, live_worded, worded_guide):
    page = open_page(f"{live_worded}/walk.html", java_script_enabled=False)
    assert page.get_by_text("The questions need scripts").is_visible()
    assert not page.get_by_role("button", name="Yes").is_visible()
    rows = page.locator(".walk-rows tbody tr")
    assert rows.count() == len(worded_guide.kinds)
    questions = read_questions(worded_guide)
    shares = np.array(questions.levels[:, list(questions.characters)] + 0.5) / 63
    for k, kind in enumerate(questions.kinds):
        usual = [questions.questions[j].text for j in np.flatnonzero(shares[k] >= 0.75)]
        assert rows.nth(k).locator("td").first.inner_text() == ", ".join(usual)
        assert rows.nth(k).get_by_role("link").text_content() == worded_guide.shown_name(kind)
    page.get_by_role("link", name="couplets of the key").click()
    page.get_by_role("heading", name="The couplets").wait_for()
    assert page.locator(".couplet").count() == min(len(worded_guide.couplets), 250)


def test_hostile_names_and_fragments_do_no_harm(open_page, live_hostile, hostile_guide):
    page = open_page(f"{live_hostile}/walk.html#start=%ZZ:0.4,robin:9,:,=&seen=y&said=0y.999n.x")
    names = page.locator("#kinds .kind-name").all_text_contents()
    assert set(names) == {kind.shown for kind in hostile_guide.kinds}
    while page.get_by_role("button", name="The second").is_visible():
        page.get_by_role("button", name="The second").click()
    assert page.locator("#kinds img").count() == len(names)


N_KINDS = 32


@pytest.fixture(scope="module")
def spread(make_stand_in):
    """A guide of 32 kinds with long names, and a key of characters to them."""
    kinds = tuple(f"copper-striped jewel beetle {k:02d}" for k in range(N_KINDS))
    places = [(kinds[i % N_KINDS], ("beetle",), (300, 300), f"{i}.jpg") for i in range(64)]
    guide = make_stand_in(places, title="Beetles")
    bits = (np.arange(N_KINDS)[:, None] >> np.arange(5)) & 1
    # Three words for each step: two that confirm the first.
    shares = np.where(np.repeat(bits, 3, axis=1), 0.97, 0.03)
    texts = [f"{word} {j}" for j in range(5) for word in ("dark wing border", "eye stripe", "bar")]
    characters = tuple(Character(text, "owner") for text in texts)
    table = Characters(kinds, characters, shares, np.full(N_KINDS, 20), np.arange(15))
    guide.dichotomy = GrownKey(table, grow_key(shares), Walked(640, 631, 638))
    guide.about["confusions"] = [[a, b, 1] for a, b in itertools.pairwise(kinds[:7])]
    return guide


def count_pages(page, **paper):
    """Print as a person does, and count the sheets."""
    page.evaluate("for (const image of document.images) image.loading = 'eager'")
    printed = page.pdf(prefer_css_page_size=True, **paper)
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", printed))


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_32_kinds_are_a_spread_of_two_pages(open_page, spread, tmp_path, paper):
    site = export_site(spread, tmp_path / "site").parent.as_uri()
    page = open_page(f"{site}/printed-key.html")
    assert page.locator(".printed-couplets > li").count() == N_KINDS - 1
    assert count_pages(page, format=paper) == 2


def test_the_printed_key_reads_without_scripts(open_page, spread, tmp_path):
    site = export_site(spread, tmp_path / "site").parent.as_uri()
    page = open_page(f"{site}/kinds.html", java_script_enabled=False)
    page.get_by_role("link", name="A key to print").click()
    page.get_by_role("heading", name="Key to the 32 kinds of Beetles").wait_for()
    key = print_key(spread)
    lead = key.couplets[0].leads[1]
    page.locator("#couplet-1").get_by_role("link", name=str(lead.to), exact=True).click()
    assert page.url.endswith(f"#couplet-{lead.to}")
    back = page.locator(f"#couplet-{lead.to} .lead-back")
    assert back.inner_text() == "(1b)"
    end = next(lead.end[0] for couplet in key.couplets for lead in couplet.leads if lead.end)
    page.locator(".printed-couplets").get_by_role("link", name=end).first.click()
    page.get_by_role("heading", name=end, level=1).wait_for()
    assert f"plate {key.plates[end]}" in page.locator(".over").inner_text().lower()


@pytest.mark.parametrize("width", [360, 900, 1400])
def test_the_printed_key_fits_its_screen(open_page, spread, tmp_path, width):
    site = export_site(spread, tmp_path / "site").parent.as_uri()
    page = open_page(f"{site}/printed-key.html", viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Where a lead goes stands at the right end of its line, inside its column.
    for line in page.locator(".lead-line").all()[:20]:
        right = line.locator(".lead-ends").evaluate("e => e.getBoundingClientRect().right")
        edge = line.evaluate("e => e.getBoundingClientRect().right")
        assert abs(right - edge) < 2


def test_words_and_pictures_of_couplets_show_without_scripts(open_page, make_stand_in, tmp_path):
    places = [(kind, ("animal",), (300, 200), f"{kind}.jpg") for kind in "abcdef"]
    guide = make_stand_in(places, has_graph=True)
    guide.couplet_words = {1: CoupletWords(SideWords((Word("winged", 0.9, 0.1),)), SideWords())}
    site = export_site(guide, tmp_path / "site").parent.as_uri()
    page = open_page(f"{site}/key.html", java_script_enabled=False)
    first, second = page.locator("#couplet-1"), page.locator("#couplet-2")
    assert "Winged:" in first.inner_text()
    assert "Not so:" in first.inner_text()
    assert "No words tell the two sides apart" in second.inner_text()
    page.get_by_role("link", name="A key to print").click()
    assert "Winged" in page.locator("#couplet-1").inner_text()
    assert page.locator("#couplet-1 img").count() == 0
    assert page.locator("#couplet-2 img").count() > 0


def test_the_couplets_of_the_key_print_close_together(open_page, make_stand_in, tmp_path):
    places = [(f"long-named kind {k}", ("animal",), (300, 200), f"{k}.jpg") for k in range(8)]
    guide = make_stand_in(places, has_graph=True)
    guide.dichotomy = grow()
    site = export_site(guide, tmp_path / "site").parent.as_uri()
    page = open_page(f"{site}/key.html")
    assert len(guide.couplets) == 28
    assert count_pages(page, format="A4") <= 4

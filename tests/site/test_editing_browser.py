"""Every edit by the forms of the pages in a real browser, undo, and what a rebuild keeps."""

import pytest
from PIL import Image
from tests.site.browsing import NEEDS_BROWSER, check_width, serve_guide

from fieldguide.collection import Collection
from fieldguide.guide import Guide

pytestmark = NEEDS_BROWSER
TOKEN = "a-token-for-the-test"


@pytest.fixture
def address(folder):
    """Asked for before ``open_page``: pages are then closed before the server ends."""
    yield from serve_guide(Guide.open(folder), edit_token=TOKEN)


@pytest.fixture
def page(address, open_page):
    """The home page of an editor whose browser runs no scripts."""
    return open_page(f"{address}/edit?token={TOKEN}", java_script_enabled=False)


def test_every_edit_undo_and_a_rebuild(page, address, open_page, folder, blobs):
    assert TOKEN not in page.url
    page.get_by_text("You may edit this guide.").wait_for()

    def press(where, button, label="", text=""):
        page.goto(f"{address}/{where}")
        if label:
            page.locator(".editor").get_by_label(label).first.fill(text)
        with page.expect_navigation():
            page.get_by_role("button", name=button, exact=True).click()
        page.get_by_text("You may edit this guide.").wait_for()
        return Guide.open(folder)

    guide = press("specimen/0.html", "Correct the kind", "Kind", "square")
    assert page.url.endswith("/specimen/0.html#edit")
    assert page.get_by_role("heading", level=1).inner_text().lower() == "square"
    assert guide.specimen(0).kind == "square"
    press("specimen/1.html", "Correct the word", "Word", "bluish")
    page.get_by_text("disc/000001.png shows “bluish”").wait_for()
    page.goto(f"{address}/specimen/1.html")
    page.get_by_label("Shown or not").select_option("no")
    page.locator("#edit-word").fill("bluish")
    page.get_by_role("button", name="Correct the word").click()
    page.get_by_text("disc/000001.png does not show “bluish”").wait_for()
    assert press("specimen/2.html", "Pin as exemplar").kind("disc").exemplars[0] == 2
    assert 3 not in press("specimen/3.html", "No exemplar").kind("disc").exemplars
    press("specimen/4.html", "The key is right")
    press("specimen/5.html", "The key is wrong")
    page.get_by_text("The owner says: the key is wrong").wait_for()
    guide = press("specimen/6.html", "Exclude")
    assert guide.n_shown == 23
    page.goto(f"{address}/kind/disc.html")
    assert page.locator('#specimens a[href="../specimen/6.html"]').count() == 0
    press("specimen/7.html", "Add the note", "Note", "Round\nas a plate.")
    assert page.locator(".owner-note").inner_text() == "Round\nas a plate."

    branch = guide.find_branch("upright lines")
    press(f"branch/{branch}.html", "Rename", "Name of the branch", "ladders")
    assert page.get_by_role("heading", level=1).inner_text().lower() == "ladders"
    guide = press(f"branch/{branch}.html", "Make it a kind", "Make its specimens", "rungs")
    assert guide.kind("rungs").count == 8
    hidden = guide.find_branch("smooth")
    guide = press(f"branch/{hidden}.html", "Hide the branch")
    assert hidden in guide.overlay.hidden
    page.goto(f"{address}/index.html")
    assert page.get_by_role("link", name="smooth", exact=True).count() == 0

    word = next(word for word, n, _ in guide.words if n)
    slug = word.replace(" ", "-")
    press(f"word/{slug}.html", "Rename", "The word", "my word")
    assert "my word" in {w for w, _, _ in Guide.open(folder).words}
    press("word/my-word.html", "Hide the word")
    assert "my word" not in {w for w, _, _ in Guide.open(folder).words}

    press("kind/disc.html", "Rename", "Name of the kind", "ring")
    assert page.get_by_role("heading", level=1).inner_text().lower() == "ring"
    page.get_by_label("Make it part of").select_option("square")
    with page.expect_navigation():
        page.get_by_role("button", name="Merge").click()
    guide = Guide.open(folder)
    assert page.url.endswith("/edits.html#edit")  # its plate is gone
    assert "disc" in guide.overlay.aliases
    assert page.locator(".edits-made li").count() == len(guide.edits.history) == 16

    for number in (16, 8):  # the merging and the exclusion
        with page.expect_navigation():
            page.get_by_role("button", name=f"undo edit {number}", exact=True).click()
    guide = Guide.open(folder)
    assert guide.n_shown == 24
    assert "disc" not in guide.overlay.aliases

    reader = open_page(f"{address}/about.html")  # who reads while it is built again
    newer = reader.get_by_text("The guide has been built again.")
    assert newer.is_hidden()
    collection = Collection.from_arrays(*blobs, name="shapes")
    quick = {"key": "ova", "features": "deep", "marks": False, "places": False, "n_jobs": 1}
    built = Guide.build(collection, folder, **quick)
    kinds = {kind.name: kind.count for kind in built.kinds}
    assert kinds == {"ring": 7, "rungs": 8, "square": 9}
    reader.evaluate("window.dispatchEvent(new Event('focus'))")  # as one who comes back to it
    newer.wait_for()
    before = newer.get_attribute("data-edition")
    reader.get_by_role("button", name="Show it as it is now").focus()
    with reader.expect_navigation():
        reader.keyboard.press("Enter")
    assert newer.is_hidden()
    assert newer.get_attribute("data-edition") not in (before, None)
    page.goto(f"{address}/index.html")  # the server has moved to the new edition
    assert page.get_by_role("link", name="ladders", exact=True).count() >= 1
    page.goto(f"{address}/specimen/7.html")
    assert page.locator(".owner-note").inner_text() == "Round\nas a plate."
    page.goto(f"{address}/kind/ring.html")
    assert page.get_by_role("heading", level=1).inner_text().lower() == "ring"


def test_the_forms_fit_a_telephone_and_the_keyboard(address, open_page):
    page = open_page(f"{address}/edit?token={TOKEN}", viewport={"width": 390, "height": 844})
    for where in ("specimen/0.html", "branch/1.html", "kind/disc.html", "edits.html"):
        page.goto(f"{address}/{where}")
        check_width(page)
    page.goto(f"{address}/specimen/0.html#edit")
    page.locator("#edit-kind").focus()
    page.locator("#edit-kind").fill("stripe")
    page.keyboard.press("Enter")
    page.get_by_text("disc/000000.png is “stripe”").wait_for()


def test_an_answer_is_judged_on_the_identify_page(address, open_page, folder, tmp_path, blobs):
    Image.fromarray(blobs[0][0]).save(tmp_path / "find.png")
    page = open_page(f"{address}/edit?token={TOKEN}")
    page.goto(f"{address}/identify.html")
    page.set_input_files("#image", str(tmp_path / "find.png"))
    page.get_by_role("button", name="The answer is right").click()
    page.get_by_text("the key is right that find.png is “disc”").wait_for()
    assert [edit.verb for edit in Guide.open(folder).edits] == ["right"]
    page.goto(f"{address}/identify.html")  # the same picture again
    page.set_input_files("#image", str(tmp_path / "find.png"))
    page.get_by_text("The owner says: the key is right that find.png is “disc”.").wait_for()


def test_a_word_is_taught_by_the_keyboard(address, open_page, folder):
    page = open_page(
        f"{address}/edit?token={TOKEN}",
        java_script_enabled=False,
        viewport={"width": 390, "height": 844},
    )
    page.get_by_role("link", name="Teach a word").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    check_width(page)
    assert page.get_by_role("heading", level=1).inner_text() == "Teach a word"
    pictures = page.get_by_role("group")
    assert pictures.count() == 24
    page.get_by_label("The word", exact=True).focus()
    page.keyboard.type("round")
    of_kind = {"disc": "ArrowLeft ArrowLeft", "square": "ArrowLeft", "stripe": "ArrowLeft"}
    guide, left = Guide.open(folder), {kind: 6 for kind in of_kind}
    for k in range(24):
        chosen = pictures.nth(k).get_by_label("leave")
        number = int(chosen.get_attribute("name")[1:])
        kind = guide.specimen(number).kind
        if left[kind]:
            left[kind] -= 1
            chosen.focus()
            for key in of_kind[kind].split():  # from "leave" back to "does not" and "shows it"
                page.keyboard.press(key)
    page.get_by_label("The word", exact=True).focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.endswith("/word/round.html#edit")
    taught = Guide.open(folder).taught["round"]
    assert [guide.specimen(i).kind for i in taught.lesson.yes] == ["disc"] * 6
    assert len(taught.lesson.no) == 12
    assert taught.reliability.holds
    page.get_by_text("Held out in turn,").wait_for()
    page.get_by_text("Taught by the owner").wait_for()
    check_width(page)
    shown = Guide.open(folder).members(word="round").tolist()
    other = next(i for i in shown if i not in taught.lesson.yes)
    page.goto(f"{address}/specimen/{other}.html")
    page.get_by_text("The owner taught round.").wait_for()
    page.goto(f"{address}/word/round.html")
    page.get_by_role("link", name="Teach it more").click()
    page.get_by_text("So far 6 pictures that show it and 12 that do not teach it.").wait_for()
    assert pictures.count() == 24 - 18  # those that do not teach it yet
    page.get_by_label("Look for pictures").fill("nothing like it")
    with page.expect_navigation():
        page.get_by_role("button", name="Show them").click()
    assert pictures.count() == 6
    pictures.nth(0).get_by_label("shows it").check()
    page.get_by_role("button", name="Teach it", exact=True).last.click()
    page.get_by_text("is taught by pictures: 1 that show it").wait_for()
    page.goto(f"{address}/edits.html")
    for number in (2, 1):
        with page.expect_navigation():
            page.get_by_role("button", name=f"undo edit {number}", exact=True).click()
    assert Guide.open(folder).taught == {}

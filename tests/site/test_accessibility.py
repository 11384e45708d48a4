"""One page of each sort, judged by axe-core where it is installed: nothing serious in any.

``npm install --prefix .cache/axe axe-core`` installs it; the package itself needs nothing of npm.
"""

import re
import shutil
from pathlib import Path

import pytest
from tests.site.browsing import NEEDS_BROWSER, serve_guide

from fieldguide.guide import Guide

AXE = Path(__file__).parents[2] / ".cache/axe/node_modules/axe-core/axe.min.js"
pytestmark = [
    *NEEDS_BROWSER,
    pytest.mark.skipif(not AXE.is_file(), reason="no axe-core in .cache/axe"),
]
PER_SORT = 2  # pages of each sort
TOKEN = "a-token-for-the-test"


def find_pages(page, home):
    """Return addresses that can be reached from a page: at most two of each folder, every other."""
    waiting, found = [home], {}
    while waiting:
        address = waiting.pop()
        path, _, query = address.removeprefix(home).partition("?")
        sort = re.sub(r"/[^/]+\.html", "/*.html", path) + "?" * bool(query)
        pages = found.setdefault(sort, [])
        if address in pages or len(pages) == PER_SORT:
            continue
        pages.append(address)
        page.goto(address)
        links = page.locator("main a[href], header a[href]").evaluate_all(
            "links => links.map(link => new URL(link.getAttribute('href'), document.baseURI).href)"
        )
        waiting += [
            link.split("#")[0]
            for link in links
            if link.startswith(home) and ".html" in link and link.split("#")[0] != address
        ]
    return [address for pages in found.values() for address in pages]


def judge_pages(page, addresses):
    """Return what axe-core finds serious on pages."""
    script, serious = AXE.read_text(), []
    for address in addresses:
        page.goto(address)
        page.evaluate(script)
        for violation in page.evaluate("axe.run()")["violations"]:
            if violation["impact"] in ("serious", "critical"):
                serious.append((address, violation["id"], violation["nodes"][0]["html"]))
    return serious


@pytest.fixture(params=["light", "dark"])
def page(browser, request):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, color_scheme=request.param, bypass_csp=True
    )
    yield context.new_page()
    context.close()


def test_nothing_serious_is_found_on_any_sort_of_page(page, live_keyed):
    pages = find_pages(page, f"{live_keyed}/")
    assert judge_pages(page, pages) == []
    assert {"index.html", "check.html", "identify.html", "key.html", "walk.html", "about.html"} <= {
        address.removeprefix(f"{live_keyed}/") for address in pages
    }


@pytest.fixture
def edited(flat_guide, tmp_path):
    """A guide to edit, with edits."""
    guide = Guide.open(shutil.copytree(flat_guide.folder, tmp_path / "guide"))
    guide.edits.add("note", guide.specimen(0).path, "Round.")
    guide.edits.add("wrong", guide.specimen(0).path, "ring")
    return guide


@pytest.fixture
def live_edited(edited):
    yield from serve_guide(edited, edit_token=TOKEN)


def test_nothing_serious_is_found_in_the_forms_of_an_editor(page, live_edited, edited):
    guide, home = edited, live_edited
    page.goto(f"{home}/edit?token={TOKEN}")
    word = next(word for word, n, _ in guide.words if n).replace(" ", "-")
    names = ("index", "specimen/0", "kind/disc", "branch/1", f"word/{word}", "edits", "identify")
    pages = [f"{home}/{name}.html" for name in names]
    assert judge_pages(page, pages) == []
    for address in pages[1:6]:
        page.goto(address)
        assert page.locator("form button").count() > 1

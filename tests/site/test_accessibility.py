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
FIND_VIOLATIONS = """async () => {
  await Promise.all(document.getAnimations().map((change) => change.finished));
  return (await axe.run(document, {resultTypes: ["violations"]})).violations;
}"""  # colours may go over to those of the other scheme


def visit_pages(page, home):
    """Open pages that can be reached from one: at most two of each folder, every other."""
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
        yield address
        waiting += [
            link.split("#")[0]
            for link in links
            if link.startswith(home) and ".html" in link and link.split("#")[0] != address
        ]


def judge(page):
    """Return what axe-core finds serious on the page that is open, in light and in dark."""
    page.evaluate(AXE.read_text())
    serious = []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for violation in page.evaluate(FIND_VIOLATIONS):
            if violation["impact"] in ("serious", "critical"):
                serious.append((scheme, violation["id"], violation["nodes"][0]["html"]))
    return serious


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 390, "height": 844}, bypass_csp=True)
    yield context.new_page()
    context.close()


def test_nothing_serious_is_found_on_any_sort_of_page(page, live_keyed):
    serious = {address: judge(page) for address in visit_pages(page, f"{live_keyed}/")}
    assert {address: found for address, found in serious.items() if found} == {}
    assert {"index.html", "check.html", "identify.html", "key.html", "walk.html", "about.html"} <= {
        address.removeprefix(f"{live_keyed}/") for address in serious
    }


def test_what_is_serious_is_found(page):
    page.set_content(
        "<html lang='en'><title>A</title><main><h1 style='color: #111'>Wrens</h1><img src='a.png'>"
        "<style>@media (prefers-color-scheme: dark) { body { background: #222 } }</style></main>"
    )
    assert [(scheme, name) for scheme, name, _ in judge(page)] == [
        ("light", "image-alt"),
        ("dark", "color-contrast"),
        ("dark", "image-alt"),
    ]


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
    for name in names:
        page.goto(f"{home}/{name}.html")
        assert judge(page) == [], name
        if name not in ("index", "identify"):
            assert page.locator("form button").count() > 1, name

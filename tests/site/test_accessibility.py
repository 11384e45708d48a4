"""One page of each sort, judged by axe-core where it is installed: nothing serious in any.

``npm install --prefix .cache/axe axe-core`` installs it; the package itself needs nothing of npm.
"""

import re
from pathlib import Path

import pytest
from tests.site.browsing import NEEDS_BROWSER, serve_guide

AXE = Path(__file__).parents[2] / ".cache/axe/node_modules/axe-core/axe.min.js"
pytestmark = [
    *NEEDS_BROWSER,
    pytest.mark.skipif(not AXE.is_file(), reason="no axe-core in .cache/axe"),
]
PER_SORT = 2  # pages of each sort


@pytest.fixture(scope="module")
def live_keyed(keyed_guide):
    yield from serve_guide(keyed_guide)


def find_pages(page, home):
    """Return addresses that can be reached from a page, at most two of each sort."""
    waiting, found = [home], {}
    while waiting:
        address = waiting.pop()
        sort = re.sub(r"/[^/]+\.html", "/*.html", address).split("?")[0] + "?" * ("?" in address)
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found_on_any_sort_of_page(browser, live_keyed, scheme):
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, color_scheme=scheme, bypass_csp=True
    )
    page, script = context.new_page(), AXE.read_text()
    serious, pages = [], find_pages(page, f"{live_keyed}/")
    for address in pages:
        page.goto(address)
        page.evaluate(script)
        for violation in page.evaluate("axe.run()")["violations"]:
            if violation["impact"] in ("serious", "critical"):
                serious.append((address, violation["id"], violation["nodes"][0]["html"]))
    context.close()
    assert serious == []
    assert len(pages) > 10

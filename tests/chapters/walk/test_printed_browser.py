"""The key on paper and without scripts, in a real browser."""

import itertools
import re

import numpy as np
import pytest
from tests.chapters.walk.test_printed import grow
from tests.site.browsing import NEEDS_BROWSER

from fieldguide.chapters.walk.characters import Character, Characters
from fieldguide.chapters.walk.dichotomy import GrownKey, Walked, grow_key
from fieldguide.chapters.walk.printed import print_key
from fieldguide.guide.views import CoupletWords, SideWords, Word
from fieldguide.site import export_site

pytestmark = NEEDS_BROWSER
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

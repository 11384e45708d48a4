"""The page *What needs a look*."""

import copy
import re

import pytest
from tests.site.browsing import check_width, in_browser, serve_guide

from fieldguide.chapters.check.page import MOST, sum_up
from fieldguide.chapters.check.records import PROBLEMS, Finding, ImageCopies, Report
from fieldguide.site.render import Renderer


def make_findings(guide):
    """A line of each problem, with hostile names."""
    kinds = [kind.name for kind in guide.kinds]
    return [
        Finding("a <b>.jpg", "label", "labelled <i> & co", 0.93, 1, (kinds[0], kinds[1])),
        Finding("b.jpg", "copy", "nearly the same", 0.91, 2, (), (1, 3)),
        Finding("<img src=x onerror=alert(1)>.jpg", "unreadable", "no image", 1.0),
        *(Finding(f"{p}.jpg", p, "…", 0.5, 4) for p in ("no subject", "blurred", "dark", "tiny")),
        Finding(kinds[0], "few", "few", 1.0, 0, (kinds[0],)),
        Finding(kinds[0], "alike", "alike", 0.95, 0, (kinds[0], kinds[1])),
    ]


@pytest.fixture
def checked(hostile_guide):
    """A guide of hostile names that knows what needs a look."""
    guide = copy.copy(hostile_guide)
    guide.report = Report(tuple(make_findings(guide)))
    return guide


def test_every_problem_has_its_lines(checked):
    page = Renderer(checked, live=False).page("check.html")
    for problem in PROBLEMS:
        assert f'<section id="{problem.replace(" ", "-")}"' in page
    assert page.count('class="check-line"') == len(checked.report)
    assert 'href="specimen/1.html"' in page
    assert "93% likely wrong" in page
    assert "<img src=x" not in page
    assert "a &lt;b&gt;.jpg" in page


def test_home_and_about_lead_to_it(checked, hostile_guide):
    link = '<a href="check.html">What needs a look: 1 doubtful label, 1 copy, '
    for address in ("index.html", "about.html"):
        assert link in Renderer(checked, live=True).page(address)
        assert "check.html" not in Renderer(hostile_guide, live=True).page(address)
    with pytest.raises(KeyError):
        Renderer(hostile_guide, live=True).page("check.html")


def test_a_long_list_is_cut(checked):
    checked.report = Report(
        tuple(Finding(f"{i}.jpg", "tiny", "9 × 9 pixels", 1.0, i % 5) for i in range(MOST + 3))
    )
    page = Renderer(checked, live=False).page("check.html")
    assert page.count('class="check-line"') == MOST
    assert "And 3 more;" in page
    assert f">{MOST + 3}<" in page


def test_nothing_needs_a_look(checked):
    checked.report = Report(())
    page = Renderer(checked, live=False).page("check.html")
    assert "Nothing: every label agrees" in page
    assert sum_up(checked.report) == "nothing"


def test_links_of_a_real_guide(untidy):
    renderer = Renderer(untidy, live=False)
    links = set(re.findall(r'href="((?:specimen|kind)/[^"#]+)', renderer.page("check.html")))
    assert len(links) >= len(untidy.check().of("copy"))
    assert links <= set(renderer.addresses())


def test_an_image_that_is_in_the_guide(guide):
    specimen = guide.specimen(4)
    answer = guide.identify([guide.folder / specimen.picture])[0]
    found = answer.parts["check"]
    assert isinstance(found, ImageCopies)
    assert found.copies[0].id == 4
    assert found.copies[0].likeness > 0.9
    assert answer.neighbours[0].id == 4


@pytest.fixture
def live_checked(checked):
    yield from serve_guide(checked)


@in_browser
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_it_reads_on_a_telephone_and_from_the_keyboard(live_checked, open_page, scripts):
    phone = {"width": 390, "height": 844}
    page = open_page(f"{live_checked}/check.html", viewport=phone, java_script_enabled=scripts)
    check_width(page)
    assert page.get_by_role("heading", level=2).count() == len(PROBLEMS)
    assert page.get_by_text("a <b>.jpg").is_visible()
    first = page.locator("#label .check-picture")
    first.focus()
    assert first.locator("img").evaluate("image => image.naturalWidth") > 0
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.endswith("/specimen/1.html")
    check_width(page)

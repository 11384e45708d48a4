"""The guide to print: what is in it, and how many pages a browser makes of it."""

import re

import pytest

from fieldguide.errors import FieldguideError
from fieldguide.site.chapter_pages import list_sheets
from tests.site.browsing import browser  # noqa: F401  (a fixture)


def count_pages(browser, address):  # noqa: F811
    page = browser.new_page()
    page.goto(address)
    data = page.pdf(format="A4")
    page.close()
    return len(re.findall(rb"/Type\s*/Page\b", data))


def test_a_book_stands_alone(guide, export):
    text = export(guide, "book").read_text(encoding="utf-8")
    plates = re.findall(r'id="plate-(\d+)"', text)
    assert plates == [str(number) for number in range(1, len(guide.kinds) + 1)]
    for kind in guide.kinds:
        assert f"</span> {kind.shown}</h2>" in text
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)
    assert "<script" not in text
    linked = {number for number in re.findall(r'href="#plate-(\d+)"', text)}
    assert linked <= {*plates}
    index = text.split('<ul class="book-index">')[1]
    assert all(kind.shown in index for kind in guide.kinds)
    assert ("book-key" in text.split("</style>")[-1]) == ("printed-key" in list_sheets(guide))


def test_names_in_a_book_are_escaped(hostile_guide, export):
    text = export(hostile_guide, "book").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "<i>Hostile" not in text


def test_a_book_needs_kinds(plain_guide, export):
    with pytest.raises(FieldguideError, match="has no kinds"):
        export(plain_guide, "book")


@pytest.mark.browser
def test_a_plate_is_a_page(guide, export, browser):  # noqa: F811
    path = export(guide, "book")
    n_pages = count_pages(browser, path.as_uri())
    # A cover, at most four pages of key, and two of index.
    assert len(guide.kinds) + 2 <= n_pages <= len(guide.kinds) + 7


@pytest.mark.browser
def test_the_page_of_a_kind_prints_on_two_sheets(guide, browser, tmp_path):  # noqa: F811
    first = guide.export_site(tmp_path / "site")
    slugs = [kind.slug for kind in guide.kinds[:4]]
    pages = [count_pages(browser, (first.parent / f"kind/{s}.html").as_uri()) for s in slugs]
    assert max(pages) <= 2

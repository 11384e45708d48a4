"""Field marks in a real browser."""

import pytest
from tests.site.browsing import NEEDS_BROWSER, check_answer

pytestmark = NEEDS_BROWSER


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_marks_are_shown_with_their_pictures(open_page, live, guide, find, scripts):
    page = open_page(f"{live}/identify.html", java_script_enabled=scripts)
    page.set_input_files("#image", find)
    if not scripts:
        page.get_by_role("button", name="Identify").click()
        page.wait_for_url("**/identify.html#answer")
    check_answer(page, guide)
    record = guide.identify([find])[0].parts["marks"]
    shown = len(record.marks) + len(record.against_marks)
    assert shown > 0
    assert page.get_by_role("heading", name="Field marks in it").is_visible()
    tiles = page.locator(".seen-list img")
    assert tiles.count() == shown
    loaded = "images => images.every(image => image.complete && image.naturalWidth > 0)"
    assert tiles.evaluate_all(loaded)
    page.locator("#answer .candidates a").first.click()
    page.get_by_role("heading", name="What sets it apart").wait_for()
    found = guide.marks(record.kind)
    assert page.locator(".marks-sentence").inner_text() == found.sentence
    if found.said:
        assert page.locator(".marks .tile").first.is_visible()

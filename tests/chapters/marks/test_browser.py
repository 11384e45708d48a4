"""Field marks in a real browser."""

from tests.site.browsing import NEEDS_BROWSER, check_answer

pytestmark = NEEDS_BROWSER


def test_marks_are_shown_with_their_pictures(open_page, live, guide, find):
    page = open_page(f"{live}/identify.html")
    page.set_input_files("#image", find)
    check_answer(page, guide)
    assert page.get_by_role("heading", name="Marks of").is_visible()
    loaded = "images => images.every(image => image.complete && image.naturalWidth > 0)"
    tiles = page.locator(".seen-list img")
    kind = guide.identify([find])[0].kinds[0][0]
    assert tiles.count() == len(guide.marks(kind).windows) > 0
    assert page.locator(".seen-marks img").evaluate_all(loaded)
    page.locator("#reply .candidates a").first.click()
    page.get_by_role("heading", name="Field marks").wait_for()
    assert page.locator(".marks .tile").first.is_visible()
    page.locator(".heats").scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    assert page.locator(".heats img").evaluate_all(loaded)


def test_marks_are_shown_without_scripts(open_page, live, guide, find):
    page = open_page(f"{live}/identify.html", java_script_enabled=False)
    page.set_input_files("#image", find)
    page.get_by_role("button", name="Identify").click()
    page.wait_for_url("**/identify.html#answer")
    check_answer(page, guide)
    assert page.get_by_role("heading", name="Marks of").is_visible()

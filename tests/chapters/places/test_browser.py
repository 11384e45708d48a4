"""Outlines of marks in a real browser."""

import pytest
from tests.site.browsing import NEEDS_BROWSER, check_answer

pytestmark = NEEDS_BROWSER


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_outline_lies_on_the_picture(open_page, live, guide, find, scripts):
    page = open_page(f"{live}/identify.html", java_script_enabled=scripts)
    page.set_input_files("#image", find)
    if not scripts:
        page.get_by_role("button", name="Identify").click()
    check_answer(page, guide)
    outline = page.get_by_role("img", name="Outlined: what tells it from")
    assert outline.is_visible()
    shown = page.get_by_alt_text("The picture you chose")  # both are drawn in the same box
    assert outline.bounding_box() == shown.bounding_box()
    assert page.get_by_text("Outlined: what tells it from").is_visible()

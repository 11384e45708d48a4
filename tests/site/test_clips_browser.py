"""The page of a clip, and a clip that is identified, in a real browser."""

import pytest
from tests.clips import draw_blob_clip, write_clip
from tests.site.browsing import NEEDS_BROWSER, check_width, serve_guide

from fieldguide.site import export_site

pytestmark = NEEDS_BROWSER


@pytest.fixture(scope="module")
def live_clips(clip_guide):
    yield from serve_guide(clip_guide)


def find_clip(guide, path):
    (clip,) = (each for each in guide.specimens(range(guide.n_specimens)) if each.path == path)
    return clip


@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_of_a_clip_shows_frames_with_their_times(open_page, live_clips, clip_guide, width):
    clip = find_clip(clip_guide, "disc/0.mp4")
    page = open_page(
        f"{live_clips}/specimen/{clip.id}.html", viewport={"width": width, "height": 900}
    )
    frames = page.get_by_role("region", name="frames by which it is known")
    assert frames.locator("img").count() == 4
    for i in range(4):
        image = frames.locator("img").nth(i)
        image.scroll_into_view_if_needed()
        page.wait_for_function("image => image.naturalWidth > 0", arg=image.element_handle())
    assert frames.locator("figcaption").all_inner_texts() == [
        "0:00.0",
        "0:00.1",
        "0:00.2",
        "0:00.3",
    ]
    assert "0:00.4 long" in page.locator(".portrait figcaption").inner_text()
    assert page.locator("video, audio, iframe").count() == 0
    check_width(page, width)
    still = find_clip(clip_guide, "disc/still.png")
    page.goto(f"{live_clips}/specimen/{still.id}.html")
    assert page.locator(".frames").count() == 0


@pytest.mark.parametrize("scripted", [True, False])
def test_identify_names_a_clip(open_page, live_clips, tmp_path, scripted):
    write_clip(tmp_path / "new.mp4", draw_blob_clip("square", 50, 6))
    page = open_page(f"{live_clips}/identify.html", java_script_enabled=scripted)
    page.set_input_files("#image", tmp_path / "new.mp4")
    if not scripted:
        page.get_by_role("button", name="Identify").click()
    heading = page.locator("#reply").get_by_role("heading", level=2)
    heading.wait_for()
    assert heading.inner_text().lower() == "square"
    shown = page.get_by_alt_text("The picture you chose")
    assert shown.evaluate("image => image.naturalWidth") == 72


def test_an_export_has_the_frames(clip_guide, tmp_path):
    site = export_site(clip_guide, tmp_path / "site").parent
    clip = find_clip(clip_guide, "square/2.mkv")
    assert clip.clip.frames
    assert all((site / frame.picture).stat().st_size for frame in clip.clip.frames)
    page = (site / f"specimen/{clip.id}.html").read_text(encoding="utf-8")
    assert page.count("pictures/frames/") == 2 * len(clip.clip.frames)

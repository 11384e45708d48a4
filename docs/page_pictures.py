"""Every page of a served guide as a picture: light, dark, on a phone, printed.

``python docs/page_pictures.py NOW BEFORE`` takes them from two addresses that serve the guide of
the demonstration, by today's code and by that of an earlier commit, and writes a sheet for each
page into ``docs/pictures/pages``: the earlier page above, where there was one. ``docs/pages.md``
shows the sheets.
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from demo_pictures import draw_new
from moving_picture import take
from PIL import Image

OUT = Path(__file__).parent / "pictures" / "pages"
PAGES = {
    "home": "index.html",
    "branch": "branch/1.html",
    "kinds": "kinds.html",
    "kind": "kind/horned-owl.html",
    "pair": "pair/heart-faced-owl--horned-owl.html",
    "specimen": "specimen/20.html",
    "key": "key.html",
    "walk": "walk.html",
    "printed-key": "printed-key.html",
    "identify": "identify.html",
    "index": "search.html",
    "word": "word/eye-spots.html",
    "check": "check.html",
    "about": "about.html",
}
HEIGHT, GAP = 560, 8  # of a page on a sheet, and between pages, in pixels
QUALITY = 50
ANSWERED = "#answer h2, #answer h3"


class Way(NamedTuple):
    """A way to look at a page."""

    width: int  # of the window, in pixels
    shown: int  # width on the sheet
    settings: dict[str, Any]
    media: str = "screen"


WAYS = (
    Way(1200, 430, {"color_scheme": "light"}),
    Way(1200, 430, {"color_scheme": "dark"}),
    Way(390, 200, {"color_scheme": "light", "is_mobile": True}),
    Way(703, 300, {"color_scheme": "light"}, "print"),  # A4 within margins of 12 mm
)


def take_sheets(browser_path: str, addresses: list[str], new: Path) -> dict[str, Image.Image]:
    """Return a sheet for each page: a row for each address that has it, the last one on top."""
    from playwright.sync_api import sync_playwright

    rows: dict[str, list[Image.Image]] = {name: [] for name in PAGES}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
        )
        for address in addresses[::-1]:
            looks = [_take_pages(browser, address, way, new) for way in WAYS]
            for name in PAGES:
                if name in looks[0]:
                    rows[name].append(_join([look[name] for look in looks], across=True))
        browser.close()
    return {name: _join(found, across=False) for name, found in rows.items()}


def _take_pages(browser: Any, address: str, way: Way, new: Path) -> dict[str, Image.Image]:
    """Return the pages that an address has, by their names, as a sheet shows them."""
    height = round(HEIGHT * way.width / way.shown)
    page = browser.new_page(viewport={"width": way.width, "height": height}, **way.settings)
    page.emulate_media(media=way.media)
    found = {}
    for name, place in PAGES.items():
        if page.goto(f"{address}/{place}").status != 200:
            continue
        if name == "identify":
            page.set_input_files("input[type=file]", new)
            page.wait_for_selector(ANSWERED)
        page.wait_for_load_state("networkidle")
        found[name] = take(page).resize((way.shown, HEIGHT), Image.Resampling.LANCZOS)
    page.close()
    return found


def _join(images: list[Image.Image], *, across: bool) -> Image.Image:
    """Return images side by side, or one below the other."""
    widths, heights = ([getattr(image, side) for image in images] for side in ("width", "height"))
    gaps = GAP * (len(images) - 1)
    size = (sum(widths) + gaps, heights[0]) if across else (widths[0], sum(heights) + gaps)
    sheet, at = Image.new("RGB", size, "#8d8068"), 0
    for image in images:
        sheet.paste(image, (at, 0) if across else (0, at))
        at += (image.width if across else image.height) + GAP
    return sheet


def main() -> None:
    """Write the sheets."""
    browser = shutil.which("chromium")
    if browser is None or not sys.argv[1:]:
        sys.exit("needs chromium, and the address of one served guide or of two: NOW BEFORE")
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        new = draw_new(Path(temporary) / "new.png")
        sheets = take_sheets(browser, [address.rstrip("/") for address in sys.argv[1:3]], new)
    for name, sheet in sheets.items():
        buffer = io.BytesIO()
        sheet.save(buffer, "WEBP", quality=QUALITY, method=6)
        (OUT / f"{name}.webp").write_bytes(buffer.getvalue())
        print(f"wrote docs/pictures/pages/{name}.webp, {len(buffer.getvalue()) / 1000:.0f} kB")


if __name__ == "__main__":
    main()

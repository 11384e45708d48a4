"""Pictures of the demonstration for the documentation, taken with Chromium from a served guide."""

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from moving_picture import film_identify, take
from PIL import Image

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

VIEW = {"width": 1200, "height": 1150}
PAGES = {
    "home.jpg": "index.html",
    "pictures/key.jpg": "key.html",
    "pictures/walk.jpg": "walk.html",
    "pictures/kind.jpg": "kind/peacock-eyed-butterfly.html",
    "pictures/pair.jpg": "pair/heart-faced-owl--horned-owl.html",
}
COVER = ("home.jpg", "pictures/kind.jpg", "pictures/key.jpg")  # side by side, on the README
COVER_PX, COVER_GAP_PX = 600, 18  # the width of each, and what is between them
# The picture that is dropped: a drawing that is in no guide.
NEW_KIND, NEW_SEED, NEW_PX = "peacock-eyed butterfly", 7, 320


def take_pictures(browser_path: str) -> dict[str, bytes]:
    """Return the pictures by their place below ``docs``."""
    from benchmarks.load import serve_apart
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        guide, new = find_demo(Path(temporary)), draw_new(Path(temporary) / "new.png")
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport=VIEW, device_scale_factor=1.5)
        with serve_apart(guide) as (host, port, _):
            address = f"http://{host}:{port}"
            taken = {place: take_page(page, f"{address}/{name}") for place, name in PAGES.items()}
            pictures = {place: encode_jpeg(image, 75) for place, image in taken.items()}
            pictures["cover.jpg"] = encode_jpeg(join_pages([taken[place] for place in COVER]))
            spread = take_spread(browser.new_page(), f"{address}/printed-key.html")
            pictures["pictures/printed-key.jpg"] = encode_jpeg(spread, 60)
            pictures["identify.gif"] = film_identify(browser.new_page(), address, new)
        browser.close()
    return pictures


def find_demo(folder: Path) -> Path:
    """Return the guide of the demonstration, built in ``folder`` unless it is in ``out/demo``."""
    from fieldguide.guide.demo import build_demo, finished_demo

    demo = DOCS.parent / "out" / "demo"
    if finished_demo(demo) is None:
        demo = folder / "guide"
        build_demo(demo, lambda *_: None)
    return demo


def draw_new(path: Path) -> Path:
    """Draw the picture that is dropped on *Identify*."""
    from fieldguide.datasets import load_specimens

    drawn = load_specimens(n_per_kind=1, size_px=NEW_PX, random_state=NEW_SEED)
    kinds = [drawn.target_names[kind] for kind in drawn.target]
    Image.fromarray(drawn.images[kinds.index(NEW_KIND)]).save(path)
    return path


def take_page(page: Any, address: str, **options: Any) -> Image.Image:
    """Return what a page shows, the first screen of it unless the options say otherwise."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    return take(page, **options)


def join_pages(pages: list[Image.Image]) -> Image.Image:
    """Return pages side by side, each in a thin frame."""
    height = round(COVER_PX * pages[0].height / pages[0].width)
    step = COVER_PX + COVER_GAP_PX
    joined = Image.new("RGB", (step * len(pages) - COVER_GAP_PX, height), "white")
    for i, page in enumerate(pages):
        framed = Image.new("RGB", (COVER_PX, height), "#c9bfae")
        framed.paste(page.resize((COVER_PX - 2, height - 2), Image.Resampling.LANCZOS), (1, 1))
        joined.paste(framed, (i * step, 0))
    return joined


def take_spread(page: Any, address: str) -> Image.Image:
    """Return the printed key as two sheets of paper side by side: the couplets, then the rest."""
    width, height = 703, 1032  # A4 within margins of 12 mm, at 96 pixels to the inch
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(media="print")
    whole = take_page(page, address, full_page=True)
    cut = round(page.locator(".plate-list").bounding_box()["y"])
    margin, gap = 45, 10
    sheet = Image.new("RGB", (width + 2 * margin, height + 2 * margin), "white")
    spread = Image.new("RGB", (2 * sheet.width + gap, sheet.height), "#aaa")
    for place, part in enumerate([(0, 0, width, cut), (0, cut, width, whole.height)]):
        left = place * (sheet.width + gap)
        spread.paste(sheet, (left, 0))
        spread.paste(whole.crop(part), (left + margin, margin))
    return spread.crop((0, 0, spread.width, max(cut, whole.height - cut) + 2 * margin))


def encode_jpeg(image: Image.Image, quality: int = 82) -> bytes:
    """Return an image as the bytes of a JPEG file."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality, optimize=True, progressive=True)
    return buffer.getvalue()

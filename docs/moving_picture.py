"""Film how a picture is dropped on *Identify* and answered, as a GIF for the README."""

import io
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image, ImageDraw

VIEW = {"width": 1000, "height": 640}
WIDTH, N_COLORS = 800, 256  # of the GIF
START, DROP_MS, STEP_MS, LOOK_MS = (930, 600), 90, 60, 2400
POINTER = [(0, 0), (0, 26), (7, 20), (12, 31), (17, 29), (12, 18), (21, 18)]


class Frame(NamedTuple):
    """What is seen, and for how long."""

    image: Image.Image
    ms: int


def film_identify(page: Any, address: str, picture: Path) -> bytes:
    """Return a GIF of a served guide that is shown a picture: drop, answer, why."""
    page.set_viewport_size(VIEW)
    page.goto(f"{address}/identify.html")
    page.wait_for_load_state("networkidle")
    frames = carry(take(page), Image.open(picture), page.locator("#drop"))
    page.set_input_files("input[type=file]", picture)
    page.wait_for_selector(".spent")
    page.wait_for_load_state("networkidle")
    page.evaluate("window.scrollTo(0, document.querySelector('h1').offsetTop)")
    frames.append(Frame(take(page), LOOK_MS))
    for heading in ("Field marks in it", "The way through the key"):
        frames += scroll(page, page.get_by_text(heading, exact=True))
    return encode_gif(frames)


def take(page: Any, **options: Any) -> Image.Image:
    """Return what the page shows now."""
    return Image.open(io.BytesIO(page.screenshot(**options))).convert("RGB")


def carry(shown: Image.Image, picture: Image.Image, target: Any, n_steps: int = 12) -> list[Frame]:
    """Return frames in which a pointer carries a picture to the middle of a part of the page."""
    box = target.bounding_box()
    end = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    frames = [Frame(shown, LOOK_MS // 3)]
    for step in range(1, n_steps + 1):
        share = 1 - (1 - step / n_steps) ** 2
        x, y = (round(a + share * (b - a)) for a, b in zip(START, end, strict=True))
        seen = shown.copy()
        seen.paste(picture.convert("RGB").resize((110, 110)), (x - 55, y - 55))
        ImageDraw.Draw(seen).polygon(
            [(x + a, y + b) for a, b in POINTER], fill="#2a251e", outline="white"
        )
        frames.append(Frame(seen, DROP_MS))
    return frames


def scroll(page: Any, target: Any, n_steps: int = 4) -> list[Frame]:
    """Scroll until a part of the page is near the top, and return what is seen on the way."""
    first = page.evaluate("window.scrollY")
    last = first + target.bounding_box()["y"] - 20
    frames = []
    for step in range(1, n_steps + 1):
        page.evaluate(f"window.scrollTo(0, {first + (last - first) * step / n_steps})")
        frames.append(Frame(take(page), STEP_MS))
    page.wait_for_load_state("networkidle")
    return [*frames[:-1], Frame(take(page), LOOK_MS)]


def encode_gif(frames: list[Frame]) -> bytes:
    """Return frames as the bytes of a GIF with one palette, that of the longest shown."""
    height = round(WIDTH * VIEW["height"] / VIEW["width"])
    small = [frame.image.resize((WIDTH, height), Image.Resampling.LANCZOS) for frame in frames]
    still = [image for image, frame in zip(small, frames, strict=True) if frame.ms >= LOOK_MS]
    sheet = Image.new("RGB", (WIDTH, height * len(still)))
    for place, image in enumerate(still):
        sheet.paste(image, (0, place * height))
    palette = sheet.quantize(N_COLORS, method=Image.Quantize.MEDIANCUT, kmeans=1)
    drawn = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in small]
    buffer = io.BytesIO()
    drawn[0].save(
        buffer,
        "GIF",
        save_all=True,
        append_images=drawn[1:],
        duration=[frame.ms for frame in frames],
        loop=0,
        optimize=True,
    )
    return buffer.getvalue()

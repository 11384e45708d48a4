"""Write the parts of the documentation that come from the real thing.

``docs/cli.md`` is what ``--help`` prints; ``docs/specimens.jpg`` shows each kind of the embedded
collection; ``docs/home.jpg`` is the page of the demonstration, taken with Chromium where there is
one.
"""

import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

DOCS = Path(__file__).parent
COMMANDS = (
    *("demo", "build", "describe", "identify", "marks", "locate", "plot", "serve", "export"),
)


def cli_reference() -> str:
    """Return the help of every command, as Markdown."""
    os.environ.update(COLUMNS="96", TERM="dumb", NO_COLOR="1")
    from typer.testing import CliRunner

    from fieldguide.cli import app

    parts = ["# Command line\n", "Written by `make docs` from the commands themselves.\n"]
    for words in ([], *([command] for command in COMMANDS)):
        shown = CliRunner().invoke(app, [*words, "--help"], prog_name="fieldguide").output
        lines = [
            line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", shown).strip().splitlines()
        ]
        title = " ".join(["fieldguide", *words])
        parts.append(f"## `{title}`\n\n```\n" + "\n".join(lines) + "\n```\n")
    return "\n".join(parts)


def sheet_of_specimens() -> bytes:
    """Return one picture of each kind, as a JPEG."""
    from fieldguide.datasets import load_specimens

    images = load_specimens(n_per_kind=1).images
    rows = [np.concatenate(list(images[i : i + 8]), axis=1) for i in range(0, len(images), 8)]
    return encode_jpeg(Image.fromarray(np.concatenate(rows)))


def encode_jpeg(image: Image.Image) -> bytes:
    """Return an image as the bytes of a JPEG file."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=82, optimize=True, progressive=True)
    return buffer.getvalue()


def picture_of_home(browser_path: str) -> bytes:
    """Return the home page of the demonstration as a JPEG."""
    from playwright.sync_api import sync_playwright

    from fieldguide.guide.demo import build_demo, finished_demo

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        guide = finished_demo(Path("out/demo"))
        if guide is None:
            guide = build_demo(Path(folder) / "guide", lambda *_: None)
        first = guide.export_site(Path(folder) / "site")
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1200, "height": 1150}, device_scale_factor=1.5)
        page.goto(first.as_uri())
        page.wait_for_load_state("networkidle")
        shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        browser.close()
    return encode_jpeg(shot)


def main() -> None:
    """Write all of them."""
    (DOCS / "cli.md").write_text(cli_reference(), encoding="utf-8")
    print("wrote docs/cli.md")
    (DOCS / "specimens.jpg").write_bytes(sheet_of_specimens())
    print("wrote docs/specimens.jpg")
    browser = shutil.which("chromium")
    if browser is None:
        print("no chromium on this machine: docs/home.jpg stays as it is", file=sys.stderr)
        return
    (DOCS / "home.jpg").write_bytes(picture_of_home(browser))
    print("wrote docs/home.jpg")


if __name__ == "__main__":
    main()

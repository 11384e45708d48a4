"""The embedded collection as a guide: drawn once, then found again."""

import json
from collections.abc import Callable
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path

from fieldguide._files import write_json
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide.guide import Guide

MARK = "demo.json"
N_PER_KIND = 24
SIZE_PX = 320


def demo_collection(progress: Callable[[str, int, int], None]) -> Collection:
    """Draw the embedded collection."""
    from fieldguide.datasets import load_specimens

    drawn = load_specimens(
        n_per_kind=N_PER_KIND,
        size_px=SIZE_PX,
        n_jobs=-1,
        progress=lambda done, total: progress("drawing specimens", done, total),
    )
    return Collection.from_arrays(
        drawn.images,
        [drawn.target_names[k] for k in drawn.target],
        attributes=drawn.attributes,
        attribute_names=drawn.attribute_names,
        name="specimens",
    )


def finished_demo(out: Path) -> Guide | None:
    """Return the demonstration guide in ``out`` when it is whole and drawn by this very code."""
    try:
        mark = json.loads((out / MARK).read_text(encoding="utf-8"))
        return Guide.open(out) if mark == {"recipe": _recipe()} else None
    except (OSError, ValueError, GuideError):
        return None


def mark_demo(out: Path) -> None:
    """Say that the guide in ``out`` is the demonstration, and which code drew it."""
    write_json(out / MARK, {"recipe": _recipe()})


def _recipe() -> str:
    """Return a digest of the code that draws the collection and builds its guide."""
    digest = blake2b(f"{N_PER_KIND} {SIZE_PX}".encode(), digest_size=16)
    for package in ("datasets", "guide", "features", "describe", "identify", "locate"):
        folder = files("fieldguide") / package
        for file in sorted(folder.iterdir(), key=lambda f: f.name):
            if file.name.endswith((".py", ".tsv")):
                digest.update(file.read_bytes())
    return digest.hexdigest()

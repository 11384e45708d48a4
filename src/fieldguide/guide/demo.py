"""The embedded collection as a guide: drawn once, then found again."""

from collections.abc import Callable
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path

from fieldguide.chapters import OPTIONAL
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide.build import build_guide
from fieldguide.guide.folder import read_info
from fieldguide.guide.guide import Guide
from fieldguide.guide.workspace import Settings

PACKAGES = ("datasets", "guide", "features", "describe", "identify", "select", "locate")
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
    """Return the demonstration guide in ``out`` when it is whole and drawn by this very code.

    Raises
    ------
    GuideError
        When the guide in ``out`` is not a demonstration.
    """
    try:
        info = read_info(out, older=True)
    except GuideError:
        return None
    # Guides of format 1 had a file beside them.
    if "recipe" not in info and not (info["format"] == 1 and (out / "demo.json").exists()):
        raise GuideError(
            f"{str(out)!r} holds a guide of {info.get('source')!r}; choose another folder for the "
            "demonstration with --out."
        )
    try:
        return Guide.open(out) if info.get("recipe") == _recipe() else None
    except GuideError:
        return None


def build_demo(out: Path, progress: Callable[[str, int, int], None]) -> Guide:
    """Draw the embedded collection and build its guide, which says which code drew it."""
    settings = Settings(title="Specimens", recipe=_recipe())
    build_guide(demo_collection(progress), out, settings, progress)
    return Guide.open(out)


def _recipe() -> str:
    """Return a digest of the code that draws the collection and builds its guide."""
    digest = blake2b(f"{N_PER_KIND} {SIZE_PX}".encode(), digest_size=16)
    for package in (*PACKAGES, *(f"chapters/{name}" for name in OPTIONAL)):
        folder = files("fieldguide") / package
        for file in sorted(folder.iterdir(), key=lambda f: f.name):
            if file.name.endswith((".py", ".tsv")):
                digest.update(file.read_bytes())
    return digest.hexdigest()

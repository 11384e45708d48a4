"""The embedded collection, or its clips, as a guide: drawn once, then found again."""

from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import fieldguide
from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide.build import build_guide
from fieldguide.guide.folder import read_info
from fieldguide.guide.guide import Guide
from fieldguide.guide.workspace import Settings

# Packages that show a guide, and have no part in what it is.
SHOWING = ("cli", "exports", "site", "terminal")
N_PER_KIND = 24
SIZE_PX = 320
N_CLIPS = 16  # of each action
CLIP_FRAMES, FRAMES_PER_S, CLIP_PX = 24, 12, 224


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


def demo_clips(progress: Callable[[str, int, int], None]) -> Collection:
    """Draw clips of specimens that fly, swim, crawl and hop."""
    from fieldguide.datasets import load_specimen_clips

    progress("drawing clips", 0, 1)
    drawn = load_specimen_clips(
        n_per_action=N_CLIPS, n_frames=CLIP_FRAMES, size_px=CLIP_PX, n_jobs=-1
    )
    return Collection.from_arrays(
        list(drawn.clips),
        [drawn.target_names[k] for k in drawn.target],
        name="clips",
        frames_per_s=FRAMES_PER_S,
    )


def finished_demo(out: Path, *, clips: bool = False) -> Guide | None:
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
        return Guide.open(out) if info.get("recipe") == _recipe(clips) else None
    except GuideError:
        return None


def build_demo(
    out: Path, progress: Callable[[str, int, int], None], *, clips: bool = False
) -> Guide:
    """Draw the embedded collection, or its clips, and build its guide, which says which code drew
    it."""
    title = "Specimens on the move" if clips else "Specimens"
    collection = demo_clips(progress) if clips else demo_collection(progress)
    build_guide(collection, out, Settings(title=title, recipe=_recipe(clips)), progress)
    return Guide.open(out)


def _recipe(clips: bool) -> str:
    """Return a digest of the code that draws the collection and builds its guide."""
    drawn = (N_CLIPS, CLIP_FRAMES, FRAMES_PER_S, CLIP_PX) if clips else (N_PER_KIND, SIZE_PX)
    digest = blake2b(" ".join(map(str, drawn)).encode(), digest_size=16)
    for file in list_code():
        digest.update(file.read_bytes())
    return digest.hexdigest()


def list_code() -> list[Path]:
    """Return the code and tables that draw a collection and build its guide."""
    root = Path(fieldguide.__file__).parent
    return [
        path
        for path in sorted(root.rglob("*"))
        if path.suffix in (".py", ".tsv") and path.relative_to(root).parts[0] not in SHOWING
    ]

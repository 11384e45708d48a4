"""Build a guide: every chapter in turn, into one edition that is published whole.

What takes long goes through a journal and can be interrupted at any point. The rest is computed
from the measurements alone, so that a build that was killed and continued ends in the same guide
as one that was not.
"""

import platform
import time
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from fieldguide._check import check_choice, check_jobs
from fieldguide._cluster import open_cluster
from fieldguide._parallel import sending_to
from fieldguide.collection import Collection
from fieldguide.errors import CollectionError, GuideError
from fieldguide.features.stack import split_parts
from fieldguide.guide.chapters import list_chapters
from fieldguide.guide.editions import check_folder
from fieldguide.guide.key_choice import check_key
from fieldguide.guide.rows import AUTO
from fieldguide.guide.trees import TREES
from fieldguide.guide.workspace import Progress, Settings, open_workspace

WAITING = "waiting for a worker"


def build_guide(
    collection: Collection,
    out: Path,
    settings: Settings,
    progress: Progress,
    client: Any = None,
) -> None:
    """Build the guide of ``collection`` in the folder ``out``.

    ``client`` is what :func:`~fieldguide._cluster.open_cluster` takes.
    """
    started = time.monotonic()
    check_settings(settings)
    check_target(collection, out)
    clock = StepClock(progress)
    with (
        open_cluster(client) as cluster,
        sending_to(cluster),
        open_workspace(collection, out, settings, clock, cluster) as work,
    ):
        if cluster is not None:
            cluster.waiting = lambda: clock(WAITING, 0, 1)
        for chapter in list_chapters():
            chapter.build(work)
        work.info |= {
            "step_seconds": clock.stop(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": dict(_find_versions()),
            "seconds": round(time.monotonic() - started, 1),
        }
        if settings.recipe:
            work.info["recipe"] = settings.recipe
    progress("done", 1, 1)


def check_settings(settings: Settings) -> None:
    """Refuse settings that no guide can be built with."""
    check_key(settings)
    check_choice("a guide", "tree", settings.tree, TREES)
    check_jobs("a guide", settings.n_jobs)
    if settings.features != AUTO:
        split_parts(settings.features)


def check_target(collection: Collection, out: Path) -> None:
    """Refuse a collection without images, and a folder that a guide must not be written to."""
    if collection.folder is not None:
        source, target = collection.folder.resolve(), out.resolve()
        if target == source or source in target.parents:
            raise GuideError(
                f"The guide would be written into the folder of images ({str(out)!r}); choose a "
                "folder outside it with --out."
            )
        if target in source.parents:
            raise GuideError(
                f"The images are inside the folder for the guide ({str(out)!r}); choose another "
                "folder with --out."
            )
    if not collection.items:
        raise CollectionError(
            f"There is no image in {collection.name!r}; give a folder with JPEG, PNG, WebP, GIF, "
            "TIFF or BMP files, or video files."
        )
    check_folder(out)


@cache
def _find_versions() -> tuple[tuple[str, str], ...]:
    packages = ("fieldguide", "numpy", "scipy", "scikit-learn", "onnxruntime", "Pillow")
    return ("python", platform.python_version()), *((p, metadata.version(p)) for p in packages)


class StepClock:
    """Progress that is passed on, and timed.

    A step lasts until another one is named; one that is named again goes on.

    Examples
    --------
    >>> clock = StepClock(lambda step, done, total: None)
    >>> clock("reading images", 0, 2)
    >>> clock("done", 1, 1)
    >>> list(clock.stop())
    ['reading images', 'done']
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._seconds: dict[str, float] = {}
        self._step: str | None = None
        self._since = 0.0

    def __call__(self, step: str, done: int, total: int) -> None:
        """Note which step goes on, and show how far it is."""
        if step != self._step:
            self._end()
            self._step, self._since = step, time.monotonic()
            self._seconds.setdefault(step, 0.0)
        self._progress(step, done, total)

    def stop(self) -> dict[str, float]:
        """End the last step; return the seconds of each."""
        self._end()
        self._step = None
        return {step: round(seconds, 3) for step, seconds in self._seconds.items()}

    def _end(self) -> None:
        if self._step is not None:
            self._seconds[self._step] += time.monotonic() - self._since

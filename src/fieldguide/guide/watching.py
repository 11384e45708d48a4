"""Keep a guide up to date with its folder: look, wait until the files are at rest, build.

A look lists the folder and reads no file. The guide is built when the folder is no longer as it was
and has not changed from one look to the next, for as long as it takes to be sure that no file is
still being copied. A build that fails, or finds another one at work in the same guide, is tried
again at the next look.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from fieldguide.collection import Collection
from fieldguide.collection.folder import list_files
from fieldguide.errors import CollectionError, FieldguideError, GuideError
from fieldguide.guide import folder as files
from fieldguide.guide.catalogue import Catalogue

Build = Callable[[], None]
Tell = Callable[[str], None]


class Watcher:
    """Builds a guide again when its folder has changed and come to rest.

    Parameters
    ----------
    folder : Path
        Of the images.
    is_current : callable
        Whether the guide already is that of the folder; asked before the first build.
    build : callable
        Builds the guide.
    tell : callable
        Takes one sentence on what goes on.
    settle_s : float
        For how long the files must have stayed as they are.
    clock : callable
        Seconds, from any moment on.
    """

    def __init__(
        self,
        folder: Path,
        is_current: Callable[[], bool],
        build: Build,
        tell: Tell,
        *,
        settle_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder, self._build, self._tell = folder, build, tell
        self._is_current, self._settle_s, self._clock = is_current, settle_s, clock
        self._built: Mapping[str, str] | None = None  # the folder as it was when it was built
        self._seen: Mapping[str, str] | None = None
        self._since = 0.0  # when it was first seen so
        self._said = ""

    def look(self) -> bool:
        """Look at the folder once; build if it is time to. Return whether a guide was built."""
        if not self._folder.is_dir():
            self._say(f"The folder {str(self._folder)!r} is not there; waiting for it.")
            self._seen = None
            return False
        now = list_files(self._folder)[0]
        if now != self._seen:
            if self._seen is not None and self._built is not None:
                self._say("The folder has changed; waiting until its files are at rest.")
            self._seen, self._since = now, self._clock()
        if now == self._built or self._clock() - self._since < self._settle_s:
            return False
        return self._try(now)

    def _try(self, now: Mapping[str, str]) -> bool:
        try:
            if self._built is None and self._is_current():
                self._built = now
                self._say("The guide is up to date.")
                return False
            self._build()
        except (CollectionError, GuideError) as error:
            self._say(str(error))
            self._since = self._clock()  # and again when this much time has passed
            return False
        self._built, self._said = now, ""
        return True

    def _say(self, sentence: str) -> None:
        """Tell a sentence, and not again at every look."""
        if sentence != self._said:
            self._tell(sentence)
        self._said = sentence


def watch(watcher: Watcher, every_s: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Look again and again, until interrupted."""
    while True:
        watcher.look()
        sleep(every_s)


def is_guide_of(out: Path, collection: Collection) -> bool:
    """Whether the guide in ``out`` holds exactly the images of a collection, as they are now."""
    try:
        info = files.read_info(out)
        catalogue = Catalogue(files.find_edition(out, info) / files.CATALOGUE)
    except FieldguideError:
        return False
    try:
        known = {*catalogue.stamps(), *catalogue.failed()}
    finally:
        catalogue.close()
    skipped = {f"{path}\0" for path, _ in collection.skipped}
    return known - skipped == {f"{item.path}\0{item.stamp}" for item in collection.items}


def take_again(
    out: Path, folder: Path, *, kinds: str | None = None, sidecar: Path | None = None
) -> Collection:
    """List a folder as the guide in ``out`` was built from it; what is given goes before that."""
    try:
        before = files.read_info(out).get("labels") or {}
    except GuideError:
        before = {}
    if sidecar is None and before.get("sidecar"):
        sidecar = Path(os.path.normpath(out / before["sidecar"]))
    kinds = kinds or before.get("kinds") or "auto"
    return Collection.from_folder(
        folder, kinds=kinds, sidecar=sidecar, bursts=before.get("bursts", False)
    )

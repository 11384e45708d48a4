"""What is asked of an export: which guide, where to, and what may be used and replaced."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fieldguide._languages import ENGLISH
from fieldguide.errors import FieldguideError
from fieldguide.guide import Guide, Specimen

_BLOCK = 1024  # specimens read together


def _be_silent(step: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class Order:
    """One export.

    Attributes
    ----------
    guide : Guide
    target : Path
        The file or folder to write.
    images : Path or None
        Where the originals are, for formats that hold pictures; None for the guide's own views.
    overwrite : bool
        Replace what is there.
    progress : callable
        Called with (what is being done, how many are done, how many there are).
    language : str
        The language of pages.
    """

    guide: Guide
    target: Path
    images: Path | None = None
    overwrite: bool = False
    progress: Callable[[str, int, int], None] = _be_silent
    language: str = ENGLISH

    def check_file(self) -> None:
        """Refuse a place where no file can be written, or where one would be lost."""
        name = repr(str(self.target))
        place = Path(os.path.abspath(self.target)).resolve()
        if place.is_relative_to(Path(self.guide.folder).resolve()):
            raise FieldguideError(
                f"{name} lies in the guide's own folder; choose a place outside the guide."
            )
        if self.target.is_dir():
            raise FieldguideError(f"{name} is a folder; this format is one file: give its name.")
        if not place.parent.is_dir():
            raise FieldguideError(
                f"There is no folder {str(place.parent)!r} for the export; make it, or choose "
                "another."
            )
        if os.path.lexists(self.target) and not self.overwrite:
            raise FieldguideError(
                f"{name} is there already; add `overwrite` to replace it, or give another name."
            )

    def list_specimens(self, step: str) -> Iterator[Specimen]:
        """Yield the specimens in their order, and tell of the progress of ``step``."""
        ids = self.guide.ids
        for start in range(0, len(ids), _BLOCK):
            for k, specimen in enumerate(self.guide.specimens(ids[start : start + _BLOCK])):
                yield specimen
                self.progress(step, start + k + 1, len(ids))

"""Whether the files of a guide are plain files in plain folders.

A link inside a guide could lead to any file of the machine, which the server and an export would
then show; a pipe would be waited for without end.
"""

import os
import stat
from pathlib import Path

from fieldguide.guide.validation.shapes import UnsoundError

# Below the folder of a guide, besides its editions; those of ``pictures`` are looked at when a
# picture is asked for.
TOP = ("guide.json", "edits.jsonl", "build.journal", "editions", "pictures")


def check_files(root: Path, edition: Path | None = None) -> None:
    """Refuse a guide with a file or folder that is a link, or neither file nor folder.

    Of an edition everything is looked at; without one, what lies in ``root`` itself under the names
    that a guide uses.
    """
    for name in TOP:
        _check(root / name, name)
    if edition is not None:
        _check(edition, edition.name)
        _check_below(edition, f"{edition.name}/")


def _check_below(folder: Path, place: str) -> None:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UnsoundError(f"its folder {place[:-1]!r} cannot be read ({error.strerror})") from None
    for entry in entries:
        _check(Path(entry.path), f"{place}{entry.name}")
        if entry.is_dir(follow_symlinks=False):
            _check_below(Path(entry.path), f"{place}{entry.name}/")


def _check(path: Path, name: str) -> None:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return  # what is missing is told of by whoever needs it
    if stat.S_ISLNK(mode):
        raise UnsoundError(f"its file {name!r} is a link, and no link inside a guide is followed")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UnsoundError(f"its file {name!r} is neither a plain file nor a folder")

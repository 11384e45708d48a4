"""Whether the files of a guide are plain files in plain folders, and no more than fit in memory.

A link inside a guide could lead to any file of the machine, which the server and an export would
then show, or which a build would write to; a pipe would be waited for without end. A file of holes
may claim any size: what is read whole, which is all but the catalogue and the matrices, must leave
the machine half of its memory.
"""

import os
import stat
from pathlib import Path

from fieldguide._files import half_of_memory
from fieldguide.guide.validation.shapes import UnsoundError

_JOURNAL = "build.journal"
# Below the folder of a guide, besides its editions.
TOP = (
    *("guide.json", "edits.jsonl", "editions", "pictures"),
    *(_JOURNAL + suffix for suffix in ("", "-wal", "-shm", "-journal")),
)
_MAPPED = ("catalogue.sqlite", "features/")  # not read whole


def check_files(root: Path, edition: Path | None = None) -> None:
    """Refuse a guide with a file or folder that is a link, or neither file nor folder.

    Of an edition everything is looked at; without one, what lies in ``root`` itself under the names
    that a guide uses. Of the folder of pictures, which may be many, only its folders are; a picture
    is looked at when it is asked for.
    """
    sizes = {name: _check(root / name, name) for name in TOP}
    _check_pictures(root / "pictures")
    n_bytes = sizes["guide.json"] + sizes["edits.jsonl"]
    if edition is not None:
        _check(edition, edition.name)
        n_bytes += _check_below(edition, "", edition.name)
    if n_bytes > half_of_memory():
        raise UnsoundError(
            f"its models claim {n_bytes / 1e9:,.1f} GB, over half of the memory of this machine"
        )


def _check_below(folder: Path, place: str, edition: str) -> int:
    """Look at everything below a folder of an edition; return how many bytes are read whole."""
    n_bytes = 0
    for entry in _list_folder(folder, f"{edition}/{place}"[:-1] if place else edition):
        own = f"{place}{entry.name}"
        size = _check(Path(entry.path), f"{edition}/{own}")
        if entry.is_dir(follow_symlinks=False):
            n_bytes += _check_below(Path(entry.path), f"{own}/", edition)
        elif not own.startswith(_MAPPED):
            n_bytes += size
    return n_bytes


def _check_pictures(folder: Path) -> None:
    """A build would write pictures through a link to another folder."""
    if not folder.is_dir():
        return
    for entry in _list_folder(folder, folder.name):
        if entry.is_symlink():
            _check(Path(entry.path), f"{folder.name}/{entry.name}")


def _list_folder(folder: Path, place: str) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise UnsoundError(f"its folder {place!r} cannot be read ({error.strerror})") from None


def _check(path: Path, name: str) -> int:
    """Look at one file or folder; return its size."""
    try:
        status = os.lstat(path)
    except OSError:
        return 0  # what is missing is told of by whoever needs it
    if stat.S_ISLNK(status.st_mode):
        raise UnsoundError(f"its file {name!r} is a link, and no link inside a guide is followed")
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise UnsoundError(f"its file {name!r} is neither a plain file nor a folder")
    return status.st_size

"""Files that commands write: a slip of the fingers must not cost somebody a file of their own.

``fieldguide locate GUIDE --out a.jpg b.jpg`` means two photographs, and would replace the first.
So a file that exists is replaced only when its content says that the same command wrote it.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

from fieldguide.errors import FieldguideError

_HEAD = 4096  # bytes; what tells our files stands before their pictures
_DRAWING = b'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t d" '
_PAGE = b"<title>Two trees of "
_PAIR_PAGE = b"<title>Two kinds of "
_PRINTED_KEY = b"Key to the "
PLATE_SOFTWARE = "fieldguide"  # the text "Software" of a plate


def check_target(path: Path, option: str, is_ours: Callable[[Path], bool]) -> None:
    """Refuse a file that cannot be written, or that would replace one of the user's own.

    Parameters
    ----------
    path : Path
    option : str
        What the user gave it with, such as ``"--out"``.
    is_ours : callable
        Whether the content of a file is what the command writes.
    """
    name, folder = repr(str(path)), path.parent
    if path.is_dir():
        raise FieldguideError(f"{name} is a folder; give {option} the name of a file.")
    if not folder.is_dir():
        raise FieldguideError(
            f"There is no folder {str(folder)!r} for {option}; make it, or choose another."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FieldguideError(
            f"The folder {str(folder)!r} may not be written to; give {option} a file in another."
        )
    if not path.exists():
        return
    if not path.is_file():
        raise FieldguideError(f"{name} is a device or a pipe; give {option} the name of a file.")
    if path.stat().st_size and not is_ours(path):
        raise FieldguideError(
            f"{name} is there already, and this command did not write it; give {option} another "
            "name, or remove the file."
        )


def is_drawing(path: Path) -> bool:
    """Whether a file is an SVG of ``fieldguide plot``."""
    return _read_head(path).startswith(_DRAWING)


def is_comparison(path: Path) -> bool:
    """Whether a file is a page of ``fieldguide describe --beside``."""
    return _PAGE in _read_head(path)


def is_pair_page(path: Path) -> bool:
    """Whether a file is a page of ``fieldguide compare``."""
    return _PAIR_PAGE in _read_head(path)


def is_printed_key(path: Path) -> bool:
    """Whether a file is a page or a text of ``fieldguide key --print``."""
    head = _read_head(path)
    return head.startswith(_PRINTED_KEY) or b"<title>" + _PRINTED_KEY in head


def is_plate(path: Path) -> bool:
    """Whether a file is a PNG of ``fieldguide describe --words``."""
    return b"tEXtSoftware\0" + PLATE_SOFTWARE.encode() in _read_head(path)


def is_found_boxes(path: Path) -> bool:
    """Whether a file is COCO JSON of ``fieldguide locate``: boxes with scores and nothing else.

    Boxes that people have drawn have no scores.
    """
    try:
        content = json.loads(path.read_bytes())
        return {*content} == {"images", "annotations", "categories"} and all(
            "score" in each for each in content["annotations"]
        )
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def _read_head(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""  # what cannot be read may be anything

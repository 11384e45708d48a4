"""The pictures of a guide: thumbnails of specimens, and what marks and words are shown by.

Each has an address below ``pictures/`` that belongs to its content, so a picture that stands is
never written again with another one's content: editions share them, and a browser may keep them.
"""

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from PIL import Image

from fieldguide._files import open_below
from fieldguide.errors import GuideError

# Where pictures are written before they get their name; more threads wait for their turn.
PART_NAMES = tuple(f"parts/{number}" for number in range(64))
_ADDRESS = re.compile(
    r"pictures/(?:([0-9a-f]{2})/\1[0-9a-f]{22}\.[sl]\.jpg|[a-z]{1,20}/[0-9a-f]{32}\.[a-z]{3,4})"
)
_FORMATS = ("JPEG", "PNG")
_MOST_PX = 8192  # on the longer side; ours are far smaller


def name_content(group: str, data: bytes, suffix: str) -> str:
    """Return the address of a picture that is named by its content."""
    return f"pictures/{group}/{blake2b(data, digest_size=16).hexdigest()}.{suffix}"


class Shelf:
    """Writes pictures below the folder of a guide, each whole or not at all. Threads share it.

    Parameters
    ----------
    root : Path
        Folder of the guide.
    parts : sequence of Path
        Files to write a picture to before it is moved to its place. They are few and fixed, so
        that whatever a killed build leaves there can be deleted by name.
    """

    def __init__(self, root: Path, parts: Sequence[Path]) -> None:
        self.root = root
        self._free = list(parts)
        self._has_free = threading.Condition()

    def has(self, address: str) -> bool:
        """Whether the picture is there and not empty."""
        return has_content(self.root / address)

    def put(self, address: str, data: bytes) -> None:
        """Write a picture unless it is there."""
        if self.has(address):
            return
        place = self.root / address
        place.parent.mkdir(parents=True, exist_ok=True)
        with self._part() as part:
            part.write_bytes(data)
            os.replace(part, place)

    def keep(self, group: str, data: bytes, suffix: str) -> str:
        """Write a picture under the digest of its content; return its address."""
        address = name_content(group, data, suffix)
        self.put(address, data)
        return address

    @contextmanager
    def _part(self) -> Iterator[Path]:
        with self._has_free:
            self._has_free.wait_for(lambda: self._free)
            part = self._free.pop()
        try:
            yield part
        finally:
            with self._has_free:
                self._free.append(part)
                self._has_free.notify()


def has_content(path: Path) -> bool:
    """Whether there is a file that is not empty."""
    try:
        return path.stat().st_size > 0 and path.is_file()
    except OSError:
        return False


def is_address(address: object) -> bool:
    """Whether a text is an address that pictures of a guide have.

    >>> is_address(f"pictures/0a/0a{'1' * 22}.s.jpg"), is_address("pictures/../guide.json")
    (True, False)
    """
    return isinstance(address, str) and _ADDRESS.fullmatch(address) is not None


def open_file(root: Path, address: str) -> BinaryIO | None:
    """Open the file of a picture of the guide in ``root``; None where there is none.

    It is a plain file at an address of ours: no link below the folder of the guide is followed,
    whoever puts one there at that moment.
    """
    if not is_address(address):
        return None
    try:
        return open(open_below(root, address), "rb")
    except OSError:
        return None


def open_picture(root: Path, address: str, *, at_most_px: int | None = None) -> Image.Image:
    """Return a picture of the guide in ``root``, decoded; GuideError where it cannot be used.

    ``at_most_px`` makes a larger one smaller, and decodes little more than that.
    """
    try:
        file = open_file(root, address)
        if file is None:
            raise OSError("it is missing, or no plain file of the guide")
        with file, Image.open(file, formats=_FORMATS) as image:
            if max(image.size) > _MOST_PX:
                raise OSError(f"it claims to have {image.width} × {image.height} pixels")
            if at_most_px is not None:
                image.draft("YCbCr", (at_most_px, at_most_px))
            image.load()
            if at_most_px is not None:
                image.thumbnail((at_most_px, at_most_px), Image.Resampling.BILINEAR)
            return image
    except Exception as error:  # decoders raise nearly anything on a damaged file
        raise GuideError(
            f"The picture {address!r} of the guide cannot be used ({error}); delete it and build "
            "the guide again, which makes it anew."
        ) from None

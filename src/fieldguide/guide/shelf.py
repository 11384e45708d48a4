"""The pictures of a guide: thumbnails of specimens, and what marks and words are shown by.

Each has an address below ``pictures/`` that belongs to its content, so a picture that stands is
never written again with another one's content: editions share them, and a browser may keep them.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

# Where pictures are written before they get their name; more threads wait for their turn.
PART_NAMES = tuple(f"parts/{number}" for number in range(64))


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
        digest = blake2b(data, digest_size=16).hexdigest()
        address = f"pictures/{group}/{digest}.{suffix}"
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

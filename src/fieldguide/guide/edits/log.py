"""The log of the owner's edits: ``edits.jsonl`` beside ``guide.json``, one JSON object a line.

Lines are only ever appended. An editor locks the file, reads the last number, writes its lines at
once and waits until they are on the disk; so two editors lose nothing. A line that cannot be read,
such as one that a failing disk tore, has no effect: it stays where it is, and is told of.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from fieldguide._files import open_regular, read_regular
from fieldguide.errors import EditError, GuideError
from fieldguide.guide.edits.records import UNDO, Edit, as_clause

FILE_NAME = "edits.jsonl"


class Reading(NamedTuple):
    """What the log holds."""

    edits: tuple[Edit, ...] = ()  # in their order, numbers growing
    faults: tuple[str, ...] = ()  # a sentence for each line that cannot be read

    @property
    def undone(self) -> frozenset[int]:
        """The numbers of the edits that are undone; an undo may be undone too."""
        undone: set[int] = set()
        for edit in reversed(self.edits):
            if edit.undoes is not None and edit.number not in undone:
                undone.add(edit.undoes)
        return frozenset(undone)

    @property
    def active(self) -> tuple[Edit, ...]:
        """The edits that hold: neither undone nor undoing."""
        undone = self.undone
        return tuple(e for e in self.edits if e.verb != UNDO and e.number not in undone)

    @property
    def last(self) -> int:
        """The number of the last edit; 0 where there is none."""
        return self.edits[-1].number if self.edits else 0


class EditLog:
    """The log in the folder of a guide."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME

    def stamp(self) -> tuple[int, int] | None:
        """Return what changes when the log does; None where there is none."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns

    def read(self) -> Reading:
        """Return all edits; a line that cannot be read is passed over and told of."""
        try:
            return _read_lines(read_regular(self.path))
        except FileNotFoundError:
            return Reading()
        except OSError as error:
            why = error.strerror or str(error)
            raise GuideError(f"The edits {str(self.path)!r} cannot be read: {why}.") from None

    def append(self, edits: Sequence[Edit]) -> list[Edit]:
        """Write edits at the end, all or none; return them with their numbers.

        An undo is checked against what the log holds at that moment.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            with _open_locked(self.path) as file:
                data = _read_all(file)
                known = _read_lines(data)
                first = max(known.last, data.count(b"\n")) + 1
                numbered = [replace(e, number=first + k, time=now) for k, e in enumerate(edits)]
                _check_undos(known, numbered)
                lines = "".join(
                    json.dumps(edit.to_plain(), ensure_ascii=False) + "\n" for edit in numbered
                )
                # Whatever was torn before stays a line of its own.
                start = b"" if not data or data.endswith(b"\n") else b"\n"
                _write_whole(file, len(data), start + lines.encode("utf-8"))
        except (EditError, GuideError):
            raise
        except (OSError, UnicodeError) as error:
            raise GuideError(
                f"The edit cannot be written to {str(self.path)!r}: {error}; nothing was changed."
            ) from None
        return numbered


def _read_lines(data: bytes) -> Reading:
    edits: list[Edit] = []
    faults = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            edit = Edit.from_plain(json.loads(line.decode("utf-8")))
            if edit.number <= (edits[-1].number if edits else 0):
                raise EditError(f"its number {edit.number} does not follow the one before")
            edits.append(edit)
        except EditError as error:
            faults.append(f"Line {number} of {FILE_NAME} has no effect: {as_clause(error)}.")
        except (ValueError, RecursionError):
            faults.append(f"Line {number} of {FILE_NAME} has no effect: it is damaged or torn.")
    return Reading(tuple(edits), tuple(faults))


def _check_undos(known: Reading, new: Sequence[Edit]) -> None:
    """Refuse to undo what is not there, or what is undone already."""
    numbers, undone = {edit.number for edit in known.edits}, set(known.undone)
    for edit in new:
        if edit.undoes is None:
            continue
        if edit.undoes not in numbers:
            raise EditError(
                f"There is no edit {edit.undoes} to undo; 'fieldguide edit GUIDE --history' lists "
                "them."
            )
        if edit.undoes in undone:
            raise EditError(f"Edit {edit.undoes} is undone already.")
        undone.add(edit.undoes)


@contextlib.contextmanager
def _open_locked(path: Path) -> Iterator[int]:
    """Open a file for reading and writing, alone; wait for whoever has it."""
    file = open_regular(path, os.O_RDWR | os.O_CREAT)
    try:
        _lock(file)
        try:
            yield file
        finally:
            _unlock(file)
    finally:
        os.close(file)


try:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)

except ImportError:  # Windows
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]

    def _unlock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]


def _read_all(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write_whole(file: int, end: int, data: bytes) -> None:
    """Write at the end and wait for the disk; a write that fails leaves the file as it was."""
    os.lseek(file, end, os.SEEK_SET)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except BaseException:
        os.ftruncate(file, end)
        raise

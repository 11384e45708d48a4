"""The journal of a build: what has been measured so far, so that a killed build can go on.

A SQLite file in the guide's folder, committed a few images at a time and removed when the guide
is complete. It is locked while a build runs: a second build into the same folder is refused.

It also lists, before they are written, the files that the build puts into the folder, so that they
can be deleted by name: see editions.py.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, MutableMapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from fieldguide._files import is_disk_full
from fieldguide.collection import Taken
from fieldguide.errors import GuideError
from fieldguide.guide.measure import Measured, list_pictures
from fieldguide.guide.validation import UnsoundError, check_journal
from fieldguide.guide.views import Clip, read_clip_frames

FILE_NAME = "build.journal"
_ROLLBACK = "-journal"
_SUFFIXES = ("-wal", "-shm", _ROLLBACK)  # of the files that SQLite keeps beside it

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS measured (
    path TEXT PRIMARY KEY, stamp TEXT NOT NULL, reason TEXT, digest TEXT NOT NULL,
    width INTEGER NOT NULL, height INTEGER NOT NULL, has_large INTEGER NOT NULL,
    keywords TEXT NOT NULL, properties BLOB, embedding BLOB, logits BLOB
);
CREATE TABLE IF NOT EXISTS taken (
    path TEXT NOT NULL, stamp TEXT NOT NULL, date TEXT, latitude REAL, longitude REAL,
    caption TEXT NOT NULL, PRIMARY KEY (path, stamp)
);
CREATE TABLE IF NOT EXISTS clip (
    path TEXT NOT NULL, stamp TEXT NOT NULL, seconds REAL NOT NULL, frames TEXT NOT NULL,
    PRIMARY KEY (path, stamp)
);
CREATE TABLE IF NOT EXISTS kept (
    part TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (part, name)
);
CREATE TABLE IF NOT EXISTS edition (number INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS noted (name TEXT PRIMARY KEY);
"""
_STATEMENTS = {
    statement.split()[5]: statement.replace("IF NOT EXISTS ", "")
    for statement in filter(str.strip, _SCHEMA.split(";"))
}
_MEASURED = ("measured", "taken", "clip", "settings", "kept")


def is_journal(path: Path) -> bool:
    """Whether a file is a journal of ours, or an empty one that a killed build had just made."""
    if not path.is_file():
        return False
    try:
        _drop_rollback(path)
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=0.2)
        try:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        finally:
            db.close()
    except sqlite3.OperationalError as error:  # another build has it open
        return "locked" in str(error)
    except (OSError, sqlite3.DatabaseError):
        return False
    return not tables or {"settings", "measured"} <= tables


def _drop_rollback(path: Path) -> None:
    """Delete what SQLite would roll back first, and obey: it may name any file to be deleted.

    A journal of ours is kept as a log ahead (WAL), and has such a file only before it holds
    anything; one of somebody else's is not trusted with more than a guide is.
    """
    rollback = f"{path}{_ROLLBACK}"
    if os.path.lexists(rollback):  # a disk that cannot be written refuses to delete even nothing
        os.unlink(rollback)


class Journal:
    """Measurements on disk, by path and stamp.

    Parameters
    ----------
    folder : Path
        Of the guide.
    settings : str
        Whatever the measurements depend on; a journal with other settings is started anew.
    """

    def __init__(self, folder: Path, settings: str) -> None:
        self.path = folder / FILE_NAME
        try:
            self._open(settings)
        except (sqlite3.DatabaseError, UnicodeDecodeError, UnsoundError, OSError) as error:
            if "locked" in str(error):
                raise GuideError(
                    f"Another build is writing to {str(folder)!r}; wait for it, or stop it first."
                ) from None
            self._check_writable()
            if is_disk_full(error) or "disk I/O" in str(error):
                raise
            self._set_aside()  # damaged, or not ours: what it held is measured again
            self._open(settings)

    def _check_writable(self) -> None:
        """Say why nothing can be written to the folder, of which SQLite says little."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644))
        except OSError as error:
            raise GuideError(
                f"A guide cannot be written to {str(self.path.parent)!r} ({error.strerror}); "
                "choose another folder with --out."
            ) from None

    def _open(self, settings: str) -> None:
        _drop_rollback(self.path)
        self._db = sqlite3.connect(self.path, timeout=0.2, isolation_level=None)
        try:
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA.split(";"):
                self._db.execute(statement)
            self._db.execute("COMMIT")
            check_journal(self._db, _STATEMENTS)
            self._check_settings(settings)
        except BaseException:
            self._db.close()
            raise

    def _set_aside(self) -> None:
        """Give a file that is no journal another name; it may be somebody's."""
        number = 1
        while os.path.lexists(f"{self.path}.damaged-{number}"):
            number += 1
        for suffix in ("", *_SUFFIXES):
            with suppress(FileNotFoundError):
                os.rename(f"{self.path}{suffix}", f"{self.path}.damaged-{number}{suffix}")

    def _check_settings(self, settings: str) -> None:
        found = [value for (value,) in self._db.execute("SELECT value FROM settings")]
        if found != [settings]:
            self._db.execute("BEGIN IMMEDIATE")
            for name in _MEASURED:
                self._db.execute(f"DELETE FROM {name}")
            self._db.execute("INSERT INTO settings VALUES (?)", (settings,))
            self._db.execute("COMMIT")

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Delete the journal of a build that is complete; keep that of any other."""
        if kind is None:
            self.remove()
        else:
            self.close()

    def edition(self) -> int | None:
        """Return the number of the edition that is being written; None before there is one."""
        found = self._db.execute("SELECT number FROM edition").fetchone()
        return None if found is None else found[0]

    def start_edition(self, number: int) -> None:
        """Say which edition is written from now on."""
        self._db.execute("BEGIN IMMEDIATE")
        for statement in ("DELETE FROM edition", "DELETE FROM noted"):
            self._db.execute(statement)
        self._db.execute("INSERT INTO edition VALUES (?)", (number,))
        self._db.execute("COMMIT")

    def note(self, *names: str) -> None:
        """Keep names of files, relative to the folder of the guide, before they are written."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT OR IGNORE INTO noted VALUES (?)", [(n,) for n in names])
        self._db.execute("COMMIT")

    def noted(self, start: str = "") -> list[str]:
        """Return the names that were noted and begin with ``start``."""
        names = self._db.execute("SELECT name FROM noted ORDER BY name")
        return [name for (name,) in names if name.startswith(start)]

    def pictures(self) -> set[str]:
        """Return the addresses of all pictures of specimens that this build has measured."""
        return {name for names in self.file_pictures().values() for name in names}

    def file_pictures(self) -> dict[str, tuple[str, ...]]:
        """Return the addresses of all pictures of every file, as path, NUL, stamp."""
        found = self._db.execute(
            "SELECT path, stamp, digest, has_large FROM measured WHERE reason IS NULL"
        )
        clips = self.clips()
        return {
            (file := f"{path}\0{stamp}"): list_pictures(digest, has_large, clips.get(file))
            for path, stamp, digest, has_large in found
        }

    def clips(self) -> dict[str, Clip]:
        """Return the clips among the files, by path, NUL, stamp."""
        rows = self._db.execute("SELECT * FROM clip")
        return {
            f"{path}\0{stamp}": Clip(seconds, read_clip_frames(frames))
            for path, stamp, seconds, frames in rows
        }

    def digests(self) -> dict[str, str]:
        """Return the digest of every file that could be read, by path, NUL, stamp."""
        query = "SELECT path, stamp, digest FROM measured WHERE reason IS NULL"
        return {f"{path}\0{stamp}": digest for path, stamp, digest in self._db.execute(query)}

    def failed(self) -> dict[str, str]:
        """Return the reason of every file that cannot be read, as path, NUL, stamp."""
        query = "SELECT path, stamp, reason FROM measured WHERE reason IS NOT NULL"
        return {f"{path}\0{stamp}": reason for path, stamp, reason in self._db.execute(query)}

    def kept(self, part: str) -> "Kept":
        """Return what a chapter keeps under ``part`` so that it need not be computed again."""
        return Kept(self._db, part)

    def stamps(self) -> dict[str, str]:
        """Return the stamp of every path that has been measured."""
        return dict(self._db.execute("SELECT path, stamp FROM measured"))

    def write_taken(self, records: Iterable[tuple[str, str, Taken]]) -> None:
        """Keep when and where pictures were taken, each by its path and stamp."""
        self._db.execute("BEGIN IMMEDIATE")
        self._insert_taken(records)
        self._db.execute("COMMIT")

    def _insert_taken(self, records: Iterable[tuple[str, str, Taken]]) -> None:
        rows = [(path, stamp, *taken) for path, stamp, taken in records]
        self._db.executemany("INSERT OR REPLACE INTO taken VALUES (?, ?, ?, ?, ?, ?)", rows)

    def taken(self) -> dict[str, Taken]:
        """Return when and where each picture was taken, by path, NUL, stamp."""
        rows = self._db.execute("SELECT * FROM taken")
        return {f"{path}\0{stamp}": Taken(*said) for path, stamp, *said in rows}

    def write(self, records: Iterable[Measured]) -> None:
        """Keep ``records``; they survive whatever comes next."""
        records = list(records)
        rows = [
            (
                r.path,
                r.stamp,
                r.reason,
                r.digest,
                r.width,
                r.height,
                r.has_large,
                json.dumps(r.keywords),
                *(
                    None if a is None else pack_row(a)
                    for a in (r.properties, r.embedding, r.logits)
                ),
            )
            for r in records
        ]
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(
            f"INSERT OR REPLACE INTO measured VALUES ({', '.join('?' * 11)})", rows
        )
        self._insert_taken((r.path, r.stamp, r.taken) for r in records if r.taken is not None)
        self._db.executemany(
            "INSERT OR REPLACE INTO clip VALUES (?, ?, ?, ?)",
            [
                (r.path, r.stamp, r.clip.seconds, json.dumps(r.clip.frames))
                for r in records
                if r.clip is not None
            ],
        )
        self._db.execute("COMMIT")

    def read(self, path: str) -> Measured:
        """Return what was written for ``path``."""
        row = self._db.execute("SELECT * FROM measured WHERE path = ?", (path,)).fetchone()
        keywords = tuple(json.loads(row[7]))
        query = "SELECT seconds, frames FROM clip WHERE path = ? AND stamp = ?"
        moving = self._db.execute(query, row[:2]).fetchone()
        properties, embedding, logits = (
            None if blob is None else unpack_row(blob) for blob in row[8:]
        )
        return Measured(
            path,
            stamp=row[1],
            reason=row[2],
            digest=row[3],
            width=row[4],
            height=row[5],
            has_large=bool(row[6]),
            keywords=keywords,
            clip=None if moving is None else Clip(moving[0], read_clip_frames(moving[1])),
            properties=properties,
            embedding=embedding,
            logits=logits,
        )

    def close(self) -> None:
        """Let go of the file, so that another build may use it."""
        self._db.close()

    def remove(self) -> None:
        """Delete the journal."""
        self.close()
        for suffix in (*_SUFFIXES, ""):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)


class Kept(MutableMapping[str, bytes]):
    """Bytes by name in a journal. They survive whatever comes next."""

    def __init__(self, db: sqlite3.Connection, part: str) -> None:
        self._db = db
        self._part = part

    def __getitem__(self, name: str) -> bytes:
        query = "SELECT value FROM kept WHERE part = ? AND name = ?"
        found = self._db.execute(query, (self._part, name)).fetchone()
        if found is None:
            raise KeyError(name)
        value: bytes = found[0]
        return value

    def __setitem__(self, name: str, value: bytes) -> None:
        self.write([(name, value)])

    def __delitem__(self, name: str) -> None:
        self._db.execute("DELETE FROM kept WHERE part = ? AND name = ?", (self._part, name))

    def __iter__(self) -> Iterator[str]:
        query = "SELECT name FROM kept WHERE part = ? ORDER BY name"
        return iter([name for (name,) in self._db.execute(query, (self._part,))])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def write(self, items: Iterable[tuple[str, bytes]]) -> None:
        """Keep several at once: all of them, or none."""
        rows = [(self._part, name, value) for name, value in items]
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)
        self._db.execute("COMMIT")


def pack_row(row: np.ndarray) -> bytes:
    """Return a row of float32 as bytes."""
    return np.ascontiguousarray(row, dtype="<f4").tobytes()


def unpack_row(data: bytes) -> np.ndarray:
    """Return the row that :func:`pack_row` was given."""
    return np.frombuffer(data, dtype="<f4")

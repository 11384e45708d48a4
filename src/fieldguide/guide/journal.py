"""The journal of a build: what has been measured so far, so that a killed build can go on.

A SQLite file in the guide's folder, committed a few images at a time and removed when the guide
is complete. It is locked while a build runs: a second build into the same folder is refused.
"""

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from fieldguide.errors import GuideError
from fieldguide.guide.measure import Measured

FILE_NAME = "build.journal"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS measured (
    path TEXT PRIMARY KEY, stamp TEXT NOT NULL, reason TEXT, digest TEXT NOT NULL,
    width INTEGER NOT NULL, height INTEGER NOT NULL, has_large INTEGER NOT NULL,
    keywords TEXT NOT NULL, properties BLOB, embedding BLOB, logits BLOB
);
CREATE TABLE IF NOT EXISTS rows_settings (value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rows (file TEXT PRIMARY KEY, row BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS windows (file TEXT PRIMARY KEY, row BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS regions (
    picture TEXT PRIMARY KEY, height INTEGER NOT NULL, labels BLOB NOT NULL, rows BLOB NOT NULL,
    contrast BLOB NOT NULL
);
"""


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
            self._open()
            self._check_settings(settings)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise GuideError(
                    f"The journal {str(self.path)!r} cannot be used: {error}."
                ) from None
            raise GuideError(
                f"Another build is writing to {str(folder)!r}; wait for it, or stop it first."
            ) from None
        except sqlite3.DatabaseError:  # damaged: what it held is measured again
            self.remove()
            self._open()
            self._check_settings(settings)

    def _open(self) -> None:
        self._db = sqlite3.connect(self.path, timeout=0.2, isolation_level=None)
        self._db.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.split(";"):
            self._db.execute(statement)
        self._db.execute("COMMIT")

    def _check_settings(self, settings: str) -> None:
        found = [value for (value,) in self._db.execute("SELECT value FROM settings")]
        if found != [settings]:
            self._db.execute("BEGIN IMMEDIATE")
            for name in ("measured", "settings", "rows", "rows_settings", "windows", "regions"):
                self._db.execute(f"DELETE FROM {name}")
            self._db.execute("INSERT INTO settings VALUES (?)", (settings,))
            self._db.execute("COMMIT")

    def stamps(self) -> dict[str, str]:
        """Return the stamp of every path that has been measured."""
        return dict(self._db.execute("SELECT path, stamp FROM measured"))

    def write(self, records: Iterable[Measured]) -> None:
        """Keep ``records``; they survive whatever comes next."""
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
                *(_to_blob(a) for a in (r.properties, r.embedding, r.logits)),
            )
            for r in records
        ]
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(
            f"INSERT OR REPLACE INTO measured VALUES ({', '.join('?' * 11)})", rows
        )
        self._db.execute("COMMIT")

    def read(self, path: str) -> Measured:
        """Return what was written for ``path``."""
        row = self._db.execute("SELECT * FROM measured WHERE path = ?", (path,)).fetchone()
        keywords = tuple(json.loads(row[7]))
        properties, embedding, logits = (_from_blob(blob) for blob in row[8:])
        return Measured(
            path,
            stamp=row[1],
            reason=row[2],
            digest=row[3],
            width=row[4],
            height=row[5],
            has_large=bool(row[6]),
            keywords=keywords,
            properties=properties,
            embedding=embedding,
            logits=logits,
        )

    def start_rows(self, digest: str) -> None:
        """Begin to keep rows of the stack with this digest; those of another are dropped."""
        found = [value for (value,) in self._db.execute("SELECT value FROM rows_settings")]
        if found != [digest]:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("DELETE FROM rows")
            self._db.execute("DELETE FROM rows_settings")
            self._db.execute("INSERT INTO rows_settings VALUES (?)", (digest,))
            self._db.execute("COMMIT")

    def row_files(self) -> set[str]:
        """Return the files that have a row, each as path, NUL, stamp."""
        return {file for (file,) in self._db.execute("SELECT file FROM rows")}

    def write_rows(self, rows: Iterable[tuple[str, np.ndarray]], part: str = "rows") -> None:
        """Keep a row for each file; ``part`` is "rows", of the stack, or "windows", for marks."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(
            f"INSERT OR REPLACE INTO {part} VALUES (?, ?)",
            [(file, _to_blob(row)) for file, row in rows],
        )
        self._db.execute("COMMIT")

    def read_row(self, file: str, part: str = "rows") -> np.ndarray | None:
        """Return the row of a file, or None."""
        found = self._db.execute(f"SELECT row FROM {part} WHERE file = ?", (file,)).fetchone()
        return None if found is None else _from_blob(found[0])

    def region_pictures(self) -> set[str]:
        """Return the pictures whose regions are known."""
        return {picture for (picture,) in self._db.execute("SELECT picture FROM regions")}

    def write_regions(self, regions: Iterable[tuple[str, np.ndarray, np.ndarray, Any]]) -> None:
        """Keep the label map of each picture, and the rows and the contrast of its regions."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(
            "INSERT OR REPLACE INTO regions VALUES (?, ?, ?, ?, ?)",
            [
                (picture, len(cut), cut.astype("<u2").tobytes(), _to_blob(rows), _to_blob(contrast))
                for picture, cut, rows, contrast in regions
            ],
        )
        self._db.execute("COMMIT")

    def read_regions(self, picture: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what was written of a picture: label map, rows and contrast of its regions."""
        query = "SELECT height, labels, rows, contrast FROM regions WHERE picture = ?"
        height, labels, rows, contrast = self._db.execute(query, (picture,)).fetchone()
        cut = np.frombuffer(labels, dtype="<u2").reshape(height, -1)
        table = np.frombuffer(rows, dtype="<f4").reshape(int(cut.max()) + 1, -1)
        return cut, table, np.frombuffer(contrast, dtype="<f4")

    def close(self) -> None:
        """Let go of the file, so that another build may use it."""
        self._db.close()

    def remove(self) -> None:
        """Delete the journal."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)


def _to_blob(array: np.ndarray | None) -> bytes | None:
    return None if array is None else np.ascontiguousarray(array, dtype="<f4").tobytes()


def _from_blob(blob: bytes | None) -> np.ndarray | None:
    return None if blob is None else np.frombuffer(blob, dtype="<f4")

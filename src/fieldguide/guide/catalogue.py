"""The catalogue of a guide: a SQLite file that any program can query.

It is written once and read-only afterwards.
"""

import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from fieldguide._files import open_regular
from fieldguide.collection import Taken
from fieldguide.errors import GuideError
from fieldguide.guide.dates import DateRange
from fieldguide.guide.measure import Measured, picture_names
from fieldguide.guide.naming import show_kinds
from fieldguide.guide.validation import UnsoundError, check_schema, check_tables
from fieldguide.guide.views import (
    Branch,
    Clip,
    Exemplar,
    Kind,
    Specimen,
    Unreadable,
    Word,
    read_clip_frames,
)

MILLION = 1_000_000
_LEAST_PART = 3  # letters that part of a file's name must have
_SCHEMA = """
CREATE TABLE specimen (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stamp TEXT NOT NULL, digest TEXT NOT NULL,
    kind TEXT, width INTEGER NOT NULL, height INTEGER NOT NULL, has_large INTEGER NOT NULL,
    keywords TEXT NOT NULL, branch INTEGER NOT NULL, answer TEXT, sure REAL,
    typical REAL NOT NULL
);
CREATE INDEX specimen_kind ON specimen (kind, typical);
CREATE INDEX specimen_branch ON specimen (branch, typical);
CREATE TABLE attribute (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, source TEXT NOT NULL);
CREATE TABLE shows (
    specimen INTEGER NOT NULL, attribute INTEGER NOT NULL, score REAL NOT NULL,
    PRIMARY KEY (specimen, attribute)
) WITHOUT ROWID;
CREATE INDEX shows_attribute ON shows (attribute, specimen, score);
CREATE TABLE branch (
    id INTEGER PRIMARY KEY, parent INTEGER, depth INTEGER NOT NULL, words TEXT NOT NULL,
    likeness INTEGER NOT NULL, count INTEGER NOT NULL, here INTEGER NOT NULL, truth REAL NOT NULL,
    stability REAL, exemplars TEXT NOT NULL, kinds TEXT NOT NULL, last INTEGER NOT NULL
);
CREATE TABLE kind (
    name TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE, count INTEGER NOT NULL,
    exemplars TEXT NOT NULL, words TEXT NOT NULL, recall REAL, look_alikes TEXT NOT NULL,
    branches TEXT NOT NULL
);
CREATE TABLE unreadable (path TEXT PRIMARY KEY, reason TEXT NOT NULL, stamp TEXT NOT NULL);
"""
# Of these an earlier version wrote none. A specimen is in the first if its file has been asked,
# in the second if its owner said something of it, in the file or beside it, and in the third if it
# is a clip.
_LATER = {
    "taken": "specimen INTEGER PRIMARY KEY, date TEXT, latitude REAL, longitude REAL, caption TEXT",
    "owner": "specimen INTEGER PRIMARY KEY, caption TEXT NOT NULL, words TEXT NOT NULL",
    "clip": "specimen INTEGER PRIMARY KEY, seconds REAL NOT NULL, frames TEXT NOT NULL",
}
_STATEMENTS = {
    statement.split()[2]: statement
    for statement in (
        *filter(str.strip, _SCHEMA.split(";")),
        *(f"CREATE TABLE {table} ({columns})" for table, columns in _LATER.items()),
    )
}
# What earlier versions wrote otherwise: their measurements are taken over by the next build.
_EARLIER = (
    "CREATE INDEX shows_attribute ON shows (attribute)",
    """CREATE TABLE branch (
        id INTEGER PRIMARY KEY, parent INTEGER, depth INTEGER NOT NULL, words TEXT NOT NULL,
        count INTEGER NOT NULL, here INTEGER NOT NULL, sure REAL NOT NULL, exemplars TEXT NOT NULL,
        kinds TEXT NOT NULL, last INTEGER NOT NULL
    )""",
)


def write_catalogue(
    path: Path,
    specimens: Iterable[Sequence[Any]],
    attributes: Sequence[tuple[str, str]],
    shows: Iterable[tuple[int, int, float]],
    branches: Sequence[Branch],
    kinds: Sequence[Kind],
    unreadable: Iterable[tuple[str, str, str]],
    taken: Iterable[tuple[int, Taken]] = (),
    owner: Iterable[tuple[int, str, Sequence[str]]] = (),
    clips: Iterable[tuple[int, Clip]] = (),
) -> None:
    """Write a catalogue; ``specimens`` are rows in the order of the table's columns."""
    last = _last_below(branches)
    db = sqlite3.connect(path, isolation_level=None)
    try:
        db.executescript("PRAGMA journal_mode = OFF;" + _SCHEMA)
        for table, columns in _LATER.items():
            db.execute(f"CREATE TABLE {table} ({columns})")
        db.execute("BEGIN")
        _insert(db, "specimen", specimens)
        _insert(db, "attribute", ((j, *pair) for j, pair in enumerate(attributes)))
        _insert(db, "shows", shows)
        _insert(db, "branch", ((*_branch_row(b), last[b.id]) for b in branches))
        _insert(db, "kind", (_kind_row(k) for k in kinds))
        _insert(db, "unreadable", unreadable)
        _insert(db, "taken", ((i, *said) for i, said in taken))
        _insert(db, "owner", ((i, caption, _dump(words)) for i, caption, words in owner))
        _insert(db, "clip", ((i, clip.seconds, _dump(clip.frames)) for i, clip in clips))
        db.execute("COMMIT")
    finally:
        db.close()


class Catalogue:
    """A catalogue opened for reading. Threads may share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        with self._explained():
            os.close(open_regular(path))
            address = f"file:{quote(os.fsencode(path))}?mode=ro&immutable=1"
            self._db = sqlite3.connect(address, uri=True, check_same_thread=False)
            weakref.finalize(self, self._db.close)  # a guide is left, and seldom closed
            check_schema(self._db, _STATEMENTS, _EARLIER)
            self._db.execute("SELECT COUNT(*) FROM specimen").fetchone()
            self._add_later()

    def check(self, info: dict[str, Any]) -> None:
        """Refuse a catalogue with a value that no version writes; ``info`` is guide.json."""
        with self._explained(), self._lock:
            check_tables(self._db, info)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn whatever is wrong with the file into one sentence."""
        try:
            yield
        except (sqlite3.Error, OSError, UnicodeDecodeError, UnsoundError) as error:
            why = " ".join((getattr(error, "strerror", None) or str(error)).split())[:300]
            raise GuideError(
                f"The catalogue {str(self._path)!r} cannot be read ({why}); build the guide again."
            ) from None

    def _add_later(self) -> None:
        """Give the catalogue of an earlier version the tables that it lacks, empty, in memory."""
        known = {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}
        self._db.execute("PRAGMA temp_store = MEMORY")
        self.knows_clips = "clip" in known
        for table in _LATER.keys() - known:
            self._db.execute(f"CREATE TEMP TABLE {table} ({_LATER[table]})")

    def branches(self) -> tuple[Branch, ...]:
        """Return every branch, in pre-order."""
        rows = self._all("SELECT * FROM branch ORDER BY id")
        children: dict[int, list[int]] = {row[0]: [] for row in rows}
        for row in rows[1:]:
            children[row[1]].append(row[0])
        return tuple(
            Branch(
                row[0],
                row[1],
                row[2],
                tuple(children[row[0]]),
                tuple(json.loads(row[3])),
                bool(row[4]),
                row[5],
                row[6],
                row[7],
                row[8],
                tuple(json.loads(row[9])),
                tuple((name, count) for name, count in json.loads(row[10])),
            )
            for row in rows
        )

    def kinds(self) -> tuple[Kind, ...]:
        """Return every kind, by name."""
        rows = self._all("SELECT * FROM kind ORDER BY name")
        return tuple(
            Kind(
                row[0],
                row[1],
                row[2],
                tuple(json.loads(row[3])),
                tuple(Word(*word) for word in json.loads(row[4])),
                row[5],
                tuple((name, share) for name, share in json.loads(row[6])),
                tuple((branch, count) for branch, count in json.loads(row[7])),
                shown,
            )
            for row, shown in zip(rows, show_kinds([row[0] for row in rows]), strict=True)
        )

    def specimens(self, ids: Sequence[int]) -> list[Specimen]:
        """Return specimens in the order of ``ids``."""
        found: dict[int, Specimen] = {}
        wanted = sorted(set(ids))
        for start in range(0, len(wanted), 500):
            part = wanted[start : start + 500]
            marks = ", ".join("?" * len(part))
            for row in self._all(
                "SELECT id, path, kind, width, height, digest, has_large, branch, answer, sure, "
                "date, latitude, longitude, owner.caption, words, seconds, frames FROM specimen "
                "LEFT JOIN taken ON taken.specimen = id LEFT JOIN owner ON owner.specimen = id "
                "LEFT JOIN clip ON clip.specimen = id "
                f"WHERE id IN ({marks})",
                part,
            ):
                small, large = picture_names(row[5], bool(row[6]))
                found[row[0]] = Specimen(
                    id=row[0],
                    path=row[1],
                    kind=row[2],
                    width=row[3],
                    height=row[4],
                    thumbnail=small,
                    picture=large,
                    branch=row[7],
                    answer=row[8],
                    confidence=row[9],
                    date=row[10],
                    latitude=row[11],
                    longitude=row[12],
                    caption=row[13] or "",
                    owner_words=tuple(json.loads(row[14] or "[]")),
                    clip=None if row[15] is None else Clip(row[15], read_clip_frames(row[16])),
                )
        missing = [i for i in wanted if i not in found]
        if missing:
            raise KeyError(f"There is no specimen {missing[0]} in this guide.")
        return [found[i] for i in ids]

    def members(
        self, *, branch: int | None = None, kind: str | None = None, word: str | None = None
    ) -> list[int]:
        """Return the ids of a branch (here and below), of a kind, or that show a word.

        Most typical first; of a word, surest first.
        """
        if word is not None:
            query = (
                "SELECT specimen.id FROM attribute JOIN shows ON attribute = attribute.id "
                "JOIN specimen ON specimen.id = specimen WHERE name = ? "
                "ORDER BY score DESC, typical DESC, specimen.id"
            )
            return [i for (i,) in self._all(query, [word])]
        if kind is not None:
            query = "SELECT id FROM specimen WHERE kind = ? ORDER BY typical DESC, id"
            return [i for (i,) in self._all(query, [kind])]
        query = (
            "SELECT id FROM specimen WHERE branch BETWEEN ? AND "
            "(SELECT last FROM branch WHERE id = ?) ORDER BY typical DESC, id"
        )
        return [i for (i,) in self._all(query, [branch, branch])]

    def labelled(self) -> list[Exemplar]:
        """Return the specimens that have a kind, in their order."""
        rows = self._all("SELECT kind, id FROM specimen WHERE kind IS NOT NULL ORDER BY id")
        return [Exemplar(kind, i) for kind, i in rows]

    def words_of(self, specimen: int) -> tuple[tuple[str, float], ...]:
        """Return the attributes that a specimen shows, surest first, the picture's own last."""
        query = (
            "SELECT name, score FROM shows JOIN attribute ON attribute.id = attribute "
            "WHERE specimen = ? "
            "ORDER BY source IN ('surroundings', 'picture'), score DESC, attribute"
        )
        return tuple(self._all(query, [specimen]))

    def words(self) -> tuple[tuple[str, int], ...]:
        """Return every attribute with the number of specimens that show it, by name."""
        query = (
            "SELECT name, COUNT(specimen) FROM attribute LEFT JOIN shows "
            "ON attribute = attribute.id GROUP BY attribute.id ORDER BY name"
        )
        return tuple(self._all(query))

    def sources(self) -> dict[str, str]:
        """Return where each attribute comes from, by its name."""
        return dict(self._all("SELECT name, source FROM attribute ORDER BY id"))

    def showing(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the specimens that show any of some attributes, and scores in millionths."""
        query = (
            f"SELECT group_concat(specimen), group_concat(CAST(score * {MILLION} AS INTEGER)) "
            "FROM shows WHERE attribute IN "
            f"(SELECT id FROM attribute WHERE name IN ({_marks(words)}))"
        )
        ids, scores = self._all(query, words)[0]
        return _parse(ids), _parse(scores)

    def of_kinds(self, names: Sequence[str]) -> np.ndarray:
        """Return the specimens of some kinds."""
        query = f"SELECT group_concat(id) FROM specimen WHERE kind IN ({_marks(names)})"
        return _parse(self._all(query, names)[0][0])

    def named(self, text: str) -> np.ndarray:
        """Return the specimens whose file or folder has a name, or has it in part.

        A name is whole without its ending, too; part of a name is taken where none is whole.
        """
        wanted = "".join(f"\\{c}" if c in "%_\\" else c for c in text)
        whole = "'/' || path || '/' LIKE ? ESCAPE '\\' OR '/' || path LIKE ? ESCAPE '\\'"
        part = "path LIKE ? ESCAPE '\\'"
        for condition, values in (
            (whole, [f"%/{wanted}/%", f"%/{wanted}.%"]),
            (part, [f"%{wanted}%"] if len(text) >= _LEAST_PART else []),
        ):
            if values:
                query = f"SELECT group_concat(id) FROM specimen WHERE {condition}"
                found = _parse(self._all(query, values)[0][0])
                if len(found):
                    return found
        return np.empty(0, dtype=np.int64)

    def of_dates(self, dates: DateRange) -> np.ndarray:
        """Return the specimens that were taken within some dates."""
        query = (
            "SELECT group_concat(specimen) FROM taken WHERE date >= ? AND "
            "substr(date, 1, ?) <= ? AND date LIKE ?"
        )
        month = f"____-{dates.month}%" if dates.month else "%"
        values = [dates.first, len(dates.last), dates.last, month]
        return _parse(self._all(query, values)[0][0])

    def doubted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the specimens that the key, when it has not seen them, gives another kind than
        their own, and how sure it is in millionths."""
        query = (
            f"SELECT group_concat(id), group_concat(CAST(COALESCE(sure, 0) * {MILLION} AS INTEGER))"
            " FROM specimen WHERE kind IS NOT NULL AND answer IS NOT NULL AND answer <> kind"
        )
        ids, sure = self._all(query)[0]
        return _parse(ids), _parse(sure)

    def strip(self) -> None:
        """Forget from here on when and where specimens were taken."""
        with self._lock:
            self._db.execute("DROP TABLE IF EXISTS temp.taken")
            self._db.execute(f"CREATE TEMP TABLE taken ({_LATER['taken']})")

    def columns(self) -> dict[str, np.ndarray]:
        """Return the specimens that show each attribute."""
        query = (
            "SELECT name, (SELECT group_concat(specimen) FROM shows "
            "WHERE attribute = attribute.id) FROM attribute"
        )
        return {name: _parse(ids) for name, ids in self._all(query)}

    def kind_names(self) -> frozenset[str]:
        """Return the names of the kinds."""
        return frozenset(name for (name,) in self._all("SELECT name FROM kind"))

    def kind_columns(self) -> dict[str, np.ndarray]:
        """Return the specimens of each kind."""
        query = "SELECT kind, group_concat(id) FROM specimen WHERE kind IS NOT NULL GROUP BY kind"
        return {kind: _parse(ids) for kind, ids in self._all(query)}

    def typicality(self) -> np.ndarray:
        """Return how typical each specimen is of where it sits, by id."""
        query = "SELECT group_concat(typical) FROM (SELECT typical FROM specimen ORDER BY id)"
        return _parse(self._all(query)[0][0], np.float64)

    def unreadable(self) -> tuple[Unreadable, ...]:
        """Return the files that were skipped, by path."""
        rows = self._all("SELECT path, reason FROM unreadable ORDER BY path")
        return tuple(Unreadable(*row) for row in rows)

    def digests(self) -> list[str]:
        """Return the digest of every specimen's image, by id."""
        return [digest for (digest,) in self._all("SELECT digest FROM specimen ORDER BY id")]

    def contents(self) -> list[tuple[str, str]]:
        """Return the path and the digest of every specimen, by id."""
        return self._all("SELECT path, digest FROM specimen ORDER BY id")

    def register(self) -> list[tuple[str, str, str | None, int, float]]:
        """Return path, digest, kind, branch and typicality of every specimen, by id."""
        return self._all("SELECT path, digest, kind, branch, typical FROM specimen ORDER BY id")

    def clips(self) -> dict[int, Clip]:
        """Return what makes a clip of specimens, by their ids."""
        rows = self._all("SELECT * FROM clip ORDER BY specimen")
        return {i: Clip(seconds, read_clip_frames(frames)) for i, seconds, frames in rows}

    def thumbnails(self) -> list[tuple[str, bool]]:
        """Return the digest of every specimen's image, and whether it has a larger picture."""
        return self._all("SELECT digest, has_large FROM specimen")

    def stamps(self) -> dict[str, int]:
        """Return the row of every (path and stamp, joined by a zero byte)."""
        return {f"{p}\0{s}": i for i, p, s in self._all("SELECT id, path, stamp FROM specimen")}

    def measured(self, specimen: int, arrays: dict[str, Any]) -> Measured:
        """Return what was measured of one specimen; ``arrays`` are its feature rows."""
        query = (
            "SELECT path, stamp, digest, width, height, has_large, keywords "
            "FROM specimen WHERE id = ?"
        )
        path, stamp, digest, width, height, has_large, keywords = self._all(query, [specimen])[0]
        moving = self._all("SELECT seconds, frames FROM clip WHERE specimen = ?", [specimen])
        return Measured(
            path,
            stamp,
            digest=digest,
            width=width,
            height=height,
            has_large=bool(has_large),
            keywords=tuple(json.loads(keywords)),
            clip=Clip(moving[0][0], read_clip_frames(moving[0][1])) if moving else None,
            **arrays,
        )

    def taken(self) -> dict[str, Taken]:
        """Return when and where pictures were taken, by path, NUL, stamp; all that were asked."""
        rows = self._all(
            "SELECT path, stamp, date, latitude, longitude, caption FROM taken "
            "JOIN specimen ON id = specimen"
        )
        return {f"{path}\0{stamp}": Taken(*said) for path, stamp, *said in rows}

    def failed(self) -> dict[str, str]:
        """Return the reason of every unreadable (path and stamp, joined by a zero byte)."""
        rows = self._all("SELECT path, stamp, reason FROM unreadable")
        return {f"{path}\0{stamp}": reason for path, stamp, reason in rows}

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def _all(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._db.execute(query, list(values)).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise GuideError(
                f"The catalogue is damaged ({error}); build the guide again."
            ) from None


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


def _parse(joined: str | None, dtype: Any = np.int64) -> np.ndarray:
    """Read what ``group_concat`` gives: many numbers ten times as quickly as row by row."""
    return np.fromstring(joined, dtype=dtype, sep=",") if joined else np.empty(0, dtype=dtype)


def _branch_row(b: Branch) -> tuple[Any, ...]:
    figures = (b.is_likeness, b.count, b.n_direct, b.truth, b.stability)
    lists = (_dump(b.exemplars), _dump(b.kinds))
    return (b.id, b.parent, b.depth, _dump(b.words), *figures, *lists)


def _kind_row(k: Kind) -> tuple[Any, ...]:
    words = _dump([[w.name, w.share, w.elsewhere] for w in k.words])
    lists = (_dump(k.look_alikes), _dump(k.branches))
    return (k.name, k.slug, k.count, _dump(k.exemplars), words, k.recall, *lists)


def _insert(db: sqlite3.Connection, table: str, rows: Iterable[Sequence[Any]]) -> None:
    rows = list(rows)
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _last_below(branches: Sequence[Branch]) -> list[int]:
    """Return the last branch of each subtree; pre-order makes a subtree a range."""
    last = [b.id for b in branches]
    for b in reversed(branches):
        if b.parent is not None:
            last[b.parent] = max(last[b.parent], last[b.id])
    return last

"""Whether the journal of a build that was interrupted can be gone on from.

Where it cannot, it is set aside and the images are measured again: see ``guide/journal.py``.
"""

import sqlite3
from collections.abc import Mapping

from fieldguide.guide.validation.shapes import UnsoundError
from fieldguide.guide.validation.tables import (
    CLIP,
    DIGEST,
    NUMBER,
    OR_NONE,
    TEXT,
    WORDS,
    check_clips,
    check_columns,
    check_schema,
)

_BLOB = "typeof({0}) = 'blob'"
_ROW = OR_NONE.format("{0}", f"{_BLOB} AND length({{0}}) % 4 = 0")
_WHOLE = "typeof({0}) = 'integer' AND {0} BETWEEN 0 AND 1000000000"
_COLUMNS: dict[str, dict[str, tuple[str, str]]] = {
    "settings": {"value": ("a text", TEXT)},
    "measured": {
        "path": ("a text", TEXT),
        "stamp": ("a text", TEXT),
        "reason": ("a text", OR_NONE.format("{0}", TEXT)),
        "digest": (DIGEST[0], f"({DIGEST[1]} OR ({{0}} = '' AND reason IS NOT NULL))"),
        "width": ("a size", _WHOLE),
        "height": ("a size", _WHOLE),
        "has_large": ("0 or 1", "typeof({0}) = 'integer' AND {0} IN (0, 1)"),
        "keywords": ("a list of words", WORDS),
        "properties": ("numbers", f"{_ROW} AND ({{0}} IS NULL) = (reason IS NOT NULL)"),
        "embedding": ("numbers", f"{_ROW} AND ({{0}} IS NULL) = (reason IS NOT NULL)"),
        "logits": ("numbers", _ROW),
    },
    "taken": {
        "path": ("a text", TEXT),
        "stamp": ("a text", TEXT),
        "date": ("a text", OR_NONE.format("{0}", TEXT)),
        "latitude": ("a number", OR_NONE.format("{0}", NUMBER)),
        "longitude": ("a number", OR_NONE.format("{0}", NUMBER)),
        "caption": ("a text", TEXT),
    },
    "clip": {"path": ("a text", TEXT), "stamp": ("a text", TEXT), **CLIP},
    "kept": {
        "part": ("a text", TEXT),
        "name": ("a text", "typeof({0}) = 'text'"),  # path and stamp, with a NUL between them
        "value": ("bytes", _BLOB),
    },
    "edition": {"number": ("a number from 1 on", f"{_WHOLE} AND {{0}} > 0")},
    "noted": {"name": ("a text", TEXT)},
}


def check_journal(db: sqlite3.Connection, known: Mapping[str, str]) -> None:
    """Refuse a journal that no version of ours has written, by an UnsoundError."""
    check_schema(db, known)
    (said,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if said != "ok":
        raise UnsoundError(f"it is damaged ({said[:100]})")
    for table, columns in _COLUMNS.items():
        check_columns(db, table, columns)
        texts = [name for name, (_, condition) in columns.items() if _BLOB not in condition]
        for _ in db.execute(f"SELECT {', '.join(texts)} FROM {table}"):
            pass  # whether each is UTF-8 is seen when it is read alone
    check_clips(db)
    for column in ("properties", "embedding", "logits"):
        query = f"SELECT COUNT(DISTINCT length({column})) FROM measured WHERE {column} IS NOT NULL"
        if db.execute(query).fetchone()[0] > 1:
            raise UnsoundError(f"measured.{column} must be as long for every image")

"""Whether the catalogue is one that we write: its schema, and every value in it.

Large tables are looked through by SQLite itself, one pass each; branches and kinds, whose lists are
JSON, in ``tree.py``. A covering index may be read in place of its table, so that of *shows*, the
largest, is looked through like it, and those of the others are compared with them.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from fieldguide.guide.validation.shapes import UnsoundError, list_of, number, row_of, text
from fieldguide.guide.validation.tree import check_branches, check_kinds

NUMBER = "typeof({0}) IN ('integer', 'real')"
TEXT = "typeof({0}) = 'text' AND instr({0}, char(0)) = 0"
SHARE = f"{NUMBER} AND {{0}} BETWEEN 0 AND 1.000001"
WORDS = (
    f"{TEXT} AND ({{0}} = '[]' OR CASE WHEN json_valid({{0}}) THEN json_type({{0}}) = 'array' "
    "AND NOT EXISTS (SELECT 1 FROM json_each({0}) WHERE type <> 'text') ELSE 0 END)"
)
SIZE = "typeof({0}) = 'integer' AND {0} BETWEEN 1 AND 1000000000"
OR_NONE = "({0} IS NULL OR ({1}))"
DATE = (
    f"{TEXT} AND length({{0}}) < 64 AND {{0}} GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' "
    "AND substr({0}, 6, 2) BETWEEN '01' AND '12' AND substr({0}, 9, 2) BETWEEN '01' AND '31'"
)
# Of a clip: how long it is, and a list of the times and addresses of its frames.
CLIP = {
    "seconds": ("0 to four months", f"{NUMBER} AND {{0}} BETWEEN 0 AND 10000000"),
    "frames": ("a list", f"{TEXT} AND length({{0}}) < 10000"),
}
_FRAMES = list_of(
    row_of(number(0, 1e7), text(60, pattern=r"pictures/frames/[0-9a-f]{32}\.jpg")), 64
)
DIGEST = ("24 hexadecimal digits", "{0} GLOB '" + "[0-9a-f]" * 24 + "'")

# Of each column: what it must be, in words and in SQL.
_COLUMNS: dict[str, dict[str, tuple[str, str]]] = {
    "specimen": {
        "path": ("a name of a file", f"{TEXT} AND length({{0}}) BETWEEN 1 AND 32768"),
        "stamp": ("a text", TEXT),
        "digest": DIGEST,
        "kind": ("a text", OR_NONE.format("{0}", TEXT)),
        "width": ("a size", SIZE),
        "height": ("a size", SIZE),
        "has_large": ("0 or 1", "typeof({0}) = 'integer' AND {0} IN (0, 1)"),
        "keywords": ("a list of words", WORDS),
        "answer": ("a text", OR_NONE.format("{0}", TEXT)),
        "sure": ("a probability", OR_NONE.format("{0}", SHARE)),
        "typical": ("a number from -2 to 2", f"{NUMBER} AND {{0}} BETWEEN -2 AND 2"),
    },
    "attribute": {
        "name": ("a text", f"{TEXT} AND {{0}} <> ''"),
        "source": ("a text", TEXT),
    },
    "unreadable": {
        "path": ("a text", TEXT),
        "reason": ("a text", TEXT),
        "stamp": ("a text", TEXT),
    },
    "taken": {
        "date": ("a date", OR_NONE.format("{0}", DATE)),
        "latitude": ("-90 to 90", f"({{0}} IS NULL OR {NUMBER} AND {{0}} BETWEEN -90 AND 90)"),
        "longitude": (
            "-180 to 180",
            f"({{0}} IS NULL OR {NUMBER} AND {{0}} BETWEEN -180 AND 180)"
            " AND (longitude IS NULL) = (latitude IS NULL)",
        ),
        "caption": ("a text", OR_NONE.format("{0}", TEXT)),
    },
    "owner": {"caption": ("a text", TEXT), "words": ("a list of words", WORDS)},
    "clip": CLIP,
}
_COMPARED = ("specimen", "attribute", "kind", "unreadable")  # with their indices


def check_schema(
    db: sqlite3.Connection, known: Mapping[str, str], earlier: Iterable[str] = ()
) -> None:
    """Refuse a catalogue with anything but the tables and indices that a version of ours writes.

    A view in place of a table would be computed at every look, without end if it likes. ``known``
    are the statements that made them, by name, and ``earlier`` those of earlier versions.
    """
    before = {_plain(statement) for statement in earlier}
    for form, name, made in db.execute("SELECT type, name, sql FROM sqlite_master"):
        if form == "index" and made is None:  # of a UNIQUE column
            continue
        if form not in ("table", "index") or name not in known:
            raise UnsoundError(f"it holds a {form} {str(name)[:60]!r}, and no version writes one")
        if _plain(made) not in (_plain(known[name]), *before):
            raise UnsoundError(f"its {form} {name!r} has other columns than this version writes")


def check_tables(db: sqlite3.Connection, info: Mapping[str, Any]) -> None:
    """Refuse a catalogue with a value of a wrong type or range, or a number without an object.

    ``info`` is guide.json, which must say the same of sizes and of names.
    """
    n_specimens = info["n_specimens"]
    db.execute("PRAGMA cell_size_check = ON")
    for table, columns in _COLUMNS.items():
        check_columns(db, table, columns)
    _check_ids(db, "specimen", n_specimens)
    n_branches = check_branches(db.execute("SELECT * FROM branch ORDER BY id"), n_specimens)
    names = check_kinds(db.execute("SELECT * FROM kind ORDER BY name"), n_specimens, n_branches)
    for what, n, said in (
        ("kinds", len(names), info["n_kinds"]),
        ("branches", n_branches - 1, info["n_branches"]),
    ):
        if n != said:
            raise UnsoundError(f"it holds {n} {what} and guide.json says {said}")
    named = {name for kind, answer, _ in info["confusions"] for name in (kind, answer)}
    unknown = sorted(named.difference(names))
    if unknown:
        raise UnsoundError(f"guide.json confuses {unknown[0][:60]!r}, which is no kind")
    check_clips(db)
    for table in ("taken", "owner", "clip"):
        _check_range(db, table, "specimen", n_specimens)
    _check_range(db, "specimen", "branch", n_branches)
    for column in ("kind", "answer"):
        _find(
            db,
            f"SELECT {column} FROM specimen WHERE {column} IS NOT NULL "
            f"AND {column} NOT IN (SELECT name FROM kind) LIMIT 1",
            f"a specimen has the {column} {{0!r}}, which is no kind of the guide",
        )
    _check_shows(db, n_specimens)
    _check_counts(db)
    for table in _COMPARED:
        (said,) = db.execute(f"PRAGMA integrity_check({table})").fetchone()
        if said != "ok":
            raise UnsoundError(f"the table {table!r} is damaged ({said[:100]})")


def check_clips(db: sqlite3.Connection) -> None:
    """Refuse a clip whose frames are no pictures of ours."""
    for (said,) in db.execute("SELECT frames FROM clip"):
        try:
            frames = json.loads(said)
        except (ValueError, RecursionError):
            raise UnsoundError("clip.frames must be a list") from None
        _FRAMES(frames, "clip.frames")
        if not frames:
            raise UnsoundError("clip.frames must hold a frame")


def check_columns(
    db: sqlite3.Connection, table: str, columns: Mapping[str, tuple[str, str]]
) -> None:
    """Refuse a table with a value that is not what its column holds; ``{0}`` is the column."""
    conditions = {name: condition.format(name) for name, (_, condition) in columns.items()}
    whole = " AND ".join(f"({condition})" for condition in conditions.values())
    found = db.execute(f"SELECT rowid FROM {table} NOT INDEXED WHERE ({whole}) IS NOT 1 LIMIT 1")
    row = found.fetchone()
    if row is None:
        return
    for name, condition in conditions.items():
        query = f"SELECT {name}, ({condition}) IS NOT 1 FROM {table} WHERE rowid = ?"
        value, is_wrong = db.execute(query, row).fetchone()
        if is_wrong:
            said = repr(value)[:60]
            raise UnsoundError(
                f"{table}.{name} must be {columns[name][0]}; row {row[0]} has {said}"
            )


def _check_ids(db: sqlite3.Connection, table: str, n_rows: int) -> None:
    """Numbers go from 0 on without a gap."""
    n, least, most = db.execute(f"SELECT COUNT(*), MIN(id), MAX(id) FROM {table}").fetchone()
    if n != n_rows or (n and (least, most) != (0, n - 1)):
        raise UnsoundError(
            f"it must number {n_rows} rows of {table!r} from 0 on; it has {n}, from "
            f"{least} to {most}"
        )


def _check_range(db: sqlite3.Connection, table: str, column: str, end: int) -> None:
    least, most, n, n_whole = db.execute(
        f"SELECT MIN({column}), MAX({column}), COUNT(*), TOTAL(typeof({column}) = 'integer') "
        f"FROM {table}"
    ).fetchone()
    if n and not (n_whole == n and least >= 0 and most < end):
        raise UnsoundError(f"{table}.{column} must be a whole number from 0 to {end - 1}")


def _check_shows(db: sqlite3.Connection, n_specimens: int) -> None:
    (n_attributes,) = db.execute("SELECT COUNT(*) FROM attribute").fetchone()
    _check_ids(db, "attribute", n_attributes)
    seen = []
    for way in ("NOT INDEXED", "INDEXED BY shows_attribute"):
        n, low, high, first, last, least, most, n_typed = db.execute(
            "SELECT COUNT(*), MIN(specimen), MAX(specimen), MIN(attribute), MAX(attribute), "
            "MIN(score), MAX(score), TOTAL(typeof(specimen) = 'integer' AND "
            f"typeof(attribute) = 'integer') FROM shows {way}"
        ).fetchone()
        seen.append(n)
        if not n:
            continue
        is_whole = n_typed == n and low >= 0 and first >= 0
        is_inside = is_whole and high < n_specimens and last < n_attributes
        is_score = all(isinstance(v, float | int) and 0 <= v <= 1.000001 for v in (least, most))
        if not (is_inside and is_score):
            raise UnsoundError(
                "the table 'shows' must hold numbers of specimens and attributes "
                "that there are, and scores from 0 to 1"
            )
    if seen[0] != seen[1]:
        raise UnsoundError("the table 'shows' and its index do not agree")


def _check_counts(db: sqlite3.Connection) -> None:
    """Kinds and branches count the specimens that are theirs."""
    _find(
        db,
        "SELECT name FROM kind LEFT JOIN (SELECT kind AS own, COUNT(*) AS n FROM specimen "
        "GROUP BY kind) ON own = name WHERE count IS NOT n LIMIT 1",
        "the kind {0!r} counts other specimens than its own",
    )
    _find(
        db,
        "SELECT id FROM branch LEFT JOIN (SELECT branch AS own, COUNT(*) AS n FROM specimen "
        "GROUP BY branch) ON own = id WHERE here IS NOT COALESCE(n, 0) LIMIT 1",
        "branch {0} counts other specimens than its own",
    )


def _find(db: sqlite3.Connection, query: str, sentence: str) -> None:
    row = db.execute(query).fetchone()
    if row is not None:
        raise UnsoundError(sentence.format(row[0]))


def _plain(made: Any) -> str:
    """Return a statement of SQL with single blanks, as its layout does not matter."""
    return " ".join(str(made).rstrip(";").split())

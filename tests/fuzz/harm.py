"""Ways to spoil bytes, JSON and databases, each drawn from a seeded generator."""

import copy
import json
import random
import sqlite3
from pathlib import Path

INTERESTING = (0, 1, 2, 127, 128, 255)
ODD = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    7,
    10**9,
    2**31,
    2**63,
    -(2**70),
    10**300,
    1e308,
    -0.5,
    0.5,
    2.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "../../etc/passwd",
    "a\0b",
    "\ud800",
    "<script>",
    "[]",
    "{}",
    "9" * 400,
    "x" * 5000,
    [],
    {},
    [1, 2],
    ["a"],
    [[]],
    [None],
    {"a": 1},
    [[[[[[]]]]]],
]


def harm_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with a few things wrong: flipped, cut, doubled, moved, filled."""
    spoiled = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        n = len(spoiled)
        if not n:
            return bytes(rng.randbytes(rng.randrange(64)))
        at, length = rng.randrange(n), min(n, rng.choice((1, 2, 4, 8, 64, n // 4 + 1)))
        way = rng.randrange(8)
        if way == 0:
            spoiled[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            spoiled[at] = rng.choice(INTERESTING)
        elif way == 2:
            del spoiled[at : at + length]
        elif way == 3:
            spoiled[at:at] = spoiled[at : at + length]
        elif way == 4:
            spoiled[at : at + length] = rng.randbytes(length)
        elif way == 5:
            del spoiled[at:]
        elif way == 6:
            number = rng.choice((0, 1, -1, 2**15, 2**31 - 1, -(2**31)))
            order = rng.choice(("little", "big"))
            spoiled[at : at + 4] = number.to_bytes(4, order, signed=True)
        else:
            other = rng.randrange(n)
            spoiled[at : at + length] = spoiled[other : other + length]
    return bytes(spoiled)


def list_places(value: object, path: tuple = ()) -> list[tuple]:
    """Return the path of every value in a record."""
    found = [path] if path else []
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            found += list_places(part, (*path, key))
    return found


def harm_json(text: str, rng: random.Random) -> bytes:
    """Return a JSON file with something wrong in what it says, or sometimes in its bytes."""
    if rng.random() < 0.1:
        return harm_bytes(text.encode(), rng)
    value = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list_places(value)
        if not places:
            break
        *inside, last = rng.choice(places)
        part = value
        for key in inside:
            part = part[key]
        way = rng.randrange(8)
        if way == 0:
            del part[last]
        elif way == 1:
            part.append(copy.deepcopy(rng.choice(ODD))) if isinstance(part, list) else part.update(
                {str(rng.choice(ODD)): rng.choice(ODD)}
            )
        elif way == 2:
            other = value
            for key in rng.choice(places):
                other = other[key]
            part[last] = copy.deepcopy(other)
        elif way == 3 and isinstance(part[last], int | float):
            part[last] = part[last] * rng.choice((-1, 2, 1000, 10**12, 0.5)) + rng.choice((0, 1))
        else:
            part[last] = copy.deepcopy(rng.choice(ODD))
    return json.dumps(value).encode("utf-8", "surrogatepass")


CELLS = [
    None,
    -1,
    0,
    1,
    2,
    3,
    5,
    99,
    10**9,
    2**62,
    -0.5,
    0.5,
    2.5,
    1e300,
    float("inf"),
    "",
    "x",
    "a\0b",
    "[]",
    "[0]",
    "[99]",
    "[[0, 1]]",
    '["x"]',
    '[["disc", 1]]',
    '[["disc", 0.5, 0.5]]',
    "{}",
    "[" * 999,
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "disc",
    b"",
    b"\xff\xfe",
    b"\0" * 9,
    "0" * 24,
    "f" * 99,
]
OTHER_SCHEMAS = (
    "DROP TABLE {t}",
    "ALTER TABLE {t} RENAME TO was; CREATE VIEW {t} AS SELECT * FROM was",
    "ALTER TABLE {t} ADD COLUMN more",
    "ALTER TABLE {t} RENAME COLUMN {c} TO was",
    "CREATE TABLE more (a)",
    "CREATE INDEX more ON {t} ({c})",
    "DELETE FROM {t}",
)


def harm_database(path: Path, rng: random.Random) -> None:
    """Spoil a database: cells, rows, its schema, or the bytes of its file."""
    if rng.random() < 0.25:
        path.write_bytes(harm_bytes(path.read_bytes(), rng))
        return
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = OFF")
    db.execute("PRAGMA synchronous = OFF")
    try:
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            _harm_table(db, rng)
    except (sqlite3.Error, OverflowError):
        pass  # such as a value that a column with NOT NULL does not take
    finally:
        db.close()


def _harm_table(db: sqlite3.Connection, rng: random.Random) -> None:
    tables = [t for (t,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = rng.choice(tables)
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    column = rng.choice(columns)
    keys = [row for row in db.execute(f"SELECT {columns[0]} FROM {table}")]
    way = rng.randrange(12)
    if way == 0:
        db.executescript(rng.choice(OTHER_SCHEMAS).format(t=table, c=column))
    elif not keys:
        return
    elif way == 1:
        db.execute(f"DELETE FROM {table} WHERE {columns[0]} IS ?", rng.choice(keys))
    elif way == 2:
        marks = ", ".join("?" * len(columns))
        row = [rng.choice(CELLS) for _ in columns]
        db.execute(f"INSERT INTO {table} VALUES ({marks})", row)
    elif way == 3:
        db.execute(f"UPDATE {table} SET {column} = ?", [rng.choice(CELLS)])
    elif way == 4:
        other = rng.choice(columns)
        key = rng.choice(keys)
        db.execute(f"UPDATE {table} SET {column} = {other} WHERE {columns[0]} IS ?", key)
    else:
        value = [rng.choice(CELLS), *rng.choice(keys)]
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {columns[0]} IS ?", value)

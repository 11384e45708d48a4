"""A journal that is not as we write it is set aside, and the images are measured again."""

import sqlite3
import struct

import numpy as np
import pytest

from fieldguide.guide.journal import FILE_NAME, Journal, is_journal
from fieldguide.guide.measure import Measured


@pytest.fixture
def folder(tmp_path):
    row = np.zeros(4, dtype=np.float32)
    arrays = {"properties": row, "embedding": row, "logits": None}
    journal = Journal(tmp_path, "settings")
    journal.start_edition(2)
    journal.write(
        Measured(f"{name}.png", "9-9", digest="0" * 24, width=8, height=8, **arrays)
        for name in "ab"
    )
    journal.kept("rows")["a.png\x009-9"] = b"abc"  # a path and a stamp
    journal.close()
    return tmp_path


def test_a_whole_one_goes_on(folder):
    with Journal(folder, "settings") as journal:
        assert journal.stamps() == {"a.png": "9-9", "b.png": "9-9"}
        assert journal.edition() == 2
        assert journal.kept("rows")["a.png\x009-9"] == b"abc"
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE measured SET embedding = 'text'",
        "UPDATE measured SET embedding = x'0001' WHERE path = 'a.png'",
        "UPDATE measured SET embedding = x'00010203' WHERE path = 'a.png'",
        "UPDATE measured SET embedding = NULL",
        "UPDATE measured SET keywords = '{}'",
        "UPDATE measured SET digest = '../../etc/passwd'",
        "UPDATE measured SET width = 'wide'",
        "UPDATE edition SET number = -3",
        "INSERT INTO noted VALUES (x'ff')",
        "INSERT INTO noted VALUES (CAST(x'61ff' AS TEXT))",
        "UPDATE measured SET stamp = CAST(x'61ff' AS TEXT)",
        "UPDATE kept SET name = CAST(x'61ff' AS TEXT)",
        "INSERT INTO kept VALUES ('chains', 'x', 3)",
        "ALTER TABLE noted RENAME TO was; CREATE VIEW noted AS SELECT * FROM was",
        "ALTER TABLE settings ADD COLUMN more",
    ],
)
def test_any_other_is_set_aside(folder, statement):
    db = sqlite3.connect(folder / FILE_NAME)
    db.executescript(statement)
    db.close()
    with Journal(folder, "settings") as journal:
        assert journal.stamps() == {}
        assert journal.edition() is None
    assert [path.name for path in folder.iterdir()] == [f"{FILE_NAME}.damaged-1"]


def test_one_whose_schema_is_no_text_is_set_aside(folder):
    place = folder / FILE_NAME
    place.write_bytes(place.read_bytes().replace(b"CREATE TABLE kept", b"CREATE TABLE k\xff\xfft"))
    with Journal(folder, "settings") as journal:
        assert journal.stamps() == {}
    assert [path.name for path in folder.iterdir()] == [f"{FILE_NAME}.damaged-1"]


def test_one_whose_index_says_other_than_its_table_is_set_aside(folder):
    """It can be listed, and then nothing that was listed is found."""
    place = folder / FILE_NAME
    data = place.read_bytes()
    indexed = data.index(b"a.png", data.index(b"a.png") + 5)
    tables = [data.replace(b"a.png", b"b.png", 1), data[:indexed] + b"b" + data[indexed + 1 :]]
    for harmed in tables:
        place.write_bytes(harmed)
        with Journal(folder, "settings") as journal:
            assert journal.stamps() == {}


def make_hot_journal(path, victim) -> None:
    """Leave a database half written, with a journal that has SQLite delete a file of ours."""
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(
        "CREATE TABLE settings (value); CREATE TABLE measured (a);"
        "INSERT INTO measured VALUES (zeroblob(50000)); PRAGMA cache_size = 2; BEGIN;"
        "UPDATE measured SET a = randomblob(50000);"
    )
    rollback = path.with_name(f"{path.name}-journal")
    half, hot, name = path.read_bytes(), rollback.read_bytes(), bytes(victim)
    db.close()
    total = sum(struct.unpack(f"{len(name)}b", name)) & 0xFFFFFFFF
    lock_page = struct.pack(">I", 2**30 // 4096 + 1)
    end = struct.pack(">II", len(name), total) + bytes.fromhex("d9d505f920a163d7")
    path.write_bytes(half)
    rollback.write_bytes(hot + lock_page + name + end)


def test_the_journal_of_a_stranger_deletes_no_file_of_ours(tmp_path):
    """SQLite rolls back a journal that it finds, and deletes the file that this one names."""
    victim = tmp_path / "letter.txt"
    victim.write_text("dear diary\n")
    path = tmp_path / FILE_NAME
    make_hot_journal(path, victim)
    db = sqlite3.connect(path)
    db.execute("SELECT * FROM measured")
    db.close()
    assert not victim.exists()  # what SQLite does by itself
    victim.write_text("dear diary\n")

    path.unlink()
    make_hot_journal(path, victim)
    assert is_journal(path)
    assert victim.exists()
    path.unlink()
    make_hot_journal(path, victim)
    Journal(tmp_path, "settings").remove()
    assert victim.read_text() == "dear diary\n"

"""A journal that is not as we write it is set aside, and the images are measured again."""

import sqlite3

import numpy as np
import pytest

from fieldguide.guide.journal import FILE_NAME, Journal
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

"""Tables that a spreadsheet opens without running anything."""

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fieldguide._csv import defuse_cell, has_columns, restore_cell, table_text, write_table

SIGNS = "=+-@\t\r\n＝＋－＠"


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("before", ["", " ", "\x00", "\t "])
def test_formulas_are_text(sign, before):
    cell = defuse_cell(f"{before}{sign}cmd|' /C calc'!A0")
    assert cell.startswith("'")


@given(st.text() | st.text(alphabet=f"'a {SIGNS}"))
def test_a_cell_is_text_and_comes_back(text):
    cell = defuse_cell(text)
    assert restore_cell(cell) == text
    assert not cell.lstrip().startswith(tuple(SIGNS))
    assert cell in (text, f"'{text}")


@pytest.mark.parametrize("value", [-1, -0.5, None, True, "robin", "a=b", "it's", "'tis"])
def test_what_is_no_formula_stays(value):
    assert defuse_cell(value) is value


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=2)))
@example([["", "\r"]])
@example([["robin\r=1+1", "a\r\nb"]])
def test_a_table_comes_back(rows):
    written = io.StringIO(table_text(["one", "two"], rows), newline="")
    read = [[restore_cell(cell) for cell in row] for row in csv.reader(written)]
    assert read == [["one", "two"], *rows]


def test_a_file_of_ours_is_known_by_its_columns(tmp_path):
    path = tmp_path / "out.csv"
    write_table(path, ["path", "kind"], [["=a.jpg", None]])
    assert path.read_text(encoding="utf-8") == "path,kind\n'=a.jpg,\n"
    assert has_columns(path, ["path", "kind"])
    assert not has_columns(path, ["path"])
    assert not has_columns(tmp_path / "absent.csv", ["path"])
    path.write_bytes(b"\xff\xd8\xff")
    assert not has_columns(path, ["path"])

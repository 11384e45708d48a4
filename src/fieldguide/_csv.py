"""Tables as CSV that a spreadsheet may open: no cell of them is run as a formula.

A kind or a file may be called ``=HYPERLINK("…")``, and a spreadsheet would compute it. Such a text
gets an apostrophe in front, which spreadsheets take for "this is text"; :func:`restore_cell` takes
it away again. Numbers stay as they are.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fieldguide._files import write_text

# What begins a formula in Excel, LibreOffice or Google Sheets, after what they skip before it; with
# the full-width forms that some of them take for the same signs.
_FORMULA = re.compile(r"'*[\s\x00-\x20]*[=+\-@\t\r\n＝＋－＠]")


def defuse_cell(value: Any) -> Any:
    """Return the value of a cell so that no spreadsheet runs it; only texts change.

    Examples
    --------
    >>> defuse_cell("=1+1"), defuse_cell("robin"), defuse_cell(-0.5)
    ("'=1+1", 'robin', -0.5)
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def restore_cell(text: str) -> str:
    """Return the text that :func:`defuse_cell` was given.

    Examples
    --------
    >>> restore_cell(defuse_cell("=1+1")), restore_cell("robin")
    ('=1+1', 'robin')
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def table_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table as CSV; None is an empty cell."""
    lines: list[str] = []
    # Python before 3.13 quotes a line break in a cell only if lines end in it: here, in both kinds.
    writer = csv.writer(SimpleNamespace(write=lines.append), lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([defuse_cell(value) for value in row] for row in rows)
    return "".join(line.removesuffix("\r\n") + "\n" for line in lines)


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table to a file atomically, as CSV in UTF-8."""
    write_text(path, table_text(columns, rows))


def has_columns(path: Path, columns: Sequence[str]) -> bool:
    """Whether a file is CSV whose first line has these columns: one that we wrote before."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return next(csv.reader([file.readline(10_000)]), None) == [*columns]
    except (OSError, ValueError, csv.Error):
        return False

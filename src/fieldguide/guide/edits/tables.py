"""Edits as plain files that one can write by hand: CSV, or the lines of the log.

A CSV file has the columns ``verb`` and ``target``; ``value``, ``said`` and ``note`` if needed::

    verb,target,value,note
    kind,robin/07.jpg,wren,its tail stands up
    rename,branch:animal > bird,birds of the garden,

A lesson has the columns ``yes`` and ``no``, each with a specimen a line.

JSON lines have the same names; their target may be such a text, or what the log has. Numbers and
times are passed over: what is imported gets new ones.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from fieldguide._csv import restore_cell, table_text
from fieldguide._files import write_text
from fieldguide.errors import EditError, FieldguideError
from fieldguide.guide.edits.records import UNDO, Edit, Target, as_clause
from fieldguide.guide.edits.targets import plain_target

COLUMNS = ("verb", "target", "value", "said", "note", "yes", "no")
_SIDES = ("yes", "no")
MOST_BYTES = 64 * 1024 * 1024
Make = Callable[..., Edit]


def write_edits(path: Path, edits: Iterable[Edit]) -> None:
    """Write edits to a file: CSV where its name ends so, else JSON lines."""
    if path.suffix.lower() == ".csv":
        rows = [
            (
                *(e.verb, plain_target(e.target), e.value, e.said, e.note),
                *("\n".join(each.name for each in side) for side in (e.yes, e.no)),
            )
            for e in edits
        ]
        write_text(path, table_text(COLUMNS, rows))
        return
    plain = [e.to_plain() for e in edits]
    for each in plain:
        del each["number"], each["time"]
    write_text(path, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in plain))


def read_edits(path: Path, make: Make) -> list[Edit]:
    """Read edits from a file; EditError names the line of the first that cannot be made."""
    text = _read_text(path)
    lines = _read_csv(text, path) if path.suffix.lower() == ".csv" else _read_json_lines(text, path)
    edits = []
    for number, plain in lines:
        try:
            edits.append(_make_edit(plain, make))
        except EditError as error:
            raise EditError(f"Line {number} of {str(path)!r}: {as_clause(error)}.") from None
    if not edits:
        raise EditError(f"There is no edit in {str(path)!r}.")
    return edits


def _make_edit(plain: dict[str, Any], make: Make) -> Edit:
    texts = {name: plain.get(name, "") for name in COLUMNS if name not in ("target", *_SIDES)}
    wrong = [name for name, text in texts.items() if not isinstance(text, str)]
    if wrong:
        raise EditError(f"Its {wrong[0]} must be a text; got {texts[wrong[0]]!r}.")
    if texts["verb"] == UNDO:
        raise EditError("An undo cannot be imported; leave it out, and the edit that it undoes.")
    target = plain.get("target", "")
    if not isinstance(target, str):
        target = Target.from_plain(target)
    sides = {name: _read_side(plain.get(name, ""), name) for name in _SIDES}
    given = {"note": texts["note"], "said": texts["said"]}
    return make(texts["verb"], target, texts["value"], **given, **sides)


def _read_side(plain: Any, name: str) -> list[str | Target]:
    """Return the specimens of one side of a lesson: lines of a cell, or a list."""
    if isinstance(plain, str):
        return [line.strip() for line in plain.split("\n") if line.strip()]
    if not isinstance(plain, list):
        raise EditError(f"Its {name} must be a list of specimens; got {plain!r:.80}.")
    return [each if isinstance(each, str) else Target.from_plain(each) for each in plain]


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise EditError(f"{str(path)!r} is larger than 64 MB; give a file of edits.")
        if not path.is_file():
            raise EditError(f"{str(path)!r} is not a file; give a file of edits.")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise EditError(f"{str(path)!r} cannot be read: {error}.") from None
    except UnicodeError:
        raise EditError(f"{str(path)!r} is not a text in UTF-8.") from None


def _read_csv(text: str, path: Path) -> list[tuple[int, dict[str, Any]]]:
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = [name.strip() for name in next(reader, [])]
        unknown = [name for name in header if name not in COLUMNS]
        if unknown or len(set(header)) != len(header) or not {"verb", "target"} <= set(header):
            raise EditError(
                f"{str(path)!r} needs the columns verb and target, and may have value, said, note, "
                f"yes and no; it has {', '.join(map(repr, header[:9])) or 'none'}."
            )
        rows = []
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) > len(header):
                raise EditError(
                    f"Line {reader.line_num} of {str(path)!r} has more than {len(header)} fields."
                )
            cells = [restore_cell(cell) for cell in row]
            rows.append((reader.line_num, dict(zip(header, cells, strict=False))))
    except csv.Error as error:
        raise EditError(f"{str(path)!r} is not a CSV file: {error}.") from None
    return rows


def _read_json_lines(text: str, path: Path) -> list[tuple[int, dict[str, Any]]]:
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            plain = json.loads(line)
        except (ValueError, RecursionError):
            plain = None
        if not isinstance(plain, dict):
            raise EditError(
                f"Line {number} of {str(path)!r} is no JSON object; write one edit a line, or CSV "
                "in a file whose name ends in .csv."
            )
        rows.append((number, plain))
    return rows


def is_edits_file(path: Path) -> bool:
    """Whether a file is one that :func:`write_edits` wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            first = file.readline(100_000)
        if path.suffix.lower() == ".csv":
            return next(csv.reader([first]), [])[:5] == [*COLUMNS[:5]]
        plain = json.loads(first)
        return isinstance(plain, dict) and {"verb", "target"} <= set(plain)
    except (OSError, ValueError, csv.Error, FieldguideError, RecursionError):
        return False

"""Everything in a guide that must not depend on how, or in how many steps, it was built."""

import json
import sqlite3
from pathlib import Path

from fieldguide.guide.measure import picture_names

VARIES = (
    "created",
    "seconds",
    "key_seconds",
    "edition",
    "previous_edition",
    "images",
    "update",
    "step_seconds",
)


def contents(guide: Path) -> dict:
    info = json.loads((guide / "guide.json").read_text())
    edition = guide / "editions" / str(info["edition"])
    db = sqlite3.connect(edition / "catalogue.sqlite")
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    found: dict = {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    thumbnails = db.execute("SELECT digest, has_large FROM specimen").fetchall()
    db.close()
    found["info"] = {k: v for k, v in info.items() if k not in VARIES}
    for path in sorted(edition.rglob("*")):
        if path.is_file() and path.suffix != ".sqlite":
            found[path.relative_to(edition).as_posix()] = path.read_bytes()
    listed = json.loads((edition / "contents.json").read_text())["pictures"]
    for name in {*listed, *(name for pair in thumbnails for name in picture_names(*pair))}:
        found[name] = (guide / name).read_bytes()
    return found


def everything(folder: Path, but: str = "") -> dict[str, bytes]:
    """The bytes of every file below a folder but those of a name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != but
    }

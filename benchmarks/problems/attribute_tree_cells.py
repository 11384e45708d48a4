"""Cells of the long benchmarks of attribute trees: saved when known, read when there."""

import json
from collections.abc import Callable
from pathlib import Path

from fieldguide._files import write_json

CELLS = Path("out/bench/attribute_tree")


def keep_cell(name: str, compute: Callable[[], dict]) -> dict:
    """Return the cell of this name, computed only where no file holds it."""
    path = CELLS / f"{name}.json"
    if path.exists():
        return json.loads(path.read_text())
    result = compute()
    CELLS.mkdir(parents=True, exist_ok=True)
    write_json(path, result)
    return json.loads(path.read_text())

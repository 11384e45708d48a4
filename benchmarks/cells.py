"""Cells of long benchmarks: saved when known, read when there, so that a run goes on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fieldguide._files import write_json


def keep_cell(path: Path, compute: Callable[[], Any]) -> Any:
    """Return what the JSON file holds, computed only where there is none."""
    if not path.exists():
        result = compute()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, result)
    return json.loads(path.read_text())

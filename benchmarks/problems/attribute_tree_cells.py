"""Where the long benchmarks of attribute trees keep their cells."""

from collections.abc import Callable
from pathlib import Path

from benchmarks import cells

CELLS = Path("out/bench/attribute_tree")


def keep_cell(name: str, compute: Callable[[], dict]) -> dict:
    """Return the cell of this name, computed only where no file holds it."""
    return cells.keep_cell(CELLS / f"{name}.json", compute)

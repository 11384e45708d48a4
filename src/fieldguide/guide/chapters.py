"""The chapters of a guide, in the order in which they are built.

A chapter is one thing that a guide says. It knows the workspace, and the chapters that it reads
from, by name.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from fieldguide.chapters import OPTIONAL
from fieldguide.guide import (
    annotation,
    found_kinds,
    key,
    movement,
    nearest,
    register,
    rows,
    specimens,
    trees,
    visual_words,
    words,
)
from fieldguide.guide.workspace import Workspace


class Chapter(Protocol):
    """What every chapter has: usually a module."""

    NAME: str

    def build(self, work: Workspace) -> None:
        """Compute and write this chapter, and hand what others need to ``work.built``."""


class OptionalChapter(Chapter, Protocol):
    """A chapter that a guide can do without; ``ANSWER`` is the record of what it says."""

    ANSWER: type

    def open_part(self, edition: Path, about: dict[str, Any]) -> Any:
        """Return what the edition holds of this chapter; None where it holds nothing."""


def list_chapters() -> Sequence[Chapter]:
    """Return all chapters in the order in which they are built."""
    first = (specimens, rows, nearest, annotation, words, trees, found_kinds, key, register)
    return [*first, visual_words, movement, *map(load_chapter, OPTIONAL)]


@cache
def load_chapter(name: str) -> OptionalChapter:
    """Return an optional chapter."""
    module: Any = import_module(f"fieldguide.chapters.{name}.chapter")
    chapter: OptionalChapter = module
    return chapter

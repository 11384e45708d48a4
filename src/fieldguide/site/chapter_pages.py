"""What optional chapters add to the pages: each has a module ``page`` in its folder.

Its ``PAGE`` is a :class:`ChapterPage`. Beside it may lie ``kind.html``, ``pair.html`` and
``answer.html``, each with a macro ``section``, and ``style.css``, which the pages of kinds, of two
kinds and *identify* link to.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from PIL import Image

from fieldguide.chapters import OPTIONAL
from fieldguide.guide.pairs import KindPair
from fieldguide.guide.views import Kind
from fieldguide.site.pictures import PictureBook

if TYPE_CHECKING:
    from fieldguide.guide import Guide

ASSETS = Path(__file__).parent / "assets"


class Outline(NamedTuple):
    """An outline to draw over a picture of any size and the same proportions."""

    width: int
    height: int
    path: str  # of SVG
    words: str
    align: str  # as the picture stands in its frame


class ChapterPage:
    """What a chapter shows. Nothing, unless a subclass says more."""

    def show_kind(self, guide: "Guide", kind: Kind, pictures: PictureBook) -> Any:
        """Return what kind.html of the chapter shows of a kind; None where it shows nothing."""
        return None

    def show_pair(self, guide: "Guide", pair: KindPair, pictures: PictureBook) -> Any:
        """Return what pair.html of the chapter shows of two kinds; None where it shows nothing."""
        return None

    def outline_specimens(self, guide: "Guide", ids: Iterable[int]) -> dict[int, Outline]:
        """Return outlines to draw over specimens on a plate."""
        return {}

    def show_answer(self, guide: "Guide", record: Any, image: Image.Image) -> Any:
        """Return what answer.html of the chapter shows of its part of an answer, or None."""
        return None

    def outline_answer(self, guide: "Guide", record: Any, size: tuple[int, int]) -> Outline | None:
        """Return the outline to draw over a new picture of the given width and height."""
        return None

    def word_answer(self, guide: "Guide", record: Any) -> list[str]:
        """Return the lines of a terminal for its part of an answer."""
        return []

    def word_pair(self, guide: "Guide", pair: KindPair) -> list[str]:
        """Return the lines of a terminal for what sets two kinds apart."""
        return []

    def record_pair(self, guide: "Guide", pair: KindPair) -> Any:
        """Return what sets two kinds apart as a record for plain data, or None."""
        return None

    def list_pictures(self, guide: "Guide") -> list[str]:
        """Return the addresses of the pictures that it shows and that are no specimen's."""
        return []


@cache
def list_pages() -> dict[str, ChapterPage]:
    """Return the pages of the optional chapters by their name."""
    return {name: import_module(f"fieldguide.chapters.{name}.page").PAGE for name in OPTIONAL}


def chapter_folder(name: str) -> Path:
    """Return the folder of an optional chapter."""
    return Path(__file__).parent.parent / "chapters" / name


@cache
def list_assets() -> dict[str, Path]:
    """Return the styles and scripts of the site by their name: its own, and those of chapters."""
    own = {path.name: path for path in sorted(ASSETS.iterdir()) if path.is_file()}
    return own | {f"{name}.css": chapter_folder(name) / "style.css" for name in list_styles()}


@cache
def list_styles() -> tuple[str, ...]:
    """Return the chapters that have a style sheet."""
    return tuple(name for name in OPTIONAL if (chapter_folder(name) / "style.css").is_file())


def outline_specimens(guide: "Guide", ids: Sequence[int]) -> dict[int, Outline]:
    """Return the outlines that chapters draw over specimens."""
    outlines: dict[int, Outline] = {}
    for page in list_pages().values():
        outlines |= page.outline_specimens(guide, ids)
    return outlines


def list_chapter_pictures(guide: "Guide") -> list[str]:
    """Return the addresses of the pictures of all chapters."""
    found = (name for page in list_pages().values() for name in page.list_pictures(guide))
    return list(dict.fromkeys(found))

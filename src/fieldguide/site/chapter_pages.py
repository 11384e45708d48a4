"""What optional chapters add to the pages: each has a module ``page`` in its folder.

Its ``PAGE`` is a :class:`ChapterPage`. Beside it may lie ``kind.html``, ``pair.html`` and
``answer.html``, each with a macro ``section``, and ``style.css``, which the pages of kinds, of two
kinds and *identify* link to. A chapter may have pages of its own (:class:`Sheet`), each with a
template of its name, and ``script.js`` for them: ``assets/walk.js`` is that of the chapter *walk*.
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

if TYPE_CHECKING:
    from fieldguide.guide import Guide
    from fieldguide.site.addresses import AddressBook
    from fieldguide.site.pictures import PictureBook

ASSETS = Path(__file__).parent / "assets"


class Outline(NamedTuple):
    """An outline to draw over a picture of any size and the same proportions."""

    width: int
    height: int
    path: str  # of SVG
    words: str
    align: str  # as the picture stands in its frame


class Sheet(NamedTuple):
    """A page of its own that a chapter adds to a guide."""

    name: str  # of its template in the folder of the chapter, and of its address
    title: str = ""  # in the list of sections; "" for a page that others lead to
    summary: str = ""  # what it says in a line, by which home and *About* lead to it


class ChapterPage:
    """What a chapter shows. Nothing, unless a subclass says more."""

    def show_kind(self, guide: "Guide", kind: Kind, pictures: "PictureBook") -> Any:
        """Return what kind.html of the chapter shows of a kind; None where it shows nothing."""
        return None

    def show_pair(self, guide: "Guide", pair: KindPair, pictures: "PictureBook") -> Any:
        """Return what pair.html of the chapter shows of two kinds; None where it shows nothing."""
        return None

    def outline_specimens(
        self, guide: "Guide", ids: Iterable[int], against: str | None = None
    ) -> dict[int, Outline]:
        """Return outlines to draw over specimens on a plate.

        ``against`` a kind, only those of what tells a specimen from that kind.
        """
        return {}

    def show_answer(self, guide: "Guide", record: Any, image: Image.Image) -> Any:
        """Return what answer.html of the chapter shows of its part of an answer, or None."""
        return None

    def outline_answer(self, guide: "Guide", record: Any, size: tuple[int, int]) -> Outline | None:
        """Return the outline to draw over a new picture of the given width and height."""
        return None

    def describe_answer(self, guide: "Guide", record: Any) -> list[str]:
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

    def list_sheets(self, guide: "Guide") -> Sequence[Sheet]:
        """Return the pages of its own that it adds to a guide."""
        return ()

    def show_sheet(
        self, guide: "Guide", name: str, pictures: "PictureBook", book: "AddressBook"
    ) -> Any:
        """Return the record of such a page; its fields are the names that the template uses."""
        return None


def load_page(name: str) -> ChapterPage:
    """Return what an optional chapter adds to pages."""
    page: ChapterPage = import_module(f"fieldguide.chapters.{name}.page").PAGE
    return page


@cache
def list_pages() -> dict[str, ChapterPage]:
    """Return the pages of the optional chapters by their name."""
    return {name: load_page(name) for name in OPTIONAL}


def chapter_folder(name: str) -> Path:
    """Return the folder of an optional chapter."""
    return Path(__file__).parent.parent / "chapters" / name


@cache
def list_assets() -> dict[str, Path]:
    """Return the styles and scripts of the site by their name: its own, and those of chapters."""
    own = {path.name: path for path in sorted(ASSETS.iterdir()) if path.is_file()}
    scripts = {f"{name}.js": chapter_folder(name) / "script.js" for name in OPTIONAL}
    styles = {f"{name}.css": chapter_folder(name) / "style.css" for name in list_styles()}
    return own | styles | {name: path for name, path in scripts.items() if path.is_file()}


@cache
def list_styles() -> tuple[str, ...]:
    """Return the chapters that have a style sheet."""
    return tuple(name for name in OPTIONAL if (chapter_folder(name) / "style.css").is_file())


def list_sheets(guide: "Guide") -> dict[str, tuple[str, Sheet]]:
    """Return the pages of their own that chapters add to a guide, by name, with the chapter's."""
    return {
        sheet.name: (name, sheet)
        for name, page in list_pages().items()
        for sheet in page.list_sheets(guide)
    }


def outline_specimens(
    guide: "Guide", ids: Sequence[int], against: str | None = None
) -> dict[int, Outline]:
    """Return the outlines that chapters draw over specimens, of what tells them from all others
    or from one kind."""
    outlines: dict[int, Outline] = {}
    for page in list_pages().values():
        outlines |= page.outline_specimens(guide, ids, against)
    return outlines


def list_chapter_pictures(guide: "Guide") -> list[str]:
    """Return the addresses of the pictures of all chapters."""
    found = (name for page in list_pages().values() for name in page.list_pictures(guide))
    return list(dict.fromkeys(found))

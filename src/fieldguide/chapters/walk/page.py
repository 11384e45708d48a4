"""The walk on the pages: a page of its own, and a way to it from an answer of *identify*."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fieldguide.chapters.walk import printed_page
from fieldguide.chapters.walk.printed import has_key
from fieldguide.site.chapter_pages import ChapterPage, Sheet

if TYPE_CHECKING:
    from fieldguide.guide import Guide
    from fieldguide.site.addresses import AddressBook
    from fieldguide.site.pictures import PictureBook


class WalkPage(ChapterPage):
    """The walk by hand, and the key to print."""

    def list_sheets(self, guide: "Guide") -> Sequence[Sheet]:
        """Return the pages of the chapter."""
        return [Sheet(printed_page.SHEET)] if has_key(guide) else []

    def show_sheet(
        self, guide: "Guide", name: str, pictures: "PictureBook", book: "AddressBook"
    ) -> Any:
        """Return the record of a page."""
        return printed_page.show_printed(guide, pictures)


PAGE = WalkPage()

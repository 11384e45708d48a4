"""The pages of the chapter: the walk, the key to print, and a way to the walk from *identify*."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from PIL import Image

from fieldguide._languages import say
from fieldguide.chapters.walk import printed_page, walk_page
from fieldguide.chapters.walk.printed import has_key
from fieldguide.chapters.walk.records import ImageWalk
from fieldguide.site.chapter_pages import ChapterPage, Sheet

if TYPE_CHECKING:
    from fieldguide.guide import Guide
    from fieldguide.site.addresses import AddressBook
    from fieldguide.site.pictures import PictureBook


class WalkPage(ChapterPage):
    """The walk by hand, and the key to print."""

    def list_sheets(self, guide: "Guide") -> Sequence[Sheet]:
        """Return the pages of the chapter."""
        walk = [Sheet(walk_page.SHEET, say("Walk"))] if walk_page.has_questions(guide) else []
        return [*walk, *([Sheet(printed_page.SHEET)] if has_key(guide) else [])]

    def show_sheet(
        self, guide: "Guide", name: str, pictures: "PictureBook", book: "AddressBook"
    ) -> Any:
        """Return the record of a page."""
        if name == walk_page.SHEET:
            return walk_page.show_walk(guide, pictures, book)
        return printed_page.show_printed(guide, pictures)

    def show_answer(self, guide: "Guide", record: ImageWalk, image: Image.Image) -> ImageWalk:
        """Return the link to a walk that begins with the answer."""
        return record


PAGE = WalkPage()

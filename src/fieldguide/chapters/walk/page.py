"""The walk on the pages: a page of its own, and a way to it from an answer of *identify*."""

from fieldguide.site.chapter_pages import ChapterPage


class WalkPage(ChapterPage):
    """The walk by hand."""


PAGE = WalkPage()

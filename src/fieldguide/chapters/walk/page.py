"""The walk on the pages: a page of its own, and a way to it from an answer of *identify*."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from fieldguide.chapters.walk import belief, walking
from fieldguide.chapters.walk.printed import has_key
from fieldguide.chapters.walk.printed_page import SHEET as PRINTED
from fieldguide.chapters.walk.printed_page import PrintedPage, show_printed
from fieldguide.chapters.walk.questions import Questions, read_questions
from fieldguide.chapters.walk.records import ImageWalk
from fieldguide.guide.views import Kind
from fieldguide.site.addresses import AddressBook, href
from fieldguide.site.chapter_pages import ChapterPage, Sheet
from fieldguide.site.pictures import PictureBook

if TYPE_CHECKING:
    from fieldguide.guide import Guide

WALK = "walk"
USUAL, SELDOM = 0.75, 0.25  # share of a kind's specimens that show a character


@dataclass(frozen=True)
class KindRow:
    """What is said of a kind where scripts are off."""

    kind: Kind
    usual: list[str]  # characters that most of its specimens show
    sometimes: list[str]  # those that some show and some do not


@dataclass(frozen=True)
class WalkSheet:
    """walk.html."""

    table: dict[str, Any]  # what the script reads
    rows: list[KindRow]
    n_characters: int
    n_couplets: int


class WalkPage(ChapterPage):
    """The walk by hand, and the key to print."""

    def list_sheets(self, guide: "Guide") -> Sequence[Sheet]:
        """Return the page of the walk, where there is anything to ask, and the key to print."""
        has_characters = guide.characters is not None and guide.characters.characters
        walk = [Sheet(WALK, "Walk")] if guide.couplets or has_characters else []
        return [*walk, Sheet(PRINTED)] if has_key(guide) else walk

    def show_sheet(
        self, guide: "Guide", name: str, pictures: PictureBook, book: AddressBook
    ) -> WalkSheet | PrintedPage:
        """Gather the questions with their table and a picture of each kind; or the printed key."""
        if name == PRINTED:
            return show_printed(guide, pictures)
        questions = read_questions(guide)
        return WalkSheet(
            table=write_table(guide, questions, pictures, book),
            rows=list_rows(guide, questions),
            n_characters=len(questions.characters),
            n_couplets=len(questions.couplets),
        )

    def show_answer(self, guide: "Guide", record: ImageWalk, image: Image.Image) -> ImageWalk:
        """Return the link to a walk that begins with the answer."""
        return record


PAGE = WalkPage()


def write_table(
    guide: "Guide", questions: Questions, pictures: PictureBook, book: AddressBook
) -> dict[str, Any]:
    """Return what ``script.js`` reads: the numbers of ``belief.py``, the kinds, the questions."""
    texts = [belief.write_levels(levels) for levels in questions.levels.T]
    return {
        "letters": belief.LETTERS,
        "wrong": belief.WRONG,
        "enough": belief.ENOUGH,
        "leastGain": belief.LEAST_GAIN,
        "temper": walking.TEMPER,
        "leastPrior": walking.LEAST_PRIOR,
        "held": walking.HELD,
        "kinds": [
            _show_kind(guide.kind(name), pictures, book.kind(name)) for name in questions.kinds
        ],
        "characters": [
            {"text": questions.questions[j].text, "levels": texts[j]} for j in questions.characters
        ],
        "couplets": [
            {"levels": texts[j], "toMinus": couplet.to_minus, "toPlus": couplet.to_plus}
            for j in questions.couplets
            if (couplet := questions.questions[j].couplet) is not None
        ],
    }


def list_rows(guide: "Guide", questions: Questions) -> list[KindRow]:
    """Return what each kind shows, in words, for who reads the page without scripts."""
    shares = belief.from_levels(questions.levels)
    texts = [questions.questions[j].text for j in questions.characters]

    def name(which: np.ndarray) -> list[str]:
        return [text for text, is_named in zip(texts, which, strict=False) if is_named]

    return [
        KindRow(guide.kind(kind), name(row >= USUAL), name((row >= SELDOM) & (row < USUAL)))
        for kind, row in zip(questions.kinds, shares, strict=True)
    ]


def _show_kind(kind: Kind, pictures: PictureBook, address: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": kind.name, "shown": kind.shown, "address": href(address)}
    for picture in pictures(kind.exemplars[:1]):
        width, height = picture.thumbnail_size
        shown |= {"picture": href(picture.thumbnail), "width": width, "height": height}
    return shown

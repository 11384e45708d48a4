"""The page of the walk: what its script reads, and what it says where scripts are off."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldguide.chapters.walk import belief, walking
from fieldguide.chapters.walk.questions import Questions, read_questions, word_sides
from fieldguide.guide.views import Couplet, Kind
from fieldguide.site.addresses import AddressBook, href
from fieldguide.site.pictures import PictureBook

if TYPE_CHECKING:
    from fieldguide.guide import Guide

SHEET = "walk"
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


def has_questions(guide: "Guide") -> bool:
    """Whether there is anything to ask."""
    known = guide.characters
    return bool(guide.couplets) or (known is not None and bool(known.characters))


def show_walk(guide: "Guide", pictures: PictureBook, book: AddressBook) -> WalkSheet:
    """Gather the questions with their table, and the kinds with a picture each."""
    questions = read_questions(guide)
    return WalkSheet(
        table=write_table(guide, questions, pictures, book),
        rows=list_rows(guide, questions),
        n_characters=len(questions.characters),
        n_couplets=len(questions.couplets),
    )


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
        "sameDigits": belief.SAME_DIGITS,
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
            _write_couplet(guide, couplet, texts[j])
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


def _write_couplet(guide: "Guide", couplet: Couplet, levels: str) -> dict[str, Any]:
    minus, plus = word_sides(guide, couplet)
    ways = {"toMinus": couplet.to_minus, "toPlus": couplet.to_plus}
    return {"levels": levels, "minus": minus, "plus": plus, **ways}


def _show_kind(kind: Kind, pictures: PictureBook, address: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": kind.name, "shown": kind.shown, "address": href(address)}
    for picture in pictures(kind.exemplars[:1]):
        width, height = picture.thumbnail_size
        shown |= {"picture": href(picture.thumbnail), "width": width, "height": height}
    return shown

"""The marks of a kind, and between two kinds, for pages and for a terminal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PIL import Image

from fieldguide._languages import say, say_count
from fieldguide.chapters.marks.chapter import NAME
from fieldguide.chapters.marks.records import (
    DifferencesRecord,
    ImageMark,
    ImageMarks,
    KindMarks,
    Mark,
    MovementRecord,
    NetworkClass,
    PairDifferences,
    PairMarks,
    PatternMark,
    list_records,
)
from fieldguide.chapters.marks.sentences import (
    NO_DIFFERENCE,
    NO_MARK,
    say_differences,
    say_kind,
    say_numbers,
)
from fieldguide.features.network import Box
from fieldguide.guide.naming import listed
from fieldguide.guide.pairs import KindPair
from fieldguide.guide.views import Kind
from fieldguide.site.chapter_pages import ChapterPage
from fieldguide.site.movement import word_mark
from fieldguide.site.phrases import Spell, count, percent
from fieldguide.site.pictures import InlinePicture, Picture, PictureBook, inline_picture

if TYPE_CHECKING:
    from fieldguide.guide import Guide

NO_MARKS = "This guide has no marks; build it again, without --no-marks."
_TILE_PX = 120
_MARGIN = 0.15  # of its longer side, around what a tile shows


@dataclass(frozen=True)
class Tile:
    """The part of a specimen where a mark is seen; sizes are those of its thumbnail."""

    shown: Picture
    view: str  # viewBox of the part
    alt: str


@dataclass(frozen=True)
class ShownMark:
    """A mark with its numbers and pictures."""

    mark: Mark
    numbers: str  # "in 21 of 24; in 3 of 24 others"
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class ShownPair:
    """What sets a kind apart from a look-alike."""

    pair: PairMarks
    marks: list[ShownMark]


@dataclass(frozen=True)
class MarksOfKind:
    """What the page of a kind shows of its marks."""

    sentence: str
    nothing: str  # what is said where there is no sentence
    said: list[ShownMark]
    more: list[ShownMark]
    enough: str
    apart: list[ShownPair]
    patterns: list[tuple[PatternMark, str]]  # each with its numbers
    classes: tuple[NetworkClass, ...]
    colours: str

    @property
    def english(self) -> list[str]:
        """The marks in English, which the sentence is made of."""
        return list_english([*self.said, *(mark for pair in self.apart for mark in pair.marks)])


@dataclass(frozen=True)
class MarksOfPair:
    """What the page of two kinds shows of their marks."""

    sentence: str
    sides: list[tuple[str, list[ShownMark]]]  # each kind as people write it, with its marks

    @property
    def english(self) -> list[str]:
        """The marks in English, which the sentence is made of."""
        return list_english([mark for _, marks in self.sides for mark in marks])


@dataclass(frozen=True)
class SeenTile:
    """A mark in a new picture, with the part where it is looked for."""

    mark: ImageMark
    numbers: str
    tile: InlinePicture


@dataclass(frozen=True)
class MarksInImage:
    """What the identify page shows of marks."""

    marks: ImageMarks
    seen: list[SeenTile]
    against: list[SeenTile]


class MarksPage(ChapterPage):
    """The marks of a kind on its plate, those between two, and those that a new picture shows."""

    def show_kind(self, guide: "Guide", kind: Kind, pictures: PictureBook) -> MarksOfKind | None:
        """Return what the plate shows of the marks of a kind."""
        return show_marks(guide.marks(kind.name), pictures)

    def show_pair(
        self, guide: "Guide", pair: KindPair, pictures: PictureBook
    ) -> MarksOfPair | None:
        """Return what sets two kinds apart; None in a guide without marks."""
        found = pair.parts.get(NAME)
        return None if found is None else show_differences(found, _name_both(guide, pair), pictures)

    def show_answer(
        self, guide: "Guide", record: ImageMarks, image: Image.Image
    ) -> MarksInImage | None:
        """Return the marks that a new picture shows or lacks, each with its part of it."""
        shown = show_image_marks(record, image, guide.shown_name)
        return shown if shown.seen or shown.against or record.unusual else None

    def describe_answer(self, guide: "Guide", record: ImageMarks) -> list[str]:
        """Return the marks that a new picture shows, in a few lines."""
        return list(image_lines(record, guide.shown_name))

    def word_pair(self, guide: "Guide", pair: KindPair) -> list[str]:
        """Return what sets two kinds apart as lines of text."""
        found = pair.parts.get(NAME)
        return [NO_MARKS] if found is None else difference_lines(found, _name_both(guide, pair))

    def record_pair(self, guide: "Guide", pair: KindPair) -> DifferencesRecord | None:
        """Return what sets two kinds apart for plain data; None in a guide without marks."""
        found = pair.parts.get(NAME)
        if found is None:
            return None
        sentence = say_differences(found, _name_both(guide, pair))
        return DifferencesRecord(
            sentence, list_records(found.marks), list_records(found.other_marks)
        )

    def list_pictures(self, guide: "Guide") -> list[str]:
        """Return the addresses of all pictures of marks."""
        return guide.list_mark_pictures()


PAGE = MarksPage()


def show_marks(found: KindMarks | None, pictures: PictureBook) -> MarksOfKind | None:
    """Gather what the page of a kind shows of its marks; None where there are none."""
    if found is None:
        return None
    shown = [show_mark(mark, "", pictures) for mark in found.marks]
    return MarksOfKind(
        sentence=say_kind(found.said, found.apart),
        nothing=say(NO_MARK),
        said=shown[: found.n_said],
        more=shown[found.n_said :],
        enough=describe_sufficient(found),
        apart=[
            ShownPair(pair, [show_mark(mark, pair.shown, pictures) for mark in pair.marks])
            for pair in found.apart
        ],
        patterns=[(pattern, say_numbers(pattern)) for pattern in found.patterns],
        classes=found.classes,
        colours=listed(found.colours),
    )


def show_differences(
    found: PairDifferences, names: tuple[str, str], pictures: PictureBook
) -> MarksOfPair:
    """Gather what sets two kinds apart, each mark with its numbers and pictures."""
    sides = (
        (name, [show_mark(mark, other, pictures) for mark in marks])
        for name, other, marks in zip(
            names, names[::-1], (found.marks, found.other_marks), strict=True
        )
    )
    return MarksOfPair(say_differences(found, names), list(sides))


def show_mark(mark: Mark, other: str, pictures: PictureBook) -> ShownMark:
    """Return a mark with its numbers, and the parts of specimens that show it."""
    tiles = []
    for i, box in mark.specimens:
        shown = pictures([i])[0]
        width, height = shown.thumbnail_size
        x0, y0, side = _cut_square(box, width, height)
        alt = say("%(mark)s, in %(picture)s", mark=mark.words, picture=shown.alt)
        tiles.append(Tile(shown, f"{x0:.1f} {y0:.1f} {side:.1f} {side:.1f}", alt))
    return ShownMark(mark, say_numbers(mark, other), tuple(tiles))


def list_english(marks: Sequence[ShownMark]) -> list[str]:
    """Return the words of marks that are English: all but the owner's."""
    return [shown.mark.words for shown in marks if shown.mark.is_english]


def describe_sufficient(found: KindMarks) -> str:
    """Say how many of the marks are enough; nothing where all of them are needed."""
    if not 0 < found.n_sufficient < found.n_said:
        return ""
    return say_count(
        "%(n)s of these %(said)s is enough to tell it from the others.",
        "%(n)s of these %(said)s are enough to tell it from the others.",
        found.n_sufficient,
        said=found.n_said,
    )


def marks_lines(found: KindMarks, *, spell: Spell) -> list[str]:
    """Return the marks of a kind as lines of text."""
    lines = [f"{spell(found.kind)}: {found.sentence or NO_MARK}"]
    if found.colours:
        lines.append(f"Its colours: {listed(found.colours)}.")
    if found.marks:
        lines += ["", "From all other kinds", *_number_lines(found.marks)]
    for pair in found.apart:
        confused = f", confused in {percent(pair.confused)} of cases" if pair.confused else ""
        lines += ["", f"From {pair.shown}{confused}"]
        lines += _number_lines(pair.marks, pair.shown) or [f"  {NO_DIFFERENCE}"]
    if found.patterns:
        lines += ["", f"{count(len(found.patterns), 'pattern')} without a name: see its page."]
    if found.classes:
        classes = ", ".join(f"{name} {percent(share)}" for name, share in found.classes)
        lines += ["", f"As the network sees it: {classes}"]
    return lines


def list_movement(guide: "Guide", kind: str) -> list[MovementRecord]:
    """Return the marks of movement of a kind as plain data."""
    movements = guide.movements
    own = [
        (i, {seen.mark for seen in movement.marks})
        for i, digest in enumerate(guide.digests)
        if (movement := movements.of_clip.get(digest)) is not None and movement.own_kind == kind
    ]
    return [
        MovementRecord(
            word_mark(mark),
            mark.way,
            mark.speed,
            mark.height,
            mark.n_own,
            mark.of_own,
            mark.n_other,
            mark.of_other,
            mark.adds,
            tuple(i for i, shown in own if number in shown),
        )
        for number, mark in enumerate(movements.marks.get(kind, ()))
    ]


def difference_lines(found: PairDifferences, names: tuple[str, str]) -> list[str]:
    """Return what sets two kinds apart as lines of text."""
    lines = [say_differences(found, names)]
    if not (found.marks or found.other_marks):
        return lines
    for k, marks in enumerate((found.marks, found.other_marks)):
        lines += ["", names[k], *(_number_lines(marks, names[1 - k]) or [f"  {NO_DIFFERENCE}"])]
    return lines


def image_lines(record: ImageMarks, spell: Spell) -> list[str]:
    """Return the marks that a picture shows and lacks, as lines of text."""
    lines = []
    listed_already = {mark.text for mark in record.marks}
    for title, marks in (
        (f"marks of {spell(record.kind)}", record.marks),
        (
            f"unlike {spell(record.against or '')}",
            [mark for mark in record.against_marks if mark.text not in listed_already],
        ),
    ):
        shown = [mark.text for mark in marks if mark.is_shown]
        missing = [mark.text for mark in marks if not mark.is_shown]
        if shown:
            lines.append(f"{title}: {', '.join(shown)}")
        if missing:
            lines.append(f"{'but not' if shown else f'{title}, not seen'}: {', '.join(missing)}")
    return [*lines, *(f"unusual: {text}" for text in record.unusual)]


def show_image_marks(record: ImageMarks, image: Image.Image, spell: Spell) -> MarksInImage:
    """Gather the marks that a new picture shows or lacks, with the parts of it."""
    against = "" if record.against is None else spell(record.against)
    return MarksInImage(
        record,
        [_cut_seen(mark, "", image) for mark in record.marks],
        [_cut_seen(mark, against, image) for mark in record.against_marks],
    )


def _name_both(guide: "Guide", pair: KindPair) -> tuple[str, str]:
    return guide.shown_name(pair.kind), guide.shown_name(pair.other)


def _cut_seen(mark: ImageMark, other: str, image: Image.Image) -> SeenTile:
    x, y, side = _cut_square(mark.box, *image.size)
    box = (x, y, min(x + side, image.width), min(y + side, image.height))
    tile = image.resize((_TILE_PX, _TILE_PX), Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)
    alt = say("Your picture, where %(mark)s is looked for", mark=mark.text)
    return SeenTile(mark, say_numbers(mark, other), inline_picture(tile, alt, _TILE_PX))


def _cut_square(box: Box | None, width: int, height: int) -> tuple[float, float, float]:
    """Return left, top and side, in pixels, of a square inside the picture around a box."""
    x0, y0, x1, y1 = (0.0, 0.0, 1.0, 1.0) if box is None else box
    side = max((x1 - x0) * width, (y1 - y0) * height) * (1 + 2 * _MARGIN)
    side = min(max(side, 0.2 * min(width, height)), min(width, height))
    middle = (x0 + x1) / 2 * width, (y0 + y1) / 2 * height
    left, top = (
        min(max(at - side / 2, 0), length - side)
        for at, length in zip(middle, (width, height), strict=True)
    )
    return left, top, side


def _number_lines(marks: Sequence[Mark], other: str = "") -> list[str]:
    column = max((len(mark.words) for mark in marks), default=0)
    return [f"  {mark.words:<{column}}  {say_numbers(mark, other)}" for mark in marks]

"""The marks of a kind for its page, for the identify page and for a terminal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PIL import Image

from fieldguide.chapters.marks.heat import SIZE_PX, draw_heat
from fieldguide.chapters.marks.records import (
    HeatPicture,
    ImageMark,
    ImageMarks,
    KindMarks,
    WindowMark,
    WordMark,
)
from fieldguide.chapters.marks.windows import find_seen_box
from fieldguide.features.network import SIX, Box
from fieldguide.guide.views import Kind
from fieldguide.site.chapter_pages import ChapterPage
from fieldguide.site.phrases import Spell, display_name, listed, percent
from fieldguide.site.pictures import InlinePicture, Picture, PictureBook, inline_picture

if TYPE_CHECKING:
    from fieldguide.guide import Guide

_TILE_PX = 120
_N_TILES = 4


@dataclass(frozen=True)
class Tile:
    """What the network saw in a window of a specimen; sizes are those of its thumbnail."""

    shown: Picture
    view: str  # viewBox of the part
    alt: str


@dataclass(frozen=True)
class ShownMark:
    """A window mark with its pictures."""

    mark: WindowMark
    share: float  # of the heaviest mark's weight
    places: str  # "bottom-right, centre"
    frames: tuple[Box, ...]  # of its windows
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class EnoughPath:
    """A small drawing, 160 by 48: words across, held-out score upwards."""

    points: list[tuple[int, float, float, float]]  # words, score, x, y
    label: str


@dataclass(frozen=True)
class MarksOfKind:
    """What the page of a kind shows of its marks."""

    sentence: str
    windows: list[ShownMark]
    words: tuple[WordMark, ...]
    heaviest_word: float
    enough: str
    path: EnoughPath | None
    heat: list[tuple[Picture, HeatPicture]]


@dataclass(frozen=True)
class SeenTile:
    """A mark in a new picture, with what the network saw."""

    mark: ImageMark
    places: str
    tile: InlinePicture


@dataclass(frozen=True)
class MarksInImage:
    """What the identify page shows of marks."""

    marks: ImageMarks
    tiles: list[SeenTile]
    heat: InlinePicture | None


class MarksPage(ChapterPage):
    """The marks of a kind on its plate, and those that a new picture shows."""

    def show_kind(self, guide: "Guide", kind: Kind, pictures: PictureBook) -> MarksOfKind | None:
        """Return what the plate shows of the marks of a kind."""
        return show_marks(guide.marks(kind.name), pictures)

    def show_answer(
        self, guide: "Guide", record: ImageMarks, image: Image.Image
    ) -> MarksInImage | None:
        """Return the marks that a new picture shows, with what the network saw of it."""
        shown = show_image_marks(record, image, guide.shown_name)
        return shown if shown.tiles or shown.heat else None

    def word_answer(self, guide: "Guide", record: ImageMarks) -> list[str]:
        """Return the marks that a new picture shows, in one line."""
        return [f"because of: {record.because}"] if record.because else []

    def list_pictures(self, guide: "Guide") -> list[str]:
        """Return the addresses of all pictures of marks."""
        return list_mark_pictures(guide)


PAGE = MarksPage()


def show_marks(marks: KindMarks | None, pictures: PictureBook) -> MarksOfKind | None:
    """Gather what the page of a kind shows of its marks; None where there are none."""
    if marks is None or not (marks.windows or marks.words):
        return None
    heaviest = max((mark.weight for mark in marks.windows), default=1.0)
    return MarksOfKind(
        sentence=marks.sentence,
        windows=[_show_window_mark(mark, heaviest, pictures) for mark in marks.windows],
        words=marks.words,
        heaviest_word=max((word.weight for word in marks.words), default=1.0),
        enough=word_enough(marks),
        path=draw_path(marks),
        heat=[(pictures([heat.specimen])[0], heat) for heat in marks.heat],
    )


def list_mark_pictures(guide: "Guide") -> list[str]:
    """Return the addresses of all pictures of marks."""
    addresses: dict[str, None] = {}
    for kind in guide.kinds:
        marks = guide.marks(kind.name)
        if marks is not None:
            addresses |= dict.fromkeys(word.picture for word in marks.words)
            addresses |= dict.fromkeys(shown.picture for shown in marks.heat)
    return list(addresses)


def word_enough(marks: KindMarks) -> str:
    """Say how many visual words are enough for a kind, and how good they are."""
    if marks.enough is None or not marks.path:
        return ""
    score = max(score for n, score in marks.path if n == marks.enough)
    is_one = marks.enough == 1
    words = f"{marks.enough} of {marks.n_words:,} visual words {'is' if is_one else 'are'} enough"
    return (
        f"{words}: by {'it' if is_one else 'them'}, a held-out specimen of the kind scores above "
        f"one of another kind {percent(score)} of the time."
    )


def draw_path(marks: KindMarks) -> EnoughPath | None:
    """Draw how the held-out score grows with the number of words."""
    if len(marks.path) < 2:
        return None
    most = max(n for n, _ in marks.path)
    points = [
        (n, score, round(6 + 148 * n / most, 1), 44 - 80 * (max(score, 0.5) - 0.5))
        for n, score in marks.path
    ]
    said = ", ".join(f"{n} words {percent(score)}" for n, score in marks.path)
    return EnoughPath(points, f"Held-out score by number of words: {said}")


def marks_lines(
    marks: KindMarks, width: int, *, full: str = "█", spell: Spell = display_name
) -> list[str]:
    """Return the marks of a kind as lines of text, with bars."""
    name = spell(marks.kind)
    lines = [f"{name}: {marks.sentence}" if marks.windows else name]
    if marks.windows:
        lines += ["", "What the network sees in windows of its pictures"]
        lines += _bar_lines(
            [_name_window_mark(m) for m in marks.windows], marks.windows, width, full
        )
    if marks.words:
        lines += ["", "Visual words"]
        named = [f"{'not ' if m.lacks else ''}word {m.number}" for m in marks.words]
        lines += _bar_lines(named, marks.words, width, full)
    if word_enough(marks):
        lines.append(word_enough(marks))
    if not marks.windows and not marks.words:
        lines.append("It has no marks: the network has no words, and the pictures no contrast.")
    return lines


def show_image_marks(
    marks: ImageMarks, image: Image.Image, spell: Spell = display_name
) -> MarksInImage:
    """Gather the marks that a new picture shows, with what the network saw of it."""
    heat = None
    if marks.heat is not None and marks.heat.any():
        alt = f"Your picture, faded but for the places with words of {spell(marks.kind)}"
        heat = inline_picture(draw_heat(image, marks.heat), alt, SIZE_PX)
    return MarksInImage(marks, [_cut_seen(mark, image) for mark in marks.windows], heat)


def _cut_seen(mark: ImageMark, image: Image.Image) -> SeenTile:
    x0, y0, x1, y1 = mark.box
    box = (x0 * image.width, y0 * image.height, x1 * image.width, y1 * image.height)
    tile = image.resize((_TILE_PX, _TILE_PX), Image.Resampling.BICUBIC, box=box, reducing_gap=2.0)
    places = _list_places(mark.windows)
    return SeenTile(mark, places, inline_picture(tile, f"{places} of your picture", _TILE_PX))


def _show_window_mark(mark: WindowMark, heaviest: float, pictures: PictureBook) -> ShownMark:
    tiles = []
    for i, window in () if mark.lacks else mark.specimens[:_N_TILES]:
        shown = pictures([i])[0]
        width, height = shown.thumbnail_size
        x0, y0, x1, y1 = find_seen_box(window, width, height)
        view = (x0 * width, y0 * height, (x1 - x0) * width, (y1 - y0) * height)
        alt = f"{mark.word}, {_name_window(window)} of {shown.alt}"
        tiles.append(Tile(shown, " ".join(f"{value:.1f}" for value in view), alt))
    return ShownMark(
        *(mark, mark.weight / heaviest, _list_places(name for name, _ in mark.windows)),
        tuple(SIX[name] for name, _ in mark.windows),
        tuple(tiles),
    )


def _list_places(windows: Iterable[str]) -> str:
    return listed([_name_window(name) for name in windows])


def _name_window(window: str) -> str:
    return "whole picture" if window == "whole" else window


def _name_window_mark(mark: WindowMark) -> str:
    places = _list_places(name for name, _ in mark.windows)
    return f"{'not ' if mark.lacks else ''}{mark.word}, {places}"


def _bar_lines(
    names: Sequence[str], marks: Sequence[WindowMark | WordMark], width: int, full: str
) -> list[str]:
    heaviest = max(mark.weight for mark in marks)
    column = min(max(len(name) for name in names), max(width - 16, 20))
    room = max(min(width - column - 10, 30), 4)
    bars = [full * round(room * mark.weight / heaviest) for mark in marks]
    return [
        f"  {name[:column]:<{column}}  {mark.weight:4.0%}  {bar}".rstrip()
        for name, mark, bar in zip(names, marks, bars, strict=True)
    ]

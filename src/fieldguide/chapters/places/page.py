"""Where answers come from, for pages: outlines to draw over pictures, and the same in words."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fieldguide._languages import message, say
from fieldguide.chapters.places.records import Located
from fieldguide.guide.naming import display_name, listed
from fieldguide.guide.views import FoundSubject
from fieldguide.site.chapter_pages import ChapterPage, Outline
from fieldguide.site.phrases import Spell, percent

if TYPE_CHECKING:
    from fieldguide.guide import Guide

_DRAWN_PX = 1000  # longer side of the drawing's own units
_WHOLE = 0.75  # of the picture, from which on there is no saying where
_SPOTS = {  # by thirds of the picture, from the top and from the left
    (0, 0): message("at the upper left"),
    (0, 1): message("at the top"),
    (0, 2): message("at the upper right"),
    (1, 0): message("on the left"),
    (1, 1): message("in the middle"),
    (1, 2): message("on the right"),
    (2, 0): message("at the lower left"),
    (2, 1): message("at the bottom"),
    (2, 2): message("at the lower right"),
}
# Confidence up to which there is no clear subject: of CUB-200's photographs 0.4 % have less, of
# strips of them beside the bird 81 %.
UNSURE = 0.35


class PlacesPage(ChapterPage):
    """Outlines of what decided, over specimens and over a new picture."""

    def outline_specimens(
        self, guide: "Guide", ids: Iterable[int], against: str | None = None
    ) -> dict[int, Outline]:
        """Return the outlines of those specimens of which the guide knows what decided."""
        return draw_outlines(guide, ids, against)

    def outline_answer(self, guide: "Guide", record: Located, size: tuple[int, int]) -> Outline:
        """Return the outline of what speaks for the kind of a new picture."""
        return draw_outline(record, size, guide.shown_name, "xMidYMid meet")

    def describe_answer(self, guide: "Guide", record: Located) -> list[str]:
        """Return where the kind shows, in one line."""
        return [word_located(record, guide.shown_name)]


PAGE = PlacesPage()


def draw_outlines(
    guide: "Guide", ids: Iterable[int], against: str | None = None
) -> dict[int, Outline]:
    """Return the outlines of those specimens of which the guide knows what decided.

    The decision is between the kind of a specimen and all others, where the key has a function of
    that; ``against`` a kind, between the two, only where it is the next likely one.
    """
    outlines = {}
    for specimen in guide.specimens(list(ids)):
        located = guide.located(specimen.id, against)
        if located is None:
            continue
        size = (specimen.width, specimen.height)
        outlines[specimen.id] = draw_outline(located, size, guide.shown_name)
    return outlines


def draw_outline(
    located: Located,
    size: tuple[int, int],
    spell: Spell = display_name,
    align: str = "xMidYMax meet",
) -> Outline:
    """Return the outline of what was located in a picture of the given width and height."""
    scale = _DRAWN_PX / max(size)
    width, height = (max(1, round(side * scale)) for side in size)
    return Outline(
        width, height, draw_path(located, width, height), word_located(located, spell), align
    )


def draw_path(located: Located, width: float, height: float) -> str:
    """Return the outlines of all places as one path of SVG."""
    rings = (ring for place in located.places for ring in place.outline)
    return " ".join(
        "M" + " ".join(f"{x * width:.4g},{y * height:.4g}" for x, y in ring) + "Z" for ring in rings
    )


def word_located(located: Located, spell: Spell = display_name) -> str:
    """Say what decided: "what tells it from wren, in the middle"."""
    others = say("all others") if located.against is None else spell(located.against)
    told = say("what tells it from %(others)s", others=others)
    if not located.places:
        return say("%(what)s, in no one place", what=told)
    if located.share >= _WHOLE:
        return say("%(what)s, all over", what=told)
    spots = listed(list(dict.fromkeys(word_spot(place.box) for place in located.places)))
    return f"{told}, {spots}"


def word_subject(subject: FoundSubject) -> str:
    """Say where the subject is: "subject on the left, 31% of the picture"."""
    x0, y0, x1, y1 = subject.box
    if subject.confidence <= UNSURE:
        return "no clear subject"
    several = f" ({subject.n_pieces} may be subjects)" if subject.n_pieces > 1 else ""
    share = percent((x1 - x0) * (y1 - y0))
    return f"subject {word_spot(subject.box)}, {share} of the picture{several}"


def word_spot(box: tuple[float, float, float, float]) -> str:
    """Say where the middle of a box is, by thirds of the picture."""
    x0, y0, x1, y1 = box
    row, column = (_third((a + b) / 2) for a, b in ((y0, y1), (x0, x1)))
    return say(_SPOTS[row, column])


def _third(share: float) -> int:
    return min(int(3 * share), 2)

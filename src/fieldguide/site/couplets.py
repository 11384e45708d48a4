"""The key as a printed key: its drawing, and numbered couplets with pictures left and right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from fieldguide.guide.couplets import find_way
from fieldguide.guide.views import Couplet, Exemplar
from fieldguide.site.addresses import href
from fieldguide.site.key_drawing import describe_drawing, draw_key, fit
from fieldguide.site.key_layout import (
    BOTH,
    MINUS,
    PICTURE_PX,
    PLUS,
    Layout,
    choose_shown,
    lay_out,
)
from fieldguide.site.phrases import word_side
from fieldguide.site.pictures import Picture

if TYPE_CHECKING:
    from fieldguide.guide import Guide

MOST_COUPLETS = 250  # on the page; the others are far from the first, and few specimens meet them
_LEVELS = 5
_N_PICTURES = 6  # kinds that stand for a side
_N_NAMES = 12

# The picture of a kind, or of one specimen of it.
Portray = Callable[[Exemplar], Picture]


@dataclass(frozen=True)
class KindPicture:
    """A kind with a picture of it."""

    name: str
    picture: Picture


@dataclass(frozen=True)
class Side:
    """One way out of a couplet, or the kinds that go both ways."""

    sign: str
    words: str  # what tells it from the other side: "winged, wings open"; "" where no words do
    shown: list[KindPicture]
    names: list[str]  # of kinds, those that are shown first
    n_more: int  # kinds that are not named
    to: int | None  # the couplet that follows
    end: tuple[str, ...]  # the kinds left where the way ends


@dataclass(frozen=True)
class Entry:
    """A couplet as the page lists it."""

    number: int
    leads: list[tuple[int, str]]  # the couplets that lead here, and by which side
    sides: tuple[Side, Side]
    both: Side | None

    @property
    def is_worded(self) -> bool:
        """Whether words tell the sides apart."""
        return any(side.words for side in self.sides)


@dataclass(frozen=True)
class Drawing:
    """The drawing of a key, with what its frame needs to know."""

    markup: Markup
    width: int
    height: int
    alt: str
    n_levels: int
    n_drawn: int  # couplets


def list_couplets(guide: "Guide", portray: Portray) -> list[Entry]:
    """Return the first couplets as the page lists them."""
    couplets = guide.couplets
    listed = couplets[:MOST_COUPLETS]
    leads: dict[int, list[tuple[int, str]]] = {couplet.number: [] for couplet in couplets}
    for couplet in listed:
        for to, sign in ((couplet.to_minus, MINUS), (couplet.to_plus, PLUS)):
            if to is not None:
                leads[to].append((couplet.number, sign))
    return [
        Entry(couplet.number, leads[couplet.number], *describe_sides(guide, couplet, portray))
        for couplet in listed
    ]


def describe_sides(
    guide: "Guide",
    couplet: Couplet,
    portray: Portray,
    *,
    n_pictures: int = _N_PICTURES,
    n_names: int = _N_NAMES,
) -> tuple[tuple[Side, Side], Side | None]:
    """Return the two ways out of a couplet, and the kinds that go both ways."""

    minus_words, plus_words = guide.describe_couplet(couplet.number)

    def side(
        sign: str,
        way: int,
        kinds: Sequence[str],
        to: int | None = None,
        end: tuple[str, ...] = (),
        words: str = "",
    ) -> Side:
        shown = choose_shown(couplet, way, guide.couplets, n_pictures)
        names = list(dict.fromkeys([*(exemplar.kind for exemplar in shown), *kinds]))
        pictures = [KindPicture(exemplar.kind, portray(exemplar)) for exemplar in shown]
        n_named = len(names) if len(names) <= n_names + 1 else n_names
        return Side(sign, words, pictures, names[:n_named], len(names) - n_named, to, end)

    words = word_side(minus_words, plus_words, guide.shown_name)
    minus = side(MINUS, -1, couplet.minus, couplet.to_minus, couplet.minus_end, words)
    words = word_side(plus_words, minus_words, guide.shown_name)
    plus = side(PLUS, 1, couplet.plus, couplet.to_plus, couplet.plus_end, words)
    both = side(BOTH, 0, couplet.both) if couplet.both else None
    return (minus, plus), both


def list_way(guide: "Guide", kind: str, portray: Portray) -> list[tuple[int, Side, Side]]:
    """Return the way to a kind: each couplet's number, the side taken and the side left."""
    ways = []
    for couplet, sign in find_way(guide.couplets, kind):
        (minus, plus), _ = describe_sides(guide, couplet, portray, n_pictures=3, n_names=3)
        ways.append((couplet.number, *((plus, minus) if sign > 0 else (minus, plus))))
    return ways


def draw_for_page(guide: "Guide", portray: Portray, root: str) -> Drawing:
    """Return the drawing of the first levels."""
    layout: Layout = lay_out(guide.couplets, _LEVELS, guide.shown_name)
    width, height = PICTURE_PX

    def place(exemplar: Exemplar, x: float, y: float) -> str:
        source = escape(root + href(portray(exemplar).thumbnail))
        return (
            f'<image class="key-picture" x="{x:.1f}" y="{y:.1f}" width="{width}" '
            f'height="{height}" preserveAspectRatio="xMidYMid slice" href="{source}">'
            f"<title>{escape(fit(guide.shown_name(exemplar.kind)))}</title></image>"
        )

    def address(number: int) -> str | None:
        return f"#couplet-{number}" if number <= MOST_COUPLETS else None

    return Drawing(
        markup=Markup(draw_key(layout, place, address)),
        width=round(layout.width),
        height=round(layout.height) + 8,
        alt=describe_drawing(guide.couplets, layout),
        n_levels=layout.n_levels,
        n_drawn=len(layout.cards),
    )

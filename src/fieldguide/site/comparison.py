"""Two trees, or two kinds, side by side as a page of one file with its pictures inside."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fieldguide.guide.compare import Comparison, Pair, describe_comparison
from fieldguide.guide.pairs import KindPair
from fieldguide.guide.views import Specimen
from fieldguide.site.addresses import AddressBook
from fieldguide.site.chapter_pages import list_assets, list_styles
from fieldguide.site.environment import make_environment
from fieldguide.site.making import tree_name
from fieldguide.site.pairs import show_pair
from fieldguide.site.phrases import alternative_text
from fieldguide.site.pictures import EmbeddedPictures, embed_picture

if TYPE_CHECKING:
    from fieldguide.guide import Guide

_PICTURE_PX = (180, 136)
_N_SHOWN = 8  # pictures of one way
_MOST_WAYS = 60


@dataclass(frozen=True)
class Way:
    """Specimens that went the same way from the first tree to the second."""

    first: str  # sentences
    second: str
    count: int
    pictures: list[tuple[str, str]]  # data address and words


def compare_on_page(first: "Guide", second: "Guide", comparison: Comparison) -> str:
    """Return a page, in one file, that compares the trees of two guides."""
    return (
        make_environment(first, alone=True)
        .get_template("two_trees.html")
        .render(
            form="two-trees",
            first=first,
            second=second,
            names=[tree_name(guide.about) for guide in (first, second)],
            statement=describe_comparison(first, second, comparison),
            pairs=[pair for pair in comparison.pairs if pair.first is not None],
            lonely=[pair for pair in comparison.pairs if pair.first is None],
            ways=list(_ways(first, second, comparison)),
            n_ways=len(comparison.moves),
            share=share_kept,
            sheet=join_sheets(),
        )
    )


def compare_kinds_on_page(guide: "Guide", pair: KindPair) -> str:
    """Return a page, in one file, of two kinds side by side."""
    pictures = EmbeddedPictures(guide, AddressBook(guide))
    page = show_pair(guide, pair, pictures, address=lambda name: "")
    return (
        make_environment(guide, alone=True)
        .get_template("pair.html")
        .render(form="pair", root="", guide=guide, sheet=join_sheets(), **vars(page))
    )


def share_kept(pair: Pair) -> float:
    """Return what both branches of a pair hold, of what either does."""
    return pair.n_both / max(pair.n_first + pair.n_second - pair.n_both, 1)


def join_sheets() -> str:
    """Return all style sheets, for a page that stands alone."""
    names = ("style.css", *(f"{name}.css" for name in list_styles()))
    return "\n".join(list_assets()[name].read_text(encoding="utf-8") for name in names)


def _ways(first: "Guide", second: "Guide", comparison: Comparison) -> Iterable[Way]:
    for move in comparison.moves[:_MOST_WAYS]:
        shown = first.specimens([comparison.shared[row][0] for row in move.rows[:_N_SHOWN]])
        yield Way(
            first.sentence(move.first),
            second.sentence(move.second),
            len(move.rows),
            [(embed_picture(first.folder, s, _PICTURE_PX), _word(first, s)) for s in shown],
        )


def _word(guide: "Guide", specimen: Specimen) -> str:
    words = [word for word, _ in guide.words_of(specimen.id)[:3]]
    kind = None if specimen.kind is None else guide.shown_name(specimen.kind)
    return alternative_text(kind, words, specimen.path)

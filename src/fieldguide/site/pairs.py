"""Two kinds side by side: on a page, in a form to choose them, and in lines of text."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from fieldguide._languages import message, say
from fieldguide.guide.pairs import KindPair
from fieldguide.guide.views import Kind
from fieldguide.site.addresses import AddressBook
from fieldguide.site.chapter_pages import list_pages, outline_specimens
from fieldguide.site.contexts import Chooser, PairPage, PairSide
from fieldguide.site.phrases import word_confusion, word_doubt
from fieldguide.site.pictures import PictureBook

if TYPE_CHECKING:
    from fieldguide.guide import Guide

_N_EXEMPLARS = 4  # of each kind
NO_BORDER = message("The key is in doubt of none of their specimens.")


def show_pair(
    guide: "Guide",
    pair: KindPair,
    pictures: PictureBook,
    address: Callable[[str], str],
    chooser: Chooser | None = None,
) -> PairPage:
    """Gather what the page of two kinds shows; ``address`` is that of the page of a kind."""
    first, second = (
        PairSide(kind, address(kind.name), pictures(kind.exemplars[:_N_EXEMPLARS]))
        for kind in (guide.kind(pair.kind), guide.kind(pair.other))
    )
    outlines = {
        i: each
        for side, other in ((first, second), (second, first))
        for i, each in outline_specimens(
            guide, [shown.specimen.id for shown in side.pictures], other.kind.name
        ).items()
        if each.path
    }
    parts = ((name, page.show_pair(guide, pair, pictures)) for name, page in list_pages().items())
    return PairPage(
        pair=pair,
        sides=(first, second),
        outlines=outlines,
        chapters=[(name, part) for name, part in parts if part is not None],
        confusion=word_confusion(pair, guide.shown_name),
        border=[
            (each, word_doubt(each.specimen, guide.shown_name)) for each in pictures(pair.border)
        ],
        chooser=chooser,
    )


def make_chooser(guide: "Guide", first: str = "", second: str = "") -> Chooser:
    """Return the form, begun with two kinds; where one is not known, with a look-alike."""
    names = [kind.name for kind in guide.kinds]
    kind = guide.kinds[names.index(first) if first in names else 0]
    others = [name for name in names if name != kind.name]
    alike = [name for name, _ in kind.look_alikes] or others
    return Chooser(guide.kinds, kind.name, second if second in others else alike[0])


def list_pairs(guide: "Guide", book: AddressBook) -> list[tuple[Kind, list[Kind]]]:
    """Return each kind with those that it has a page with."""
    others: dict[str, list[Kind]] = {kind.name: [] for kind in guide.kinds}
    for kind, other in book.pairs:
        others[kind].append(guide.kind(other))
        others[other].append(guide.kind(kind))
    return [(kind, others[kind.name]) for kind in guide.kinds if others[kind.name]]


def pair_lines(guide: "Guide", pair: KindPair) -> list[str]:
    """Return two kinds side by side: what sets them apart, how often they are confused, and which
    specimens are on the border."""
    lines = []
    for page in list_pages().values():
        if said := page.word_pair(guide, pair):
            lines += [*said, ""]
    lines += [word_confusion(pair, guide.shown_name)]
    if pair.border:
        lines += ["", say("On the border")]
    elif pair.of_kind and pair.of_other:
        lines += [say(NO_BORDER)]
    for each in guide.specimens(pair.border):
        label = guide.shown_name(each.kind or "")
        lines.append(f"  {each.path}: {label}, {word_doubt(each, guide.shown_name)}")
    return lines

"""The printed key as a page, and as a file that stands alone."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fieldguide.chapters.walk.printed import Lead, PrintedKey, print_key
from fieldguide.chapters.walk.printed_text import key_lines, word_lead
from fieldguide.errors import GuideError
from fieldguide.site.addresses import AddressBook
from fieldguide.site.comparison import join_sheets
from fieldguide.site.pictures import EmbeddedPictures, Picture, PictureBook, find_specimen
from fieldguide.site.render import make_environment

if TYPE_CHECKING:
    from fieldguide.guide import Guide

SHEET = "printed-key"
SUFFIXES = (".html", ".txt")


@dataclass(frozen=True)
class ShownLead:
    """A lead with its pictures."""

    lead: Lead
    text: str
    pictures: list[Picture]


@dataclass(frozen=True)
class PrintedPage:
    """printed-key.html."""

    key: PrintedKey
    couplets: list[tuple[int, tuple[str, ...], list[ShownLead]]]  # number, back references, leads
    plates: list[tuple[str, Picture | None]]  # each kind with a picture of it


def show_printed(guide: "Guide", pictures: PictureBook) -> PrintedPage:
    """Gather what the page of the printed key shows."""
    key = print_key(guide)
    if key is None:
        raise GuideError(
            "This guide has no key to print: "
            + (
                "it has fewer than two kinds."
                if len(guide.kinds) < 2
                else "no characters part its kinds, and its key has no graph; build it again with "
                "`key=relaxed`."
            )
        )

    def show(lead: Lead) -> ShownLead:
        shown = pictures(find_specimen(guide, each) for each in lead.shown)
        return ShownLead(lead, word_lead(lead, guide.shown_name), shown)

    return PrintedPage(
        key,
        [(each.number, each.back, [show(lead) for lead in each.leads]) for each in key.couplets],
        [(kind.name, next(iter(pictures(kind.exemplars[:1])), None)) for kind in guide.kinds],
    )


def print_to_file(guide: "Guide", out: Path) -> str:
    """Return the key as text for a file: a page with its pictures inside, or lines of text."""
    page = show_printed(guide, EmbeddedPictures(guide, AddressBook(guide)))
    if out.suffix.lower() == ".txt":
        return "\n".join([*key_lines(page.key, guide.shown_name), ""])
    return (
        make_environment(guide.shown_name, alone=True)
        .get_template(f"walk/{SHEET}.html")
        .render(form=SHEET, root="", guide=guide, sheet=join_sheets(), **vars(page))
    )

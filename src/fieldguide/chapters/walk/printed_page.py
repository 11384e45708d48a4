"""The printed key as a page, as a file that stands alone, and as plain text."""

from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from fieldguide._languages import say, say_count
from fieldguide.chapters.walk.printed import Alike, Lead, PrintedKey, print_key
from fieldguide.errors import GuideError
from fieldguide.guide.naming import listed
from fieldguide.site.addresses import AddressBook
from fieldguide.site.phrases import Spell, count
from fieldguide.site.pictures import EmbeddedPictures, Picture, PictureBook, find_specimen

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
    from fieldguide.site.comparison import join_sheets
    from fieldguide.site.environment import make_environment

    return (
        make_environment(guide, alone=True)
        .get_template(f"walk/{SHEET}.html")
        .render(form=SHEET, root="", guide=guide, sheet=join_sheets(), **vars(page))
    )


WIDTH = 78
CONFUSED = "Taken for each other by the machine"
TOGETHER = "Not parted by this key"
_LEAST_DOTS = 3


def key_lines(key: PrintedKey, spell: Spell) -> list[str]:
    """Return a key to print as lines of text."""
    lines = [key.title, "=" * len(key.title), "", *wrap(key.statement, WIDTH), ""]
    labels = {
        lead.mark: f"{lead.mark} ({', '.join(couplet.back)})" if side == 0 and couplet.back else
        lead.mark
        for couplet in key.couplets
        for side, lead in enumerate(couplet.leads)
    }  # fmt: skip
    indent = 2 + max(len(label) for label in labels.values())
    for couplet in key.couplets:
        for lead in couplet.leads:
            told = _set_lead(lead, key, spell, WIDTH - indent)
            lines.append(f"{labels[lead.mark]:<{indent}}{told[0]}")
            lines += [" " * indent + line for line in told[1:]]
        lines.append("")
    if key.n_left_out:
        left_out = count(key.n_left_out, "couplet")
        lines += [f"The other {left_out} lie further on, where few specimens come.", ""]
    for title, alike in ((TOGETHER, key.together), (CONFUSED, key.confused)):
        if alike:
            lines += [title, "-" * len(title), ""]
            lines += [line for each in alike for line in _set_alike(each, spell)]
            lines.append("")
    if key.n_confused > len(key.confused):
        lines += [f"and {count(key.n_confused - len(key.confused), 'more pair')}.", ""]
    return lines[:-1]


def word_lead(lead: Lead, spell: Spell) -> str:
    """Say a lead: its words, or the kinds that it is like; nothing where its end says it."""
    if lead.words:
        return lead.words[:1].upper() + lead.words[1:]
    if {each.kind for each in lead.shown} == set(lead.end):
        return ""
    names = list(dict.fromkeys(spell(each.kind) for each in lead.shown))
    if not names:
        return say("No kind goes this way alone")
    shown = ", ".join(names)
    if lead.n_more:
        shown = say_count(
            "%(names)s and %(n)s more", "%(names)s and %(n)s more", lead.n_more, names=shown
        )
    return say("Like %(names)s", names=shown)


def word_end(lead: Lead, key: PrintedKey, spell: Spell) -> str:
    """Say where a lead goes: a number, or kinds with their plates."""
    if lead.to is not None:
        return str(lead.to)
    return " or ".join(f"{spell(kind)}, plate {key.plates[kind]}" for kind in lead.end)


def _set_lead(lead: Lead, key: PrintedKey, spell: Spell, width: int) -> list[str]:
    """Return a lead as lines with dots to where it goes, at the right."""
    lines = wrap(word_lead(lead, spell), width) or [""]
    *above, to = wrap(word_end(lead, key, spell), width - _LEAST_DOTS - 1)
    room = width - len(to) - 1
    if lines[-1] and (len(lines[-1]) + 1 + _LEAST_DOTS > room or above):
        lines += [*(f"{line:>{width}}" for line in above), ""]
    dots = "." * (room - len(lines[-1]) - (1 if lines[-1] else 0))
    lines[-1] = f"{lines[-1]} {dots} {to}" if lines[-1] else f"{dots} {to}"
    return lines


def _set_alike(alike: Alike, spell: Spell) -> list[str]:
    names = listed([spell(kind) for kind in alike.kinds])
    return wrap(f"{names}: {alike.evidence}.", WIDTH, initial_indent="- ", subsequent_indent="  ")

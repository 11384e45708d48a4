"""The key as books print it: numbered couplets with two leads, and plates where they end.

Two keys can be printed. One is grown from characters (``dichotomy.py``); the other is the key that
the machine asks, whose couplets are told apart in words where words do and by pictures where they
do not. The one that leads to more kinds alone is printed, that of characters where they are equal.

Back references are the leads that lead to a couplet; plates are numbered in the order of the kinds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fieldguide._languages import messages, say, say_count
from fieldguide.chapters.walk.characters import Characters
from fieldguide.chapters.walk.dichotomy import MOSTLY, GrownKey, Step, list_ends
from fieldguide.guide.views import Couplet, Exemplar
from fieldguide.site.key_layout import choose_shown
from fieldguide.site.phrases import percent, word_side

if TYPE_CHECKING:
    from fieldguide.guide import Guide

MOST_COUPLETS = 250
N_PICTURES = 4  # of a lead that no words tell
LEAST_CONFUSED, FEWEST_CONFUSED = 0.1, 2  # share and number of two kinds' specimens
MOST_PAIRS = 40  # that are listed
_SIDES = "ab"


@dataclass(frozen=True)
class Lead:
    """One of the two ways out of a couplet."""

    mark: str  # "7a"
    words: str  # "winged, wings open"; "" where no words tell
    shown: tuple[Exemplar, ...]  # what it looks like, where no words tell
    n_more: int  # kinds that are not shown
    to: int | None  # the couplet that follows
    end: tuple[str, ...]  # the kinds where the way ends


@dataclass(frozen=True)
class PrintedCouplet:
    """A numbered couplet."""

    number: int
    back: tuple[str, ...]  # the leads that lead here: "1b"
    leads: tuple[Lead, Lead]


@dataclass(frozen=True)
class Alike:
    """Kinds that are hard to tell apart, and how that is known."""

    kinds: tuple[str, ...]
    evidence: str


@dataclass(frozen=True)
class PrintedKey:
    """A key to print."""

    title: str
    statement: str  # what it is made of, how to read it, how far it leads to the truth
    couplets: tuple[PrintedCouplet, ...]
    n_left_out: int  # couplets that are not printed
    plates: dict[str, int]  # of each kind
    together: tuple[Alike, ...]  # kinds that end together
    confused: tuple[Alike, ...]  # kinds that the machine takes for each other
    n_confused: int  # such pairs, also those that are not listed


def print_key(guide: "Guide") -> PrintedKey | None:
    """Return the key of a guide to print; None where it has neither characters nor couplets."""
    grown = guide.dichotomy
    by_characters = {} if grown is None else _count_alone(list_ends(grown.steps))
    ends = [end for couplet in guide.couplets for end in (couplet.minus_end, couplet.plus_end)]
    if grown is not None and grown.steps and len(by_characters) >= len(_count_alone(ends)):
        names = grown.characters.kinds
        couplets = _list_steps(grown)
        together = _list_together(grown.characters, list_ends(grown.steps))
        statement = _state_characters(grown, len(by_characters))
        parted = _find_parting([_sides_of(step, names) for step in grown.steps])
        n_left_out = 0
    elif guide.couplets:
        couplets = _list_couplets(guide)
        together = _list_ends_together(guide.couplets)
        statement = _state_couplets(guide, couplets)
        parted = _find_parting([(c.number, c.minus, c.plus) for c in guide.couplets])
        n_left_out = len(guide.couplets) - len(couplets)
    else:
        return None
    unworded = {number for number, leads in couplets if not any(lead.words for lead in leads)}
    confused = _list_confused(guide, parted, unworded)
    return PrintedKey(
        title=say_count(
            "Key to the %(n)s kind of %(title)s",
            "Key to the %(n)s kinds of %(title)s",
            len(guide.kinds),
            title=guide.title,
        ),
        statement=statement,
        couplets=_refer_back(couplets),
        n_left_out=n_left_out,
        plates=number_plates(guide),
        together=together,
        confused=tuple(confused[:MOST_PAIRS]),
        n_confused=len(confused),
    )


def has_key(guide: "Guide") -> bool:
    """Whether a guide has a key to print."""
    return bool(guide.couplets) or (guide.dichotomy is not None and bool(guide.dichotomy.steps))


def _count_alone(ends: Sequence[tuple[Any, ...]]) -> dict[Any, None]:
    """Return the kinds that some end names alone."""
    return dict.fromkeys(end[0] for end in ends if len(end) == 1)


# -- the couplets


def _list_steps(grown: GrownKey) -> list[tuple[int, tuple[Lead, Lead]]]:
    """Return the couplets of a key of characters."""
    characters, kinds = grown.characters.characters, grown.characters.kinds

    def lead(step: Step, side: int) -> Lead:
        said = (step.split.shown, step.split.opposite)[side]
        left = (step.kinds_first, step.kinds_second)[side]
        to = (step.to_first, step.to_second)[side]
        words = ", ".join(characters[j].text for j in said) or say("not so")
        end = () if to is not None else tuple(kinds[k] for k in left)
        return Lead(f"{step.number}{_SIDES[side]}", words, (), 0, to, end)

    return [(step.number, (lead(step, 0), lead(step, 1))) for step in grown.steps]


def _list_couplets(guide: "Guide") -> list[tuple[int, tuple[Lead, Lead]]]:
    """Return the couplets of the machine's key, the nearest to the first ones first."""

    def lead(couplet: Couplet, side: int) -> Lead:
        said = guide.describe_couplet(couplet.number)
        words = word_side(said[side], said[1 - side], guide.shown_name)
        shown: tuple[Exemplar, ...] = ()
        if not words:
            shown = choose_shown(couplet, (-1, 1)[side], guide.couplets, N_PICTURES)
        kinds = (couplet.minus, couplet.plus)[side]
        n_more = max(len(kinds) - len({each.kind for each in shown}), 0) if shown else 0
        to = (couplet.to_minus, couplet.to_plus)[side]
        end = (couplet.minus_end, couplet.plus_end)[side]
        return Lead(f"{couplet.number}{_SIDES[side]}", words, shown, n_more, to, end)

    return [(c.number, (lead(c, 0), lead(c, 1))) for c in guide.couplets[:MOST_COUPLETS]]


def _refer_back(couplets: Sequence[tuple[int, tuple[Lead, Lead]]]) -> tuple[PrintedCouplet, ...]:
    """Return the couplets with the leads that lead to them."""
    back: dict[int, list[str]] = {}
    for _, leads in couplets:
        for lead in leads:
            if lead.to is not None:
                back.setdefault(lead.to, []).append(lead.mark)
    return tuple(
        PrintedCouplet(number, tuple(back.get(number, ())), leads) for number, leads in couplets
    )


# -- what it is made of


_FOUND_ALONE = messages(
    "It leads to %(ends)s of %(kinds)s kinds alone; %(alone)s of %(n)s specimen, walked through a "
    "key that was grown without it, came to its own kind alone.",
    "It leads to %(ends)s of %(kinds)s kinds alone; %(alone)s of %(n)s specimens, each walked "
    "through a key that was grown without it, came to their own kind alone.",
)
_FOUND_WITHIN = messages(
    "It leads to %(ends)s of %(kinds)s kinds alone; %(alone)s of %(n)s specimen, walked through a "
    "key that was grown without it, came to its own kind alone, %(within)s to an end that names "
    "it.",
    "It leads to %(ends)s of %(kinds)s kinds alone; %(alone)s of %(n)s specimens, each walked "
    "through a key that was grown without it, came to their own kind alone, %(within)s to an end "
    "that names it.",
)


def _state_characters(grown: GrownKey, n_alone: int) -> str:
    walked, n_kinds = grown.walked, len(grown.characters.kinds)
    told = say(
        "A key of characters. At each couplet take the lead whose words are true of the specimen: "
        "most of them, or the first where they are divided; “not so” is whatever the other lead is "
        "not."
    )
    is_wider = walked.n_within > walked.n_alone
    found = say_count(
        *(_FOUND_WITHIN if is_wider else _FOUND_ALONE),
        walked.n,
        ends=n_alone,
        kinds=n_kinds,
        alone=walked.n_alone,
        **({"within": walked.n_within} if is_wider else {}),
    )
    return f"{told} {found}"


def _state_couplets(guide: "Guide", couplets: Sequence[tuple[int, tuple[Lead, Lead]]]) -> str:
    n_worded = sum(any(lead.words for lead in leads) for _, leads in couplets)
    told = say(
        "The key that the machine asks. Where words tell the two leads of a couplet apart, they "
        "are given (%(worded)s of %(n)s); where they do not, take the lead whose pictures the "
        "specimen is more like.",
        worded=n_worded,
        n=len(couplets),
    )
    return f"{told} {guide.verdict}"


# -- kinds that are hard to tell apart


def _list_together(characters: Characters, ends: Sequence[tuple[int, ...]]) -> tuple[Alike, ...]:
    """Return the kinds that a key of characters does not part, and what differs most."""
    alike = []
    for end in sorted((end for end in ends if len(end) > 1), key=len):
        shares = characters.shares[list(end)]
        j = int(np.argmax(np.ptp(shares, axis=0)))
        most, least = int(np.argmax(shares[:, j])), int(np.argmin(shares[:, j]))
        evidence = say(
            "no character is seen in %(mostly)s of the one and at most %(seldom)s of the other; "
            "“%(character)s” differs most, %(most)s and %(least)s",
            mostly=percent(MOSTLY),
            seldom=percent(1 - MOSTLY),
            character=characters.characters[j].text,
            most=percent(shares[most, j]),
            least=percent(shares[least, j]),
        )
        alike.append(Alike(tuple(characters.kinds[k] for k in end), evidence))
    return tuple(alike)


def _list_ends_together(couplets: Sequence[Couplet]) -> tuple[Alike, ...]:
    """Return the kinds that the machine's key does not part."""
    ends = (end for couplet in couplets for end in (couplet.minus_end, couplet.plus_end))
    together = dict.fromkeys(end for end in ends if len(end) > 1)
    evidence = say("the key leaves them open where it ends")
    return tuple(Alike(end, evidence) for end in together)


def number_plates(guide: "Guide") -> dict[str, int]:
    """Return the plate of each kind, and of each that its owner has made part of another."""
    plates = {kind.name: n for n, kind in enumerate(guide.kinds, start=1)}
    return plates | {name: plates[kind] for name, kind in guide.overlay.aliases.items()}


def _list_confused(
    guide: "Guide", parted: dict[frozenset[str], int], unworded: set[int]
) -> list[Alike]:
    """Return the kinds that the machine takes for each other when it has not seen them."""
    n_confused: dict[tuple[str, ...], int] = {}
    for kind, said, n in guide.about.get("confusions") or []:
        pair = tuple(sorted((kind, said)))
        n_confused[pair] = n_confused.get(pair, 0) + n
    counts = {kind.name: kind.count for kind in guide.kinds}
    listed_pairs = []
    for pair, n in n_confused.items():
        total = sum(counts.get(kind, 0) for kind in pair)
        if n >= max(LEAST_CONFUSED * total, FEWEST_CONFUSED):
            at = parted.get(frozenset(pair))
            evidence = say(
                "%(n)s of %(total)s held-out pictures are taken for the other", n=n, total=total
            )
            if at in unworded:
                evidence += "; " + say("couplet %(n)s parts them, by pictures alone", n=at)
            elif at is not None:
                evidence += "; " + say("couplet %(n)s parts them", n=at)
            listed_pairs.append((-n / total, pair, evidence))
    return [Alike(pair, evidence) for _, pair, evidence in sorted(listed_pairs)]


def _sides_of(step: Step, kinds: Sequence[str]) -> tuple[int, list[str], list[str]]:
    first, second = ([kinds[k] for k in side] for side in (step.split.first, step.split.second))
    return step.number, first, second


def _find_parting(
    sides: Sequence[tuple[int, Sequence[str], Sequence[str]]],
) -> dict[frozenset[str], int]:
    """Return the first couplet that parts two kinds, for each two that one parts."""
    parted: dict[frozenset[str], int] = {}
    for number, first, second in sides:
        for a in first:
            for b in second:
                parted.setdefault(frozenset((a, b)), number)
    return parted

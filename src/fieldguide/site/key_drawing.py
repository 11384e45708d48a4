"""A key as a drawing: SVG text for a page, whose style sheet is ``assets/key.css``.

Every side has its sign, its word and its pictures; nothing is said by colour alone.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import escape

from fieldguide._display import printable
from fieldguide._languages import message, messages, say, say_count
from fieldguide.guide.naming import either, listed
from fieldguide.guide.views import Couplet, Exemplar
from fieldguide.site.key_layout import (
    BOTH,
    CAPTION_PX,
    CARD_PX,
    HEAD_PX,
    PICTURE_GAP_PX,
    PICTURE_PX,
    ROW_PICTURES,
    SIGN_PX,
    Card,
    Layout,
    Row,
)
from fieldguide.site.phrases import count

WORDS = {"−": message("minus"), "0": message("both"), "+": message("plus")}
_ALL_COUPLETS = messages(
    "The key as a tree of pictures, with its couplet.",
    "The key as a tree of pictures, all %(n)s couplets.",
)
_FIRST_COUPLETS = messages(
    "The key as a tree of pictures, the first %(drawn)s of %(n)s couplet.",
    "The key as a tree of pictures, the first %(drawn)s of %(n)s couplets.",
)
NAME_PX = 10.5  # size of the names; the style sheet has the same
_MOST_NAMES_IN_LINE = 12
_NARROW = set("ijltfr.,;:'|!()[] -")
_WIDE = set("mwMW@%&")
# What XML cannot hold, and what has no business in a name.
_UNFIT = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# Draw a picture: (what, x, y) -> SVG.
DrawPicture = Callable[[Exemplar, float, float], str]
# The address of a couplet, or None where it has none.
Address = Callable[[int], str | None]


def draw_key(
    layout: Layout, draw_picture: DrawPicture, address: Address, *, prefix: str = "key-"
) -> str:
    """Return the lines and cards of a drawing, to stand inside an ``<svg>``.

    The number of a couplet links to its ``address``; the id of its card is ``prefix`` and number.
    """
    lines = [_line(layout.cards[a], layout.cards[b]) for a, b in sorted(layout.links)]
    cards = [
        f'<g id="{prefix}{number}">\n{_card(card, layout, draw_picture, address)}\n</g>'
        for number, card in layout.cards.items()
    ]
    return "\n".join([*lines, *cards])


def describe_drawing(couplets: Sequence[Couplet], layout: Layout) -> str:
    """Say in words what a drawing shows, for who cannot see it."""
    first = layout.cards[1]
    sides = [
        f"{say(WORDS[row.sign])}: {count(len(row.kinds), 'kind')}"
        + (f", {_introduce(row, layout)}" if row.shown else "")
        for row in first.rows
    ]
    if len(layout.cards) == len(couplets):
        whole = say_count(*_ALL_COUPLETS, len(couplets))
    else:
        whole = say_count(*_FIRST_COUPLETS, len(couplets), drawn=len(layout.cards))
    return f"{whole} " + say("Couplet 1, %(sides)s.", sides="; ".join(sides))


def _introduce(row: Row, layout: Layout) -> str:
    kinds = listed(_few(_kinds_of(row.shown, layout)))
    if row.shown[0].specimen is None:
        return say("such as %(kinds)s", kinds=kinds)
    return say("with pictures of %(kinds)s", kinds=kinds)


def _kinds_of(shown: Sequence[Exemplar], layout: Layout) -> list[str]:
    return list(dict.fromkeys(fit(layout.spell(exemplar.kind)) for exemplar in shown))


def _few(names: Sequence[str]) -> list[str]:
    return list(names[:: -(-len(names) // 4)])


def fit(name: str) -> str:
    """Return a name without what a drawing cannot hold."""
    return printable(_UNFIT.sub("\ufffd", name))


def text_width(text: str, size_px: float) -> float:
    """Estimate how wide a line of text is set, in the wider of common fonts; none is measured."""
    return size_px * sum(_width_em(character) for character in text)


def shorten(text: str, width_px: float, size_px: float) -> str:
    """Cut a line that would be too wide, and say so with dots."""
    if text_width(text, size_px) <= width_px:
        return text
    while text and text_width(text + "…", size_px) > width_px:
        text = text[:-1]
    return text.rstrip() + "…"


def name_kinds(
    kinds: Sequence[str], first: Sequence[str], width_px: float, n_lines: int = 1
) -> list[str]:
    """Name as many kinds as fit into some lines, those of ``first`` first, and count the others."""
    names = list(dict.fromkeys([*first, *kinds]))
    if not names:
        return [say("no kind alone")]
    for n in range(min(len(names), _MOST_NAMES_IN_LINE * n_lines), 0, -1):
        rest = len(names) - n
        parts = [*(f"{name}," for name in names[: n - 1]), names[n - 1]]
        parts += [_count_more(rest)] if rest else []
        lines = wrap(parts, width_px, NAME_PX)
        if len(lines) <= n_lines and all(text_width(x, NAME_PX) <= width_px for x in lines):
            return lines
    tail = f" {_count_more(len(names) - 1)}" if len(names) > 1 else ""
    return [shorten(names[0], width_px - text_width(tail, NAME_PX), NAME_PX) + tail]


def _count_more(n: int) -> str:
    return say_count("+ %(n)s more", "+ %(n)s more", n)


def wrap(words: Sequence[str], width_px: float, size_px: float) -> list[str]:
    """Break words into lines."""
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size_px) > width_px:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _width_em(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if character in _NARROW:
        return 0.36
    if character in _WIDE:
        return 0.9
    return 0.76 if character.isupper() else 0.57


def _line(parent: Card, child: Card) -> str:
    """A line from the side of a couplet to the couplet that follows."""
    y = next(at for row, at in _places(parent) if row.to == child.couplet.number)
    start, end = parent.x + CARD_PX + 3, child.x - 5
    bend = start + (end - start) * 0.5
    target = child.y + HEAD_PX / 2
    return (
        f'<path class="key-line" d="M{start:.1f} {y:.1f}H{bend:.1f}V{target:.1f}H{end:.1f}"/>'
        f'<path class="key-arrow" d="M{end - 4:.1f} {target - 3:.1f}L{end + 1:.1f} {target:.1f}'
        f'L{end - 4:.1f} {target + 3:.1f}z"/>'
    )


def _places(card: Card) -> list[tuple[Row, float]]:
    """Return each row with the height of the middle of its first pictures."""
    places, y = [], card.y + HEAD_PX
    for row in card.rows:
        places.append((row, y + PICTURE_PX[1] / 2))
        y += row.height
    return places


def _card(card: Card, layout: Layout, draw_picture: DrawPicture, address: Address) -> str:
    couplet = card.couplet
    n_kinds = len(couplet.minus) + len(couplet.both) + len(couplet.plus)
    note = count(n_kinds, "kind")
    if card.also_from:
        numbers = listed([str(number) for number in card.also_from])
        note += ", " + say("also from %(numbers)s", numbers=numbers)
    number = (
        f'<text class="key-number" x="{card.x:.1f}" y="{card.y + 14:.1f}">{couplet.number}</text>'
    )
    parts = [
        f'<path class="key-rule" d="M{card.x:.1f} {card.y:.1f}h{CARD_PX}"/>',
        _link(address(couplet.number), number),
        f'<text class="key-note" x="{card.x + CARD_PX:.1f}" y="{card.y + 13:.1f}" '
        f'text-anchor="end">{escape(shorten(note, CARD_PX - 30, 10))}</text>',
    ]
    for row, middle in _places(card):
        parts += _row(row, card, middle, layout, draw_picture, address)
    return "\n".join(parts)


def _row(
    row: Row,
    card: Card,
    middle: float,
    layout: Layout,
    draw_picture: DrawPicture,
    address: Address,
) -> list[str]:
    width, height = PICTURE_PX
    word = escape(say(WORDS[row.sign]))
    top, x = middle - height / 2, card.x + SIGN_PX
    parts = [
        f'<text class="key-sign" x="{card.x + 9:.1f}" y="{top + 14:.1f}" text-anchor="middle">'
        f"{row.sign}</text>",
        f'<text class="key-word" x="{card.x:.1f}" y="{top + 25:.1f}">{word}</text>',
    ]
    for place, exemplar in enumerate(row.shown):
        line, column = divmod(place, ROW_PICTURES)
        parts.append(
            draw_picture(
                exemplar,
                x + column * (width + PICTURE_GAP_PX),
                top + line * (height + PICTURE_GAP_PX),
            )
        )
    mark = _mark(row, card, layout)
    after = x + min(len(row.shown), ROW_PICTURES) * (width + PICTURE_GAP_PX) + 3
    right = card.x + CARD_PX
    if row.n_name_lines:
        at, baseline = x, top + row.n_lines * (height + PICTURE_GAP_PX) + 8
        # Pictures that fill the line leave room for the mark only below them.
        is_full = len(row.shown) >= ROW_PICTURES and mark.width_px > 0
        mark_y = baseline - 3.5 if is_full else middle
        lines = _name_row(row, layout, right - at - (mark.width_px if is_full else 0))
    else:
        at, baseline, mark_y = after, middle + 3.5, middle
        lines = _name_row(row, layout, right - at - mark.width_px)
        after += text_width(lines[0], NAME_PX) + 5
    whole = escape(listed([fit(layout.spell(kind)) for kind in row.kinds]))
    css = "key-name key-end" if row.end else "key-name"
    for k, text in enumerate(lines):
        parts.append(
            f'<text class="{css}" x="{at:.1f}" y="{baseline + k * CAPTION_PX:.1f}">'
            f"{escape(text)}<title>{whole}</title></text>"
        )
    leader_end = right - mark.width_px
    if row.sign != BOTH and mark_y == middle and after < leader_end - 6:
        parts.append(f'<path class="key-leader" d="M{after:.1f} {middle:.1f}H{leader_end:.1f}"/>')
    if mark.text:
        outside = mark.width_px == 0
        mark_x, anchor = (right + 4, "start") if outside else (right, "end")
        refer = (
            f'<text class="key-refer" x="{mark_x:.1f}" y="{mark_y + 3.5:.1f}" '
            f'text-anchor="{anchor}">{mark.text}</text>'
        )
        parts.append(_link(address(mark.to), refer))
    elif row.end:
        parts.append(f'<circle class="key-dot" cx="{right - 3:.1f}" cy="{mark_y:.1f}" r="3"/>')
    return parts


class _Mark(NamedTuple):
    """What stands at the right end of a side instead of a line, and the room it takes there."""

    text: str = ""
    to: int = 0
    width_px: float = 0.0


def _mark(row: Row, card: Card, layout: Layout) -> _Mark:
    if row.end:
        return _Mark(width_px=10)
    if row.to is None or (card.couplet.number, row.to) in layout.links:
        return _Mark()
    text = f"→ {row.to}"
    is_last = card.couplet.depth == layout.n_levels - 1  # there is room beside the last column
    return _Mark(text, row.to, 0 if is_last else text_width(text, NAME_PX) + 12)


def _name_row(row: Row, layout: Layout, width_px: float) -> list[str]:
    if row.end and set(row.end) != set(row.kinds):
        ends = either([fit(layout.spell(kind)) for kind in row.end])
        return [shorten(say("ends: %(kinds)s", kinds=ends), width_px, NAME_PX)]
    kinds = [fit(layout.spell(kind)) for kind in row.kinds]
    return name_kinds(kinds, _kinds_of(row.shown, layout), width_px, max(row.n_name_lines, 1))


def _link(address: str | None, inside: str) -> str:
    # Not a stop of the keyboard: what a drawing shows is told again, in order, by the couplets.
    return inside if address is None else f'<a href="{address}" tabindex="-1">{inside}</a>'

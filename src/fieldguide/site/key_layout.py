"""Which couplets of a key a drawing shows, and where; which kinds stand for a group of many.

The first couplet stands on the left, each further level one column on. A couplet that several
ways lead to is drawn once, beside the first that leads to it; the others refer to its number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fieldguide.guide.naming import display_name
from fieldguide.guide.views import Couplet, Exemplar
from fieldguide.site.phrases import Spell

CARD_PX = 188  # width of a couplet
COLUMN_PX = 216  # from one column to the next
REFER_PX = 34  # beside the last column, for the numbers of couplets that are not drawn
SIGN_PX = 27  # column of the signs inside a card
PICTURE_PX = (38, 32)
PICTURE_GAP_PX = 3
ROW_PICTURES = 4  # pictures beside each other
LINES_AT_DEPTH = (3, 2, 1)  # of pictures and names; the first couplets hold most, and have room
HEAD_PX = 21
CAPTION_PX = 14
ROW_GAP_PX = 6
CARD_GAP_PX = 16

MINUS, BOTH, PLUS = "−", "0", "+"


@dataclass(frozen=True)
class Row:
    """One side of a couplet, or the kinds that go both ways."""

    sign: str
    kinds: tuple[str, ...]
    shown: tuple[Exemplar, ...]  # whose pictures stand for all
    n_lines: int  # of pictures
    n_name_lines: int  # below them; 0 where the name stands beside a single picture
    to: int | None  # the couplet that follows, if any
    end: tuple[str, ...]  # the kinds left where the way ends; else ()
    height: int


@dataclass(frozen=True)
class Card:
    """A couplet in its place."""

    couplet: Couplet
    rows: tuple[Row, ...]
    x: float
    y: float  # of its upper edge
    height: float
    also_from: tuple[int, ...]  # couplets that lead here too, and only refer to it


@dataclass(frozen=True)
class Layout:
    """A drawing of the first levels."""

    cards: dict[int, Card]  # by number
    links: frozenset[tuple[int, int]]  # couplets joined by a line
    width: float
    height: float
    n_levels: int
    spell: Spell  # how kinds are written


def lay_out(couplets: Sequence[Couplet], levels: int, spell: Spell = display_name) -> Layout:
    """Place the couplets of the first levels, each level in a column, children below each other."""
    drawn = [couplet for couplet in couplets if couplet.depth < levels]
    parent: dict[int, int] = {}
    leads: dict[int, list[int]] = {couplet.number: [] for couplet in drawn}
    for couplet in drawn:
        for child in follows(couplet):
            if child in leads:
                leads[child].append(couplet.number)
                parent.setdefault(child, couplet.number)
    children: dict[int, list[int]] = {couplet.number: [] for couplet in drawn}
    for child, number in parent.items():
        children[number].append(child)
    rows = {couplet.number: _rows(couplet, couplets) for couplet in drawn}
    height = {n: HEAD_PX + sum(row.height for row in own) for n, own in rows.items()}
    # From the deepest on: how much room a couplet takes with all that hangs from it.
    room: dict[int, float] = {}
    for couplet in reversed(drawn):
        n = couplet.number
        room[n] = max(height[n], _stack(children[n], room))
    # The first couplet stands at the top, where a reader begins, and so does each first child.
    top = {drawn[0].number: 0.0}
    for couplet in drawn:
        y = top[couplet.number]
        for child in children[couplet.number]:
            top[child] = y
            y += room[child] + CARD_GAP_PX
    cards = {
        couplet.number: Card(
            couplet,
            rows[couplet.number],
            couplet.depth * COLUMN_PX,
            top[couplet.number],
            height[couplet.number],
            tuple(dict.fromkeys(leads[couplet.number][1:])),
        )
        for couplet in drawn
    }
    n_levels = 1 + max(couplet.depth for couplet in drawn)
    return Layout(
        cards,
        frozenset((number, child) for child, number in parent.items()),
        (n_levels - 1) * COLUMN_PX + CARD_PX + REFER_PX,
        room[drawn[0].number],
        n_levels,
        spell,
    )


def follows(couplet: Couplet) -> list[int]:
    """Return the couplets that a couplet leads to, the minus side first."""
    return [number for number in (couplet.to_minus, couplet.to_plus) if number is not None]


def choose_spanning(
    kinds: Sequence[str], number: int | None, couplets: Sequence[Couplet], n: int
) -> tuple[str, ...]:
    """Return up to ``n`` of ``kinds`` that stand for them all, in the order of the key.

    The couplets from ``number`` on part the kinds into groups; each group gives its share, so
    that no two of the chosen stay together for longer than they must.
    """
    while len(kinds) > n > 1 and number is not None:
        couplet = couplets[number - 1]
        is_minus = {*couplet.minus, *couplet.both}
        first = [kind for kind in kinds if kind in is_minus]
        second = [kind for kind in kinds if kind not in is_minus]
        if first and second:
            share = min(max(round(n * len(first) / len(kinds)), 1), n - 1)
            return choose_spanning(first, couplet.to_minus, couplets, share) + choose_spanning(
                second, couplet.to_plus, couplets, n - share
            )
        number = couplet.to_minus if first else couplet.to_plus
    return tuple(kinds[:n])


def choose_shown(
    couplet: Couplet, way: int, couplets: Sequence[Couplet], n: int
) -> tuple[Exemplar, ...]:
    """Return what stands for a side: −1 minus, 0 both ways, +1 plus.

    Specimens of which the key knows that they went there, else kinds that do.
    """
    if any(couplet.examples):
        return couplet.examples[way + 1][:n]
    kinds = (couplet.minus, couplet.both, couplet.plus)[way + 1]
    number = couplet.to_plus if way > 0 else couplet.to_minus
    return tuple(Exemplar(kind) for kind in choose_spanning(kinds, number, couplets, n))


def _rows(couplet: Couplet, couplets: Sequence[Couplet]) -> tuple[Row, ...]:
    most = LINES_AT_DEPTH[min(couplet.depth, len(LINES_AT_DEPTH) - 1)]
    sides = [(MINUS, -1, couplet.minus, couplet.to_minus, couplet.minus_end)]
    if couplet.both:
        sides.append((BOTH, 0, couplet.both, None, ()))
    sides.append((PLUS, 1, couplet.plus, couplet.to_plus, couplet.plus_end))
    rows = []
    for sign, way, kinds, to, end in sides:
        shown = choose_shown(couplet, way, couplets, most * ROW_PICTURES)
        n_lines = max(1, -(-len(shown) // ROW_PICTURES))
        n_name_lines = n_lines if len(shown) > 1 else 0
        height = n_lines * (PICTURE_PX[1] + PICTURE_GAP_PX) - PICTURE_GAP_PX
        height += n_name_lines * CAPTION_PX + ROW_GAP_PX
        rows.append(Row(sign, kinds, shown, n_lines, n_name_lines, to, end, height))
    return tuple(rows)


def _stack(children: Sequence[int], room: dict[int, float]) -> float:
    return sum(room[c] for c in children) + CARD_GAP_PX * max(len(children) - 1, 0)

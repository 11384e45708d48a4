"""The tree, two trees side by side, and what was found, as lines of a terminal of any width."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from fieldguide._display import printable
from fieldguide.guide.compare import Comparison, describe_comparison
from fieldguide.guide.naming import display_name
from fieldguide.guide.views import QueryResult
from fieldguide.site.phrases import Spell, count, describe_result, list_notes

if TYPE_CHECKING:
    from fieldguide.guide import Guide

FINE = ("├── ", "└── ", "│   ", "    ", "●", "○", "…")
PLAIN = ("|-- ", "`-- ", "|   ", "    ", "*", ".", "...")  # where the terminal has only ASCII
_LEAST_KINDS = 18  # columns; with fewer, the kinds are left out
_LEAST_PHRASE = 6  # columns, before which the lines of the tree are cut
_WIDE = 88  # columns, from which on long phrases make room for kinds
_MOST_MOVES = 12


def tree_lines(
    guide: "Guide", branch: int, depth: int | None, width: int, marks: Sequence[str] = FINE
) -> list[Text]:
    """Return the tree below a branch: a phrase, how many, how true, and the kinds inside.

    No line is wider than ``width``; phrases and lists of kinds are cut where they would be.
    """
    nodes = _below(guide, branch, depth, marks)
    widest = max(cell_len(prefix + phrase) for _, prefix, phrase in nodes)
    digits = len(f"{guide.branches[branch].count:,}")
    figures = 2 + digits + 2 + 5
    room = max(width - figures, 12)
    column = min(widest, room)
    if width >= _WIDE:
        column = min(widest, room - 2 - _LEAST_KINDS)
    lines = []
    for b, prefix, phrase in nodes:
        node = guide.branches[b]
        line = Text(no_wrap=True)
        prefix = prefix[-max(column - _LEAST_PHRASE, 0) :] if column > _LEAST_PHRASE else ""
        line.append(prefix, style="dim")
        phrase = _cut(phrase, column - cell_len(prefix), marks[6])
        line.append(phrase, style="bold" if b == branch else "")
        line.append(" " * (column - line.cell_len))
        line.append(f"  {node.count:>{digits},}", style="cyan")
        line.append(f"  {_dots(node.truth, marks) if node.words else ' ' * 5}", style="dim")
        kinds = _fit_kinds(node.kinds, width - line.cell_len - 2, marks[6], guide.shown_name)
        if kinds:
            line.append(f"  {kinds}", style="dim")
        lines.append(line)
    return lines


def comparison_lines(
    first: "Guide", second: "Guide", comparison: Comparison, width: int, marks: Sequence[str] = FINE
) -> list[Text]:
    """Return two trees side by side, then the specimens that moved, most of one way first."""
    lines = [Text(describe_comparison(first, second, comparison)), Text()]
    digits = len(f"{len(comparison.shared):,}")
    half = max((width - 3 * (digits + 2)) // 2, 10)
    head = f"{'first':<{half}}  {'':>{digits}}  {'both':>{digits}}  {'':>{digits}}  second"
    lines.append(Text(head[:width], style="dim", no_wrap=True))
    for pair in comparison.pairs:
        left = _side(first, pair.first, half, marks)
        right = _side(second, pair.second, half - 2, marks).rstrip()
        counts = [
            f"{n:,}" if b is not None else ""
            for n, b in ((pair.n_first, pair.first), (pair.n_second, pair.second))
        ]
        both = f"{pair.n_both:,}" if pair.n_both else ""
        line = Text(left, no_wrap=True)
        line.append(f"  {counts[0]:>{digits}}", style="cyan")
        line.append(f"  {both:>{digits}}", style="bold")
        line.append(f"  {counts[1]:>{digits}}", style="cyan")
        line.append(f"  {right}")
        lines.append(line)
    if comparison.moves:
        lines += [Text(), Text("Moved", style="bold")]
    for move in comparison.moves[:_MOST_MOVES]:
        ways = printable(f"{first.sentence(move.first)} → {second.sentence(move.second)}")
        text = f"{len(move.rows):>{digits},}  {ways if marks is FINE else _ascii(ways)}"
        lines.append(Text(_cut(text, width, marks[6]), no_wrap=True))
    if len(comparison.moves) > _MOST_MOVES:
        lines.append(Text(f"{marks[6]} {count(len(comparison.moves) - _MOST_MOVES, 'more way')}"))
    return lines


def found_lines(
    found: QueryResult, width: int, marks: Sequence[str] = FINE, spell: Spell = display_name
) -> list[Text]:
    """Return what fits a query: how many, what the terms were taken for, and a line for each."""
    said = [f"{describe_result(found)}.", *list_notes(found, spell)]
    lines = [Text(_ascii(line) if marks is not FINE else line) for line in said]
    rows = [
        (f.specimen.path, spell(f.specimen.kind or ""), ", ".join(f.because)) for f in found.finds
    ]
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max((cell_len(row[k]) for row in shown), default=0) for k in range(3)]
    least = max((width - 4) // 3, 4)
    path = min(widths[0], max(width - 4 - sum(min(w, least) for w in widths[1:]), least))
    kind = min(widths[1], max(width - 4 - path - min(widths[2], least), least))
    if rows:
        lines.append(Text())
    for row in shown:
        line = Text(no_wrap=True)
        line.append(set_cell_size(_cut(row[0], path, marks[6]), path))
        line.append(f"  {set_cell_size(_cut(row[1], kind, marks[6]), kind)}", style="cyan")
        line.append(f"  {_cut(row[2], max(width - path - kind - 4, 1), marks[6])}", style="dim")
        lines.append(line)
    if (n_more := found.total - found.start - len(found.finds)) > 0 and rows:
        lines.append(Text(f"{marks[6]} {n_more:,} more; --limit lists more of them", style="dim"))
    return lines


def _below(
    guide: "Guide", branch: int, depth: int | None, marks: Sequence[str]
) -> list[tuple[int, str, str]]:
    """Return (branch, lines of the tree before it, its phrase) of all that is shown."""
    nodes: list[tuple[int, str, str]] = []

    def visit(b: int, before: str, own: str, level: int) -> None:
        node = guide.branches[b]
        nodes.append((b, before + own, _phrase(guide, b)))
        if own:
            before += marks[3] if own == marks[1] else marks[2]
        shown = node.children if depth is None or level < depth else ()
        for k, child in enumerate(shown):
            visit(child, before, marks[1] if k == len(shown) - 1 else marks[0], level + 1)

    visit(branch, "", "", 0)
    return nodes


def _side(guide: "Guide", b: int | None, width: int, marks: Sequence[str]) -> str:
    if b is None:
        return set_cell_size("", width)
    text = "  " * min(guide.branches[b].depth, 6) + _phrase(guide, b)
    return set_cell_size(_cut(text, width, marks[6]), width)


def _phrase(guide: "Guide", b: int) -> str:
    # The sign of a control character takes a column, the character itself none.
    return printable(", ".join(guide.branches[b].words) or guide.title)


def _dots(truth: float, marks: Sequence[str]) -> str:
    full = sum(truth * 5 >= k + 0.5 for k in range(5))
    return marks[4] * full + marks[5] * (5 - full)


def _fit_kinds(kinds: Sequence[tuple[str, int]], width: int, more: str, spell: Spell) -> str:
    """Return as many names as fit, and how many there are besides."""
    if width < _LEAST_KINDS or not kinds:
        return ""
    names = [printable(spell(name)) for name, _ in kinds]
    for n_shown in range(min(len(names), 6), 0, -1):
        rest = len(names) - n_shown
        text = ", ".join(names[:n_shown]) + (f" + {rest}" if rest else "")
        if cell_len(text) <= width:
            return text
    return _cut(count(len(names), "kind"), width, more)


def _cut(text: str, width: int, more: str) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - cell_len(more), 1)).rstrip() + more


def _ascii(text: str) -> str:
    return text.replace("›", ">").replace("→", "->")

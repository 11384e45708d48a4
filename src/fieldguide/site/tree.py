"""The tree as rows of pictures and phrases: which ones a page shows, and which of them open."""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from fieldguide.guide.views import Branch
from fieldguide.site.pictures import Picture, PictureBook

STRIP = 10  # pictures beside a branch; those that do not fit in one line are not seen
_OPEN_ROWS = 18  # rows of the home page that show before a reader opens one
_MOST_ROWS = 400  # rows of the home page; deeper branches are reached through their parents
_DEEPEST = 12  # levels of the home page


@dataclass(frozen=True)
class Row:
    """One branch in a tree of branches."""

    branch: Branch
    pictures: list[Picture]
    children: list["Row"]
    is_open: bool = False
    n_deeper: int = 0  # branches below it that this tree does not show


def branch_row(branch: Branch, pictures: PictureBook) -> Row:
    """One branch by itself."""
    return Row(branch, pictures(branch.exemplars[:STRIP]), [])


def home_rows(branches: Sequence[Branch], pictures: PictureBook) -> list[Row]:
    """The whole tree, nested: the largest branches open, the deepest left to their own pages."""
    deepest = _deepest_level(branches)
    opened = _largest_first(branches, _OPEN_ROWS)
    below = _count_below(branches)

    def grow(b: int) -> Row:
        strip = pictures(branches[b].exemplars[:STRIP])
        if branches[b].depth >= deepest:
            return Row(branches[b], strip, [], n_deeper=below[b])
        children = [grow(c) for c in branches[b].children]
        return Row(branches[b], strip, children, is_open=b in opened)

    return [grow(b) for b in branches[0].children]


def _deepest_level(branches: Sequence[Branch]) -> int:
    """How many levels of the tree fit on the home page; at least one."""
    level = 1
    while level < _DEEPEST and sum(branch.depth <= level + 1 for branch in branches) <= _MOST_ROWS:
        level += 1
    return level


def _largest_first(branches: Sequence[Branch], n_rows: int) -> set[int]:
    """Branches to show open: the largest, as long as no more than ``n_rows`` rows are seen."""
    opened: set[int] = set()
    n_seen = 0
    waiting = [(0, 0)]
    while waiting:
        _, b = heappop(waiting)
        children = branches[b].children
        if b == 0 or n_seen + len(children) <= n_rows:
            opened.add(b)
            n_seen += len(children)
            for c in children:
                heappush(waiting, (-branches[c].count, c))
    return opened


def _count_below(branches: Sequence[Branch]) -> list[int]:
    below = [0] * len(branches)
    for branch in reversed(branches):
        if branch.parent is not None:
            below[branch.parent] += 1 + below[branch.id]
    return below

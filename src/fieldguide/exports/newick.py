"""The tree as Newick: branches by their words, a tip for each specimen by its file.

Labels stand in quotes; a quote inside is doubled.
"""

from pathlib import Path

from fieldguide._files import write_text
from fieldguide.exports.order import Order


def write(order: Order) -> Path:
    """Write the tree as one line."""
    write_text(order.target, f"{tree_text(order)}\n")
    return order.target


def tree_text(order: Order) -> str:
    """Return the tree in Newick's form, without a line break."""
    guide = order.guide
    tips: dict[int, list[str]] = {branch.id: [] for branch in guide.branches}
    for specimen in order.list_specimens("writing the tree"):
        tips[specimen.branch].append(quote_label(specimen.path))
    texts: dict[int, str] = {}
    for branch in reversed(guide.branches):  # in pre-order: children come after their parent
        inside = [*(texts.pop(child) for child in branch.children), *tips[branch.id]]
        label = quote_label(", ".join(branch.words) or guide.title)
        texts[branch.id] = f"({','.join(inside)}){label}" if inside else label
    return f"{texts[0]};"


def quote_label(text: str) -> str:
    """Return a text as a label that every reader takes for the same text.

    Examples
    --------
    >>> quote_label("robin's egg")
    "'robin''s egg'"
    """
    return "'" + " ".join(text.split()).replace("'", "''") + "'"

"""The tree as NEXUS: the specimens as taxa, and the tree that Newick has."""

from pathlib import Path

from fieldguide._files import write_text
from fieldguide.exports.newick import quote_label, tree_text
from fieldguide.exports.order import Order


def write(order: Order) -> Path:
    """Write both blocks."""
    tree = tree_text(order)
    names = [quote_label(s.path) for s in order.list_specimens("writing the taxa")]
    lines = [
        "#NEXUS",
        "BEGIN TAXA;",
        f"  DIMENSIONS NTAX={len(names)};",
        "  TAXLABELS",
        *(f"    {name}" for name in names),
        "  ;",
        "END;",
        "BEGIN TREES;",
        f"  TREE {quote_label(order.guide.title)} = [&R] {tree}",
        "END;",
    ]
    write_text(order.target, "\n".join([*lines, ""]))
    return order.target

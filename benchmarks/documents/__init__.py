"""Every numbered table and figure of the five documents, and what becomes of its claim here.

One module for each document; ``python -m fieldguide bench --list`` prints them, ``fieldguide bench
NAME`` measures one and judges it. The collections of the documents are seldom here: the same
question is then put to the photographs and drawings that are.
"""

from benchmarks.documents import additive, attention, concert, hierarchy, trees
from benchmarks.documents.item import Item, Verdict

DOCUMENTS = {
    "attention": attention.TITLE,
    "atp": trees.TITLE,
    "concert": concert.TITLE,
    "hierarchy": hierarchy.TITLE,
    "additive": additive.TITLE,
}
ITEMS: dict[str, Item] = {
    item.name: item
    for module in (attention, trees, concert, hierarchy, additive)
    for item in module.ITEMS
}

__all__ = ["DOCUMENTS", "ITEMS", "Item", "Verdict"]

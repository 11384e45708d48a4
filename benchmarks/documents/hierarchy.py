"""Relaxed hierarchies (Gao and Koller), supplementary material: its three figures."""

from benchmarks.documents.item import Item

TITLE = "Discriminative learning of relaxed hierarchy, supplementary material"
DRAWN = ("hierarchy_pictures",)
PAGE = "keys.md#the-relaxed-hierarchy"

ITEMS = (
    Item(
        "hierarchy/fig1", "The first five levels on Caltech-256, with a kernel.", DRAWN, page=PAGE
    ),
    Item("hierarchy/fig2", "The first five levels on SUN, GIST with RBF.", DRAWN, page=PAGE),
    Item(
        "hierarchy/fig3", "The first five levels on SUN, HOG with intersection.", DRAWN, page=PAGE
    ),
)

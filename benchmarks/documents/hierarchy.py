"""Relaxed hierarchies (Gao and Koller), supplementary material: its three figures."""

from benchmarks.documents.item import Item

TITLE = "Discriminative learning of relaxed hierarchy, supplementary material"
DRAWN = (
    "the collection is not here; `fieldguide plot GUIDE key` draws the first five levels of a "
    "guide's key"
)

ITEMS = (
    Item("hierarchy/fig1", "The first five levels on Caltech-256, with a kernel.", instead=DRAWN),
    Item("hierarchy/fig2", "The first five levels on SUN, GIST with RBF.", instead=DRAWN),
    Item("hierarchy/fig3", "The first five levels on SUN, HOG with intersection.", instead=DRAWN),
)  # fmt: skip

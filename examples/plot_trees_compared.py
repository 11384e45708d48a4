"""
Three ways to grow a tree
=========================

The same table of attributes, given to the Attribute Tree Process, to the Bernoulli tree that its
paper compares it with, and to agglomerative clustering. The kinds were not shown to any of them.
"""

# %%
import matplotlib.pyplot as plt

from fieldguide.datasets import load_specimens
from fieldguide.describe import AgglomerativeTree, AttributeTree, BernoulliTree
from fieldguide.metrics import purity

drawn = load_specimens(n_per_kind=3, size_px=64)
trees = {
    "Attribute Tree Process": AttributeTree(n_iter=60, n_chains=1, random_state=0),
    "Bernoulli tree (FBLM)": BernoulliTree(n_iter=60, n_chains=1, random_state=0),
    "agglomerative (Ward)": AgglomerativeTree("ward"),
}
for tree in trees.values():
    tree.fit(drawn.attributes)

# %%
# *Purity* is the share of the specimens that are of the commonest family of their branch. It rises
# with the number of branches, so that both are shown.
families = [drawn.taxonomy[drawn.target_names[k]][1] for k in drawn.target]

fig, axes = plt.subplots(figsize=(7, 3), layout="constrained")
for name, tree in trees.items():
    axes.plot(len(tree.tree_), purity(tree.labels_, families), "o", markersize=9, label=name)
axes.set(xlabel="branches", ylabel="purity by family", ylim=(0, 1.05))
axes.set_xlim(left=0)
axes.legend(loc="lower right")
plt.show()

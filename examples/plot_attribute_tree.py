"""
A tree in words
===============

The Attribute Tree Process learns a tree from a table of attributes. A branch *adds* attributes to
those of its parent, so that the way down from the root reads as a description.
"""

# %%
# The table: drawn creatures, and which attributes each of them shows.
import matplotlib.pyplot as plt

from fieldguide.datasets import load_specimens
from fieldguide.describe import AttributeTree, describe_tree

drawn = load_specimens(n_per_kind=3, size_px=64)
model = AttributeTree(n_iter=60, n_chains=2, random_state=0).fit(drawn.attributes)
print(f"{len(model.tree_)} branches")

# %%
# A branch is named by the attributes that rise most over its parent. ``describe_tree`` folds the
# branches that none names.
told = describe_tree(model.tree_, model.labels_, drawn.attributes, drawn.attribute_names)
for node in range(1, min(len(told.parent), 15)):
    print("   " * (told.depth[node] - 1) + ", ".join(told.words[node]))

# %%
# What the model itself holds: the share of the specimens below each branch that show an attribute.
most_varied = model.means_.std(axis=0).argsort()[::-1][:40]
fig, axes = plt.subplots(figsize=(8, 5), layout="constrained")
shown = axes.imshow(model.means_[:, most_varied], aspect="auto", cmap="Greens", vmin=0, vmax=1)
axes.set_xticks(range(40), [drawn.attribute_names[i] for i in most_varied], rotation=90, fontsize=7)
axes.set_ylabel("branch, the root above")
fig.colorbar(shown, label="share of the specimens")
plt.show()

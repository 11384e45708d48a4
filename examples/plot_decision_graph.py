"""
The plan of a key
=================

A relaxed hierarchy colours the kinds at every node: left, right, or *both*, for kinds that are hard
to place there. A kind that went both ways can be reached by more than one way.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from sklearn.datasets import load_digits

from fieldguide.identify import BOTH, LEFT, RIGHT, RelaxedHierarchyClassifier

X, y = load_digits(return_X_y=True)
key = RelaxedHierarchyClassifier(rho=0.8, random_state=0).fit(X[::2] / 16, y[::2])
graph = key.graph_
print(f"{graph.n_nodes} nodes, {key.evaluations(X[1::2] / 16).mean():.1f} functions for an answer")

# %%
# A row for each node, a column for each digit; white where a digit does not come.
picture = np.ones((*graph.colors.shape, 3))
for side, color in ((LEFT, "#3a7d44"), (RIGHT, "#b5651d"), (BOTH, "#e0c068")):
    picture[graph.colors == side] = to_rgb(color)
fig, axes = plt.subplots(figsize=(5, 0.25 * graph.n_nodes + 1), layout="constrained")
axes.imshow(picture, aspect="auto")
axes.set(xlabel="digit", ylabel="node, the root above", xticks=range(10))
axes.set_title("green: left, brown: right, yellow: both", fontsize=9)
plt.show()

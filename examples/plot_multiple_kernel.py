"""
Which block of features matters
===============================

Colours, edges and textures side by side, each with a kernel of its own. The weights of the blocks
are found together with the SVM.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimens
from fieldguide.features import ColorHistogram, LocalBinaryPatterns, SpatialHOG
from fieldguide.select import MultipleKernelClassifier

drawn = load_specimens(n_per_kind=4, size_px=96)
groups = np.array([drawn.taxonomy[drawn.target_names[k]][0] for k in drawn.target])
parts = {
    "colour": ColorHistogram(levels=(1, 2)),
    "edges": SpatialHOG(levels=(2, 4)),
    "texture": LocalBinaryPatterns(levels=(1, 2)),
}
rows, blocks, start = [], {}, 0
for name, part in parts.items():
    rows.append(part.fit_transform(drawn.images))
    blocks[name] = slice(start, start + rows[-1].shape[1])
    start += rows[-1].shape[1]
X = np.hstack(rows)

# %%
model = MultipleKernelClassifier(blocks, "chi2", C=10.0).fit(X[::2], groups[::2])
print(f"{model.score(X[1::2], groups[1::2]):.3f} of the other half right")

# %%
# Each row is a class against all others.
weights = np.atleast_2d(model.weights_)
labels = list(model.classes_) if len(weights) > 1 else [model.classes_[1]]
fig, axes = plt.subplots(figsize=(7, 0.35 * len(weights) + 1), layout="constrained")
left = np.zeros(len(weights))
for name, column in zip(model.block_names_, weights.T, strict=True):
    axes.barh(labels, column, left=left, label=name)
    left += column
axes.set_xlabel("weight of the block")
axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
plt.show()

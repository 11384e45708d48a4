"""
What the classical features see
===============================

Edges, textures, colours, the layout of a scene, and descriptors on a grid. Each number has a name
that says what it counts.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimens
from fieldguide.features import ColorHistogram, DenseSIFT, Gist, LocalBinaryPatterns, SpatialHOG

drawn = load_specimens(n_per_kind=1, size_px=160)
features = {
    "edges (HOG)": SpatialHOG(levels=(2, 4)),
    "texture (LBP)": LocalBinaryPatterns(levels=(1, 2)),
    "colour": ColorHistogram(levels=(1, 2)),
    "layout (Gist)": Gist(),
    "dense SIFT": DenseSIFT(size_px=64, step_px=16, n_jobs=1),
}
rows = {name: each.fit_transform(drawn.images) for name, each in features.items()}

# %%
# For each feature, the number in which the first picture differs most from the usual one.
for name, X in rows.items():
    most = np.argmax((X[0] - X.mean(axis=0)) / (X.std(axis=0) + 1e-9))
    print(f"{name:14} {X.shape[1]:5} numbers; here: {features[name].get_feature_names_out()[most]}")

# %%
# The nearest pictures to the first one, by each feature.
fig, axes = plt.subplots(len(rows), 5, figsize=(6, 6.4), layout="constrained")
for line, (name, X) in zip(axes, rows.items(), strict=True):
    distance = np.linalg.norm(X - X[0], axis=1)
    for ax, j in zip(line, distance.argsort()[:5], strict=True):
        ax.imshow(drawn.images[j])
        ax.set_axis_off()
    line[0].set_title(name, fontsize=9, loc="left")
plt.show()

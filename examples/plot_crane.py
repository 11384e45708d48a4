"""
Regions that no other picture has
=================================

CRANE ranks the regions of pictures with a concept by how seldom regions of other pictures come
close to them. Nothing is trained: negative regions vote.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimens
from fieldguide.features.network import Network
from fieldguide.locate import CRANE, region_features, superpixels

drawn = load_specimens(n_per_kind=3, size_px=128)
family = np.array([drawn.taxonomy[drawn.target_names[k]][1] for k in drawn.target])
wanted = np.flatnonzero(family == "butterflies")[:12]
others = np.flatnonzero(family != "butterflies")[::3]
rows = np.r_[wanted, others]
label = np.r_[np.ones(len(wanted)), -np.ones(len(others))]

network = Network()
regions = [superpixels(drawn.images[i], n_regions=16) for i in rows]
bags = [region_features(drawn.images[i], r, network) for i, r in zip(rows, regions, strict=True)]
model = CRANE(metric="euclidean").fit(bags, label)
scores = model.instance_scores(bags)

# %%
# The brighter a region, the higher its rank.
fig, axes = plt.subplots(2, 4, figsize=(8, 4.2), layout="constrained")
for i, column in enumerate(axes.T):
    image, areas = drawn.images[rows[i]], regions[i]
    column[0].imshow(image)
    column[1].imshow(scores[i][areas.labels], cmap="magma")
    for ax in column:
        ax.set_axis_off()
plt.show()

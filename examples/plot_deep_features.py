"""
What a network sees alike
=========================

The last layer of a small network turns a picture into 1,280 numbers. Pictures with near numbers
look alike, although the network was never shown these kinds.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimens
from fieldguide.features import DeepFeatures

drawn = load_specimens(n_per_kind=4, size_px=96)
X = DeepFeatures().fit_transform(drawn.images)
X /= np.linalg.norm(X, axis=1, keepdims=True)

# %%
# A picture on the left, and the five that are nearest to it.
fig, axes = plt.subplots(4, 6, figsize=(7, 5), layout="constrained")
for line, i in zip(axes, (0, 9, 15, 22), strict=True):
    for ax, j in zip(line, np.argsort(-X @ X[i])[:6], strict=True):
        ax.imshow(drawn.images[j])
        ax.set_axis_off()
plt.show()

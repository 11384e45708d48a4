"""
Bins of a histogram that tell kinds apart
=========================================

An SVM whose kernel is a weighted sum over bins, with the weights found together with the SVM. Most
of them are exactly zero, and a gap certifies the rest.
"""

# %%
# Colours of drawn creatures: butterflies against all others.
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimens
from fieldguide.features import ColorHistogram
from fieldguide.select import AdditiveKernelSelector

drawn = load_specimens(n_per_kind=6, size_px=96)
family = np.array([drawn.taxonomy[drawn.target_names[k]][1] for k in drawn.target])
y = np.where(family == "butterflies", "butterfly", "other")
colours = ColorHistogram(levels=(1,)).fit(drawn.images)
X = colours.transform(drawn.images)

# %%
path = [(C, AdditiveKernelSelector("chi2", C=C).fit(X[::2], y[::2])) for C in (0.1, 0.3, 1, 3)]
for C, selector in path:
    n_bins = np.count_nonzero(selector.weights_)
    print(
        f"C = {C:3}: {n_bins:2} of {X.shape[1]} bins, "
        f"{selector.score(X[1::2], y[1::2]):.3f} of the other half right, gap {selector.gap_:.4f}"
    )

# %%
selector = path[-1][1]
weights = np.ravel(selector.weights_)
best = weights.argsort()[::-1][:12]
names = colours.get_feature_names_out()
fig, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.barh([names[i] for i in best][::-1], weights[best][::-1], color="#3a7d44")
axes.set_xlabel("weight of the bin")
plt.show()

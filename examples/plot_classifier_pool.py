"""
Many weak classifiers as features
=================================

A pool turns pictures into the outputs of many classifiers, each in [0, 1]. It is fitted on pictures
of its own: on the learner's own pictures its outputs would be too good.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimens
from fieldguide.features import ClassifierPool
from fieldguide.select import ConcertClassifier

drawn = load_specimens(n_per_kind=9, size_px=64)
group = np.array([drawn.taxonomy[drawn.target_names[k]][0] for k in drawn.target])
third = len(group) // 3
pool = ClassifierPool("clusters", n_clusters=8, n_jobs=1, random_state=0)
pool.fit(drawn.images[:third], group[:third])
F = pool.transform(drawn.images[third:])
print(f"{F.shape[1]} classifiers, such as {pool.get_feature_names_out()[0]!r}")

# %%
known = group[third:]
model = ConcertClassifier().fit(F[:third], known[:third])
print(f"{model.score(F[third:], known[third:]):.3f} of new pictures right")

fig, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
order = np.argsort(known[:third], kind="stable")
image = axes.imshow(F[order].T, aspect="auto", cmap="Greens", vmin=0, vmax=1)
axes.set(xlabel="pictures, group by group", ylabel="classifier")
fig.colorbar(image, label="output")
plt.show()

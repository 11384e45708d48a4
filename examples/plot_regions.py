"""
Where in a picture the answer comes from
========================================

Labels say what is in a whole picture. Three learners find the regions that make it so: region
selection, the multiple-instance SVM, and boosting of multiple instances.
"""

# %%
# A picture is a bag, with a row for each of its regions.
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimens
from fieldguide.features.network import Network
from fieldguide.locate import MISVM, MILBoost, RegionSelector, region_features, superpixels

drawn = load_specimens(n_per_kind=4, size_px=128)
family = np.array([drawn.taxonomy[drawn.target_names[k]][1] for k in drawn.target])
wanted = np.flatnonzero(family == "butterflies")
others = np.flatnonzero(family != "butterflies")[: len(wanted) * 2]
rows = np.sort(np.r_[wanted, others])
label = np.where(family[rows] == "butterflies", 1, -1)

network = Network()
regions = [superpixels(drawn.images[i], n_regions=16) for i in rows]
bags = [region_features(drawn.images[i], r, network) for i, r in zip(rows, regions, strict=True)]
half = len(rows) // 2

# %%
learners = {
    "region selection": RegionSelector("linear", C=10.0, random_state=0),
    "MI-SVM": MISVM("linear", C=10.0, random_state=0),
    "MILBoost": MILBoost(),
}
shown = [j for j in range(half, len(rows)) if label[j] == 1][:4]
fig, axes = plt.subplots(3, len(shown), figsize=(8, 6.4), layout="constrained")
for (name, learner), line in zip(learners.items(), axes, strict=True):
    learner.fit(bags[:half], label[:half])
    print(f"{name:17} {learner.score(bags[half:], label[half:]):.3f} of new pictures right")
    for j, ax in zip(shown, line, strict=True):
        found = learner.locate([bags[j]], [regions[j]])[0]
        ax.imshow(np.where(found.mask[..., None], drawn.images[rows[j]], 235))
        ax.set_axis_off()
    line[0].set_title(name, fontsize=10, loc="left")
plt.show()

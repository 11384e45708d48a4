"""
Finding the subject without labels
==================================

People put what they photograph in the middle. Over a whole collection that is enough to learn what
subjects look like, wherever they are in a picture.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimens
from fieldguide.features import picture_cells
from fieldguide.features.network import Network
from fieldguide.locate import SubjectFinder

drawn = load_specimens(n_per_kind=1, size_px=160)
network = Network()
maps = [picture_cells(image, network) for image in drawn.images]
finder = SubjectFinder().fit(maps)

# %%
# The box that was found (white), and that of the truth (dashed).
fig, axes = plt.subplots(2, 5, figsize=(9, 3.8), layout="constrained")
for i, ax in enumerate(axes.flat):
    found = finder.find(maps[i])
    ax.imshow(drawn.images[i])
    side = drawn.images[i].shape[1]
    for (x0, y0, x1, y1), style in ((np.multiply(found.box, side), "-"), (drawn.boxes[i], "--")):
        ax.add_patch(plt.Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, color="w", ls=style))
    ax.set_title(f"confidence {found.confidence:.2f}", fontsize=9)
    ax.set_axis_off()
plt.show()

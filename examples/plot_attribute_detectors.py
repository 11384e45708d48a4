"""
Learning words from pictures
============================

Detectors learn attributes from annotated pictures and say how probable each is in others. Held-out
pictures say which detectors can be trusted.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from fieldguide.datasets import load_specimens
from fieldguide.describe import AttributeDetectors
from fieldguide.features import DeepFeatures

drawn = load_specimens(n_per_kind=6, size_px=96)
X = DeepFeatures().fit_transform(drawn.images)
detectors = AttributeDetectors(C=0.1, random_state=0).fit(X, drawn.attributes)

# %%
# The area under the ROC curve of each attribute, on pictures that its detector was not fitted to.
area = np.where(detectors.is_constant_, np.nan, detectors.held_out_.roc_auc)
known = np.flatnonzero(np.isfinite(area))
order = known[np.argsort(area[known])]
ends = np.r_[order[:12], order[-12:]]
fig, axes = plt.subplots(figsize=(7, 5), layout="constrained")
axes.barh(range(len(ends)), area[ends], color=["#b5651d"] * 12 + ["#3a7d44"] * 12)
axes.set_yticks(range(len(ends)), [drawn.attribute_names[i] for i in ends], fontsize=8)
axes.axvline(0.5, color="black", linewidth=1)
axes.set_xlabel("area under the ROC curve, held out (0.5 is chance)")
plt.show()

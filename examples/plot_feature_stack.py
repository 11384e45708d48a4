"""
One look or two
===============

A stack puts several descriptors side by side. The second look finds the subject and looks closer;
classical parts become coordinates for linear functions.
"""

# %%
import matplotlib.pyplot as plt

from fieldguide.datasets import load_specimens
from fieldguide.features import FeatureStack
from fieldguide.identify import OneVsAllClassifier

drawn = load_specimens(n_per_kind=4, size_px=96)
half = len(drawn.images) // 2
stacks = ("color", "hog", "deep", "deep+closer", "looks")
scores = []
for parts in stacks:
    stack = FeatureStack(parts, random_state=0).fit(drawn.images[:half])
    rows = stack.transform(drawn.images)
    key = OneVsAllClassifier().fit(rows[:half], drawn.target[:half])
    scores.append(key.score(rows[half:], drawn.target[half:]))

# %%
fig, axes = plt.subplots(figsize=(6, 3), layout="constrained")
bars = axes.barh(stacks[::-1], scores[::-1], color="#3a7d44")
axes.bar_label(bars, fmt="%.2f", padding=3)
axes.set(xlabel="accuracy on new pictures, two pictures of each kind", xlim=(0, 1))
plt.show()

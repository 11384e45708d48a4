"""
Visual words
============

Small windows of all pictures are clustered; a cluster is a *visual word*. A picture is how often
each word is in it.
"""

# %%
import matplotlib.pyplot as plt

from fieldguide.datasets import load_specimens
from fieldguide.features import BagOfWords

drawn = load_specimens(n_per_kind=3, size_px=96)
words = BagOfWords(50, pyramid=((1, 1),), n_iter=10, n_jobs=1, random_state=0).fit(drawn.images)
X = words.transform(drawn.images)

# %%
# A row for each of six words: windows that are that word.
fig, axes = plt.subplots(6, 6, figsize=(4.5, 4.5), layout="constrained")
for line, examples in zip(axes, words.patches_[:6], strict=True):
    for ax in line:
        ax.set_axis_off()
    for ax, patch in zip(line, examples, strict=False):
        ax.imshow(patch)
plt.show()

# %%
# One picture, and the histogram that it becomes.
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 2.4), width_ratios=(1, 3), layout="constrained")
left.imshow(drawn.images[0])
left.set_axis_off()
right.bar(range(X.shape[1]), X[0], color="#3a7d44")
right.set(xlabel="word, the commonest first", ylabel="share")
plt.show()

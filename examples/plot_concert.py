"""
Features in Concert
===================

A few of many weak features, each with the same say: the weights sum to one, and none may exceed
1/k. The problem is convex, and its solution is sparse.
"""

# %%
# Features are numbers in [0, 1]. Here: how dark each of 64 places of a digit is.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from fieldguide.select import ConcertClassifier, ConcertSelector

X, y = load_digits(return_X_y=True)
F = X / 16
selector = ConcertSelector(k=8).fit(F[::2], y[::2])

# %%
# What each place counts for each digit: green where ink speaks for it, brown where its absence
# does (the feature is flipped).
fig, axes = plt.subplots(2, 5, figsize=(8, 3.6), layout="constrained")
for digit, ax in enumerate(axes.flat):
    signed = selector.weights_[digit] * (1 - 2 * selector.flips_[digit])
    ax.imshow(signed.reshape(8, 8), cmap="BrBG", vmin=-0.125, vmax=0.125)
    ax.set_title(f"{digit}: {(selector.weights_[digit] > 0).sum()} features", fontsize=9)
    ax.set_axis_off()
plt.show()

# %%
# The classifier mixes concerts of several widths with a linear SVM, by held-out rows.
model = ConcertClassifier().fit(F[::2], y[::2])
print(f"{model.score(F[1::2], y[1::2]):.3f} of the other half right")

"""
Why this kind and not that one
==============================

The score of a linear key is a sum over columns, so what each column adds to the difference of two
kinds is exact.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fieldguide.identify import OneVsAllClassifier, contrast_classes

X, y = load_digits(return_X_y=True)
X = X / 16
key = OneVsAllClassifier().fit(X[::2], y[::2])

# %%
# A 3 that was not in the training rows, and what makes it a 3 rather than an 8.
row = X[1::2][y[1::2] == 3][0]
contrast = contrast_classes(key, row, winner=3, rival=8)
adds = contrast.coef * row
print(f"3 leads 8 by {contrast.evaluate(row):.2f}; the columns alone add {adds.sum():.2f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(6, 3), layout="constrained")
left.imshow(row.reshape(8, 8), cmap="Greys")
most = np.abs(adds).max()
right.imshow(adds.reshape(8, 8), cmap="BrBG", vmin=-most, vmax=most)
right.set_title("green speaks for 3, brown for 8", fontsize=9)
for ax in (left, right):
    ax.set_axis_off()
plt.show()

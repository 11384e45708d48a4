"""
An answer that is as sure as asked
==================================

A key that is unsure answers with a group: the kinds of a branch above its answer. The threshold
comes from held-out rows, so that groups hold about as often as asked.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from fieldguide.identify import RelaxedHierarchyClassifier

X, y = load_digits(return_X_y=True)
X = np.clip(X / 16 + np.random.default_rng(0).normal(0, 0.5, X.shape), 0, 1)  # hard to read
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
key = RelaxedHierarchyClassifier(random_state=0).fit(X_train, y_train)

# %%
asked = [0.8, 0.85, 0.9, 0.95, 0.98]
held, size = [], []
for confidence in asked:
    groups = key.predict_groups(X_test, confidence=confidence)
    kinds = [key.classes_[members] for members in groups.members]
    held.append(np.mean([true in found for true, found in zip(y_test, kinds, strict=True)]))
    size.append(np.mean([len(found) for found in kinds]))

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
left.plot([0.75, 1], [0.75, 1], color="grey", linewidth=1)
left.plot(asked, held, "o-")
left.set(xlabel="asked", ylabel="how often the group holds")
right.plot(asked, size, "o-")
right.set(xlabel="asked", ylabel="kinds in a group")
plt.show()

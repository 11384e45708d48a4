"""
Three ways to walk down a key
=============================

The same decision graph, asked in three ways: the side of every margin's sign, the most probable
leaf, and a shortlist that one-vs-all functions decide.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from fieldguide.identify import BestFirst, Greedy, RelaxedHierarchyClassifier, Shortlist

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)
key = RelaxedHierarchyClassifier(random_state=0).fit(X_train, y_train)

# %%
# A search can be changed after the fit. A larger tolerance makes longer lists: dearer and safer.
searches = {"greedy": [Greedy()], "best first": [BestFirst()]}
searches["shortlist"] = [Shortlist(tolerance=t) for t in (0.25, 0.5, 1, 2, 4, 8)]
fig, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for name, settings in searches.items():
    points = []
    for search in settings:
        key.set_params(search=search)
        points.append((key.evaluations(X_test).mean(), key.score(X_test, y_test)))
    axes.plot(*zip(*points, strict=True), "o-", label=name)
axes.set(xlabel="functions asked for one picture", ylabel="accuracy on new pictures")
axes.legend()
plt.show()

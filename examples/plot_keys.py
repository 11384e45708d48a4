"""
What an answer costs
====================

A flat key asks every function for every picture. A key with a decision graph asks few of them, and
lets one-vs-all functions decide among the kinds on its shortlist.
"""

# %%
# Ten handwritten digits are few classes; with hundreds the gap is wider.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from fieldguide.identify import (
    AttentionTreeClassifier,
    ConfusionTreeClassifier,
    DAGSVMClassifier,
    NormalizedCutTreeClassifier,
    OneVsAllClassifier,
    OneVsOneClassifier,
    RelaxedHierarchyClassifier,
)

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0, stratify=y)

keys = {
    "one-vs-all": OneVsAllClassifier(),
    "one-vs-one": OneVsOneClassifier(),
    "attention tree": AttentionTreeClassifier(random_state=0),
    "relaxed hierarchy": RelaxedHierarchyClassifier(random_state=0),
    "normalised cuts": NormalizedCutTreeClassifier(random_state=0),
    "confusion tree": ConfusionTreeClassifier(random_state=0),
    "DAGSVM": DAGSVMClassifier(),
}
fig, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, key in keys.items():
    key.fit(X_train, y_train)
    cost = key.evaluations(X_test).mean()
    accuracy = key.score(X_test, y_test)
    print(f"{name:18} {accuracy:.3f} right with {cost:5.1f} functions")
    axes.plot(cost, accuracy, "o")
    axes.annotate(name, (cost, accuracy), xytext=(6, 2), textcoords="offset points", fontsize=9)
axes.set(xlabel="functions asked for one picture", ylabel="accuracy on new pictures")
axes.set_xlim(0, 1.25 * axes.get_xlim()[1])
plt.show()

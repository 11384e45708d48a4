"""
Selectors side by side
======================

How well do few features do? Every selector votes with the features that it keeps.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fieldguide.select import (
    BoostedStumpSelector,
    ConcertSelector,
    CorrelationSelector,
    ForwardBackwardSelector,
)

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
F = np.hstack([X / 16, rng.random((len(X), 200))])  # and 200 features that tell nothing
train, test = slice(0, 300), slice(300, None)

widths = (2, 4, 8, 16, 32)
makers = {
    "in concert": lambda k: ConcertSelector(k=k),
    "by correlation": lambda k: CorrelationSelector(k=k),
    "forward and backward": lambda k: ForwardBackwardSelector(k=k),
    "boosted stumps": lambda k: BoostedStumpSelector(n_rounds=k),
}
fig, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, make in makers.items():
    scores = [make(k).fit(F[train], y[train]).score(F[test], y[test]) for k in widths]
    axes.plot(widths, scores, "o-", label=name)
axes.set(
    xscale="log",
    xlabel="features for each class (k), or rounds of boosting",
    ylabel="accuracy on new rows",
)
axes.set_xticks(widths, widths)
axes.minorticks_off()
axes.legend()
plt.show()

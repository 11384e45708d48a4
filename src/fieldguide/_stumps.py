"""Sums of decision stumps, and the search for the best next one, under everything that boosts them.

    score(x) = Σ_r ± height_r,   + where feature_r of x is above threshold_r

A search looks at every cut of every feature in one pass over bins: value x of a feature is in bin
#{cuts < x}, so that it is above cut t exactly where its bin is larger than t.
"""

from typing import NamedTuple

import numpy as np

from fieldguide._jit import jit
from fieldguide._saving import FLOATS, Array, Items, Part


class Stumps(NamedTuple):
    """A sum of steps."""

    feature: np.ndarray  # (n_stumps,)
    threshold: np.ndarray  # (n_stumps,)
    height: np.ndarray  # (n_stumps,) negative for a stump that speaks below its threshold

    def evaluate(self, X: np.ndarray) -> np.ndarray:
        """Return the scores of rows, (n,)."""
        is_above = X[:, self.feature] > self.threshold
        return np.asarray(np.where(is_above, self.height, -self.height).sum(axis=1, dtype=float))


SAVED = Items(
    Part(
        Stumps,
        {
            "feature": Array("int64", "n_stumps", within=(0, "n_features")),
            "threshold": Array(FLOATS, "n_stumps"),
            "height": Array("float64", "n_stumps"),
        },
    )
)


def bin_exactly(X: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return a cut below all values of each column and one between any two, and the bins (d, n).

    Examples
    --------
    >>> cuts, bins = bin_exactly(np.array([[0.0, 5.0], [1.0, 5.0], [4.0, 5.0]]))
    >>> [each.tolist() for each in cuts], bins.tolist()
    ([[-1.0, 0.5, 2.5], [4.0]], [[1, 2, 3], [1, 1, 1]])
    """
    cuts, bins = [], np.empty(X.T.shape, dtype=np.int32)
    for j, column in enumerate(X.T):
        values, place = np.unique(column, return_inverse=True)
        cuts.append(np.append(values[0] - 1.0, (values[:-1] + values[1:]) / 2))
        bins[j] = place + 1
    return cuts, bins


@jit
def find_stump(bins: np.ndarray, n_cuts: int, slope: np.ndarray) -> tuple[int, int, float]:
    """Return (feature, cut, edge) where Σ slope · (+1 above the cut, else −1) is largest in size.

    The first of equals is taken. bins is (d, n), with at most n_cuts cuts; slope is (n,). O(nd).
    """
    sums = np.empty(n_cuts + 1)
    feature, cut, best = 0, 0, 0.0
    total = 0.0
    for i in range(len(slope)):
        total += slope[i]
    for j in range(bins.shape[0]):
        sums[:] = 0.0
        column = bins[j]
        for i in range(len(slope)):
            sums[column[i]] += slope[i]
        above = total
        for t in range(n_cuts):
            above -= sums[t]
            edge = 2.0 * above - total
            if abs(edge) > abs(best) * (1.0 + 1e-12) + 1e-15:
                feature, cut, best = j, t, edge
    return feature, cut, best

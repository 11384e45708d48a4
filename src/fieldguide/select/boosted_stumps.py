"""AdaBoost on thresholded features: each round takes the stump of least weighted error.

    score(f) = Σ_r α_r s_r sign(f_{j_r} − θ_r),    α = ½ log((1 − ε) / ε)

for each class against the rest. Columns are sorted once for all classes; a round looks at every
threshold of every feature, which is why it is slow beside the other methods.

Reference: Y. Freund, R. Schapire, "A decision-theoretic generalization of on-line learning and an
application to boosting" (1995).
"""

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from fieldguide._check import check_number
from fieldguide._jit import jit
from fieldguide._parallel import map_in_order
from fieldguide._saving import Array, Items, Part
from fieldguide.select.voting import VotingSelector, fold_two_classes

_LEAST_ERROR = 1e-10


class Stumps(NamedTuple):
    """The rounds of one class."""

    feature: np.ndarray  # (n_rounds,)
    threshold: np.ndarray  # (n_rounds,)
    alpha: np.ndarray  # (n_rounds,) negative for a stump that speaks below its threshold


class BoostedStumpSelector(VotingSelector):
    """Select the features that boosted stumps use.

    Parameters
    ----------
    n_rounds : int
        Stumps for each class; fewer where one of them makes no error.
    n_jobs : int
        Threads, each with some classes.

    Attributes
    ----------
    classes_, weights_, flips_
        As of :class:`~fieldguide.select.ConcertSelector`; a weight is the sum of |α| of a feature,
        flipped where the sum of α is negative.
    stumps_ : list of Stumps
        Of each class; two classes have those of the second.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.select import BoostedStumpSelector
    >>> F = np.array([[0.9, 0.5], [0.7, 0.4], [0.1, 0.4], [0.2, 0.5]])
    >>> BoostedStumpSelector().fit(F, ["owl", "owl", "jay", "jay"]).get_support()
    array([ True, False])
    """

    _fitted: ClassVar = {
        "flips_": Array("bool", ...),
        "stumps_": Items(
            Part(
                Stumps,
                {
                    "feature": Array("int64", "n_stumps", within=(0, "n_features")),
                    "threshold": Array("float64", "n_stumps"),
                    "alpha": Array("float64", "n_stumps"),
                },
            )
        ),
    }

    def __init__(self, n_rounds: int = 50, n_jobs: int = 1) -> None:
        self.n_rounds = n_rounds
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Choose features from the rows of ``X``, (n, n_features), with labels ``y``, (n,)."""
        self._check_arguments()
        X, index = self._read_training_rows(X, y)
        columns = np.ascontiguousarray(X.T, dtype=np.float64)
        order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
        columns = np.take_along_axis(columns, order, axis=1)
        classes = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

        def solve(c: int) -> Stumps:
            return boost_stumps(columns, order, np.where(index == c, 1.0, -1.0), self.n_rounds)

        self.stumps_ = list(map_in_order(solve, classes, n_jobs=self.n_jobs))
        sizes, signed = np.zeros((2, len(classes), X.shape[1]))
        for row, stumps in enumerate(self.stumps_):
            np.add.at(sizes[row], stumps.feature, np.abs(stumps.alpha))
            np.add.at(signed[row], stumps.feature, stumps.alpha)
        self.weights_ = fold_two_classes(sizes, len(self.classes_))
        self.flips_ = fold_two_classes(signed < 0, len(self.classes_))
        return self

    def _check_arguments(self) -> None:
        check_number(type(self).__name__, "n_rounds", self.n_rounds, 1, 10**6, integer=True)

    def _score(self, X: np.ndarray) -> np.ndarray:
        scores = np.empty((len(X), len(self.stumps_)))
        for c, stumps in enumerate(self.stumps_):
            sides = np.where(X[:, stumps.feature] > stumps.threshold, 1.0, -1.0)
            scores[:, c] = sides @ stumps.alpha / np.abs(stumps.alpha).sum()
        return scores


def boost_stumps(columns: np.ndarray, order: np.ndarray, sign: np.ndarray, n_rounds: int) -> Stumps:
    """Return the stumps of AdaBoost.

    Parameters
    ----------
    columns : ndarray of shape (n, N)
        Each feature, sorted.
    order : ndarray of shape (n, N)
        Which row each of the sorted values is of.
    sign : ndarray of shape (N,)
        +1 and -1.
    n_rounds : int
        The rounds end early at a stump without an error, and at one no better than a guess.
    """
    weight = np.full(len(sign), 1.0 / len(sign))
    found: list[tuple[int, float, float]] = []
    side = np.empty(len(sign))
    for _ in range(n_rounds):
        feature, place, direction, error = _find_stump(columns, order, sign * weight)
        if error >= 0.5 - 1e-12 and found:
            break
        values = columns[feature]
        # Below all values: every row is above, which is a constant.
        threshold = values[0] - 1.0 if place == 0 else (values[place - 1] + values[place]) / 2
        alpha = 0.5 * np.log((1 - error) / max(error, _LEAST_ERROR))
        found.append((feature, threshold, direction * alpha))
        if error <= _LEAST_ERROR:
            break
        side[order[feature]] = np.where(values > threshold, direction, -direction)
        weight *= np.exp(-alpha * sign * side)
        weight /= weight.sum()
    features, thresholds, alphas = (np.array(part) for part in zip(*found, strict=True))
    return Stumps(features.astype(np.int64), thresholds, alphas)


@jit
def _find_stump(columns, order, signed):
    """Return (feature, place, direction, error) of the best stump: rows from place on are above.

    ``signed`` is weight times sign, of total |weight| 1. O(n N).
    """
    n, n_rows = columns.shape
    total = 0.0
    for i in range(n_rows):
        total += signed[i]
    best, feature, cut, direction = -1.0, 0, 0, 1.0
    for j in range(n):
        above = total
        for p in range(n_rows):
            if p == 0 or columns[j, p] > columns[j, p - 1]:
                # Σ w·sign·side with side +1 from p on and −1 below is 2·above − total.
                edge = 2.0 * above - total
                if abs(edge) > best + 1e-15:
                    best, feature, cut = abs(edge), j, p
                    direction = 1.0 if edge > 0 else -1.0
            above -= signed[order[j, p]]
    return feature, cut, direction, 0.5 * (1.0 - best)

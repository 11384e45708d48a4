"""AdaBoost on thresholded features: each round takes the stump of least weighted error.

    score(f) = Σ_r α_r s_r sign(f_{j_r} − θ_r),    α = ½ log((1 − ε) / ε)

for each class against the rest. Columns are binned once for all classes; a round looks at every
threshold of every feature, which is why it is slow beside the other methods.

Reference: Y. Freund, R. Schapire, "A decision-theoretic generalization of on-line learning and an
application to boosting" (1995).
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from fieldguide._check import check_number
from fieldguide._parallel import map_in_order
from fieldguide._saving import Array
from fieldguide._stumps import SAVED, Stumps, bin_exactly, find_stump
from fieldguide.select.voting import VotingSelector, fold_two_classes

_LEAST_ERROR = 1e-10


class BoostedStumpSelector(VotingSelector):
    """Select the features that boosted stumps use.

    Parameters
    ----------
    n_rounds : int
        Number of stumps for each class; fewer if one of them makes no error.
    n_jobs : int, optional
        Threads, each with some classes.

    Attributes
    ----------
    classes_, weights_, flips_
        As of :class:`~fieldguide.select.ConcertSelector`; a weight is the sum of ``|α|`` of a
        feature, flipped where the sum of α is negative.
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
        "stumps_": SAVED,
    }

    def __init__(self, n_rounds: int = 50, *, n_jobs: int | None = None) -> None:
        self.n_rounds = n_rounds
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Choose features from the rows of ``X``, (n, n_features), with labels ``y``, (n,)."""
        self._check_arguments()
        X, index = self._read_training_rows(X, y)
        cuts, bins = bin_exactly(np.asarray(X, dtype=np.float64))
        classes = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

        def solve(c: int) -> Stumps:
            return boost_stumps(cuts, bins, np.where(index == c, 1.0, -1.0), self.n_rounds)

        self.stumps_ = list(map_in_order(solve, classes, n_jobs=self.n_jobs))
        sizes, signed = np.zeros((2, len(classes), X.shape[1]))
        for row, stumps in enumerate(self.stumps_):
            np.add.at(sizes[row], stumps.feature, np.abs(stumps.height))
            np.add.at(signed[row], stumps.feature, stumps.height)
        self.weights_ = fold_two_classes(sizes, len(self.classes_))
        self.flips_ = fold_two_classes(signed < 0, len(self.classes_))
        return self

    def _check_arguments(self) -> None:
        check_number(type(self).__name__, "n_rounds", self.n_rounds, 1, 10**6, integer=True)

    def _score(self, X: np.ndarray) -> np.ndarray:
        scores = np.empty((len(X), len(self.stumps_)))
        for c, stumps in enumerate(self.stumps_):
            scores[:, c] = stumps.evaluate(X) / np.abs(stumps.height).sum()
        return scores


def boost_stumps(
    cuts: Sequence[np.ndarray], bins: np.ndarray, sign: np.ndarray, n_rounds: int
) -> Stumps:
    """Return the stumps of AdaBoost; their heights are ±α.

    Parameters
    ----------
    cuts, bins
        Of all features: see :mod:`fieldguide._stumps`.
    sign : ndarray of shape (N,)
        +1 and -1.
    n_rounds : int
        The rounds end early at a stump without an error, and at one no better than a guess.
    """
    n_cuts = max(map(len, cuts))
    weight = np.full(len(sign), 1.0 / len(sign))
    found: list[tuple[int, float, float]] = []
    for _ in range(n_rounds):
        feature, cut, edge = find_stump(bins, n_cuts, sign * weight)
        error = 0.5 * (1.0 - abs(edge))
        if error >= 0.5 - 1e-12 and found:
            break
        alpha = 0.5 * np.log((1 - error) / max(error, _LEAST_ERROR))
        direction = 1.0 if edge > 0 else -1.0
        found.append((feature, cuts[feature][cut], direction * alpha))
        if error <= _LEAST_ERROR:
            break
        side = np.where(bins[feature] > cut, direction, -direction)
        weight *= np.exp(-alpha * sign * side)
        weight /= weight.sum()
    features, thresholds, alphas = (np.array(part) for part in zip(*found, strict=True))
    return Stumps(features.astype(np.int64), thresholds, alphas)

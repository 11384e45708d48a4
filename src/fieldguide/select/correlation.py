"""The plain rival of a concert: the k features that correlate most with a class vote alike.

For each class, w_j = 1/k for the k features with the largest |correlation| with the rows of the
class, flipped (1 − f) where it is negative. With all features it is plain averaging.
"""

from typing import Any, ClassVar, Self

import numpy as np

from fieldguide._check import check_choice, check_number
from fieldguide._saving import Number
from fieldguide.select.k_path import list_folds, root_k
from fieldguide.select.objective import ColumnMap
from fieldguide.select.votes import Votes
from fieldguide.select.voting import LINEAR_VOTES, VotingSelector, fold_two_classes, map_to_unit


class CorrelationSelector(VotingSelector):
    """Select the features that correlate most with each class.

    Parameters
    ----------
    k : int, "auto" or "all"
        Features for each class; "auto" is the square root of their number.
    scale : bool
        As of :class:`~fieldguide.select.ConcertSelector`.

    Attributes
    ----------
    classes_, weights_, flips_, coef_, intercept_, k_
        As of :class:`~fieldguide.select.ConcertSelector`. Votes of classes are compared by their
        z-scores, with the class and the rest of the same weight.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.select import CorrelationSelector
    >>> F = np.array([[0.9, 0.2, 0.4], [0.7, 0.1, 0.5], [0.1, 0.8, 0.5], [0.2, 0.7, 0.4]])
    >>> selector = CorrelationSelector(k=2).fit(F, ["jay", "jay", "owl", "owl"])
    >>> selector.weights_, selector.flips_
    (array([0.5, 0.5, 0. ]), array([ True, False, False]))
    """

    _fitted: ClassVar = {**LINEAR_VOTES, "k_": Number(1, whole=True)}

    def __init__(self, k: int | str = "auto", *, scale: bool = True) -> None:
        self.k = k
        self.scale = scale

    def fit(self, X: Any, y: Any) -> Self:
        """Choose features from the rows of ``X``, (n, n_features), with labels ``y``, (n,)."""
        X, index = self._read_training_rows(X, y)
        n = X.shape[1]
        if isinstance(self.k, str):
            check_choice("CorrelationSelector", "k", self.k, ("auto", "all"))
            self.k_ = n if self.k == "all" else root_k(n)
        else:
            check_number("CorrelationSelector", "k", self.k, 1, n, integer=True)
            self.k_ = int(self.k)
        columns = map_to_unit(type(self).__name__, X.min(axis=0), X.max(axis=0), self.scale)
        votes = vote_by_correlation(X, index, len(self.classes_), self.k_, columns)
        self.coef_, self.intercept_ = votes.coef, votes.intercept
        self.weights_ = fold_two_classes(votes.weights, len(self.classes_))
        self.flips_ = fold_two_classes(votes.flips, len(self.classes_))
        return self


def vote_by_correlation(
    X: np.ndarray, index: np.ndarray, n_classes: int, k: int, columns: ColumnMap
) -> Votes:
    """Return the vote of the k features that correlate most with each class; of two, the second."""
    classes = [1] if n_classes == 2 else list(range(n_classes))
    found = correlate(X, index, classes)
    weights = np.zeros_like(found)
    best = np.argsort(-np.abs(found), axis=1, kind="stable")[:, :k]
    np.put_along_axis(weights, best, 1.0 / k, axis=1)
    flips = found < 0
    coef = np.where(flips, -weights, weights) * columns.slope
    mean, deviation = balanced_moments(X @ coef.T, index[:, None] == classes)
    gaps = np.zeros(len(classes))
    return Votes(weights, flips, coef / deviation[:, None], -mean / deviation, gaps)


def hold_out_correlation(
    X: np.ndarray, index: np.ndarray, n_classes: int, k: int, columns: ColumnMap, *, seed: int = 0
) -> np.ndarray:
    """Return scores of each row, (N, m), from rows of other folds; no class has a single row."""
    scores = np.empty((len(index), 1 if n_classes == 2 else n_classes))
    for kept, held_out in list_folds(index, n_classes, seed):
        votes = vote_by_correlation(X[kept], index[kept], n_classes, k, columns)
        scores[held_out] = X[held_out] @ votes.coef.T + votes.intercept
    return scores


def correlate(X: np.ndarray, index: np.ndarray, classes: list[int]) -> np.ndarray:
    """Return the correlation of each feature with each class, (n_classes, n); 0 if constant."""
    mean = X.mean(axis=0, dtype=np.float64)
    deviation = X.std(axis=0, dtype=np.float64)
    sign = (index == np.array(classes)[:, None]).astype(np.float64)
    sign -= sign.mean(axis=1, keepdims=True)
    covariance = sign @ X / len(X)  # the mean of X drops out
    unit = deviation * sign.std(axis=1, keepdims=True)
    is_flat = deviation <= 1e-12 * np.maximum(1.0, np.abs(mean))
    correlation: np.ndarray = np.zeros_like(covariance)
    np.divide(covariance, unit, out=correlation, where=~is_flat & (unit > 0))
    return correlation


def balanced_moments(votes: np.ndarray, is_own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and deviation of each column, its own rows and the others of equal weight."""
    n_own = is_own.sum(axis=0)
    weight = np.where(is_own, 0.5 / n_own, 0.5 / (len(votes) - n_own))
    mean = (weight * votes).sum(axis=0)
    variance = (weight * (votes - mean) ** 2).sum(axis=0)
    return mean, np.sqrt(np.maximum(variance, 1e-12))

"""MILBoost: boosted stumps on regions, where one sure region is enough for a picture.

A region with score f is positive with p = 1 / (1 + e^{−f}), a picture with that of any of its
regions, 1 − Π_k (1 − p_k). Each round takes the stump that rises most steeply on the log-likelihood
of the pictures, whose derivative by the score of a region is

    t_i − p_ik  for negatives (t = 0),      p_ik (1 − P_i) / P_i  for positives,

and the step that raises it most. Columns are binned once, so that a round is one pass over them.

All scores begin at the constant that makes the labels likeliest. From zero, a picture of forty
regions would be positive already, no region of a positive one would have a slope, and hundreds of
stumps that are alike for all negatives would tie: which one is first, and answers for new pictures,
would be an accident of rounding and of the order of the columns.

Reference: P. Viola, J. Platt, C. Zhang, "Multiple instance boosting for object detection",
NIPS (2005).
"""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from fieldguide._check import check_number
from fieldguide._parallel import map_in_order
from fieldguide._stumps import SAVED, Stumps, find_stump
from fieldguide.locate.bags import BagClassifier, Bags

_LARGEST_STEP = 4.0
_LARGEST_START = 30.0


class MILBoost(BagClassifier):
    """Boosted decision stumps for bags, by the noisy-or of their regions.

    The score of a bag is the log-odds of its noisy-or.

    Parameters
    ----------
    n_rounds : int
        Boosting rounds; each adds a stump to every function.
    n_bins : int
        Thresholds of a column: its least value and the quantiles of those above it.
    shrinkage : float
        Learning rate: share of the best step that each round takes.
    n_jobs : int, optional
        Threads, one function each; the answer does not depend on it.

    Attributes
    ----------
    classes_ : ndarray
    stumps_ : list of Stumps
        One for two classes, else one for each class. The first stump is a constant: all values are
        above its threshold.
    log_likelihoods_ : list of lists of float
        After each round; not saved.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import MILBoost
    >>> wing, sky, leaf = np.eye(3)
    >>> bags = [[wing, sky], [sky, wing, leaf], [sky, leaf], [leaf, leaf]]
    >>> MILBoost(n_rounds=5).fit(bags, [1, 1, -1, -1]).predict([[leaf, wing], [sky]])
    array([ 1, -1])
    """

    _fitted: ClassVar = {"stumps_": SAVED}
    _unsaved = ("log_likelihoods_",)

    def __init__(
        self,
        n_rounds: int = 100,
        *,
        n_bins: int = 32,
        shrinkage: float = 0.5,
        n_jobs: int | None = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.n_bins = n_bins
        self.shrinkage = shrinkage
        self.n_jobs = n_jobs

    def _train(self, data: Bags, index: np.ndarray) -> None:
        X = _to_dense(data.X)
        cuts, bins = bin_columns(X, self.n_bins)

        def answer(k: int) -> tuple[Stumps, list[float]]:
            return boost(cuts, bins, data.start, index == k, self.n_rounds, self.shrinkage)

        answers = list(map_in_order(answer, self._questions(), n_jobs=self.n_jobs))
        self.stumps_ = [stumps for stumps, _ in answers]
        self.log_likelihoods_ = [trace for _, trace in answers]

    def _score(self, X: Any) -> np.ndarray:
        rows = _to_dense(X)
        return np.stack([stumps.evaluate(rows) for stumps in self.stumps_], axis=1)

    def _count_functions(self) -> int:
        return len(self.stumps_)

    def _score_bags(self, scores: np.ndarray, start: np.ndarray) -> np.ndarray:
        log_none = np.add.reduceat(-np.logaddexp(0, scores), start[:-1])
        return np.log(-np.expm1(np.minimum(log_none, -1e-300))) - log_none

    def _check_arguments(self) -> None:
        check_number("MILBoost", "n_rounds", self.n_rounds, 1, 100_000, integer=True)
        check_number("MILBoost", "n_bins", self.n_bins, 2, 255, integer=True)
        check_number("MILBoost", "shrinkage", self.shrinkage, 1e-3, 1)


def bin_columns(X: np.ndarray, n_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return cuts (d, n_bins − 1), rising, and the bin of each value, uint8 (d, n).

    Value x is in bin #{cuts < x}: above cut t exactly where its bin is larger than t's place.
    """
    shares = np.linspace(0, 1, n_bins)[:-1]
    cuts = np.empty((X.shape[1], n_bins - 1), X.dtype)
    bins = np.empty((X.shape[1], X.shape[0]), np.uint8)
    for d in range(X.shape[1]):
        # Most entries of a histogram are its least, zero: the others are cut by themselves.
        values, least = X[:, d], X[:, d].min()
        above = values[values > least]
        cuts[d] = np.quantile(above, shares, method="lower") if len(above) else least
        cuts[d, 0] = least
        bins[d] = np.searchsorted(cuts[d], values, side="left")
    return cuts, bins


def boost(
    cuts: np.ndarray,
    bins: np.ndarray,
    start: np.ndarray,
    is_positive: np.ndarray,
    n_rounds: int,
    shrinkage: float = 1.0,
) -> tuple[Stumps, list[float]]:
    """Return the stumps of one function, a constant first, and the log-likelihood of each round."""
    from scipy.optimize import minimize_scalar

    constant = find_constant(np.diff(start), is_positive)
    score = np.full(bins.shape[1], constant)
    columns, thresholds, heights = [0], [np.finfo(cuts.dtype).min], [constant]
    trace = []
    for _ in range(n_rounds):
        d, t, edge = find_stump(bins, cuts.shape[1], slopes(score, start, is_positive))
        side = np.where(bins[d] > t, 1.0, -1.0) * np.sign(edge)

        def loss(step: float, at: np.ndarray = score, side: np.ndarray = side) -> float:
            return -log_likelihood(at + step * side, start, is_positive)

        step = float(minimize_scalar(loss, bounds=(0, _LARGEST_STEP), method="bounded").x)
        step *= shrinkage
        score = score + step * side
        columns.append(int(d))
        thresholds.append(cuts[d, t])
        heights.append(step * float(np.sign(edge)))
        trace.append(log_likelihood(score, start, is_positive))
    return Stumps(np.array(columns), np.array(thresholds), np.array(heights)), trace


def find_constant(sizes: np.ndarray, is_positive: np.ndarray) -> float:
    """Return the score of all regions that makes the labels of bags of these sizes likeliest.

    There the slopes of positives and negatives cancel: Σ_+ m (1 − P) / P = Σ_− m.
    """
    from scipy.optimize import brentq

    own, others = sizes[is_positive], sizes[~is_positive].sum()

    def excess(score: float) -> float:
        log_none = -own * np.logaddexp(0, score)
        return float((own * np.exp(log_none) / -np.expm1(log_none)).sum() - others)

    return float(brentq(excess, -_LARGEST_START, _LARGEST_START))


def log_likelihood(score: np.ndarray, start: np.ndarray, is_positive: np.ndarray) -> float:
    """Return Σ_+ log(1 − Π(1 − p)) + Σ_− log Π(1 − p) over bags."""
    log_none = np.add.reduceat(-np.logaddexp(0, score), start[:-1])
    log_any = np.log(-np.expm1(np.minimum(log_none, -1e-300)))
    return float(np.where(is_positive, log_any, log_none).sum())


def slopes(score: np.ndarray, start: np.ndarray, is_positive: np.ndarray) -> np.ndarray:
    """Return the derivative of the log-likelihood by the score of each region."""
    p = 1 / (1 + np.exp(-np.clip(score, -500, 500)))
    log_none = np.add.reduceat(-np.logaddexp(0, score), start[:-1])
    odds = np.exp(log_none) / np.maximum(-np.expm1(log_none), 1e-300)  # (1 − P) / P
    factor = np.where(is_positive, odds, -1.0)
    slope: np.ndarray = p * np.repeat(factor, np.diff(start))
    return slope


def _to_dense(X: Any) -> np.ndarray:
    dense: np.ndarray = X.toarray() if sparse.issparse(X) else X
    return dense

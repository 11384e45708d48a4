"""What kinds show that nobody has annotated, by what annotated kinds taught.

A few annotated kinds say little about one attribute, and much about how attributes go with looks.
So all attributes are judged together, a kind at a time: each kind is one point, the mean of its
rows. For a kind k and an attribute d that at least one other annotated kind shows, the evidence is

| symbol | meaning |
|---|---|
| r_kd | what ridge regression on the annotated kinds but k predicts for d |
| s_kd | cosine of k to the nearest kind that shows d, less that to the nearest which does not |
| n_kd | how many annotated kinds but k show d (its logarithm) |
| m_kd | how much of k has what the name of d says ("red crown": red above), where it says such |

    P(k shows d) = 1 / (1 + exp(−(w · evidence_kd + b)))

with one w for all attributes. It is learnt from the annotated kinds, each held out in turn, so
that a kind which nobody annotated is judged as they were. Attributes are said from the lowest P on
at which, by this, 92 % of what would be said of held-out kinds is right.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from fieldguide.errors import InvalidArgument

SHOWN = 0.5  # annotation from which on a row shows an attribute
MOST = 0.6  # share of its rows by which a group shows it
RIGHT = 0.92  # share of what is said of held-out groups; of new ones it is a little less
AGREES = 0.75  # share of the groups that a measured word is said of
_RIDGES = (0.03, 0.1, 0.3, 1.0)  # penalties to choose from
_OFFSET = 0.3  # added to cosines: the constant that stands for the mean
_LEAST_PAIRS = 5  # of held-out groups with attributes that they show, and that they do not
_MOST_MEASURED = 0.3  # from which on more of it says no more
_TINY = 1e-9


class _Evidence(NamedTuple):
    """What speaks for an attribute in groups, each (n_groups,)."""

    predicted: np.ndarray
    nearness: np.ndarray
    n_shown: np.ndarray  # other annotated groups that show it
    measured: np.ndarray  # NaN where the name says nothing to be measured

    def stack(self) -> np.ndarray:
        """Return the columns of the logistic regression."""
        is_measured = np.isfinite(self.measured)
        measured = np.clip(np.where(is_measured, self.measured, 0), -0.1, _MOST_MEASURED)
        n_shown = np.log(np.maximum(self.n_shown, 1))
        return np.stack([self.predicted, self.nearness, n_shown, measured, is_measured], axis=1)


def fill_groups(
    X: np.ndarray, A: np.ndarray, groups: np.ndarray, measured: np.ndarray | None = None
) -> np.ndarray:
    """Return the annotation with scores for groups of rows that nobody annotated.

    A group is said to show an attribute where at least 60 % of its rows have a score of ½ or more.
    Gaps in a group that is annotated in part remain gaps.

    Parameters
    ----------
    X : array of shape (n, n_features)
        Rows of the same scale, such as rows of length one.
    A : array of shape (n, n_attributes)
        In [0, 1]; NaN where a row is not annotated.
    groups : array of shape (n,)
        The kind of each row.
    measured : array of shape (n, n_attributes), optional
        How much of each row has what the attribute's name says, a share less what is there
        anyway; NaN where that is not known.

    Returns
    -------
    ndarray of shape (n, n_attributes)
        A copy of ``A`` with scores in [0, 1] for attributes of groups without any annotated row;
        0 for attributes that no annotated group shows.

    Examples
    --------
    Sixteen kinds, of which four are not annotated; a column of the rows goes with each attribute.

    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(np.arange(16), 5)
    >>> shows = (rng.random((16, 6)) < 0.4)[groups].astype(float)
    >>> X = shows + 0.1 * rng.normal(size=shows.shape)
    >>> A = np.where(groups[:, None] < 12, shows, np.nan)
    >>> filled = fill_groups(X, A, groups)
    >>> bool(((filled >= 0.5) == shows)[groups >= 12].mean() > 0.9)
    True
    """
    X, A = np.asarray(X, dtype=np.float64), np.array(A, dtype=np.float64)
    if A.ndim != 2 or X.ndim != 2 or not len(X) == len(A) == len(groups):
        raise InvalidArgument(
            "X, A and groups of fill_groups must have the same rows; got the shapes "
            f"{X.shape}, {A.shape} and {np.shape(groups)}."
        )
    if measured is None:
        measured = np.full(A.shape, np.nan)
    names, index = np.unique(groups, return_inverse=True)
    n_groups, n_attributes = len(names), A.shape[1]
    shares, levels = _describe_groups(A, index, n_groups)
    is_shown = levels >= MOST
    of_groups = _average(measured, index, n_groups)
    # A group is the mean of its rows, seen from the middle of all groups, and of length one.
    centres = _average(X, index, n_groups)
    middle = centres.mean(axis=0)
    centres -= middle
    lengths = np.maximum(np.linalg.norm(centres, axis=1), _TINY)
    centres /= lengths[:, None]
    cosines = centres @ centres.T
    of_rows = (X - middle) @ centres.T / lengths[index][:, None]
    found, margins = np.empty((n_groups, n_attributes, 5)), np.zeros(A.shape)
    n_shown = np.zeros((n_groups, n_attributes), dtype=np.int64)
    # Attributes that the same groups have annotations of share a regression.
    patterns, of_pattern = np.unique(np.isfinite(shares), axis=1, return_inverse=True)
    for pattern, is_known in enumerate(patterns.T):
        known, columns = np.flatnonzero(is_known), np.flatnonzero(of_pattern == pattern)
        part = np.ix_(known, columns)
        predicted, weights = _predict(cosines, known, shares[part])
        margins[:, columns] = (of_rows[:, known] + _OFFSET) @ weights
        n_shown[:, columns] = is_shown[part].sum(axis=0)
        n_shown[part] -= is_shown[part]
        for j, d in enumerate(columns):
            near = _compare_nearest(cosines[:, known], known, is_shown[known, d])
            each = _Evidence(predicted[:, j], near, n_shown[:, d], of_groups[:, d])
            found[:, d] = each.stack()
    is_known = np.isfinite(shares)
    p, slope = _judge(found, n_shown > 0, is_known, is_shown)
    cut = _choose_cut(p[is_known & np.isfinite(p)])
    scores = _score_rows(p, cut, slope, margins, index)
    is_new = ~is_known[index]
    A[is_new] = scores[is_new]
    return A


def find_agreeing(scores: np.ndarray, A: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return which attributes may be measured instead of learnt, (n_attributes,) bool.

    Of the annotated groups that an attribute is measured in, three quarters must show it; one that
    is measured in none of them may be measured too.

    Parameters
    ----------
    scores : array of shape (n, n_attributes)
        Measured, not learnt; an attribute is said of a row from ½ on, and of a group that has most
        of its rows there.
    A : array of shape (n, n_attributes)
        In [0, 1]; NaN where a row is not annotated.
    groups : array of shape (n,)

    Examples
    --------
    >>> scores = np.array([[0.9, 0.9], [0.8, 0.7], [0.1, 0.9]])
    >>> A = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    >>> find_agreeing(scores, A, np.arange(3))
    array([ True, False])
    """
    names, index = np.unique(groups, return_inverse=True)
    shown = _describe_groups(A, index, len(names))[1] >= MOST
    said = _describe_groups(np.where(np.isnan(A), np.nan, scores), index, len(names))[1] >= MOST
    is_agreeing: np.ndarray = (said & shown).sum(axis=0) >= AGREES * said.sum(axis=0)
    return is_agreeing


def _describe_groups(
    A: np.ndarray, index: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean annotation of each group, and the share of its rows that show it."""
    shows = np.where(np.isnan(A), np.nan, A >= SHOWN)
    return _average(A, index, n_groups), np.nan_to_num(_average(shows, index, n_groups))


def _average(values: np.ndarray, index: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the mean of what is known of each group, NaN where nothing is."""
    is_known = np.isfinite(values)
    total, n = np.zeros((2, n_groups, values.shape[1]))
    np.add.at(total, index, np.where(is_known, values, 0))
    np.add.at(n, index, is_known)
    means = np.full(total.shape, np.nan)
    np.divide(total, n, out=means, where=n > 0)
    return means


def _predict(
    cosines: np.ndarray, known: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ridge regression of the shares for all groups, known ones left out, and its weights.

    Leaving one out has a closed form: what is missed is the weight of the point over its own
    element of the inverse. The penalty is that by which least is missed.
    """
    if not len(known):
        return np.zeros((len(cosines), shares.shape[1])), shares
    least, best = np.inf, (shares, shares)
    for ridge in _RIDGES:
        gram = cosines[np.ix_(known, known)] + _OFFSET + ridge * np.eye(len(known))
        inverse = np.linalg.inv(gram)
        weights = inverse @ shares
        missed = weights / np.diag(inverse)[:, None]
        if (missed**2).sum() < least:
            least, best = float((missed**2).sum()), (weights, missed)
    weights, missed = best
    predicted = (cosines[:, known] + _OFFSET) @ weights
    predicted[known] = shares - missed
    return predicted, weights


def _compare_nearest(cosines: np.ndarray, known: np.ndarray, shown: np.ndarray) -> np.ndarray:
    """Return by how much the nearest known group that shows it is nearer than one that does not."""
    cosines = cosines.copy()
    cosines[known, np.arange(len(known))] = -1.0  # not itself
    showing, lacking = (cosines[:, which].max(axis=1, initial=-1.0) for which in (shown, ~shown))
    lead: np.ndarray = showing - lacking
    return lead


def _judge(
    evidence: np.ndarray, is_used: np.ndarray, is_known: np.ndarray, is_shown: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return P for each group and attribute, and how much its logit rises with the prediction.

    P of a known group is that of one held out; NaN where no other annotated group shows it.
    """
    from sklearn.linear_model import LogisticRegression

    p = np.full(is_known.shape, np.nan)
    learnt, right = evidence[is_used & is_known], is_shown[is_used & is_known]
    if min(right.sum(), (~right).sum()) < _LEAST_PAIRS:
        return p, 0.0
    middle, spread = learnt.mean(axis=0), learnt.std(axis=0) + _TINY
    regression = LogisticRegression(max_iter=1000).fit((learnt - middle) / spread, right)
    p[is_used] = regression.predict_proba((evidence[is_used] - middle) / spread)[:, 1]
    return p, max(float(regression.coef_[0, 0] / spread[0]), 0.0)


def _choose_cut(p: np.ndarray) -> float:
    """Return the lowest P from which on enough of what is said is expected to be right."""
    highest = np.sort(p)[::-1]
    is_enough = np.cumsum(highest) >= RIGHT * np.arange(1, len(highest) + 1)
    return float(highest[np.flatnonzero(is_enough)[-1]]) if is_enough.any() else np.inf


def _score_rows(
    p: np.ndarray, cut: float, slope: float, margins: np.ndarray, index: np.ndarray
) -> np.ndarray:
    """Return the scores of rows: ½ for the row that 60 % of a group reach, where P is at its cut.

    Rows of a group differ as far as their own predictions do.
    """
    if not np.isfinite(cut):
        return np.zeros(margins.shape)
    scores = np.zeros(margins.shape)
    above = logit(np.clip(p, _TINY, 1 - _TINY)) - logit(np.clip(cut, _TINY, 1 - _TINY))
    for k in range(len(p)):
        rows = np.flatnonzero(index == k)
        level = np.sort(margins[rows], axis=0)[len(rows) - math.ceil(MOST * len(rows) - _TINY)]
        scores[rows] = np.nan_to_num(expit(above[k] + slope * (margins[rows] - level)))
    return scores

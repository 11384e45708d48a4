"""The margin from which an attribute is said of kinds that nobody has annotated.

Detectors that were learnt from some kinds rank the others well, but a sigmoid for each attribute
is fitted to the few kinds that show it, and is then too low or too high for new ones. What counts
of a kind is its level: the margin that 60 % of its rows reach, by a function that has not seen the
kind. One sigmoid of the level is fitted to all kinds and attributes together:

    P(kind k shows d) = 1 / (1 + exp(−(slope · level_kd + offset)))

and attributes are said from the lowest level on at which, by this, 92 % of what would be said
of held-out kinds is right. One that fewer than two annotated kinds show is never said of a third:
what detects the one kind may be anything it has.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fieldguide.svm import calibrate_margins

SHOWN = 0.5  # annotation from which on a row shows an attribute
MOST = 0.6  # share of its rows by which a group shows it
RIGHT = 0.92  # share of what is said of held-out groups; of new ones it is a little less
AGREES = 0.75  # share of the groups that a measured word is said of
_LEAST_GROUPS = 2  # that show an attribute, and that do not


class GroupCuts(NamedTuple):
    """The margins from which attributes are said of a group that nobody has annotated."""

    cut: np.ndarray  # (n_attributes,), ∞ where a detector is not believed
    slope: float  # of the sigmoid

    def score(self, margins: np.ndarray) -> np.ndarray:
        """Return how far rows show each attribute, in [0, 1]: ½ at its cut, 0 where never said."""
        is_said = np.isfinite(self.cut)
        above = margins - np.where(is_said, self.cut, 0.0)
        return np.where(is_said, expit(self.slope * above), 0.0)


def cut_margins(margins: np.ndarray, A: np.ndarray, groups: np.ndarray) -> GroupCuts:
    """Return the margin from which each attribute is said of a new group.

    Parameters
    ----------
    margins : array of shape (n, n_attributes)
        By functions that have not seen the group of a row; NaN where a row is not annotated.
    A : array of shape (n, n_attributes)
        In [0, 1]; NaN where a row is not annotated.
    groups : array of shape (n,)

    Examples
    --------
    Groups of one row; two attributes are found again in groups that were held out. The third is
    shown by one group alone.

    >>> shows = np.zeros((12, 3))
    >>> shows[:4, 0] = shows[2:6, 1] = shows[0, 2] = 1
    >>> margins = np.where(shows > 0, [0.2, -0.1, 0.9], [-0.8, -0.9, -0.9])
    >>> cuts = cut_margins(margins, shows, np.arange(12))
    >>> (cuts.score(margins) >= 0.5).sum(axis=0)
    array([4, 4, 0])
    """
    levels, shown = _describe_groups(margins, A, groups)
    is_known = np.isfinite(levels)
    is_shown = is_known & (shown >= MOST)
    n_shown = is_shown.sum(axis=0)
    is_used = (n_shown >= _LEAST_GROUPS) & (is_known.sum(axis=0) - n_shown >= _LEAST_GROUPS)
    cut = np.full(A.shape[1], np.inf)
    if not is_used.any():
        return GroupCuts(cut, 0.0)
    pairs = is_known & is_used
    slope, offset = calibrate_margins(levels[pairs], np.where(is_shown[pairs], 1.0, -1.0))
    if slope > 0:
        highest = np.sort(levels[pairs])[::-1]
        is_right = expit(slope * highest + offset)
        is_enough = np.cumsum(is_right) >= RIGHT * np.arange(1, len(highest) + 1)
        if is_enough.any():
            cut[is_used] = highest[np.flatnonzero(is_enough)[-1]]
    return GroupCuts(cut, slope)


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
    levels, shown = _describe_groups(np.where(np.isnan(A), np.nan, scores), A, groups)
    is_said = levels >= SHOWN
    return (is_said & (shown >= MOST)).sum(axis=0) >= AGREES * is_said.sum(axis=0)


def _describe_groups(
    margins: np.ndarray, A: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the level of each attribute in each group, and the share of its rows that show it."""
    names, index = np.unique(groups, return_inverse=True)
    levels, shown = np.full((2, len(names), A.shape[1]), np.nan)
    rows_of = np.split(np.argsort(index, kind="stable"), np.cumsum(np.bincount(index))[:-1])
    for k, own in enumerate(rows_of):
        for d in np.flatnonzero(np.isfinite(margins[own]).any(axis=0)):
            rows = own[np.isfinite(margins[own, d])]
            levels[k, d] = np.quantile(margins[rows, d], 1 - MOST)
            shown[k, d] = (A[rows, d] >= SHOWN).mean()
    return levels, shown

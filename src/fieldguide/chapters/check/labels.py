"""Labels that are probably wrong, by the key that has not seen a specimen and by its neighbours.

=========  ===================================================================================
p_own      probability that the held-out key gives the label
p_other    that it gives its answer; of a specimen that it names as labelled, what is left
v_own      share of the 20 nearest specimens with the same label, and
v_other    with the label that the key gives, or the most frequent other; both as with two more
           neighbours whose labels are spread over all kinds
η          share of labels that are wrong
K          number of kinds
=========  ===================================================================================

The evidence against a label is

    s = 1⅓ log (p_other + ε) / (p_own + ε)  +  ⅛ log v_other / v_own

and 1¼ log v_other / v_own where the key was not asked. (Probabilities of one-vs-all are more
modest than they need be.) A wrong label may be any of K − 1, so that by Bayes' rule

    doubt = σ(s + log η / ((1 − η)(K − 1)))

with η the mean of all doubts, found by turns from 5 %. A label is listed where it is more likely
wrong than right. This is confident learning (Northcutt, Jiang and Chuang 2021) with one noise rate
in place of a joint table, which few specimens of a kind cannot fill, and with the neighbours as a
second witness. Weights and ε were chosen on seeds 100 to 102 of ``benchmarks/problems/
label_noise.py``; docs/check.md has the figures of others, beside cleanlab's.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

N_NEAR = 20
WEIGHT_KEY = 4 / 3
WEIGHT, WEIGHT_ALONE = 1 / 8, 1.25  # of the neighbours, beside the key and by themselves
EPSILON = 1e-5
LISTED = 0.5
_SPREAD = 2.0  # neighbours whose labels are spread over all kinds
_START, _LEAST, _MOST = 0.05, 1e-4, 0.5  # share of wrong labels
_TURNS, _TOLERANCE = 500, 1e-7


class HeldOutAnswers(NamedTuple):
    """What the key says of specimens that it has not seen; kinds are numbers, −1 for none."""

    answer: np.ndarray  # (n,) −1 where it was not asked
    confidence: np.ndarray  # (n,) probability of the answer
    own: np.ndarray  # (n,) probability of the label


class Doubts(NamedTuple):
    """How much each label is doubted."""

    doubt: np.ndarray  # (n,) probability that the label is wrong; 0 without a label
    other: np.ndarray  # (n,) what it may be instead; −1 where nothing is known

    @property
    def is_listed(self) -> np.ndarray:
        """Whether a label is more likely wrong than right."""
        return self.doubt > LISTED


def doubt_labels(label: np.ndarray, said: HeldOutAnswers, near: np.ndarray, n_kinds: int) -> Doubts:
    """Return how much each label is doubted.

    Parameters
    ----------
    label : array of shape (n,)
        Numbers of kinds; −1 for specimens without one. That of a kind with a single specimen is
        not doubted: nobody could have named it.
    said : HeldOutAnswers
    near : array of shape (n, k)
        The nearest specimens of each.
    n_kinds : int
    """
    n = len(label)
    doubts = Doubts(np.zeros(n, dtype=np.float32), np.full(n, -1, dtype=np.int64))
    counts = np.bincount(label[label >= 0], minlength=n_kinds)
    rows = np.flatnonzero((label >= 0) & (counts[label] > 1))  # of one alone nothing is known
    if n_kinds < 2 or not len(rows):
        return doubts
    evidence, other = weigh_evidence(label, said, near, n_kinds)
    doubts.doubt[rows] = find_posterior(evidence[rows], n_kinds)
    doubts.other[rows] = other[rows]
    doubts.doubt[other < 0] = 0
    return doubts


def weigh_evidence(
    label: np.ndarray, said: HeldOutAnswers, near: np.ndarray, n_kinds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the evidence against each label, and what it may be instead, (n,) each."""
    n = len(label)
    own_votes, other_votes, favourite = count_votes(label, near, n_kinds, said.answer)
    is_asked = said.answer >= 0
    is_named = is_asked & (said.answer == label)
    p_other = np.where(is_named, 1 - said.confidence, said.confidence)
    p_own = np.where(is_named, said.confidence, said.own)
    votes = np.log(other_votes) - np.log(own_votes)
    key = np.log(p_other + EPSILON) - np.log(p_own + EPSILON)
    evidence = np.where(is_asked, WEIGHT_KEY * key + WEIGHT * votes, WEIGHT_ALONE * votes)
    other = np.where(is_asked & ~is_named, said.answer, favourite)
    return evidence.astype(np.float64).reshape(n), other


def count_votes(
    label: np.ndarray, near: np.ndarray, n_kinds: int, answer: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the share of the nearest with the label, with another, and which other, (n,) each.

    The other one is the answer, or the most frequent where that is the label or not known; −1
    where no neighbour has one.
    """
    n, k = near.shape
    votes = label[near]
    is_other = (votes >= 0) & (votes != label[:, None])
    # How often each vote is cast among the votes of its row; k is small.
    counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2) * is_other
    best = counts.argmax(axis=1) if k else np.zeros(n, dtype=np.int64)
    favourite, most = np.full(n, -1, dtype=np.int64), np.zeros(n)
    if k:
        at = (np.arange(n), best)
        favourite, most = np.where(counts[at] > 0, votes[at], -1), counts[at].astype(float)
    is_doubted = (answer >= 0) & (answer != label)
    for_answer = (votes == answer[:, None]).sum(axis=1)
    spread = _SPREAD / n_kinds
    own = ((votes == label[:, None]).sum(axis=1) + spread) / (k + _SPREAD)
    other = (np.where(is_doubted, for_answer, most) + spread) / (k + _SPREAD)
    return own, other, favourite


def find_posterior(evidence: np.ndarray, n_kinds: int) -> np.ndarray:
    """Return the probability that each label is wrong, with the share of wrong labels unknown.

    Examples
    --------
    >>> find_posterior(np.array([20.0, -3.0, -2.0, -4.0, -3.0]), 4).round(1)
    array([1., 0., 0., 0., 0.])
    """
    share = _START
    for _ in range(_TURNS):
        doubt: np.ndarray = expit(evidence + np.log(share / ((1 - share) * (n_kinds - 1))))
        before, share = share, float(np.clip(doubt.mean(), _LEAST, _MOST))
        if abs(share - before) < _TOLERANCE:
            break
    return doubt

"""How often the name of a branch is true of its specimens, and what is done where it is too seldom.

The score of a name in a specimen is that of its least sure word, by the picture alone; its truth is
the mean over the specimens. Words of colours must be truer than others: their scores are measured
of outlines that are found, and a person who looks does not always see what was measured.

First what does not fit a name leaves its branch and goes one up: kinds, and pictures without a
kind, that show it less often than not, and of the others as few as bring the name to its floor. A
name that is still below it is not shown. Then what was left above a branch, and looks like what is
in it, goes there, as long as the name stays as true as it must be.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fieldguide.describe import DescribedTree
from fieldguide.features.vocabulary import YES
from fieldguide.guide.summaries import list_children
from fieldguide.guide.tree_evidence import Evidence
from fieldguide.metrics import ancestor_matrix

MIN_TRUTH = 0.8  # of a name
MIN_SEEN_TRUTH = 0.9  # of a name with a word of what is seen
_LEAST_KEPT = 0.5  # share of a branch that must stay in it
_MOST_NEAR = 0.6  # share of its nearest that draws a specimen into a branch, as it does a new image


def judge_words(described: DescribedTree, evidence: Evidence) -> np.ndarray:
    """Return how often the name of each branch is true of its specimens, (n_branches,)."""
    is_above = ancestor_matrix(described.parent) > 0
    truth = np.ones(len(described.parent))
    for v, words in enumerate(described.words):
        rows_of = np.flatnonzero(is_above[described.labels, v])
        if words and len(rows_of):
            scores = _score_name(evidence, words)[rows_of]
            known = scores[~np.isnan(scores)]
            truth[v] = float(known.mean()) if len(known) else 0.0
    return truth


def tighten(
    described: DescribedTree, evidence: Evidence, kinds: Sequence[str | None], least: int
) -> DescribedTree:
    """Return the tree with its truth, without those in a branch that its name does not fit.

    Kinds whose mean score is below one half, and pictures without a kind whose own score is, go one
    up; where the name is true of too few, so do others, those with the lowest scores first, as few
    as are needed.
    Where less than half of the branch or ``least`` specimens would stay, it is left as it is.
    """
    is_above = ancestor_matrix(described.parent) > 0
    units = _find_units(kinds)
    labels = described.labels.copy()
    for v in range(1, len(described.parent)):
        rows = np.flatnonzero(is_above[labels, v])
        scores = _score_name(evidence, described.words[v])[rows]
        rows, scores = rows[~np.isnan(scores)], scores[~np.isnan(scores)]
        if not len(rows):
            continue
        present, unit = np.unique(units[rows], return_inverse=True)
        counts = np.bincount(unit)
        means = np.bincount(unit, weights=scores) / counts
        order = np.argsort(-means, kind="stable")
        kept = np.cumsum(counts[order])
        is_true = (
            np.cumsum((means * counts)[order]) >= _find_floor(described.words[v], evidence) * kept
        )
        stays = np.zeros(len(present), dtype=bool)
        stays[order[: int(is_true.sum())]] = True  # means fall along the order
        stays &= means >= YES
        if counts[stays].sum() >= max(least, _LEAST_KEPT * len(rows)):
            labels[rows[~stays[unit]]] = described.parent[v]
    found = replace(described, labels=labels)
    return replace(found, truth=judge_words(found, evidence))


def join_alike(described: DescribedTree, evidence: Evidence, near: np.ndarray) -> DescribedTree:
    """Return the tree with specimens that sit above the branch of most of their nearest in it.

    Of those that one branch draws, the ones that fit its name best go first, as many as leave the
    name true enough; from there they may go on.

    Parameters
    ----------
    described : DescribedTree
    evidence : Evidence
    near : ndarray of shape (n, k)
        The nearest specimens of each, -1 for none.
    """
    is_above = ancestor_matrix(described.parent) > 0
    labels = described.labels.copy()
    for v, children in enumerate(list_children(described.parent)):
        rows = np.flatnonzero(labels == v)
        if not (children and len(rows) and near.shape[1]):
            continue
        at = np.where(near[rows] >= 0, labels[near[rows]], 0)
        held = np.stack([is_above[at, child].mean(axis=1) for child in children])
        drawn = np.where(held.max(axis=0) >= _MOST_NEAR, held.argmax(axis=0), -1)
        for j, child in enumerate(children):
            scores = _score_name(evidence, described.words[child])
            floor = _find_floor(described.words[child], evidence)
            spare = np.nansum(scores[is_above[labels, child]] - floor)
            going = rows[(drawn == j) & ~np.isnan(scores[rows])]
            going = going[np.argsort(-scores[going], kind="stable")]
            is_true = spare + np.cumsum(scores[going] - floor) >= 0
            labels[going[np.logical_and.accumulate(is_true)]] = child
    found = replace(described, labels=labels)
    return replace(found, truth=judge_words(found, evidence))


def _find_units(kinds: Sequence[str | None]) -> np.ndarray:
    """Return what leaves together, a kind or a picture without one: the unit of each specimen."""
    names = [f"picture {i}" if kind is None else f"kind {kind}" for i, kind in enumerate(kinds)]
    return np.unique(names, return_inverse=True)[1]


def find_doubtful(described: DescribedTree, evidence: Evidence) -> np.ndarray:
    """Return the branches whose names are true of too few, and what is seen of their specimens:
    without the name above it, that would divide more than it should."""
    seen = _list_seen(evidence)
    floors = np.array([_find_floor(words, evidence) for words in described.words])
    doubtful = described.truth < floors
    for v in range(1, len(described.parent)):
        doubtful[v] |= doubtful[described.parent[v]] and seen.issuperset(described.words[v])
    return doubtful


def _find_floor(words: Sequence[str], evidence: Evidence) -> float:
    return MIN_TRUTH if _list_seen(evidence).isdisjoint(words) else MIN_SEEN_TRUTH


def _list_seen(evidence: Evidence) -> set[str]:
    return {name for name, is_seen in zip(evidence.names, evidence.is_seen, strict=True) if is_seen}


def _score_name(evidence: Evidence, words: Sequence[str]) -> np.ndarray:
    """Return the score of a name in each specimen, NaN where a word of it is not known."""
    place = [evidence.names.index(word) for word in words]
    scores: np.ndarray = evidence.alone[:, place].min(axis=1)  # NaN spreads
    return scores

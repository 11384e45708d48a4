"""What a collection as a whole supports of the network's words.

A network reads each picture alone, and is wrong alone: one bird in thirty is a primate to it. The
pictures around it know better. With p the chance of each word in each picture,

    p'_i = (p_i + Σ_near p_j + m · mean of p over the others of its kind) / (1 + k + m)

over its k nearest pictures, by both looks, and, where it has a label, its kind (m = k, else 0).

A word is then left out of the collection's vocabulary

- when no picture shows it surely,
- when, by its scores, it would be wrong too often where it is said,
- when it stands for fewer things than it is said of. A network knows five finches. Of a collection
  of birds it calls half finches, surely: the nearest thing that it knows. What gives it away is
  how many kinds share so narrow a word; without kinds, a narrow word below one that most of the
  collection shows must be surer than others.

Figures, with and without: `benchmarks/problems/words.py`, `docs/words.md`.
"""

from collections.abc import Sequence

import numpy as np

from fieldguide.features.vocabulary import YES, find_above, load_vocabulary

N_NEAR = 10
SURE = 0.9  # score that at least one picture must reach
LEAST_PRECISION = 0.75  # mean score of the pictures of which a word is said
LEAST_NARROW = 0.92  # the same, of a narrow word below one that most pictures show
NARROW = 0.15  # share of the classes of that one, below which a word is narrow
MOST = 0.5  # share of the collection
SUBJECT = 130  # classes of a word that may be the one subject of a collection; animals are many
KINDS_PER_CLASS = 3  # of which a word may be said, unless it has many classes
MANY_CLASSES = 10


def pool_chances(
    chances: np.ndarray, near: np.ndarray, kinds: Sequence[str | None] | None = None
) -> np.ndarray:
    """Return the chance of each word in each picture, averaged with those of pictures like it.

    Parameters
    ----------
    chances : array of shape (n, V)
        Word probabilities of each picture alone.
    near : int array of shape (n, k)
        The nearest pictures of each, itself not among them.
    kinds : sequence of n names or None, optional
    """
    chances = np.asarray(chances, dtype=np.float64)
    n_near = near.shape[1]
    total = chances.copy()
    for column in near.T:  # k times n × V, and never n × k × V
        total += chances[column]
    weight = np.full(len(chances), 1.0 + n_near)
    if kinds is not None:
        index, n_others = _index_kinds(kinds)
        sums = np.zeros((index.max(initial=-1) + 2, chances.shape[1]))
        np.add.at(sums, index, chances)
        rows = np.flatnonzero(n_others > 0)
        others = (sums[index[rows]] - chances[rows]) / n_others[rows, None]
        total[rows] += n_near * others
        weight[rows] += n_near
    pooled: np.ndarray = total / weight[:, None]
    return pooled


def pool_new(chances: np.ndarray, of_near: np.ndarray) -> np.ndarray:
    """Return the same for a new picture: its chances (V,), and those of its nearest, (k, V)."""
    pooled: np.ndarray = (chances + of_near.sum(axis=0)) / (1.0 + len(of_near))
    return pooled


def find_supported(scores: np.ndarray, kinds: Sequence[str | None] | None = None) -> np.ndarray:
    """Return which words of the vocabulary a collection supports, (V,) bool.

    Parameters
    ----------
    scores : array of shape (n, V)
        In [0, 1]; at least 0.5 means yes.
    kinds : sequence of n names or None, optional
    """
    vocabulary = load_vocabulary()
    n_classes = vocabulary.membership.sum(axis=0, dtype=int)
    yes = scores >= YES
    n_yes = yes.sum(axis=0)
    precision = np.where(yes, scores, 0).sum(axis=0) / np.maximum(n_yes, 1)
    supported: np.ndarray = (scores.max(axis=0, initial=0) >= SURE) & (precision >= LEAST_PRECISION)
    n_kinds = _count_kinds(yes, kinds)
    if n_kinds is not None:
        supported &= (n_kinds <= KINDS_PER_CLASS * n_classes) | (n_classes >= MANY_CLASSES)
    is_subject = (n_yes > MOST * len(scores)) & (n_classes <= SUBJECT)
    for k in range(len(n_classes)):
        broadest = max((n_classes[a] for a in find_above(k) if is_subject[a]), default=0)
        if n_classes[k] >= NARROW * broadest:
            continue
        is_few = n_kinds is not None and 0 < n_kinds[k] <= n_classes[k]
        supported[k] &= is_few or precision[k] >= LEAST_NARROW
    return supported


def _count_kinds(yes: np.ndarray, kinds: Sequence[str | None] | None) -> np.ndarray | None:
    """Return how many kinds show each word in most of their pictures; None without two kinds."""
    if kinds is None:
        return None
    index, _ = _index_kinds(kinds)
    n = index.max(initial=-1) + 1
    if n < 2:
        return None
    sums = np.zeros((n + 1, yes.shape[1]))
    np.add.at(sums, index, yes)
    counts = np.bincount(index[index >= 0], minlength=n)
    n_kinds: np.ndarray = (sums[:n] >= 0.5 * counts[:, None]).sum(axis=0)
    return n_kinds


def _index_kinds(kinds: Sequence[str | None]) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each picture's kind, -1 for none, and how many others it has."""
    place: dict[str, int] = {}
    index = np.array([-1 if k is None else place.setdefault(k, len(place)) for k in kinds])
    counts = np.bincount(index[index >= 0], minlength=max(len(place), 1))
    return index, np.where(index >= 0, counts[index] - 1, 0)

"""The evidence that a tree is grown from: how probable each word is of each specimen.

Words about what a thing is come first: the owner's and the network's. In a collection with many
words of its owner's the others say less, and are left out. What is seen of the subject divides
further what these leave together; it divides a whole collection where it is of one subject, or has
no kinds. Words about surroundings and about the picture are used where there are no others.

A measured word with score s in a specimen whose kind shows it at the rate r has the probability

    s' / (1 − s') = s / (1 − s) · r / (1 − r).

What the kind shows is the odds before, what the picture shows the likelihood: one blurred warbler
is as yellow as the others. A word that half of a kind shows is left to each picture.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fieldguide.collection.layout import is_occasion
from fieldguide.features import AttributeMatrix
from fieldguide.features.properties import FORMAT_NAMES

WRITTEN = ("annotation", "keyword")  # for each picture
OWN = (*WRITTEN, "folder", "kind")
MEASURED = ("taught", "vocabulary", "network", "subject")
MANY_OWN_WORDS = 20
ASIDE = ("of one colour", "two-coloured", "large in the picture")  # true, but of many things
_PRIOR = 2.0  # specimens with the rate of the whole collection, that every kind is given
_SURE = 0.1  # from 0 or 1: closer probabilities count as certain
_EDGE = 1e-3


class Evidence(NamedTuple):
    """What a tree is grown from, a row for each specimen and a column for each word."""

    names: tuple[str, ...]
    joined: np.ndarray  # (n, D) in [0, 1], with what the kind shows; NaN where nothing is known
    alone: np.ndarray  # (n, D), of each specimen alone: by this a name is judged
    is_seen: np.ndarray  # (D,) bool: not what a thing is, but what is seen of it
    seen_heads: bool  # whether what is seen may divide the whole collection
    has_kinds: bool

    def take(self, rows: np.ndarray, columns: np.ndarray) -> "Evidence":
        """Return some of it."""
        names = tuple(self.names[j] for j in columns)
        joined, alone = (part[rows][:, columns] for part in (self.joined, self.alone))
        return self._replace(names=names, joined=joined, alone=alone, is_seen=self.is_seen[columns])


def gather_evidence(
    words: AttributeMatrix, kinds: Sequence[str | None], *, is_one_subject: bool = False
) -> Evidence:
    """Return the evidence of a collection."""
    columns = choose_columns(words)
    alone = np.asarray(words.scores[:, columns], dtype=np.float64)
    joined = alone.copy()
    measured = [k for k, j in enumerate(columns) if words.sources[j] in MEASURED]
    has_kinds = any(kind is not None for kind in kinds)
    if has_kinds:
        joined[:, measured] = join_kinds(alone[:, measured], kinds)
    sure = (joined <= _SURE) | (joined >= 1 - _SURE)
    joined = np.where(sure, np.round(joined), joined)
    names = tuple(words.names[j] for j in columns)
    is_seen = np.array([words.sources[j] == "subject" for j in columns], dtype=bool)
    return Evidence(names, joined, alone, is_seen, is_one_subject or not has_kinds, has_kinds)


def choose_columns(words: AttributeMatrix) -> list[int]:
    """Return the columns that say what a thing is; those on the picture where there are none.

    Years, months and codes in the names of folders say when and where, and part a collection only
    where nothing else does.
    """
    written = [j for j, source in enumerate(words.sources) if source in WRITTEN]
    if len(written) >= MANY_OWN_WORDS:
        return written
    said = enumerate(zip(words.names, words.sources, strict=True))
    found = [
        j
        for j, (name, source) in said
        if source in (*OWN, *MEASURED)
        and name not in ASIDE
        and not (source == "folder" and is_occasion(name))
    ]
    return found or [j for j, name in enumerate(words.names) if name not in FORMAT_NAMES]


def join_kinds(scores: np.ndarray, kinds: Sequence[str | None]) -> np.ndarray:
    """Return the scores joined with what the kind of each specimen shows, (n, D)."""
    place: dict[str, int] = {}
    index = np.array([-1 if k is None else place.setdefault(k, len(place)) for k in kinds])
    is_known = ~np.isnan(scores)
    filled = np.where(is_known, scores, 0)
    base = (filled.sum(axis=0) + _EDGE) / (is_known.sum(axis=0) + 2 * _EDGE)
    sums, counts = (np.zeros((len(place) + 1, scores.shape[1])) for _ in range(2))
    np.add.at(sums, index, filled)
    np.add.at(counts, index, is_known)
    rate = (sums + _PRIOR * base) / (counts + _PRIOR)
    log_odds = _logit(np.where(is_known, scores, 0.5)) + _logit(rate[index])
    return np.where((index >= 0)[:, None], 1 / (1 + np.exp(-log_odds)), scores)


def _logit(p: np.ndarray) -> np.ndarray:
    p = np.clip(p, _EDGE, 1 - _EDGE)
    log_odds: np.ndarray = np.log(p) - np.log1p(-p)
    return log_odds

"""Kinds × attributes as builders of keys have them: features, their states, and a score for each.

A feature is where words come from; its states are the words. A state is common where more than a
quarter of a kind's specimens show it, rare where fewer do, and absent where none does: the limit is
that of Lucid's "rare".
"""

from typing import NamedTuple

import numpy as np

from fieldguide.exports.characters import measure_shares
from fieldguide.exports.order import Order
from fieldguide.site.phrases import name_source

ABSENT, COMMON, RARE = 0, 1, 2  # Lucid's scores
MOST_RARE = 0.25


class Feature(NamedTuple):
    """A feature, and where its states stand among the columns of ``scores``."""

    name: str
    columns: list[int]


class States(NamedTuple):
    """What a guide knows of its kinds."""

    kinds: list[str]
    words: list[str]
    features: list[Feature]
    scores: np.ndarray  # (n_kinds, n_words)


def score_states(order: Order) -> States:
    """Return the scores of all kinds; FieldguideError for a guide without kinds."""
    guide = order.guide
    words, shares, _ = measure_shares(order)
    by_name: dict[str, list[int]] = {}
    for j, word in enumerate(words):
        by_name.setdefault(name_source(guide.sources.get(word, "")), []).append(j)
    scores = np.where(shares > MOST_RARE, COMMON, np.where(shares > 0, RARE, ABSENT))
    kinds = [guide.shown_name(kind.name) for kind in guide.kinds]
    return States(kinds, words, [Feature(*each) for each in by_name.items()], scores)

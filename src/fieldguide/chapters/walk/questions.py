"""The questions of a guide as one table: characters, then the couplets of a key that has a graph.

Yes to a couplet is its plus side. Of the kinds that go one way alone nearly all answers are that
way; of those that go both ways, and of those that do not come to the couplet, either answer is as
likely. So the couplets, gone through one by one, and the characters, asked in any order, are
evidence of the same sort, and one belief takes both.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fieldguide.chapters.walk.belief import to_levels
from fieldguide.guide.views import Couplet
from fieldguide.site.phrases import word_side

if TYPE_CHECKING:
    from fieldguide.guide import Guide

COUPLET = "couplet"  # where a question comes from, besides the sources of characters
ONE_WAY, EITHER_WAY = 0.98, 0.5
MOST_COUPLETS = 250  # as the page of the key lists them


class Question(NamedTuple):
    """Something that a person is asked about a find."""

    text: str  # what is seen or not; "" of a couplet
    source: str
    couplet: Couplet | None = None


class Questions(NamedTuple):
    """All questions of a guide."""

    kinds: tuple[str, ...]
    questions: tuple[Question, ...]  # characters first, then couplets by their number
    levels: np.ndarray  # (n_kinds, n_questions), of :func:`belief.to_levels`
    n_characters: int

    @property
    def characters(self) -> range:
        """The questions about characters."""
        return range(self.n_characters)

    @property
    def couplets(self) -> range:
        """The questions of the couplets; that of couplet 1 is the first."""
        return range(self.n_characters, len(self.questions))


def read_questions(guide: "Guide") -> Questions:
    """Return all questions of a guide; none where it has neither characters nor couplets."""
    found = guide.characters
    couplets = guide.couplets[:MOST_COUPLETS]
    kinds = tuple(kind.name for kind in guide.kinds) if found is None else found.kinds
    asked = [] if found is None else [Question(*each) for each in found.characters]
    shares = np.zeros((len(kinds), 0)) if found is None else found.shares
    levels = np.hstack([to_levels(shares), to_levels(share_ways(couplets, kinds))])
    ways = [Question("", COUPLET, couplet) for couplet in couplets]
    return Questions(kinds, (*asked, *ways), levels, len(asked))


def share_ways(couplets: Sequence[Couplet], kinds: Sequence[str]) -> np.ndarray:
    """Return the share of each kind that goes the plus way of each couplet."""
    place = {kind: k for k, kind in enumerate(kinds)}
    shares = np.full((len(kinds), len(couplets)), EITHER_WAY)
    for j, couplet in enumerate(couplets):
        for side, share in ((couplet.minus, 1 - ONE_WAY), (couplet.plus, ONE_WAY)):
            shares[[place[kind] for kind in side if kind in place], j] = share
    return shares


def word_sides(guide: "Guide", couplet: Couplet) -> tuple[str, str]:
    """Return what tells the minus and the plus side of a couplet apart; "" where no words do."""
    minus, plus = guide.describe_couplet(couplet.number)
    return word_side(minus, plus, guide.shown_name), word_side(plus, minus, guide.shown_name)

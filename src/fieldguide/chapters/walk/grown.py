"""The dichotomous key of a guide: its steps, its characters, and how far it leads to the truth."""

from typing import TYPE_CHECKING, NamedTuple

from fieldguide.chapters.walk.characters import (
    NETWORK,
    OWNER,
    PICTURE,
    SUBJECT,
    SURROUNDINGS,
    Characters,
)
from fieldguide.chapters.walk.dichotomy import Step, Walked, grow_key, judge_key

if TYPE_CHECKING:
    from fieldguide.chapters.marks.model import Marks

_RANKS = {OWNER: 0, NETWORK: 1, SUBJECT: 2, SURROUNDINGS: 3, PICTURE: 3}


class GrownKey(NamedTuple):
    """A dichotomous key of characters."""

    characters: Characters
    steps: tuple[Step, ...]  # none where no character parts the kinds
    walked: Walked


def grow_of_marks(marks: "Marks", characters: Characters) -> GrownKey:
    """Return the key that the characters of a guide give, judged on specimens left out."""
    ranks = [_RANKS[character.source] for character in characters.characters]
    shows = marks.pool.shows[:, characters.columns]
    return GrownKey(
        characters,
        grow_key(characters.shares, ranks),
        judge_key(shows, marks.index, marks.folds, ranks),
    )

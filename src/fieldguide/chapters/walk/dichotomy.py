"""A dichotomous key grown from characters: numbered steps with two leads each, as books print it.

At each step the kinds that remain are parted by one character: those that mostly show it take the
first lead, those that mostly do not take the second, and those that vary take both. The character
is the one whose answer tells most about the kind, all that remain being equally likely::

    gain = H(mean of s) − mean of H(s)        s: share of each kind that shows the character

so that one that varies within kinds is avoided. Characters of a better source come first (the
owner's): one of a later source is asked about only where none of an earlier one parts the kinds.
Up to two more characters that part the kinds in the same way confirm the first: who reads the key
goes where most of them lead, and by the first where they are divided.

A way ends at one kind, or at kinds that no character parts. Steps for the same kinds are one step,
which several leads refer to.

=================  ==========================================================
MOSTLY             share of a kind from which on it mostly shows a character
MOST_BOTH          share of the kinds that may take both leads
LEAST_GAIN         bits that are worth a step
STEPS_OF_KIND      most steps for each kind: a bound, seldom reached
=================  ==========================================================
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fieldguide.chapters.walk.belief import entropy_bits
from fieldguide.chapters.walk.characters import (
    NETWORK,
    OWNER,
    PICTURE,
    SUBJECT,
    SURROUNDINGS,
    Characters,
    estimate_shares,
)

MOSTLY = 0.8
MOST_BOTH = 0.25
LEAST_GAIN = 0.1
N_CONFIRMING = 2
STEPS_OF_KIND = 4
MOST_WALKED = 2000  # specimens that judge a key


class Split(NamedTuple):
    """How kinds are parted."""

    shown: tuple[int, ...]  # characters that the first lead shows; the first of them decides
    opposite: tuple[int, ...]  # characters that the second lead shows
    first: tuple[int, ...]  # kinds that take the first lead alone
    both: tuple[int, ...]
    second: tuple[int, ...]


class Step(NamedTuple):
    """One numbered step of a key: a split, and where its leads go."""

    number: int  # from 1, each after the leads before it
    split: Split
    to_first: int | None  # the step that follows; None where the way ends
    to_second: int | None

    @property
    def kinds_first(self) -> tuple[int, ...]:
        """Kinds that the first lead may lead to."""
        return tuple(sorted((*self.split.first, *self.split.both)))

    @property
    def kinds_second(self) -> tuple[int, ...]:
        """Kinds that the second lead may lead to."""
        return tuple(sorted((*self.split.second, *self.split.both)))


class Walked(NamedTuple):
    """How many specimens came to their kind through keys that were grown without them."""

    n: int
    n_alone: int  # to an end that names it alone
    n_within: int  # to an end that names it, maybe with others


def grow_key(shares: np.ndarray, ranks: Sequence[int] | None = None) -> tuple[Step, ...]:
    """Return the steps of a key; none where no character parts the kinds.

    Parameters
    ----------
    shares : array of shape (n_kinds, n_characters)
        In (0, 1): how many specimens of each kind show each character.
    ranks : sequence of int, optional
        Of each character: those of the lowest rank are asked about first.

    Examples
    --------
    >>> shares = np.array([[0.9, 0.1, 0.9], [0.9, 0.9, 0.1], [0.1, 0.1, 0.9]])
    >>> steps = grow_key(shares)
    >>> [(step.split.shown, step.split.first, step.split.second) for step in steps]
    [((0,), (0, 1), (2,)), ((1,), (1,), (0,))]
    >>> steps[1].split.opposite
    (2,)
    >>> follow_key(steps, np.array([True, True, False]))
    (1,)
    """
    n_kinds, n_characters = shares.shape
    order = np.zeros(n_characters, dtype=np.int64) if ranks is None else np.asarray(ranks)
    splits: dict[tuple[int, ...], Split] = {}
    pending = [tuple(range(n_kinds))]
    while pending:  # the last is taken: the first lead is followed to its end before the second
        kinds = pending.pop()
        if len(kinds) < 2 or kinds in splits or len(splits) >= STEPS_OF_KIND * n_kinds:
            continue
        split = choose_split(shares, order, kinds)
        if split is not None:
            splits[kinds] = split
            pending += [_join(split.second, split.both), _join(split.first, split.both)]
    number = {kinds: n for n, kinds in enumerate(splits, start=1)}
    return tuple(
        Step(
            n,
            split,
            number.get(_join(split.first, split.both)),
            number.get(_join(split.second, split.both)),
        )
        for n, split in enumerate(splits.values(), start=1)
    )


def choose_split(shares: np.ndarray, ranks: np.ndarray, kinds: Sequence[int]) -> Split | None:
    """Return how kinds are parted best; None where no character parts them."""
    s = shares[list(kinds)]
    gain = entropy_bits(s.mean(axis=0)) - entropy_bits(s).mean(axis=0)
    gain = gain.round(9)  # of equals the first, whatever the last digit says
    goes = np.where(s >= MOSTLY, 1, np.where(s <= 1 - MOSTLY, -1, 0))
    parts = (goes == 1).any(axis=0) & (goes == -1).any(axis=0) & (gain >= LEAST_GAIN)
    parts &= (goes == 0).mean(axis=0) <= MOST_BOTH
    if not parts.any():
        return None
    order = sorted(np.flatnonzero(parts), key=lambda j: (ranks[j], -gain[j], j))
    way = goes[:, order[0]]
    is_sure = way != 0
    same, contrary = (
        [int(j) for j in order[1:] if np.array_equal(goes[is_sure, j], sign * way[is_sure])]
        for sign in (1, -1)
    )
    # One of the contrary first, so that both leads have words.
    opposite = contrary[:1]
    confirming = same[: N_CONFIRMING - len(opposite)]
    opposite += contrary[1 : 1 + N_CONFIRMING - len(opposite) - len(confirming)]
    first, both, second = (
        tuple(kind for kind, goes_there in zip(kinds, way == sign, strict=True) if goes_there)
        for sign in (1, 0, -1)
    )
    return Split((int(order[0]), *confirming), tuple(opposite), first, both, second)


def follow_key(steps: Sequence[Step], shows: np.ndarray) -> tuple[int, ...]:
    """Return the kinds where a specimen ends that shows some characters, (n_characters,) bool.

    At each step it goes where most characters lead, and by the first where they are divided.
    """
    step = steps[0]
    while True:
        split = step.split
        votes = [shows[j] for j in split.shown] + [not shows[j] for j in split.opposite]
        n_first = sum(map(bool, votes))
        takes_first = 2 * n_first > len(votes) or (2 * n_first == len(votes) and bool(votes[0]))
        to = step.to_first if takes_first else step.to_second
        if to is None:
            return step.kinds_first if takes_first else step.kinds_second
        step = steps[to - 1]


def judge_key(
    shows: np.ndarray, index: np.ndarray, folds: np.ndarray, ranks: Sequence[int]
) -> Walked:
    """Return how many specimens come to their kind through keys grown without their fold.

    Parameters
    ----------
    shows : array of shape (n_specimens, n_characters), bool
    index : array of shape (n_specimens,)
        The number of the kind; −1 for none.
    folds : array of shape (n_specimens,)
    ranks : see :func:`grow_key`
    """
    known = np.flatnonzero(index >= 0)
    asked = np.random.default_rng(0).permutation(known)[:MOST_WALKED]
    n_kinds = int(index.max(initial=-1)) + 1
    n = n_alone = n_within = 0
    for fold in np.unique(folds[asked]):
        others = known[folds[known] != fold]
        counts = np.zeros((n_kinds, shows.shape[1]))
        np.add.at(counts, index[others], shows[others])
        n_others = np.bincount(index[others], minlength=n_kinds)
        steps = grow_key(estimate_shares(counts, n_others), ranks)
        for i in asked[folds[asked] == fold]:
            end = follow_key(steps, shows[i]) if steps else tuple(range(n_kinds))
            n += 1
            n_alone += end == (index[i],)
            n_within += index[i] in end
    return Walked(n, n_alone, n_within)


def list_ends(steps: Sequence[Step]) -> list[tuple[int, ...]]:
    """Return the kinds left at each end of a key, each set once, in the order of the steps."""
    ends: dict[tuple[int, ...], None] = {}
    for step in steps:
        if step.to_first is None:
            ends[step.kinds_first] = None
        if step.to_second is None:
            ends[step.kinds_second] = None
    return list(ends)


def _join(some: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted((*some, *others)))


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

"""Which of the marks that pass are said: few, each with something of its own to say.

Left out are names of the kind itself, words that a narrower one implies ("animal" beside
"insect"), all but one of the owner's attributes that the very same specimens show, and all but one
word about a colour and its shades. What is around the subject comes
after it, and what the picture is like is said only where there is nothing else.

Of those that are left the most telling are said, by the plain difference of the shares: on drawn
specimens, whose marks are known, it names them better than the concert of votes does
(``benchmarks/problems/marks.py``). How many would be enough for a linear rule is how many
:class:`~fieldguide.select.AdditiveKernelSelector` gives a weight.
"""

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from fieldguide.chapters.marks.pool import (
    NETWORK,
    PICTURE,
    SOURCES,
    SUBJECT,
    SURROUNDINGS,
    Column,
)
from fieldguide.errors import FieldguideWarning
from fieldguide.features import stem_word
from fieldguide.features.vocabulary import find_above, load_vocabulary
from fieldguide.guide.apart import Passed

N_SAID = 4
C = 1.0  # of the selection
MOST_ROWS = 400  # of the kind, and of others
# A colour in the light and in the shade.
SHADES = ({"brown", "orange"}, {"black", "grey"}, {"grey", "white"})
_WITH, _MOSTLY = "with ", "mostly "


def drop_repeats(passed: Sequence[Passed], columns: Sequence[Column], kind: str) -> list[Passed]:
    """Return the marks that have something of their own to say, in the order of `SOURCES`."""
    named = {stem_word(word) for word in kind.split()}
    passed = [each for each in passed if not _is_name(columns[each.column], named)]
    implied = _find_implied(columns[each.column] for each in passed)
    kept: list[Passed] = []
    colours: set[str] = set()
    has_most = False
    for each in sorted(passed, key=lambda each: _order(columns[each.column], each)):
        column = columns[each.column]
        if column.same_as:
            continue
        if column.source == NETWORK:
            if column.text in implied:
                continue
        elif column.colours:
            is_most = column.text.startswith(_MOSTLY)
            if repeats_colours(column.colours, colours) or (is_most and has_most):
                continue  # nothing is mostly yellow and mostly orange
            has_most |= is_most
            colours.update(column.colours)
        elif (column.source == PICTURE and kept) or (
            column.source == SURROUNDINGS
            and any(columns[other.column].source == SURROUNDINGS for other in kept)
        ):
            continue
        kept.append(each)
    return kept


def repeats_colours(colours: Sequence[str], said: set[str]) -> bool:
    """Whether colours were said already, or are shades of one that was: brown beside orange."""
    if len(colours) > 1:
        return not said.isdisjoint(colours)
    return any(c in said or any({c, other} in SHADES for other in said) for c in colours)


def are_apart(one: str, other: str) -> bool:
    """Whether neither of two words of the network is above the other: songbird and water bird."""
    names = load_vocabulary().names
    a, b = names.index(one), names.index(other)
    return a != b and a not in find_above(b) and b not in find_above(a)


def count_enough(
    said: Sequence[Passed], shows: np.ndarray, own: np.ndarray, other: np.ndarray, seed: int
) -> int:
    """Return how many of the marks that are said are enough for a linear rule.

    ``own`` and ``other`` are rows of ``shows``; of very many a sample is looked at.
    """
    from fieldguide.select import AdditiveKernelSelector

    if len(said) < 2:
        return len(said)
    other = np.random.default_rng(seed).permutation(other)[:MOST_ROWS]
    own = own[:: -(-len(own) // MOST_ROWS)]
    rows = np.concatenate([own, other])
    X = shows[rows][:, [each.column for each in said]].astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldguideWarning)
        selector = AdditiveKernelSelector("linear", C=C, mode="exact")
        selector.fit(X, np.arange(len(rows)) < len(own))
    return int(np.count_nonzero(selector.weights_))


def _order(column: Column, each: Passed) -> tuple[int, int, float, int]:
    """Sort by source; pairs of colours first, traces of one last; then by how telling it is."""
    form = 1
    if column.source == SUBJECT:
        is_trace = column.text.startswith(_WITH)
        form = 0 if len(column.colours) > 1 else 3 if is_trace else 2 if column.part else 1
    return SOURCES.index(column.source), form, -each.rise, each.column


def _is_name(column: Column, named: set[str]) -> bool:
    """Whether a word only says the name of the kind."""
    return column.source == NETWORK and {stem_word(word) for word in column.text.split()} <= named


def _find_implied(columns: Iterable[Column]) -> set[str]:
    """Return the network's words that another one, more special, implies."""
    vocabulary = load_vocabulary()
    place = {name: k for k, name in enumerate(vocabulary.names)}
    words = [column.text for column in columns if column.source == NETWORK]
    return {vocabulary.names[a] for word in words for a in find_above(place[word])}

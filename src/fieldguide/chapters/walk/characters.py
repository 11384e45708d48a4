"""What a person can be asked about a find: the characters of a guide, and which kinds show them.

A character is a column of the marks that a person can see or not see. Who asks needs few of them,
and each must tell some kinds apart::

    owner          the owner's attributes; alone where they tell nearly all pairs of kinds apart,
                   then only with those of the subject that part a pair that they do not
    network        plain words for what a thing is, unless it is the name of a kind
    subject        what the subject looks like
    surroundings,  only where there is nothing else: they are about the picture, and a find in the
    picture        hand has none

A character tells two kinds apart where the share of specimens that show it is larger by ``APART``
in one than in the other. One that is about as frequent in all kinds is left out, and so is one that
hardly ever differs from an earlier one, or from its contrary.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from fieldguide.chapters.marks.model import Marks
    from fieldguide.chapters.marks.pool import Column

# As marks name where their columns come from; a guide may do without that chapter.
OWNER, NETWORK, SUBJECT = "owner", "network", "subject"
SURROUNDINGS, PICTURE = "surroundings", "picture"

APART = 0.5  # difference of the shares of two kinds
LEAST_SPREAD = 0.3  # between the kinds that show a character most and least often
NEARLY_ALL = 0.95  # pairs of kinds that the owner's characters tell apart, to stand alone
SAME = 0.95  # correlation over the specimens, from which on two characters say the same


class Character(NamedTuple):
    """Something that a person can see of a find, or see that it is not there."""

    text: str
    source: str  # one of fieldguide.chapters.marks.pool.SOURCES


class Characters(NamedTuple):
    """The characters of a guide, and how many specimens of each kind show them."""

    kinds: tuple[str, ...]
    characters: tuple[Character, ...]
    shares: np.ndarray  # (n_kinds, n_characters) in (0, 1): estimated share of a kind's specimens
    n: np.ndarray  # (n_kinds,) specimens
    columns: np.ndarray  # (n_characters,) of the pool of marks


def read_characters(marks: "Marks") -> Characters:
    """Return the characters of a guide: the owner's first, then as the pool has them."""
    n = np.bincount(marks.index[marks.index >= 0], minlength=len(marks.kinds))
    counts = marks.counts.shows.sum(axis=1)
    shares = estimate_shares(counts, n)
    columns = _keep_telling(marks.pool.columns, shares, {name.casefold() for name in marks.shown})
    columns = _choose_sources(marks.pool.columns, shares, columns)
    columns = _drop_same(marks.pool.shows[marks.index >= 0], columns)
    characters = tuple(Character(*marks.pool.columns[j][:2]) for j in columns)
    return Characters(
        marks.kinds, characters, shares[:, columns], n, np.array(columns, dtype=np.int64)
    )


def estimate_shares(counts: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the share of specimens that show each column, never 0 or 1.

    ``counts`` (n_kinds, n_columns) of ``n`` (n_kinds,) specimens show it; one more specimen is
    counted that shows every column by half.
    """
    return (counts + 0.5) / (n[:, None] + 1.0)


def part_pairs(shares: np.ndarray) -> np.ndarray:
    """Return which two kinds some column tells apart, (n_kinds, n_kinds)."""
    parted = np.zeros((len(shares), len(shares)), dtype=bool)
    for column in shares.T:
        parted |= np.abs(column[:, None] - column) >= APART
    return parted


def _keep_telling(columns: Sequence["Column"], shares: np.ndarray, names: set[str]) -> list[int]:
    """Return the columns that differ between kinds; names of kinds, and texts twice, left out."""
    kept: dict[str, int] = {}
    for j in np.flatnonzero(np.ptp(shares, axis=0) >= LEAST_SPREAD).tolist():
        text = columns[j].text.casefold()
        if columns[j].source == OWNER or text not in names:
            kept.setdefault(text, j)
    return list(kept.values())


def _choose_sources(columns: Sequence["Column"], shares: np.ndarray, kept: list[int]) -> list[int]:
    """Return the columns that are asked about, of those that differ between kinds."""

    def of(*sources: str) -> list[int]:
        return [j for j in kept if columns[j].source in sources]

    own = of(OWNER)
    parted = part_pairs(shares[:, own])
    n_kinds = len(shares)
    if parted.sum() < NEARLY_ALL * n_kinds * (n_kinds - 1):
        return of(OWNER, NETWORK, SUBJECT) or of(SURROUNDINGS, PICTURE)
    # The largest gain first would ask for fewer; the order of the pool is one that people know.
    for j in of(SUBJECT):
        more = (np.abs(shares[:, [j]] - shares[:, j]) >= APART) & ~parted
        if more.any():
            parted |= more
            own.append(j)
    return own


def _drop_same(shows: np.ndarray, columns: list[int]) -> list[int]:
    """Leave out columns that say the same as an earlier one, or the contrary."""
    alike = np.abs(np.atleast_2d(np.corrcoef(shows[:, columns], rowvar=False))) >= SAME
    kept: list[int] = []
    for place in range(len(columns)):
        if not alike[place, kept].any():
            kept.append(place)
    return [columns[place] for place in kept]

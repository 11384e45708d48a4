"""What words tell the two sides of a couplet apart: two sets of kinds, each kind weighed equally.

A column speaks for a side when, by the specimens of any four of the five folds and by all of them,

- its share is at least ``LEAST_SIDE`` on that side and at most ``MOST_LEFT`` on the other, where
  the share of a side is the mean of those of its kinds: a couplet sends kinds one way, and a kind
  with many pictures is still one kind;
- most specimens show it in at least ``MOST_KINDS`` of that side's kinds, and do not in as many of
  the other's: what is true of one kind alone is not said of two;
- and it differs by more than chance (Fisher's exact test).

What the owner has written comes first, then what the thing is, then what it looks like
(``saying.drop_repeats``). What is around it, and what the picture is like, is said of no kind.
"""

from collections.abc import Sequence
from itertools import compress
from typing import TypeVar

import numpy as np

from fieldguide.chapters.marks.pool import OWNER, PICTURE, SURROUNDINGS, Column
from fieldguide.chapters.marks.records import Mark
from fieldguide.chapters.marks.saying import drop_repeats, repeats_colours
from fieldguide.guide.apart import CHANCE, Counts, Passed, compute_chance

LEAST_SIDE, MOST_LEFT = 0.65, 0.25  # shares of the side that is worded, and of the other
MOST_KINDS = 0.8  # kinds of a side of which a word must be true
N_WORDS = 3  # of a side

Said = TypeVar("Said", Column, Mark)


def share_by_fold(counts: Counts) -> np.ndarray:
    """Return the share of each kind that shows each column, (N_FOLDS + 1, n_kinds, n_columns).

    Row f is without fold f, the last of all specimens; NaN for a kind that then has none.
    """
    n_all, shows_all = counts.n.sum(axis=1), counts.shows.sum(axis=1)
    n = np.vstack([n_all - counts.n.T, n_all])[..., None]
    shows = np.concatenate([shows_all - counts.shows.swapaxes(0, 1), shows_all[None]])
    shares = np.full(shows.shape, np.nan)
    np.divide(shows, n, out=shares, where=n > 0)
    return shares


def find_words(
    counts: Counts, shares: np.ndarray, own: Sequence[int], others: Sequence[int]
) -> list[Passed]:
    """Return the columns that tell kinds ``own`` from ``others``; ``shares`` of all by fold."""
    if not own or not others:
        return []
    x, y = shares[:, list(own)], shares[:, list(others)]
    is_said = (_mean(x) >= LEAST_SIDE) & (_mean(y) <= MOST_LEFT)
    is_said &= (_mean(_most(x, 1)) >= MOST_KINDS) & (_mean(_most(y, -1)) >= MOST_KINDS)
    n, m = (int(counts.n[list(side)].sum()) for side in (own, others))
    seen, elsewhere = (counts.shows[list(side)].sum(axis=(0, 1)) for side in (own, others))
    found = (
        Passed(int(j), int(seen[j]), n, int(elsewhere[j]), m)
        for j in np.flatnonzero(is_said.all(axis=0))
    )
    return [each for each in found if compute_chance(each) <= CHANCE]


def choose_words(found: Sequence[Passed], columns: Sequence[Column], name: str) -> list[Passed]:
    """Return those of the columns that are said of a side.

    ``name`` is that of the only kind of the side, which would say nothing of it; "" for several.
    """
    kept = drop_repeats(found, columns, name)
    said = keep_few([columns[each.column] for each in kept])
    return [each for each in kept if columns[each.column] in said]


def keep_few(said: Sequence[Said]) -> list[Said]:
    """Return the first few of what is said of a side that are about the subject.

    A colour that the owner has named is not said again: "mostly red, with red".
    """
    about = [each for each in said if each.source not in (SURROUNDINGS, PICTURE)]
    named = {word for each in about if each.source == OWNER for word in each.text.split()}
    is_new = (each.source == OWNER or not repeats_colours(each.colours, named) for each in about)
    return list(compress(about, is_new))[:N_WORDS]


def list_exceptions(shares: np.ndarray, said: Sequence[int], denied: Sequence[int]) -> list[int]:
    """Return the kinds of a side of which not most of a couplet's words are true.

    ``shares`` (n_kinds, n_columns) are those of the side; ``said`` are the columns that it is said
    to show, ``denied`` those that the other side is said to show.
    """
    is_true = np.hstack([shares[:, list(said)] > 0.5, shares[:, list(denied)] <= 0.5])
    n_words = is_true.shape[1]
    return np.flatnonzero(2 * is_true.sum(axis=1) <= n_words).tolist() if n_words else []


def _most(shares: np.ndarray, sign: int) -> np.ndarray:
    """Return 1 where most specimens of a kind show a column (sign 1), or do not (−1), else 0."""
    is_most = sign * (shares - 0.5) > 0
    return np.where(np.isnan(shares), np.nan, is_most)


def _mean(shares: np.ndarray) -> np.ndarray:
    """Return the mean over the kinds that are known, (n_folds, n_columns); NaN where none is."""
    is_known = ~np.isnan(shares)
    n = is_known.sum(axis=1)
    total = np.where(is_known, shares, 0).sum(axis=1)
    means = np.full(n.shape, np.nan)
    np.divide(total, n, out=means, where=n > 0)
    return means

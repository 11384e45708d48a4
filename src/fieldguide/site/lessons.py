"""Which pictures the page where a word is taught asks about."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fieldguide.guide import Guide

MOST_TAUGHT = 24  # pictures on the page


def choose_pictures(guide: "Guide", word: str, query: str = "") -> list[int]:
    """Return specimens to teach a word by, none that teaches it already.

    Two in three are finds of the query; the others are those of which a word that holds is least
    sure, else any.
    """
    taught = guide.taught.get(word)
    known = set() if taught is None else {i for side in taught.lesson for i in side}
    chosen: dict[int, None] = {}
    if query:
        found = guide.find(query, limit=MOST_TAUGHT + len(known)).finds
        new = [find.specimen.id for find in found if find.specimen.id not in known]
        chosen = dict.fromkeys(new[: MOST_TAUGHT * 2 // 3])
    order = np.random.default_rng(len(known)).permutation(guide.n_specimens)
    if taught is not None and taught.detector is not None:
        order = np.argsort(np.abs(taught.scores - 0.5), kind="stable")
    shown = set(guide.ids) - known
    chosen |= dict.fromkeys(int(i) for i in order if int(i) in shown)
    return list(chosen)[:MOST_TAUGHT]

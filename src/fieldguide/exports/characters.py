"""Kinds × attributes: how large a share of each kind's specimens shows each word, as CSV."""

from pathlib import Path

import numpy as np

from fieldguide._csv import defuse_cell, write_table
from fieldguide.errors import FieldguideError
from fieldguide.exports.order import Order
from fieldguide.guide.answer import N_DIGITS


def write(order: Order) -> Path:
    """Write the table: a row for each kind, a column for each word that some specimen shows."""
    words, shares, n = measure_shares(order)
    rows = (
        (kind.name, count, *(round(float(share), N_DIGITS) for share in row))
        for kind, count, row in zip(order.guide.kinds, n.tolist(), shares, strict=True)
    )
    columns = ("kind", "specimens", *map(defuse_cell, words))  # words are the owner's, too
    write_table(order.target, columns, rows)
    return order.target


def measure_shares(order: Order) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the words that specimens show, and the share of each kind that does.

    Returns
    -------
    words : list of str
    shares : ndarray of shape (n_kinds, n_words)
    n : ndarray of shape (n_kinds,)
        Specimens of each kind; excluded ones count for nothing.
    """
    guide = order.guide
    if not guide.kinds:
        raise FieldguideError(
            "This guide has no kinds, so there are none to describe; build it from labelled "
            "images, or export it with `format=csv`."
        )
    row_of = {kind.name: k for k, kind in enumerate(guide.kinds)}
    kind_of = np.full(guide.n_specimens, -1)
    for specimen in order.list_specimens("reading kinds"):
        kind_of[specimen.id] = row_of.get(specimen.kind or "", -1)
    words = [word for word, n, _ in guide.words if n]
    counts = np.zeros((len(guide.kinds), len(words)))
    for j, word in enumerate(words):
        shown = kind_of[guide.members(word=word)]
        counts[:, j] = np.bincount(shown[shown >= 0], minlength=len(guide.kinds))
    n = np.bincount(kind_of[kind_of >= 0], minlength=len(guide.kinds))
    return words, counts / np.maximum(n, 1)[:, None], n

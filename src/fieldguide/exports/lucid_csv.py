"""Kinds × attributes as CSV that the Lucid Builder imports: a row for each state, a column for each
kind.

Names are paths with colons, so that a colon inside a name becomes a semicolon. Scores are Lucid's:
0 absent, 1 common, 2 rare (help of the Lucid Builder, "CSV files").
"""

from pathlib import Path

from fieldguide._csv import defuse_cell, write_table
from fieldguide.exports.order import Order
from fieldguide.exports.states import score_states


def write(order: Order) -> Path:
    """Write the table."""
    states = score_states(order)
    rows = (
        (f"{_name(feature.name)}:{_name(states.words[j])}", *states.scores[:, j].tolist())
        for feature in states.features
        for j in feature.columns
    )
    write_table(order.target, ("", *(defuse_cell(_name(kind)) for kind in states.kinds)), rows)
    return order.target


def _name(text: str) -> str:
    return text.replace(":", ";")

"""Specimens as CSV: a row each, words with semicolons between."""

from pathlib import Path

from fieldguide._csv import write_table
from fieldguide.exports.order import Order
from fieldguide.exports.specimen_rows import SpecimenRow, list_rows


def write(order: Order) -> Path:
    """Write the table; names that a spreadsheet would run as formulas get an apostrophe."""
    rows = ({**row._asdict(), "words": "; ".join(row.words)}.values() for row in list_rows(order))
    write_table(order.target, SpecimenRow._fields, map(tuple, rows))
    return order.target

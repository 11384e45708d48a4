"""Specimens as CSV: a row each, words with semicolons between."""

from pathlib import Path
from typing import Any

from fieldguide._csv import write_table
from fieldguide.exports.order import Order
from fieldguide.exports.specimen_rows import SpecimenRow, list_rows


def write(order: Order) -> Path:
    """Write the table; names that a spreadsheet would run as formulas get an apostrophe."""
    write_table(order.target, SpecimenRow._fields, map(_join_words, list_rows(order)))
    return order.target


def _join_words(row: SpecimenRow) -> list[Any]:
    return ["; ".join(value) if isinstance(value, tuple) else value for value in row]

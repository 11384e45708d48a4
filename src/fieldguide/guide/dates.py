"""Dates in a query: ``2021``, ``2021-05``, ``2021-05-03``, ``2020..2021-06``, ``may``.

A range holds both its ends; an end that is left out is open, so ``..`` is any date. A month by its
name, or the first three letters of it, is that month of every year.
"""

import re
from typing import NamedTuple

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_LEAST_LETTERS = 3
_DAY = r"\d{4}(?:-\d\d(?:-\d\d)?)?"
_RANGE = re.compile(rf"({_DAY})?\.\.({_DAY})?")


class DateRange(NamedTuple):
    """Dates as text: at or after ``first``, before or within ``last``; of one month if given."""

    first: str = ""
    last: str = "9999"
    month: str = ""  # two digits


def read_date(text: str) -> DateRange | None:
    """Return what a text says of a date; None for what says nothing.

    Examples
    --------
    >>> read_date("2021-05"), read_date("..2020"), read_date("Aug")
    (DateRange(first='2021-05', last='2021-05', month=''), \
DateRange(first='', last='2020', month=''), DateRange(first='', last='9999', month='08'))
    """
    text = text.strip().casefold().replace("…", "..")
    if re.fullmatch(_DAY, text):
        return DateRange(text, text)
    if found := _RANGE.fullmatch(text):
        return DateRange(found[1] or "", found[2] or "9999")
    for number, name in enumerate(MONTHS, start=1):
        if len(text) >= _LEAST_LETTERS and name.casefold().startswith(text):
            return DateRange(month=f"{number:02d}")
    return None

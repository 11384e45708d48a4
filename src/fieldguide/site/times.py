"""How pages word when and where: lengths of time, moments, dates and places."""

from datetime import UTC, datetime

from fieldguide._languages import grouped, message, say
from fieldguide.site.phrases import count

_MONTHS = (
    message("January"),
    message("February"),
    message("March"),
    message("April"),
    message("May"),
    message("June"),
    message("July"),
    message("August"),
    message("September"),
    message("October"),
    message("November"),
    message("December"),
)
_SHORT_MONTHS = (
    message("Jan"),
    message("Feb"),
    message("Mar"),
    message("Apr"),
    message("May"),
    message("Jun"),
    message("Jul"),
    message("Aug"),
    message("Sep"),
    message("Oct"),
    message("Nov"),
    message("Dec"),
)


def duration(seconds: float) -> str:
    """Say how long something took."""
    if seconds < 1:
        return say("under a second")
    if seconds < 120:
        return count(round(seconds), "second")
    if seconds < 7200:
        return count(round(seconds / 60), "minute")
    return count(round(seconds / 3600), "hour")


def clip_time(seconds: float) -> str:
    """Write a time within a clip, or its length: ``"0:07.5"``, ``"1:02:03"``.

    >>> clip_time(7.46), clip_time(59.96), clip_time(3723)
    ('0:07.5', '1:00.0', '1:02:03')
    """
    if seconds >= 600:
        minutes, whole = divmod(round(seconds), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02d}:{whole:02d}" if hours else f"{minutes}:{whole:02d}"
    minutes, tenths = divmod(round(10 * seconds), 600)
    return f"{minutes}:{tenths / 10:04.1f}"


def moment(iso: str) -> str:
    """Write a moment as a colophon does: ``"15 November 2026, 08:30 UTC"``."""
    try:
        when = datetime.fromisoformat(iso).astimezone(UTC)
    except ValueError:
        return iso
    return f"{_word_day(when)}, {when:%H:%M} UTC"


def word_date(iso: str) -> str:
    """Write when a picture was taken: ``"3 May 2021, 14:07 (UTC+02:00)"``."""
    try:
        when = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    day = _word_day(when)
    if len(iso) <= 10:
        return day
    offset = iso[19:]
    return f"{day}, {when:%H:%M}" + (f" (UTC{offset})" if offset else "")


def name_month(month: int, *, is_short: bool = False) -> str:
    """Return the name of a month, from 1 to 12; short as on an axis."""
    return say((_SHORT_MONTHS if is_short else _MONTHS)[month - 1])


def _word_day(when: datetime) -> str:
    month = name_month(when.month)
    return say("%(day)s %(month)s %(year)s", day=str(when.day), month=month, year=str(when.year))


def word_place(latitude: float, longitude: float) -> str:
    """Write where a picture was taken: ``"47.6600° N, 9.1750° E"``."""
    sides = say("N") if latitude >= 0 else say("S"), say("E") if longitude >= 0 else say("W")
    return f"{grouped(abs(latitude), 4)}° {sides[0]}, {grouped(abs(longitude), 4)}° {sides[1]}"

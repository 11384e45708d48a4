"""When and where a picture was taken, by its EXIF.

==========  ======================================================  ==============================
            tags                                                    becomes
==========  ======================================================  ==============================
date        DateTimeOriginal, else DateTimeDigitized; with the      "2021-05-03T14:07:09+02:00"
            offset that belongs to it where there is one
latitude    GPSLatitude and GPSLatitudeRef                          degrees, north positive
longitude   GPSLongitude and GPSLongitudeRef                        degrees, east positive
==========  ======================================================  ==============================

The directories are read here, from the bytes of the file: nothing is decoded, each takes one pass,
and no tag makes us read more than a few bytes. What is damaged, impossible or plainly unset (a year
of zeros, the point 0° 0°) counts as missing, and costs no picture.
"""

import re
import struct
from collections.abc import Mapping
from datetime import date, time
from typing import Any, NamedTuple

from fieldguide.collection.headers import MAX_PARTS, find_exif

_MAKER, _MODEL, _SERIAL = 0x010F, 0x0110, 0xA431
_EXIF_DIRECTORY, _GPS_DIRECTORY = 0x8769, 0x8825
_DATES = ((0x9003, 0x9011), (0x9004, 0x9012))  # each with the tag of its offset from UTC
_LATITUDE, _LONGITUDE = (1, 2), (3, 4)  # the side of the equator or of Greenwich, and the angle
_TEXT, _LONG, _RATIONAL = 2, 4, 5  # types of tags
_BYTES = {_TEXT: 1, _LONG: 4, _RATIONAL: 8}
_MOST_VALUES = 64  # letters or numbers of a tag
_FIRST_YEAR = 1800  # before it there were no pictures to take: an unset clock
_DATE = re.compile(r"(\d{4})[:/-](\d\d)[:/-](\d\d)(?:[ T](\d\d):(\d\d):(\d\d))?")
_OFFSET = re.compile(r"[+-](?:0\d|1[0-4]):[0-5]\d")
_DIGITS = 6  # of degrees: a tenth of a metre


class Taken(NamedTuple):
    """What a file says of how its picture came about; None and "" where it says nothing.

    Examples
    --------
    >>> Taken(date="2021-05-04T06:30:00", latitude=52.1, longitude=4.3).caption
    ''
    """

    date: str | None = None  # ISO 8601, local time; with the offset from UTC where it is known
    latitude: float | None = None
    longitude: float | None = None
    caption: str = ""  # the owner's sentence in the file, not its words


NOTHING = Taken()


def read_taken(data: bytes) -> Taken:
    """Return when and where the picture in ``data``, an image file, was taken."""
    block = find_exif(data)
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if order is None:
        return NOTHING
    first = _read_directory(block, order, _offset_at(block, order, 4))
    found = {
        tag: _read_directory(block, order, _number_of(first.get(tag)))
        for tag in (_EXIF_DIRECTORY, _GPS_DIRECTORY)
    }
    place = _read_place(found[_GPS_DIRECTORY])
    return Taken(_read_date(found[_EXIF_DIRECTORY]), *(place or (None, None)))


def read_camera(data: bytes) -> str:
    """Return maker, model and serial number of the camera that took a picture; "" if untold."""
    block = find_exif(data)
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(block[:4])
    if order is None:
        return ""
    first = _read_directory(block, order, _offset_at(block, order, 4))
    second = _read_directory(block, order, _number_of(first.get(_EXIF_DIRECTORY)))
    told = (first.get(_MAKER), first.get(_MODEL), second.get(_SERIAL))
    return " ".join(filter(None, map(_text_of, told)))


def _offset_at(block: bytes, order: str, start: int) -> int:
    return struct.unpack_from(f"{order}L", block, start)[0] if start + 4 <= len(block) else 0


_Tags = Mapping[int, tuple[Any, ...]]


def _read_directory(block: bytes, order: str, start: int) -> _Tags:
    """Return the texts, whole numbers and fractions in the directory at ``start``, by their tags.

    A text is a tuple of one string, a fraction a pair inside the tuple.
    """
    if not 8 <= start <= len(block) - 2:
        return {}
    (n_tags,) = struct.unpack_from(f"{order}H", block, start)
    table = block[start + 2 : start + 2 + 12 * min(n_tags, MAX_PARTS)]
    table = table[: len(table) - len(table) % 12]
    tags: dict[int, tuple[Any, ...]] = {}
    for tag, kind, count, value in struct.iter_unpack(f"{order}HHL4s", table):
        n_bytes = _BYTES.get(kind, 0) * count
        if not n_bytes or count > _MOST_VALUES:
            continue
        at = struct.unpack(f"{order}L", value)[0]
        raw = value[:n_bytes] if n_bytes <= 4 else block[at : at + n_bytes]
        if len(raw) == n_bytes:
            tags.setdefault(tag, _unpack(raw, kind, order))
    return tags


def _unpack(raw: bytes, kind: int, order: str) -> tuple[Any, ...]:
    if kind == _TEXT:
        return (raw.partition(b"\0")[0].decode("ascii", "replace").strip(),)
    numbers = struct.unpack(f"{order}{len(raw) // 4}L", raw)
    return tuple(zip(numbers[::2], numbers[1::2], strict=True)) if kind == _RATIONAL else numbers


def _read_date(tags: _Tags) -> str | None:
    for tag, offset_tag in _DATES:
        found = _DATE.match(_text_of(tags.get(tag)))
        if not found:
            continue
        try:
            day = date(*(int(part) for part in found.groups()[:3]))
            if day.year < _FIRST_YEAR:
                continue
            if found[4] is None:
                return day.isoformat()
            clock = time.fromisoformat(":".join(found.groups()[3:]))
        except ValueError:  # a 13th month, a 61st minute
            continue
        offset = _text_of(tags.get(offset_tag))
        return f"{day}T{clock}{offset if _OFFSET.fullmatch(offset) else ''}"
    return None


def _read_place(tags: _Tags) -> tuple[float, float] | None:
    latitude = _read_angle(tags, *_LATITUDE, "NS", 90)
    longitude = _read_angle(tags, *_LONGITUDE, "EW", 180)
    if latitude is None or longitude is None or latitude == longitude == 0:
        return None
    return latitude, longitude


def _read_angle(tags: _Tags, side_tag: int, tag: int, sides: str, most: int) -> float | None:
    """Return an angle in degrees, negative on the second of two sides."""
    side = _text_of(tags.get(side_tag)).upper()
    parts = tags.get(tag, ())
    if side not in tuple(sides) or not 1 <= len(parts) <= 3 or not isinstance(parts[0], tuple):
        return None
    if any(below == 0 for _, below in parts):
        return None
    angle = sum(above / below / 60**k for k, (above, below) in enumerate(parts))
    if angle > most:
        return None
    return float(round(-angle if side == sides[1] else angle, _DIGITS) + 0.0)  # no minus zero


def _text_of(value: tuple[Any, ...] | None) -> str:
    return value[0] if value and isinstance(value[0], str) else ""


def _number_of(value: tuple[Any, ...] | None) -> int:
    return value[0] if value and isinstance(value[0], int) else 0

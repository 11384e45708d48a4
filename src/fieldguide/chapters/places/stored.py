"""Places as they are stored: boxes, outlines and shares as plain data, and checked when read."""

from typing import Any

from fieldguide.chapters.places.records import Located, PartOfMargin, Place
from fieldguide.guide.views import FoundSubject

_UNIT = 1000  # outlines are stored in thousandths of width and height


def to_record(found: Located) -> dict[str, Any]:
    """Return what decides on a picture as plain data."""
    subject = found.subject
    return {
        "kind": found.kind,
        "against": found.against,
        "score": found.score,
        "share": found.share,
        "parts": [[part.part, round(part.value, 6), part.is_placed] for part in found.parts],
        "subject": subject
        and {
            "box": " ".join(map(str, subject.box)),
            "confidence": subject.confidence,
            "n_pieces": subject.n_pieces,
        },
        "places": [
            {
                "box": " ".join(map(str, place.box)),
                "outline": [
                    " ".join(f"{round(x * _UNIT)},{round(y * _UNIT)}" for x, y in ring)
                    for ring in place.outline
                ],
                "score": place.score,
            }
            for place in found.places
        ],
    }


def read_record(record: dict[str, Any]) -> Located:
    """Return what decides on a picture; KeyError, TypeError or ValueError for what is no record."""
    places = tuple(
        Place(
            _read_box(place["box"]),
            tuple(_read_ring(ring) for ring in place["outline"]),
            float(place["score"]),
        )
        for place in record["places"]
    )
    parts = tuple(
        PartOfMargin(str(part), float(value), bool(is_placed))
        for part, value, is_placed in record["parts"]
    )
    said, subject = record["subject"], None
    if said is not None:
        box, sure = _read_box(said["box"]), _share(float(said["confidence"]))
        subject = FoundSubject(box, sure, int(said["n_pieces"]))
    return Located(
        str(record["kind"]),
        None if record["against"] is None else str(record["against"]),
        float(record["score"]),
        _share(float(record["share"])),
        places,
        parts,
        subject,
    )


def _read_box(text: str) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = (_share(float(part)) for part in text.split())
    return x0, y0, x1, y1


def _read_ring(text: str) -> tuple[tuple[float, float], ...]:
    pairs = (point.split(",") for point in text.split())
    return tuple((_share(int(x) / _UNIT), _share(int(y) / _UNIT)) for x, y in pairs)


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{value} is no share of a picture")
    return value

"""What tables say of a specimen: one record, whatever the table is written as."""

from collections.abc import Iterator
from typing import NamedTuple

from fieldguide.exports.order import Order
from fieldguide.guide.answer import N_DIGITS


class SpecimenRow(NamedTuple):
    """A row of a table of specimens; None where there is nothing to say."""

    id: int  # number of the specimen in the guide
    path: str  # its file, relative to the folder of the collection
    kind: str | None  # its label
    width: int  # of the original, in pixels
    height: int
    branch: int  # number of the branch where it sits
    branch_words: str  # the path to that branch in words
    words: tuple[str, ...]  # that it shows, surest first
    answer: str | None  # the kind that the key gives it when it is held out
    confidence: float | None  # the probability of that answer
    subject_x0: float | None  # box of its subject, in shares of width and height
    subject_y0: float | None
    subject_x1: float | None
    subject_y1: float | None
    subject_confidence: float | None
    date: str | None  # when it was taken
    latitude: float | None  # where, in degrees
    longitude: float | None
    caption: str | None  # the owner's sentence
    owner_words: tuple[str, ...]  # in the file or beside it


def list_rows(order: Order) -> Iterator[SpecimenRow]:
    """Yield the row of each specimen, in their order."""
    guide = order.guide
    for specimen in order.list_specimens("writing specimens"):
        subject = guide.subject(specimen.id)
        box = (None,) * 4 if subject is None else subject.box
        yield SpecimenRow(
            id=specimen.id,
            path=specimen.path,
            kind=specimen.kind,
            width=specimen.width,
            height=specimen.height,
            branch=specimen.branch,
            branch_words=guide.sentence(specimen.branch),
            words=tuple(word for word, _ in guide.words_of(specimen.id)),
            answer=specimen.answer,
            confidence=None
            if specimen.confidence is None
            else round(specimen.confidence, N_DIGITS),
            subject_x0=box[0],
            subject_y0=box[1],
            subject_x1=box[2],
            subject_y1=box[3],
            subject_confidence=None if subject is None else subject.confidence,
            date=specimen.date,
            latitude=specimen.latitude,
            longitude=specimen.longitude,
            caption=specimen.caption or None,
            owner_words=specimen.owner_words,
        )

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


def list_rows(order: Order) -> Iterator[SpecimenRow]:
    """Yield the row of each specimen, in their order."""
    guide = order.guide
    for specimen in order.list_specimens("writing specimens"):
        subject = guide.subject(specimen.id)
        found = (None,) * 5 if subject is None else (*subject.box, subject.confidence)
        yield SpecimenRow(
            specimen.id,
            specimen.path,
            specimen.kind,
            specimen.width,
            specimen.height,
            specimen.branch,
            guide.sentence(specimen.branch),
            tuple(word for word, _ in guide.words_of(specimen.id)),
            specimen.answer,
            None if specimen.sure is None else round(specimen.sure, N_DIGITS),
            *found,
        )

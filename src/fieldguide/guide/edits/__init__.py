"""The owner's edits: a log beside the guide, what it comes to, and how edits are written."""

from fieldguide.guide.edits.hand import Hand, Lesson, SpecimenIndex, arrange_exemplars, read_hand
from fieldguide.guide.edits.log import FILE_NAME, EditLog, Reading
from fieldguide.guide.edits.records import VERBS, Edit, Target

__all__ = [
    "FILE_NAME",
    "VERBS",
    "Edit",
    "EditLog",
    "Hand",
    "Lesson",
    "Reading",
    "SpecimenIndex",
    "Target",
    "arrange_exemplars",
    "read_hand",
]

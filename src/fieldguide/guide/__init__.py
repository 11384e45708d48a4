"""The guide: everything that is known of a collection, in one folder."""

from fieldguide.guide.answer import Answer, AnswerBranch, NamedKind, Neighbour, ShownWord
from fieldguide.guide.edited import EditedCatalogue, Overlay
from fieldguide.guide.edits.editor import Edits
from fieldguide.guide.edits.records import Edit
from fieldguide.guide.guide import Guide
from fieldguide.guide.measure import Measured
from fieldguide.guide.movement import Movement, Movements, MovingFrame
from fieldguide.guide.movement_marks import MovementMark, SeenMark
from fieldguide.guide.originals import Original
from fieldguide.guide.pairs import KindPair
from fieldguide.guide.sighting import Sighting
from fieldguide.guide.teaching import Reliability, TaughtWord
from fieldguide.guide.views import (
    Branch,
    Clip,
    ClipFrame,
    Couplet,
    CoupletWords,
    Exemplar,
    Facet,
    Find,
    FoundSubject,
    KeyPath,
    Kind,
    PathStep,
    QueryResult,
    SideWords,
    Specimen,
    Term,
    Unreadable,
    VisualWord,
    Word,
)

__all__ = [
    "Answer",
    "AnswerBranch",
    "Branch",
    "Clip",
    "ClipFrame",
    "Couplet",
    "CoupletWords",
    "Edit",
    "EditedCatalogue",
    "Edits",
    "Exemplar",
    "Facet",
    "Find",
    "FoundSubject",
    "Guide",
    "KeyPath",
    "Kind",
    "KindPair",
    "Measured",
    "Movement",
    "MovementMark",
    "Movements",
    "MovingFrame",
    "NamedKind",
    "Neighbour",
    "Original",
    "Overlay",
    "PathStep",
    "QueryResult",
    "Reliability",
    "SeenMark",
    "ShownWord",
    "SideWords",
    "Sighting",
    "Specimen",
    "TaughtWord",
    "Term",
    "Unreadable",
    "VisualWord",
    "Word",
]

"""Two kinds side by side: how often the key takes one for the other, and which specimens are in
doubt. What sets them apart is what the optional chapters say of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fieldguide.chapters import OPTIONAL
from fieldguide.guide.answer import PAGE_ONLY
from fieldguide.guide.models import Models
from fieldguide.guide.views import Kind, Specimen

if TYPE_CHECKING:
    from fieldguide.guide.contents import GuideContents

N_BORDER = 8
_CERTAIN = 0.95  # probability from which on an answer is not in doubt


@dataclass(frozen=True)
class KindPair:
    """Two kinds side by side."""

    kind: str
    other: str
    n_taken: int  # specimens of the first that the key takes for the second, held out
    of_kind: int  # specimens of the first that it was asked about
    n_other_taken: int  # specimens of the second that it takes for the first
    of_other: int  # specimens of the second that it was asked about
    border: tuple[int, ...]  # specimens of both: taken for the other, the surest first; in doubt
    # What optional chapters say, by their name; one that says nothing is not there.
    parts: dict[str, Any] = field(default_factory=dict, metadata=PAGE_ONLY)


def compare_kinds(guide: "GuideContents", models: Models, kind: Kind, other: Kind) -> KindPair:
    """Return two kinds side by side."""
    own, others = (guide.specimens(guide.members(kind=each.name)) for each in (kind, other))
    said = {name: models.part(name) for name in OPTIONAL}
    parts = {
        name: part.compare(kind, other, models) for name, part in said.items() if part is not None
    }
    return KindPair(
        kind.name,
        other.name,
        sum(each.answer == other.name for each in own),
        sum(each.answer is not None for each in own),
        sum(each.answer == kind.name for each in others),
        sum(each.answer is not None for each in others),
        find_border([(own, other.name), (others, kind.name)]),
        {name: part for name, part in parts.items() if part is not None},
    )


def find_border(sides: Sequence[tuple[Sequence[Specimen], str]]) -> tuple[int, ...]:
    """Return the specimens that the key takes for the other kind, the surest first, then those
    that it names rightly and is in doubt of, the least sure first; what it takes for a third kind
    is not on this border. A side is the specimens of a kind and the name of the other."""
    taken, doubtful = [], []
    for own, other in sides:
        for each in own:
            if each.answer == other:
                taken.append((-(each.confidence or 0.0), each.id))
            elif (
                each.answer == each.kind
                and each.confidence is not None
                and each.confidence < _CERTAIN
            ):
                doubtful.append((each.confidence, each.id))
    return tuple([i for _, i in (*sorted(taken), *sorted(doubtful))][:N_BORDER])

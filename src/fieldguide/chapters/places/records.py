"""What is said of places: pieces of a picture that speak for a kind."""

from dataclasses import dataclass
from typing import Annotated

from fieldguide.guide.views import FoundSubject


@dataclass(frozen=True)
class Place:
    """A piece of a picture that speaks for a kind; coordinates in shares of width and height."""

    box: Annotated[tuple[float, float, float, float], "x0, y0, x1, y1"]
    outline: Annotated[
        tuple[tuple[tuple[float, float], ...], ...], "rings of points (x, y); a second is a hole"
    ]
    score: Annotated[float, "what the piece adds to the margin"]


@dataclass(frozen=True)
class PartOfMargin:
    """What one part of the features adds to the margin."""

    part: Annotated[str, "deep, closer, peaks, subject, quarters, words, …, or constant"]
    value: Annotated[float, "above 0 where it speaks for the kind"]
    is_placed: Annotated[bool, "whether it is known where in the picture it comes from"]


@dataclass(frozen=True)
class Located:
    """Where in a picture the key's decision for a kind comes from."""

    kind: Annotated[str, "name of the kind"]
    against: Annotated[
        str | None, "the likeliest other kind, which it is told from; null on plates: all others"
    ]
    score: Annotated[float, "margin of the key, the sum of its parts"]
    share: Annotated[float, "of the picture that its places cover"]
    places: Annotated[tuple[Place, ...], "what adds most comes first; may be empty"]
    parts: Annotated[tuple[PartOfMargin, ...], "exact; their sum is the score"] = ()
    subject: Annotated[FoundSubject | None, "null for a network without a map"] = None


_RING = ((0.31, 0.22), (0.64, 0.22), (0.64, 0.71), (0.31, 0.71))
EXAMPLE = Located(
    kind="wren",
    against="robin",
    score=0.8321,
    share=0.1617,
    places=(Place((0.31, 0.22, 0.64, 0.71), (_RING,), 0.5127),),
    parts=(
        PartOfMargin("deep", 0.3012, True),
        PartOfMargin("closer", 0.6401, True),
        PartOfMargin("constant", -0.1092, False),
    ),
    subject=FoundSubject((0.22, 0.11, 0.78, 0.93), 0.5312, 1),
)
"""What docs/answer.md shows."""

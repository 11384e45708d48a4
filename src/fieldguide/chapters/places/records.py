"""What is said of places: pieces of a picture that speak for a kind."""

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Place:
    """A piece of a picture that speaks for a kind; coordinates in shares of width and height."""

    box: Annotated[tuple[float, float, float, float], "x0, y0, x1, y1"]
    outline: Annotated[
        tuple[tuple[tuple[float, float], ...], ...], "rings of points (x, y); a second is a hole"
    ]
    score: Annotated[float, "above 0 as a rule; larger is surer"]


@dataclass(frozen=True)
class Located:
    """Where in a picture a kind shows."""

    kind: Annotated[str, "name of the kind"]
    score: Annotated[float, "of the picture"]
    share: Annotated[float, "of the picture that its places cover"]
    places: Annotated[tuple[Place, ...], "the surest first, at least one"]


_RING = ((0.31, 0.22), (0.64, 0.22), (0.64, 0.71), (0.31, 0.71))
EXAMPLE = Located("wren", 0.8321, 0.1617, (Place((0.31, 0.22, 0.64, 0.71), (_RING,), 0.8321),))
"""What docs/answer.md shows."""

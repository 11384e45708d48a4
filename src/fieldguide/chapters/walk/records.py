"""What a walk says, as records: of a new image, and of answers that a program gives."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from fieldguide.guide.answer import NamedKind


@dataclass(frozen=True)
class ImageWalk:
    """Where to walk the key by hand, with what the machine says of the image as a start."""

    kind: Annotated[str, "the kind that the walk begins with as the likeliest"]
    link: Annotated[str, "the page of the walk, relative to the root of the guide's pages"]


class GivenAnswer(NamedTuple):
    """An answer to a question."""

    question: str
    answer: str  # "yes", "no" or "cannot tell"; "plus" and "minus" of a couplet


class NextQuestion(NamedTuple):
    """A question that is worth asking."""

    question: str
    bits: float  # that its answer is expected to tell about the kind


@dataclass(frozen=True)
class WalkRecord:
    """Where a walk stands, as ``fieldguide key --json`` tells it."""

    kinds: tuple[NamedKind, ...]  # all of them, the likeliest first
    is_decided: bool  # whether the first is likely enough to end
    answers: tuple[GivenAnswer, ...]
    next: tuple[NextQuestion, ...]  # the most telling first
    seen: tuple[str, ...] | None  # characters that the picture shows; None without a picture


EXAMPLE = ImageWalk(kind="wren", link="walk.html#start=wren:0.912,robin:0.061&seen=ynny")
"""What docs/answer.md shows."""

"""How a clip moves, for its page: frames in a row with the tube outlined, and two sentences."""

from typing import TYPE_CHECKING, NamedTuple

from fieldguide.collection.frames import STRETCH_PX
from fieldguide.guide.movement import Movement, MovingFrame
from fieldguide.guide.views import Specimen
from fieldguide.site.chapter_pages import Outline
from fieldguide.site.phrases import clip_time, count, percent
from fieldguide.site.pictures import fit

if TYPE_CHECKING:
    from fieldguide.guide import Guide


class ShownMovement(NamedTuple):
    """What the page of a clip shows of its movement."""

    frames: list[tuple[MovingFrame, Outline | None]]
    size: tuple[int, int]  # of the frames
    sentences: list[str]


def show_movement(guide: "Guide", i: int, specimen: Specimen) -> ShownMovement | None:
    """Return what is shown of how specimen ``i`` moves; None where nothing is known of it."""
    if specimen.clip is None:
        return None
    movements = guide.movements
    movement = movements.of_clip.get(guide.digests[i])
    if movement is None or not movement.frames:
        return None
    size = fit(specimen, STRETCH_PX)
    kind = "its kind" if specimen.kind is None else guide.shown_name(specimen.kind)
    frames = [(frame, _outline(frame, size, kind)) for frame in movement.frames]
    right = f"{movements.n_right:,} of {count(movements.n_asked, 'clip')}"
    said = (
        f"By its movement alone (small blocks of edges and of movement), it is "
        f"{guide.shown_name(movement.kind)} ({percent(movement.confidence)}), says a key that has "
        f"not seen this clip; such a key is right about {right}."
    )
    return ShownMovement(frames, size, [said, _word_tube(movement, kind)])


def _word_tube(movement: Movement, kind: str) -> str:
    if all(frame.box is None for frame in movement.frames):
        return f"No part of it speaks for {kind} to a model that was trained on other clips."
    times = f"{clip_time(movement.start_s)} to {clip_time(movement.end_s)}"
    return (
        f"Outlined, {times}: the part that speaks most for {kind}, found by a model that was "
        "trained on other clips."
    )


def _outline(frame: MovingFrame, size: tuple[int, int], kind: str) -> Outline | None:
    if frame.box is None:
        return None
    width, height = size
    x0, y0, x1, y1 = (
        round(side * length, 1) for side, length in zip(frame.box, (width, height) * 2, strict=True)
    )
    path = f"M{x0},{y0}H{x1}V{y1}H{x0}Z"
    words = f"what speaks for {kind} at {clip_time(frame.at_s)}"
    return Outline(width, height, path, words, "xMidYMid meet")

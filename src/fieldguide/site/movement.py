"""How a clip moves, for its page: frames in a row with the tube outlined, and two sentences."""

from typing import TYPE_CHECKING, NamedTuple

from fieldguide._languages import say, say_count
from fieldguide.collection.frames import STRETCH_PX
from fieldguide.guide.movement import Movement, MovingFrame
from fieldguide.guide.views import Specimen
from fieldguide.site.chapter_pages import Outline
from fieldguide.site.phrases import percent
from fieldguide.site.pictures import fit
from fieldguide.site.times import clip_time

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
    kind = say("its kind") if specimen.kind is None else guide.shown_name(specimen.kind)
    frames = [(frame, _outline(frame, size, kind)) for frame in movement.frames]
    said = say_count(
        "By its movement alone (small blocks of edges and of movement), it is %(kind)s (%(share)s),"
        " says a key that has not seen this clip; such a key is right about %(right)s of %(n)s "
        "clip.",
        "By its movement alone (small blocks of edges and of movement), it is %(kind)s (%(share)s),"
        " says a key that has not seen this clip; such a key is right about %(right)s of %(n)s "
        "clips.",
        movements.n_asked,
        kind=guide.shown_name(movement.kind),
        share=percent(movement.confidence),
        right=movements.n_right,
    )
    return ShownMovement(frames, size, [said, _word_tube(movement, kind)])


def _word_tube(movement: Movement, kind: str) -> str:
    if all(frame.box is None for frame in movement.frames):
        return say(
            "No part of it speaks for %(kind)s to a model that was trained on other clips.",
            kind=kind,
        )
    return say(
        "Outlined, %(start)s to %(end)s: the part that speaks most for %(kind)s, found by a model "
        "that was trained on other clips.",
        start=clip_time(movement.start_s),
        end=clip_time(movement.end_s),
        kind=kind,
    )


def _outline(frame: MovingFrame, size: tuple[int, int], kind: str) -> Outline | None:
    if frame.box is None:
        return None
    width, height = size
    x0, y0, x1, y1 = (
        round(side * length, 1) for side, length in zip(frame.box, (width, height) * 2, strict=True)
    )
    path = f"M{x0},{y0}H{x1}V{y1}H{x0}Z"
    words = say("what speaks for %(kind)s at %(time)s", kind=kind, time=clip_time(frame.at_s))
    return Outline(width, height, path, words, "xMidYMid meet")

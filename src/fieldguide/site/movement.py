"""How clips move, for pages: frames in a row with the tube outlined, and what sets a kind apart.

A mark of movement has no name. It is shown by moments of one block, side by side, with the block
outlined and an arrow for how far it gets meanwhile, and worded by what was measured of it.
"""

from math import hypot
from typing import TYPE_CHECKING, NamedTuple

from fieldguide._languages import grouped, message, say, say_count
from fieldguide.collection.frames import STRETCH_PX
from fieldguide.guide.movement import Movement, MovingFrame
from fieldguide.guide.movement_marks import (
    DOWN,
    DOWN_ASLANT,
    HIGH,
    IN_ARCS,
    LOW,
    MIDDLE,
    MOMENT_GAP_PX,
    MOMENT_PX,
    N_MOMENTS,
    SIDEWAYS,
    UP,
    UP_AND_DOWN,
    UP_ASLANT,
    MovementMark,
    SeenMark,
)
from fieldguide.guide.views import Specimen
from fieldguide.site.chapter_pages import Outline
from fieldguide.site.phrases import percent, signed
from fieldguide.site.pictures import Picture, PictureBook, fit
from fieldguide.site.times import clip_time

if TYPE_CHECKING:
    from fieldguide.guide import Guide

N_STRIPS = 4  # clips that show a mark, on the page of the kind
STRIP_SIZE = N_MOMENTS * (MOMENT_PX + MOMENT_GAP_PX) - MOMENT_GAP_PX, MOMENT_PX
_LEAST_ARROW = 0.12  # of a moment
_HEAD_PX = 7.0
_WAYS = {
    SIDEWAYS: message("a part that moves sideways"),
    UP: message("a part that moves up"),
    DOWN: message("a part that moves down"),
    UP_AND_DOWN: message("a part that moves up and down"),
    UP_ASLANT: message("a part that moves up and to the side"),
    DOWN_ASLANT: message("a part that moves down and to the side"),
    IN_ARCS: message("a part that moves to the side, up and down"),
}
_HEIGHTS = {
    HIGH: message("high in the frame"),
    MIDDLE: message("at mid-height"),
    LOW: message("low in the frame"),
}


class Strip(NamedTuple):
    """Moments of a mark in one clip."""

    seen: SeenMark
    outline: Outline
    alt: str
    caption: str
    shown: Picture | None  # the clip; None on its own page


class ShownMovementMark(NamedTuple):
    """A mark of movement on a page."""

    words: str
    numbers: str  # "in 9 of 12; in 3 of 36 others"
    strips: list[Strip]


class KindMovement(NamedTuple):
    """What the page of a kind shows of its movement."""

    marks: list[ShownMovementMark]
    note: str


class ShownMovement(NamedTuple):
    """What the page of a clip shows of its movement."""

    frames: list[tuple[MovingFrame, Outline | None]]
    size: tuple[int, int]  # of the frames
    sentences: list[str]
    marks: list[ShownMovementMark]  # of its kind, that it shows
    marks_title: str


def show_kind_movement(guide: "Guide", kind: str, pictures: PictureBook) -> KindMovement | None:
    """Return what is shown of how a kind moves; None where nothing sets it apart by that."""
    movements = guide.movements
    marks = movements.marks.get(kind)
    if not marks:
        return None
    place = {digest: i for i, digest in enumerate(guide.digests)}
    excluded = guide.overlay.excluded
    seen = [
        (each, place[digest])
        for digest, movement in movements.of_clip.items()
        if movement.own_kind == kind and digest in place and place[digest] not in excluded
        for each in movement.marks
    ]
    seen.sort(key=lambda one: (-one[0].adds, one[1]))
    shown = []
    for number, mark in enumerate(marks):
        few = [(each, i) for each, i in seen if each.mark == number][:N_STRIPS]
        books = pictures(i for _, i in few)
        strips = [
            _show_strip(each, mark, picture) for (each, _), picture in zip(few, books, strict=True)
        ]
        shown.append(ShownMovementMark(word_mark(mark), say_mark_numbers(mark), strips))
    return KindMovement(shown, _word_note(marks[0]))


def word_mark(mark: MovementMark) -> str:
    """Say a mark of movement: "a part that moves up, about 20% of the frame a second"."""
    speed = say("about %(share)s of the frame a second", share=_round_speed(mark.speed))
    height = [say(_HEIGHTS[mark.height])] if mark.height else []
    return ", ".join([say(_WAYS[mark.way]), speed, *height])


def say_mark_numbers(mark: MovementMark) -> str:
    """Say how often a mark of movement holds: "in 9 of 12; in 3 of 36 others"."""
    return say(
        "in %(n_own)s of %(of_own)s; in %(n_other)s of %(of_other)s others",
        n_own=mark.n_own,
        of_own=mark.of_own,
        n_other=mark.n_other,
        of_other=mark.of_other,
    )


def movement_lines(guide: "Guide", kind: str) -> list[str]:
    """Return the marks of movement of a kind as lines of text; none where there are none."""
    marks = guide.movements.marks.get(kind, ())
    lines = [f"  {word_mark(mark)}: {say_mark_numbers(mark)}" for mark in marks]
    return ["", "By its movement", *lines] if lines else []


def _round_speed(speed: float) -> str:
    share = 100 * speed
    rounded = 5 * round(share / 5) if share >= 20 else max(1, round(share))
    return say("%(number)s%%", number=rounded)


def _word_note(mark: MovementMark) -> str:
    return say(
        "Patterns of small blocks of the clips (about %(side)s of the frame wide, %(seconds)s s "
        "long), which have no name: each strip is the beginning, middle and end of one, with an "
        "arrow if it gets somewhere. What moves left and what moves right is one pattern, and the "
        "camera's own movement is taken out. Counted on clips that did not choose them.",
        side=percent(mark.side),
        seconds=grouped(mark.seconds, 1),
    )


def _show_strip(seen: SeenMark, mark: MovementMark, shown: Picture | None) -> Strip:
    caption = say("%(start)s to %(end)s", start=clip_time(seen.start_s), end=clip_time(seen.end_s))
    words = word_mark(mark)
    width, height = STRIP_SIZE
    path = _draw_block(seen)
    if mark.way not in (UP_AND_DOWN, IN_ARCS):
        path += _draw_arrow(seen)
    outline = Outline(width, height, path, words, "xMidYMid meet")
    if shown is None:
        alt = say("Moments of the clip, %(when)s", when=caption)
    else:
        alt = say("%(mark)s, in %(picture)s", mark=words, picture=shown.alt)
    return Strip(seen, outline, alt, caption, shown)


def _draw_block(seen: SeenMark) -> str:
    """Return the path of the block in each moment."""
    x0, y0, x1, y1 = (MOMENT_PX * side for side in seen.box)
    return "".join(
        f"M{x0 + left:.1f},{y0:.1f}H{x1 + left:.1f}V{y1:.1f}H{x0 + left:.1f}Z"
        for left in range(0, STRIP_SIZE[0], MOMENT_PX + MOMENT_GAP_PX)
    )


def _draw_arrow(seen: SeenMark) -> str:
    """Return the path of an arrow in the first moment, no longer than half of it; "" for one too
    short to see."""
    length = hypot(*seen.move)
    if length < _LEAST_ARROW:
        return ""
    across, down = (part / length for part in seen.move)
    half = MOMENT_PX * min(length, 0.5) / 2
    x, y = (MOMENT_PX * (seen.box[k] + seen.box[k + 2]) / 2 for k in (0, 1))
    tip = x + half * across, y + half * down
    wings = [
        f"{tip[0] - _HEAD_PX * (across + turn * down):.1f},"
        f"{tip[1] - _HEAD_PX * (down - turn * across):.1f}"
        for turn in (0.6, -0.6)
    ]
    end = f"{tip[0]:.1f},{tip[1]:.1f}"
    return f"M{x - half * across:.1f},{y - half * down:.1f}L{end}M{wings[0]}L{end}L{wings[1]}"


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
    own_kind = guide.shown_name(movement.own_kind)
    marks = [
        _show_seen(movements.marks[movement.own_kind][seen.mark], seen, movement.score, own_kind)
        for seen in movement.marks
    ]
    title = say("What sets %(kind)s apart by its movement, here", kind=own_kind)
    return ShownMovement(frames, size, [said, _word_tube(movement, kind)], marks, title)


def _show_seen(mark: MovementMark, seen: SeenMark, score: float, kind: str) -> ShownMovementMark:
    adds = say(
        "adds %(adds)s to the %(score)s by which that key scores it as %(kind)s",
        adds=signed(seen.adds),
        score=signed(score),
        kind=kind,
    )
    numbers = f"{say_mark_numbers(mark)}; {adds}"
    return ShownMovementMark(word_mark(mark), numbers, [_show_strip(seen, mark, None)])


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

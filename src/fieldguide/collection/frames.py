"""Which frames a clip is seen by, whatever they come from: a file, a GIF or an array.

A clip is seen by ``N_FRAMES`` frames, evenly spread over its length, and shown by the most telling
of them: the one that has most detail where it differs from the median of all. How it moves is seen
by a stretch: ``STRETCH_S`` seconds of smaller frames in a row.

At most ``MOST_DECODED`` frames are asked for in order, and ``MOST_DECODED_PX`` pixels in all.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide.collection.images import Frames, Picture, shrink_factor

N_FRAMES = 8
FRAME_PX = 1280  # longer side of a frame that is kept
MOST_DECODED = 1200  # frames in order
MOST_DECODED_PX = 2_000_000_000  # half a minute of work at worst
STRETCH_S = 2.0
STRETCH_FRAMES = 24
STRETCH_PX = 128
_SMALL_PX = 64
_MOVED = 24  # of 255, by which a pixel differs from the median where something has moved

Timed = tuple[float, Image.Image]


class Later(NamedTuple):
    """An image that is made when it is asked for: most frames that are decoded are not kept."""

    make: Any
    of: Any

    def __call__(self) -> Image.Image:
        """Make it."""
        image: Image.Image = self.make(self.of)
        return image


class Stretch(NamedTuple):
    """Some frames of a clip in a row, to see how it moves.

    Examples
    --------
    >>> stretch = Stretch(np.zeros((2, 30, 40, 3), dtype=np.uint8), times=(0.0, 0.2))
    >>> len(stretch.frames) == len(stretch.times)
    True
    """

    frames: np.ndarray  # (n_frames, height, width, 3) uint8
    times: tuple[float, ...]  # seconds from the beginning of the clip


def walk_array(clip: np.ndarray, frames_per_s: float) -> Iterator[tuple[float, Later]]:
    """Yield the times and frames of a clip in memory, (n_frames, h, w, 3) in uint8."""
    for t, frame in enumerate(clip):
        yield round(t / frames_per_s, 6), Later(shrink_frame, Image.fromarray(frame))


def take_frames(clip: np.ndarray, frames_per_s: float) -> Picture:
    """Return the frames by which a clip in memory, (n_frames, h, w, 3) in uint8, is seen."""
    found, _ = spread(walk_array(clip, frames_per_s), clip.shape[1] * clip.shape[2])
    frames = make_clip(found, round(len(clip) / frames_per_s, 3))
    return Picture(frames.best, clip.shape[2], clip.shape[1], clip=frames)


def spread(frames: Iterable[tuple[float, Later]], n_px: int) -> tuple[list[Timed], float]:
    """Return up to ``N_FRAMES`` of many frames, evenly over their time, and how long that is.

    Every ``stride``-th frame is kept; when there are too many, every second of them, and the stride
    is twice as long: no more than 4 × ``N_FRAMES`` are in memory at once.
    """
    kept: list[Timed] = []
    stride, at, before = 1, 0.0, 0.0
    for n, (time, frame) in enumerate(frames):
        before, at = at, time
        if n % stride == 0:
            kept.append((time, frame()))
        if len(kept) == 4 * N_FRAMES:
            kept, stride = kept[::2], 2 * stride
        if n + 1 >= MOST_DECODED or (n + 1) * n_px >= MOST_DECODED_PX:
            break
    seconds = at + max(at - before, 0.0)  # the last frame stays as long as the one before it
    times = np.array([time for time, _ in kept])
    wanted = (np.arange(N_FRAMES) + 0.5) * seconds / N_FRAMES
    chosen = {int(np.abs(times - each).argmin()) for each in wanted} if kept else set()
    return [kept[i] for i in sorted(chosen)], seconds


def choose_stretch(frames: Iterable[tuple[float, Later]], at_s: float) -> Stretch | None:
    """Return the frames of a stretch around a moment; None without any."""
    start, apart = max(at_s - STRETCH_S / 2, 0.0), STRETCH_S / STRETCH_FRAMES
    kept: list[np.ndarray] = []
    times: list[float] = []
    for time, later in frames:
        if time > start + STRETCH_S or len(kept) == STRETCH_FRAMES:
            break
        if time < start or (times and time < times[-1] + apart - 2e-3):
            continue
        image = later()
        image.thumbnail((STRETCH_PX, STRETCH_PX))
        if kept and image.size != kept[0].shape[1::-1]:
            image = image.resize(kept[0].shape[1::-1])
        kept.append(np.asarray(image))
        times.append(time)
    return Stretch(np.stack(kept), tuple(times)) if kept else None


def make_clip(frames: Iterable[Timed], seconds: float) -> Frames:
    """Return frames with their times as a clip, with the most telling one named."""
    timed = tuple(frames)
    images = [image for _, image in timed]
    return Frames(tuple(timed), seconds, find_telling(images))


def find_telling(images: list[Image.Image]) -> int:
    """Return the frame with most detail where it differs from the median of all.

    That is where something has moved: an empty scene has nothing there, and a black or blurred
    frame no detail. Where nothing moves, it is the middle one.

    Examples
    --------
    >>> from PIL import Image
    >>> empty = Image.new("RGB", (64, 64), "white")
    >>> bird = empty.copy()
    >>> bird.paste("black", (20, 20, 40, 40))
    >>> find_telling([empty, empty, bird, empty])
    2
    """
    shape = (_SMALL_PX, _SMALL_PX)
    small = np.stack(
        [np.asarray(image.convert("L").resize(shape), dtype=np.float32) for image in images]
    )
    has_moved = np.abs(small - np.median(small, axis=0)) > _MOVED
    down, across = np.gradient(small, axis=(1, 2))
    detail = (np.hypot(down, across) * has_moved).sum(axis=(1, 2))
    return int(detail.argmax()) if detail.max() > 0 else len(images) // 2


def shrink_frame(image: Image.Image) -> Image.Image:
    """Return a frame that is not larger than it is needed."""
    if max(image.size) <= FRAME_PX:
        return image
    small = image.reduce(max(1, shrink_factor(image.size, FRAME_PX)))
    small.thumbnail((FRAME_PX, FRAME_PX))
    return small

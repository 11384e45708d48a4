"""Clips in: frames of a video file, of a folder of pictures or of arrays; and how pixels move.

A clip is a uint8 array of shape (n_frames, height, width, 3). Every frame gets the size of the
first: frames of another size are stretched to it. The flow of frame t says where each of its pixels
is in frame t + 1, in pixels (right, down); the last frame repeats the flow before it, and a clip of
one frame has none. What the camera does is taken out as far as it is a shift: the median of each
frame. Flow is found once, and every descriptor of a clip takes it as an argument.

Video files are decoded by PyAV and flow is found by OpenCV, both of the extra ``video``.

Reference: G. Farnebäck, "Two-frame motion estimation based on polynomial expansion", SCIA (2003).
"""

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from fieldguide._check import check_number
from fieldguide.collection import read_picture, to_rgb_array
from fieldguide.errors import (
    CollectionError,
    FieldguideError,
    InvalidArgument,
    UnreadableImageError,
)
from fieldguide.features.transformer import shrink

MAX_CLIP_BYTES = 2**31
MOST = 2**62
PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff", ".bmp")


def read_clip(
    source: Any,
    *,
    start: int = 0,
    stop: int | None = None,
    every: int = 1,
    max_side_px: int | None = None,
) -> np.ndarray:
    """Return the frames of one clip.

    Parameters
    ----------
    source : path, array or sequence
        A video file; a folder of pictures, one for each frame, in the order of their names and
        numbers; an array of shape (n_frames, height, width) or (n_frames, height, width, 3); or a
        sequence of arrays or Pillow images.
    start, stop : int, optional
        The first frame and the one after the last; by default all.
    every : int
        Take the first of these and then every so many.
    max_side_px : int, optional
        Larger frames are shrunk to this longer side.

    Returns
    -------
    ndarray of shape (n_frames, height, width, 3), uint8

    Raises
    ------
    UnreadableImageError
        If there is no such clip, or it cannot be decoded, or it has no frame.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.video import read_clip
    >>> read_clip(np.zeros((9, 40, 60)), start=1, every=3, max_side_px=30).shape
    (3, 20, 30, 3)
    """
    check_number("read_clip", "start", start, 0, MOST, integer=True)
    if stop is not None:
        check_number("read_clip", "stop", stop, start + 1, MOST, integer=True)
    check_number("read_clip", "every", every, 1, MOST, integer=True)
    if max_side_px is not None:
        check_number("read_clip", "max_side_px", max_side_px, 1, 100_000, integer=True)
    is_path = isinstance(source, (str, os.PathLike))
    name = repr(os.fspath(source)) if is_path else "The clip"
    frames = _open(Path(source), name) if is_path else _iterate(source)
    chosen: list[np.ndarray] = []
    for frame in islice(frames, start, stop, every):
        small = shrink(frame, max_side_px)
        if chosen and small.shape != chosen[0].shape:
            size = chosen[0].shape[1::-1]
            small = np.asarray(Image.fromarray(small).resize(size, Image.Resampling.BICUBIC))
        chosen.append(small)
        if small.nbytes * len(chosen) > MAX_CLIP_BYTES:
            raise UnreadableImageError(
                f"{name} is larger than the {MAX_CLIP_BYTES >> 30} GB of frames that are kept; "
                "give start and stop, a larger every or a smaller max_side_px."
            )
    if not chosen:
        raise UnreadableImageError(
            f"{name} has no frame from {start} on; give a clip of at least {start + 1} frames."
        )
    return np.stack(chosen)


def optical_flow(frames: np.ndarray, *, steady: bool = True) -> np.ndarray:
    """Return where each pixel of a clip moves until the next frame.

    Parameters
    ----------
    frames : ndarray of shape (n_frames, height, width, 3), uint8
    steady : bool
        Take out the median of each frame, which is the camera's own.

    Returns
    -------
    ndarray of shape (n_frames, height, width, 2), float32
        Pixels to the right and down; see the module's text.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> texture = np.repeat(rng.integers(0, 256, (16, 18, 1)), 3, axis=2).astype(np.uint8)
    >>> texture = texture.repeat(4, axis=0).repeat(4, axis=1)
    >>> frames = np.stack([texture[:, 4:], texture[:, 2:-2]])  # everything moves 2 px to the right
    >>> np.median(optical_flow(frames, steady=False)[0], axis=(0, 1)).round(1) + 0
    array([2., 0.], dtype=float32)
    >>> np.median(optical_flow(frames)[0], axis=(0, 1)).round(1) + 0  # the camera's own is out
    array([0., 0.], dtype=float32)
    """
    frames = check_frames("optical_flow", frames)
    flow = np.zeros((*frames.shape[:3], 2), np.float32)
    if len(frames) > 1:
        cv2 = _import_extra("cv2", "OpenCV", "Optical flow")
        grey = [cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY) for frame in frames]
        for t in range(len(frames) - 1):
            flow[t] = cv2.calcOpticalFlowFarneback(
                grey[t], grey[t + 1], None, 0.5, 3, 11, 3, 5, 1.1, 0
            )
        flow[-1] = flow[-2]
    if steady:
        flow -= np.median(flow, axis=(1, 2), keepdims=True)
    return flow


def check_frames(owner: str, frames: Any) -> np.ndarray:
    """Return frames as they are, or refuse what :func:`read_clip` would not return."""
    array = np.asarray(frames)
    if array.ndim != 4 or array.shape[3] != 3 or array.dtype != np.uint8 or 0 in array.shape:
        raise InvalidArgument(
            f"frames of {owner} must be uint8 of shape (n_frames, height, width, 3); got "
            f"{array.dtype} of shape {array.shape}: read the clip by read_clip."
        )
    return np.ascontiguousarray(array)


def check_flow(owner: str, flow: Any, frames: np.ndarray) -> np.ndarray:
    """Return the flow of frames: found if it is None, else the one given, if it fits."""
    if flow is None:
        return optical_flow(frames)
    array = np.asarray(flow, np.float32)
    if array.shape != (*frames.shape[:3], 2) or not np.isfinite(array).all():
        raise InvalidArgument(
            f"flow of {owner} must be finite, of shape {(*frames.shape[:3], 2)}; got shape "
            f"{array.shape}: find it by optical_flow."
        )
    return np.ascontiguousarray(array)


def _iterate(source: Any) -> Iterator[np.ndarray]:
    if isinstance(source, np.ndarray) and source.ndim not in (3, 4):
        raise UnreadableImageError(
            f"A clip of shape {source.shape} has no frames; give (n_frames, height, width, 3)."
        )
    if isinstance(source, (bytes, Image.Image)) or not isinstance(source, Iterable):
        raise UnreadableImageError(
            f"A clip cannot be read from {type(source).__name__}; give a path, an array or a "
            "sequence of frames."
        )
    for t, frame in enumerate(source):
        try:
            yield to_rgb_array(frame, t)
        except CollectionError as error:
            raise UnreadableImageError(f"A frame of the clip cannot be used: {error}") from None


def _open(path: Path, name: str) -> Iterator[np.ndarray]:
    if path.is_dir():
        files = [item for item in path.iterdir() if item.suffix.lower() in PICTURES]
        if not files:
            raise UnreadableImageError(f"{name} holds no picture; give a folder of frames.")
        for file in sorted(files, key=lambda item: order_of(item.name)):
            try:
                yield np.asarray(read_picture(file).image)
            except UnreadableImageError as error:
                raise UnreadableImageError(f"{str(file)!r}: {error}.") from None
    elif path.is_file():
        yield from _decode(path, name)
    else:
        what = "is not a regular file" if path.exists() else "does not exist"
        raise UnreadableImageError(f"{name} {what}; give a video file or a folder of frames.")


def _decode(path: Path, name: str) -> Iterator[np.ndarray]:
    av = _import_extra("av", "PyAV", "Reading a video file")
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise UnreadableImageError(f"{name} has no picture in it; give a video file.")
            for frame in container.decode(video=0):
                yield frame.to_ndarray(format="rgb24")
    except (av.FFmpegError, ValueError) as error:
        raise UnreadableImageError(
            f"{name} cannot be decoded ({str(error).splitlines()[0]}); give another file, or a "
            "folder of its frames."
        ) from None


def _import_extra(module: str, package: str, what: str) -> Any:
    try:
        return __import__(module)
    except ImportError:
        raise FieldguideError(
            f"{what} needs {package}, which is not installed; run pip install 'fieldguide[video]'."
        ) from None


def order_of(name: str) -> tuple[tuple[int, str], ...]:
    """Return what a name is sorted by: its words, and its numbers by their value.

    >>> sorted(["frame10.png", "frame9.png"], key=order_of)
    ['frame9.png', 'frame10.png']
    """
    parts: list[tuple[int, str]] = []
    for character in name:
        is_digit = character in "0123456789"
        if is_digit and parts and parts[-1][1] == "":
            parts[-1] = (parts[-1][0] * 10 + int(character), "")
        else:
            parts.append((int(character), "") if is_digit else (-1, character))
    return tuple(parts)

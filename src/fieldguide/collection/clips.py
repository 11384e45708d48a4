"""A clip as one specimen: a video file or a moving GIF is read as a few of its frames.

Which frames those are: :mod:`fieldguide.collection.frames`. What is read of a video file, and at
which cost: :mod:`fieldguide.collection.video_files`. GIFs go through Pillow.
"""

import os
from collections.abc import Iterator
from typing import Any

from fieldguide._files import open_without_waiting
from fieldguide.collection.convert import to_rgb
from fieldguide.collection.frames import (
    MOST_DECODED,
    Later,
    Stretch,
    choose_stretch,
    make_clip,
    shrink_frame,
    spread,
)
from fieldguide.collection.headers import check_parts
from fieldguide.collection.images import (
    BUDGET,
    MAX_PIXELS,
    Picture,
    cannot_open,
    open_header,
    read_file,
    read_picture,
)
from fieldguide.collection.memory import BYTES_PER_PIXEL
from fieldguide.collection.video_files import HEAD_BYTES, LONGEST_S, find_container, open_video
from fieldguide.errors import UnreadableImageError

SUFFIXES = frozenset((".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm"))


def is_clip_name(path: str | os.PathLike[str]) -> bool:
    """Whether a file has the name of a video file."""
    return os.path.splitext(os.fspath(path))[1].lower() in SUFFIXES


def read_picture_or_clip(
    source: bytes | str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS, at_least_px: int = 0
) -> Picture:
    """Decode a picture, or a few frames of a clip; arguments and errors are those of
    :func:`~fieldguide.collection.images.read_picture`.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file, frames = io.BytesIO(), [Image.new("L", (40, 30), grey) for grey in (0, 90, 180)]
    >>> frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=500)
    >>> picture = read_picture_or_clip(file.getvalue())
    >>> len(picture.images), picture.clip.seconds
    (3, 1.5)
    """
    if not isinstance(source, bytes):
        container = find_container(_read_head(source))
        if container is None:
            if is_clip_name(source):
                raise UnreadableImageError(
                    "not a video in a format that we read (MP4, MOV, AVI, MKV, WebM)"
                )
            source = read_file(source)
    else:
        container = find_container(source[:HEAD_BYTES])
    if container is not None:
        return open_video(source, container, max_pixels, lambda video: video.read())
    assert isinstance(source, bytes)
    picture = read_picture(source, max_pixels=max_pixels, at_least_px=at_least_px)
    return _read_gif(source, picture, max_pixels) if source.startswith(b"GIF8") else picture


def read_stretch(
    source: bytes | str | os.PathLike[str], at_s: float, *, max_pixels: int = MAX_PIXELS
) -> Stretch | None:
    """Return up to ``STRETCH_S`` seconds of a clip around a moment; None for a picture.

    Frames are at most ``STRETCH_PX`` large, and as far apart as ``STRETCH_FRAMES`` in that time.
    The errors are those of :func:`read_picture_or_clip`.
    """
    head = source[:HEAD_BYTES] if isinstance(source, bytes) else _read_head(source)
    container = find_container(head)
    if container is not None:
        return open_video(source, container, max_pixels, lambda video: video.stretch(at_s))
    data = source if isinstance(source, bytes) else read_file(source)
    if not data.startswith(b"GIF8"):
        return None
    try:
        check_parts(data)
        image = open_header(data, max_pixels)
        if not getattr(image, "is_animated", False):
            return None
        with BUDGET.share(BYTES_PER_PIXEL * image.width * image.height):
            return choose_stretch(_walk_gif(image), at_s)
    except UnreadableImageError:
        raise
    except Exception as error:  # as above
        raise UnreadableImageError(f"damaged or truncated ({type(error).__name__})") from None


def _read_head(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb", opener=open_without_waiting) as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise cannot_open(error) from None
    except ValueError as error:  # a path with a NUL in it
        raise UnreadableImageError(f"cannot be opened ({error})") from None


def _read_gif(data: bytes, picture: Picture, max_pixels: int) -> Picture:
    """Return a GIF with its frames; one that does not move is a picture."""
    try:
        check_parts(data)
        image = open_header(data, max_pixels)
        if not getattr(image, "is_animated", False):
            return picture
        n_px = image.width * image.height
        with BUDGET.share(BYTES_PER_PIXEL * n_px):
            found, seconds = spread(_walk_gif(image), n_px)
    except UnreadableImageError:
        raise
    except Exception:  # as in read_picture: the first frame has been read
        return picture
    if len(found) < 2:
        return picture
    clip = make_clip(found, round(min(seconds, LONGEST_S), 3))
    return Picture(clip.best, picture.width, picture.height, picture.keywords, picture.taken, clip)


def _walk_gif(image: Any) -> Iterator[tuple[float, Later]]:
    """Yield times and frames of an opened GIF until its end or the first damage."""
    at_s, size = 0.0, image.size
    for n in range(MOST_DECODED):
        try:
            image.seek(n)
            if image.size != size:  # a frame that reaches beyond the picture enlarges it
                return
            image.load()
        except Exception:  # Pillow raises nearly anything on a damaged file
            return
        yield round(at_s, 3), Later(lambda i: shrink_frame(to_rgb(i.copy(), 1)), image)
        at_s += max(image.info.get("duration", 100), 10) / 1000

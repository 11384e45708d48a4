"""Frames of a video file, decoded by PyAV (extra ``video``).

The container is told by the first bytes and named to the decoder, so that no file can be taken for
a playlist, which names others.

=================  ==============================================================================
up to 20 s         decoded once in order; a frame of every few is kept, of fewer as more come
longer             each frame is found by seeking: as much work for ten hours as for a minute
length unknown     as the short ones
=================  ==============================================================================

However long a file is, or says that it is, no more is decoded than
:mod:`fieldguide.collection.frames` asks for, or ``MOST_PER_SEEK`` frames after each seek; at most
``MOST_BYTES`` of the file are read. The frames found until then are the clip. A short clip that has
more pixels than that is read as a long one. What is damaged behind the first frame costs the rest,
not the clip.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO, TypeVar

from PIL import Image

from fieldguide._files import open_without_waiting
from fieldguide.collection.frames import (
    MOST_DECODED,
    MOST_DECODED_PX,
    N_FRAMES,
    STRETCH_S,
    Later,
    Stretch,
    Timed,
    choose_stretch,
    make_clip,
    shrink_frame,
    spread,
)
from fieldguide.collection.images import BUDGET, Picture, cannot_open, out_of_memory
from fieldguide.collection.memory import BYTES_PER_PIXEL
from fieldguide.collection.taken import NOTHING, Taken
from fieldguide.errors import UnreadableImageError

SHORT_S = 20.0
LONGEST_S = 1e7  # four months; a file that claims more does not know its length
MOST_PER_SEEK = 300
MOST_BYTES = 2**29  # of a file that are read
HEAD_BYTES = 16  # by which a container is known
_STILL_SUFFIXES = (b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1", b"crx ")
_QUICKTIME = (b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)")
_FIRST_YEAR = "1971"  # clocks that were never set begin in 1904 or 1970
_PLACE = re.compile(r"([+-]\d{1,2}\.\d+)([+-]\d{1,3}\.\d+)")
_UPRIGHT = {
    1: Image.Transpose.ROTATE_90,
    2: Image.Transpose.ROTATE_180,
    3: Image.Transpose.ROTATE_270,
}

Value = TypeVar("Value")


def find_container(head: bytes) -> str | None:
    """Return the container of a video file by its first bytes; None for any other file.

    Examples
    --------
    >>> find_container(bytes([0, 0, 0, 28]) + b"ftypisom"), find_container(b"#EXTM3U")
    ('mov', None)
    """
    kind, brand = head[4:8], head[8:12]
    if kind in _QUICKTIME or (kind == b"ftyp" and brand not in _STILL_SUFFIXES):
        return "mov"
    if head.startswith(b"RIFF") and brand == b"AVI ":
        return "avi"
    return "matroska" if head.startswith(b"\x1aE\xdf\xa3") else None


def open_video(
    source: bytes | str | os.PathLike[str],
    container: str,
    max_pixels: int,
    read: "Callable[[Video], Value]",
) -> Value:
    """Return what ``read`` makes of an opened video file."""
    av = _import_av()
    try:
        with (
            BytesIO(source)
            if isinstance(source, bytes)
            else open(source, "rb", opener=open_without_waiting) as file,
            av.open(_Limited(file, MOST_BYTES), format=container) as opened,
        ):
            return read(Video(av, opened, max_pixels))
    except UnreadableImageError:
        raise
    except MemoryError:
        raise out_of_memory() from None
    except Exception as error:  # PyAV raises nearly anything on a damaged file
        if isinstance(error, OSError) and not isinstance(error, av.FFmpegError):
            raise cannot_open(error) from None  # of the file, not of what it holds
        said = getattr(error, "strerror", None) or str(error).strip() or type(error).__name__
        said = said.splitlines()[0][:120].lower()
        raise UnreadableImageError(f"a video that is damaged or truncated ({said})") from None


def _import_av() -> Any:
    try:
        import av
    except ImportError:
        raise UnreadableImageError(
            "a video file, which takes PyAV to read: run pip install 'fieldguide[video]'",
            passing=True,
        ) from None
    return av


class _Limited:
    """A file of which no more than so many bytes are read; then it ends."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._left = file, most
        self.seek, self.tell = file.seek, file.tell

    def read(self, n: int) -> bytes:
        """Return up to ``n`` bytes."""
        data = self._file.read(min(n, self._left))
        self._left -= len(data)
        return data


class Video:
    """One opened video file."""

    def __init__(self, av: Any, opened: Any, max_pixels: int) -> None:
        self._av, self._opened = av, opened
        stream = opened.streams.best("video")
        if stream is None:
            raise UnreadableImageError("a video file without a picture in it")
        self._stream, self._max_pixels = stream, max_pixels
        context = stream.codec_context
        self._check_size(context.width, context.height)
        context.thread_type, context.thread_count = "NONE", 1
        context.options = {**context.options, "max_pixels": str(max_pixels)}
        self._start = float(stream.start_time * stream.time_base) if stream.start_time else 0.0
        self._px = max(1, context.width * context.height)

    def read(self) -> Picture:
        """Return the frames by which the clip is seen."""
        length = self._find_length()
        with BUDGET.share(BYTES_PER_PIXEL * self._px):
            found: list[Timed] = []
            if length is not None and (length > SHORT_S or self._is_heavy(length)):
                found = self._seek_all(length)
            if not found:
                found, whole = spread(self._decode(), self._px)
                length = whole if length is None or length <= SHORT_S else length
        if not found:
            raise UnreadableImageError("a video file without a frame that can be decoded")
        assert length is not None
        clip = make_clip(found, round(length, 3))
        width, height = self._size
        return Picture(clip.best, width, height, taken=self._read_taken(), clip=clip)

    def stretch(self, at_s: float) -> Stretch | None:
        """Return some frames in a row around a moment, where they come soon enough."""
        if at_s > SHORT_S:
            offset = int((self._start + at_s - STRETCH_S / 2) / self._stream.time_base)
            with suppress(self._av.FFmpegError):
                self._opened.seek(offset, stream=self._stream)
        most = min(MOST_DECODED, MOST_DECODED_PX // self._px)
        with BUDGET.share(BYTES_PER_PIXEL * self._px):
            return choose_stretch(islice(self._decode(), most), at_s)

    def _find_length(self) -> float | None:
        """Return the length that the file claims, in seconds; None where it claims none."""
        stream, whole = self._stream, self._opened.duration
        if stream.duration:
            length = float(stream.duration * stream.time_base)
        elif whole:
            length = whole / self._av.time_base
        else:
            return None
        return length if 0 < length <= LONGEST_S else None

    def _is_heavy(self, length: float) -> bool:
        """Whether all frames have more pixels than are decoded of one file."""
        rate = float(self._stream.average_rate or 0)
        return bool(rate * length * self._px > MOST_DECODED_PX)

    def _seek_all(self, length: float) -> list[Timed]:
        """Return the frames nearest to even times, each found by seeking."""
        found: dict[float, Image.Image] = {}
        step = length / N_FRAMES
        most = min(MOST_PER_SEEK, MOST_DECODED_PX // N_FRAMES // self._px)
        for k in range(N_FRAMES):
            wanted = (k + 0.5) * step
            offset = int((self._start + wanted) / self._stream.time_base)
            with suppress(self._av.FFmpegError):
                self._opened.seek(offset, stream=self._stream)
                last = None
                for n, last in enumerate(self._decode(raw=True)):
                    # A frame within half a step is as good, and often needs no decoding but its own
                    if last[0] >= wanted - step / 2 or n >= most:
                        break
                if last is not None and last[0] not in found:
                    found[last[0]] = self._to_image(last[1])
        return sorted(found.items(), key=lambda each: each[0])

    def _decode(self, *, raw: bool = False) -> Iterator[tuple[float, Any]]:
        """Yield times and frames from here on, until the end or the first damage.

        Frames are decoded pictures, of which ``raw`` asks, or functions that make an image.
        """
        with suppress(self._av.FFmpegError, EOFError):
            for n, frame in enumerate(self._opened.decode(self._stream)):
                at = frame.time
                at_s = float(at) - self._start if at is not None else float(n)
                yield max(round(at_s, 3), 0.0), frame if raw else Later(self._to_image, frame)

    def _to_image(self, frame: Any) -> Image.Image:
        """Return a frame upright, in RGB, not larger than it is needed."""
        self._check_size(frame.width, frame.height)
        image = frame.to_image()
        angle = getattr(frame, "rotation", 0)  # counterclockwise; a flag of zeros has no angle
        n_turns = round(angle / 90) % 4 if abs(angle) <= 360 else 0
        width, height = image.size
        self._size = (height, width) if n_turns % 2 else (width, height)
        return shrink_frame(image.transpose(_UPRIGHT[n_turns]) if n_turns else image)

    def _check_size(self, width: int, height: int) -> None:
        if width * height > self._max_pixels:
            raise UnreadableImageError(
                f"{width} × {height} pixels is more than the limit of "
                f"{self._max_pixels / 1e6:.0f} million pixels"
            )

    def _read_taken(self) -> Taken:
        """Return when and where the camera says that the clip was taken."""
        said = {**self._opened.metadata, **self._stream.metadata}
        date = _DATE.match(str(said.get("creation_time", "")))
        place = _PLACE.match(
            str(said.get("com.apple.quicktime.location.ISO6709") or said.get("location") or "")
        )
        found = NOTHING
        if date and date[1] > _FIRST_YEAR:
            found = found._replace(date=f"{date[1]}T{date[2]}+00:00")
        if place:
            latitude, longitude = float(place[1]), float(place[2])
            if abs(latitude) <= 90 and abs(longitude) <= 180 and (latitude or longitude):
                found = found._replace(latitude=latitude, longitude=longitude)
        return found

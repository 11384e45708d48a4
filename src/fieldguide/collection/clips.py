"""A few frames of a clip: a video file or a moving GIF becomes one specimen.

A clip is seen by ``N_FRAMES`` frames, evenly spread over its length, and shown by the most telling
of them: the one that has most detail where it differs from the median of all.

=================  ==============================================================================
up to 20 s         decoded once in order; a frame of every few is kept, of fewer as more come
longer             each frame is found by seeking: as much work for ten hours as for a minute
length unknown     as the short ones
=================  ==============================================================================

However long a file is, or says that it is, at most ``MOST_DECODED`` frames are decoded in order, or
``MOST_PER_SEEK`` after each seek, and either way no more than ``MOST_DECODED_PX`` pixels; at most
``MOST_BYTES`` of the file are read. The frames found until then are the clip. A short clip that
has more pixels than that is read as a long one. What is damaged behind the first frame costs the
rest, not the clip.

Video files are decoded by PyAV, of the extra ``video``. The container is told by the first bytes
and named to the decoder, so that no file can be taken for a playlist, which names others. GIFs go
through Pillow.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from PIL import Image

from fieldguide._files import open_without_waiting
from fieldguide.collection.convert import to_rgb
from fieldguide.collection.headers import check_parts
from fieldguide.collection.images import (
    BUDGET,
    MAX_PIXELS,
    Frames,
    Picture,
    open_header,
    out_of_memory,
    read_file,
    read_picture,
    shrink_factor,
)
from fieldguide.collection.memory import BYTES_PER_PIXEL
from fieldguide.collection.taken import NOTHING, Taken
from fieldguide.errors import UnreadableImageError

N_FRAMES = 8
FRAME_PX = 1280  # longer side of a frame that is kept
SHORT_S = 20.0
LONGEST_S = 1e7  # four months; a file that claims more does not know its length
MOST_DECODED = 1200  # frames in order
MOST_DECODED_PX = 2_000_000_000  # half a minute of work at worst
MOST_PER_SEEK = 300
MOST_BYTES = 2**29  # of a file that are read
SUFFIXES = frozenset((".avi", ".m4v", ".mkv", ".mov", ".mp4", ".webm"))
_STILL_SUFFIXES = (b"avif", b"avis", b"heic", b"heix", b"heim", b"heis", b"mif1", b"msf1", b"crx ")
_QUICKTIME = (b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
_HEAD_BYTES = 16
_SMALL_PX = 64
_MOVED = 24  # of 255, by which a pixel differs from the median where something has moved
_PIECES, _PIECE_BYTES = 64, 2**16
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)")
_FIRST_YEAR = "1971"  # clocks that were never set begin in 1904 or 1970
_PLACE = re.compile(r"([+-]\d{1,2}\.\d+)([+-]\d{1,3}\.\d+)")
_UPRIGHT = {
    1: Image.Transpose.ROTATE_90,
    2: Image.Transpose.ROTATE_180,
    3: Image.Transpose.ROTATE_270,
}

STRETCH_S = 2.0
STRETCH_FRAMES = 24
STRETCH_PX = 128

Timed = tuple[float, Image.Image]


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


def is_clip_name(path: str | os.PathLike[str]) -> bool:
    """Whether a file has the name of a video file."""
    return os.path.splitext(os.fspath(path))[1].lower() in SUFFIXES


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
        container = find_container(source[:_HEAD_BYTES])
    if container is not None:
        return _open_video(source, container, max_pixels, lambda video: video.read())
    assert isinstance(source, bytes)
    picture = read_picture(source, max_pixels=max_pixels, at_least_px=at_least_px)
    return _read_gif(source, picture, max_pixels) if source.startswith(b"GIF8") else picture


def walk_array(clip: np.ndarray, frames_per_s: float) -> Iterator[tuple[float, "_Later"]]:
    """Yield the times and frames of a clip in memory, (n_frames, h, w, 3) in uint8."""
    for t, frame in enumerate(clip):
        yield round(t / frames_per_s, 6), _Later(shrink_frame, Image.fromarray(frame))


def take_frames(clip: np.ndarray, frames_per_s: float) -> Picture:
    """Return the frames by which a clip in memory, (n_frames, h, w, 3) in uint8, is seen."""
    found, _ = _spread(walk_array(clip, frames_per_s), clip.shape[1] * clip.shape[2])
    frames = make_clip(found, round(len(clip) / frames_per_s, 3))
    return Picture(frames.best, clip.shape[2], clip.shape[1], clip=frames)


def read_stretch(
    source: bytes | str | os.PathLike[str], at_s: float, *, max_pixels: int = MAX_PIXELS
) -> Stretch | None:
    """Return up to ``STRETCH_S`` seconds of a clip around a moment; None for a picture.

    Frames are at most ``STRETCH_PX`` large, and as far apart as ``STRETCH_FRAMES`` in that time.
    The errors are those of :func:`read_picture_or_clip`.
    """
    head = source[:_HEAD_BYTES] if isinstance(source, bytes) else _read_head(source)
    container = find_container(head)
    if container is not None:
        return _open_video(source, container, max_pixels, lambda video: video.stretch(at_s))
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


def choose_stretch(frames: Iterable[tuple[float, "_Later"]], at_s: float) -> Stretch | None:
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


def digest_clip(path: str | os.PathLike[str]) -> str:
    """Return the digest by which the content of a video file is known.

    Of a file of more than 4 MB, 64 pieces of 64 KB and the length count: the digest of ten hours
    takes no longer than that of a minute.
    """
    digest = blake2b(digest_size=12)
    try:
        with open(path, "rb", opener=open_without_waiting) as file:
            size = os.fstat(file.fileno()).st_size
            digest.update(b"%d\n" % size)
            if size <= _PIECES * _PIECE_BYTES:
                digest.update(file.read())
            else:
                for k in range(_PIECES):
                    file.seek(k * (size - _PIECE_BYTES) // (_PIECES - 1))
                    digest.update(file.read(_PIECE_BYTES))
    except OSError as error:
        raise _cannot_open(error) from None
    return digest.hexdigest()


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


def _read_head(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb", opener=open_without_waiting) as file:
            return file.read(_HEAD_BYTES)
    except OSError as error:
        raise _cannot_open(error) from None
    except ValueError as error:  # a path with a NUL in it
        raise UnreadableImageError(f"cannot be opened ({error})") from None


def _cannot_open(error: OSError) -> UnreadableImageError:
    reason = (error.strerror or str(error)).lower()
    return UnreadableImageError(f"cannot be opened ({reason})", passing=True)


class _Limited:
    """A file of which no more than so many bytes are read; then it ends."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self._file, self._left = file, most
        self.seek, self.tell = file.seek, file.tell

    def read(self, n: int) -> bytes:
        data = self._file.read(min(n, self._left))
        self._left -= len(data)
        return data


def _import_av() -> Any:
    try:
        import av
    except ImportError:
        raise UnreadableImageError(
            "a video file, which takes PyAV to read: run pip install 'fieldguide[video]'",
            passing=True,
        ) from None
    return av


Value = TypeVar("Value")


def _open_video(
    source: bytes | str | os.PathLike[str],
    container: str,
    max_pixels: int,
    read: "Callable[[_Video], Value]",
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
            return read(_Video(av, opened, max_pixels))
    except UnreadableImageError:
        raise
    except MemoryError:
        raise out_of_memory() from None
    except Exception as error:  # PyAV raises nearly anything on a damaged file
        if isinstance(error, OSError) and not isinstance(error, av.FFmpegError):
            raise _cannot_open(error) from None  # of the file, not of what it holds
        said = getattr(error, "strerror", None) or str(error).strip() or type(error).__name__
        said = said.splitlines()[0][:120].lower()
        raise UnreadableImageError(f"a video that is damaged or truncated ({said})") from None


class _Video:
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
        length = self._find_length()
        with BUDGET.share(BYTES_PER_PIXEL * self._px):
            found: list[Timed] = []
            if length is not None and (length > SHORT_S or self._is_heavy(length)):
                found = self._seek_all(length)
            if not found:
                found, whole = _spread(self._decode(), self._px)
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
                yield max(round(at_s, 3), 0.0), frame if raw else _Later(self._to_image, frame)

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


class _Later(NamedTuple):
    """An image that is made when it is asked for: most frames that are decoded are not kept."""

    make: Any
    of: Any

    def __call__(self) -> Image.Image:
        image: Image.Image = self.make(self.of)
        return image


def _spread(frames: Iterable[tuple[float, _Later]], n_px: int) -> tuple[list[Timed], float]:
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


def _read_gif(data: bytes, picture: Picture, max_pixels: int) -> Picture:
    """Return a GIF with its frames; one that does not move is a picture."""
    try:
        check_parts(data)
        image = open_header(data, max_pixels)
        if not getattr(image, "is_animated", False):
            return picture
        n_px = image.width * image.height
        with BUDGET.share(BYTES_PER_PIXEL * n_px):
            found, seconds = _spread(_walk_gif(image), n_px)
    except UnreadableImageError:
        raise
    except Exception:  # as in read_picture: the first frame has been read
        return picture
    if len(found) < 2:
        return picture
    clip = make_clip(found, round(min(seconds, LONGEST_S), 3))
    return Picture(clip.best, picture.width, picture.height, picture.keywords, picture.taken, clip)


def _walk_gif(image: Any) -> Iterator[tuple[float, _Later]]:
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
        yield round(at_s, 3), _Later(lambda i: shrink_frame(to_rgb(i.copy(), 1)), image)
        at_s += max(image.info.get("duration", 100), 10) / 1000


def shrink_frame(image: Image.Image) -> Image.Image:
    """Return a frame that is not larger than it is needed."""
    if max(image.size) <= FRAME_PX:
        return image
    small = image.reduce(max(1, shrink_factor(image.size, FRAME_PX)))
    small.thumbnail((FRAME_PX, FRAME_PX))
    return small

"""Read one image file as correct 8-bit RGB, or say in one sentence why not.

Every image file of the package is opened here. JPEG, PNG, WebP, GIF, TIFF and BMP go through
Pillow; the format is found from the bytes, never from the file's name. What a file may hold and
what becomes of it:

=====================  ==========================================================================
EXIF orientation       applied, so that the picture stands as it was taken
alpha, transparency    laid over white
palette, 1 bit, grey   expanded
CMYK, colour profiles  converted to sRGB, by the embedded profile where there is one
16 bit                 scaled by 1/257, so that full scale is white
32 bit, float          no white is defined: the range of the picture becomes 0 to 255
several frames         the first; of a moving GIF, see :mod:`fieldguide.collection.clips`
=====================  ==========================================================================
"""

import io
import math
import os
import stat
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image, ImageFile, UnidentifiedImageError

from fieldguide._files import open_without_waiting
from fieldguide.collection.convert import is_final, to_rgb
from fieldguide.collection.headers import (
    MAX_EXIF_BYTES,
    check_parts,
    check_png_sums,
    find_directory_problem,
    has_late_metadata,
)
from fieldguide.collection.keywords import read_caption_text, read_keywords
from fieldguide.collection.memory import MemoryBudget, check_cost, estimate_bytes, limit_bytes
from fieldguide.collection.taken import NOTHING, Taken, read_taken
from fieldguide.errors import UnreadableImageError

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP")
MAX_PIXELS = 80_000_000  # below Pillow's own limit for decompression bombs
MAX_FILE_BYTES = 512 * 1024 * 1024

# What all threads of the process may hold while they decode: as much as the largest picture.
BUDGET = MemoryBudget(limit_bytes(MAX_PIXELS), small_bytes=16 * 2**20)
# warnings.catch_warnings changes global state: headers are read by one thread at a time.
_HEADER_LOCK = threading.Lock()
_MAX_AREA = 16  # see shrink_factor
_ORIENTATION, _WINDOWS_KEYWORDS = 0x0112, 0x9C9E  # EXIF tags
_SUB_DIRECTORIES = (0x8769, 0x8825, 0xA005)  # Exif, GPS, Interop
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class Frames(NamedTuple):
    """A few frames of a clip.

    Examples
    --------
    >>> frames = [Image.new("RGB", (4, 3), colour) for colour in ("black", "teal")]
    >>> clip = Frames(((0.0, frames[0]), (1.5, frames[1])), seconds=3.0, telling=1)
    >>> clip.best.getpixel((0, 0))
    (0, 128, 128)
    """

    timed: tuple[tuple[float, Image.Image], ...]  # seconds from its beginning, and the frame
    seconds: float  # how long the clip is
    telling: int  # the frame that the clip is shown by

    @property
    def best(self) -> Image.Image:
        """The frame that the clip is shown by."""
        return self.timed[self.telling][1]


@dataclass(frozen=True)
class Picture:
    """A decoded image.

    Attributes
    ----------
    image : PIL.Image.Image
        8-bit RGB, upright. Smaller than the file says when ``at_least_px`` allowed it.
    width, height : int
        Size of the upright picture in the file.
    keywords : tuple of str
        The owner's own words, from IPTC, XMP or EXIF.
    taken : Taken
        When and where, from EXIF; the owner's caption, from IPTC or XMP.
    clip : Frames or None
        Of a clip, of which ``image`` is the most telling frame.

    Examples
    --------
    >>> picture = Picture(Image.new("RGB", (40, 30)), width=400, height=300)  # was shrunk
    >>> picture.image.size, len(picture.images), picture.keywords
    ((40, 30), 1, ())
    """

    image: Image.Image
    width: int
    height: int
    keywords: tuple[str, ...] = ()
    taken: Taken = NOTHING
    clip: Frames | None = None

    @property
    def images(self) -> list[Image.Image]:
        """The frames of a clip, in order; of a picture itself alone."""
        return [self.image] if self.clip is None else [image for _, image in self.clip.timed]

    @property
    def telling(self) -> int:
        """Which of these is ``image``."""
        return 0 if self.clip is None else self.clip.telling


def read_picture(
    source: bytes | str | os.PathLike[str], *, max_pixels: int = MAX_PIXELS, at_least_px: int = 0
) -> Picture:
    """Decode an image file or its bytes to upright 8-bit RGB.

    A picture that would take more memory than 8 bytes × ``max_pixels`` while it is decoded is
    refused before that. Threads that decode at the same time share the memory of one picture of
    the default size, and wait for each other.

    Parameters
    ----------
    source : bytes or path
        The file, or what it holds.
    max_pixels : int
        A picture of more pixels is refused before it is decoded.
    at_least_px : int
        When positive, a larger picture may be returned smaller: see :func:`shrink_factor`. That
        is several times faster for large photographs, and takes less memory.

    Raises
    ------
    UnreadableImageError
        With the reason, as a phrase that can follow the file's name.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (40, 30), "teal").save(file, "PNG")
    >>> picture = read_picture(file.getvalue())
    >>> picture.width, picture.height, picture.image.getpixel((0, 0))
    (40, 30, (0, 128, 128))
    """
    data = source if isinstance(source, bytes) else read_file(source)
    if not data:
        raise UnreadableImageError("the file is empty")
    try:
        check_parts(data)
        return _decode(data, max_pixels, at_least_px)
    except UnreadableImageError:
        raise
    except MemoryError:
        raise out_of_memory() from None
    except Exception as error:  # decoders raise nearly anything on a damaged file
        raise UnreadableImageError(f"damaged or truncated ({_first_line(error)})") from None


def read_header(data: bytes) -> Taken:
    """Return when and where the picture in an image file was taken, and its caption.

    No pixel is decoded. Whatever is wrong with the file, the answer is what can be read of it.
    """
    taken = read_taken(data)
    try:
        check_parts(data)
        return taken._replace(caption=read_caption_text(open_header(data, MAX_PIXELS)))
    except Exception:  # as in read_picture
        return taken


def shrink_factor(size: tuple[int, int], at_least_px: int) -> int:
    """Return by how much the sides of a picture may be divided.

    Both sides stay at least ``at_least_px`` long. Only in pictures over four times as long as
    wide the short side may get shorter, so that no result has many more than
    16 × ``at_least_px``² pixels.

    Examples
    --------
    >>> shrink_factor((4000, 3000), 1024), shrink_factor((80_000, 1000), 1024)
    (2, 3)
    """
    if at_least_px <= 0:
        return 1
    by_side = min(size) // at_least_px
    by_area = math.ceil(math.sqrt(size[0] * size[1] / _MAX_AREA) / at_least_px)
    return max(1, by_side, by_area)


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a regular file of sensible size, or say why not.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "owl.jpg")
    ...     n_bytes = path.write_bytes(b"of a picture")
    ...     read_file(path)
    b'of a picture'
    """
    try:
        _check_status(os.stat(path))  # opening some devices has consequences
        # What was a file a moment ago may be a pipe now, which would wait for ever.
        with open(path, "rb", opener=open_without_waiting) as file:
            before = os.fstat(file.fileno())
            _check_status(before)
            data = file.read(before.st_size + 1)
            after = os.fstat(file.fileno())
    except OSError as error:
        raise cannot_open(error) from None
    except ValueError as error:  # a path with a NUL in it
        raise UnreadableImageError(f"cannot be opened ({error})") from None
    except MemoryError:
        raise out_of_memory() from None
    if len(data) != before.st_size or after.st_mtime_ns != before.st_mtime_ns:
        raise UnreadableImageError("it changed while it was read", passing=True)
    return data


def cannot_open(error: OSError) -> UnreadableImageError:
    """Return what is said of a file that the system does not open or read."""
    reason = (error.strerror or str(error)).lower()
    return UnreadableImageError(f"cannot be opened ({reason})", passing=True)


def out_of_memory() -> UnreadableImageError:
    """Return what is said of a file that there is no memory for."""
    return UnreadableImageError("it needs more memory than is free on this machine", passing=True)


def _check_status(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableImageError("not a regular file")
    if status.st_size > MAX_FILE_BYTES:
        raise UnreadableImageError(
            f"{status.st_size / 2**20:.0f} MB is more than the {MAX_FILE_BYTES // 2**20} MB "
            "that we read"
        )


class _Exif(NamedTuple):
    orientation: int = 1
    keywords: object = None


@contextmanager
def _without_warnings() -> Iterator[None]:
    with _HEADER_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def open_header(data: bytes, max_pixels: int) -> ImageFile.ImageFile:
    """Open an image file by Pillow without decoding it, or say why not."""
    with _without_warnings():
        try:
            image = Image.open(io.BytesIO(data), formats=FORMATS)
        except UnidentifiedImageError:
            raise UnreadableImageError(
                "not an image in a format that we read (JPEG, PNG, WebP, GIF, TIFF, BMP)"
            ) from None
        except Image.DecompressionBombError:
            limit = min(max_pixels, 2 * (Image.MAX_IMAGE_PIXELS or max_pixels))
            raise UnreadableImageError(
                f"absurdly large, over the limit of {limit / 1e6:.0f} million pixels"
            ) from None
    width, height = image.size
    if width * height > max_pixels:
        raise UnreadableImageError(
            f"{width} × {height} pixels is more than the limit of "
            f"{max_pixels / 1e6:.0f} million pixels"
        )
    return image


def _read_exif(image: ImageFile.ImageFile) -> _Exif:
    """Return what we use of EXIF; damage there costs no picture."""
    try:
        block = image.info.get("exif", b"")
        if len(block) > MAX_EXIF_BYTES or find_directory_problem(block.removeprefix(b"Exif\0\0")):
            del image.info["exif"]
        with _without_warnings():
            exif = Image.Image.getexif(image)  # that of a PNG file would decode the picture
            for tag in _SUB_DIRECTORIES:  # which Pillow would read while it decodes a TIFF
                if tag in exif:
                    del exif[tag]
            orientation = exif.get(_ORIENTATION)
            keywords = exif.get(_WINDOWS_KEYWORDS)
        return _Exif(orientation if orientation in _UPRIGHT else 1, keywords)
    except Exception:
        return _Exif()


def _decode(data: bytes, max_pixels: int, at_least_px: int) -> Picture:
    image = open_header(data, max_pixels)
    if image.format == "PNG":
        check_png_sums(data)
    # Some programs write EXIF and XMP behind the pixels of a PNG, where Pillow finds them later.
    is_late = image.format == "PNG" and has_late_metadata(data)
    exif = _Exif() if is_late else _read_exif(image)
    full_size = image.size
    factor = shrink_factor(full_size, at_least_px)
    if factor > 1:
        factor //= _draft(image, factor)
    n_bytes = estimate_bytes(
        image,
        full_size,
        factor=factor,
        is_turned=is_late or exif.orientation != 1,
        is_result=factor == 1 and is_final(image),
    )
    check_cost(n_bytes, full_size, max_pixels)
    with BUDGET.share(n_bytes):
        image.load()
        if is_late:
            exif = _read_exif(image)
        keywords = read_keywords(image, exif.keywords)
        taken = read_taken(data)._replace(caption=read_caption_text(image))
        is_tiff = image.format == "TIFF"
        width, height = image.size if is_tiff else full_size
        rgb = to_rgb(image, factor)
        del image  # with its decoder, which may hold as much as the picture
        if exif.orientation != 1 and not is_tiff:  # Pillow turns a TIFF by itself
            rgb = rgb.transpose(_UPRIGHT[exif.orientation])
            if exif.orientation >= 5:
                width, height = height, width
    return Picture(rgb, width, height, keywords, taken)


def _draft(image: ImageFile.ImageFile, factor: int) -> int:
    """Let a JPEG decoder shrink by a power of two up to ``factor``; return what it will do."""
    width, height = image.size
    scale = next(s for s in (8, 4, 2, 1) if s <= factor)
    drafted = image.draft(None, (max(1, width // scale), max(1, height // scale)))
    return 1 if drafted is None else round(width / drafted[1][2])


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:120]

"""How much memory a picture takes while it is decoded, and a budget that all threads share.

A file of 200 KB can claim 80 million pixels. What it will cost is known from its header, before
anything is decoded::

    peak = max(decoder + stored, held + stored + result, 2 result)

=========  =====================================================================================
stored     what Pillow keeps: 1, 2 or 4 bytes per pixel by mode, and a pointer of 8 bytes per row
decoder    what the decoder keeps beside it; the table below, measured with Pillow 13
held       the part of ``decoder`` that lives until the image file is let go
result     4 bytes per pixel of the RGB picture, which is smaller where it is shrunk; none where
           the stored picture is the result. Twice while it is turned upright
=========  =====================================================================================

====================  ====================================================================
JPEG, one scan        nothing
JPEG, several scans   2 bytes for each sample of the whole picture, however small its draft
PNG                   two rows, at up to 8 bytes per pixel
WebP                  12 bytes per pixel: two canvases (held), and a copy on the way to Pillow
GIF                   1 byte per pixel, for what the next frame would need
TIFF                  its largest strip or tile, which may be larger than the picture; and
                      ``stored`` again when Pillow turns it
BMP                   a row; with run lengths, 2 bytes per pixel
====================  ====================================================================

The bytes of the file itself are not counted: they have a limit of their own.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image, ImageFile

from fieldguide.errors import UnreadableImageError

# An 80-megapixel photograph takes 4 bytes per pixel, and 8 while it is turned upright or made RGB
# from floats; more than that is asked for by odd files only.
BYTES_PER_PIXEL = 8
_MARGIN_BYTES = 16 * 2**20  # rows, bands and tables, which do not grow with the picture

# Pillow allots large pictures in blocks of 16 MB. From such blocks the C library learns to keep
# what is freed, for each thread apart: six float TIFFs of 80 megapixels, one after the other in six
# threads, came to 1.9 GB. Blocks over 32 MB always go back to the system: with them it is 0.7 GB.
_BLOCK_BYTES = 64 * 2**20
Image.core.set_block_size(  # type: ignore[attr-defined]
    max(_BLOCK_BYTES, Image.core.get_block_size())  # type: ignore[attr-defined]
)

_ROW_POINTER = 8
_RGB_BYTES = 4
# Codecs of libtiff that were seen to need one buffer of the size of a strip or tile.
_ONE_BUFFER = {"tiff_ccitt", "group3", "group4", "tiff_lzw", "tiff_adobe_deflate", "tiff_deflate"}
_ONE_BUFFER |= {"packbits", "lzma", "zstd", "jpeg"}


def limit_bytes(max_pixels: int) -> int:
    """Return how much memory one picture may take while it is decoded."""
    return BYTES_PER_PIXEL * max_pixels + _MARGIN_BYTES


def check_cost(n_bytes: int, size: tuple[int, int], max_pixels: int) -> None:
    """Refuse a picture that would take more than its limit."""
    allowed = limit_bytes(max_pixels)
    if n_bytes > allowed:
        width, height = size
        raise UnreadableImageError(
            f"decoding its {width} × {height} pixels would take {n_bytes / 1e9:.1f} GB, "
            f"more than the {allowed / 1e9:.1f} GB that we allow"
        )


def estimate_bytes(
    image: ImageFile.ImageFile,
    full_size: tuple[int, int],
    *,
    factor: int,
    is_turned: bool,
    is_result: bool,
) -> int:
    """Return the peak memory of decoding ``image``, from its header alone.

    Parameters
    ----------
    image : ImageFile
        Opened, not loaded; its size is that of the draft where there is one.
    full_size : (width, height)
        As the file says, before any draft.
    factor : int
        The decoded picture is shrunk by this much.
    is_turned : bool
        Whether it will be turned upright.
    is_result : bool
        Whether the decoded picture is returned as it is.
    """
    width, height = image.size
    stored = _image_bytes(width, height, _mode_bytes(image.mode))
    result = _image_bytes(-(-width // factor), -(-height // factor), _RGB_BYTES)
    decoder, held = _decoder_bytes(image, full_size, stored if is_turned else 0)
    return max(
        stored + decoder,
        stored + held + (0 if is_result else result),
        2 * result if is_turned else 0,
    )


def _image_bytes(width: int, height: int, pixel_bytes: int) -> int:
    return height * (width * pixel_bytes + _ROW_POINTER)


def _mode_bytes(mode: str) -> int:
    if mode in ("1", "L", "P"):
        return 1
    return 2 if mode.startswith("I;16") else 4


def _decoder_bytes(
    image: ImageFile.ImageFile, full_size: tuple[int, int], turned: int
) -> tuple[int, int]:
    """Return what the decoder keeps beside the picture, and which part of it stays."""
    width, height = full_size
    if image.format in ("JPEG", "MPO"):
        return (_coefficient_bytes(image, full_size) if _has_several_scans(image) else 0), 0
    if image.format == "PNG":
        return 16 * width, 0
    if image.format == "WEBP":
        return 12 * width * height, 8 * width * height
    if image.format == "GIF":
        return width * height, 0
    if image.format == "TIFF":
        return _tiff_buffer_bytes(image) + turned, 0
    has_run_lengths = bool(image.tile) and image.tile[0][0] == "bmp_rle"
    return (2 * width * height if has_run_lengths else 8 * width), 0


def _has_several_scans(image: ImageFile.ImageFile) -> bool:
    """Whether libjpeg must keep the coefficients of the whole JPEG until its last scan.

    Progressive files need that, and plain ones that store a scan per colour. Pillow stops reading
    right after the header of the first scan: there it stands whether that scan has every colour.
    """
    if image.info.get("progressive") or image.fp is None:
        return True
    n_layers = getattr(image, "layers", 0)
    size = 8 + 2 * n_layers
    here = image.fp.tell()
    if here < size:  # an MPO file, which Pillow has rewound: suppose the worst
        return True
    image.fp.seek(here - size)
    start = image.fp.read(5)
    image.fp.seek(here)
    return start != bytes((0xFF, 0xDA, 0, size - 2, n_layers))


def _coefficient_bytes(image: ImageFile.ImageFile, full_size: tuple[int, int]) -> int:
    layers: list[tuple[int, int, int, int]] = getattr(image, "layer", [])
    across = max((layer[1] for layer in layers), default=1) or 1
    down = max((layer[2] for layer in layers), default=1) or 1
    n_samples = sum(layer[1] * layer[2] for layer in layers) / (across * down)
    # whole blocks of 8 × 8 for every sampling factor
    width, height = (side + 8 * 4 for side in full_size)
    return int(2 * n_samples * width * height)


def _tiff_buffer_bytes(image: ImageFile.ImageFile) -> int:
    """Return the size of the largest strip or tile, as libtiff unpacks it."""
    tags = getattr(image, "tag_v2", {})
    width, height = _first(tags.get(256)) or image.width, _first(tags.get(257)) or image.height
    compression = image.info.get("compression")
    if compression == "raw":  # read row by row
        return 8 * width
    bits = tags.get(258, 8)
    n_bits = max(bits) if isinstance(bits, tuple) else bits
    n_samples = 1 if tags.get(284) == 2 else _first(tags.get(277)) or 1
    pixel_bytes = n_bits * n_samples / 8
    if tags.get(262) == 6:  # YCbCr comes out of libtiff as RGBA
        pixel_bytes = max(pixel_bytes, 4)
    strip = width * min(_first(tags.get(278)) or height, height)
    tile = (_first(tags.get(322)) or 0) * (_first(tags.get(323)) or 0)
    n_buffers = 1 if compression in _ONE_BUFFER else 2
    return int(n_buffers * pixel_bytes * (tile or strip))


def _first(value: object) -> int:
    if isinstance(value, tuple):
        value = value[0] if value else 0
    return value if isinstance(value, int) else 0


class MemoryBudget:
    """Memory that threads share while they decode.

    A thread waits until what it needs is free, in the order of asking, so that a large picture
    is not passed over for ever. One that needs more than the whole budget waits until it is
    alone. Small pictures do not wait.

    Parameters
    ----------
    n_bytes : int
        What all shares together may come to.
    small_bytes : int
        Shares up to this are neither counted nor delayed.

    Examples
    --------
    >>> budget = MemoryBudget(1000, small_bytes=10)
    >>> with budget.share(800):
    ...     budget.used
    800
    >>> budget.used
    0
    """

    def __init__(self, n_bytes: int, *, small_bytes: int) -> None:
        self.n_bytes = n_bytes
        self.small_bytes = small_bytes
        self.used = 0
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def share(self, n_bytes: int) -> Iterator[None]:
        """Hold ``n_bytes`` of the budget for the length of a ``with`` block."""
        if n_bytes <= self.small_bytes:
            yield
            return
        self._take(n_bytes)
        try:
            yield
        finally:
            with self._changed:
                self.used -= n_bytes
                self._changed.notify_all()

    def _take(self, n_bytes: int) -> None:
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                self._changed.wait_for(
                    lambda: (
                        self._waiting[0] is ticket
                        and (self.used == 0 or self.used + n_bytes <= self.n_bytes)
                    )
                )
                self.used += n_bytes
            finally:  # also when the wait is interrupted
                self._waiting.remove(ticket)
                self._changed.notify_all()

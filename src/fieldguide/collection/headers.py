"""Look at the skeleton of an image file before Pillow does.

Pillow reads headers in Python, at some microseconds for each part, and unpacks whatever is
compressed in them. A megabyte of tiny parts, or of bytes that unpack a thousandfold, keeps it busy
for many seconds. Here the parts are counted, at a fraction of that cost; no file that a camera or
a program writes comes near the limits.
"""

import re
import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

from fieldguide.errors import UnreadableImageError

MAX_PARTS = 4096  # chunks, segments, tags; files from real life have tens
MAX_PACKED = 64  # compressed texts and profiles of a PNG, of which Pillow unpacks 1 MB each
MAX_SCANS = 64  # of a JPEG; encoders write about 10, and each costs 50 ms at 80 megapixels
MAX_RUN_PIXELS = 8_000_000  # of a BMP with run lengths, which Pillow decodes in Python
MAX_BLOCKS = 100_000  # before the first frame of a GIF, and chunks searched for EXIF
MAX_PADDING = 65_536  # bytes between two segments of a JPEG
MAX_STRIPS = 100_000  # and tiles of a TIFF: 80 megapixels have 80,000 in tiles of 32 × 32
MAX_TAG_BYTES = 2**24  # that tags may have in common
MAX_EXIF_BYTES = 2**20

_EXIF_MARK = b"Exif\0\0"
# Sizes of the types of TIFF tags, 1 to 18.
_TYPE_BYTES = (0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8)
_FRACTIONS = (5, 10)
_STRIPS = (273, 324)  # tags with an offset for each strip, each tile
_JPEG_MARKER = re.compile(rb"\xff[^\x00\xff]")
_JPEG_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")


def check_parts(data: bytes) -> None:
    """Refuse a file whose header has more parts than any honest file.

    Files in formats that have no such parts pass, and so do files in no format at all.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        _count_png(data)
    elif data.startswith(b"\xff\xd8\xff"):
        _count_jpeg(data)
    elif data.startswith(b"BM"):
        _check_bmp(data)
    elif data.startswith((b"GIF87a", b"GIF89a")):
        _count_gif(data)
    elif data.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")):
        problem = find_directory_problem(data)
        if problem:
            raise UnreadableImageError(problem)


def check_png_sums(data: bytes) -> None:
    """Refuse a PNG that is cut off or altered; Pillow would decode wrong pixels instead."""
    view = memoryview(data)
    name = b""
    for name, start, end in _png_chunks(data):
        if name == b"IEND":
            return
        if end + 4 > len(data):
            break
        if zlib.crc32(view[start - 4 : end]) != struct.unpack_from(">I", data, end)[0]:
            raise UnreadableImageError(f"damaged or truncated (wrong sum of the chunk {name!r})")
    raise UnreadableImageError("damaged or truncated (the PNG file has no end)")


def has_late_metadata(data: bytes) -> bool:
    """Whether a PNG has texts or EXIF behind its pixels."""
    names = [name for name, _, _ in _png_chunks(data)]
    late = names[names.index(b"IDAT") :] if b"IDAT" in names else []
    return any(name in late for name in (b"eXIf", b"iTXt", b"zTXt", b"tEXt"))


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the name of each chunk, and where its content begins and ends."""
    start = 8
    while start + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, start)
        yield name, start + 8, start + 8 + length
        start += length + 12


def _count_png(data: bytes) -> None:
    n_parts, n_packed, has_data = 0, 0, False
    for name, _, _ in _png_chunks(data):
        has_data = has_data or name == b"IDAT"
        # an animation has an fcTL for each of its frames, behind the data of the first
        n_parts += name not in (b"IDAT", b"fdAT") and not (has_data and name == b"fcTL")
        n_packed += name in (b"zTXt", b"iTXt", b"iCCP")
        if n_parts > MAX_PARTS:
            raise UnreadableImageError(_too_many("chunks", MAX_PARTS))
        if n_packed > MAX_PACKED:
            raise UnreadableImageError(_too_many("compressed chunks", MAX_PACKED))
        if name == b"IEND":
            return


def find_exif(data: bytes) -> bytes:
    """Return the EXIF data of an image file, from its TIFF header on; nothing where it has none.

    A TIFF file is EXIF data itself.
    """
    if data.startswith((b"II*\0", b"MM\0*")):
        return data
    parts: Iterator[tuple[Any, int, int]] = iter(())
    if data.startswith(b"\xff\xd8\xff"):
        parts = _jpeg_segments(data)
    elif data.startswith(b"\x89PNG\r\n\x1a\n"):
        parts = islice(_png_chunks(data), MAX_BLOCKS)
    elif data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        parts = islice(_webp_chunks(data), MAX_BLOCKS)
    names = (0xE1, b"eXIf", b"EXIF")
    try:
        blocks = [data[start:end] for name, start, end in parts if name in names]
    except UnreadableImageError:  # damaged before its picture begins
        return b""
    marked = [block.removeprefix(_EXIF_MARK) for block in blocks if block.startswith(_EXIF_MARK)]
    return b"".join(marked) or next((b for b in blocks if b[:4] in (b"II*\0", b"MM\0*")), b"")


def _webp_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield the name of each chunk, and where its content begins and ends."""
    start = 12
    while start + 8 <= len(data):
        name, length = struct.unpack_from("<4sI", data, start)
        yield name, start + 8, start + 8 + length
        start += 8 + length + length % 2


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the marker of each segment up to the first scan, and where its content begins and ends.

    The scan itself is the last, with nothing in it.
    """
    start, n_parts = 2, 0
    while found := _JPEG_MARKER.search(data, start):
        if found.start() - start > MAX_PADDING:
            raise UnreadableImageError("damaged or truncated (padding between JPEG segments)")
        marker, start = data[found.start() + 1], found.end()
        if marker == 0xDA:
            yield marker, start, start
            return
        n_parts += 1
        if n_parts > MAX_PARTS:
            raise UnreadableImageError(_too_many("segments", MAX_PARTS))
        if _stands_alone(marker) or start + 2 > len(data):
            continue
        length = int.from_bytes(data[start : start + 2], "big")
        yield marker, start + 2, start + length
        start += length


def _count_jpeg(data: bytes) -> None:
    """Count the segments before the first scan, and the scans of a file that has several."""
    start, n_layers, exif = 2, 0, []
    for marker, start, end in _jpeg_segments(data):
        if marker == 0xDA:
            break
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # the start of a frame
            is_progressive = marker & 3 == 2
            n_layers = 0 if is_progressive else int.from_bytes(data[start + 5 : start + 6], "big")
        if marker == 0xE1 and data[start:end].startswith(_EXIF_MARK):
            exif.append(data[start + len(_EXIF_MARK) : end])
        start = end
    problem = find_directory_problem(b"".join(exif))
    if problem:
        raise UnreadableImageError(problem)
    is_only_scan = n_layers > 0 and data[start + 2 : start + 3] == bytes((n_layers,))
    if not is_only_scan and _count_scans(data, start) > MAX_SCANS:
        raise UnreadableImageError(_too_many("scans", MAX_SCANS))


def _stands_alone(marker: int) -> bool:
    """Whether Pillow takes a marker to have no length: restart, start, end, reserved."""
    return 0xD0 <= marker <= 0xD9 or 0xF0 <= marker <= 0xFD or marker in (0x01, 0xC8)


def _count_scans(data: bytes, start: int) -> int:
    n_scans = 1
    while n_scans <= MAX_SCANS and (found := _JPEG_SCAN_END.search(data, start)):
        marker, start = data[found.start() + 1], found.end()
        if marker == 0xD9:
            break
        n_scans += marker == 0xDA
        start += int.from_bytes(data[start : start + 2], "big")
    return n_scans


def _count_gif(data: bytes) -> None:
    """Count the blocks before the first frame."""
    start = 13
    if len(data) > 10 and data[10] & 0x80:
        start += 3 << ((data[10] & 7) + 1)
    n_blocks = 0
    while start < len(data) and data[start] not in b",;":
        is_extension = data[start] == ord("!")
        start += 2 if is_extension else 1
        n_blocks += 1
        while is_extension and start < len(data) and data[start]:
            start += 1 + data[start]
            n_blocks += 1
            if n_blocks > MAX_BLOCKS:
                break
        start += is_extension
        if n_blocks > MAX_BLOCKS:
            raise UnreadableImageError(_too_many("blocks", MAX_BLOCKS))


def _check_bmp(data: bytes) -> None:
    if len(data) < 34 or int.from_bytes(data[30:34], "little") not in (1, 2):
        return
    width, height = struct.unpack_from("<ii", data, 18)
    if abs(width * height) > MAX_RUN_PIXELS:
        raise UnreadableImageError(
            f"a BMP file with run lengths of more than {MAX_RUN_PIXELS / 1e6:.0f} million pixels"
        )


def find_directory_problem(data: bytes) -> str | None:
    """Return what is wrong with the first directory of TIFF or EXIF data, or None.

    Damage that Pillow passes over is none: only what would keep it busy.
    """
    is_big = 43 in data[2:4]
    offset, number, entry = ("Q", "Q", "HHQQ") if is_big else ("L", "H", "HHLL")
    order = "<" if data[:2] == b"II" else ">"
    try:
        (start,) = struct.unpack_from(order + offset, data, 8 if is_big else 4)
        (n_tags,) = struct.unpack_from(order + number, data, start)
    except (struct.error, OverflowError):
        return None
    table = memoryview(data)[start + struct.calcsize(order + number) :]
    entry_bytes = struct.calcsize(order + entry)
    n_tags = min(n_tags, len(table) // entry_bytes)
    if n_tags > MAX_PARTS:
        return _too_many("tags", MAX_PARTS)
    n_read = 0
    for tag, kind, count, value in struct.iter_unpack(order + entry, table[: n_tags * entry_bytes]):
        if kind in _FRACTIONS and count > MAX_PARTS:
            return _too_many("fractions in a tag", MAX_PARTS)
        if tag in _STRIPS and count > MAX_STRIPS:
            return _too_many("strips or tiles", MAX_STRIPS)
        n_bytes = count * (_TYPE_BYTES[kind] if kind < len(_TYPE_BYTES) else 0)
        if n_bytes > struct.calcsize(order + offset):
            n_read += max(0, min(n_bytes, len(data) - value))
    is_absurd = n_read > max(2 * len(data), MAX_TAG_BYTES)
    return "damaged or truncated (its tags overlap)" if is_absurd else None


def _too_many(parts: str, limit: int) -> str:
    return f"its header has more than {limit:,} {parts}; save it anew with another program"

"""Image files made byte by byte: ones that no encoder writes, of any size in a few bytes."""

import struct
import zlib
from collections.abc import Iterable

from PIL import Image
from tests.hostile import encode

RED = Image.new("RGB", (16, 16), (250, 10, 10))


def deflate_zeros(n_bytes: int) -> bytes:
    """Zeros, compressed as a block of them, which stands there again and again."""
    n_blocks, n_left = divmod(n_bytes, 2**22)
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = packer.compress(bytes(2**22)) + packer.flush(zlib.Z_FULL_FLUSH)
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    end = packer.compress(bytes(n_left)) + packer.flush()
    checksum = struct.pack(">I", n_bytes % 65521 << 16 | 1)  # Adler-32
    return b"\x78\x9c" + n_blocks * block + end + checksum


def png_chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png_with(before: bytes = b"", behind: bytes = b"") -> bytes:
    """A small PNG with more chunks before and behind its pixels."""
    whole = encode(RED, "PNG")
    pixels, end = whole.index(b"IDAT") - 4, whole.index(b"IEND") - 4
    return whole[:pixels] + before + whole[pixels:end] + behind + whole[end:]


def black_png(
    width: int, height: int, *, bits: int = 8, colour: int = 6, n_layers: int = 4
) -> bytes:
    """A PNG of zeros: its size on disk is a thousandth of that in memory."""
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    pixels = deflate_zeros((width * bits * n_layers // 8 + 1) * height)
    chunks = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(*chunk) for chunk in chunks)


def jpeg_segment(marker: int, body: bytes) -> bytes:
    return bytes((0xFF, marker)) + struct.pack(">H", len(body) + 2) + body


def jpeg_with(segments: bytes, *, keep_jfif: bool = True) -> bytes:
    """A small JPEG with more segments; without JFIF, Pillow looks into its EXIF when it opens."""
    whole = encode(RED, "JPEG")
    start = 2 if keep_jfif else 4 + struct.unpack_from(">H", whole, 4)[0]
    return whole[:2] + segments + whole[start:]


def gif_with(blocks: bytes) -> bytes:
    whole = encode(RED, "GIF")
    start = 13 + (3 << ((whole[10] & 7) + 1) if whole[10] & 0x80 else 0)
    return whole[:start] + blocks + whole[start:]


def bmp_with_runs(width: int, height: int, runs: bytes) -> bytes:
    palette = b"".join(bytes((i, 0, 0, 0)) for i in range(256))
    start = 54 + len(palette)
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, len(runs), 0, 0, 256, 0)
    return b"BM" + struct.pack("<IHHI", start + len(runs), 0, 0, start) + info + palette + runs


Tag = tuple[int, int, int, int | bytes]  # number, type, count, value


def directory(tags: Iterable[Tag], start: int = 8) -> bytes:
    """A TIFF directory that lies at ``start``; values of over 4 bytes stand behind it."""
    tags = sorted(tags, key=lambda tag: tag[0])
    behind = start + 2 + 12 * len(tags) + 4
    table, values = struct.pack("<H", len(tags)), b""
    for number, kind, count, value in tags:
        table += struct.pack("<HHL", number, kind, count)
        if isinstance(value, int):
            table += struct.pack("<L", value)
        elif len(value) <= 4:
            table += value.ljust(4, b"\0")
        else:
            table += struct.pack("<L", behind + len(values))
            values += value
    return table + bytes(4) + values


def exif(tags: Iterable[Tag]) -> bytes:
    return b"II*\0\x08\0\0\0" + directory(tags)


def tiff_with(tags: Iterable[Tag]) -> bytes:
    """A black TIFF of 16 × 16 pixels with more tags, which replace its own."""
    own = {256: 16, 257: 16, 259: 1, 262: 2, 273: 8, 277: 3, 278: 16, 279: 768}
    table: dict[int, Tag] = {number: (number, 4, 1, value) for number, value in own.items()}
    table[258] = (258, 3, 3, struct.pack("<3H", 8, 8, 8))
    table.update({tag[0]: tag for tag in tags})
    return b"II*\0" + struct.pack("<L", 8 + 768) + bytes(768) + directory(table.values(), 8 + 768)


def black_tiff(
    size: tuple[int, int],
    chunk: tuple[int, int],
    *,
    n_layers: int = 3,
    bits: int = 8,
    photometric: int = 2,
    sample_format: int = 1,
    is_tiled: bool = False,
    extra: tuple[int, ...] = (),
) -> bytes:
    """A TIFF of zeros, deflated, whose strips or tiles all share one piece of data."""
    (width, height), (across, down) = size, chunk
    data = deflate_zeros(across * down * bits * n_layers // 8)
    data += b"\0" * (len(data) % 2)
    n_chunks = -(-width // across) * -(-height // down)

    def shorts(values: list[int]) -> bytes:
        return struct.pack(f"<{len(values)}H", *values)

    tags: list[Tag] = [(256, 4, 1, width), (257, 4, 1, height), (259, 3, 1, 8)]
    tags += [
        (262, 3, 1, photometric),
        (277, 3, 1, n_layers),
        (258, 3, n_layers, shorts([bits] * n_layers)),
    ]
    tags += [(339, 3, n_layers, shorts([sample_format] * n_layers))]
    if extra:
        tags += [(338, 3, len(extra), shorts(list(extra)))]
    if is_tiled:
        tags += [(322, 4, 1, across), (323, 4, 1, down)]
    else:
        tags += [(278, 4, 1, down)]
    offsets, counts = (324, 325) if is_tiled else (273, 279)
    tags += [(offsets, 4, n_chunks, struct.pack("<L", 8) * n_chunks)]
    tags += [(counts, 4, n_chunks, struct.pack("<L", len(data)) * n_chunks)]
    start = 8 + len(data)
    return b"II*\0" + struct.pack("<L", start) + data + directory(tags, start)

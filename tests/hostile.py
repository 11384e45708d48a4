"""A folder of every kind of file that goes wrong, beside a few odd ones that are fine."""

import io
import os
import pickle
import socket
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
from PIL import Image


def encode(image: Image.Image, format: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def png(width: int, height: int, data: bytes) -> bytes:
    """A PNG with any claim about its size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    file = b"\x89PNG\r\n\x1a\n"
    for name, body in ((b"IHDR", header), (b"IDAT", zlib.compress(data)), (b"IEND", b"")):
        file += struct.pack(">I", len(body)) + name + body
        file += struct.pack(">I", zlib.crc32(name + body))
    return file


def write_hostile_folder(root: Path) -> tuple[set[str], set[str]]:
    """Fill ``root``; return the paths of the good images and of the bad files."""
    rng = np.random.default_rng(0)
    noise = Image.fromarray(rng.integers(0, 255, (60, 80, 3), dtype=np.uint8))
    whole = {f: encode(noise, f) for f in ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP")}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("a.png", whole["PNG"])
    flipped = bytearray(whole["PNG"])
    flipped[len(flipped) // 2] ^= 0xFF
    bad = {
        "empty.jpg": b"",
        "text.jpg": b"I am a letter, not a picture.\n",
        "truncated.jpg": whole["JPEG"][: len(whole["JPEG"]) // 2],
        "truncated.png": whole["PNG"][: len(whole["PNG"]) // 2],
        "truncated.webp": whole["WEBP"][: len(whole["WEBP"]) // 2],
        "truncated.tiff": whole["TIFF"][: len(whole["TIFF"]) // 2],
        "truncated.bmp": whole["BMP"][: len(whole["BMP"]) // 2],
        "header-only.gif": whole["GIF"][:10],
        "flipped-bit.png": bytes(flipped),
        "bomb.png": png(60_000, 60_000, bytes(100_000)),
        "large-claim.png": png(40_000, 3_000, bytes(1_000)),
        "no-pixels.png": png(0, 0, b""),
        "too-little-data.png": png(500, 500, bytes(100)),
        "drawing.svg": b"<svg xmlns='http://www.w3.org/2000/svg'><circle r='9'/></svg>",
        "page.html": b"<html><script>alert(1)</script></html>",
        "archive.png": archive.getvalue(),
        "paper.pdf": b"%PDF-1.7\n%nothing",
        "noise.jpg": rng.bytes(5_000),
        "zeros.png": bytes(10_000),
        "code.jpg": pickle.dumps(print),
        "program.jpg": b"\x7fELF" + bytes(200),
        "sound.wav": b"RIFF\x24\x00\x00\x00WAVEfmt ",
    }
    good = {
        "fine.jpg": whole["JPEG"],
        "fine.png": whole["PNG"],
        "no extension": whole["WEBP"],
        "wrong-extension.txt": whole["GIF"],
        "one-pixel.png": encode(Image.new("RGB", (1, 1), "red"), "PNG"),
        "thin.png": encode(Image.new("RGB", (1, 3000), "blue"), "PNG"),
        "flat.png": encode(Image.new("1", (3000, 2)), "PNG"),
        "animated.gif": encode(noise, "GIF", save_all=True, append_images=[noise.rotate(90)]),
        "<script>alert('x')<&quot;>.png": whole["PNG"],
        "línea 線 🦉.png": whole["PNG"],
        "new\nline.png": whole["PNG"],
        "a/b/c/d/e/deep.png": whole["PNG"],
    }
    root.mkdir(parents=True, exist_ok=True)
    for name, data in {**bad, **good}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    outside = root.parent / f"{root.name}-outside.png"
    outside.write_bytes(whole["PNG"])
    (root / "link-out.png").symlink_to(outside)
    (root / "link-to-nothing.png").symlink_to(root / "gone.png")
    (root / "link-loop").symlink_to(root)
    (root / "link-up").symlink_to(root.parent)
    os.mkfifo(root / "pipe.png")
    with socket.socket(socket.AF_UNIX) as server:
        old = Path.cwd()
        os.chdir(root)  # the path of a socket has a short limit
        server.bind("socket.png")
        os.chdir(old)
    special = {
        "link-out.png",
        "link-to-nothing.png",
        "link-loop",
        "link-up",
        "pipe.png",
        "socket.png",
    }
    with open(os.path.join(os.fsencode(root), b"latin-\xe9.png"), "wb") as file:
        file.write(whole["PNG"])
    return set(good), set(bad) | special | {"latin-?.png"}

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
several frames         the first
=====================  ==========================================================================
"""

import html
import io
import os
import re
import stat
import threading
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageCms, ImageFile, ImageOps, IptcImagePlugin

from fieldguide.errors import UnreadableImageError

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "TIFF", "BMP")
MAX_PIXELS = 80_000_000  # below Pillow's own limit for decompression bombs
MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_KEYWORDS = 40

# warnings.catch_warnings changes global state: headers are read by one thread at a time.
_HEADER_LOCK = threading.Lock()
_LCMS_NO_CACHE = 0x0040  # lcms transforms keep a one-pixel cache that threads must not share


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
    """

    image: Image.Image
    width: int
    height: int
    keywords: tuple[str, ...] = ()


def read_picture(
    source: bytes | str | os.PathLike, *, max_pixels: int = MAX_PIXELS, at_least_px: int = 0
) -> Picture:
    """Decode an image file or its bytes to upright 8-bit RGB.

    Parameters
    ----------
    source : bytes or path
        The file, or what it holds.
    max_pixels : int
        A picture of more pixels is refused before it is decoded.
    at_least_px : int
        When positive, a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, as long as its sides
        stay at least this long: several times faster for large photographs.

    Raises
    ------
    UnreadableImageError
        With the reason, as a phrase that can follow the file's name.
    """
    data = source if isinstance(source, bytes) else read_file(source)
    if not data:
        raise UnreadableImageError("the file is empty")
    try:
        image = _open_header(data, max_pixels)
        if image.format == "PNG":  # Pillow decodes wrong pixels rather than check their sums
            Image.open(io.BytesIO(data), formats=["PNG"]).verify()
        raw_width, raw_height = image.size
        if at_least_px:
            image.draft(None, (at_least_px, at_least_px))
        keywords = _keywords(image)
        image.load()
        turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
        upright = ImageOps.exif_transpose(image)
        rgb = _to_rgb(upright)
    except UnreadableImageError:
        raise
    except MemoryError:
        raise UnreadableImageError("it needs more memory than this machine has") from None
    except Exception as error:  # decoders raise nearly anything on a damaged file
        raise UnreadableImageError(f"damaged or truncated ({_first_line(error)})") from None
    width, height = (raw_height, raw_width) if turned else (raw_width, raw_height)
    return Picture(rgb, width, height, keywords)


def read_file(path: str | os.PathLike) -> bytes:
    """Return the bytes of a regular file of sensible size, or say why not."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # opening a pipe or a device would wait for ever
            raise UnreadableImageError("not a regular file")
        if status.st_size > MAX_FILE_BYTES:
            megabytes = status.st_size / 2**20
            raise UnreadableImageError(
                f"{megabytes:.0f} MB is more than the {MAX_FILE_BYTES // 2**20} MB that we read"
            )
        return Path(path).read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UnreadableImageError(f"cannot be opened ({reason})") from None


def _open_header(data: bytes, max_pixels: int) -> ImageFile.ImageFile:
    with _HEADER_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = Image.open(io.BytesIO(data), formats=FORMATS)
        except Image.UnidentifiedImageError:
            raise UnreadableImageError(
                "not an image in a format that we read (JPEG, PNG, WebP, GIF, TIFF, BMP)"
            ) from None
        except Image.DecompressionBombError:
            raise UnreadableImageError(
                f"absurdly large, over the limit of {max_pixels / 1e6:.0f} million pixels"
            ) from None
    width, height = image.size
    if width * height > max_pixels:
        raise UnreadableImageError(
            f"{width} × {height} pixels is more than the limit of "
            f"{max_pixels / 1e6:.0f} million pixels"
        )
    return image


def _to_rgb(image: Image.Image) -> Image.Image:
    """Return any Pillow mode as 8-bit RGB over white."""
    if image.mode.startswith("I;16"):
        values = np.asarray(image, dtype=np.uint16)
        image = Image.fromarray((values // 257).astype(np.uint8))
    elif image.mode in ("I", "F"):
        image = Image.fromarray(_stretch(np.asarray(image, dtype=np.float64)))
    profile = image.info.get("icc_profile")
    if image.mode in ("PA", "LA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
    alpha = image.getchannel("A") if image.mode == "RGBA" else None
    if alpha is not None:
        image = image.convert("RGB")
    if profile and image.mode in ("RGB", "CMYK", "L"):
        image = _apply_profile(image, profile)
    if image.mode != "RGB":
        image = image.convert("RGB")
    if alpha is not None:
        image = Image.composite(image, Image.new("RGB", image.size, "white"), alpha)
    image.info = {}
    return image


def _stretch(values: np.ndarray) -> np.ndarray:
    """Map the finite range of ``values`` to 0..255; a flat picture becomes black."""
    finite = values[np.isfinite(values)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    scaled = (np.nan_to_num(values, nan=low) - low) / max(high - low, 1e-12)
    return np.asarray(np.clip(scaled, 0, 1) * 255, dtype=np.uint8)


def _apply_profile(image: Image.Image, profile: bytes) -> Image.Image:
    """Convert to sRGB by the embedded profile; a broken profile is ignored."""
    transform = _profile_transform(profile, image.mode)
    if transform is None:
        return image
    try:
        converted = ImageCms.applyTransform(image, transform)
    except (ImageCms.PyCMSError, ValueError):
        return image
    return image if converted is None else converted


@lru_cache(maxsize=32)
def _profile_transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        if mode == "RGB" and "srgb" in ImageCms.getProfileDescription(source).lower():
            return None
        return ImageCms.buildTransform(
            source,
            ImageCms.createProfile("sRGB"),
            mode,
            "RGB",
            flags=ImageCms.Flags(_LCMS_NO_CACHE),
        )
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None


def _keywords(image: ImageFile.ImageFile) -> tuple[str, ...]:
    """Return the owner's words from IPTC (2:25), XMP (dc:subject) and EXIF (XPKeywords)."""
    found: list[str] = []
    try:
        iptc = IptcImagePlugin.getiptcinfo(image) or {}
        entries = iptc.get((2, 25), [])
        for entry in entries if isinstance(entries, list) else [entries]:
            found.append(entry.decode("utf-8", "replace"))
        xmp = image.info.get("xmp", b"")
        text = xmp.decode("utf-8", "replace") if isinstance(xmp, bytes) else str(xmp)
        for subject in re.findall(r"<dc:subject>(.*?)</dc:subject>", text, re.DOTALL):
            for entry in re.findall(r"<rdf:li[^>]*>(.*?)</rdf:li>", subject, re.DOTALL):
                found.append(html.unescape(entry))
        windows = image.getexif().get(0x9C9E)
        if isinstance(windows, bytes):
            found += windows.decode("utf-16-le", "replace").rstrip("\0").split(";")
    except Exception:  # metadata is a courtesy: damage there never costs a picture
        return ()
    words = [" ".join(word.split())[:64].lower() for word in found]
    return tuple(dict.fromkeys(word for word in words if word))[:MAX_KEYWORDS]


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:120]

"""Turn a decoded picture of any Pillow mode into 8-bit RGB over white.

The picture is converted tile by tile, so that it never exists a second time at full size in some
mode in between: what is held is the decoded picture, the result, and a tile. Every step treats a
pixel by itself, or the pixels of one block that is shrunk to a pixel; tiles begin at such blocks.
So the result does not depend on them.
"""

import io
import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from PIL import Image, ImageCms

_TILE_PIXELS = 2**18  # 1 MB of RGB: tiles stay in the cache, and calls are few
_LCMS_NO_CACHE = 0x0040  # lcms transforms keep a one-pixel cache that threads must not share
_MAX_PROFILE_BYTES = 4 * 2**20  # profiles of presses have 3 MB

_Range = tuple[float, float]


def is_final(image: Image.Image) -> bool:
    """Whether a decoded ``image`` is 8-bit RGB already, with nothing to apply."""
    return (
        image.mode == "RGB"
        and "transparency" not in image.info
        and _find_transform(image.info.get("icc_profile"), "RGB") is None
    )


def to_rgb(image: Image.Image, factor: int = 1) -> Image.Image:
    """Return a decoded image as 8-bit RGB over white, its sides divided by ``factor``.

    A block of ``factor`` × ``factor`` pixels becomes their mean.
    """
    if is_final(image):
        if factor > 1:
            return _forget_info(image.reduce(factor))
        # The same pixels without the file, whose decoder may hold copies; copy() would double them.
        return _forget_info(image._new(image.im))
    span = _find_range(image) if image.mode in ("I", "F") else None
    width, height = image.size
    if factor == 1 and width * height <= _TILE_PIXELS:
        return _forget_info(_convert(image, span))
    result = Image.new("RGB", (-(-width // factor), -(-height // factor)), None)
    for box in _tiles(width, height, factor):
        tile = _convert(image.crop(box), span)
        if factor > 1:
            tile = tile.reduce(factor)
        result.paste(tile, (box[0] // factor, box[1] // factor))
    return result


def _forget_info(image: Image.Image) -> Image.Image:
    image.info = {}
    return image


def _tiles(width: int, height: int, factor: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield boxes that cover the picture and begin at multiples of ``factor``."""
    across = min(width, max(1, _TILE_PIXELS // factor**2) * factor)
    down = max(1, _TILE_PIXELS // (across * factor)) * factor
    for top in range(0, height, down):
        for left in range(0, width, across):
            yield left, top, min(left + across, width), min(top + down, height)


def _convert(image: Image.Image, span: _Range | None) -> Image.Image:
    if image.mode.startswith("I;16"):
        values = np.asarray(image, dtype=np.uint16)
        image = Image.fromarray((values // 257).astype(np.uint8))
    elif span is not None:
        image = Image.fromarray(_stretch(np.asarray(image, dtype=np.float64), span))
    profile = image.info.get("icc_profile")
    if image.mode in ("PA", "LA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
    alpha = image.getchannel("A") if image.mode == "RGBA" else None
    if alpha is not None:
        image = image.convert("RGB")
    if image.mode in ("RGB", "CMYK", "L"):
        image = _apply_profile(image, profile)
    if image.mode != "RGB":
        image = image.convert("RGB")
    if alpha is not None:
        image = Image.composite(image, Image.new("RGB", image.size, "white"), alpha)
    return image


def _find_range(image: Image.Image) -> _Range:
    """Return the least and the largest finite value; zeros where there is none."""
    low, high = math.inf, -math.inf
    for box in _tiles(*image.size, 1):
        values = np.asarray(image.crop(box))
        finite = values[np.isfinite(values)]
        if finite.size:
            low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    return (low, high) if low <= high else (0.0, 0.0)


def _stretch(values: np.ndarray, span: _Range) -> np.ndarray:
    """Map the range ``span`` to 0..255; a flat picture becomes black."""
    low, high = span
    scaled = (np.nan_to_num(values, nan=low) - low) / max(high - low, 1e-12)
    return np.asarray(np.clip(scaled, 0, 1) * 255, dtype=np.uint8)


def _apply_profile(image: Image.Image, profile: object) -> Image.Image:
    """Convert to sRGB by the embedded profile; a broken profile is ignored."""
    transform = _find_transform(profile, image.mode)
    if transform is None:
        return image
    try:
        converted = ImageCms.applyTransform(image, transform)
    except (ImageCms.PyCMSError, ValueError):
        return image
    return image if converted is None else converted


def _find_transform(profile: object, mode: str) -> ImageCms.ImageCmsTransform | None:
    """Return the way from ``profile`` to sRGB; None where nothing can or need be done."""
    if not isinstance(profile, bytes) or not 0 < len(profile) <= _MAX_PROFILE_BYTES:
        return None
    return _build_transform(profile, mode)


@lru_cache(maxsize=8)  # keeps the profiles too: 32 MB at most
def _build_transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
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

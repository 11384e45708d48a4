"""Pictures and clips in memory, and what is said of them: checked, and in one form."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from PIL import Image

from fieldguide.errors import CollectionError


def to_arrays(image: Any, i: int) -> np.ndarray:
    """Return an image as :func:`to_rgb_array` does, or all frames of a clip, (n, h, w, 3)."""
    if isinstance(image, np.ndarray) and image.ndim == 4 and len(image):
        return np.stack([to_rgb_array(frame, i) for frame in image])
    return to_rgb_array(image, i)


def to_rgb_array(image: Any, i: int = 0) -> np.ndarray:
    """Return an array or Pillow image as a contiguous uint8 array of shape (h, w, 3).

    ``i`` is its number, for the sentence of an error.

    Examples
    --------
    >>> to_rgb_array(np.array([[0.0, 1.0]])).tolist()  # grey, in floats
    [[[0, 0, 0], [255, 255, 255]]]
    """
    if isinstance(image, Image.Image):
        image = np.asarray(image.convert("RGB"))
    array = np.asarray(image)
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.ndim != 3 or array.shape[2] not in (3, 4) or 0 in array.shape:
        raise CollectionError(
            f"Image {i} has shape {array.shape}; give (height, width) or (height, width, 3)."
        )
    if array.dtype != np.uint8:
        if not np.issubdtype(array.dtype, np.floating):
            raise CollectionError(f"Image {i} has type {array.dtype}; give uint8, or floats.")
        if not np.isfinite(array).all() or array.min() < 0 or array.max() > 1:
            raise CollectionError(f"Image {i} has values outside [0, 1]; scale it, or give uint8.")
        array = np.rint(array * 255).astype(np.uint8)
    if array.shape[2] == 4:
        alpha = array[:, :, 3:].astype(np.float32) / 255
        array = np.rint(array[:, :, :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)
    return np.ascontiguousarray(array)


def check_texts(what: str, texts: Iterable[Any]) -> None:
    """Refuse a text that no file can hold."""
    for text in texts:
        is_held = text is None or (isinstance(text, str) and "\0" not in text)
        if is_held and text is not None:
            is_held = text.encode("utf-8", "replace").decode() == text  # no lone surrogate
        if not is_held:
            raise CollectionError(
                f"{what} must be texts without zero bytes and lone surrogates; got {text!r:.80}."
            )


def check_attributes(
    attributes: np.ndarray | None, names: Sequence[str], n: int
) -> np.ndarray | None:
    """Return the attributes of ``n`` images as float32; refuse what does not fit ``names``."""
    if attributes is None:
        return None
    table = np.asarray(attributes, dtype=np.float32)
    if table.shape != (n, len(names)):
        raise CollectionError(
            f"attributes has shape {table.shape}; {n} images and {len(names)} attribute_names "
            f"ask for {(n, len(names))}."
        )
    known = table[np.isfinite(table)]
    if np.isinf(table).any() or (known.size and (known.min() < 0 or known.max() > 1)):
        raise CollectionError("attributes must lie in [0, 1], with NaN where unknown.")
    return table

"""Measure one image after the other: what the network says, what the picture is like, thumbnails.

Each image is decoded once; of a clip, a few frames are, and what is measured of them is averaged.
A small batch is one piece of work: it is decoded, its thumbnails are written, the network runs on
what could be read. Batches run side by side in threads; their results come back in order, so
neither answers nor files depend on how many there are. The workers of a cluster are given the same
batches (:mod:`fieldguide.guide.shards`).
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from PIL import Image

from fieldguide.collection import Collection, Picture, Taken
from fieldguide.errors import UnreadableImageError
from fieldguide.features import pool_outputs, pool_scores
from fieldguide.features.network import Network, Outputs
from fieldguide.features.properties import measure_properties
from fieldguide.guide.shelf import name_content
from fieldguide.guide.views import Clip, ClipFrame

SMALL_PX = 256
LARGE_PX = 1024
KEEP_SMALL_PX = 320  # up to this size the thumbnail serves as the picture too
BATCH_SIZE = 8
_JPEG_QUALITY = 86


@dataclass(frozen=True)
class Measured:
    """What is known of one image file, or the reason why nothing is.

    Examples
    --------
    >>> seen = Measured("owls/a.jpg", "1:2", width=40, height=30, embedding=np.zeros(3))
    >>> seen.without_arrays().embedding is None
    True
    >>> Measured("b.jpg", "", reason="the file is empty").reason
    'the file is empty'
    """

    path: str
    stamp: str  # of the file; "" where it is to be read again by the next build
    reason: str | None = None
    digest: str = ""
    width: int = 0
    height: int = 0
    has_large: bool = False
    keywords: tuple[str, ...] = ()  # in the file itself; the sidecar's are the collection's
    taken: Taken | None = None  # None: an earlier version did not read it
    clip: Clip | None = None  # of a clip
    properties: np.ndarray | None = None  # (len(PROPERTY_NAMES),) float32
    embedding: np.ndarray | None = None  # (dim,) float32
    logits: np.ndarray | None = None  # (1000,) float32, or None

    def without_arrays(self) -> "Measured":
        """Return the record alone: a large collection's arrays live on disk."""
        return replace(self, properties=None, embedding=None, logits=None)


class Pictures(Protocol):
    """Where thumbnails go, such as the shelf of a guide."""

    def has(self, address: str) -> bool:
        """Whether a picture is there."""

    def put(self, address: str, data: bytes) -> None:
        """Take a picture."""


def deal_batches(indices: Sequence[int], network: Network) -> list[Sequence[int]]:
    """Return pieces of work, each of as many images as are worth measuring at once."""
    size = max(BATCH_SIZE, network.n_at_once)
    return [indices[i : i + size] for i in range(0, len(indices), size)]


def picture_names(digest: str, has_large: bool) -> tuple[str, str]:
    """Return the addresses of the thumbnail and of the picture inside the guide."""
    stem = f"pictures/{digest[:2]}/{digest}"
    small = f"{stem}.s.jpg"
    return small, (f"{stem}.l.jpg" if has_large else small)


def list_pictures(digest: str, has_large: bool, clip: Clip | None) -> tuple[str, ...]:
    """Return the addresses of all pictures of a specimen inside the guide."""
    frames = () if clip is None else tuple(frame.picture for frame in clip.frames)
    return (*picture_names(digest, has_large), *frames)


def measure_batch(
    collection: Collection, batch: Sequence[int], network: Network, shelf: Pictures
) -> list[Measured]:
    """Return the measurements of some images; thumbnails go to the shelf."""
    records: list[Measured] = []
    images: list[Image.Image] = []  # of pictures; a clip is shown to the network by itself
    for i in batch:
        item = collection.items[i]
        try:
            picture, digest = collection.picture(i, at_least_px=LARGE_PX)
        except UnreadableImageError as error:
            stamp = "" if error.passing else item.stamp
            records.append(Measured(item.path, stamp, reason=str(error)))
            continue
        has_large = _write_pictures(picture.image, digest, shelf)
        record = Measured(
            item.path,
            item.stamp,
            digest=digest,
            width=picture.width,
            height=picture.height,
            has_large=has_large,
            keywords=picture.keywords,
            taken=picture.taken,
            clip=_write_frames(picture, shelf),
            properties=measure_frames(picture.images, (picture.width, picture.height)),
        )
        if record.clip is None:
            images.append(picture.image)
        else:
            record = _add_outputs(record, pool_outputs(network.see(picture.images)), 0)
        records.append(record)
    if not images:
        return records
    outputs = network.see(images)
    rows = iter(range(len(images)))
    return [
        r if r.reason or r.clip is not None else _add_outputs(r, outputs, next(rows))
        for r in records
    ]


def measure_frames(images: Sequence[Image.Image], size: tuple[int, int]) -> np.ndarray:
    """Return what a picture, or on average the frames of a clip, are like; ``size`` is in the
    file."""
    return pool_scores(np.stack([measure_properties(np.asarray(each), size) for each in images]))


def _add_outputs(record: Measured, outputs: Outputs, row: int) -> Measured:
    logits = None if outputs.logits is None else outputs.logits[row]
    return replace(record, embedding=outputs.embedding[row], logits=logits)


def _write_frames(picture: Picture, shelf: Pictures) -> Clip | None:
    """Write the frames of a clip, and return where; None for a picture."""
    if picture.clip is None:
        return None
    frames = []
    for at_s, image in picture.clip.timed:
        data = _encode(image, KEEP_SMALL_PX)
        address = name_content("frames", data, "jpg")
        shelf.put(address, data)
        frames.append(ClipFrame(at_s, address))
    return Clip(picture.clip.seconds, tuple(frames))


def _write_pictures(image: Image.Image, digest: str, shelf: Pictures) -> bool:
    """Write the thumbnail, and a larger picture where there is more to see; say whether."""
    has_large = max(image.size) > KEEP_SMALL_PX
    small, large = picture_names(digest, has_large)
    for name, size_px in ((large, LARGE_PX), (small, SMALL_PX)):
        if name == small and not has_large:
            size_px = KEEP_SMALL_PX
        if not shelf.has(name):
            shelf.put(name, _encode(image, size_px))
    return has_large


def _encode(image: Image.Image, size_px: int) -> bytes:
    small = image.copy()
    small.thumbnail((size_px, size_px), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=_JPEG_QUALITY, optimize=True)
    return buffer.getvalue()

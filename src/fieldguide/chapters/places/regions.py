"""The regions of pictures, and what the network sees in each: one pass for each picture.

Thumbnails are large enough: the network's last map is coarser than they are.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image
from safetensors.numpy import load, save

from fieldguide._parallel import map_in_order
from fieldguide.errors import EmbedderError
from fieldguide.features.network import MapNetwork
from fieldguide.guide.journal import Kept
from fieldguide.guide.measure import BATCH_SIZE, SMALL_PX, picture_names
from fieldguide.guide.workspace import Workspace
from fieldguide.locate import Regions, border_contrast, region_features, superpixels

N_REGIONS, CUT_PX = 40, 96


class CutPicture(NamedTuple):
    """The regions of a picture."""

    regions: Regions
    rows: np.ndarray  # (n_regions, n_columns), what the network sees
    contrast: np.ndarray  # (n_regions,), how far each stands out from the border


class Cutter:
    """Cuts pictures into regions and describes each.

    Parameters
    ----------
    embedder : path, optional
        As for :class:`~fieldguide.features.network.Network`.

    Raises
    ------
    EmbedderError
        Where the network has no map of places.
    """

    def __init__(self, embedder: str | os.PathLike | None) -> None:
        self._network = MapNetwork(embedder)
        side = self._network.size_px
        try:
            shape = self._network.run(np.zeros((1, side, side, 3), np.uint8)).shape
        except Exception as error:  # what onnxruntime raises is a matter of the file
            reason = str(error).strip().splitlines()[0][:160]
            raise EmbedderError(
                f"The network has no map of places that can be had: {reason}."
            ) from None
        self.n_columns: int = shape[-1]

    def cut(self, image: Image.Image) -> CutPicture:
        """Return the regions of a picture, a row of length 1 for each, and their contrast."""
        small = image.copy()
        small.thumbnail((SMALL_PX, SMALL_PX), Image.Resampling.LANCZOS)
        regions = superpixels(small, n_regions=N_REGIONS, max_side_px=CUT_PX)
        rows = region_features(small, regions, self._network)
        return CutPicture(regions, rows, border_contrast(small, regions).astype(np.float32))


def open_cutter(embedder: str | None) -> Cutter | None:
    """Return a cutter, or None where the network has no map of places."""
    try:
        return Cutter(embedder)
    except EmbedderError:
        return None


def cut_missing(work: Workspace, pictures: Sequence[str], cutter: Cutter) -> Kept:
    """Cut the thumbnails that were not cut before; return the regions of all.

    ``pictures`` are digests; a thumbnail that cannot be read is left out.
    """
    kept = work.journal.kept("regions")
    done = set(kept)
    todo = [picture for picture in pictures if picture not in done]
    batches = [todo[i : i + BATCH_SIZE] for i in range(0, len(todo), BATCH_SIZE)]
    folder = work.draft.root

    def cut(batch: list[str]) -> list[tuple[str, bytes]]:
        return [part for picture in batch for part in _cut_one(folder, picture, cutter)]

    n_done = len(pictures) - len(todo)
    work.progress("looking at regions", n_done, len(pictures))
    found = map_in_order(cut, batches, n_jobs=work.n_jobs)
    for parts, batch in zip(found, batches, strict=True):
        kept.write(parts)
        n_done += len(batch)
        work.progress("looking at regions", n_done, len(pictures))
    return kept


def pack_regions(labels: np.ndarray, rows: np.ndarray, contrast: np.ndarray) -> bytes:
    """Return a label map, and the rows and the contrast of its regions, as bytes."""
    parts = {"labels": labels.astype(np.uint16), "rows": rows, "contrast": contrast}
    return save({name: np.ascontiguousarray(part) for name, part in parts.items()})


def unpack_regions(data: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what :func:`pack_regions` was given."""
    parts = load(data)
    return parts["labels"], parts["rows"], parts["contrast"]


def _cut_one(folder: Path, picture: str, cutter: Cutter) -> list[tuple[str, bytes]]:
    try:
        with Image.open(folder / picture_names(picture, False)[0]) as opened:
            image = opened.convert("RGB")
    except OSError:
        return []
    regions, rows, contrast = cutter.cut(image)
    return [(picture, pack_regions(regions.labels, rows, contrast))]

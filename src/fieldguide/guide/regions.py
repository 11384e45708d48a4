"""The regions of pictures, and what the network sees in each: one pass for each picture.

Thumbnails are large enough: the network's last map is coarser than they are.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._parallel import map_in_order
from fieldguide.errors import EmbedderError
from fieldguide.features.network import MapNetwork
from fieldguide.guide.gather import Progress
from fieldguide.guide.journal import Journal
from fieldguide.guide.measure import BATCH_SIZE, SMALL_PX, picture_names
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


def open_cutter(embedder: str | os.PathLike | None) -> Cutter | None:
    """Return a cutter, or None where the network has no map of places."""
    try:
        return Cutter(embedder)
    except EmbedderError:
        return None


def cut_missing(
    pictures: Sequence[str],
    folder: Path,
    cutter: Cutter,
    journal: Journal,
    n_jobs: int,
    progress: Progress,
) -> set[str]:
    """Cut the thumbnails that are not in the journal yet; return the pictures that now are.

    ``pictures`` are digests; a thumbnail that cannot be read is left out.
    """
    known = journal.region_pictures()
    todo = [picture for picture in pictures if picture not in known]
    batches = [todo[i : i + BATCH_SIZE] for i in range(0, len(todo), BATCH_SIZE)]

    def cut(batch: list[str]) -> list[tuple[str, Any, Any, Any]]:
        return [part for picture in batch for part in _cut_one(folder, picture, cutter)]

    n_done = len(pictures) - len(todo)
    progress("looking at regions", n_done, len(pictures))
    for found, batch in zip(map_in_order(cut, batches, n_jobs=n_jobs), batches, strict=True):
        journal.write_regions(found)
        n_done += len(batch)
        progress("looking at regions", n_done, len(pictures))
    return journal.region_pictures() & set(pictures)


def _cut_one(folder: Path, picture: str, cutter: Cutter) -> list[tuple[str, Any, Any, Any]]:
    try:
        with Image.open(folder / picture_names(picture, False)[0]) as opened:
            image = opened.convert("RGB")
    except OSError:
        return []
    regions, rows, contrast = cutter.cut(image)
    return [(picture, regions.labels, rows, contrast)]

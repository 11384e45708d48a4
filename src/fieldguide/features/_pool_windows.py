"""What the classifiers of a pool are shown: windows of a picture, by HOG and by a network."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from fieldguide.features.hog import hog
from fieldguide.features.network import SIX, Box, Network

ELEVEN: dict[str, Box] = {
    **SIX,
    "left half": (0.0, 0.0, 0.5, 1.0),
    "right half": (0.5, 0.0, 1.0, 1.0),
    "top half": (0.0, 0.0, 1.0, 0.5),
    "bottom half": (0.0, 0.5, 1.0, 1.0),
    "very centre": (0.3, 0.3, 0.7, 0.7),
}
# HOG of a window: cells per side, pixels per side of a cell, and columns (blocks, cells, bins).
_N_CELLS, _CELL_PX = 6, 8
HOG_COLUMNS = (_N_CELLS - 1) ** 2 * 4 * 9


class Sight(NamedTuple):
    """What is described of a picture: a row is the HOG of windows, then outputs of windows."""

    hog_windows: tuple[str, ...]
    output_windows: tuple[str, ...]
    network: Network | None

    def describe(self, images: Sequence[Image.Image]) -> np.ndarray:
        """Return a row for each image, float32."""
        parts = []
        if self.hog_windows:
            boxes = [ELEVEN[window] for window in self.hog_windows]
            parts.append(np.stack([_describe_windows(image, boxes) for image in images]))
        if self.network is not None:
            crops = [
                self.network.crop(image, ELEVEN[window])
                for image in images
                for window in self.output_windows
            ]
            logits = self.network.run(np.stack(crops)).logits
            parts.append(np.asarray(logits, dtype=np.float32).reshape(len(images), -1))
        return np.concatenate(parts, axis=1)

    def hog(self, rows: np.ndarray, window: str) -> np.ndarray:
        """Return the HOG of a window, (n, d) and contiguous."""
        start = self.hog_windows.index(window) * HOG_COLUMNS
        return np.ascontiguousarray(rows[:, start : start + HOG_COLUMNS])

    def outputs(self, rows: np.ndarray) -> np.ndarray:
        """Return the outputs of all their windows, (n, n_windows * 1000)."""
        return rows[:, len(self.hog_windows) * HOG_COLUMNS :]


def _describe_windows(image: Image.Image, boxes: Sequence[Box]) -> np.ndarray:
    """Return the HOG of windows of a picture, one after the other, each scaled to a square."""
    width, height = image.size
    side_px = _N_CELLS * _CELL_PX
    parts = []
    for x0, y0, x1, y1 in boxes:
        window = image.resize(
            (side_px, side_px),
            Image.Resampling.BILINEAR,
            box=(x0 * width, y0 * height, x1 * width, y1 * height),
            reducing_gap=2.0,
        )
        parts.append(hog(np.asarray(window), n_cells=(_N_CELLS, _N_CELLS), cell_px=_CELL_PX))
    # Each block has length 1: rows of about length 1 give C the same meaning for every grid.
    return np.concatenate(parts) / np.float32(_N_CELLS - 1)

"""Histograms of oriented gradients: which edges run where in a picture.

The picture is brought to a fixed size, so that every picture gives the same columns. In each
pixel the colour channel of the largest gradient decides; its magnitude m goes to the two nearest
orientations and the four nearest cells, each with its share,

    h[r, q, o] = Σ_pixels m · tent(y − r) · tent(x − q) · tent(angle − o),   tent(t) = (1 − |t|)₊,

with y, x in cells from the first cell's centre and the angle in bins. Blocks of 2×2 cells overlap
and are normalised each on its own (L2-Hys): v/|v|, no value above 0.2, then once more; the result
times |v|/√(|v|² + ε²), which is little for a block without edges.

`hog` is one such grid. `SpatialHOG` is a pyramid of grids whose columns sum to 1: histograms, fit
for the intersection and χ² kernels. ``normalization="l1"`` leaves the blocks out (PHOG).

References: N. Dalal, B. Triggs, "Histograms of oriented gradients for human detection", CVPR
2005; A. Bosch, A. Zisserman, X. Muñoz, "Representing shape with a spatial pyramid kernel",
CIVR 2007.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from PIL import Image

from fieldguide._check import check_choice, check_number
from fieldguide._jit import jit
from fieldguide.collection import to_rgb_array
from fieldguide.errors import InvalidArgument
from fieldguide.features.transformer import Box, Column, ImageTransformer, check_levels

CLIP = 0.2
# Mean gradient per pixel, in parts of full contrast, that counts as noise: the rounding of 8-bit
# pixels must not become an edge in a flat block.
EPSILON = 0.01
NORMALIZATIONS = ("l2-hys", "l1")
MOST_CELLS = 32
TINY = 1e-24
MOST_ORIENTATIONS = 72


def hog(
    image: Any,
    *,
    n_cells: tuple[int, int] = (8, 8),
    n_orientations: int = 9,
    signed: bool = False,
    cell_px: int = 8,
) -> np.ndarray:
    """Return the block-normalised histogram of oriented gradients of one image or window.

    Parameters
    ----------
    image : array of shape (h, w) or (h, w, 3), or Pillow image
        uint8, or floats in [0, 1]; of any size, resized to the grid.
    n_cells : (int, int)
        Rows and columns of cells.
    n_orientations : int
        Bins over 180°, or over 360° if ``signed``.
    signed : bool
        Tell an edge from dark to light from one from light to dark.
    cell_px : int
        Side of a cell after resizing.

    Returns
    -------
    ndarray of shape (n_block_rows · n_block_columns · 4 · n_orientations,), float32
        Blocks by rows; in a block its 2×2 cells by rows; in a cell its orientations. A grid with
        one row or column of cells has blocks of that width. All values are in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features.hog import hog
    >>> hog(np.eye(50)).shape
    (1764,)
    """
    if not (isinstance(n_cells, (tuple, list)) and len(n_cells) == 2):
        raise InvalidArgument(f"n_cells of hog must be two numbers, (8, 8) say; got {n_cells!r}.")
    for n in n_cells:
        check_number("hog", "n_cells", n, 1, MOST_CELLS, integer=True)
    check_number("hog", "n_orientations", n_orientations, 1, MOST_ORIENTATIONS, integer=True)
    check_choice("hog", "signed", signed, (False, True))
    check_number("hog", "cell_px", cell_px, 2, 64, integer=True)
    size = (n_cells[1] * cell_px, n_cells[0] * cell_px)
    gradients = _gradients(to_rgb_array(image), size, n_orientations, signed)
    return normalize_blocks(_histogram(gradients, *n_cells, n_orientations)).astype(np.float32)


class SpatialHOG(ImageTransformer):
    """A pyramid of grids of oriented gradients, one row per image; rows sum to 1.

    The row of a picture without any edge is zero.

    Parameters
    ----------
    levels : tuple of int
        Cells per side of each grid.
    n_orientations : int
        Bins over 360°, or over 180° if not ``signed``.
    signed : bool
        Tell an edge from dark to light from one from light to dark.
    normalization : {"l2-hys", "l1"}
        Overlapping blocks of 2×2 cells, each normalised for its own contrast; or each cell once,
        each level normalised as a whole, with a third of the columns.
    side_px : int
        Side of the square that each picture is resized to.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features import SpatialHOG
    >>> shapes = SpatialHOG(levels=(1, 2), n_orientations=4, normalization="l1")
    >>> shapes.fit_transform(np.eye(64)[None]).shape
    (1, 20)
    >>> shapes.get_feature_names_out()[5]
    'edges lighter towards 90° in row 1, column 1 of 2×2'
    """

    def __init__(
        self,
        levels: tuple[int, ...] = (2, 4, 8),
        *,
        n_orientations: int = 16,
        signed: bool = True,
        normalization: str = "l2-hys",
        side_px: int = 96,
        n_jobs: int | None = 1,
    ) -> None:
        self.levels = levels
        self.n_orientations = n_orientations
        self.signed = signed
        self.normalization = normalization
        self.side_px = side_px
        self.n_jobs = n_jobs

    def _check_arguments(self) -> None:
        owner = "SpatialHOG"
        check_levels(owner, self.levels, MOST_CELLS, "(2, 4, 8)")
        check_number(
            owner, "n_orientations", self.n_orientations, 1, MOST_ORIENTATIONS, integer=True
        )
        check_choice(owner, "signed", self.signed, (False, True))
        check_choice(owner, "normalization", self.normalization, NORMALIZATIONS)
        check_number(owner, "side_px", self.side_px, 2 * max(self.levels), 1024, integer=True)

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        size = (self.side_px, self.side_px)
        gradients = _gradients(pixels, size, self.n_orientations, self.signed)
        parts = [_histogram(gradients, n, n, self.n_orientations) for n in self.levels]
        if self.normalization == "l2-hys":
            row = np.concatenate([normalize_blocks(part) for part in parts])
        else:
            row = np.concatenate([part.ravel() / max(part.sum(), 1e-12) for part in parts])
        row /= max(row.sum(), 1e-12)
        return row.astype(np.float32)

    def _columns(self) -> list[Column]:
        return [
            Column(f"{edge} {place}", window)
            for n in self.levels
            for place, window in _places(n, with_blocks=self.normalization == "l2-hys")
            for edge in _edge_names(self.n_orientations, self.signed)
        ]


def normalize_blocks(histogram: np.ndarray) -> np.ndarray:
    """Return the L2-Hys blocks of 2×2 cells of a histogram (rows, columns, orientations), flat."""
    n_rows, n_columns, n_orientations = histogram.shape
    shape = (min(2, n_rows), min(2, n_columns))
    blocks = np.lib.stride_tricks.sliding_window_view(histogram, shape, axis=(0, 1))
    blocks = np.moveaxis(blocks, 2, -1).reshape(-1, shape[0] * shape[1] * n_orientations)
    squared = (blocks**2).sum(axis=1, keepdims=True)
    clipped = np.minimum(blocks / np.sqrt(np.maximum(squared, TINY)), CLIP)
    squared_clipped = (clipped**2).sum(axis=1, keepdims=True)
    weight = squared / ((squared + EPSILON**2) * np.maximum(squared_clipped, TINY))
    normalized: np.ndarray = (clipped * np.sqrt(weight)).ravel()
    return normalized


def _gradients(
    pixels: np.ndarray, size: tuple[int, int], n_orientations: int, signed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return magnitude and orientation (in bins) of the gradients of a resized picture."""
    resized = Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR, reducing_gap=3.0)
    rgb = np.ascontiguousarray(resized)
    magnitude = np.zeros(rgb.shape[:2], dtype=np.float32)
    angle = np.zeros(rgb.shape[:2], dtype=np.float32)
    find_gradients(rgb, tabulate_gradients(n_orientations, signed), magnitude, angle)
    return magnitude, angle


@lru_cache(maxsize=8)
def tabulate_gradients(n_orientations: int, signed: bool) -> np.ndarray:
    """Return magnitude and angle of each difference of 8-bit pixels, (511, 511, 2), float32.

    Differences run from −255 to 255, first upwards, then to the right. Magnitudes are in parts of
    full contrast. Angles are in bins, [0, n_orientations), of the direction in which the picture
    gets lighter, counter-clockwise as seen.
    """
    up, right = np.mgrid[-255:256, -255:256]
    bins_per_turn = n_orientations if signed else 2 * n_orientations
    angle = np.arctan2(up, right) / (2 * np.pi) * bins_per_turn % n_orientations
    return np.stack([np.hypot(up, right) / 255, angle], axis=2).astype(np.float32)


def _histogram(
    gradients: tuple[np.ndarray, np.ndarray], n_rows: int, n_columns: int, n_orientations: int
) -> np.ndarray:
    """Return the mean gradient per cell and orientation, (rows, columns, orientations)."""
    histogram = np.zeros((n_rows, n_columns, n_orientations))
    fill_cells(*gradients, histogram)
    histogram *= n_rows * n_columns / gradients[0].size
    return histogram


def _edge_names(n_orientations: int, signed: bool) -> list[str]:
    """Name each bin as seen: 0° is to the right, 90° is up."""
    if signed:
        turns = [360 * o / n_orientations for o in range(n_orientations)]
        return [f"edges lighter towards {turn:.4g}°" for turn in turns]
    # an edge runs across its gradient
    turns = [(180 * o / n_orientations + 90) % 180 for o in range(n_orientations)]
    return [f"edges at {turn:.4g}°" for turn in turns]


def _places(n: int, *, with_blocks: bool) -> list[tuple[str, Box]]:
    """Return name and window of each cell of n×n, once or in each of its blocks."""

    def place(row: int, column: int) -> tuple[str, Box]:
        window = (column / n, row / n, (column + 1) / n, (row + 1) / n)
        name = f"in row {row + 1}, column {column + 1} of {n}×{n}" if n > 1 else "anywhere"
        return name, window

    if not with_blocks:
        return [place(row, column) for row in range(n) for column in range(n)]
    side = min(2, n)
    found = []
    for top in range(n - side + 1):
        for left in range(n - side + 1):
            beside = f"rows {top + 1}–{top + side}, columns {left + 1}–{left + side}"
            for row in range(top, top + side):
                for column in range(left, left + side):
                    name, window = place(row, column)
                    found.append((f"{name} against {beside}" if n > 2 else name, window))
    return found


@jit
def find_gradients(
    rgb: np.ndarray, gradient_of: np.ndarray, magnitude: np.ndarray, angle: np.ndarray
) -> None:
    """Fill magnitude and angle (h, w) from uint8 ``rgb`` (h, w, 3); the border stays zero. O(hw).

    ``gradient_of`` is the table of `tabulate_gradients`.
    """
    height, width = rgb.shape[:2]
    for y in range(1, height - 1):
        for x in range(1, width - 1):
            best, right, up = np.int64(0), np.int64(0), np.int64(0)
            for c in range(3):
                dx = np.int64(rgb[y, x + 1, c]) - np.int64(rgb[y, x - 1, c])
                dy = np.int64(rgb[y - 1, x, c]) - np.int64(rgb[y + 1, x, c])
                squared = dx * dx + dy * dy
                if squared > best:
                    best, right, up = squared, dx, dy
            magnitude[y, x] = gradient_of[255 + up, 255 + right, 0]
            angle[y, x] = gradient_of[255 + up, 255 + right, 1]


@jit
def fill_cells(magnitude: np.ndarray, angle: np.ndarray, histogram: np.ndarray) -> None:
    """Add each pixel (h, w) to the nearest cells and orientations of ``histogram`` (r, q, o)."""
    height, width = magnitude.shape
    n_rows, n_columns, n_orientations = histogram.shape
    for y in range(height):
        at = (y + 0.5) * n_rows / height - 0.5
        top = math.floor(at)
        below = at - top
        for x in range(width):
            m = magnitude[y, x]
            if m == 0:
                continue
            at = (x + 0.5) * n_columns / width - 0.5
            left = math.floor(at)
            beyond = at - left
            first = math.floor(angle[y, x])
            further = angle[y, x] - first
            first %= n_orientations
            second = (first + 1) % n_orientations
            for i in range(2):
                row = top + i
                if row < 0 or row >= n_rows:
                    continue
                row_share = m * (below if i else 1 - below)
                for j in range(2):
                    column = left + j
                    if column < 0 or column >= n_columns:
                        continue
                    share = row_share * (beyond if j else 1 - beyond)
                    histogram[row, column, first] += share * (1 - further)
                    histogram[row, column, second] += share * further

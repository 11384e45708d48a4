"""Dense SIFT: what the edges of small windows look like, at every few pixels and several sizes.

A window is 4 × 4 cells of b px. Each pixel of the smoothed picture has a gradient of magnitude m
and direction θ, and adds to the 8 directions of each cell

    m · t(4θ/π − k) · t(u − i) · t(v − j) · exp(−(u² + v²)/8),        t(s) = max(0, 1 − |s|),

with (u, v) its place in cells from the window's middle, (i, j) the middle of a cell, −1.5 to 1.5
each, and k a direction, 0 to 7 in a circle. The 128 sums are scaled to length 1, cut at 0.2 and
scaled again. The last three factors are a product of one in u and one in v, so a whole grid of
windows costs two passes of short weighted sums over 8 planes, and the result is that of the
definition, not an approximation. Gradients point to the brighter side; directions run
counter-clockwise from the right.

Windows with hardly any contrast get zeros: the direction of noise says nothing.

References: D. Lowe, "Distinctive image features from scale-invariant keypoints", International
Journal of Computer Vision 60 (2004); A. Bosch, A. Zisserman, X. Muñoz, "Image classification using
random forests and ferns", ICCV (2007).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument
from fieldguide.features import _sift_loops
from fieldguide.features.transformer import (
    Box,
    Column,
    ImageTransformer,
    iterate_images,
    shrink,
    to_grey,
)

N_CELLS = 4  # along each side of a window
N_DIRECTIONS = 8
WIDTH = N_CELLS * N_CELLS * N_DIRECTIONS
DIRECTIONS = (
    "right",
    "upper right",
    "top",
    "upper left",
    "left",
    "lower left",
    "bottom",
    "lower right",
)


class DenseSIFT(ImageTransformer):
    """SIFT descriptors of a regular grid of windows, side by side.

    A picture is brought to a square of ``size_px``, so that every picture has the same windows and
    a row the same columns. :meth:`descriptors` is for the other use, a set of descriptors that may
    be larger for larger pictures; :class:`BagOfWords` turns such sets into rows.

    Parameters
    ----------
    size_px : int
        Side of the square, which ``transform`` stretches a picture to; for :meth:`descriptors` the
        longer side of a picture that is larger.
    step_px : int
        From one window to the next.
    bin_sizes_px : tuple of numbers
        Sides of a cell; a window is four cells wide.
    smoothing_px : float
        Standard deviation of the blur before the gradient.
    least_contrast : float
        Windows with a smaller mean gradient, in shares of the grey range per px, become zeros.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.features.dense_sift import DenseSIFT
    >>> picture = np.zeros((90, 120, 3), dtype=np.uint8)
    >>> picture[:, 60:] = 255
    >>> sift = DenseSIFT(size_px=64, step_px=16)
    >>> row = sift.fit_transform([picture])
    >>> row.shape
    (1, 1152)
    >>> sift.get_feature_names_out()[0]
    'brighter to the right, cell 1,1 of window 1,1 of 3×3'
    >>> found, frames = sift.descriptors(picture)
    >>> found.shape, frames.shape
    ((6, 128), (6, 3))
    """

    def __init__(
        self,
        size_px: int = 128,
        *,
        step_px: int = 16,
        bin_sizes_px: tuple[float, ...] = (8,),
        smoothing_px: float = 1.0,
        least_contrast: float = 0.003,
        n_jobs: int | None = -1,
    ) -> None:
        self.size_px = size_px
        self.step_px = step_px
        self.bin_sizes_px = bin_sizes_px
        self.smoothing_px = smoothing_px
        self.least_contrast = least_contrast
        self.n_jobs = n_jobs

    def descriptors(self, image: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the descriptors of all windows of one picture, in its own proportions.

        Parameters
        ----------
        image : array, Pillow image or path

        Returns
        -------
        descriptors : ndarray of shape (n, 128), float32
        frames : ndarray of shape (n, 3), float32
            x and y of the window's middle and its side, in px of the picture as it was given.
        """
        self._check_arguments()
        pixels = np.asarray(next(iterate_images([image])))
        small = shrink(pixels, self.size_px)
        found, frames = self._sift(small)
        scale = np.array(pixels.shape[1::-1]) / np.array(small.shape[1::-1])
        frames[:, :2] = (frames[:, :2] + 0.5) * scale - 0.5
        frames[:, 2] *= np.sqrt(scale.prod())
        return found, frames

    def _check_arguments(self) -> None:
        check_number("DenseSIFT", "size_px", self.size_px, 8, 4096, integer=True)
        check_settings(
            "DenseSIFT", self.step_px, self.bin_sizes_px, self.smoothing_px, self.least_contrast
        )

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        square = Image.fromarray(pixels).resize(
            (self.size_px, self.size_px), Image.Resampling.BICUBIC, reducing_gap=2.0
        )
        return self._sift(np.asarray(square))[0].ravel()

    def _sift(self, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return dense_sift(
            to_grey(pixels),
            step_px=self.step_px,
            bin_sizes_px=self.bin_sizes_px,
            smoothing_px=self.smoothing_px,
            least_contrast=self.least_contrast,
        )

    def _columns(self) -> list[Column]:
        self._check_arguments()
        columns = []
        for bin_px in self.bin_sizes_px:
            centres = grid_centres(self.size_px, self.step_px, bin_px).tolist()
            n = len(centres)
            size = f", {4 * bin_px:g} px" if len(self.bin_sizes_px) > 1 else ""
            for row, column, i, j, direction in np.ndindex(n, n, N_CELLS, N_CELLS, N_DIRECTIONS):
                name = (
                    f"brighter to the {DIRECTIONS[direction]}, cell {i + 1},{j + 1} of "
                    f"window {row + 1},{column + 1} of {n}×{n}{size}"
                )
                box = self._cell(centres[column], centres[row], i, j, bin_px)
                columns.append(Column(name, box))
        return columns

    def _cell(self, x: int, y: int, i: int, j: int, bin_px: float) -> Box:
        """Return a cell's box, at least a pixel of it inside the picture."""

        def side(centre: int, k: int) -> tuple[float, float]:
            low = min(max(centre + (k - 2) * bin_px, 0), self.size_px - 1)
            high = min(max(centre + (k - 1) * bin_px, low + 1), self.size_px)
            return low / self.size_px, high / self.size_px

        (x0, x1), (y0, y1) = side(x, j), side(y, i)
        return x0, y0, x1, y1


def dense_sift(
    grey: np.ndarray,
    *,
    step_px: int = 4,
    bin_sizes_px: Sequence[float] = (4, 6, 8, 10),
    smoothing_px: float = 1.0,
    least_contrast: float = 0.003,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the SIFT descriptors of a grid of windows of each size.

    The grid of each size holds the windows that lie inside the picture. Along a side that is
    shorter than a window there is one, in the middle; beyond the border is no gradient.

    Parameters
    ----------
    grey : ndarray of shape (height, width), values in [0, 1]
    step_px, bin_sizes_px, smoothing_px, least_contrast
        As for :class:`DenseSIFT`.

    Returns
    -------
    descriptors : ndarray of shape (n, 128), float32
        Rows of length 1, or zeros; cells row by row, 8 directions each. Size by size, windows row
        by row.
    frames : ndarray of shape (n, 3), float32
        x and y of the window's middle, the first pixel's middle being 0, and the window's side.

    Examples
    --------
    >>> grey = np.zeros((32, 32))
    >>> grey[:, 16:] = 1
    >>> descriptors, frames = dense_sift(grey, step_px=8, bin_sizes_px=(4,))
    >>> descriptors.shape, frames[0].tolist()
    ((9, 128), [8.0, 8.0, 16.0])
    >>> DIRECTIONS[descriptors[4].reshape(-1, 8).sum(axis=0).argmax()]
    'right'
    """
    check_settings("dense_sift", step_px, bin_sizes_px, smoothing_px, least_contrast)
    grey = np.ascontiguousarray(grey, dtype=np.float32)
    if grey.ndim != 2 or grey.size == 0:
        raise InvalidArgument(
            f"grey of dense_sift must have the shape (height, width) and a pixel at least; "
            f"got {grey.shape}."
        )
    if not np.isfinite(grey).all():
        raise InvalidArgument("grey of dense_sift must be finite; it has NaN or infinity.")
    height, width = grey.shape
    grids = [
        (grid_centres(width, step_px, bin_px), grid_centres(height, step_px, bin_px))
        for bin_px in bin_sizes_px
    ]
    n = sum(len(xs) * len(ys) for xs, ys in grids)
    descriptors = np.zeros((n, WIDTH), dtype=np.float32)
    frames = np.empty((n, 3), dtype=np.float32)
    planes = np.empty((height, width * N_DIRECTIONS), dtype=np.float32)
    _sift_loops.write_planes(blur(grey, smoothing_px), planes)
    start = 0
    for bin_px, (xs, ys) in zip(bin_sizes_px, grids, strict=True):
        stop = start + len(xs) * len(ys)
        taps = cell_taps(bin_px)
        windows = descriptors[start:stop].reshape(len(ys), len(xs), N_CELLS, N_CELLS, N_DIRECTIONS)
        _sift_loops.pool_cells(planes, xs, ys, taps, windows)
        # The gradient is a difference over two pixels, hence twice the change per pixel.
        least_sum = 2 * least_contrast * float(taps.sum()) ** 2
        _sift_loops.normalize_rows(descriptors[start:stop].reshape(-1, 8, 16), least_sum)
        frames[start:stop, 0] = np.tile(xs, len(ys))
        frames[start:stop, 1] = np.repeat(ys, len(xs))
        frames[start:stop, 2] = N_CELLS * bin_px
        start = stop
    return descriptors, frames


def check_settings(
    owner: str, step_px: Any, bin_sizes_px: Any, smoothing_px: Any, least_contrast: Any
) -> None:
    """Refuse arguments of a grid that make no sense."""
    check_number(owner, "step_px", step_px, 1, 4096, integer=True)
    if not isinstance(bin_sizes_px, (tuple, list)) or not bin_sizes_px:
        raise InvalidArgument(
            f"bin_sizes_px of {owner} must be a tuple of numbers, such as (4, 6, 8); "
            f"got {bin_sizes_px!r}."
        )
    for bin_px in bin_sizes_px:
        check_number(owner, "each of bin_sizes_px", bin_px, 1, 256)
    if len(set(bin_sizes_px)) < len(bin_sizes_px):
        raise InvalidArgument(
            f"bin_sizes_px of {owner} must hold each size once; got {bin_sizes_px!r}."
        )
    check_number(owner, "smoothing_px", smoothing_px, 0, 64)
    check_number(owner, "least_contrast", least_contrast, 0, 1)


def grid_centres(side_px: int, step_px: int, bin_px: float) -> np.ndarray:
    """Return the middles of the windows along a side, the grid itself in the middle."""
    free = side_px - N_CELLS * bin_px
    n = int(free // step_px) + 1 if free >= 0 else 1
    first = (side_px - (n - 1) * step_px) // 2
    return first + step_px * np.arange(n)


def cell_taps(bin_px: float) -> np.ndarray:
    """Return what a pixel at offset d − n//2 from the middle counts in each of four cells, (4, n).

    The product of a column's and a row's is the spatial weight of the module's formula.
    """
    reach = math.ceil(2.5 * bin_px) - 1
    u = np.arange(-reach, reach + 1) / bin_px
    cells = np.arange(N_CELLS)[:, None] - 1.5
    taps: np.ndarray = np.maximum(0, 1 - np.abs(u - cells)) * np.exp(-(u**2) / 8)
    return taps.astype(np.float32)


def blur(grey: np.ndarray, sigma_px: float) -> np.ndarray:
    """Return the picture smoothed by a Gaussian, mirrored at the border."""
    reach = math.ceil(3.5 * sigma_px)
    if reach == 0:
        return grey
    taps = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma_px) ** 2)
    taps = (taps / taps.sum()).astype(np.float32)
    height, width = grey.shape
    out = np.empty_like(grey)
    _sift_loops.blur_into(
        grey,
        taps,
        mirror(np.arange(-reach, height + reach), height),
        mirror(np.arange(-reach, width + reach), width),
        out,
    )
    return out


def mirror(index: np.ndarray, n: int) -> np.ndarray:
    """Return the index of each place of a row of n that is mirrored at its first and last."""
    if n == 1:
        return np.zeros_like(index)
    turn = np.mod(index, 2 * n - 2)
    mirrored: np.ndarray = np.minimum(turn, 2 * n - 2 - turn)
    return mirrored

"""Bags of visual words: how often each small pattern occurs, and roughly where.

The descriptors of many small windows (:mod:`fieldguide.features.dense_sift`) are gathered from a
sample of pictures and clustered; the middles of the clusters are the words. A picture is then the
histogram of the words of its windows, once for the whole and once for each cell of a few grids.

A window with descriptor x counts for its nearest word ("hard"), or for several of the nearest in
shares ("soft")

    exp(−|x − c|²/r²) / Σ exp(−|x − c'|²/r²),

with r² the mean squared distance of a descriptor of the sample from its word.

References: S. Lazebnik, C. Schmid, J. Ponce, "Beyond bags of features: spatial pyramid matching for
recognizing natural scene categories", CVPR (2006); L. Liu, L. Wang, X. Liu, "In defense of
soft-assignment coding", ICCV (2011).
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from PIL import Image
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_choice, check_number, check_seed
from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide._random import spawn_generators
from fieldguide._saving import Array, Number
from fieldguide.collection import Collection
from fieldguide.errors import InvalidArgument, TooFewWindows, UnreadableImageError
from fieldguide.features.codebook import WordLearner, nearest_words
from fieldguide.features.dense_sift import WIDTH, check_settings, dense_sift
from fieldguide.features.transformer import (
    Column,
    ImageTransformer,
    decode_batch,
    draw_sources,
    shrink,
    to_grey,
)

ASSIGNMENTS = ("hard", "soft")
PATCH_PX = 32


QUARTERS = ("top-left", "top-right", "bottom-left", "bottom-right")


class BagOfWords(WordLearner, ImageTransformer):
    """Histograms of visual words in the cells of a pyramid of grids.

    Each row sums to 1, and each grid of the pyramid to an equal share of it, as the additive
    kernels of :mod:`fieldguide.kernels` expect.

    Parameters
    ----------
    n_words : int
    pyramid : tuple of (columns, rows)
        The grids; ``((1, 1),)`` is a plain bag.
    assignment : {"soft", "hard"}
        Whether a window is shared by its nearest words, by their distance, or counts for the
        nearest alone.
    n_nearest : int
        Words that share a window under soft assignment.
    max_side_px : int
        Larger pictures are shrunk to this longer side.
    step_px, bin_sizes_px, smoothing_px, least_contrast
        The grid of windows, as for :func:`dense_sift`; on Caltech-101 less smoothing than there
        was better. A window without contrast has a word of its own, the last.
    n_images : int
        Largest number of pictures, drawn at random, from which the words are learned.
    n_descriptors : int
        Largest number of their descriptors that are clustered.
    n_iter : int
        Rounds of the clustering.
    n_examples : int
        Patches kept for each word, 0 to 24.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed of the samples and of the clustering.

    Attributes
    ----------
    words_ : ndarray of shape (n_words, 128), float32
        Most frequent first; the last, for windows without contrast, is zero.
    frequency_ : ndarray of shape (n_words,), float32
        Share of each word among the windows of the sample.
    radius_ : float
        The r of the module's text.
    patches_ : ndarray of shape (n_words, n_examples, 32, 32, 3), uint8
        The windows nearest to each word, nearest first, of different pictures where possible.
    n_patches_ : ndarray of shape (n_words,)
        How many of them there are; the others are black.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimens
    >>> from fieldguide.features import BagOfWords
    >>> images = load_specimens(n_per_kind=1, size_px=64).images[:8]
    >>> bag = BagOfWords(n_words=20, pyramid=((1, 1), (2, 2))).fit(images)
    >>> rows = bag.transform(images)
    >>> rows.shape
    (8, 100)
    >>> bag.get_feature_names_out()[32]
    'word 12 in top-left quarter (2×2)'
    """

    _fitted: ClassVar = {
        "words_": Array("float32", "n_words", WIDTH),
        "frequency_": Array("float32", "n_words"),
        "radius_": Number(0, 1e6),
        "patches_": Array("uint8", "n_words", "n_examples", PATCH_PX, PATCH_PX, 3),
        "n_patches_": Array("int64", "n_words", low=0),
    }
    _sizes = ("n_words", "n_examples")

    radius_: float
    patches_: np.ndarray
    n_patches_: np.ndarray

    def __init__(
        self,
        n_words: int = 1000,
        *,
        pyramid: tuple[tuple[int, int], ...] = ((1, 1), (2, 2), (4, 4)),
        assignment: str = "soft",
        n_nearest: int = 5,
        max_side_px: int = 160,
        step_px: int = 4,
        bin_sizes_px: tuple[float, ...] = (4, 6, 8, 10),
        smoothing_px: float = 0.4,
        least_contrast: float = 0.003,
        n_images: int = 500,
        n_descriptors: int = 100_000,
        n_iter: int = 20,
        n_examples: int = 6,
        n_jobs: int | None = -1,
        random_state: Any = 0,
    ) -> None:
        self.n_words = n_words
        self.pyramid = pyramid
        self.assignment = assignment
        self.n_nearest = n_nearest
        self.max_side_px = max_side_px
        self.step_px = step_px
        self.bin_sizes_px = bin_sizes_px
        self.smoothing_px = smoothing_px
        self.least_contrast = least_contrast
        self.n_images = n_images
        self.n_descriptors = n_descriptors
        self.n_iter = n_iter
        self.n_examples = n_examples
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Find the words of pictures ``X``, given as to ``transform``; ``y`` is not looked at."""
        self._check_arguments()
        X = () if X is None else X
        seed = check_seed(type(self).__name__, self.random_state)
        for_images, for_clusters = spawn_generators(seed, 2)
        with one_blas_thread():
            pictures = self._read(draw_sources(X, self.n_images, for_images), self.n_jobs)
            sample = self._sample(pictures, seed)
            word, distance = self._learn_words(sample.descriptors, sample.plain_share, for_clusters)
        self.radius_ = float(np.sqrt(distance.mean(dtype=np.float64)))
        self.patches_, self.n_patches_ = self._cut_patches(pictures, sample, word, distance)
        return self

    def transform(self, X: Collection | Iterable[Any]) -> np.ndarray:
        """Return the histogram of each picture, in order.

        Parameters
        ----------
        X : Collection, or iterable of arrays, Pillow images or paths
            It is read once, a few images at a time.

        Returns
        -------
        ndarray of shape (n_images, n_words · cells of all grids), float32
        """
        check_is_fitted(self)
        # A BLAS of several threads inside several threads is slow, and may sum in another order.
        with one_blas_thread():
            return super().transform(X)

    def descriptors(self, pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return descriptors (n, 128) and frames (n, 3) of a picture no larger than max_side_px."""
        return dense_sift(
            to_grey(pixels),
            step_px=self.step_px,
            bin_sizes_px=self.bin_sizes_px,
            smoothing_px=self.smoothing_px,
            least_contrast=self.least_contrast,
        )

    def find_words(self, pixels: np.ndarray) -> "FoundWords":
        """Return the nearest words of every window of a picture, and where the windows are."""
        small = shrink(pixels, self.max_side_px)
        found, frames = self.descriptors(small)
        n_nearest = self.n_nearest if self.assignment == "soft" else 1
        word, distance = nearest_words(found, self.words_[:-1], min(n_nearest, self.n_words - 1))
        # The descriptor of a window without contrast is zero; it is the last word's alone.
        word[~found.any(axis=1)] = self.n_words - 1
        height, width = small.shape[:2]
        x, y = (frames[:, 0] + 0.5) / width, (frames[:, 1] + 0.5) / height
        return FoundWords(word, soft_shares(distance, self.radius_), x, y, frames[:, 2] / width)

    def _check_arguments(self) -> None:
        owner = "BagOfWords"
        check_number(owner, "n_words", self.n_words, 2, 60_000, integer=True)
        check_pyramid(self.pyramid)
        check_choice(owner, "assignment", self.assignment, ASSIGNMENTS)
        check_number(owner, "n_nearest", self.n_nearest, 1, 50, integer=True)
        check_number(owner, "max_side_px", self.max_side_px, 8, 4096, integer=True)
        check_settings(
            owner, self.step_px, self.bin_sizes_px, self.smoothing_px, self.least_contrast
        )
        check_number(owner, "n_images", self.n_images, 1, 1_000_000, integer=True)
        check_number(owner, "n_descriptors", self.n_descriptors, 1, 100_000_000, integer=True)
        check_number(owner, "n_iter", self.n_iter, 1, 1000, integer=True)
        check_number(owner, "n_examples", self.n_examples, 0, 24, integer=True)

    def _check_opened(self) -> None:
        if self.n_patches_.max(initial=0) > self.n_examples:
            raise InvalidArgument(f"n_patches_ must be at most {self.n_examples}, as n_examples.")

    def _describe(self, pixels: np.ndarray) -> np.ndarray:
        return self.find_words(pixels).histogram(self.n_words, self.pyramid)

    def _columns(self) -> list[Column]:
        return [
            Column(f"word {word}{place}", (x / nx, y / ny, (x + 1) / nx, (y + 1) / ny))
            for nx, ny in self.pyramid
            for y in range(ny)
            for x in range(nx)
            for place in [name_cell(x, y, nx, ny)]
            for word in range(self.n_words)
        ]

    def _read(self, sources: list[Any], n_jobs: int | None) -> list[np.ndarray]:
        def read(source: Any) -> np.ndarray:
            return shrink(decode_batch([source])[0], self.max_side_px)

        pictures = list(map_in_order(read, sources, n_jobs=n_jobs))
        if not pictures:
            raise UnreadableImageError("There is no image to find words in; give at least one.")
        return pictures

    def _sample(self, pictures: list[np.ndarray], seed: int) -> "Sample":
        """Draw as many descriptors with contrast of each picture."""
        seeds = spawn_generators(seed, 2 + len(pictures))[2:]
        n_each = -(-self.n_descriptors // len(pictures))

        def draw(i: int) -> tuple[np.ndarray, np.ndarray, int, int]:
            found, frames = self.descriptors(pictures[i])
            rows = np.flatnonzero(found.any(axis=1))
            chosen = np.sort(seeds[i].permutation(rows)[:n_each])
            return found[chosen], frames[chosen], len(rows), len(found)

        parts = list(map_in_order(draw, range(len(pictures)), n_jobs=self.n_jobs))
        descriptors = np.concatenate([part[0] for part in parts])
        if len(descriptors) < self.n_words - 1:
            raise TooFewWindows(
                f"n_words of BagOfWords is {self.n_words}, but the {len(pictures)} images have "
                f"only {len(descriptors)} windows with contrast to learn words from; give more "
                "images or ask for fewer words."
            )
        return Sample(
            descriptors,
            np.concatenate([part[1] for part in parts]),
            np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts]),
            1 - sum(part[2] for part in parts) / sum(part[3] for part in parts),
        )

    def _cut_patches(
        self, pictures: list[np.ndarray], sample: "Sample", word: np.ndarray, distance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        shape = (self.n_words, self.n_examples, PATCH_PX, PATCH_PX, 3)
        patches, counts = np.zeros(shape, np.uint8), np.zeros(self.n_words, np.int64)
        order = np.lexsort((distance, word))
        ends = np.searchsorted(word[order], np.arange(self.n_words + 1))
        for w in range(self.n_words):
            nearest = order[ends[w] : ends[w + 1]]
            for row in pick_different(nearest, sample.picture, self.n_examples):
                picture = pictures[sample.picture[row]]
                patches[w, counts[w]] = cut_window(picture, *sample.frames[row])
                counts[w] += 1
        return patches, counts


class FoundWords(NamedTuple):
    """The words of the windows of one picture.

    Examples
    --------
    >>> word, share = np.array([[0], [0], [2]]), np.ones((3, 1))
    >>> found = FoundWords(word, share, *np.full((3, 3), 0.5))
    >>> found.histogram(4).round(3)
    array([0.667, 0.   , 0.333, 0.   ], dtype=float32)
    """

    word: np.ndarray  # (n_windows, n_nearest)
    share: np.ndarray  # (n_windows, n_nearest), of each window 1
    x: np.ndarray  # (n_windows,) middle of the window, in shares of the width
    y: np.ndarray  # (n_windows,) in shares of the height
    side: np.ndarray  # (n_windows,) of the window, in shares of the width

    def histogram(self, n_words: int, pyramid: Sequence[tuple[int, int]] = ((1, 1),)) -> np.ndarray:
        """Return the histograms of all cells of all grids, side by side, of sum 1, float32; all 0
        without a window.

        ``pyramid`` is that of :class:`BagOfWords`; the whole picture alone by default.
        """
        parts = []
        for nx, ny in pyramid:
            column = np.minimum((self.x * nx).astype(np.int64), nx - 1)
            row = np.minimum((self.y * ny).astype(np.int64), ny - 1)
            place = ((row * nx + column)[:, None] * n_words + self.word).ravel()
            size = nx * ny * n_words
            parts.append(np.bincount(place, weights=self.share.ravel(), minlength=size))
        total = max(self.share.sum(dtype=np.float64) * len(pyramid), 1e-12)
        histogram: np.ndarray = (np.concatenate(parts) / total).astype(np.float32)
        return histogram


class Sample(NamedTuple):
    """Descriptors of windows with contrast, drawn from a few pictures."""

    descriptors: np.ndarray  # (n, 128)
    frames: np.ndarray  # (n, 3)
    picture: np.ndarray  # (n,) index of the picture
    plain_share: float  # of all windows, those without contrast


def check_pyramid(pyramid: Any) -> None:
    """Refuse what is not a tuple of grids, each (columns, rows) and each once."""
    is_fine = isinstance(pyramid, (tuple, list)) and all(
        isinstance(grid, tuple)
        and len(grid) == 2
        and all(isinstance(n, int) and 1 <= n <= 64 for n in grid)
        for grid in pyramid
    )
    is_fine = is_fine and 0 < len(pyramid) == len(set(pyramid))
    if not is_fine:
        raise InvalidArgument(
            "pyramid of BagOfWords must be a tuple of different grids (columns, rows) of 1 to 64, "
            f"such as ((1, 1), (2, 2)); got {pyramid!r}."
        )


def soft_shares(distance: np.ndarray, radius: float) -> np.ndarray:
    """Return what each of the nearest words gets of a window, (n, k); rows sum to 1."""
    share = np.exp(-(distance - distance[:, :1]) / max(radius, 1e-6) ** 2)
    shares: np.ndarray = share / share.sum(axis=1, keepdims=True)
    return shares


def name_cell(x: int, y: int, nx: int, ny: int) -> str:
    """Return where a cell of a grid is, to stand after a word's name."""
    if (nx, ny) == (1, 1):
        return ""
    if (nx, ny) == (2, 2):
        return f" in {QUARTERS[2 * y + x]} quarter (2×2)"
    return f" in row {y + 1}, column {x + 1} ({nx}×{ny})"


def pick_different(rows: np.ndarray, picture: np.ndarray, n: int) -> list[int]:
    """Return the first n rows of different pictures; where those run out, of the same."""
    firsts = np.sort(np.unique(picture[rows], return_index=True)[1])
    others = np.setdiff1d(np.arange(len(rows)), firsts)
    chosen: list[int] = rows[np.concatenate([firsts, others])[:n].astype(np.int64)].tolist()
    return chosen


def cut_window(picture: np.ndarray, x: float, y: float, side: float) -> np.ndarray:
    """Return a window's pixels, (32, 32, 3), as far as it lies inside the picture."""
    height, width = picture.shape[:2]
    x0, x1 = max(0.0, x + 0.5 - side / 2), min(float(width), x + 0.5 + side / 2)
    y0, y1 = max(0.0, y + 0.5 - side / 2), min(float(height), y + 0.5 + side / 2)
    window = Image.fromarray(picture).resize(
        (PATCH_PX, PATCH_PX), Image.Resampling.BICUBIC, box=(x0, y0, x1, y1)
    )
    return np.asarray(window)

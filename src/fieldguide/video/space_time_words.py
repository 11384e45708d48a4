"""Space-time words: how often each small pattern of edges and of movement occurs in a clip.

Blocks of a few pixels and frames lie dense in a clip. Each is cut into 3×3 cells in space and 2 in
time. A cell holds how much gradient there is in each orientation (HOG) and how much movement in
each direction, with one more bin for pixels that stand still (HOF):

    hog[c, o] = Σ_pixels |∇| · tent(angle − o)        hof[c, d] = Σ_moving |flow| · tent(angle − d)
    hof[c, still] = Σ_still least_flow_px                      tent(t) = (1 − |t|)₊ in bins

Both halves of a block are divided by their sum and rooted, so that their length is 1 and their
distance that of Hellinger. All cells of all blocks are differences of one prefix sum over space and
time: no pixel is looked at twice. The middles of clusters of such descriptors are the words; a clip
is the histogram of the nearest words of its blocks.

References: I. Laptev, M. Marszałek, C. Schmid, B. Rozenfeld, "Learning realistic human actions from
movies", CVPR (2008); H. Wang et al., "Evaluation of local spatio-temporal features for action
recognition", BMVC (2009).
"""

import math
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_number, check_seed
from fieldguide._jit import jit
from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide._random import spawn_generators
from fieldguide._saving import Array, Saved
from fieldguide.errors import InvalidArgument, TooFewWindows, UnreadableImageError
from fieldguide.features.codebook import WordLearner, nearest_words
from fieldguide.features.transformer import draw_sources, to_grey
from fieldguide.video.clips import check_flow, check_frames, read_clip

CELLS, TIMES = 3, 2
N_CELLS = CELLS * CELLS * TIMES
ORIENTATIONS, DIRECTIONS = 4, 8
WIDTH = N_CELLS * (ORIENTATIONS + DIRECTIONS + 1)
# Frames whose prefix sums are held at a time.
_SLAB = 32


class Blocks(NamedTuple):
    """The dense blocks of one clip.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimen_clips
    >>> clip = load_specimen_clips(n_per_action=1, n_frames=8, size_px=64).clips[0]
    >>> blocks = SpaceTimeWords(n_words=4, sizes=((18, 6),)).describe_blocks(clip)
    >>> blocks.descriptors.shape, blocks.middles[0].tolist(), blocks.sizes[0].tolist()
    ((144, 234), [3.5, 9.5, 9.5], [18, 6])
    """

    descriptors: np.ndarray  # (n, WIDTH) float32: HOG, then HOF; zero where there is neither
    middles: np.ndarray  # (n, 3) float32: t, y, x in frames and pixels
    sizes: np.ndarray  # (n, 2) int32: side in pixels, length in frames


class SpaceTimeWords(WordLearner, Saved, TransformerMixin, BaseEstimator):
    """Histograms of space-time words, one row per clip; rows sum to 1.

    Parameters
    ----------
    n_words : int
    sizes : tuple of (side_px, n_frames)
        The blocks. One that is larger than the clip is cut to it.
    step_px, step_frames : int
        Between the blocks.
    max_side_px : int
        Larger frames are shrunk to this longer side.
    least_contrast : float
        Mean gradient of a pixel, in parts of full contrast, below which a block has no edges.
    least_flow_px : float
        Movement from frame to frame below which a pixel stands still. A block without edges that
        stands still has a word of its own, the last.
    n_clips : int
        Largest number of clips, drawn at random, from which the words are learned.
    n_descriptors : int
        Largest number of their descriptors that are clustered.
    n_iter : int
        Rounds of the clustering.
    n_jobs : int, optional
        Threads; -1 is all cores. The answer does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed of the samples and of the clustering.

    Attributes
    ----------
    words_ : ndarray of shape (n_words, 234), float32
        Most frequent first; the last, for blocks without edges and movement, is zero.
    frequency_ : ndarray of shape (n_words,), float32
        Share of each word among the blocks of the sample.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimen_clips
    >>> from fieldguide.video import SpaceTimeWords
    >>> clips = load_specimen_clips(n_per_action=1, n_frames=8, size_px=64).clips
    >>> words = SpaceTimeWords(n_words=20, sizes=((18, 6),)).fit(clips)
    >>> rows = words.transform(clips)
    >>> rows.shape, rows.sum(axis=1).round(5).tolist()
    ((4, 20), [1.0, 1.0, 1.0, 1.0])
    """

    _fitted: ClassVar = {
        "words_": Array("float32", "n_words", WIDTH),
        "frequency_": Array("float32", "n_words"),
    }
    _sizes = ("n_words",)

    def __init__(
        self,
        n_words: int = 1000,
        *,
        sizes: tuple[tuple[int, int], ...] = ((18, 8), (27, 12)),
        step_px: int = 4,
        step_frames: int = 4,
        max_side_px: int = 160,
        least_contrast: float = 0.005,
        least_flow_px: float = 0.4,
        n_clips: int = 500,
        n_descriptors: int = 100_000,
        n_iter: int = 20,
        n_jobs: int | None = 1,
        random_state: Any = 0,
    ) -> None:
        self.n_words = n_words
        self.sizes = sizes
        self.step_px = step_px
        self.step_frames = step_frames
        self.max_side_px = max_side_px
        self.least_contrast = least_contrast
        self.least_flow_px = least_flow_px
        self.n_clips = n_clips
        self.n_descriptors = n_descriptors
        self.n_iter = n_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the words of clips ``X``, given as to ``transform``; ``y`` is not looked at."""
        self._check_arguments()
        seed = check_seed(type(self).__name__, self.random_state)
        for_clips, for_clusters = spawn_generators(seed, 2)
        with one_blas_thread():
            sources = draw_sources(X, self.n_clips, for_clips)
            rows, plain = self._sample([source for _, source in sources], seed)
            self._learn_words(rows, plain, for_clusters)
        return self

    def transform(self, X: Iterable[Any]) -> np.ndarray:
        """Return the histogram of each clip, in order.

        Parameters
        ----------
        X : iterable of clips
            Each is what :func:`read_clip` takes. It is read once, a few clips at a time.

        Returns
        -------
        ndarray of shape (n_clips, n_words), float32
        """
        check_is_fitted(self)
        self._check_arguments()

        def describe(source: Any) -> np.ndarray:
            word, _ = self.assign(read_clip(source, max_side_px=self.max_side_px))
            counts = np.bincount(word, minlength=self.n_words)
            shares: np.ndarray = (counts / counts.sum()).astype(np.float32)
            return shares

        with one_blas_thread():
            rows = list(map_in_order(describe, X, n_jobs=self.n_jobs))
        if not rows:
            raise UnreadableImageError("There is no clip to describe; give at least one.")
        return np.stack(rows)

    def assign(self, frames: np.ndarray, flow: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the word of each block of a clip, (n,), and its middle as t, y, x, (n, 3).

        Parameters
        ----------
        frames : ndarray of shape (n_frames, height, width, 3), uint8
            Used at this size.
        flow : ndarray of shape (n_frames, height, width, 2), optional
            Found by :func:`optical_flow` if it is not given.
        """
        check_is_fitted(self)
        blocks = self.describe_blocks(frames, flow)
        return self.name_blocks(blocks), blocks.middles

    def name_blocks(self, blocks: Blocks) -> np.ndarray:
        """Return the word of each block, (n,), as :meth:`describe_blocks` returns them."""
        check_is_fitted(self)
        with one_blas_thread():  # another number may sum in another order
            word = nearest_words(blocks.descriptors, self.words_[:-1], 1)[0][:, 0]
        word[~blocks.descriptors.any(axis=1)] = self.n_words - 1
        return word

    def describe_blocks(self, frames: np.ndarray, flow: Any = None) -> Blocks:
        """Return the descriptors of all blocks of a clip; arguments as of :meth:`assign`."""
        frames = check_frames("SpaceTimeWords", frames)
        return describe_blocks(
            frames,
            check_flow("SpaceTimeWords", flow, frames),
            sizes=self.sizes,
            step_px=self.step_px,
            step_frames=self.step_frames,
            least_contrast=self.least_contrast,
            least_flow_px=self.least_flow_px,
        )

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of each column."""
        return np.array([f"space-time word {k}" for k in range(self.n_words)], dtype=object)

    def _sample(self, sources: list[Any], seed: int) -> tuple[np.ndarray, float]:
        """Return descriptors with edges or movement, as many of each clip; the share without."""
        if not sources:
            raise UnreadableImageError("There is no clip to find words in; give at least one.")
        seeds = spawn_generators(seed, 2 + len(sources))[2:]
        n_each = -(-self.n_descriptors // len(sources))

        def draw(i: int) -> tuple[np.ndarray, int, int]:
            found = self.describe_blocks(
                read_clip(sources[i], max_side_px=self.max_side_px)
            ).descriptors
            rows = np.flatnonzero(found.any(axis=1))
            chosen = np.sort(seeds[i].permutation(rows)[:n_each])
            return found[chosen], len(rows), len(found)

        parts = list(map_in_order(draw, range(len(sources)), n_jobs=self.n_jobs))
        rows = np.concatenate([part[0] for part in parts])
        if len(rows) < self.n_words - 1:
            raise TooFewWindows(
                f"n_words of SpaceTimeWords is {self.n_words}, but the {len(sources)} clips have "
                f"only {len(rows)} blocks with edges or movement to learn words from; give more "
                "clips or ask for fewer words."
            )
        return rows, 1 - sum(part[1] for part in parts) / sum(part[2] for part in parts)

    def _check_arguments(self) -> None:
        owner = "SpaceTimeWords"
        check_number(owner, "n_words", self.n_words, 2, 1_000_000, integer=True)
        is_fine = isinstance(self.sizes, (tuple, list)) and len(self.sizes) > 0
        is_fine = is_fine and all(
            isinstance(size, (tuple, list))
            and len(size) == 2
            and all(isinstance(n, int) and 1 <= n <= 1024 for n in size)
            for size in self.sizes
        )
        if not is_fine:
            raise InvalidArgument(
                f"sizes of {owner} must be a tuple of (side_px, n_frames), each from 1 to 1024, "
                f"such as ((18, 8), (27, 12)); got {self.sizes!r}."
            )
        check_number(owner, "step_px", self.step_px, 1, 1024, integer=True)
        check_number(owner, "step_frames", self.step_frames, 1, 1024, integer=True)
        check_number(owner, "max_side_px", self.max_side_px, 16, 4096, integer=True)
        check_number(owner, "least_contrast", self.least_contrast, 0, 1)
        check_number(owner, "least_flow_px", self.least_flow_px, 1e-6, 100)
        check_number(owner, "n_clips", self.n_clips, 1, 1_000_000, integer=True)
        check_number(owner, "n_descriptors", self.n_descriptors, 1, 100_000_000, integer=True)
        check_number(owner, "n_iter", self.n_iter, 1, 10_000, integer=True)


def describe_blocks(
    frames: np.ndarray,
    flow: np.ndarray,
    *,
    sizes: tuple[tuple[int, int], ...] = ((18, 8), (27, 12)),
    step_px: int = 4,
    step_frames: int = 4,
    least_contrast: float = 0.005,
    least_flow_px: float = 0.4,
) -> Blocks:
    """Return HOG and HOF of dense blocks; arguments as of :class:`SpaceTimeWords`."""
    whole = frames.shape[:3]
    steps = (step_frames, step_px, step_px)
    grids = []
    for side, length in sizes:
        size = np.minimum((length, side, side), whole)
        axes = [place_blocks(*axis) for axis in zip(whole, size.tolist(), steps, strict=True)]
        corners = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        grids.append((size, corners))
    longest = max(int(size[0]) for size, _ in grids)
    cells = [
        np.zeros((len(corners), N_CELLS, ORIENTATIONS + DIRECTIONS + 1)) for _, corners in grids
    ]
    for first in range(0, len(frames), _SLAB):
        part = slice(first, first + _SLAB + longest)
        sums = sum_space_time(frames[part], flow[part], least_flow_px)
        for (size, corners), out in zip(grids, cells, strict=True):
            mine = np.flatnonzero((corners[:, 0] >= first) & (corners[:, 0] < first + _SLAB))
            found = np.empty((len(mine), *out.shape[1:]))
            length, tall, wide = size.tolist()
            gather_cells(sums, corners[mine] - (first, 0, 0), length, tall, wide, found)
            out[mine] = found
    rows = [
        root_parts(out, least_contrast * size.prod())
        for (size, _), out in zip(grids, cells, strict=True)
    ]
    middles = [corners + (size - 1) / 2 for size, corners in grids]
    lengths = [np.tile(size[[1, 0]], (len(corners), 1)) for size, corners in grids]
    return Blocks(
        np.concatenate(rows),
        np.concatenate(middles).astype(np.float32),
        np.concatenate(lengths).astype(np.int32),
    )


def place_blocks(whole: int, part: int, step: int) -> np.ndarray:
    """Return where blocks begin along one side, as much left over before as after.

    >>> place_blocks(10, 4, 4).tolist()
    [1, 5]
    """
    return np.arange((whole - part) % step // 2, whole - part + 1, step)


def sum_space_time(frames: np.ndarray, flow: np.ndarray, least_flow_px: float) -> np.ndarray:
    """Return prefix sums of gradients and movement, float64 (T + 1, h + 1, w + 1, channels).

    Entry [t, y, x] is the sum over all pixels before t, y and x: orientations, directions, still.
    """
    grey = np.stack([to_grey(frame) for frame in frames])
    down, right = (differentiate(grey, axis) for axis in (1, 2))
    n, height, width = grey.shape
    sums = np.zeros((n + 1, height + 1, width + 1, ORIENTATIONS + DIRECTIONS + 1))
    _sum_space_time(right, down, flow, least_flow_px, ORIENTATIONS, DIRECTIONS, sums)
    return sums


def differentiate(values: np.ndarray, axis: int) -> np.ndarray:
    """Return half the difference of both neighbours along an axis; 0 where it has one pixel."""
    if values.shape[axis] == 1:
        return np.zeros_like(values)
    slopes: np.ndarray = np.gradient(values, axis=axis)
    return slopes


def root_parts(cells: np.ndarray, least_sum: float) -> np.ndarray:
    """Return descriptors (n, WIDTH) of cells (n, N_CELLS, channels), both halves of length 1.

    A half is zero where HOG sums to less than ``least_sum``; both are where nothing moves either.
    """
    hog = cells[:, :, :ORIENTATIONS].reshape(len(cells), -1)
    hof = cells[:, :, ORIENTATIONS:].reshape(len(cells), -1)
    # Differences of prefix sums may end a rounding error below zero.
    hog, hof = np.maximum(hog, 0), np.maximum(hof, 0)
    contrast = hog.sum(axis=1, keepdims=True)
    has_edges = contrast > max(least_sum, 1e-9)
    moved = cells[:, :, ORIENTATIONS:-1].sum(axis=(1, 2))[:, None] > 1e-6
    hog = np.where(has_edges, hog / np.maximum(contrast, 1e-9), 0)
    hof = np.where(has_edges | moved, hof / np.maximum(hof.sum(axis=1, keepdims=True), 1e-9), 0)
    parts: np.ndarray = np.sqrt(np.concatenate([hog, hof], axis=1)).astype(np.float32)
    return parts


@jit
def _sum_space_time(
    right: np.ndarray,
    down: np.ndarray,
    flow: np.ndarray,
    least_flow_px: float,
    n_orientations: int,
    n_directions: int,
    sums: np.ndarray,
) -> None:
    """Fill ``sums`` (T + 1, h + 1, w + 1, c), zero before, from (T, h, w) arrays. O(Thwc)."""
    n, height, width = right.shape
    n_channels = sums.shape[3]
    row = np.empty(n_channels)
    for t in range(n):
        for y in range(height):
            row[:] = 0.0
            for x in range(width):
                gx, gy = float(right[t, y, x]), float(down[t, y, x])
                size = math.sqrt(gx * gx + gy * gy)
                if size > 0.0:
                    at = (math.atan2(gy, gx) / math.pi % 1.0) * n_orientations
                    low = int(at)
                    share = at - low
                    row[low % n_orientations] += size * (1.0 - share)
                    row[(low + 1) % n_orientations] += size * share
                u, v = float(flow[t, y, x, 0]), float(flow[t, y, x, 1])
                speed = math.sqrt(u * u + v * v)
                if speed < least_flow_px:
                    row[n_channels - 1] += least_flow_px
                else:
                    at = (math.atan2(v, u) / (2.0 * math.pi) % 1.0) * n_directions
                    low = int(at)
                    share = at - low
                    row[n_orientations + low % n_directions] += speed * (1.0 - share)
                    row[n_orientations + (low + 1) % n_directions] += speed * share
                for c in range(n_channels):
                    sums[t + 1, y + 1, x + 1, c] = (
                        row[c]
                        + sums[t + 1, y, x + 1, c]
                        + sums[t, y + 1, x + 1, c]
                        - sums[t, y, x + 1, c]
                    )


@jit
def gather_cells(
    sums: np.ndarray, corners: np.ndarray, length: int, tall: int, wide: int, out: np.ndarray
) -> None:
    """Write the sums of all cells of blocks at ``corners`` (n, 3) to ``out`` (n, cells, c)."""
    n_channels = out.shape[2]
    for i in range(corners.shape[0]):
        for k in range(TIMES):
            t0 = corners[i, 0] + k * length // TIMES
            t1 = max(t0 + 1, corners[i, 0] + (k + 1) * length // TIMES)
            for a in range(CELLS):
                y0 = corners[i, 1] + a * tall // CELLS
                y1 = max(y0 + 1, corners[i, 1] + (a + 1) * tall // CELLS)
                for b in range(CELLS):
                    x0 = corners[i, 2] + b * wide // CELLS
                    x1 = max(x0 + 1, corners[i, 2] + (b + 1) * wide // CELLS)
                    cell = (k * CELLS + a) * CELLS + b
                    for c in range(n_channels):
                        after = (
                            sums[t1, y1, x1, c]
                            - sums[t1, y0, x1, c]
                            - sums[t1, y1, x0, c]
                            + sums[t1, y0, x0, c]
                        )
                        before = (
                            sums[t0, y1, x1, c]
                            - sums[t0, y0, x1, c]
                            - sums[t0, y1, x0, c]
                            + sums[t0, y0, x0, c]
                        )
                        out[i, cell, c] = after - before

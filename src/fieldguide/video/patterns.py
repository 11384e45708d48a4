"""Patterns of movement: space-time words that move alike, and how single blocks of a clip move.

What goes to the left in one clip goes to the right in the next, so a word and its mirror image are
one. Words whose blocks mostly move are joined, the most alike first: average linkage of

    d(a, b) = min(|a − b|, |mirror(a) − b|)

between their descriptors, of which both halves are unit vectors. Every group on the way, from a
few words to all of them, is a pattern; which of them tell anything is for whoever counts them.

How a block moves is the mean of the flow over those of its pixels that do not stand still.
"""

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_number
from fieldguide.video.clips import check_flow
from fieldguide.video.space_time_words import (
    CELLS,
    DIRECTIONS,
    N_CELLS,
    ORIENTATIONS,
    TIMES,
    Blocks,
    SpaceTimeWords,
)

_N_HOG = N_CELLS * ORIENTATIONS


class BlockMoves(NamedTuple):
    """How each block of a clip moves.

    Examples
    --------
    >>> one = np.array([[1.0, 0.0]]), np.array([[1.0, 0.2, 0.2]]), np.array([1.2]), np.array([0.4])
    >>> BlockMoves(*one).speed.tolist()
    [1.2]
    """

    step: np.ndarray  # (n, 2) mean of the pixels that move: to the right and down, px per frame
    ways: np.ndarray  # (n, 3) the same to either side, up, and down, each counted by itself
    speed: np.ndarray  # (n,) mean of the same pixels, px per frame
    share: np.ndarray  # (n,) of the pixels, that move


def group_words(
    words: SpaceTimeWords, *, least_moving: float = 0.5, least_words: int = 3
) -> np.ndarray:
    """Return which space-time words make each pattern of movement.

    Parameters
    ----------
    words : SpaceTimeWords
        Fitted. Memory grows with the square of the number of words that move.
    least_moving : float
        Share of a word's histogram of flow that must not stand still.
    least_words : int
        Of a pattern: single words are often those of one clip.

    Returns
    -------
    ndarray of shape (n_patterns, n_words), bool
        Patterns hold one another: small ones first. None where fewer words move than asked for.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimen_clips
    >>> from fieldguide.video import SpaceTimeWords, group_words
    >>> clips = load_specimen_clips(n_per_action=1, n_frames=8, size_px=64).clips
    >>> words = SpaceTimeWords(n_words=20, sizes=((18, 6),)).fit(clips)
    >>> patterns = group_words(words)
    >>> patterns.shape[1], bool((patterns.sum(axis=1) >= 3).all())
    (20, True)
    """
    from scipy.cluster.hierarchy import average
    from scipy.spatial.distance import cdist, squareform

    check_is_fitted(words)
    check_number("group_words", "least_moving", least_moving, 0, 1)
    check_number("group_words", "least_words", least_words, 1, 1_000_000, integer=True)
    moving = np.flatnonzero(measure_moving(words.words_) >= least_moving)
    if len(moving) < max(2, least_words):
        return np.zeros((0, words.n_words), dtype=bool)
    own = words.words_[moving].astype(np.float64)
    apart = np.minimum(cdist(own, own), cdist(mirror_words(own), own))
    apart = (apart + apart.T) / 2
    np.fill_diagonal(apart, 0)
    members = [{int(k)} for k in moving]
    for a, b, *_ in average(squareform(apart, checks=False)):
        members.append(members[int(a)] | members[int(b)])
    large = [sorted(each) for each in members if len(each) >= least_words]
    patterns = np.zeros((len(large), words.n_words), dtype=bool)
    for pattern, each in zip(patterns, large, strict=True):
        pattern[each] = True
    return patterns


def measure_blocks(flow: np.ndarray, blocks: Blocks, *, least_flow_px: float = 0.4) -> BlockMoves:
    """Return how the blocks of a clip move.

    Parameters
    ----------
    flow : ndarray of shape (n_frames, height, width, 2)
        Of the frames that the blocks are of: :func:`optical_flow`.
    blocks : Blocks
        Of :meth:`SpaceTimeWords.describe_blocks`.
    least_flow_px : float
        Movement from frame to frame below which a pixel stands still.

    Returns
    -------
    BlockMoves

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.video import Blocks, measure_blocks
    >>> flow = np.zeros((2, 8, 8, 2), np.float32)
    >>> flow[:, :, 4:] = (0.0, -2.0)  # the right half goes up
    >>> whole = Blocks(np.zeros((1, 3)), np.array([[0.5, 3.5, 3.5]]), np.array([[8, 2]]))
    >>> moves = measure_blocks(flow, whole)
    >>> moves.step.tolist(), moves.ways.tolist(), moves.speed.tolist(), moves.share.tolist()
    ([[0.0, -2.0]], [[0.0, 2.0, 0.0]], [2.0], [0.5])
    """
    check_number("measure_blocks", "least_flow_px", least_flow_px, 1e-6, 100)
    flow = check_flow("measure_blocks", flow, np.asarray(flow))
    speed = np.hypot(flow[..., 0], flow[..., 1]).astype(np.float64)
    moves = speed >= least_flow_px
    right, down = flow[..., 0], flow[..., 1]
    ways = (np.abs(right), np.maximum(-down, 0), np.maximum(down, 0))
    values = np.stack([moves, right, down, *ways, speed], axis=-1) * moves[..., None]
    sums = np.zeros((*(n + 1 for n in flow.shape[:3]), values.shape[-1]))
    sums[1:, 1:, 1:] = values.cumsum(axis=0).cumsum(axis=1).cumsum(axis=2)
    size = blocks.sizes[:, [1, 0, 0]]
    low = np.rint(blocks.middles - (size - 1) / 2).astype(np.int64)
    total = _sum_blocks(sums, low, low + size)
    n_moving = np.rint(total[:, 0])
    per_pixel = total[:, 1:] / np.maximum(n_moving, 1)[:, None]
    share = n_moving / np.maximum(size.prod(axis=1), 1)
    return BlockMoves(per_pixel[:, :2], per_pixel[:, 2:5], per_pixel[:, 5], share)


def measure_moving(words: np.ndarray) -> np.ndarray:
    """Return the share of each word's flow, (n,), that does not stand still."""
    flow = (words[:, _N_HOG:].reshape(len(words), N_CELLS, DIRECTIONS + 1) ** 2).sum(axis=1)
    total = flow.sum(axis=1)
    share: np.ndarray = np.where(total > 0, 1 - flow[:, -1] / np.maximum(total, 1e-9), 0)
    return share


def mirror_words(words: np.ndarray) -> np.ndarray:
    """Return the descriptors, (n, WIDTH), of the same blocks seen in a mirror: left is right."""
    cells = (len(words), TIMES, CELLS, CELLS)
    hog = words[:, :_N_HOG].reshape(*cells, ORIENTATIONS)[:, :, :, ::-1]
    hof = words[:, _N_HOG:].reshape(*cells, DIRECTIONS + 1)[:, :, :, ::-1]
    # An angle a becomes half a turn less a; the last bin of the flow is that of what stands still.
    turned = [(ORIENTATIONS - o) % ORIENTATIONS for o in range(ORIENTATIONS)]
    towards = [(DIRECTIONS // 2 - d) % DIRECTIONS for d in range(DIRECTIONS)] + [DIRECTIONS]
    halves = (part.reshape(len(words), -1) for part in (hog[..., turned], hof[..., towards]))
    return np.concatenate(list(halves), axis=1)


def _sum_blocks(sums: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the sums, (n, c), of blocks from ``low`` to before ``high`` as t, y, x."""
    total = np.zeros((len(low), sums.shape[-1]))
    for corner in np.ndindex(2, 2, 2):
        at = np.where(np.array(corner, dtype=bool), high, low)
        total += (-1) ** (3 - sum(corner)) * sums[at[:, 0], at[:, 1], at[:, 2]]
    return total

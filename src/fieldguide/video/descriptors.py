"""What each region of a clip looks like and how it moves: four histograms, from one pass each.

| part | bins |
|---|---|
| words | space-time words of the blocks whose middle lies in the region |
| color | the 65 named colours of :class:`ColorHistogram` |
| texture | uniform local binary patterns of 8 points at 1 px, 59 bins |
| flow | 8 directions, each slow or fast, and still: 17 bins |

A row holds the parts side by side, each with the same sum, and sums to 1: histograms, fit for the
additive kernels. Speeds between slow and fast are shared linearly between the two, directions
likewise between neighbours.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fieldguide.errors import InvalidArgument
from fieldguide.features.color_histogram import COLOUR_NAMES, colour_table
from fieldguide.features.local_binary_patterns import label_patterns, n_bins
from fieldguide.features.transformer import shrink, to_grey
from fieldguide.video.clips import check_flow, check_frames, read_clip
from fieldguide.video.space_time_words import SpaceTimeWords
from fieldguide.video.supervoxels import Supervoxels, shrink_flow

PARTS = ("words", "color", "texture", "flow")
DIRECTIONS = 8
STILL_PX, SLOW_PX, FAST_PX = 0.4, 1.0, 3.0


def supervoxel_features(
    clip: Any,
    regions: Supervoxels,
    words: SpaceTimeWords | None = None,
    *,
    parts: Sequence[str] | None = None,
    flow: Any = None,
) -> np.ndarray:
    """Return the histograms of each region of a clip: a bag.

    Parameters
    ----------
    clip : what :func:`read_clip` takes
    regions : Supervoxels
        Of the same clip.
    words : SpaceTimeWords, optional
        Fitted; needed for the part "words". They look at the clip at their own ``max_side_px``.
    parts : sequence of {"words", "color", "texture", "flow"}, optional
        By default all, without "words" where none are given.
    flow : ndarray of shape (n_frames, height, width, 2), optional
        Found by :func:`optical_flow` if it is not given.

    Returns
    -------
    ndarray of shape (n_regions, n_columns), float32
        Rows sum to 1. A region without the middle of a block has the words of the clip.

    Examples
    --------
    >>> from fieldguide.datasets import load_specimen_clips
    >>> from fieldguide.video import supervoxel_features, supervoxels
    >>> clip = load_specimen_clips(n_per_action=1, n_frames=6, size_px=64).clips[0]
    >>> regions = supervoxels(clip, "voxels", n_regions=9)
    >>> supervoxel_features(clip, regions).shape
    (9, 141)
    """
    owner = "supervoxel_features"
    frames = check_frames(owner, read_clip(clip))
    if frames.shape[:3] != regions.labels.shape:
        raise InvalidArgument(
            f"regions of {owner} must be those of the clip, of shape {frames.shape[:3]}; they are "
            f"of one of {regions.labels.shape}: cut the same clip."
        )
    chosen = PARTS[words is None :] if parts is None else parts
    if not len(chosen) or not set(chosen) <= set(PARTS) or ("words" in chosen and words is None):
        raise InvalidArgument(
            f"parts of {owner} must be some of {', '.join(map(repr, PARTS))}, and 'words' needs a "
            f"fitted SpaceTimeWords; got {chosen!r}."
        )
    moves = check_flow(owner, flow, frames) if {"words", "flow"} & set(chosen) else None
    rows = []
    for part in chosen:
        if part == "words":
            assert words is not None
            counts = count_words(regions, *place_words(words, frames, moves), words.n_words)
        elif part == "color":
            counts = count_colours(regions, frames)
        elif part == "texture":
            patterns = np.stack([label_patterns(to_grey(frame), 8, 1.0) for frame in frames])
            counts = add_shares(regions, patterns, None, n_bins(8))
        else:
            assert moves is not None
            counts = count_flow(regions, moves)
        rows.append(counts / counts.sum(axis=1, keepdims=True) / len(chosen))
    return np.concatenate(rows, axis=1).astype(np.float32)


def place_words(
    words: SpaceTimeWords, frames: np.ndarray, flow: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the word of each block and its middle in the clip's own frames and pixels."""
    small = np.stack([shrink(frame, words.max_side_px) for frame in frames])
    assert flow is not None
    if small.shape == frames.shape:
        return words.assign(frames, flow)
    scale = np.array([small.shape[2] / frames.shape[2], small.shape[1] / frames.shape[1]])
    word, middles = words.assign(small, shrink_flow(flow, small.shape[1:3]) * scale)
    return word, (middles + 0.5) / np.array([1, scale[1], scale[0]]) - 0.5


def count_words(
    regions: Supervoxels, word: np.ndarray, middles: np.ndarray, n_words: int
) -> np.ndarray:
    """Return how often each word has its middle in each region, (m, n_words)."""
    t, y, x = (middles + 0.5).astype(np.int64).T
    region = regions.labels[t, y, x].astype(np.int64)
    counts = np.bincount(region * n_words + word, minlength=regions.n_regions * n_words)
    counts = counts.reshape(regions.n_regions, n_words).astype(float)
    counts[~counts.any(axis=1)] = counts.sum(axis=0)
    return counts


def count_colours(regions: Supervoxels, frames: np.ndarray) -> np.ndarray:
    """Return how much of each named colour each region has, (m, 65)."""
    bins, shares = colour_table()
    red, green, blue = (frames[..., k].astype(np.int64) >> 3 for k in range(3))
    code = (red << 10) | (green << 5) | blue
    n = len(COLOUR_NAMES)
    return sum(
        (add_shares(regions, bins[code, k], shares[code, k], n) for k in range(bins.shape[1])),
        start=np.zeros((regions.n_regions, n)),
    )


def count_flow(regions: Supervoxels, flow: np.ndarray) -> np.ndarray:
    """Return how much of each region moves where and how fast, (m, 17)."""
    speed = np.hypot(flow[..., 0], flow[..., 1])
    at = (np.arctan2(flow[..., 1], flow[..., 0]) / (2 * np.pi) % 1) * DIRECTIONS
    low = at.astype(np.int64)
    turn = at - low
    fast = np.clip((speed - SLOW_PX) / (FAST_PX - SLOW_PX), 0, 1)
    is_still = speed < STILL_PX
    n = 2 * DIRECTIONS + 1
    counts = add_shares(regions, np.full(speed.shape, n - 1), is_still, n)
    for place, share in ((low, 1 - turn), (low + 1, turn)):
        for first, pace in ((0, 1 - fast), (DIRECTIONS, fast)):
            counts += add_shares(
                regions, first + place % DIRECTIONS, np.where(is_still, 0, share * pace), n
            )
    return counts


def add_shares(
    regions: Supervoxels, bins: np.ndarray, shares: np.ndarray | None, n: int
) -> np.ndarray:
    """Return the sum of shares (1 if None) of all pixels by region and bin, (m, n)."""
    place = regions.labels.astype(np.int64) * n + bins
    weights = None if shares is None else shares.ravel()
    counts = np.bincount(place.ravel(), weights, minlength=regions.n_regions * n)
    return counts.reshape(regions.n_regions, n).astype(float)

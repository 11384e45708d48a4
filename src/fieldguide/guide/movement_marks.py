"""Marks of movement: patterns of space-time words that set a kind apart from the others.

A pattern is a group of words that move alike, mirror images taken as one
(:func:`~fieldguide.video.group_words`). A clip shows it where it has 1.25 times as many blocks of
it, for its size, as clips have in the mean. A pattern is a mark of a kind where it passes all of

========  =====================================================================================
true      the rule of all marks (:mod:`fieldguide.guide.apart`), on clips that did not choose it
exact     it adds to the score by which a key names clips of the kind that it has not seen, in
          most of those that show it. The χ² kernel is a sum over words, so that what a pattern
          adds is the score less that of the clip without it
readable  it is said by what its blocks do: where to, how fast, how high in the frame
========  =====================================================================================

Those with the largest difference of shares are kept, one of those that the same clips show: of
drawn clips, whose movement is known, 28 of 30 kinds get a mark so, 23 by the concert of votes and
16 by the convex selection for χ², and what is said is as often true
(``benchmarks/problems/clip_marks.py``).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from fieldguide._random import deal_folds
from fieldguide.guide.apart import MOST_ELSEWHERE, N_FOLDS, Passed, count_shows, find_marks
from fieldguide.identify import OneVsAllClassifier

SHOWN_ABOVE = 1.25  # times the mean share of a pattern over clips
N_MARKS = 3  # of a kind
ALIKE = 0.5  # correlation over clips, from which on two patterns are one
LEAST_ADDING = 0.6  # share of the clips that show a mark, to whose score it must add
LEAST_PART = 0.1  # of the pixels of a block, that must move for it to be measured
LEAST_WAY = 0.6  # share of its steps that must go one way, for the way to be said alone
LEAST_HEIGHT = 0.6  # share of its blocks that must be so high in the frame
LEAST_BACK = 0.25  # of what it goes up and down, that must go up, and down
SIDEWAYS, UP, DOWN, UP_AND_DOWN = "sideways", "up", "down", "up and down"
UP_ASLANT, DOWN_ASLANT, IN_ARCS = "up aslant", "down aslant", "in arcs"
WAYS = (SIDEWAYS, UP, DOWN, UP_AND_DOWN, UP_ASLANT, DOWN_ASLANT, IN_ARCS)
HIGH, MIDDLE, LOW, ANYWHERE = "high", "middle", "low", ""
HEIGHTS = (HIGH, MIDDLE, LOW, ANYWHERE)
PACKED_WIDTH = 13  # of Moving.pack
MOMENT_PX, MOMENT_GAP_PX, N_MOMENTS = 96, 3, 3  # of the strip that shows a mark
_AROUND = 2.6  # times a block's side, that is shown around it

Box = tuple[float, float, float, float]


class MovementMark(NamedTuple):
    """A pattern of movement that sets a kind apart from all others.

    Examples
    --------
    >>> mark = MovementMark("up", 0.2, "middle", 0.14, 0.7, 9, 12, 1, 36, 0.3)
    >>> mark.way, mark.n_own / mark.of_own
    ('up', 0.75)
    """

    way: str  # one of WAYS
    speed: float  # a second, in shares of the longer side of the frame
    height: str  # high, middle or low in the frame; "" where it is at any height
    side: float  # of its blocks, in shares of the longer side of the frame
    seconds: float  # that its blocks last
    n_own: int  # clips of the kind that show it, none of which chose it
    of_own: int
    n_other: int  # clips of all other kinds that show it
    of_other: int
    adds: float  # to the score of the kind, in the mean over its clips that show it


class SeenMark(NamedTuple):
    """Where a clip shows a mark of its kind.

    Examples
    --------
    >>> seen = SeenMark(0, 0.2, 0.5, 1.1, "pictures/frames/0a.jpg", (0.3, 0.3, 0.7, 0.7), (0.2, 0))
    >>> round(seen.end_s - seen.start_s, 1)
    0.6
    """

    mark: int  # place among the marks of the kind
    adds: float  # to the score of the kind, by a key that has not seen the clip
    start_s: float
    end_s: float
    picture: str  # address inside the guide: the moments of one block side by side
    box: Box  # of the block, in shares of each moment
    move: tuple[float, float]  # to the right and down while it lasts, in shares of a moment


class Moving(NamedTuple):
    """The blocks of a clip that move."""

    word: np.ndarray  # (m,)
    middle: np.ndarray  # (m, 3) t, y, x
    size: np.ndarray  # (m, 2) side in pixels, length in frames
    step: np.ndarray  # (m, 2) to the right and down, pixels per frame
    ways: np.ndarray  # (m, 3) to either side, up, and down, pixels per frame
    speed: np.ndarray  # (m,) pixels per frame
    share: np.ndarray  # (m,) of the pixels, that moves

    def find_span(self, block: int) -> tuple[int, int]:
        """Return the first and last frame of a block."""
        length = int(self.size[block, 1])
        first = round(float(self.middle[block, 0]) - (length - 1) / 2)
        return first, first + length - 1

    def pack(self) -> np.ndarray:
        """Return all as one array of floats, (m, 13)."""
        columns = [part.reshape(len(self.word), -1) for part in self]
        return np.concatenate(columns, axis=1).astype(np.float32)

    @classmethod
    def unpack(cls, rows: np.ndarray) -> "Moving":
        """Return the blocks of such an array."""
        size = rows[:, 4:6].astype(np.int64)
        word = rows[:, 0].astype(np.int64)
        return cls(word, rows[:, 1:4], size, rows[:, 6:8], rows[:, 8:11], *rows[:, 11:].T)


class Watched(NamedTuple):
    """A clip whose blocks are measured."""

    moving: Moving
    height: int  # of a frame, in pixels
    width: int
    apart_s: float  # from frame to frame


def find_moving(words: Any, frames: np.ndarray, flow: np.ndarray) -> tuple[np.ndarray, Moving]:
    """Return the histogram of the words of a clip, and its blocks that move."""
    from fieldguide.video import measure_blocks

    blocks = words.describe_blocks(frames, flow)
    word = words.name_blocks(blocks)
    moves = measure_blocks(flow, blocks)
    row = (np.bincount(word, minlength=words.n_words) / len(word)).astype(np.float32)
    parts = Moving(word, blocks.middles, blocks.sizes, *moves)
    is_moving = moves.share >= LEAST_PART
    return row, Moving(*(part[is_moving] for part in parts))


class HeldOutKeys(NamedTuple):
    """A χ² key of histograms of words: what it says of each clip, trained without the clip's fold,
    and the sums by which it says so."""

    rows: np.ndarray  # (n, n_words)
    kinds: np.ndarray  # (n,) the number of the kind of each row
    folds: np.ndarray  # (n,)
    keys: list[OneVsAllClassifier]  # each trained without a fold
    answer: np.ndarray  # (n,) numbers of kinds
    confidence: np.ndarray  # (n,)

    def find_scores(self, ids: np.ndarray, without: np.ndarray | None = None) -> np.ndarray:
        """Return the score of its own kind for each clip, by the key that has not seen it.

        ``without`` some words, (n_words,) bool, as if the clip had no block of them.
        """
        rows = self.rows[ids] if without is None else np.where(without, 0, self.rows[ids])
        scores = np.empty(len(ids))
        for fold, key in enumerate(self.keys):
            own = np.flatnonzero(self.folds[ids] == fold)
            if len(own):
                margins = key.decision_function(rows[own])
                if margins.ndim == 1:
                    margins = np.stack([-margins, margins], axis=1)
                scores[own] = margins[np.arange(len(own)), self.kinds[ids[own]]]
        return scores


class ChosenMark(NamedTuple):
    """A pattern that is a mark of a kind, and what shows it."""

    words: np.ndarray  # (n_words,) bool
    passed: Passed
    ids: np.ndarray  # the clips of the kind that show it
    adds: np.ndarray  # to the score of each of these


def train_held_out(
    rows: np.ndarray, kinds: np.ndarray, *, seed: int, n_jobs: int | None
) -> HeldOutKeys:
    """Return what a key says of clips whose fold it has not seen, and the keys of the folds."""

    def train(is_in: np.ndarray, probability: bool) -> OneVsAllClassifier:
        key = OneVsAllClassifier(
            10.0, "chi2", probability=probability, random_state=seed, n_jobs=n_jobs
        )
        return key.fit(rows[is_in], kinds[is_in])

    told = train(np.full(len(kinds), True), True).held_out_
    assert told is not None
    folds = deal_folds(kinds, N_FOLDS, seed)  # as the key deals them
    keys = [train(folds != fold, False) for fold in range(N_FOLDS)]
    return HeldOutKeys(rows, kinds, folds, keys, told.answer, told.confidence)


def choose_marks(patterns: np.ndarray, held_out: HeldOutKeys) -> list[list[ChosenMark]]:
    """Return the marks of each kind, the most telling first; ``patterns`` are of words, bool."""
    shares = held_out.rows @ patterns.T
    shows = shares > SHOWN_ABOVE * shares.mean(axis=0)
    counts = count_shows(shows, held_out.kinds, held_out.folds)
    n_kinds = len(counts.n)
    chosen = []
    for k in range(n_kinds):
        kept: list[ChosenMark] = []
        columns: list[int] = []
        own = np.flatnonzero(held_out.kinds == k)
        scores = held_out.find_scores(own)
        for passed in find_marks(counts, k, [j for j in range(n_kinds) if j != k], MOST_ELSEWHERE):
            if any(_correlate(shows[:, passed.column], shows[:, j]) >= ALIKE for j in columns):
                continue
            words, is_seen = patterns[passed.column], shows[own, passed.column]
            adds = (scores - held_out.find_scores(own, words))[is_seen]
            if (adds > 0).mean() >= LEAST_ADDING and adds.mean() > 0:
                kept.append(ChosenMark(words, passed, own[is_seen], adds))
                columns.append(passed.column)
            if len(kept) == N_MARKS:
                break
        chosen.append(kept)
    return chosen


def measure_mark(mark: ChosenMark, clips: Sequence[Watched]) -> MovementMark | None:
    """Return what the blocks of a mark do in the clips that show it; None where none moves enough
    to say so."""
    ways, heights, speeds, sides, lengths = [], [], [], [], []
    for i in mark.ids.tolist():
        blocks, (_, height, width, apart_s) = find_blocks(mark, clips[i].moving), clips[i]
        if len(blocks.word):
            longer = max(height, width)
            ways.append(share_ways(blocks))
            thirds = np.minimum((blocks.middle[:, 1] + 0.5) * 3 / height, 2).astype(np.int64)
            heights.append(np.bincount(thirds, minlength=3) / len(thirds))
            speeds.append(blocks.speed.mean() / longer / apart_s)
            sides.append(np.median(blocks.size[:, 0]) / longer)
            lengths.append(np.median(blocks.size[:, 1]) * apart_s)
    if not ways:
        return None
    third = np.mean(heights, axis=0)
    return MovementMark(
        name_way(np.mean(ways, axis=0)),
        round(float(np.median(speeds)), 3),
        HEIGHTS[int(third.argmax())] if third.max() >= LEAST_HEIGHT else ANYWHERE,
        round(float(np.median(sides)), 3),
        round(float(np.median(lengths)), 3),
        *mark.passed[1:],
        round(float(mark.adds.mean()), 4),
    )


def find_blocks(mark: ChosenMark, clip: Moving) -> Moving:
    """Return the blocks of a clip that are of a mark and move enough to be measured."""
    is_own = mark.words[clip.word]
    return Moving(*(part[is_own] for part in clip))


def share_ways(blocks: Moving) -> np.ndarray:
    """Return the shares of their steps that go to either side, up, and down, (3,)."""
    total = blocks.ways.sum(axis=0)
    shares: np.ndarray = total / max(total.sum(), 1e-9)
    return shares


def name_way(shares: np.ndarray) -> str:
    """Say where to blocks go of whose steps such shares go to either side, up, and down.

    >>> [name_way(np.array(each)) for each in ([0.1, 0.9, 0], [0.2, 0.4, 0.4], [0.5, 0.25, 0.25])]
    ['up', 'up and down', 'in arcs']
    """
    best = int(shares.argmax())
    if shares[best] >= LEAST_WAY:
        return WAYS[best]
    comes_back = shares[1:].min() >= LEAST_BACK * shares[1:].sum()
    if comes_back:
        return UP_AND_DOWN if shares[0] <= 1 - LEAST_WAY else IN_ARCS
    return UP_ASLANT if shares[1] > shares[2] else DOWN_ASLANT


def choose_block(mark: ChosenMark, clip: Moving, way: str) -> int | None:
    """Return the block of a clip that shows a mark best: most of it moves, and the way it is said
    to; None where no block of it moves."""
    is_own = np.flatnonzero(mark.words[clip.word])
    if not len(is_own):
        return None
    total = np.maximum(clip.ways[is_own].sum(axis=1, keepdims=True), 1e-9)
    across, up, down = (clip.ways[is_own] / total).T
    back = 2 * np.minimum(up, down)
    along = {
        SIDEWAYS: across,
        UP: up,
        DOWN: down,
        UP_AND_DOWN: back,
        UP_ASLANT: np.minimum(up, across),
        DOWN_ASLANT: np.minimum(down, across),
        IN_ARCS: np.minimum(back, across),
    }
    return int(is_own[(clip.share[is_own] * along[way]).argmax()])


def cut_moments(frames: np.ndarray, clip: Moving, block: int) -> tuple[Image.Image, Box, Any]:
    """Return the first, middle and last frame of a block side by side, as much around it as in
    it; where it is in each, and how far it moves meanwhile, in shares of one."""
    side, length = (int(n) for n in clip.size[block])
    _, y, x = (float(at) for at in clip.middle[block])
    first, last = clip.find_span(block)
    height, width = frames.shape[1:3]
    whole = min(_AROUND * side, height, width)
    left, top = (
        min(max(at + 0.5 - whole / 2, 0), most - whole) for at, most in ((x, width), (y, height))
    )
    size = (MOMENT_PX, MOMENT_PX)
    strip = Image.new("RGB", (N_MOMENTS * (MOMENT_PX + MOMENT_GAP_PX) - MOMENT_GAP_PX, MOMENT_PX))
    strip.paste((255, 255, 255), (0, 0, *strip.size))
    for k, at in enumerate(np.linspace(first, last, N_MOMENTS).round().astype(int)):
        frame = Image.fromarray(frames[at])
        window = frame.resize(
            size, Image.Resampling.BICUBIC, box=(left, top, left + whole, top + whole)
        )
        strip.paste(window, (k * (MOMENT_PX + MOMENT_GAP_PX), 0))
    corner = (x + 0.5 - side / 2 - left) / whole, (y + 0.5 - side / 2 - top) / whole
    ends = (*corner, *(low + side / whole for low in corner))
    x0, y0, x1, y1 = (round(min(max(each, 0.0), 1.0), 4) for each in ends)
    move = tuple(round(float(d) * (length - 1) / whole, 4) for d in clip.step[block])
    return strip, (x0, y0, x1, y1), move


def _correlate(a: np.ndarray, b: np.ndarray) -> float:
    spread: Any = a.std() * b.std()
    return float(((a * b).mean() - a.mean() * b.mean()) / spread) if spread > 0 else 1.0

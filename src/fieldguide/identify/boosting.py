"""AdaBoost with decision stumps, and the split of many classes into two, on binned features.

    h_t(x) = ±1 by one question: is feature j of x at least v?
    α_t = ½ ln((1 − ε_t) / ε_t),   H(x) = Σ_t α_t h_t(x),   p(+1 | x) = 1 / (1 + exp(−H(x)))

Each round takes the stump of least weighted error ε_t, and multiplies the weights of the rows that
it gets wrong by (1 − ε_t) / ε_t. Up to a common factor that is AdaBoost's update, and it leaves
the other rows alone: the sums per feature and level, from which all stumps are judged, change by
the wrong rows only. Weights are whole numbers (:func:`count_weights`), so the sums stay exact.

The two super-classes of a node come from the one question with the least entropy of classes,

    Z_l H(his_l) + Z_r H(his_r),

where his are the shares of the classes in the weight Z of a side: a class goes where it has more
weight.

=====  ==============================================================
j, v   feature and level; levels of :mod:`fieldguide.identify.binning`
ε, γ   weighted error of a stump, and the largest that is taken
=====  ==============================================================

References: Y. Freund, R. E. Schapire, "A decision-theoretic generalization of on-line learning"
(1995); P. Panda, K. Roy, "Attention Tree", Algorithms 1 and 2.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy.special import expit

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument
from fieldguide.identify import _boosting
from fieldguide.identify._boosting import LEVELS, WIDTH
from fieldguide.identify.binning import Binned

_WEIGHT_BITS = 36  # all weights together, at first: seven digits for each of ten thousand rows
_MOST_WEIGHT = 2**60  # each round at most doubles it
# A stump without error would have an infinite voice.
_LEAST_ERROR = 2.0**-40
_WORTH_LISTS = 8  # rounds
_RARE = 0.4  # largest share of raised entries of a block for which a list is quicker
_WORTH_THREADS = 2**22  # levels; below, a round is over before a second thread has begun


class Subset(NamedTuple):
    """Some rows, in blocks of the columns in which they differ; made by :func:`gather`."""

    rows: np.ndarray  # (m,) numbers of rows
    features: np.ndarray  # (d,) numbers of columns, ascending
    low: np.ndarray  # (n_blocks × WIDTH,) least level of each; 0 for columns that fill a block
    high: np.ndarray  # (n_blocks × WIDTH,) largest level of each
    blocks: np.ndarray  # (n_blocks, m × WIDTH) uint8

    def levels(self, place: int) -> np.ndarray:
        """Return the levels of the rows in column ``features[place]``."""
        return self.blocks[place // WIDTH, place % WIDTH :: WIDTH]


class NodeStumps(NamedTuple):
    """Questions with a voice each; from the threshold on, a stump says its side."""

    feature: np.ndarray  # (n_stumps,)
    threshold: np.ndarray  # (n_stumps,) level, 1 or more
    side: np.ndarray  # (n_stumps,) −1 or +1
    error: np.ndarray  # (n_stumps,) weighted error in its round
    alpha: np.ndarray  # (n_stumps,)

    def evaluate(self, levels: np.ndarray) -> np.ndarray:
        """Return H of rows of levels, (n,)."""
        score = np.zeros(len(levels))
        for feature, threshold, side, _, alpha in zip(*self, strict=True):
            score += np.where(levels[:, feature] >= threshold, side * alpha, -side * alpha)
        return score


class Boosted(NamedTuple):
    """What AdaBoost made of some rows."""

    stumps: NodeStumps
    score: np.ndarray  # (m,) H of the rows it was trained on


class ClassSplit(NamedTuple):
    """Classes in two groups, by the question that tells most about them."""

    feature: int
    threshold: int
    entropy: float  # of the classes on both sides, in bits per unit of weight
    side: np.ndarray  # (n_classes,) int8: −1 or +1; 0 for a class without rows


def count_weights(weight: np.ndarray) -> np.ndarray:
    """Return weights as whole numbers with a sum of about 2^36, none below 1."""
    total = weight.sum()
    if not (np.isfinite(total) and (weight > 0).all()):
        raise InvalidArgument(
            "weights of rows must be finite and above 0; leave out the rows that have none."
        )
    share = weight / total
    whole: np.ndarray = np.maximum(np.rint(share * 2.0**_WEIGHT_BITS), 1).astype(np.int64)
    return whole


def gather(binned: Binned, rows: np.ndarray) -> Subset:
    """Copy some rows into the layout of the passes; columns that are the same in all are left out.

    A node asks about its rows some fifty times: one copy pays.
    """
    rows = np.ascontiguousarray(rows, dtype=np.int64)
    d = binned.levels.shape[1]
    low, high = np.empty((2, d), dtype=np.uint8)
    _boosting.find_range(binned.levels, rows, low, high)
    features = np.flatnonzero(low < high)
    n_blocks = -(-len(features) // WIDTH)
    blocks = np.zeros((n_blocks, len(rows) * WIDTH), dtype=np.uint8)
    _boosting.gather_blocks(binned.levels, rows, features, blocks)
    ends = np.zeros((2, n_blocks * WIDTH), dtype=np.int64)
    ends[:, : len(features)] = low[features], high[features]
    return Subset(rows, features, ends[0], ends[1], blocks)


def boost(
    subset: Subset,
    sign: np.ndarray,
    weight: np.ndarray | None = None,
    *,
    n_rounds: int = 50,
    gamma: float = 0.48,
    n_jobs: int | None = None,
) -> Boosted:
    """Train stumps on the signs of rows.

    Parameters
    ----------
    subset : Subset
        The rows, from :func:`gather`.
    sign : array of shape (m,)
        −1 or +1.
    weight : array of shape (m,), optional
        Above 0; 1 by default.
    n_rounds : int
        Most stumps.
    gamma : float
        No stump with a larger weighted error is taken, and none after it; in [0, 0.5].
    n_jobs : int, optional
        Threads, each with its own features; the stumps do not depend on it.

    Returns
    -------
    Boosted
        A stump without error is the only one: its voice is that of an error of 2^−40.

    Examples
    --------
    >>> from fieldguide.identify.binning import bin_features
    >>> binned = bin_features(np.array([[0.0], [1.0], [2.0], [3.0]]))
    >>> found = boost(gather(binned, np.arange(4)), np.array([-1, 1, -1, 1]), n_rounds=3)
    >>> found.stumps.threshold.tolist(), found.stumps.side.tolist()
    ([1, 3, 2], [1, 1, -1])
    """
    check_number("boost", "n_rounds", n_rounds, 1, 2**31 - 1, integer=True)
    check_number("boost", "gamma", gamma, 0, 0.5)
    m = len(subset.rows)
    sign = np.ascontiguousarray(sign, dtype=np.int64)
    counts = count_weights(np.ones(m) if weight is None else np.asarray(weight, dtype=np.float64))
    sums = np.zeros((len(subset.blocks), WIDTH * LEVELS), dtype=np.int64)
    rows, amounts = np.arange(m, dtype=np.uint64), counts * sign
    total, score, n_changed = int(counts.sum()), np.zeros(m), m
    # Lists cost as much as a few rounds: many nodes need but one.
    lists = np.empty(0, dtype=np.uint16), np.zeros((len(subset.blocks), 1), dtype=np.int64)
    made: list[tuple[int, int, int, float, float]] = []
    with _open_search(subset, n_jobs) as search:
        while len(made) < n_rounds:
            if len(made) == 1 and n_rounds >= _WORTH_LISTS:
                lists = _list_raised(subset)
            changed = (*lists, rows[:n_changed], amounts[:n_changed])
            ends = (sums, subset.low, subset.high, int(counts @ sign))
            found = search(_boosting.add_and_find, *changed, *ends)
            # Of equal edges the one of the lowest feature comes first.
            edge, place, threshold = max(found, key=lambda stump: abs(stump[0]))
            wrong = (total - abs(edge)) // 2
            error = wrong / total
            if place < 0 or error > gamma:
                break
            side = 1 if edge > 0 else -1
            alpha = 0.5 * np.log((1 - error) / error) if wrong else 0.5 * -np.log(_LEAST_ERROR)
            made.append((int(subset.features[place]), threshold, side, error, alpha))
            factor = (total - wrong) / wrong if wrong else 1.0
            block, column = subset.blocks[place // WIDTH], place % WIDTH
            n_changed, gain = _boosting.reweigh(
                block, column, threshold, side, alpha, factor, sign, counts, score, rows, amounts
            )
            total += gain
            if not wrong:
                break
            if total > _MOST_WEIGHT:
                counts = count_weights(counts.astype(np.float64))
                rows, amounts, n_changed = np.arange(m, dtype=np.uint64), counts * sign, m
                total, sums = int(counts.sum()), np.zeros_like(sums)
    return Boosted(_to_stumps(made), score)


def probability(score: np.ndarray) -> np.ndarray:
    """Return p(+1 | x) = 1 / (1 + exp(−H(x)))."""
    p: np.ndarray = expit(score)
    return p


def split_classes(
    subset: Subset,
    index: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None = None,
    *,
    skip: tuple[int, ...] = (),
    n_jobs: int | None = None,
) -> ClassSplit | None:
    """Return the classes of some rows as two super-classes; None where no question parts the rows.

    Parameters
    ----------
    subset : Subset
        The rows, from :func:`gather`.
    index : array of shape (m,)
        The class of each row; two classes or more.
    n_classes : int
    weight : array of shape (m,), optional
        Above 0; 1 by default.
    skip : tuple of int
        Features that are not asked about.
    n_jobs : int, optional
        Threads, each with its own features; the split does not depend on it.
    """
    high = subset.high.copy()
    skipped = np.flatnonzero(np.isin(subset.features, skip))
    high[skipped] = subset.low[skipped]
    if len(skipped) == len(subset.features):
        return None
    m = len(subset.rows)
    counts = count_weights(np.ones(m) if weight is None else np.asarray(weight, dtype=np.float64))
    present, group = np.unique(index, return_inverse=True)
    exact = counts.astype(np.float64)
    whole = np.bincount(group, weights=exact)
    with _open_search(subset, n_jobs) as search:
        found = search(_boosting.find_split, group, exact, whole, subset.low, high)
    entropy, place, threshold = min(found, key=lambda split: split[0])
    left, right = np.zeros((2, len(present)))
    block = subset.blocks[place // WIDTH]
    _boosting.sum_sides(block, place % WIDTH, threshold, group, exact, left, right)
    side = np.zeros(n_classes, dtype=np.int8)
    side[present] = choose_sides(left, right)
    feature = int(subset.features[place])
    return ClassSplit(feature, int(threshold), float(entropy / whole.sum()), side)


def choose_sides(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return −1 for each class with at least half its weight on the left, else +1.

    Where all have the same side, the class with the largest share on the other one goes there.
    """
    side = np.where(left >= right, -1, 1)
    if len(side) > 1 and abs(side.sum()) == len(side):
        other = right if side[0] < 0 else left
        side[np.argmax(other / (left + right))] *= -1
    return side


def _list_raised(subset: Subset) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries above the lowest level of their column, row by row, of sparse blocks.

    Blocks with many of them have none in the list.
    """
    low = subset.low.astype(np.uint8).reshape(-1, WIDTH)
    counts = [
        _boosting.count_raised(block, own) for block, own in zip(subset.blocks, low, strict=True)
    ]
    is_listed = [count <= _RARE * subset.blocks.shape[1] for count in counts]
    n_listed = sum(count for count, listed in zip(counts, is_listed, strict=True) if listed)
    entries = np.empty(n_listed + 1, dtype=np.uint16)  # the writer is one place ahead
    starts = np.zeros((len(subset.blocks), len(subset.rows) + 1), dtype=np.int64)
    at = 0
    for b in np.flatnonzero(is_listed):
        _boosting.list_raised(subset.blocks[b], low[b], at, starts[b], entries)
        at = int(starts[b, -1])
    return entries, starts


@contextmanager
def _open_search(subset: Subset, n_jobs: int | None) -> Iterator[Callable[..., list[Any]]]:
    """Yield a function that runs a search over parts of the blocks, results in their order."""
    n_parts = effective_n_jobs(n_jobs) if subset.blocks.size >= _WORTH_THREADS else 1
    n_parts = max(1, min(n_parts, len(subset.blocks)))
    ends = np.linspace(0, len(subset.blocks), n_parts + 1).astype(int).tolist()
    parts = list(pairwise(ends))
    if n_parts == 1:
        yield lambda search, *rest: [search(subset.blocks, *parts[0], *rest)]
        return
    with ThreadPoolExecutor(n_parts) as pool:

        def run(search: Callable[..., Any], *rest: Any) -> list[Any]:
            waiting = [pool.submit(search, subset.blocks, *part, *rest) for part in parts]
            return [answer.result() for answer in waiting]

        yield run


def _to_stumps(made: list[tuple[int, int, int, float, float]]) -> NodeStumps:
    feature, threshold, side, error, alpha = zip(*made, strict=True) if made else ((),) * 5
    return NodeStumps(
        np.array(feature, dtype=np.int64),
        np.array(threshold, dtype=np.int64),
        np.array(side, dtype=np.int64),
        np.array(error, dtype=np.float64),
        np.array(alpha, dtype=np.float64),
    )

"""Compiled passes over the levels of a node's rows: sums per level, best stump, best split.

Weights are whole numbers, so that every sum is exact: it does not depend on the order of rows or
on the number of threads, sums may be carried on from round to round, and equal stumps have equal
errors to the last bit. Columns stand in blocks of :data:`WIDTH`: a row of a block is one line of
the cache, and the sums of a block stay in the fastest cache while its rows stream through.
"""

import math

import numpy as np

from fieldguide._arrays import Floats, Int, Ints
from fieldguide._jit import inner_jit, jit

LEVELS = 64
WIDTH = 64
_WIDTH = np.uint64(WIDTH)
_WORST: Int = np.int64(np.iinfo(np.int64).max)

# Of log2(m) = s · Σ_k a_k s^2k with s = (m − 1) / (m + 1), for m in [√½, √2).
_A = tuple(2 / math.log(2) / (2 * k + 1) for k in range(11))
_A0, _A1, _A2, _A3, _A4, _A5, _A6, _A7, _A8, _A9, _A10 = _A
_MANTISSA = (1 << 52) - 1
_ROOT_HALF = int(np.float64(math.sqrt(0.5)).view(np.int64))
# Adding it to a number below 2^51 leaves the nearest whole number in the last bits.
_ROUND = 1.5 * 2.0**52
_ROUND_BITS = int(np.float64(_ROUND).view(np.int64))


@jit(counted=False)
def find_range(levels: Ints, rows: Ints, low: Ints, high: Ints) -> None:
    """Write the least and the largest level of each column among some rows; O(rows × d)."""
    low[:] = 255
    high[:] = 0
    for row in rows:
        for j in range(levels.shape[1]):
            low[j] = min(low[j], levels[row, j])
            high[j] = max(high[j], levels[row, j])


@jit(counted=False)
def gather_blocks(levels: Ints, rows: Ints, features: Ints, blocks: Ints) -> None:
    """Copy some rows of some columns into blocks, (n_blocks, m × WIDTH); O(rows × features)."""
    for b in range(blocks.shape[0]):
        first = b * WIDTH
        width = min(WIDTH, len(features) - first)
        for i in range(len(rows)):
            for f in range(width):
                blocks[b, i * WIDTH + f] = levels[rows[i], features[first + f]]


@jit(counted=False)
def count_raised(block: Ints, low: Ints) -> int:
    """Return how many entries of a block are above the lowest level of their column; O(entries)."""
    found = 0
    for i in range(len(block) // WIDTH):
        row = block[i * WIDTH : (i + 1) * WIDTH]
        for f in range(WIDTH):
            found += row[f] > low[f]
    return found


@jit(counted=False)
def list_raised(block: Ints, low: Ints, at: int, starts: Ints, entries: Ints) -> None:
    """Write the places in a block's sums of each row's raised entries, from ``at`` on; O(entries).

    Those of row i then stand at ``entries[starts[i] : starts[i + 1]]``.
    """
    for i in range(len(block) // WIDTH):
        starts[i] = at
        row = block[i * WIDTH : (i + 1) * WIDTH]
        for f in range(WIDTH):
            entries[at] = np.uint16(row[f]) * WIDTH + f
            at += row[f] > low[f]
    starts[len(block) // WIDTH] = at


@jit
def add_and_find(
    blocks: Ints, first: int, last: int, entries: Ints, starts: Ints, rows: Ints, amounts: Ints,
    sums: Ints, low: Ints, high: Ints, total: int,
) -> tuple[Int, int, int]:  # fmt: skip
    """Add amounts to the sums per level of some blocks; return the best stump's edge and place.

    ``sums`` is (n_blocks, LEVELS × WIDTH); ``low`` and ``high`` (n_blocks × WIDTH,) are the levels
    of each column, equal for one that fills a block up. The edge of threshold v is Σ amounts at
    levels ≥ v − Σ amounts below; the largest in size is returned, with its sign, the first of
    equal ones. Sums at the lowest level of a column are never read: blocks whose raised entries
    are listed (:func:`list_raised`) leave them out. O((rows + LEVELS) × columns).
    """
    best, place, threshold = np.int64(0), -1, 0
    right = np.empty(WIDTH, dtype=np.int64)
    largest = np.empty(WIDTH, dtype=np.int64)
    for b in range(first, last):
        own = sums[b]
        if starts[b, -1] > starts[b, 0]:
            add_listed(entries, starts[b], rows, amounts, own)
        else:
            add_amounts(blocks[b], rows, amounts, own)
        own_low, own_high = low[b * WIDTH : (b + 1) * WIDTH], high[b * WIDTH : (b + 1) * WIDTH]
        top, bottom = own_high[0], own_low[0]
        for f in range(WIDTH):
            right[f], largest[f] = 0, 0
            top, bottom = max(top, own_high[f]), min(bottom, own_low[f])
        for v in range(top, bottom, -1):
            at_level = own[v * WIDTH : (v + 1) * WIDTH]
            for f in range(WIDTH):
                right[f] += at_level[f]
                # A threshold that all rows pass, or none, asks nothing.
                is_asked = (v > own_low[f]) & (v <= own_high[f])
                largest[f] = max(largest[f], abs(2 * right[f] - total) if is_asked else 0)
        for f in range(WIDTH):
            if largest[f] > abs(best):
                edge = -total
                for v in range(own_high[f], own_low[f], -1):
                    edge += 2 * own[v * WIDTH + f]
                    if abs(edge) == largest[f]:
                        best, place, threshold = edge, b * WIDTH + f, v
    return best, place, threshold


@inner_jit(counted=False)
def add_amounts(block: Ints, rows: Ints, amounts: Ints, sums: Ints) -> None:
    """Add the amount of each row to the sum of its level in every column; O(rows × WIDTH)."""
    for r in range(len(rows)):
        # Unsigned numbers: no test for negative places in the innermost loop.
        at = rows[r] * _WIDTH
        amount = amounts[r]
        for f in range(_WIDTH):
            sums[np.uint64(block[at + f]) * _WIDTH + f] += amount


@inner_jit(counted=False)
def add_listed(entries: Ints, starts: Ints, rows: Ints, amounts: Ints, sums: Ints) -> None:
    """Add the amount of each row at the places listed for it; O(places)."""
    for r in range(len(rows)):
        amount = amounts[r]
        for e in range(starts[rows[r]], starts[rows[r] + np.uint64(1)]):
            sums[entries[e]] += amount


@jit(counted=False)
def reweigh(
    block: Ints, column: int, threshold: int, side: int, alpha: float, factor: float, sign: Ints,
    weight: Ints, score: Floats, rows: Ints, amounts: Ints,
) -> tuple[int, Int]:  # fmt: skip
    """Let a stump speak: add it to the score, raise the weights of the rows that it gets wrong.

    Their places and the changes of weight · sign are written first in ``rows`` and ``amounts``;
    return their number and what all weights gain. O(m).
    """
    n_wrong, gain = 0, np.int64(0)
    for i in range(len(sign)):
        said = side if block[i * WIDTH + column] >= threshold else -side
        score[i] += alpha * said
        if said != sign[i]:
            more = np.int64(np.rint(weight[i] * factor)) - weight[i]
            weight[i] += more
            gain += more
            rows[n_wrong] = np.uint64(i)
            amounts[n_wrong] = more * sign[i]
            n_wrong += 1
    return n_wrong, gain


@jit(counted=False)
def rank_entropy(count: float) -> Int:
    """Return count · log2(count) as the nearest whole number, 0 for 0; count is whole, below 2^44.

    It has no branch, so that loops over it become vector code. The logarithm is exact to the last
    bits: for counts below 2^36 the rounding agrees with that of the C library's log2.
    """
    bits = np.float64(count).view(np.int64) - _ROOT_HALF
    exponent = np.float64(bits >> 52)
    m = np.int64((bits & _MANTISSA) + _ROOT_HALF).view(np.float64)
    s = np.divide(m - 1.0, m + 1.0)
    q = s * s
    high = _A5 + q * (_A6 + q * (_A7 + q * (_A8 + q * (_A9 + q * _A10))))
    series = _A0 + q * (_A1 + q * (_A2 + q * (_A3 + q * (_A4 + q * high))))
    return np.float64(count * (exponent + s * series) + _ROUND).view(np.int64) - _ROUND_BITS


@jit
def find_split(
    blocks: Ints, first: int, last: int, group: Ints, weight: Floats, whole: Floats, low: Ints,
    high: Ints,
) -> tuple[Int, int, int]:  # fmt: skip
    """Return the split of least entropy in some blocks: entropy, place, threshold.

    ``group`` (m,) are the classes of the rows, best ascending; ``weight`` (m,) whole numbers as
    floats, ``whole`` (K,) the weight of each class. The entropy is Σ_sides Z · H, in bits and whole
    numbers; the first of equal splits is returned. O(columns × rows): rows move to the right from
    the highest level on, and only the terms of the classes that move are computed again. Rows at
    the lowest level never move, which are most of them in a histogram of few words.
    """
    m = len(group)
    best, place, threshold = _WORST, -1, 0
    start = np.empty(LEVELS + 1, dtype=np.int64)
    chosen, order = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    moved, moved_end = np.empty(m, dtype=np.int64), np.empty(LEVELS, dtype=np.int64)
    on_left, on_right, above = np.empty(m), np.empty(m), np.empty(LEVELS)
    term, right = np.empty(m, dtype=np.int64), np.empty(len(whole))
    whole_term, own_term = (
        np.empty(len(whole), dtype=np.int64),
        np.empty(len(whole), dtype=np.int64),
    )
    total = 0.0
    for k in range(len(whole)):
        whole_term[k] = rank_entropy(whole[k])
        total += whole[k]
    for b in range(first, last):
        for f in range(WIDTH):
            j = b * WIDTH + f
            if low[j] == high[j]:
                continue
            sort_by_level(blocks[b], f, low[j], chosen, order, start)
            right[:] = 0
            n_moved, so_far = 0, 0.0
            for v in range(high[j], low[j], -1):
                for e in range(start[v], start[v + 1]):
                    i = order[e]
                    k = group[i]
                    right[k] += weight[i]
                    so_far += weight[i]
                    if e + 1 == start[v + 1] or group[order[e + 1]] != k:
                        moved[n_moved] = k
                        on_right[n_moved] = right[k]
                        on_left[n_moved] = whole[k] - right[k]
                        n_moved += 1
                moved_end[v], above[v] = n_moved, so_far
            for e in range(n_moved):
                term[e] = rank_entropy(on_left[e]) + rank_entropy(on_right[e])
            known = 0
            for k in range(len(whole)):
                own_term[k] = whole_term[k]
                known += whole_term[k]
            own_best, own_threshold, e = best, -1, 0
            for v in range(high[j], low[j], -1):
                while e < moved_end[v]:
                    k = moved[e]
                    known += term[e] - own_term[k]
                    own_term[k] = term[e]
                    e += 1
                found = rank_entropy(above[v]) + rank_entropy(total - above[v]) - known
                # Thresholds come from above: of equal ones in a column the last is the lowest.
                if found < own_best or (found == own_best and own_threshold >= 0):
                    own_best, own_threshold = found, v
            if own_threshold >= 0:
                best, place, threshold = own_best, j, own_threshold
    return best, place, threshold


@inner_jit(counted=False)
def sort_by_level(
    block: Ints, column: int, low: int, chosen: Ints, order: Ints, start: Ints
) -> None:
    """Write the rows above the lowest level in the order of their levels; O(m).

    Those of level v stand at ``order[start[v] : start[v + 1]]``.
    """
    n_chosen = 0
    for i in range(len(order)):
        chosen[n_chosen] = i
        n_chosen += block[i * WIDTH + column] > low
    start[:] = 0
    for i in chosen[:n_chosen]:
        start[block[i * WIDTH + column] + 1] += 1
    for v in range(LEVELS):
        start[v + 1] += start[v]
    for i in chosen[:n_chosen]:
        v = block[i * WIDTH + column]
        order[start[v]] = i
        start[v] += 1
    for v in range(LEVELS, 0, -1):
        start[v] = start[v - 1]
    start[0] = 0


@jit(counted=False)
def sum_sides(
    block: Ints, column: int, threshold: int, group: Ints, weight: Floats, left: Floats,
    right: Floats,
) -> None:  # fmt: skip
    """Add the weights of each class below a threshold and from it on; O(m)."""
    for i in range(len(group)):
        if block[i * WIDTH + column] < threshold:
            left[group[i]] += weight[i]
        else:
            right[group[i]] += weight[i]

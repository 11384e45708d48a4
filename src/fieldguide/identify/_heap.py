"""A heap of entries by priority, compiled into its callers.

Entries are whole numbers; of equal priority, the one that came last leaves first.
"""

from typing import NamedTuple

import numpy as np

from fieldguide._arrays import Int, Ints
from fieldguide._jit import inline_jit

FREE, CLOSED = -1, -2  # places of entries that are not in the heap
ZERO: Int = np.int64(0)  # where counters begin


class Heap(NamedTuple):
    """Entries with their priority and the time they came."""

    entries: np.ndarray  # (n_entries,) int32
    place: np.ndarray  # (n_entries,) int32: where an entry stands, FREE or CLOSED
    priority: np.ndarray  # (n_entries,)
    order: np.ndarray  # (n_entries,) int64


@inline_jit
def put(heap: Heap, size: Int, entry: Int, priority: float, clock: Int) -> Int:
    """Add an entry that is free, or move one up that is in the heap; return the heap's size."""
    heap.priority[entry] = priority
    if heap.place[entry] == FREE:
        heap.entries[size], heap.place[entry], heap.order[entry] = entry, size, clock
        size += 1
    _sift_up(heap, heap.place[entry])
    return size


@inline_jit
def offer(
    heap: Heap, size: Int, entry: Int, priority: float, clock: Int, touched: Ints, n_touched: Int
) -> tuple[Int, Int]:
    """Put an entry into the heap, or further up, unless it is closed or better already.

    Entries that come for the first time are noted in ``touched``. Returns both sizes.
    """
    place = heap.place[entry]
    if place == FREE:
        touched[n_touched] = entry
        n_touched += 1
    if place == FREE or (place >= 0 and priority > heap.priority[entry]):
        size = put(heap, size, entry, priority, clock)
    return size, n_touched


@inline_jit
def is_next(heap: Heap, size: Int, entry: Int, priority: float) -> bool:
    """Tell whether a new entry would leave the heap at once: then it need not go there."""
    is_new: bool = heap.place[entry] == FREE
    return is_new and (size == 0 or priority >= heap.priority[heap.entries[0]])


@inline_jit
def pop(heap: Heap, size: Int, state: Int) -> Int:
    """Take the first of ``size`` entries out of the heap, and leave ``state`` as its place."""
    entry = np.int64(heap.entries[0])
    heap.place[entry] = state
    if size > 1:
        heap.entries[0] = heap.entries[size - 1]
        sift_down(heap, size - 1, 0)
    return entry


@inline_jit
def _is_before(heap: Heap, a: Int, b: Int) -> bool:
    """Tell whether entry a leaves the heap before b; of equals, the one that came last."""
    if heap.priority[a] != heap.priority[b]:
        is_before: bool = heap.priority[a] > heap.priority[b]
    else:
        is_before = heap.order[a] > heap.order[b]
    return is_before


@inline_jit
def _sift_up(heap: Heap, at: Int) -> None:
    entry = heap.entries[at]
    while at > 0:
        above = (at - 1) // 2
        if not _is_before(heap, entry, heap.entries[above]):
            break
        heap.entries[at] = heap.entries[above]
        heap.place[heap.entries[at]] = at
        at = above
    heap.entries[at], heap.place[entry] = entry, at


@inline_jit
def sift_down(heap: Heap, size: Int, at: Int) -> None:
    entry = heap.entries[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _is_before(heap, heap.entries[child + 1], heap.entries[child]):
            child += 1
        if not _is_before(heap, heap.entries[child], entry):
            break
        heap.entries[at] = heap.entries[child]
        heap.place[heap.entries[at]] = at
        at = child
    heap.entries[at], heap.place[entry] = entry, at

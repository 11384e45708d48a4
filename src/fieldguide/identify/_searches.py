"""Compiled searches of a decision graph for the classes of one row.

Searches keep a heap of *entries*: node j is entry j, leaf l is entry n_nodes + l. What they note
of an entry or class is put back when the row is done, so that a row costs what it visits. Counters
begin as :data:`ZERO`: a plain 0 would be a type of its own, and every function that takes it would
be compiled twice.
"""

import math
from typing import NamedTuple

import numpy as np

from fieldguide._arrays import Floats, Int, Ints
from fieldguide._jit import inline_jit, inner_jit
from fieldguide.identify._heap import CLOSED, FREE, ZERO, Heap, is_next, offer, pop, put, sift_down
from fieldguide.identify._margins import Links, Row, Source, margin

# A best-first search that opens old nodes again and again for new paths goes on in the order of
# the nodes, where each is opened once: a graph can have exponentially many paths.
_PATIENCE, _PATIENCE_PER_NODE = 64, 4


class Asked(NamedTuple):
    """Nodes whose function is known at the row."""

    logit: np.ndarray  # (n_nodes,)
    is_known: np.ndarray  # (n_nodes,) bool
    nodes: np.ndarray  # (n_nodes,) int32, in the order of asking


class Found(NamedTuple):
    """Classes that the row has reached."""

    mass: np.ndarray  # (n_classes,)
    leaf: np.ndarray  # (n_classes,) int32: the first leaf, or -1
    classes: np.ndarray  # (n_classes,) int32, in the order of reaching them


@inner_jit
def allocate(links: Links) -> tuple[Heap, Asked, Found]:
    n_nodes, n_entries = links.left.shape[0], links.left.shape[0] + links.leaf_class.shape[0]
    heap = Heap(
        np.empty(n_entries, dtype=np.int32),
        np.full(n_entries, FREE, dtype=np.int32),
        np.empty(n_entries),
        np.empty(n_entries, dtype=np.int64),
    )
    asked = Asked(
        np.empty(n_nodes),
        np.zeros(n_nodes, dtype=np.bool_),
        np.empty(n_nodes, dtype=np.int32),
    )
    found = Found(
        np.zeros(links.n_classes),
        np.full(links.n_classes, -1, dtype=np.int32),
        np.empty(links.n_classes, dtype=np.int32),
    )
    return heap, asked, found


@inline_jit
def forget(n_known: Int, n_found: Int, asked: Asked, found: Found) -> None:
    for r in range(n_known):
        asked.is_known[asked.nodes[r]] = False
    for r in range(n_found):
        found.mass[found.classes[r]], found.leaf[found.classes[r]] = 0.0, -1


@inline_jit
def search_mass(
    x: Row, source: Source, links: Links, budget: Int, heap: Heap, waiting: Floats, asked: Asked,
    found: Found,
) -> tuple[Int, Int, Int, float]:  # fmt: skip
    """Open entries by their mass until one class is ahead of the next by more than is left.

    Mass that comes to an entry in the heap joins what waits there. Returns the leading class, how
    many classes were reached and how many nodes asked, and the mass that is left.
    """
    n_nodes, n_roots = links.left.shape[0], links.roots.shape[0]
    size = clock = n_known = n_found = n_again = ZERO
    for t in range(n_roots - 1, 0, -1):
        entry = _entry(links.roots[t], n_nodes)
        waiting[entry] = 1.0 / n_roots
        size = put(heap, size, entry, waiting[entry], clock)
        clock += 1
    entry, mass = _entry(links.roots[0], n_nodes), 1.0 / n_roots
    lead, second, total = -1, 0.0, 0.0
    is_ordered = False
    while True:
        is_spent = entry < n_nodes and n_known == budget and not asked.is_known[entry]
        if is_spent:
            if n_found > 0:
                break
            entry, chance, n_known = _go_down(x, source, links, entry, asked, n_known)
            mass *= math.exp(chance)
        if entry >= n_nodes:
            k = links.leaf_class[entry - n_nodes]
            n_found = _reach(k, entry - n_nodes, mass, found, n_found)
            total += mass
            if lead < 0:
                lead = k
            elif k != lead:
                if found.mass[k] > found.mass[lead]:
                    second, lead = found.mass[lead], k
                else:
                    second = max(second, found.mass[k])
            # With nothing left, what still waits has no mass in double precision.
            if is_spent or total >= 1.0 or found.mass[lead] - second > 1.0 - total or size == 0:
                break
        else:
            if asked.is_known[entry]:
                n_again += 1
            n_known = _ask(x, source, links, entry, asked, n_known)
            if not is_ordered and n_again > _PATIENCE + _PATIENCE_PER_NODE * n_known:
                is_ordered = True
                _order_by_number(heap, size, n_nodes)
            z = asked.logit[entry]
            odds = math.exp(-abs(z))
            more, less = links.left[entry], links.right[entry]
            if z > 0:
                more, less = less, more
            part = mass * (odds / (1.0 + odds))
            if part > 0:
                child = _entry(less, n_nodes)
                waiting[child] += part
                rank = _rank_by_number(child, n_nodes) if is_ordered else waiting[child]
                size = put(heap, size, child, rank, clock)
            # The likelier child comes last, and so leaves first among equals.
            part = mass * (1.0 / (1.0 + odds))
            child = _entry(more, n_nodes)
            rank = _rank_by_number(child, n_nodes) if is_ordered else waiting[child] + part
            if is_next(heap, size, child, rank):
                entry, mass = child, part
                clock += 2
                continue
            waiting[child] += part
            size = put(heap, size, child, rank, clock + 1)
            clock += 2
        entry = pop(heap, size, FREE)
        size -= 1
        mass = waiting[entry]
        waiting[entry] = 0.0
    for at in range(size):
        heap.place[heap.entries[at]], waiting[heap.entries[at]] = FREE, 0.0
    return lead, n_found, n_known, max(1.0 - total, 0.0)


@inline_jit
def search_near(
    x: Row, source: Source, links: Links, root: Int, tolerance: float, max_classes: Int,
    budget: Int, heap: Heap, touched: Ints, asked: Asked, found: Found, n_known: Int, n_found: Int,
) -> tuple[Int, Int, float]:  # fmt: skip
    """Open entries by their most probable path until it is ``tolerance`` below the first leaf's.

    Each entry is opened once. Returns how many classes were reached and how many nodes asked, in
    this tree and those before, and the mass of the paths to them.
    """
    n_nodes, share = links.left.shape[0], 1.0 / links.roots.shape[0]
    entry, log_p, size, clock = _entry(root, n_nodes), 0.0, ZERO, ZERO
    heap.place[entry] = CLOSED
    touched[0] = entry
    n_touched: Int = np.int64(1)
    total, least = 0.0, -np.inf
    while True:
        is_spent = entry < n_nodes and n_known == budget
        if is_spent:
            if n_found > 0:
                break
            entry, chance, n_known = _go_down(x, source, links, entry, asked, n_known)
            log_p += chance
        if entry >= n_nodes:
            if least == -np.inf:
                least = log_p - tolerance
            mass = share * math.exp(log_p)
            total += mass
            leaf = entry - n_nodes
            n_found = _reach(links.leaf_class[leaf], leaf, mass, found, n_found)
            if is_spent or n_found >= max_classes:
                break
        else:
            n_known = _ask(x, source, links, entry, asked, n_known)
            z = asked.logit[entry]
            lost = _loss(z)
            more, less = links.left[entry], links.right[entry]
            if z > 0:
                more, less = less, more
            child, rank = _entry(less, n_nodes), log_p - (abs(z) + lost)
            if rank > least:
                size, n_touched = offer(heap, size, child, rank, clock, touched, n_touched)
            child, rank = _entry(more, n_nodes), log_p - lost
            place = heap.place[child]
            if rank > least and (place == FREE or (place >= 0 and rank > heap.priority[child])):
                if place == FREE:
                    touched[n_touched] = child
                    n_touched += 1
                if is_next(heap, size, child, rank):
                    heap.place[child] = CLOSED
                    entry, log_p = child, rank
                    clock += 2
                    continue
                heap.order[child] = clock + 1  # of equals the likelier child, though it came before
                size = put(heap, size, child, rank, clock + 1)
            clock += 2
        if size == 0 or heap.priority[heap.entries[0]] <= least:
            break
        entry = pop(heap, size, CLOSED)
        size -= 1
        log_p = heap.priority[entry]
    for r in range(n_touched):
        heap.place[touched[r]] = FREE
    return n_found, n_known, total


@inline_jit
def gather_evidence(
    x: Row, source: Source, links: Links, root: Int, reach: float, budget: Int, heap: Heap,
    touched: Ints, asked: Asked, found: Found, n_known: Int, n_found: Int,
) -> tuple[Int, Int]:  # fmt: skip
    """Ask the nodes on the greedy way, and those to leaves within ``reach`` of the best leaf known.

    The greedy leaf comes first and bounds what else can matter, so that a sure row needs no heap;
    log-probabilities are relative to its own. Returns how many classes were reached and how many
    nodes asked, in this tree and those before.
    """
    n_nodes, first = links.left.shape[0], n_known
    entry = _entry(root, n_nodes)
    while entry < n_nodes:
        n_known = _ask(x, source, links, entry, asked, n_known)
        is_right = asked.logit[entry] > 0
        entry = _entry(links.right[entry] if is_right else links.left[entry], n_nodes)
    n_found = _reach(links.leaf_class[entry - n_nodes], entry - n_nodes, 1.0, found, n_found)
    least, size, n_touched, clock = -reach, ZERO, ZERO, ZERO
    rank = 0.0  # of the node's likelier child, from the leaf upwards
    for r in range(n_known - 1, first - 1, -1):
        node = np.int64(asked.nodes[r])
        z = asked.logit[node]
        if rank - abs(z) > least and n_known != budget:
            child = _entry(links.left[node] if z > 0 else links.right[node], n_nodes)
            size, n_touched = offer(heap, size, child, rank - abs(z), clock, touched, n_touched)
            clock += 1
        rank += _loss(z)
    while size > 0 and heap.priority[heap.entries[0]] > least:
        entry = pop(heap, size, CLOSED)
        size -= 1
        log_p = heap.priority[entry]
        if entry >= n_nodes:
            leaf = entry - n_nodes
            n_found = _reach(links.leaf_class[leaf], leaf, 1.0, found, n_found)
            least = max(least, log_p - reach)
            continue
        if n_known == budget and not asked.is_known[entry]:
            break
        n_known = _ask(x, source, links, entry, asked, n_known)
        z = asked.logit[entry]
        lost = _loss(z)
        for side in range(2):
            is_right = (side == 1) == (z > 0)
            child = _entry(links.right[entry] if is_right else links.left[entry], n_nodes)
            rank = log_p - lost - (0.0 if side == 1 else abs(z))
            if rank > least:
                size, n_touched = offer(heap, size, child, rank, clock, touched, n_touched)
                clock += 1
    for r in range(n_touched):
        heap.place[touched[r]] = FREE
    return n_found, n_known


@inline_jit
def _go_down(
    x: Row, source: Source, links: Links, entry: Int, asked: Asked, n_known: Int
) -> tuple[Int, float, Int]:
    """Return the leaf on the likelier sides below a node, its log-probability, and n_known."""
    n_nodes = links.left.shape[0]
    log_p = 0.0
    while entry < n_nodes:
        n_known = _ask(x, source, links, entry, asked, n_known)
        z = asked.logit[entry]
        log_p -= _loss(z)
        entry = _entry(links.right[entry] if z > 0 else links.left[entry], n_nodes)
    return entry, log_p, n_known


@inline_jit
def _ask(x: Row, source: Source, links: Links, node: Int, asked: Asked, n_known: Int) -> Int:
    """Note the log-odds of the right side at a node, once; return how many nodes are known."""
    if asked.is_known[node]:
        return n_known
    z = margin(x, source, node) * float(links.scale[node])
    asked.logit[node] = 0.0 if math.isnan(z) else z  # products that overflowed say nothing
    asked.is_known[node] = True
    asked.nodes[n_known] = node
    return n_known + 1


@inline_jit
def _loss(z: float) -> float:
    """Return −log of the probability of the likelier side."""
    return math.log(1.0 + math.exp(-abs(z)))  # log1p takes three times as long


@inline_jit
def _reach(k: Int, leaf: Int, mass: float, found: Found, n_found: Int) -> Int:
    """Add mass to a class; return how many classes are reached."""
    found.mass[k] += mass
    if found.leaf[k] >= 0:
        return n_found
    found.leaf[k] = leaf
    found.classes[n_found] = k
    return n_found + 1


@inline_jit
def _entry(child: Int, n_nodes: Int) -> Int:
    return np.int64(child if child >= 0 else n_nodes - 1 - child)


@inline_jit
def _rank_by_number(entry: Int, n_nodes: Int) -> float:
    return -float(entry) if entry < n_nodes else 1.0


@inline_jit
def _order_by_number(heap: Heap, size: Int, n_nodes: Int) -> None:
    """Turn the heap into one that gives leaves first, then nodes by their number. O(size)."""
    for at in range(size):
        heap.priority[heap.entries[at]] = _rank_by_number(heap.entries[at], n_nodes)
    for at in range(size // 2 - 1, -1, -1):
        sift_down(heap, size, at)

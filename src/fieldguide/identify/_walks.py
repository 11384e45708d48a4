"""Compiled walks through decision graphs, one row at a time.

A margin is the product of a row of ``coef`` with the values of a row (``width`` columns, float32),
or, with ``width`` 0, a number that is known already. Every row takes the same code whatever the
number of rows, so that single rows and batches agree; and the same compiled code, whichever of the
two there is. Counters begin as ``np.int64(0)``: a plain 0 would be a type of its own, and every
function that takes it would be compiled twice.

Searches keep a heap of *entries*: node j is entry j, leaf l is entry n_nodes + l. What they note
of an entry or class is put back when the row is done, so that a row costs what it visits.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from fieldguide._jit import inner_jit, jit
from fieldguide.identify.graph import MOST_LOGIT
from fieldguide.svm._kernels import dot_single

_FREE, _CLOSED = -1, -2  # places of entries that are not in the heap
# A best-first search that opens old nodes again and again for new paths goes on in the order of
# the nodes, where each is opened once: a graph can have exponentially many paths.
_PATIENCE, _PATIENCE_PER_NODE = 64, 4
_FAINT = 12.0  # log-probability below the largest from which on a class counts for nothing
_LOWEST = np.finfo(np.float32).min  # of scores; classes without a leaf have −∞
_ABREAST = 6  # rows of a batch that go down together
_FAST = {"reassoc", "contract", "nsz"}  # sums in any order, as those of dot_single


class Rows(NamedTuple):
    """Rows as the searches read them: their values, or the margins of all functions."""

    values: np.ndarray  # (n, width) float32
    margins: np.ndarray  # (n, n_functions) float64, or (n, 0)


class _Row(NamedTuple):
    """One of them."""

    values: np.ndarray
    margins: np.ndarray


class Source(NamedTuple):
    """Where margins come from: functions, or with ``width`` 0 the rows themselves."""

    width: int
    coef: np.ndarray  # (n_functions, width) float32
    intercept: np.ndarray  # (n_functions,) float32


class Links(NamedTuple):
    """A graph as the searches read it."""

    left: np.ndarray  # (n_nodes,) int32, as in DecisionGraph
    right: np.ndarray
    scale: np.ndarray  # (n_nodes,) float32
    leaf_class: np.ndarray  # (n_leaves,) int32
    n_classes: int
    roots: np.ndarray  # (n_trees,) int32
    class_logits: np.ndarray  # (n_nodes, n_classes) float32, or (0, n_classes)
    precision: np.ndarray  # (n_nodes,) float32, or (0,)
    leaf_bonus: float
    class_leaf: np.ndarray  # (n_classes,) int32: the first leaf of each class, or -1


class _Heap(NamedTuple):
    """Entries with their priority and the time they came."""

    entries: np.ndarray  # (n_entries,) int32
    place: np.ndarray  # (n_entries,) int32: where an entry stands, _FREE or _CLOSED
    priority: np.ndarray  # (n_entries,)
    order: np.ndarray  # (n_entries,) int64


class _Asked(NamedTuple):
    """Nodes whose function is known at the row."""

    logit: np.ndarray  # (n_nodes,)
    is_known: np.ndarray  # (n_nodes,) bool
    nodes: np.ndarray  # (n_nodes,) int32, in the order of asking


class _Found(NamedTuple):
    """Classes that the row has reached."""

    mass: np.ndarray  # (n_classes,)
    leaf: np.ndarray  # (n_classes,) int32: the first leaf, or -1
    classes: np.ndarray  # (n_classes,) int32, in the order of reaching them


def _inner(function: Any) -> Any:
    """Compile a function into its compiled callers, which hold the cache and the arrays.

    It counts no references to arrays, and so can make none: measured, counting them took two
    fifths of a shortlist, since it cannot be left out around loops.
    """
    return inner_jit(function, counted=False, forceinline=True)


def _apart(function: Any) -> Any:
    """As :func:`_inner`, but not into the caller: there the loop would not be vectorised."""
    return inner_jit(function, counted=False, fastmath=_FAST)


# the same sum
_dot = inner_jit(dot_single.py_func, plain=np.dot, counted=False, fastmath=_FAST)


@jit(is_light=True)
def walk_one(x, coef, intercept, left, right):
    """Return the leaf of one row of linear functions; there is at least one. O(depth · width)."""
    node = np.int32(0)
    while node >= 0:
        is_right = _apply(x, coef, intercept, node) > 0
        node = right[node] if is_right else left[node]
    return -1 - node


@jit(is_light=True)
def walk_rows(rows, source, links, root, leaf, n_asked):
    """Write every row's leaf below a root and the number of decisions. O(n · depth · width).

    Rows go down a few at a time: the processor takes up the product of the next one while it
    waits for the last one's sum. Measured 1.1 to 1.3 times as fast as one after the other.
    """
    n = rows.values.shape[0]
    for start in range(0, n, _ABREAST):
        end = min(start + _ABREAST, n)
        leaf[start:end] = root
        n_asked[start:end] = 0
        is_open = root >= 0
        while is_open:
            is_open = False
            for i in range(start, end):
                node = leaf[i]
                if node >= 0:
                    is_right = _margin(_Row(rows.values[i], rows.margins[i]), source, node) > 0
                    leaf[i] = links.right[node] if is_right else links.left[node]
                    n_asked[i] += 1
                    is_open |= leaf[i] >= 0
        for i in range(start, end):
            leaf[i] = -1 - leaf[i]


@jit(is_light=True)
def list_paths(rows, source, links, root, ends, nodes):
    """Write the nodes on the way of each row from a root to nodes[ends[i] : ends[i + 1]]."""
    for i in range(rows.values.shape[0]):
        node = root
        for step in range(ends[i], ends[i + 1]):
            nodes[step] = node
            is_right = _margin(_Row(rows.values[i], rows.margins[i]), source, node) > 0
            node = links.right[node] if is_right else links.left[node]


@jit(is_light=True)
def best_first_rows(rows, source, links, budget, keep_nodes, leaf, n_asked, rest, ends, node_ends):
    """Write the first leaf of the class with most mass, and what the search saw of each row.

    ``leaf``, ``n_asked`` and ``rest`` are (n,), the two ``ends`` (n + 1,). Returns the classes and
    their masses between ``ends``, and the nodes between ``node_ends``. A row costs
    O(visits · (width + log visits)).
    """
    heap, asked, found = _allocate(links)
    waiting = np.zeros(heap.entries.shape[0])
    n = rows.values.shape[0]
    classes, masses = np.empty(4 * n, dtype=np.int32), np.empty(4 * n)
    nodes = np.empty(16 * n if keep_nodes else 0, dtype=np.int32)
    ends[0] = node_ends[0] = 0
    for i in range(n):
        lead, n_found, n_known, rest[i] = _search_mass(
            _Row(rows.values[i], rows.margins[i]),
            source,
            links,
            budget,
            heap,
            waiting,
            asked,
            found,
        )
        leaf[i], n_asked[i] = found.leaf[lead], n_known
        start, ends[i + 1] = ends[i], ends[i] + n_found
        classes, masses = _grow(classes, ends[i + 1]), _grow(masses, ends[i + 1])
        for r in range(n_found):
            classes[start + r] = found.classes[r]
            masses[start + r] = found.mass[found.classes[r]]
        node_ends[i + 1] = node_ends[i]
        if keep_nodes:
            node_ends[i + 1] += n_known
            nodes = _grow(nodes, node_ends[i + 1])
            for r in range(n_known):
                nodes[node_ends[i] + r] = asked.nodes[r]
        _forget(n_known, n_found, asked, found)
    return classes, masses, nodes


@jit(is_light=True)
def shortlist_rows(
    rows, source, links, flat_rows, flat, reach, tolerance, max_classes, budget, keep_nodes,
    leaf, n_asked, n_flat, rest, ends, node_ends,
):  # fmt: skip
    """Write the first leaf of the class that its shortlist prefers, for each row.

    ``flat_rows`` and ``flat`` give the functions of the classes as ``rows`` and ``source`` those of
    the nodes.
    Returns classes and masses between ``ends``, those of the list first; margins, of the first
    ``n_flat`` of them; and the nodes between ``node_ends``. Classes with some mass that are not on
    the list follow it.
    """
    heap, asked, found = _allocate(links)
    touched = np.empty(heap.entries.shape[0], dtype=np.int32)
    score = np.empty(links.n_classes, dtype=np.float32)
    n = rows.values.shape[0]
    classes, masses, margins = np.empty(4 * n, dtype=np.int32), np.empty(4 * n), np.empty(4 * n)
    nodes = np.empty(16 * n if keep_nodes else 0, dtype=np.int32)
    ends[0] = node_ends[0] = 0
    for i in range(n):
        n_listed, n_found, n_known, rest[i] = _make_list(
            _Row(rows.values[i], rows.margins[i]), source, links, reach, tolerance, max_classes,
            budget, True, heap, touched, score, asked, found,
        )  # fmt: skip
        start, ends[i + 1] = ends[i], ends[i] + n_found
        classes, masses = _grow(classes, ends[i + 1]), _grow(masses, ends[i + 1])
        margins = _grow(margins, ends[i + 1])
        for r in range(n_found):
            classes[start + r] = found.classes[r]
            masses[start + r] = found.mass[found.classes[r]]
        best = _decide(
            _Row(flat_rows.values[i], flat_rows.margins[i]),
            flat,
            found,
            n_listed,
            margins[start : ends[i + 1]],
        )
        leaf[i], n_asked[i] = found.leaf[best], n_known
        n_flat[i] = n_listed if n_listed > 1 else 0
        node_ends[i + 1] = node_ends[i]
        if keep_nodes:
            node_ends[i + 1] += n_known
            nodes = _grow(nodes, node_ends[i + 1])
            for r in range(n_known):
                nodes[node_ends[i] + r] = asked.nodes[r]
        _forget(n_known, n_found, asked, found)
    return classes, masses, margins, nodes


@jit(is_light=True)
def answer_by_shortlist(X, source, links, flat, reach, tolerance, max_classes, budget, answer):
    """Write the class that the shortlist of each row of linear functions prefers.

    ``source``, ``links`` and ``flat`` are plain tuples here: named ones cost 2 µs more to pass.
    """
    source, links, flat = Source(*source), Links(*links), Source(*flat)
    heap, asked, found = _allocate(links)
    touched = np.empty(heap.entries.shape[0], dtype=np.int32)
    score = np.empty(links.n_classes, dtype=np.float32)
    margins = np.empty(links.n_classes)
    x = _Row(np.empty(X.shape[1], dtype=np.float32), np.empty(0))
    for i in range(X.shape[0]):
        # Arrays made here are aligned and rows of X seldom: measured, a tenth of the time.
        for j in range(X.shape[1]):
            x.values[j] = X[i, j]
        n_listed, n_found, n_known, _ = _make_list(
            x, source, links, reach, tolerance, max_classes, budget, False,
            heap, touched, score, asked, found,
        )  # fmt: skip
        answer[i] = _decide(x, flat, found, n_listed, margins)
        _forget(n_known, n_found, asked, found)


@_inner
def _make_list(
    x, source, links, reach, tolerance, max_classes, budget, keep_all,
    heap, touched, score, asked, found,
):  # fmt: skip
    """Search every tree, and list the classes that are probable enough.

    Where the margins of the classes are known, all that were seen decide who is on the list;
    elsewhere the leaves that were reached. Returns how many classes are on it, how many were
    found, how many nodes were asked, and the mass that was not found.
    """
    n_known, n_found, total, n_roots = np.int64(0), np.int64(0), 0.0, links.roots.shape[0]
    if links.precision.shape[0] == 0:
        for t in range(n_roots):
            room = max(max_classes * (t + 1) // n_roots, 1)  # no tree fills the list alone
            n_found, n_known, mass = _search_near(
                x, source, links, links.roots[t], reach, room, budget, heap, touched, asked, found,
                n_known, n_found,
            )  # fmt: skip
            total += mass
        return n_found, n_found, n_known, max(1.0 - total, 0.0)
    for t in range(n_roots):
        n_found, n_known = _gather_evidence(
            x, source, links, links.roots[t], reach, budget, heap, touched, asked, found,
            n_known, n_found,
        )  # fmt: skip
    for k in range(score.shape[0]):
        score[k] = 0.0 if links.class_leaf[k] >= 0 else -np.inf
    for r in range(n_found):
        score[found.classes[r]] = links.leaf_bonus
        found.mass[found.classes[r]], found.leaf[found.classes[r]] = 0.0, -1
    _add_evidence(score, links.class_logits, links.precision, asked.nodes, asked.logit, n_known)
    n_listed, n_found, rest = _list_by_score(
        links.class_leaf, tolerance, max_classes, keep_all, score, found
    )
    return n_listed, n_found, n_known, rest


@_inner
def _gather_evidence(
    x, source, links, root, reach, budget, heap, touched, asked, found, n_known, n_found
):  # fmt: skip
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
    least, size, n_touched, clock = -reach, np.int64(0), np.int64(0), np.int64(0)
    rank = 0.0  # of the node's likelier child, from the leaf upwards
    for r in range(n_known - 1, first - 1, -1):
        node = np.int64(asked.nodes[r])
        z = asked.logit[node]
        if rank - abs(z) > least and n_known != budget:
            child = _entry(links.left[node] if z > 0 else links.right[node], n_nodes)
            size, n_touched = _offer(heap, size, child, rank - abs(z), clock, touched, n_touched)
            clock += 1
        rank += _loss(z)
    while size > 0 and heap.priority[heap.entries[0]] > least:
        entry = _pop(heap, size, _CLOSED)
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
                size, n_touched = _offer(heap, size, child, rank, clock, touched, n_touched)
                clock += 1
    for r in range(n_touched):
        heap.place[touched[r]] = _FREE
    return n_found, n_known


@_apart
def _add_evidence(score, class_logits, precision, nodes, logits, n_known):
    """Add what the margins that were seen say of each class. O(n_known · n_classes)."""
    for r in range(n_known):
        node = nodes[r]
        logit = np.float32(min(max(logits[node], -MOST_LOGIT), MOST_LOGIT))
        weight = precision[node]
        for k in range(score.shape[0]):
            apart = logit - class_logits[node, k]
            score[k] -= weight * apart * apart


@_inner
def _list_by_score(class_leaf, tolerance, max_classes, keep_all, score, found):
    """List the classes whose score is near the largest, best first; ``found`` has one at least.

    Returns how many are on the list, how many were found, and the mass that was not; masses are
    known with ``keep_all`` alone.
    """
    top = score[found.classes[0]]  # of the greedy leaf: seldom far from the largest
    least, n_listed = max(np.float32(top - tolerance), _LOWEST), 0
    for k in range(score.shape[0]):
        if score[k] < least:
            continue
        at = n_listed
        if n_listed == max_classes:
            at -= 1
            if score[k] <= score[found.classes[at]]:
                continue
        else:
            n_listed += 1
        while at > 0 and score[found.classes[at - 1]] < score[k]:
            found.classes[at] = found.classes[at - 1]
            at -= 1
        found.classes[at] = k
        if at == 0:
            top = score[k]
            least = max(np.float32(top - tolerance), _LOWEST)
    while score[found.classes[n_listed - 1]] < least:
        n_listed -= 1
    for r in range(n_listed):
        found.leaf[found.classes[r]] = class_leaf[found.classes[r]]
    if not keep_all:
        return n_listed, n_listed, 0.0
    n_found, total, rest = n_listed, 0.0, 1.0
    for k in range(score.shape[0]):
        if score[k] > top - _FAINT:
            total += math.exp(score[k] - top)
    for k in range(score.shape[0]):
        if found.leaf[k] >= 0 or score[k] > top - _FAINT:
            if found.leaf[k] < 0:
                found.classes[n_found], found.leaf[k] = k, class_leaf[k]
                n_found += 1
            found.mass[k] = math.exp(score[k] - top) / total
            rest -= found.mass[k]
    return n_listed, n_found, max(rest, 0.0)


@_inner
def _decide(x, flat, found, n_found, margins):
    """Write the margins of the classes reached; return the best. One class alone is not asked."""
    best, largest = found.classes[0], -np.inf
    if n_found > 1:
        for r in range(n_found):
            k = found.classes[r]
            margins[r] = _margin(x, flat, k)
            if margins[r] > largest or (margins[r] == largest and k < best):
                best, largest = k, margins[r]
    return best


@_inner
def _margin(x, source, j):
    """Return function j at the row x. O(width)."""
    if source.width > 0:
        return float(_apply(x.values, source.coef, source.intercept, j))
    return x.margins[j]


@_inner
def _apply(values, coef, intercept, j):
    return np.float32(_dot(coef[j], values) + intercept[j])


@_inner
def _search_mass(x, source, links, budget, heap, waiting, asked, found):
    """Open entries by their mass until one class is ahead of the next by more than is left.

    Mass that comes to an entry in the heap joins what waits there. Returns the leading class, how
    many classes were reached and how many nodes asked, and the mass that is left.
    """
    n_nodes, n_roots = links.left.shape[0], links.roots.shape[0]
    size = clock = n_known = n_found = n_again = np.int64(0)
    for t in range(n_roots - 1, 0, -1):
        entry = _entry(links.roots[t], n_nodes)
        waiting[entry] = 1.0 / n_roots
        size = _put(heap, size, entry, waiting[entry], clock)
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
                size = _put(heap, size, child, rank, clock)
            # The likelier child comes last, and so leaves first among equals.
            part = mass * (1.0 / (1.0 + odds))
            child = _entry(more, n_nodes)
            rank = _rank_by_number(child, n_nodes) if is_ordered else waiting[child] + part
            if _is_next(heap, size, child, rank):
                entry, mass = child, part
                clock += 2
                continue
            waiting[child] += part
            size = _put(heap, size, child, rank, clock + 1)
            clock += 2
        entry = _pop(heap, size, _FREE)
        size -= 1
        mass = waiting[entry]
        waiting[entry] = 0.0
    for at in range(size):
        heap.place[heap.entries[at]], waiting[heap.entries[at]] = _FREE, 0.0
    return lead, n_found, n_known, max(1.0 - total, 0.0)


@_inner
def _search_near(
    x, source, links, root, tolerance, max_classes, budget, heap, touched, asked, found,
    n_known, n_found,
):  # fmt: skip
    """Open entries by their most probable path until it is ``tolerance`` below the first leaf's.

    Each entry is opened once. Returns how many classes were reached and how many nodes asked, in
    this tree and those before, and the mass of the paths to them.
    """
    n_nodes, share = links.left.shape[0], 1.0 / links.roots.shape[0]
    entry, log_p, size, clock = _entry(root, n_nodes), 0.0, np.int64(0), np.int64(0)
    heap.place[entry] = _CLOSED
    touched[0] = entry
    n_touched = np.int64(1)
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
                size, n_touched = _offer(heap, size, child, rank, clock, touched, n_touched)
            child, rank = _entry(more, n_nodes), log_p - lost
            place = heap.place[child]
            if rank > least and (place == _FREE or (place >= 0 and rank > heap.priority[child])):
                if place == _FREE:
                    touched[n_touched] = child
                    n_touched += 1
                if _is_next(heap, size, child, rank):
                    heap.place[child] = _CLOSED
                    entry, log_p = child, rank
                    clock += 2
                    continue
                heap.order[child] = clock + 1  # of equals the likelier child, though it came before
                size = _put(heap, size, child, rank, clock + 1)
            clock += 2
        if size == 0 or heap.priority[heap.entries[0]] <= least:
            break
        entry = _pop(heap, size, _CLOSED)
        size -= 1
        log_p = heap.priority[entry]
    for r in range(n_touched):
        heap.place[touched[r]] = _FREE
    return n_found, n_known, total


@inner_jit
def _allocate(links):
    n_nodes, n_entries = links.left.shape[0], links.left.shape[0] + links.leaf_class.shape[0]
    heap = _Heap(
        np.empty(n_entries, dtype=np.int32),
        np.full(n_entries, _FREE, dtype=np.int32),
        np.empty(n_entries),
        np.empty(n_entries, dtype=np.int64),
    )
    asked = _Asked(
        np.empty(n_nodes),
        np.zeros(n_nodes, dtype=np.bool_),
        np.empty(n_nodes, dtype=np.int32),
    )
    found = _Found(
        np.zeros(links.n_classes),
        np.full(links.n_classes, -1, dtype=np.int32),
        np.empty(links.n_classes, dtype=np.int32),
    )
    return heap, asked, found


@_inner
def _forget(n_known, n_found, asked, found):
    for r in range(n_known):
        asked.is_known[asked.nodes[r]] = False
    for r in range(n_found):
        found.mass[found.classes[r]], found.leaf[found.classes[r]] = 0.0, -1


@_inner
def _ask(x, source, links, node, asked, n_known):
    """Note the log-odds of the right side at a node, once; return how many nodes are known."""
    if asked.is_known[node]:
        return n_known
    z = _margin(x, source, node) * float(links.scale[node])
    asked.logit[node] = 0.0 if math.isnan(z) else z  # products that overflowed say nothing
    asked.is_known[node] = True
    asked.nodes[n_known] = node
    return n_known + 1


@_inner
def _loss(z):
    """Return −log of the probability of the likelier side."""
    return math.log(1.0 + math.exp(-abs(z)))  # log1p takes three times as long


@_inner
def _go_down(x, source, links, entry, asked, n_known):
    """Return the leaf on the likelier sides below a node, its log-probability, and n_known."""
    n_nodes = links.left.shape[0]
    log_p = 0.0
    while entry < n_nodes:
        n_known = _ask(x, source, links, entry, asked, n_known)
        z = asked.logit[entry]
        log_p -= _loss(z)
        entry = _entry(links.right[entry] if z > 0 else links.left[entry], n_nodes)
    return entry, log_p, n_known


@_inner
def _reach(k, leaf, mass, found, n_found):
    """Add mass to a class; return how many classes are reached."""
    found.mass[k] += mass
    if found.leaf[k] >= 0:
        return n_found
    found.leaf[k] = leaf
    found.classes[n_found] = k
    return n_found + 1


@_inner
def _entry(child, n_nodes):
    return np.int64(child if child >= 0 else n_nodes - 1 - child)


@_inner
def _rank_by_number(entry, n_nodes):
    return -float(entry) if entry < n_nodes else 1.0


@_inner
def _order_by_number(heap, size, n_nodes):
    """Turn the heap into one that gives leaves first, then nodes by their number. O(size)."""
    for at in range(size):
        heap.priority[heap.entries[at]] = _rank_by_number(heap.entries[at], n_nodes)
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(heap, size, at)


@_inner
def _put(heap, size, entry, priority, clock):
    """Add an entry that is free, or move one up that is in the heap; return the heap's size."""
    heap.priority[entry] = priority
    if heap.place[entry] == _FREE:
        heap.entries[size], heap.place[entry], heap.order[entry] = entry, size, clock
        size += 1
    _sift_up(heap, heap.place[entry])
    return size


@_inner
def _offer(heap, size, entry, priority, clock, touched, n_touched):
    """Put an entry into the heap, or further up, unless it is closed or better already.

    Entries that come for the first time are noted in ``touched``. Returns both sizes.
    """
    place = heap.place[entry]
    if place == _FREE:
        touched[n_touched] = entry
        n_touched += 1
    if place == _FREE or (place >= 0 and priority > heap.priority[entry]):
        size = _put(heap, size, entry, priority, clock)
    return size, n_touched


@_inner
def _is_next(heap, size, entry, priority):
    """Tell whether a new entry would leave the heap at once: then it need not go there."""
    is_new = heap.place[entry] == _FREE
    return is_new and (size == 0 or priority >= heap.priority[heap.entries[0]])


@_inner
def _pop(heap, size, state):
    """Take the first of ``size`` entries out of the heap, and leave ``state`` as its place."""
    entry = np.int64(heap.entries[0])
    heap.place[entry] = state
    if size > 1:
        heap.entries[0] = heap.entries[size - 1]
        _sift_down(heap, size - 1, 0)
    return entry


@_inner
def _is_before(heap, a, b):
    """Tell whether entry a leaves the heap before b; of equals, the one that came last."""
    if heap.priority[a] != heap.priority[b]:
        return heap.priority[a] > heap.priority[b]
    return heap.order[a] > heap.order[b]


@_inner
def _sift_up(heap, at):
    entry = heap.entries[at]
    while at > 0:
        above = (at - 1) // 2
        if not _is_before(heap, entry, heap.entries[above]):
            break
        heap.entries[at] = heap.entries[above]
        heap.place[heap.entries[at]] = at
        at = above
    heap.entries[at], heap.place[entry] = entry, at


@_inner
def _sift_down(heap, size, at):
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


@inner_jit
def _grow(values, n):
    """Return an array with room for n values, at least twice as long when it must grow."""
    if n <= values.shape[0]:
        return values
    longer = np.empty(max(n, 2 * values.shape[0]), dtype=values.dtype)
    for at in range(values.shape[0]):
        longer[at] = values[at]
    return longer

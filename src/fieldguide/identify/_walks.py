"""Compiled walks through decision graphs: the leaf of every row, its path, or its shortlist."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fieldguide._arrays import Floats, Int, Ints
from fieldguide._jit import F, inline_jit, inner_jit, jit
from fieldguide.identify._heap import ZERO, Heap
from fieldguide.identify._margins import FAST, Links, Row, Rows, Source, apply, margin
from fieldguide.identify._searches import (
    Asked,
    Found,
    allocate,
    forget,
    gather_evidence,
    search_mass,
    search_near,
)
from fieldguide.identify.graph import MOST_LOGIT

_FAINT = 12.0  # log-probability below the largest from which on a class counts for nothing
_LOWEST = np.finfo(np.float32).min  # of scores; classes without a leaf have −∞
_ABREAST = 6  # rows of a batch that go down together


def _apart(function: F) -> F:
    """As :func:`inline_jit`, but not into the caller: there the loop would not be vectorised."""
    return inner_jit(function, counted=False, fastmath=FAST)


@jit(is_light=True)
def walk_one(x: Floats, coef: Floats, intercept: Floats, left: Ints, right: Ints) -> int:
    """Return the leaf of one row of linear functions; there is at least one. O(depth · width)."""
    node: Any = np.int32(0)
    while node >= 0:
        is_right = apply(x, coef, intercept, node) > 0
        node = right[node] if is_right else left[node]
    leaf: int = -1 - node
    return leaf


@jit(is_light=True)
def walk_rows(
    rows: Rows, source: Source, links: Links, root: Int, leaf: Ints, n_asked: Ints
) -> None:
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
                    is_right = margin(Row(rows.values[i], rows.margins[i]), source, node) > 0
                    leaf[i] = links.right[node] if is_right else links.left[node]
                    n_asked[i] += 1
                    is_open |= leaf[i] >= 0
        for i in range(start, end):
            leaf[i] = -1 - leaf[i]


@jit(is_light=True)
def list_paths(
    rows: Rows, source: Source, links: Links, root: Int, ends: Ints, nodes: Ints
) -> None:
    """Write the nodes on the way of each row from a root to nodes[ends[i] : ends[i + 1]]."""
    for i in range(rows.values.shape[0]):
        node = root
        for step in range(ends[i], ends[i + 1]):
            nodes[step] = node
            is_right = margin(Row(rows.values[i], rows.margins[i]), source, node) > 0
            node = links.right[node] if is_right else links.left[node]


@jit(is_light=True)
def best_first_rows(
    rows: Rows, source: Source, links: Links, budget: Int, keep_nodes: bool, leaf: Ints,
    n_asked: Ints, rest: Floats, ends: Ints, node_ends: Ints,
) -> tuple[Ints, Floats, Ints]:  # fmt: skip
    """Write the first leaf of the class with most mass, and what the search saw of each row.

    ``leaf``, ``n_asked`` and ``rest`` are (n,), the two ``ends`` (n + 1,). Returns the classes and
    their masses between ``ends``, and the nodes between ``node_ends``. A row costs
    O(visits · (width + log visits)).
    """
    heap, asked, found = allocate(links)
    waiting = np.zeros(heap.entries.shape[0])
    n = rows.values.shape[0]
    classes, masses = np.empty(4 * n, dtype=np.int32), np.empty(4 * n)
    nodes = np.empty(16 * n if keep_nodes else 0, dtype=np.int32)
    ends[0] = node_ends[0] = 0
    for i in range(n):
        lead, n_found, n_known, rest[i] = search_mass(
            Row(rows.values[i], rows.margins[i]),
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
        forget(n_known, n_found, asked, found)
    return classes, masses, nodes


@jit(is_light=True)
def shortlist_rows(
    rows: Rows, source: Source, links: Links, flat_rows: Rows, flat: Source, reach: float,
    tolerance: float, max_classes: Int, budget: Int, keep_nodes: bool, leaf: Ints, n_asked: Ints,
    n_flat: Ints, rest: Floats, ends: Ints, node_ends: Ints,
) -> tuple[Ints, Floats, Floats, Ints]:  # fmt: skip
    """Write the first leaf of the class that its shortlist prefers, for each row.

    ``flat_rows`` and ``flat`` give the functions of the classes as ``rows`` and ``source`` those of
    the nodes.
    Returns classes and masses between ``ends``, those of the list first; margins, of the first
    ``n_flat`` of them; and the nodes between ``node_ends``. Classes with some mass that are not on
    the list follow it.
    """
    heap, asked, found = allocate(links)
    touched = np.empty(heap.entries.shape[0], dtype=np.int32)
    score = np.empty(links.n_classes, dtype=np.float32)
    n = rows.values.shape[0]
    classes, masses, margins = np.empty(4 * n, dtype=np.int32), np.empty(4 * n), np.empty(4 * n)
    nodes = np.empty(16 * n if keep_nodes else 0, dtype=np.int32)
    ends[0] = node_ends[0] = 0
    for i in range(n):
        n_listed, n_found, n_known, rest[i] = _make_list(
            Row(rows.values[i], rows.margins[i]), source, links, reach, tolerance, max_classes,
            budget, True, heap, touched, score, asked, found,
        )  # fmt: skip
        start, ends[i + 1] = ends[i], ends[i] + n_found
        classes, masses = _grow(classes, ends[i + 1]), _grow(masses, ends[i + 1])
        margins = _grow(margins, ends[i + 1])
        for r in range(n_found):
            classes[start + r] = found.classes[r]
            masses[start + r] = found.mass[found.classes[r]]
        best = _decide(
            Row(flat_rows.values[i], flat_rows.margins[i]),
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
        forget(n_known, n_found, asked, found)
    return classes, masses, margins, nodes


@jit(is_light=True)
def answer_by_shortlist(
    X: Floats, source: tuple[Any, ...], links: tuple[Any, ...], flat: tuple[Any, ...], reach: float,
    tolerance: float, max_classes: Int, budget: Int, answer: Ints,
) -> None:  # fmt: skip
    """Write the class that the shortlist of each row of linear functions prefers.

    ``source``, ``links`` and ``flat`` are plain tuples here: named ones cost 2 µs more to pass.
    """
    source, links, flat = Source(*source), Links(*links), Source(*flat)
    heap, asked, found = allocate(links)
    touched = np.empty(heap.entries.shape[0], dtype=np.int32)
    score = np.empty(links.n_classes, dtype=np.float32)
    margins = np.empty(links.n_classes)
    x = Row(np.empty(X.shape[1], dtype=np.float32), np.empty(0))
    for i in range(X.shape[0]):
        # Arrays made here are aligned and rows of X seldom: measured, a tenth of the time.
        for j in range(X.shape[1]):
            x.values[j] = X[i, j]
        n_listed, n_found, n_known, _ = _make_list(
            x, source, links, reach, tolerance, max_classes, budget, False,
            heap, touched, score, asked, found,
        )  # fmt: skip
        answer[i] = _decide(x, flat, found, n_listed, margins)
        forget(n_known, n_found, asked, found)


@inline_jit
def _make_list(
    x: Row, source: Source, links: Links, reach: float, tolerance: float, max_classes: Int,
    budget: Int, keep_all: bool, heap: Heap, touched: Ints, score: Floats, asked: Asked,
    found: Found,
) -> tuple[Int, Int, Int, float]:  # fmt: skip
    """Search every tree, and list the classes that are probable enough.

    Where the margins of the classes are known, all that were seen decide who is on the list;
    elsewhere the leaves that were reached. Returns how many classes are on it, how many were
    found, how many nodes were asked, and the mass that was not found.
    """
    n_known, n_found, total, n_roots = ZERO, ZERO, 0.0, links.roots.shape[0]
    if links.precision.shape[0] == 0:
        for t in range(n_roots):
            room = max(max_classes * (t + 1) // n_roots, 1)  # no tree fills the list alone
            n_found, n_known, mass = search_near(
                x, source, links, links.roots[t], reach, room, budget, heap, touched, asked, found,
                n_known, n_found,
            )  # fmt: skip
            total += mass
        return n_found, n_found, n_known, max(1.0 - total, 0.0)
    for t in range(n_roots):
        n_found, n_known = gather_evidence(
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


@inline_jit
def _list_by_score(
    class_leaf: Ints, tolerance: float, max_classes: Int, keep_all: bool, score: Floats,
    found: Found,
) -> tuple[Int, Int, float]:  # fmt: skip
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
        if found.leaf[k] >= 0 or score[k] > top - _FAINT:
            total += math.exp(score[k] - top)
    for k in range(score.shape[0]):
        if found.leaf[k] >= 0 or score[k] > top - _FAINT:
            if found.leaf[k] < 0:
                found.classes[n_found], found.leaf[k] = k, class_leaf[k]
                n_found += 1
            found.mass[k] = math.exp(score[k] - top) / total
            rest -= found.mass[k]
    return n_listed, n_found, max(rest, 0.0)


@_apart
def _add_evidence(
    score: Floats, class_logits: Floats, precision: Floats, nodes: Ints, logits: Floats,
    n_known: Int,
) -> None:  # fmt: skip
    """Add what the margins that were seen say of each class. O(n_known · n_classes)."""
    for r in range(n_known):
        node = nodes[r]
        logit = np.float32(min(max(logits[node], -MOST_LOGIT), MOST_LOGIT))
        weight = precision[node]
        for k in range(score.shape[0]):
            apart = logit - class_logits[node, k]
            score[k] -= weight * apart * apart


@inline_jit
def _decide(x: Row, flat: Source, found: Found, n_found: Int, margins: Floats) -> Int:
    """Write the margins of the classes reached; return the best. One class alone is not asked."""
    best: Int = found.classes[0]
    largest = -np.inf
    if n_found > 1:
        for r in range(n_found):
            k = found.classes[r]
            margins[r] = margin(x, flat, k)
            if margins[r] > largest or (margins[r] == largest and k < best):
                best, largest = k, margins[r]
    return best


@inner_jit
def _grow(values: NDArray[Any], n: Int) -> NDArray[Any]:
    """Return an array with room for n values, at least twice as long when it must grow."""
    if n <= values.shape[0]:
        return values
    longer = np.empty(max(n, 2 * values.shape[0]), dtype=values.dtype)
    for at in range(values.shape[0]):
        longer[at] = values[at]
    return longer

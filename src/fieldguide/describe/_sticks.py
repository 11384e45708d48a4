"""Compiled steps of the tree-structured stick-breaking process (R. Adams, Z. Ghahramani and
M. Jordan, "Tree-structured stick breaking for hierarchical data", 2010).

Between sweeps a chain keeps no sticks: only the nodes with rows at or below them, in pre-order.
Given the numbers of rows n, sticks and the order of siblings are drawn together, exactly:

    stop_k ~ Beta(1 + n_here, alpha lambda^depth + n_below)
    masses of the children with rows and of all unborn ones ~ Dirichlet(n_1, …, n_m, gamma)
    order: drawn by mass without replacement; an unborn child takes Beta(1, gamma) of its mass

The last line is the law of a stick-breaking sequence in size-biased order, which is its own.
"""

import math
from typing import NamedTuple

import numpy as np

from fieldguide._arrays import Floats, Ints, Words
from fieldguide._jit import inner_jit, jit
from fieldguide.describe._draws import (
    ONE_LESS,
    beta,
    beta_from_one,
    log_gamma_variate,
    uniform,
)
from fieldguide.describe._node_parameters import Columns, Nodes, draw_theta, fill_scores

FULL = -1  # a kernel's answer when the nodes have no room left


@inner_jit(counted=False)
def add_child(nodes: Nodes, columns: Columns, words: Words, above: int) -> int:
    """Append a child of ``above`` with stop and theta from the prior; return it, or FULL."""
    k: int = nodes.n_used[0]
    if k == len(nodes.parent):
        return FULL
    nodes.n_used[0] = k + 1
    nodes.parent[k] = above
    nodes.depth[k] = nodes.depth[above] + 1
    nodes.first[k] = -1
    nodes.last[k] = -1
    link_last(nodes, above, k)
    nodes.stop[k] = draw_stop(columns, words, nodes.depth[k], 0, 0)
    draw_theta(nodes, columns, words, k)
    fill_scores(nodes, columns, k)
    return k


@inner_jit(counted=False)
def link_last(nodes: Nodes, above: int, k: int) -> None:
    """Make k the last child of ``above``."""
    before = nodes.last[above]
    nodes.following[k] = -1
    nodes.last[above] = k
    if before < 0:
        nodes.first[above] = k
    else:
        nodes.following[before] = k


@inner_jit(counted=False)
def draw_stop(columns: Columns, words: Words, depth: int, n_here: int, n_below: int) -> float:
    """Draw the share that stays at a node, given its rows."""
    if depth >= columns.max_depth:
        return 1.0
    b = columns.hyper[0] * columns.hyper[1] ** depth
    if n_here == 0:
        return beta_from_one(words, b + n_below)
    return beta(words, 1.0 + n_here, b + n_below)


@jit(counted=False)
def draw_sticks(
    nodes: Nodes, columns: Columns, words: Words, n_here: Ints, n_all: Ints, children: Ints,
    offset: Ints, waiting: Ints, mass: Floats,
) -> int:  # fmt: skip
    """Draw all sticks and the order of siblings given the rows at (and below) each node.

    n_here, n_all (n_nodes,); every node has rows at or below it. The children of node k stand at
    children[offset[k] : offset[k + 1]]; waiting and mass (n_nodes,) are room to work in. Returns
    the number of nodes with the unborn ones that were placed before a node with rows, or FULL.
    """
    n_nodes = nodes.n_used[0]
    gamma = columns.hyper[2]
    for k in range(n_nodes):
        nodes.first[k] = -1
        nodes.last[k] = -1
    for k in range(n_nodes):
        nodes.stop[k] = draw_stop(columns, words, nodes.depth[k], n_here[k], n_all[k] - n_here[k])
        m = offset[k + 1] - offset[k]
        if m == 0:
            continue
        unborn = log_gamma_variate(words, gamma)
        most = unborn
        for i in range(m):
            waiting[i] = children[offset[k] + i]
            mass[i] = log_gamma_variate(words, float(n_all[waiting[i]]))
            most = max(most, mass[i])
        unborn = math.exp(unborn - most)
        for i in range(m):
            mass[i] = math.exp(mass[i] - most)
        while m > 0:
            known = 0.0
            for i in range(m):
                known += mass[i]
            left = known + unborn
            u = uniform(words) * left
            if u < known:
                i = 0
                while i < m - 1 and u >= mass[i]:
                    u -= mass[i]
                    i += 1
                child, taken = waiting[i], mass[i]
                m -= 1
                waiting[i], mass[i] = waiting[m], mass[m]
                link_last(nodes, k, child)
            else:
                child = add_child(nodes, columns, words, k)
                if child == FULL:
                    return FULL
                taken = unborn * beta_from_one(words, gamma)
                unborn -= taken
            nodes.share[child] = min(max(taken / left, 1e-300), ONE_LESS)
    n_used: int = nodes.n_used[0]
    return n_used


class Segments(NamedTuple):
    """[0, 1], cut into the segments of the nodes in use and of the unborn children of each."""

    edge: np.ndarray  # (2 room,): where segment i ends
    owner: np.ndarray  # (2 room,): its node, or -1 - the node whose unborn children it belongs to
    place: np.ndarray  # (room,): the segment of node k
    mass: np.ndarray  # (room,): the length of node k with all below it
    left: np.ndarray  # (room,): what of it is not laid out yet
    guide: np.ndarray  # guide[j] is the first segment that ends after j / len(guide)


def make_segments(room: int) -> Segments:
    """Return arrays for the segments of up to ``room`` nodes."""
    return Segments(
        edge=np.empty(2 * room),
        owner=np.empty(2 * room, dtype=np.int64),
        place=np.empty(room, dtype=np.int64),
        mass=np.empty(room),
        left=np.empty(room),
        guide=np.empty(1024, dtype=np.int64),
    )


@inner_jit(counted=False)
def lay_out(nodes: Nodes, columns: Columns, segments: Segments) -> None:
    """Write the segments."""
    edge, owner, place = segments.edge, segments.owner, segments.place
    mass, left, guide = segments.mass, segments.left, segments.guide
    n = 0
    at = 0.0
    k = 0
    mass[0] = 1.0
    while True:
        at += nodes.stop[k] * mass[k]
        left[k] = (1.0 - nodes.stop[k]) * mass[k]
        edge[n], owner[n], place[k] = at, k, n
        n += 1
        child = nodes.first[k]
        while child < 0:
            if nodes.depth[k] < columns.max_depth:
                at += left[k]
                edge[n], owner[n] = at, -1 - k
                n += 1
            if k == 0:
                break
            child = nodes.following[k]
            k = nodes.parent[k]
        if child < 0:
            break
        mass[child] = left[k] * nodes.share[child]
        left[k] *= 1.0 - nodes.share[child]
        k = child
    edge[n - 1] = np.inf  # rounding must leave no gap at the end
    i = 0
    for j in range(len(guide)):
        while edge[i] <= j / len(guide):
            i += 1
        guide[j] = i


@inner_jit(counted=False)
def score_row(nodes: Nodes, entries: Ints, start: int, stop: int, k: int) -> float:
    """Return the log-likelihood of a row at node k."""
    total: float = nodes.base[k]
    for j in range(start, stop):
        total += nodes.score[k, entries[j]]
    return total


@jit(counted=False)
def assign_rows(
    nodes: Nodes, columns: Columns, segments: Segments, words: Words, start: Ints, stop: Ints,
    entries: Ints, labels: Ints,
) -> int:  # fmt: skip
    """Move each row by slice sampling on the stick; labels (n,) change. Returns FULL or 0.

    The interval shrinks towards the segment of the row's node, so a place on it need not be kept.
    """
    edge, owner, place, guide = segments.edge, segments.owner, segments.place, segments.guide
    lay_out(nodes, columns, segments)
    for i in range(len(labels)):
        here = labels[i]
        level = score_row(nodes, entries, start[i], stop[i], here) + math.log(uniform(words))
        low, high = 0.0, 1.0
        while high - low > 1e-15:
            u = low + (high - low) * uniform(words)
            while True:
                segment = guide[int(u * len(guide))]
                while edge[segment] <= u:
                    segment += 1
                k = owner[segment]
                if k >= 0:
                    break
                child = add_child(nodes, columns, words, -1 - k)
                if child == FULL:
                    return FULL
                nodes.share[child] = beta_from_one(words, columns.hyper[2])
                lay_out(nodes, columns, segments)
            if k == here or score_row(nodes, entries, start[i], stop[i], k) > level:
                labels[i] = k
                break
            if place[k] < place[here]:
                low = u
            else:
                high = u
    return 0


@jit(counted=False)
def count_up(parent: Ints, labels: Ints, n_here: Ints, n_all: Ints) -> None:
    """Count the rows at each node, and at or below it; a parent precedes its children."""
    for k in range(len(n_here)):
        n_here[k] = 0
    for i in range(len(labels)):
        n_here[labels[i]] += 1
    for k in range(len(n_here)):
        n_all[k] = n_here[k]
    for k in range(len(parent) - 1, 0, -1):
        n_all[parent[k]] += n_all[k]


@jit(counted=False)
def link_all(nodes: Nodes, n_all: Ints) -> None:
    """Make the lists of children anew from the parents of the nodes with rows."""
    for k in range(nodes.n_used[0]):
        nodes.first[k] = -1
        nodes.last[k] = -1
    for k in range(1, nodes.n_used[0]):
        if n_all[k] > 0:
            link_last(nodes, nodes.parent[k], k)


@jit(counted=False)
def find_preorder(nodes: Nodes, n_all: Ints, order: Ints, pending: Ints) -> int:
    """Write the nodes with rows at or below them into ``order``; return how many they are.

    pending has room for one node more than there are.
    """
    pending[0] = 0
    n_pending = 1
    n_found = 0
    while n_pending > 0:
        n_pending -= 1
        k = pending[n_pending]
        order[n_found] = k
        n_found += 1
        begin = n_pending
        child = nodes.first[k]
        while child >= 0:
            if n_all[child] > 0:
                pending[n_pending] = child
                n_pending += 1
            child = nodes.following[child]
        end = n_pending - 1
        while begin < end:  # the first child is taken first
            pending[begin], pending[end] = pending[end], pending[begin]
            begin += 1
            end -= 1
    return n_found


@jit(counted=False)
def count_entries(start: Ints, stop: Ints, entries: Ints, labels: Ints, counts: Ints) -> None:
    """Count each entry over the rows of each node; counts (n_nodes, 2 n_attributes)."""
    for k in range(counts.shape[0]):
        for e in range(counts.shape[1]):
            counts[k, e] = 0
    for i in range(len(labels)):
        k = labels[i]
        for j in range(start[i], stop[i]):
            counts[k, entries[j]] += 1


@jit(counted=False)
def draw_unsure(
    nodes: Nodes, words: Words, labels: Ints, stop: Ints, entries: Ints, fixed_stop: Ints,
    soft_start: Ints, soft: Ints, evidence: Floats,
) -> None:  # fmt: skip
    """Draw the attributes that are known as scores only, given the node of each row.

    The entries of row i from fixed_stop[i] on are written anew; stop[i] is where they end.
    """
    for i in range(len(labels)):
        k = labels[i]
        end = fixed_stop[i]
        for j in range(soft_start[i], soft_start[i + 1]):
            odds = nodes.score[k, soft[j]] + evidence[j]
            if uniform(words) * (1.0 + math.exp(-abs(odds))) < (
                1.0 if odds > 0 else math.exp(odds)
            ):
                entries[end] = soft[j]
                end += 1
        stop[i] = end


@jit(counted=False)
def log_stops(
    alpha: float, decay: float, max_depth: int, n_nodes: int, depth: Ints, n_here: Ints, n_all: Ints
) -> float:
    """Return the log-probability of where rows stop, sticks integrated out."""
    total = 0.0
    for k in range(n_nodes):
        if depth[k] < max_depth:
            b = alpha * decay ** depth[k]
            below = b + (n_all[k] - n_here[k])
            total += math.log(b) + math.lgamma(1.0 + n_here[k]) + math.lgamma(below)
            total -= math.lgamma(1.0 + n_here[k] + below)
    return total


@jit(counted=False)
def log_branches(gamma: float, n_nodes: int, n_here: Ints, n_all: Ints) -> float:
    """Return the log-probability of how rows part among children, sticks integrated out."""
    total = 0.0
    for k in range(n_nodes):
        below = n_all[k] - n_here[k]
        if below > 0:
            total += math.lgamma(gamma) - math.lgamma(gamma + below)
        if k > 0 and n_all[k] > 0:
            total += math.log(gamma) + math.lgamma(float(n_all[k]))
    return total


@jit(counted=False)
def draw_hyper(
    words: Words, hyper: Floats, bounds: Floats, max_depth: int, parent: Ints, depth: Ints,
    n_here: Ints, n_all: Ints,
) -> None:  # fmt: skip
    """Draw alpha, lambda and gamma in turn by slice sampling; bounds (3, 2)."""
    for which in range(3):
        x = hyper[which]
        low, high = bounds[which]
        level = 0.0
        is_first = True
        while high - low > 1e-12:
            if not is_first:
                x = low + (high - low) * uniform(words)
            if which == 2:
                value = log_branches(x, len(parent), n_here, n_all)
            else:
                alpha = x if which == 0 else hyper[0]
                decay = x if which == 1 else hyper[1]
                value = log_stops(alpha, decay, max_depth, len(depth), depth, n_here, n_all)
            if is_first:
                level = value + math.log(uniform(words))
                is_first = False
            elif value >= level:
                hyper[which] = x
                break
            elif x < hyper[which]:
                low = x
            else:
                high = x

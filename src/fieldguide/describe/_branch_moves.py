"""Compiled moves that hang branches of a tree elsewhere (Metropolis and Hastings).

* *graft* hangs a node with all below it under another node, and draws its parameters anew;
* *gather* puts a new node without rows between a node and some of its children; *release* is its
  reverse. The children are those that stand apart from their siblings in one attribute, so that
  what several branches have in common can become a node of its own.

Parameters are proposed from their conditional, see :mod:`fieldguide.describe._node_proposals`.
Sticks are integrated out. A node that is released is left behind with no rows.
"""

import math

import numpy as np

from fieldguide._arrays import Bools, Ints, Words
from fieldguide._jit import inner_jit
from fieldguide.describe._attribute_steps import logistic
from fieldguide.describe._draws import uniform
from fieldguide.describe._node_parameters import ATTRIBUTE, Columns, Nodes, fill_scores
from fieldguide.describe._node_proposals import (
    Room,
    Shape,
    log_theta_prior,
    propose_node,
    sum_children,
    to_line,
)
from fieldguide.describe._sticks import log_branches, log_stops

_LEAST = 1e-6  # weight of an attribute in which siblings do not differ


@inner_jit(counted=False)
def pick(words: Words, is_choice: Bools, n: int) -> tuple[int, int]:
    """Return a random index below n where ``is_choice``, and how many there are; -1 for none."""
    count = 0
    for k in range(n):
        if is_choice[k]:
            count += 1
    if count == 0:
        return -1, 0
    at = int(uniform(words) * count)
    for k in range(n):
        if is_choice[k]:
            if at == 0:
                return k, count
            at -= 1
    return -1, count


@inner_jit(counted=False)
def find_filled(counts: Ints, n: int, is_filled: Bools) -> None:
    """Write which of the first n nodes have rows."""
    for k in range(n):
        is_filled[k] = counts[k] > 0


@inner_jit(counted=False)
def log_nodes(columns: Columns, nodes: Nodes, n_here: Ints, n_all: Ints) -> float:
    """Return the log-probability of the tree, sticks integrated out."""
    n = nodes.n_used[0]
    hyper = columns.hyper
    stops = log_stops(hyper[0], hyper[1], columns.max_depth, n, nodes.depth, n_here, n_all)
    return stops + log_branches(hyper[2], n, n_here, n_all)


@inner_jit(counted=False)
def log_rows(nodes: Nodes, n_here: Ints, counts: Ints, k: int) -> float:
    """Return the log-likelihood of all rows at node k from the counts of their entries."""
    total: float = n_here[k] * nodes.base[k]
    for e in range(counts.shape[1]):
        if counts[k, e] > 0:
            total += counts[k, e] * nodes.score[k, e]
    return total


@inner_jit(counted=False)
def list_children(nodes: Nodes, n_all: Ints, above: int, found: Ints) -> int:
    """Write the children with rows at or below them; return how many they are."""
    n = 0
    for k in range(1, nodes.n_used[0]):
        if n_all[k] > 0 and nodes.parent[k] == above:
            found[n] = k
            n += 1
    return n


@inner_jit(counted=False)
def list_branch(nodes: Nodes, n_all: Ints, top: int, found: Ints) -> int:
    """Write ``top`` and all nodes with rows below it, parents first; return how many they are."""
    found[0] = top
    n = 1
    i = 0
    while i < n:
        for k in range(1, nodes.n_used[0]):
            if n_all[k] > 0 and nodes.parent[k] == found[i] and k != top:
                found[n] = k
                n += 1
        i += 1
    return n


@inner_jit(counted=False)
def read_rows(
    columns: Columns, nodes: Nodes, room: Room, n_here: Ints, counts: Ints, n_branch: int,
    above: int,
) -> int:  # fmt: skip
    """Write rest, n1 and n0 of the branch as the proposal of its top below ``above`` needs them.

    Returns of how many nodes they are.
    """
    n_attributes = nodes.theta.shape[1]
    path = room.path
    m = 0
    for i in range(n_branch):
        k = room.branch[i]
        if i > 0 and columns.kind != ATTRIBUTE:
            break  # there, a node's parameters say nothing of the rows below
        for d in range(n_attributes):
            if i == 0:
                path[k, d] = nodes.quiet[above, d]
            else:
                path[k, d] = path[nodes.parent[k], d] * (1.0 - nodes.theta[k, d])
        if n_here[k] > 0:
            for d in range(n_attributes):
                room.rest[m, d] = path[k, d]
                room.n1[m, d] = counts[k, d]
                room.n0[m, d] = n_here[k] - counts[k, d] - counts[k, n_attributes + d]
            m += 1
    return m


@inner_jit(counted=False)
def log_tops(
    columns: Columns, shape: Shape, nodes: Nodes, above: int, children: Ints, n_children: int
) -> float:
    """Return the log-density of the parameters of ``children`` below ``above``."""
    total = 0.0
    for i in range(n_children):
        theta = nodes.theta[children[i]]
        total += log_theta_prior(columns, shape, nodes.theta[above], theta)
    return total


@inner_jit(counted=False)
def log_state(
    columns: Columns, nodes: Nodes, n_here: Ints, n_all: Ints, counts: Ints, branch: Ints,
    first: int, end: int,
) -> float:  # fmt: skip
    """Return the log-density of the tree and of the rows of branch[first:end]."""
    total = log_nodes(columns, nodes, n_here, n_all)
    for i in range(first, end):
        total += log_rows(nodes, n_here, counts, branch[i])
    return total


@inner_jit(counted=False)
def refill(columns: Columns, nodes: Nodes, branch: Ints, first: int, end: int, shift: int) -> None:
    """Compute the scores of branch[first:end] anew, ``shift`` levels deeper."""
    for i in range(first, end):
        nodes.depth[branch[i]] += shift
        fill_scores(nodes, columns, branch[i])


@inner_jit(counted=False)
def hang(nodes: Nodes, n_all: Ints, top: int, above: int) -> None:
    """Make ``top`` a child of ``above`` and count its rows there."""
    k = nodes.parent[top]
    while k >= 0:
        n_all[k] -= n_all[top]
        k = nodes.parent[k]
    nodes.parent[top] = above
    k = above
    while k >= 0:
        n_all[k] += n_all[top]
        k = nodes.parent[k]


@inner_jit(counted=False)
def try_graft(
    nodes: Nodes, columns: Columns, shape: Shape, room: Room, words: Words, counts: Ints,
    n_here: Ints, n_all: Ints,
) -> bool:  # fmt: skip
    """Propose to hang a node under another one; return whether it was accepted."""
    n_used = nodes.n_used[0]
    is_choice, branch, children = room.is_choice, room.branch, room.children
    find_filled(n_all, n_used, is_choice)
    is_choice[0] = False
    top, _ = pick(words, is_choice, n_used)
    if top < 0:
        return False
    old = nodes.parent[top]
    if old > 0 and n_all[old] == n_all[top]:
        return False  # the old parent would vanish
    n_branch = list_branch(nodes, n_all, top, branch)
    is_choice[0] = True
    is_choice[old] = False
    deepest = 0
    for i in range(n_branch):
        is_choice[branch[i]] = False
        deepest = max(deepest, nodes.depth[branch[i]])
    new, _ = pick(words, is_choice, n_used)
    if new < 0 or deepest - nodes.depth[top] + nodes.depth[new] + 1 > columns.max_depth:
        return False
    shift = nodes.depth[new] + 1 - nodes.depth[top]
    n_children = list_children(nodes, n_all, top, children)
    sum_children(columns, nodes, children, n_children, room.sums)
    for d in range(len(room.theta)):
        room.theta[d] = nodes.theta[top, d]
    before = log_state(columns, nodes, n_here, n_all, counts, branch, 0, n_branch)
    before += log_tops(columns, shape, nodes, old, branch, 1)
    before += log_tops(columns, shape, nodes, top, children, n_children)
    n_nodes = read_rows(columns, nodes, room, n_here, counts, n_branch, old)
    log_back = propose_node(
        words, columns, shape, room, nodes.theta[old], n_children, n_nodes, room.theta, True
    )
    n_nodes = read_rows(columns, nodes, room, n_here, counts, n_branch, new)
    log_there = propose_node(
        words, columns, shape, room, nodes.theta[new], n_children, n_nodes, nodes.theta[top], False
    )
    hang(nodes, n_all, top, new)
    refill(columns, nodes, branch, 0, n_branch, shift)
    after = log_state(columns, nodes, n_here, n_all, counts, branch, 0, n_branch)
    after += log_tops(columns, shape, nodes, new, branch, 1)
    after += log_tops(columns, shape, nodes, top, children, n_children)
    if math.log(uniform(words)) < after - before + log_back - log_there:
        return True
    for d in range(len(room.theta)):
        nodes.theta[top, d] = room.theta[d]
    hang(nodes, n_all, top, old)
    refill(columns, nodes, branch, 0, n_branch, -shift)
    return False


@inner_jit(counted=False)
def part_siblings(
    columns: Columns, nodes: Nodes, siblings: Ints, n_siblings: int, d: int, is_apart: Bools
) -> float:
    """Write which siblings stand on the upper side of attribute d; return how far they reach."""
    low, high = np.inf, -np.inf
    for i in range(n_siblings):
        x = to_line(columns.kind, nodes.theta[siblings[i], d])
        low, high = min(low, x), max(high, x)
    for i in range(n_siblings):
        x = to_line(columns.kind, nodes.theta[siblings[i], d])
        is_apart[i] = x >= 0.5 * (low + high)
    return logistic(high) - logistic(low) + _LEAST


@inner_jit(counted=False)
def draw_part(words: Words, columns: Columns, nodes: Nodes, room: Room, n_siblings: int) -> None:
    """Draw the siblings that stand apart in an attribute, one that differs much more often."""
    n_attributes = nodes.theta.shape[1]
    weight = room.gain
    total = 0.0
    for d in range(n_attributes):
        weight[d] = part_siblings(columns, nodes, room.siblings, n_siblings, d, room.is_apart)
        total += weight[d]
    u = uniform(words) * total
    d = 0
    while d < n_attributes - 1 and u >= weight[d]:
        u -= weight[d]
        d += 1
    part_siblings(columns, nodes, room.siblings, n_siblings, d, room.is_apart)


@inner_jit(counted=False)
def log_part(columns: Columns, nodes: Nodes, room: Room, n_siblings: int) -> float:
    """Return the log-probability with which :func:`draw_part` draws these siblings."""
    total, hit = 0.0, 0.0
    for d in range(nodes.theta.shape[1]):
        weight = part_siblings(columns, nodes, room.siblings, n_siblings, d, room.is_found)
        total += weight
        is_same = True
        for i in range(n_siblings):
            is_same = is_same and room.is_found[i] == room.is_apart[i]
        if is_same:
            hit += weight
    return math.log(hit / total) if hit > 0.0 else -np.inf


@inner_jit(counted=False)
def find_parents(nodes: Nodes, n_all: Ints, is_parent: Bools) -> int:
    """Write which nodes have children with rows; return how many such nodes there are."""
    count = 0
    for k in range(nodes.n_used[0]):
        is_parent[k] = False
    for k in range(1, nodes.n_used[0]):
        if n_all[k] > 0 and not is_parent[nodes.parent[k]]:
            is_parent[nodes.parent[k]] = True
            count += 1
    return count


@inner_jit(counted=False)
def find_hollow(n_here: Ints, n_all: Ints, n_used: int, is_hollow: Bools) -> int:
    """Write which nodes but the root have rows below them alone; return how many there are."""
    count = 0
    for k in range(n_used):
        is_hollow[k] = k > 0 and n_here[k] == 0 and n_all[k] > 0
        if is_hollow[k]:
            count += 1
    return count


@inner_jit(counted=False)
def insert(
    nodes: Nodes, n_all: Ints, node: int, above: int, children: Ints, n_children: int
) -> None:
    """Put ``node`` between ``above`` and some of its children."""
    nodes.parent[node] = above
    nodes.depth[node] = nodes.depth[above] + 1
    n_all[node] = 0
    for i in range(n_children):
        nodes.parent[children[i]] = node
        n_all[node] += n_all[children[i]]


@inner_jit(counted=False)
def dissolve(
    nodes: Nodes, n_all: Ints, node: int, above: int, children: Ints, n_children: int
) -> None:
    """Give the children of ``node`` to its parent."""
    n_all[node] = 0
    for i in range(n_children):
        nodes.parent[children[i]] = above


@inner_jit(counted=False)
def try_gather(
    nodes: Nodes, columns: Columns, shape: Shape, room: Room, words: Words, counts: Ints,
    n_here: Ints, n_all: Ints, is_release: bool,
) -> bool:  # fmt: skip
    """Propose one gathering of children, or one release; return whether it was accepted."""
    n_used = nodes.n_used[0]
    branch, children, siblings = room.branch, room.children, room.siblings
    if is_release:
        n_hollow = find_hollow(n_here, n_all, n_used, room.is_choice)
        node, _ = pick(words, room.is_choice, n_used)
        if node < 0:
            return False
        above = nodes.parent[node]
        n_children = list_children(nodes, n_all, node, children)
        n_branch = list_branch(nodes, n_all, node, branch)
    else:
        find_parents(nodes, n_all, room.is_choice)
        above, _ = pick(words, room.is_choice, n_used)
        if above < 0:
            return False
        n_siblings = list_children(nodes, n_all, above, siblings)
        draw_part(words, columns, nodes, room, n_siblings)
        n_children = 0
        for i in range(n_siblings):
            if room.is_apart[i]:
                children[n_children] = siblings[i]
                n_children += 1
        node = n_used
        nodes.n_used[0] = n_used + 1
        n_here[node] = 0
        for e in range(counts.shape[1]):
            counts[node, e] = 0
        insert(nodes, n_all, node, above, children, n_children)
        n_branch = list_branch(nodes, n_all, node, branch)
        deepest = 0
        for i in range(1, n_branch):
            deepest = max(deepest, nodes.depth[branch[i]] + 1)
        if deepest > columns.max_depth:
            dissolve(nodes, n_all, node, above, children, n_children)
            nodes.n_used[0] = n_used
            return False
        n_hollow = 0
    # the node is in its place; scores and depths of what is below it are those of the old state
    sum_children(columns, nodes, children, n_children, room.sums)
    n_nodes = read_rows(columns, nodes, room, n_here, counts, n_branch, above)
    log_q = propose_node(
        words, columns, shape, room, nodes.theta[above], n_children, n_nodes, nodes.theta[node],
        is_release,
    )  # fmt: skip
    if not is_release:
        fill_scores(nodes, columns, node)
        refill(columns, nodes, branch, 1, n_branch, 1)
        n_hollow = find_hollow(n_here, n_all, n_used + 1, room.is_choice)
    log_p = log_state(columns, nodes, n_here, n_all, counts, branch, 0, n_branch)
    log_p += log_tops(columns, shape, nodes, above, branch, 1)
    log_p += log_tops(columns, shape, nodes, node, children, n_children)
    dissolve(nodes, n_all, node, above, children, n_children)
    refill(columns, nodes, branch, 1, n_branch, -1)
    log_p -= log_state(columns, nodes, n_here, n_all, counts, branch, 1, n_branch)
    log_p -= log_tops(columns, shape, nodes, above, children, n_children)
    n_siblings = list_children(nodes, n_all, above, siblings)
    for i in range(n_siblings):
        room.is_apart[i] = False
        for j in range(n_children):
            room.is_apart[i] = room.is_apart[i] or siblings[i] == children[j]
    log_q += log_part(columns, nodes, room, n_siblings)
    log_q -= math.log(find_parents(nodes, n_all, room.is_choice))
    ratio = log_p - math.log(n_hollow) - log_q
    if is_release:
        ratio = -ratio
    is_accepted = math.log(uniform(words)) < ratio
    if is_accepted != is_release:
        insert(nodes, n_all, node, above, children, n_children)
        refill(columns, nodes, branch, 1, n_branch, 1)
    elif not is_release:
        nodes.n_used[0] = n_used
    return is_accepted

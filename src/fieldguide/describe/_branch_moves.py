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

from fieldguide._jit import inner_jit
from fieldguide.describe._attribute_steps import logistic
from fieldguide.describe._draws import uniform
from fieldguide.describe._node_parameters import ATTRIBUTE, fill_scores
from fieldguide.describe._node_proposals import (
    log_theta_prior,
    propose_node,
    sum_children,
    to_line,
)
from fieldguide.describe._sticks import log_branches, log_stops

_LEAST = 1e-6  # weight of an attribute in which siblings do not differ


@inner_jit
def pick(words, is_choice):
    """Return a random index where ``is_choice``, and how many there are; -1 for none."""
    count = 0
    for k in range(len(is_choice)):
        if is_choice[k]:
            count += 1
    if count == 0:
        return -1, 0
    at = int(uniform(words) * count)
    for k in range(len(is_choice)):
        if is_choice[k]:
            if at == 0:
                return k, count
            at -= 1
    return -1, count


@inner_jit
def find_filled(counts, n):
    """Return which of the first n nodes have rows."""
    is_filled = np.empty(n, dtype=np.bool_)
    for k in range(n):
        is_filled[k] = counts[k] > 0
    return is_filled


@inner_jit
def log_nodes(columns, nodes, n_here, n_all):
    """Return the log-probability of the tree, sticks integrated out."""
    n = nodes.n_used[0]
    hyper = columns.hyper
    return log_stops(
        hyper[0], hyper[1], columns.max_depth, nodes.depth[:n], n_here[:n], n_all[:n]
    ) + log_branches(hyper[2], nodes.parent[:n], n_here[:n], n_all[:n])


@inner_jit
def log_rows(nodes, n_here, counts, k):
    """Return the log-likelihood of all rows at node k from the counts of their entries."""
    total = n_here[k] * nodes.base[k]
    for e in range(counts.shape[1]):
        if counts[k, e] > 0:
            total += counts[k, e] * nodes.score[k, e]
    return total


@inner_jit
def list_children(nodes, n_all, above):
    """Return the children with rows at or below them."""
    found = np.empty(nodes.n_used[0], dtype=np.int64)
    n = 0
    for k in range(1, nodes.n_used[0]):
        if n_all[k] > 0 and nodes.parent[k] == above:
            found[n] = k
            n += 1
    return found[:n]


@inner_jit
def list_branch(nodes, n_all, top):
    """Return ``top`` and all nodes with rows below it; parents precede children."""
    found = np.empty(nodes.n_used[0], dtype=np.int64)
    found[0] = top
    n = 1
    i = 0
    while i < n:
        for k in range(1, nodes.n_used[0]):
            if n_all[k] > 0 and nodes.parent[k] == found[i] and k != top:
                found[n] = k
                n += 1
        i += 1
    return found[:n]


@inner_jit
def read_rows(columns, nodes, n_here, counts, branch, above):
    """Return rest, n1 and n0 of a branch as the proposal of its top below ``above`` needs them."""
    n_attributes = nodes.theta.shape[1]
    path = np.empty((nodes.n_used[0], n_attributes))
    rest = np.empty((len(branch), n_attributes))
    n1 = np.empty((len(branch), n_attributes))
    n0 = np.empty((len(branch), n_attributes))
    m = 0
    for i in range(len(branch)):
        k = branch[i]
        if i > 0 and columns.kind != ATTRIBUTE:
            break  # there, a node's parameters say nothing of the rows below
        for d in range(n_attributes):
            if i == 0:
                path[k, d] = nodes.quiet[above, d]
            else:
                path[k, d] = path[nodes.parent[k], d] * (1.0 - nodes.theta[k, d])
        if n_here[k] > 0:
            for d in range(n_attributes):
                rest[m, d] = path[k, d]
                n1[m, d] = counts[k, d]
                n0[m, d] = n_here[k] - counts[k, d] - counts[k, n_attributes + d]
            m += 1
    return rest[:m], n1[:m], n0[:m]


@inner_jit
def log_tops(columns, shape, nodes, above, children):
    """Return the log-density of the parameters of ``children`` below ``above``."""
    total = 0.0
    for k in children:
        total += log_theta_prior(columns, shape, nodes.theta[above], nodes.theta[k])
    return total


@inner_jit
def log_state(columns, nodes, n_here, n_all, counts, branch):
    """Return the log-density of the tree and of the rows of a branch."""
    total = log_nodes(columns, nodes, n_here, n_all)
    for k in branch:
        total += log_rows(nodes, n_here, counts, k)
    return total


@inner_jit
def refill(columns, nodes, branch, shift):
    """Compute the scores of a branch anew, ``shift`` levels deeper."""
    for k in branch:
        nodes.depth[k] += shift
        fill_scores(nodes, columns, k)


@inner_jit
def hang(nodes, n_all, top, above):
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


@inner_jit
def try_graft(nodes, columns, shape, words, counts, n_here, n_all):
    """Propose to hang a node under another one; return whether it was accepted."""
    is_choice = find_filled(n_all, nodes.n_used[0])
    is_choice[0] = False
    top, _ = pick(words, is_choice)
    if top < 0:
        return False
    old = nodes.parent[top]
    if old > 0 and n_all[old] == n_all[top]:
        return False  # the old parent would vanish
    branch = list_branch(nodes, n_all, top)
    is_choice[0] = True
    is_choice[old] = False
    deepest = 0
    for k in branch:
        is_choice[k] = False
        deepest = max(deepest, nodes.depth[k])
    new, _ = pick(words, is_choice)
    if new < 0 or deepest - nodes.depth[top] + nodes.depth[new] + 1 > columns.max_depth:
        return False
    shift = nodes.depth[new] + 1 - nodes.depth[top]
    tops = branch[:1]
    children = list_children(nodes, n_all, top)
    sums = sum_children(columns, nodes, children)
    theta = nodes.theta[top].copy()
    before = log_state(columns, nodes, n_here, n_all, counts, branch)
    before += log_tops(columns, shape, nodes, old, tops)
    before += log_tops(columns, shape, nodes, top, children)
    rest, n1, n0 = read_rows(columns, nodes, n_here, counts, branch, old)
    log_back = propose_node(
        words, columns, shape, nodes.theta[old], len(children), sums, rest, n1, n0, theta, True
    )
    rest, n1, n0 = read_rows(columns, nodes, n_here, counts, branch, new)
    log_there = propose_node(
        words, columns, shape, nodes.theta[new], len(children), sums, rest, n1, n0,
        nodes.theta[top], False,
    )  # fmt: skip
    hang(nodes, n_all, top, new)
    refill(columns, nodes, branch, shift)
    after = log_state(columns, nodes, n_here, n_all, counts, branch)
    after += log_tops(columns, shape, nodes, new, tops)
    after += log_tops(columns, shape, nodes, top, children)
    if math.log(uniform(words)) < after - before + log_back - log_there:
        return True
    for d in range(len(theta)):
        nodes.theta[top, d] = theta[d]
    hang(nodes, n_all, top, old)
    refill(columns, nodes, branch, -shift)
    return False


@inner_jit
def part_siblings(columns, nodes, siblings, d, is_apart):
    """Write which siblings stand on the upper side of attribute d; return how far they reach."""
    low, high = np.inf, -np.inf
    for k in siblings:
        x = to_line(columns.kind, nodes.theta[k, d])
        low, high = min(low, x), max(high, x)
    for i in range(len(siblings)):
        x = to_line(columns.kind, nodes.theta[siblings[i], d])
        is_apart[i] = x >= 0.5 * (low + high)
    return logistic(high) - logistic(low) + _LEAST


@inner_jit
def draw_part(words, columns, nodes, siblings, is_apart):
    """Draw the siblings that stand apart in an attribute, one that differs much more often."""
    n_attributes = nodes.theta.shape[1]
    weight = np.empty(n_attributes)
    total = 0.0
    for d in range(n_attributes):
        weight[d] = part_siblings(columns, nodes, siblings, d, is_apart)
        total += weight[d]
    u = uniform(words) * total
    d = 0
    while d < n_attributes - 1 and u >= weight[d]:
        u -= weight[d]
        d += 1
    part_siblings(columns, nodes, siblings, d, is_apart)


@inner_jit
def log_part(columns, nodes, siblings, is_apart):
    """Return the log-probability with which :func:`draw_part` draws these siblings."""
    found = np.empty(len(siblings), dtype=np.bool_)
    total, hit = 0.0, 0.0
    for d in range(nodes.theta.shape[1]):
        weight = part_siblings(columns, nodes, siblings, d, found)
        total += weight
        is_same = True
        for i in range(len(siblings)):
            is_same = is_same and found[i] == is_apart[i]
        if is_same:
            hit += weight
    return math.log(hit / total) if hit > 0.0 else -np.inf


@inner_jit
def choose(siblings, is_chosen):
    """Return the siblings that are chosen."""
    chosen = np.empty(len(siblings), dtype=np.int64)
    n = 0
    for i in range(len(siblings)):
        if is_chosen[i]:
            chosen[n] = siblings[i]
            n += 1
    return chosen[:n]


@inner_jit
def find_parents(nodes, n_all):
    """Return which nodes have children with rows, and how many such nodes there are."""
    is_parent = np.zeros(nodes.n_used[0], dtype=np.bool_)
    count = 0
    for k in range(1, nodes.n_used[0]):
        if n_all[k] > 0 and not is_parent[nodes.parent[k]]:
            is_parent[nodes.parent[k]] = True
            count += 1
    return is_parent, count


@inner_jit
def find_hollow(n_here, n_all, n_used):
    """Return which nodes but the root have rows below them and none of their own; how many."""
    is_hollow = np.zeros(n_used, dtype=np.bool_)
    count = 0
    for k in range(1, n_used):
        if n_here[k] == 0 and n_all[k] > 0:
            is_hollow[k] = True
            count += 1
    return is_hollow, count


@inner_jit
def insert(nodes, n_all, node, above, children):
    """Put ``node`` between ``above`` and some of its children."""
    nodes.parent[node] = above
    nodes.depth[node] = nodes.depth[above] + 1
    n_all[node] = 0
    for k in children:
        nodes.parent[k] = node
        n_all[node] += n_all[k]


@inner_jit
def dissolve(nodes, n_all, node, above, children):
    """Give the children of ``node`` to its parent."""
    n_all[node] = 0
    for k in children:
        nodes.parent[k] = above


@inner_jit
def try_gather(nodes, columns, shape, words, counts, n_here, n_all, is_release):
    """Propose one gathering of children, or one release; return whether it was accepted."""
    n_used = nodes.n_used[0]
    if is_release:
        node, n_hollow = pick(words, find_hollow(n_here, n_all, n_used)[0])
        if node < 0:
            return False
        above = nodes.parent[node]
        children = list_children(nodes, n_all, node)
        branch = list_branch(nodes, n_all, node)
    else:
        above, _ = pick(words, find_parents(nodes, n_all)[0])
        if above < 0:
            return False
        siblings = list_children(nodes, n_all, above)
        is_apart = np.empty(len(siblings), dtype=np.bool_)
        draw_part(words, columns, nodes, siblings, is_apart)
        children = choose(siblings, is_apart)
        node = n_used
        nodes.n_used[0] = n_used + 1
        n_here[node] = 0
        for e in range(counts.shape[1]):
            counts[node, e] = 0
        insert(nodes, n_all, node, above, children)
        branch = list_branch(nodes, n_all, node)
        deepest = 0
        for k in branch[1:]:
            deepest = max(deepest, nodes.depth[k] + 1)
        if deepest > columns.max_depth:
            dissolve(nodes, n_all, node, above, children)
            nodes.n_used[0] = n_used
            return False
    # the node is in its place; scores and depths of what is below it are those of the old state
    sums = sum_children(columns, nodes, children)
    rest, n1, n0 = read_rows(columns, nodes, n_here, counts, branch, above)
    log_q = propose_node(
        words, columns, shape, nodes.theta[above], len(children), sums, rest, n1, n0,
        nodes.theta[node], is_release,
    )  # fmt: skip
    if not is_release:
        fill_scores(nodes, columns, node)
        refill(columns, nodes, branch[1:], 1)
        _, n_hollow = find_hollow(n_here, n_all, n_used + 1)
    log_p = log_state(columns, nodes, n_here, n_all, counts, branch)
    log_p += log_tops(columns, shape, nodes, above, branch[:1])
    log_p += log_tops(columns, shape, nodes, node, children)
    dissolve(nodes, n_all, node, above, children)
    refill(columns, nodes, branch[1:], -1)
    log_p -= log_state(columns, nodes, n_here, n_all, counts, branch[1:])
    log_p -= log_tops(columns, shape, nodes, above, children)
    siblings = list_children(nodes, n_all, above)
    is_apart = np.zeros(len(siblings), dtype=np.bool_)
    for k in children:
        for i in range(len(siblings)):
            is_apart[i] = is_apart[i] or siblings[i] == k
    log_q += log_part(columns, nodes, siblings, is_apart)
    log_q -= math.log(find_parents(nodes, n_all)[1])
    ratio = log_p - math.log(n_hollow) - log_q
    if is_release:
        ratio = -ratio
    is_accepted = math.log(uniform(words)) < ratio
    if is_accepted != is_release:
        insert(nodes, n_all, node, above, children)
        refill(columns, nodes, branch[1:], 1)
    elif not is_release:
        nodes.n_used[0] = n_used
    return is_accepted

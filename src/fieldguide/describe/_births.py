"""Compiled births and deaths of leaves (Metropolis and Hastings).

A *birth* takes rows from a node, the donor, into a new leaf; *death* gives the rows of a leaf to a
donor, wherever in the tree that is. The two states are called *parted* and *joined*:

==========  =====================================================================================
of a leaf   where it hangs is most often the donor or the donor's parent, else any node; its
            parameters are proposed from the rows that would follow an anchor row, found in a few
            rounds of refinement from the joined state (the launch state of S. Jain and R. Neal,
            "A split-merge Markov chain Monte Carlo procedure for the Dirichlet process mixture
            model", 2004); its rows are drawn given these parameters
of a donor  a death draws it by how likely the leaf's rows are there; in both states its parameters
            are proposed from their conditional: those that fit both kinds of rows fit neither
            alone, and a move that kept them would hardly ever be accepted
==========  =====================================================================================

Sticks are integrated out. A leaf that dies is left behind with no rows.
"""

import math

import numpy as np

from fieldguide._jit import jit
from fieldguide.describe._attribute_steps import logistic
from fieldguide.describe._branch_moves import (
    draw_host,
    list_branch,
    list_children,
    log_state,
    log_tops,
    pick,
    propose_at,
    refill,
    weigh_hosts,
)
from fieldguide.describe._draws import uniform
from fieldguide.describe._node_parameters import ATTRIBUTE, fill_scores
from fieldguide.describe._node_proposals import log_prior, propose_node
from fieldguide.describe._sticks import score_row

_N_ROUNDS = 3
_NEAR = 0.4  # chance of a leaf below its donor, and again of one beside it


@jit
def launch(nodes, columns, donor, above, anchor, members, start, stop, entries, n1, n0):
    """Count the attributes, n1 and n0, of the rows that would follow ``anchor`` to a new leaf.

    members are the rows of the donor. Depends on nothing but the rows, the anchor, and the nodes
    ``donor`` and ``above``.
    """
    n = len(n1)
    gain = np.empty(2 * n)
    n1[:] = 0.0
    n0[:] = 1.0
    for j in range(start[anchor], stop[anchor]):
        e = entries[j]
        if e < n:
            n1[e], n0[e] = 1.0, 0.0
        else:
            n0[e - n] = 0.0
    for turn in range(_N_ROUNDS):
        base = -nodes.base[donor]
        for d in range(n):
            rate_above = logistic(nodes.score[above, d])
            weight = 0.25 if turn == 0 else 1.0
            rate = (n1[d] + weight * rate_above) / (n1[d] + n0[d] + weight)
            if columns.kind == ATTRIBUTE:
                rate = max(rate, rate_above)
            rate = min(max(rate, 1e-3), 1.0 - 1e-3)
            base += math.log(1.0 - rate)
            gain[d] = math.log(rate / (1.0 - rate)) - nodes.score[donor, d]
            gain[n + d] = -math.log(1.0 - rate) - nodes.score[donor, n + d]
        n1[:] = 0.0
        n0[:] = 0.0
        count = 0.0
        for i in members:
            total = base
            for j in range(start[i], stop[i]):
                total += gain[entries[j]]
            if total > 0.0 or i == anchor:
                count += 1.0
                for j in range(start[i], stop[i]):
                    e = entries[j]
                    if e < n:
                        n1[e] += 1.0
                    else:
                        n0[e - n] -= 1.0
        for d in range(n):
            n0[d] += count - n1[d]


@jit
def move_rows(nodes, n_here, n_all, counts, giver, taker, n, moved):
    """Count n rows, with the entries ``moved``, at ``taker`` instead of ``giver``."""
    n_here[giver] -= n
    n_here[taker] += n
    counts[giver] -= moved
    counts[taker] += moved
    k = giver
    while k >= 0:
        n_all[k] -= n
        k = nodes.parent[k]
    k = taker
    while k >= 0:
        n_all[k] += n
        k = nodes.parent[k]


@jit
def find_leaves(nodes, n_all):
    """Return which nodes are leaves with rows, the root never."""
    n = nodes.n_used[0]
    is_leaf = n_all[:n] > 0
    for k in range(n):
        if n_all[k] > 0 and nodes.parent[k] >= 0:
            is_leaf[nodes.parent[k]] = False
    is_leaf[0] = False
    return is_leaf


@jit
def draw_place(words, nodes, n_all, donor):
    """Draw the node below which a leaf is born."""
    u = uniform(words)
    beside = nodes.parent[donor]
    if u < _NEAR:
        return donor
    if u < 2.0 * _NEAR and beside >= 0:
        return beside
    return pick(words, n_all[: nodes.n_used[0]] > 0)[0]


@jit
def log_place(nodes, n_all, donor, above):
    """Return the log-probability with which :func:`draw_place` draws ``above``."""
    beside = nodes.parent[donor]
    p = _NEAR if above == donor or (above == beside and beside >= 0) else 0.0
    rest = 1.0 - _NEAR if beside < 0 else 1.0 - 2.0 * _NEAR
    return math.log(p + rest / (n_all[: nodes.n_used[0]] > 0).sum())


@jit
def log_host(nodes, n_all, counts, leaf, n_rows, donor):
    """Return the log-probability that the rows of a dying leaf are given to ``donor``."""
    is_choice = n_all[: nodes.n_used[0]] > 0
    is_choice[leaf] = False
    weight = weigh_hosts(nodes, is_choice, n_rows, counts[leaf].astype(np.float64))
    return math.log(weight[donor] / weight.sum())


@jit
def log_around(nodes, columns, shape, n_here, n_all, counts, donor, leaf):
    """Return the log-density of all that a birth or a death at these two nodes can change."""
    branch = list_branch(nodes, n_all, donor)
    total = log_state(columns, nodes, n_here, n_all, counts, branch)
    total += log_prior(columns, shape, nodes, donor)
    total += log_tops(columns, shape, nodes, donor, list_children(nodes, n_all, donor))
    if n_all[leaf] > 0:
        if nodes.parent[leaf] != donor:
            total += log_prior(columns, shape, nodes, leaf)
        if not (branch == leaf).any():
            total += n_here[leaf] * nodes.base[leaf]
            total += (counts[leaf] * nodes.score[leaf]).sum()
    return total


@jit
def draw_rows(words, nodes, start, stop, entries, members, donor, leaf, anchor, goes, is_given):
    """Draw which rows of the donor go to the leaf; return the log-probability of ``goes``."""
    log_q = 0.0
    for m in range(len(members)):
        i = members[m]
        if i == anchor:
            goes[m] = True
            continue
        odds = score_row(nodes, entries, start[i], stop[i], leaf)
        odds -= score_row(nodes, entries, start[i], stop[i], donor)
        if not is_given:
            goes[m] = uniform(words) < 1.0 / (1.0 + math.exp(min(-odds, 700.0)))
        towards = odds if goes[m] else -odds
        log_q += min(towards, 0.0) - math.log1p(math.exp(-abs(odds)))
    return log_q


@jit
def count_members(start, stop, entries, members, goes, total):
    """Count the entries of the rows that go into total (2 n_attributes,); return how many go."""
    total[:] = 0
    n = 0
    for m in range(len(members)):
        if goes[m]:
            n += 1
            for j in range(start[members[m]], stop[members[m]]):
                total[entries[j]] += 1
    return n


@jit
def rows_of(labels, donor, leaf):
    """Return the rows at either node."""
    n = 0
    for i in range(len(labels)):
        if labels[i] == donor or labels[i] == leaf:
            n += 1
    members = np.empty(n, dtype=np.int64)
    n = 0
    for i in range(len(labels)):
        if labels[i] == donor or labels[i] == leaf:
            members[n] = i
            n += 1
    return members


@jit
def propose_leaf(
    words, nodes, columns, shape, start, stop, entries, members, donor, leaf, anchor, goes, is_given
):
    """Propose the parameters and the rows of a leaf from the joined state; return the log-density.

    The scores of the leaf are those in the joined state.
    """
    above = nodes.parent[leaf]
    n_attributes = nodes.theta.shape[1]
    n1 = np.empty((1, n_attributes))
    n0 = np.empty((1, n_attributes))
    launch(nodes, columns, donor, above, anchor, members, start, stop, entries, n1[0], n0[0])
    rest = nodes.quiet[above].copy().reshape((1, n_attributes))
    log_q = propose_node(
        words, columns, shape, nodes.theta[above], columns.spread, 0, np.zeros((2, n_attributes)),
        rest, n1, n0, nodes.theta[leaf], is_given,
    )  # fmt: skip
    fill_scores(nodes, columns, leaf)
    return log_q + draw_rows(
        words, nodes, start, stop, entries, members, donor, leaf, anchor, goes, is_given
    )


@jit
def try_birth(nodes, columns, shape, words, start, stop, entries, labels, n_here, n_all, counts):
    """Propose one birth; return whether it was accepted."""
    leaf = nodes.n_used[0]
    donor, n_donors = pick(words, n_here[:leaf] > 0)
    above = draw_place(words, nodes, n_all, donor)
    if nodes.depth[above] >= columns.max_depth:
        return False
    members = rows_of(labels, donor, donor)
    anchor = members[int(uniform(words) * len(members))]
    log_q = log_place(nodes, n_all, donor, above) - math.log(n_donors) - math.log(len(members))
    n_here[leaf] = 0
    n_all[leaf] = 0
    counts[leaf] = 0
    nodes.parent[leaf] = above
    nodes.depth[leaf] = nodes.depth[above] + 1
    nodes.n_used[0] = leaf + 1
    joined = nodes.theta[donor].copy()
    log_p = -log_around(nodes, columns, shape, n_here, n_all, counts, donor, leaf)
    log_back = propose_at(words, nodes, columns, shape, n_here, n_all, counts, donor, joined, True)
    goes = np.empty(len(members), dtype=np.bool_)
    log_q += propose_leaf(
        words, nodes, columns, shape, start, stop, entries, members, donor, leaf, anchor, goes,
        False,
    )  # fmt: skip
    moved = np.empty(counts.shape[1], dtype=np.int64)
    n = count_members(start, stop, entries, members, goes, moved)
    move_rows(nodes, n_here, n_all, counts, donor, leaf, n, moved)
    is_accepted = False
    if n_all[donor] > 0:  # else it would vanish
        log_q += propose_at(
            words, nodes, columns, shape, n_here, n_all, counts, donor, nodes.theta[donor], False
        )
        refill(columns, nodes, list_branch(nodes, n_all, donor), 0)
        fill_scores(nodes, columns, leaf)
        log_p += log_around(nodes, columns, shape, n_here, n_all, counts, donor, leaf)
        log_back += log_host(nodes, n_all, counts, leaf, n, donor)
        log_back -= math.log(find_leaves(nodes, n_all).sum()) + math.log(n)
        is_accepted = math.log(uniform(words)) < log_p + log_back - log_q
    if is_accepted:
        labels[members[goes]] = leaf
        return True
    move_rows(nodes, n_here, n_all, counts, leaf, donor, n, moved)
    nodes.n_used[0] = leaf
    nodes.theta[donor] = joined
    refill(columns, nodes, list_branch(nodes, n_all, donor), 0)
    return False


@jit
def try_death(nodes, columns, shape, words, start, stop, entries, labels, n_here, n_all, counts):
    """Propose one death; return whether it was accepted."""
    leaf, n_leaves = pick(words, find_leaves(nodes, n_all))
    if leaf < 0:
        return False
    above = nodes.parent[leaf]
    n = n_here[leaf]
    moved = counts[leaf].copy()
    is_choice = n_all[: nodes.n_used[0]] > 0
    is_choice[leaf] = False
    weight = weigh_hosts(nodes, is_choice, n, moved.astype(np.float64))
    donor = draw_host(words, weight, leaf)
    log_q = math.log(weight[donor] / weight.sum()) - math.log(n_leaves) - math.log(n)
    members = rows_of(labels, donor, leaf)
    goes = labels[members] == leaf
    anchor = members[goes][int(uniform(words) * n)]
    parted = nodes.theta[donor].copy()
    log_p = -log_around(nodes, columns, shape, n_here, n_all, counts, donor, leaf)
    log_back = propose_at(words, nodes, columns, shape, n_here, n_all, counts, donor, parted, True)
    move_rows(nodes, n_here, n_all, counts, leaf, donor, n, moved)
    is_accepted = False
    if n_all[above] > 0:  # else it would vanish
        log_q += propose_at(
            words, nodes, columns, shape, n_here, n_all, counts, donor, nodes.theta[donor], False
        )
        refill(columns, nodes, list_branch(nodes, n_all, donor), 0)
        log_p += log_around(nodes, columns, shape, n_here, n_all, counts, donor, leaf)
        log_back += log_place(nodes, n_all, donor, above)
        log_back -= math.log((n_here[: nodes.n_used[0]] > 0).sum()) + math.log(len(members))
        log_back += propose_leaf(
            words, nodes, columns, shape, start, stop, entries, members, donor, leaf, anchor, goes,
            True,
        )  # fmt: skip
        is_accepted = math.log(uniform(words)) < log_p + log_back - log_q
    if is_accepted:
        labels[members] = donor
        return True
    move_rows(nodes, n_here, n_all, counts, donor, leaf, n, moved)
    nodes.theta[donor] = parted
    refill(columns, nodes, list_branch(nodes, n_all, donor), 0)
    fill_scores(nodes, columns, leaf)
    return False

"""Compiled moves that change a tree by a whole node at a time (Metropolis and Hastings).

A sweep moves single rows, so a node that holds two kinds can stay as it is for very long: the first
row that leaves must find a new node with fitting parameters drawn blindly from the prior. Here

* *birth* takes rows from a node, the donor, into a new leaf below it or beside it; *death* is its
  reverse. The leaf's rows and parameters are proposed from what an anchor row suggests, after a few
  rounds of refinement (the launch state of S. Jain and R. Neal, "A split-merge Markov chain Monte
  Carlo procedure for the Dirichlet process mixture model", 2004);
* moves of whole branches are in :mod:`fieldguide.describe._branch_moves`.

Sticks are integrated out. Nodes that die are left behind with no rows.
"""

import math

from fieldguide._arrays import Bools, Ints, Words
from fieldguide._jit import inner_jit, jit
from fieldguide.describe._attribute_steps import logistic
from fieldguide.describe._branch_moves import find_filled, log_nodes, pick, try_gather, try_graft
from fieldguide.describe._draws import uniform
from fieldguide.describe._node_parameters import ATTRIBUTE, Columns, Nodes, fill_scores
from fieldguide.describe._node_proposals import Room, Shape, log_theta_prior, propose_node
from fieldguide.describe._sticks import count_entries, score_row

_N_ROUNDS = 3


@inner_jit(counted=False)
def launch(
    nodes: Nodes, columns: Columns, room: Room, donor: int, above: int, anchor: int, n_members: int,
    start: Ints, stop: Ints, entries: Ints,
) -> None:  # fmt: skip
    """Count the attributes, n1 and n0, of the rows that would follow ``anchor`` to a new leaf.

    Depends on nothing but the rows of the donor, the anchor, and the nodes ``donor`` and ``above``.
    """
    n = nodes.theta.shape[1]
    n1, n0, gain = room.n1[0], room.n0[0], room.gain
    for d in range(n):
        n1[d], n0[d] = 0.0, 1.0
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
        for d in range(n):
            n1[d] = n0[d] = 0.0
        count = 0.0
        for m in range(n_members):
            i = room.members[m]
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


@inner_jit(counted=False)
def shift_rows(nodes: Nodes, n_here: Ints, n_all: Ints, giver: int, taker: int, n: int) -> None:
    """Count n rows less at ``giver`` and n more at ``taker``."""
    n_here[giver] -= n
    n_here[taker] += n
    k = giver
    while k >= 0:
        n_all[k] -= n
        k = nodes.parent[k]
    k = taker
    while k >= 0:
        n_all[k] += n
        k = nodes.parent[k]


@inner_jit(counted=False)
def find_leaves(nodes: Nodes, n_all: Ints, is_leaf: Bools) -> None:
    """Write which nodes are leaves with rows, the root never."""
    n = nodes.n_used[0]
    find_filled(n_all, n, is_leaf)
    for k in range(n):
        if n_all[k] > 0 and nodes.parent[k] >= 0:
            is_leaf[nodes.parent[k]] = False
    is_leaf[0] = False


@inner_jit(counted=False)
def count_siblings(nodes: Nodes, n_all: Ints, above: int) -> int:
    """Return the number of children with rows."""
    count = 0
    for k in range(1, nodes.n_used[0]):
        if n_all[k] > 0 and nodes.parent[k] == above:
            count += 1
    return count


@inner_jit(counted=False)
def try_birth(
    nodes: Nodes, columns: Columns, shape: Shape, room: Room, words: Words, start: Ints, stop: Ints,
    entries: Ints, labels: Ints, n_here: Ints, n_all: Ints, is_death: bool,
) -> bool:  # fmt: skip
    """Propose one birth, or one death; return whether it was accepted."""
    n_used = nodes.n_used[0]
    members, goes, is_choice = room.members, room.goes, room.is_choice
    if is_death:
        find_leaves(nodes, n_all, is_choice)
        leaf, n_leaves = pick(words, is_choice, n_used)
        if leaf < 0:
            return False
        above = nodes.parent[leaf]
        is_below = uniform(words) < 0.5
        n_siblings = count_siblings(nodes, n_all, above) - 1
        donor = above
        if not is_below:
            find_filled(n_all, n_used, is_choice)
            for k in range(n_used):
                is_choice[k] = is_choice[k] and nodes.parent[k] == above and k != leaf
            donor, _ = pick(words, is_choice, n_used)
            if donor < 0:
                return False
        n_moved = n_here[leaf]
    else:
        find_filled(n_here, n_used, is_choice)
        donor, n_donors = pick(words, is_choice, n_used)
        is_below = uniform(words) < 0.5
        above = donor if is_below else nodes.parent[donor]
        if above < 0 or nodes.depth[above] >= columns.max_depth:
            return False
        leaf = n_used
        n_moved = 0
    # the rows of the donor, as they are without the leaf
    n_members = n_here[donor] + n_moved
    m = 0
    for i in range(len(labels)):
        if labels[i] == donor or labels[i] == leaf:
            members[m] = i
            m += 1
    if is_death:
        at = int(uniform(words) * n_moved)
        anchor = -1
        for m in range(n_members):
            if labels[members[m]] == leaf:
                if at == 0:
                    anchor = members[m]
                    break
                at -= 1
    else:
        anchor = members[int(uniform(words) * n_members)]
        n_here[leaf] = 0
        n_all[leaf] = 0
        nodes.parent[leaf] = above
        nodes.depth[leaf] = nodes.depth[above] + 1
        nodes.n_used[0] = n_used + 1
    launch(nodes, columns, room, donor, above, anchor, n_members, start, stop, entries)
    for d in range(nodes.theta.shape[1]):
        room.rest[0, d] = nodes.quiet[above, d]
        room.sums[0, d] = room.sums[1, d] = 0.0
    log_q = propose_node(
        words, columns, shape, room, nodes.theta[above], 0, 1, nodes.theta[leaf], is_death
    )
    log_p = log_theta_prior(columns, shape, nodes.theta[above], nodes.theta[leaf])
    fill_scores(nodes, columns, leaf)
    n_going = 0
    for m in range(n_members):
        i = members[m]
        odds = score_row(nodes, entries, start[i], stop[i], leaf)
        odds -= score_row(nodes, entries, start[i], stop[i], donor)
        if is_death:
            goes[m] = labels[i] == leaf
        else:
            goes[m] = i == anchor or uniform(words) < 1.0 / (1.0 + math.exp(min(-odds, 700.0)))
        if i != anchor:
            towards = odds if goes[m] else -odds
            log_q += min(towards, 0.0) - math.log1p(math.exp(-abs(odds)))
        if goes[m]:
            n_going += 1
            log_p += odds
    # a donor beside the leaf must not vanish with its last row
    if not is_below and n_all[donor] + (n_moved if is_death else -n_going) <= 0:
        nodes.n_used[0] = n_used
        return False
    before = log_nodes(columns, nodes, n_here, n_all)
    if is_death:
        shift_rows(nodes, n_here, n_all, leaf, donor, n_moved)
    else:
        shift_rows(nodes, n_here, n_all, donor, leaf, n_going)
    after = log_nodes(columns, nodes, n_here, n_all)
    log_p += before - after if is_death else after - before
    if is_death:
        n_donors = 0
        for k in range(n_used):
            if n_here[k] > 0:
                n_donors += 1
    else:
        n_leaves = 0
        find_leaves(nodes, n_all, is_choice)
        for k in range(nodes.n_used[0]):
            if is_choice[k]:
                n_leaves += 1
        n_siblings = count_siblings(nodes, n_all, above) - 1
    log_q -= math.log(n_donors) + math.log(n_members)
    log_reverse = -math.log(n_leaves) - math.log(n_going)
    if not is_below:
        log_reverse -= math.log(n_siblings)
    ratio = log_p + log_reverse - log_q
    if is_death:
        ratio = -ratio
    if math.log(uniform(words)) < ratio:
        for m in range(n_members):
            if goes[m]:
                labels[members[m]] = donor if is_death else leaf
        return True
    if is_death:
        shift_rows(nodes, n_here, n_all, donor, leaf, n_moved)
    else:
        shift_rows(nodes, n_here, n_all, leaf, donor, n_going)
        nodes.n_used[0] = n_used
    return False


@jit(counted=False)
def try_moves(
    nodes: Nodes, columns: Columns, shape: Shape, room: Room, words: Words, start: Ints, stop: Ints,
    entries: Ints, labels: Ints, n_here: Ints, n_all: Ints, counts: Ints, n_moves: Ints, done: Ints,
) -> None:  # fmt: skip
    """Try moves; n_moves (3,) says how many births or deaths, grafts, gatherings or releases.

    done (5, 2) counts births, deaths, grafts, gatherings and releases, tried and accepted. n_here,
    n_all (room,) and counts (room, 2 n_attributes) are kept up to date; there must be room for
    as many more nodes as there are moves.
    """
    for turn in range(max(n_moves[0], n_moves[1], n_moves[2])):
        if turn < n_moves[0]:
            is_death = uniform(words) < 0.5
            is_accepted = try_birth(
                nodes, columns, shape, room, words, start, stop, entries, labels, n_here, n_all,
                is_death,
            )  # fmt: skip
            count_move(done, 1 if is_death else 0, is_accepted)
            if is_accepted:
                count_entries(start, stop, entries, labels, counts)
        if turn < n_moves[1]:
            is_accepted = try_graft(nodes, columns, shape, room, words, counts, n_here, n_all)
            count_move(done, 2, is_accepted)
        if turn < n_moves[2]:
            is_release = uniform(words) < 0.5
            is_accepted = try_gather(
                nodes, columns, shape, room, words, counts, n_here, n_all, is_release
            )
            count_move(done, 4 if is_release else 3, is_accepted)


@inner_jit(counted=False)
def count_move(done: Ints, which: int, is_accepted: bool) -> None:
    """Count a move that was tried."""
    done[which, 0] += 1
    if is_accepted:
        done[which, 1] += 1

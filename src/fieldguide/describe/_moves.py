"""Compiled moves that change a tree by a whole node at a time (Metropolis and Hastings).

A sweep moves single rows, so a node that holds two kinds can stay as it is for very long: the first
row that leaves must find a new node with fitting parameters drawn blindly from the prior. Here

* *birth* takes rows from a node, the donor, into a new leaf below it or beside it; *death* is its
  reverse. The leaf's rows and parameters are proposed from what an anchor row suggests, after a few
  rounds of refinement (the launch state of S. Jain and R. Neal, "A split-merge Markov chain Monte
  Carlo procedure for the Dirichlet process mixture model", 2004);
* *graft* hangs a node with all below it under another node; a leaf gets new parameters with it.

Parameters of a leaf are proposed attribute by attribute from a histogram of their conditional.
Sticks are integrated out. Nodes that die are left behind with no rows.
"""

import math

import numpy as np

from fieldguide._jit import jit
from fieldguide.describe._attribute_steps import cubic_weights, logistic
from fieldguide.describe._draws import uniform
from fieldguide.describe._node_parameters import ATTRIBUTE, fill_scores
from fieldguide.describe._sticks import log_branches, log_stops, score_row

_N_BINS = 16
_N_ROUNDS = 3
_ANYWHERE = 0.02  # share of a proposal that is even over the whole range


@jit
def log_beta_at(table, log_c_low, c_step, x_edge, c, x):
    """Return the tabulated normalizer at precision c and logit x."""
    at = (math.log(c) - log_c_low) / c_step
    i = min(max(int(at), 1), len(table) - 3)
    place = (x + x_edge) * (table.shape[1] - 1) / (2.0 * x_edge)
    j = min(max(int(place), 1), table.shape[1] - 3)
    w = cubic_weights(at - i)
    v = cubic_weights(place - j)
    total = 0.0
    for r in range(4):
        for s in range(4):
            total += w[r] * v[s] * table[i - 1 + r, j - 1 + s]
    return total


@jit
def to_line(kind, t):
    """Return the coordinate in which parameters are proposed."""
    return math.log(t / (1.0 - t)) if kind == ATTRIBUTE else t


@jit
def log_theta_prior(columns, shape, d, above, t):
    """Return the log-density of a child's parameter, in its coordinate; shape is the table's."""
    c = columns.spread[d]
    if columns.kind == ATTRIBUTE:
        x = to_line(ATTRIBUTE, above)
        log_b = log_beta_at(shape[0], shape[1], shape[2], shape[3], c, x)
        return c * (above * math.log(t) + (1.0 - above) * math.log(1.0 - t)) - log_b
    z = (t - above) / c
    return -0.5 * z * z - math.log(c * math.sqrt(2.0 * math.pi))


@jit
def log_leaf(columns, d, above, quiet, n1, n0, x):
    """Return the log-density of a leaf's parameter at x given its rows, but for a constant."""
    c = columns.spread[d]
    if columns.kind == ATTRIBUTE:
        t = logistic(x)
        total = c * (above * math.log(t) + (1.0 - above) * math.log(1.0 - t))
        absent = columns.noise[d] + (1.0 - 2.0 * columns.noise[d]) * quiet * (1.0 - t)
        if n1 > 0.0:
            total += n1 * math.log(1.0 - absent)
        if n0 > 0.0:
            total += n0 * math.log(absent)
        return total
    z = (x - above) / c
    soft = math.log1p(math.exp(-abs(x)))
    return -0.5 * z * z - n1 * (soft + max(-x, 0.0)) - n0 * (soft + max(x, 0.0))


@jit
def propose_leaf(words, nodes, columns, shape, above, n1, n0, theta, is_given):
    """Draw the parameters of a leaf below ``above`` with counts n1, n0 into theta (n_attributes,).

    ``is_given``: draw nothing, theta is the proposal. Returns its log-density.
    """
    height = np.empty(_N_BINS)
    total = 0.0
    for d in range(len(theta)):
        parent = nodes.theta[above, d]
        if columns.kind == ATTRIBUTE:
            first, last = -shape[3], shape[3]
        else:
            reach = 10.0 * columns.spread[d]
            first, last = min(parent - reach, -12.0), max(parent + reach, 12.0)
        low, high = first, last
        for stage in range(3):
            width = (high - low) / _N_BINS
            most = -np.inf
            for i in range(_N_BINS):
                x = low + (i + 0.5) * width
                height[i] = log_leaf(columns, d, parent, nodes.quiet[above, d], n1[d], n0[d], x)
                most = max(most, height[i])
            if stage == 2:
                break
            begin, end = 0, _N_BINS - 1
            while height[begin] < most - 12.0:
                begin += 1
            while height[end] < most - 12.0:
                end -= 1
            low, high = low + max(begin - 1, 0) * width, low + min(end + 2, _N_BINS) * width
        mass = 0.0
        for i in range(_N_BINS):
            height[i] = math.exp(height[i] - most)
            mass += height[i]
        if is_given:
            x = to_line(columns.kind, theta[d])
        else:
            if uniform(words) < _ANYWHERE:
                x = first + (last - first) * uniform(words)
            else:
                u = uniform(words) * mass
                i = 0
                while i < _N_BINS - 1 and u >= height[i]:
                    u -= height[i]
                    i += 1
                x = low + (i + uniform(words)) * width
            theta[d] = logistic(x) if columns.kind == ATTRIBUTE else x
        density = _ANYWHERE / (last - first)
        if low <= x < high:
            i = min(int((x - low) / width), _N_BINS - 1)
            density += (1.0 - _ANYWHERE) * height[i] / (mass * width)
        total += math.log(density)
    return total


@jit
def launch(nodes, columns, donor, above, anchor, members, start, stop, entries, n1, n0, gain):
    """Count the attributes, n1 and n0, of the rows that would follow ``anchor`` to a new leaf.

    members are the rows of the donor, gain (2 n_attributes + 1,) is room to work in. Depends on
    nothing but the rows, the anchor, and the nodes ``donor`` and ``above``.
    """
    n = len(n1)
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
        for m in range(len(members)):
            i = members[m]
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
def log_nodes(columns, nodes, n_here, n_all):
    """Return the log-probability of the tree, sticks integrated out."""
    n = nodes.n_used[0]
    hyper = columns.hyper
    return log_stops(
        hyper[0], hyper[1], columns.max_depth, nodes.depth[:n], n_here[:n], n_all[:n]
    ) + log_branches(hyper[2], nodes.parent[:n], n_here[:n], n_all[:n])


@jit
def shift_rows(nodes, n_here, n_all, giver, taker, n):
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


@jit
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
def count_siblings(nodes, n_all, above):
    """Return the number of children with rows."""
    count = 0
    for k in range(1, nodes.n_used[0]):
        if n_all[k] > 0 and nodes.parent[k] == above:
            count += 1
    return count


@jit
def try_birth(nodes, columns, shape, words, start, stop, entries, labels, n_here, n_all, is_death):
    """Propose one birth, or one death; return whether it was accepted."""
    n_used = nodes.n_used[0]
    n_attributes = nodes.theta.shape[1]
    if is_death:
        leaf, n_leaves = pick(words, find_leaves(nodes, n_all))
        if leaf < 0:
            return False
        above = nodes.parent[leaf]
        is_below = uniform(words) < 0.5
        n_siblings = count_siblings(nodes, n_all, above) - 1
        donor = above
        if not is_below:
            is_choice = n_all[:n_used] > 0
            for k in range(n_used):
                is_choice[k] = is_choice[k] and nodes.parent[k] == above and k != leaf
            donor, _ = pick(words, is_choice)
            if donor < 0:
                return False
        n_moved = n_here[leaf]
    else:
        donor, n_donors = pick(words, n_here[:n_used] > 0)
        is_below = uniform(words) < 0.5
        above = donor if is_below else nodes.parent[donor]
        if above < 0 or nodes.depth[above] >= columns.max_depth:
            return False
        leaf = n_used
        n_moved = 0
    # the rows of the donor, as they are without the leaf
    n_members = n_here[donor] + n_moved
    members = np.empty(n_members, dtype=np.int64)
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
    n1 = np.empty(n_attributes)
    n0 = np.empty(n_attributes)
    gain = np.empty(2 * n_attributes)
    launch(nodes, columns, donor, above, anchor, members, start, stop, entries, n1, n0, gain)
    log_q = propose_leaf(words, nodes, columns, shape, above, n1, n0, nodes.theta[leaf], is_death)
    log_p = 0.0
    for d in range(n_attributes):
        log_p += log_theta_prior(columns, shape, d, nodes.theta[above, d], nodes.theta[leaf, d])
    fill_scores(nodes, columns, leaf)
    goes = np.empty(n_members, dtype=np.bool_)
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
        is_leaf = find_leaves(nodes, n_all)
        for k in range(len(is_leaf)):
            if is_leaf[k]:
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


@jit
def log_rows(nodes, n_here, counts, k):
    """Return the log-likelihood of all rows at node k from the counts of their entries."""
    total = n_here[k] * nodes.base[k]
    for e in range(counts.shape[1]):
        if counts[k, e] > 0:
            total += counts[k, e] * nodes.score[k, e]
    return total


@jit
def try_graft(nodes, columns, shape, words, counts, n_here, n_all):
    """Propose to hang a node under another one; return whether it was accepted."""
    n_used = nodes.n_used[0]
    n_attributes = nodes.theta.shape[1]
    is_choice = n_all[:n_used] > 0
    is_choice[0] = False
    top, _ = pick(words, is_choice)
    if top < 0:
        return False
    old = nodes.parent[top]
    if old > 0 and n_all[old] == n_all[top]:
        return False  # the old parent would vanish
    is_inside = np.zeros(n_used, dtype=np.bool_)
    deepest = nodes.depth[top]
    for k in range(n_used):
        j = k
        while j >= 0 and j != top:
            j = nodes.parent[j]
        is_inside[k] = j == top and n_all[k] > 0
        if is_inside[k]:
            deepest = max(deepest, nodes.depth[k])
    n_inside = 0
    for k in range(n_used):
        is_choice[k] = n_all[k] > 0 and not is_inside[k] and k != old
        n_inside += is_inside[k]
    new, _ = pick(words, is_choice)
    if new < 0 or deepest - nodes.depth[top] + nodes.depth[new] + 1 > columns.max_depth:
        return False
    shift = nodes.depth[new] + 1 - nodes.depth[top]
    theta = nodes.theta[top].copy()
    before = log_nodes(columns, nodes, n_here, n_all)
    for k in range(n_used):
        if is_inside[k]:
            before += log_rows(nodes, n_here, counts, k)
    for d in range(n_attributes):
        before += log_theta_prior(columns, shape, d, nodes.theta[old, d], theta[d])
    log_q = 0.0
    if n_inside == 1:
        n1 = counts[top, :n_attributes].astype(np.float64)
        n0 = n_here[top] - n1 - counts[top, n_attributes:]
        log_q -= propose_leaf(words, nodes, columns, shape, old, n1, n0, theta, True)
        log_q += propose_leaf(words, nodes, columns, shape, new, n1, n0, nodes.theta[top], False)
    hang(nodes, columns, n_all, top, new, shift, is_inside)
    after = log_nodes(columns, nodes, n_here, n_all)
    for k in range(n_used):
        if is_inside[k]:
            after += log_rows(nodes, n_here, counts, k)
    for d in range(n_attributes):
        after += log_theta_prior(columns, shape, d, nodes.theta[new, d], nodes.theta[top, d])
    if math.log(uniform(words)) < after - before - log_q:
        return True
    nodes.theta[top] = theta
    hang(nodes, columns, n_all, top, old, -shift, is_inside)
    return False


@jit
def hang(nodes, columns, n_all, top, above, shift, is_inside):
    """Make ``top``, with all inside, a child of ``above``; shift is the change of its depth."""
    k = nodes.parent[top]
    while k >= 0:
        n_all[k] -= n_all[top]
        k = nodes.parent[k]
    nodes.parent[top] = above
    k = above
    while k >= 0:
        n_all[k] += n_all[top]
        k = nodes.parent[k]
    deepest = 0
    for k in range(len(is_inside)):
        if is_inside[k]:
            nodes.depth[k] += shift
            deepest = max(deepest, nodes.depth[k])
    for level in range(nodes.depth[top], deepest + 1):  # parents first
        for k in range(len(is_inside)):
            if is_inside[k] and nodes.depth[k] == level:
                fill_scores(nodes, columns, k)


@jit
def try_moves(
    nodes, columns, shape, words, start, stop, entries, labels, n_here, n_all, counts, n_moves, done
):
    """Try births, deaths and grafts in turn; done (3, 2) counts those tried and accepted.

    n_here, n_all (room,) and counts (room, 2 n_attributes) are kept up to date.
    """
    for _ in range(n_moves):
        is_death = uniform(words) < 0.5
        which = 1 if is_death else 0
        done[which, 0] += 1
        if try_birth(
            nodes, columns, shape, words, start, stop, entries, labels, n_here, n_all, is_death
        ):
            done[which, 1] += 1
            n_used = nodes.n_used[0]
            counts[:n_used] = 0
            for i in range(len(labels)):
                for j in range(start[i], stop[i]):
                    counts[labels[i], entries[j]] += 1
        done[2, 0] += 1
        if try_graft(nodes, columns, shape, words, counts, n_here, n_all):
            done[2, 1] += 1

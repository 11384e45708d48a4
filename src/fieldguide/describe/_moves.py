"""Compiled moves that change a tree by a whole node at a time (Metropolis and Hastings).

A sweep moves single rows, so a node that holds two kinds can stay as it is for very long: the first
row that leaves must find a new node with fitting parameters drawn blindly from the prior. Births
and deaths of leaves are in :mod:`fieldguide.describe._births`, moves of whole branches in
:mod:`fieldguide.describe._branch_moves`.
"""

from fieldguide._jit import jit
from fieldguide.describe._births import try_birth, try_death
from fieldguide.describe._branch_moves import try_gather, try_graft
from fieldguide.describe._draws import uniform


@jit
def try_moves(
    nodes, columns, shape, words, start, stop, entries, labels, n_here, n_all, counts, n_moves, done
):
    """Try moves; n_moves (3,) says how many births or deaths, grafts, gatherings or releases.

    done (5, 2) counts births, deaths, grafts, gatherings and releases, tried and accepted. n_here,
    n_all (room,) and counts (room, 2 n_attributes) are kept up to date; there must be room for
    as many more nodes as there are moves.
    """
    for turn in range(n_moves.max()):
        if turn < n_moves[0]:
            is_death = uniform(words) < 0.5
            if is_death:
                is_accepted = try_death(
                    nodes,
                    columns,
                    shape,
                    words,
                    start,
                    stop,
                    entries,
                    labels,
                    n_here,
                    n_all,
                    counts,
                )
            else:
                is_accepted = try_birth(
                    nodes,
                    columns,
                    shape,
                    words,
                    start,
                    stop,
                    entries,
                    labels,
                    n_here,
                    n_all,
                    counts,
                )
            count_move(done, 1 if is_death else 0, is_accepted)
        if turn < n_moves[1]:
            is_accepted = try_graft(nodes, columns, shape, words, counts, n_here, n_all)
            count_move(done, 2, is_accepted)
        if turn < n_moves[2]:
            is_release = uniform(words) < 0.5
            is_accepted = try_gather(
                nodes, columns, shape, words, counts, n_here, n_all, is_release
            )
            count_move(done, 4 if is_release else 3, is_accepted)


@jit
def count_move(done, which, is_accepted):
    """Count a move that was tried."""
    done[which, 0] += 1
    if is_accepted:
        done[which, 1] += 1

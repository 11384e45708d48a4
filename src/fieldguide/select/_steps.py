"""Compiled loops of the concert solvers; symbols as in :mod:`fieldguide.select.concert_solvers`."""

import numba
import numpy as np

from fieldguide._jit import jit
from fieldguide.svm._kernels import place_largest

_NEVER = -1e300  # the slope of a weight at its cap, which may not rise
_CHECK_EVERY = 32
_LEAST_CURVATURE = 1e-12


@numba.njit(nogil=True)
def _weigh_gains(e_i, g_ii, row, diagonal, w, e, gain):
    """Write what a step with each weight gains to ``gain``, 0 for weights at 0. O(m)."""
    for k in range(len(w)):
        difference = e_i - e[k]
        difference = difference if difference > 0.0 else 0.0
        curvature = g_ii + diagonal[k] - 2.0 * row[k]
        curvature = curvature if curvature > _LEAST_CURVATURE else _LEAST_CURVATURE
        gain[k] = np.divide(difference * difference, curvature) * (w[k] > 0.0)


@numba.njit(nogil=True)
def _update(t, row_i, row_j, cap, w, e, free):
    """Take a step off the slopes; write those of the weights that may rise to ``free``. O(m)."""
    for k in range(len(w)):
        e[k] -= t * (row_i[k] - row_j[k])
        free[k] = e[k] if w[k] < cap else _NEVER


@jit
def find_gap(w, e, k):
    """Return 2 (e·s − e·w), s the best vertex: the largest slopes filled to 1/k. O(m)."""
    n_full = min(int(k), len(e))
    cap = 1.0 / k
    total = 0.0
    if n_full < len(e):
        ordered = np.partition(-e, n_full)
        for p in range(n_full):
            total -= ordered[p] * cap
        total -= ordered[n_full] * (1.0 - n_full * cap)
    else:
        for p in range(n_full):
            total += e[p] * cap
    for p in range(len(e)):
        total -= e[p] * w[p]
    return 2.0 * total


@jit
def take_steps(G, w, e, k, goal, max_steps):
    """Move pairs of weights until the gap is at most ``goal``; return the number of steps.

    ``G`` (m, m) is contiguous; ``w`` and the slopes ``e`` = c − Gw, (m,), change in place. O(m)
    for each step.
    """
    m = len(w)
    cap = 1.0 / k
    diagonal, work = np.empty(m), np.empty(m)
    for p in range(m):
        diagonal[p] = G[p, p]
    _update(0.0, G[0], G[0], cap, w, e, work)
    check_at = min(_CHECK_EVERY, m)
    for step in range(max_steps):
        if step == check_at:
            if find_gap(w, e, k) <= goal:
                return step
            check_at += max(_CHECK_EVERY, step // 8)
        i = place_largest(work)
        row_i = G[i]
        _weigh_gains(e[i], diagonal[i], row_i, diagonal, w, e, work)
        j = place_largest(work)
        if work[j] == 0.0 or w[i] >= cap:
            return step
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * row_i[j], _LEAST_CURVATURE)
        t = (e[i] - e[j]) / curvature
        room_i, room_j = cap - w[i], w[j]
        if t >= room_i and room_i <= room_j:
            t = room_i
            w[j] -= t
            w[i] = cap
            if room_i == room_j:
                w[j] = 0.0
        elif t >= room_j:
            t = room_j
            w[i] += t
            w[j] = 0.0
        else:
            w[i] += t
            w[j] -= t
        _update(t, row_i, G[j], cap, w, e, work)
    return max_steps


@jit
def back_project(F, q, out):
    """Write Fᵀq to ``out`` (n,) in double precision, four rows at a time. O(Nn)."""
    out[:] = 0.0
    n_rows, n = F.shape
    for i in range(0, n_rows - 3, 4):
        a, b, c, d = q[i], q[i + 1], q[i + 2], q[i + 3]
        f, g, h, m = F[i], F[i + 1], F[i + 2], F[i + 3]
        for j in range(n):
            out[j] += (a * f[j] + b * g[j]) + (c * h[j] + d * m[j])
    for i in range(n_rows - n_rows % 4, n_rows):
        a, f = q[i], F[i]
        for j in range(n):
            out[j] += a * f[j]

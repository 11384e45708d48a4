"""Compiled loops of the concert solvers and of the group lasso.

Symbols are those of :mod:`fieldguide.select.concert_solvers` and of
:mod:`fieldguide.select.group_lasso`, which goes through the groups one after the other and keeps
the margins up to date.
"""

import numpy as np

from fieldguide._arrays import Floats, Ints
from fieldguide._jit import inner_jit, jit
from fieldguide.svm._kernels import place_largest

_NEVER = -1e300  # the slope of a weight at its cap, which may not rise
_CHECK_EVERY = 32
_LEAST_CURVATURE = 1e-12
_MOST_FREE = 64  # weights of a jump
_RIDGE = 1e-10


@inner_jit
def _weigh_gains(
    e_i: float, g_ii: float, row: Floats, diagonal: Floats, w: Floats, e: Floats, gain: Floats
) -> None:
    """Write what a step with each weight gains to ``gain``, 0 for weights at 0. O(m)."""
    for k in range(len(w)):
        difference = e_i - e[k]
        difference = difference if difference > 0.0 else 0.0
        curvature = g_ii + diagonal[k] - 2.0 * row[k]
        curvature = curvature if curvature > _LEAST_CURVATURE else _LEAST_CURVATURE
        gain[k] = np.divide(difference * difference, curvature) * (w[k] > 0.0)


@inner_jit
def _update(
    t: float, row_i: Floats, row_j: Floats, cap: float, w: Floats, e: Floats, free: Floats
) -> None:
    """Take a step off the slopes; write those of the weights that may rise to ``free``. O(m)."""
    for k in range(len(w)):
        e[k] -= t * (row_i[k] - row_j[k])
        free[k] = e[k] if w[k] < cap else _NEVER


@jit
def add_rows(G: Floats, ids: Ints, factors: Floats, out: Floats) -> None:
    """Add Σ_a factors[a] G[ids[a]] to ``out`` (n,), four rows at a time, without a copy. O(mn)."""
    m = len(ids)
    for p in range(0, m - 3, 4):
        a, b, c, d = factors[p], factors[p + 1], factors[p + 2], factors[p + 3]
        f, g, h, k = G[ids[p]], G[ids[p + 1]], G[ids[p + 2]], G[ids[p + 3]]
        for j in range(len(out)):
            out[j] += (a * f[j] + b * g[j]) + (c * h[j] + d * k[j])
    for p in range(m - m % 4, m):
        a, f = factors[p], G[ids[p]]
        for j in range(len(out)):
            out[j] += a * f[j]


@jit
def put_largest_first(values: Floats, k: int) -> None:
    """Rearrange ``values`` so that none of the first k is below the next, and none after above it.

    ``k`` is less than their number. O(m) on average; np.partition takes seconds to compile.
    """
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        a, b = low, high
        while a <= b:
            while values[a] > pivot:
                a += 1
            while values[b] < pivot:
                b -= 1
            if a <= b:
                values[a], values[b] = values[b], values[a]
                a += 1
                b -= 1
        if k <= b:
            high = b
        elif k >= a:
            low = a
        else:
            return


@jit
def find_gap(w: Floats, e: Floats, k: float) -> float:
    """Return 2 (e·s − e·w), s the best vertex: the largest slopes filled to 1/k. O(m)."""
    n_full = min(int(k), len(e))
    cap = 1.0 / k
    total = 0.0
    if n_full < len(e):
        ordered = e.copy()
        put_largest_first(ordered, n_full)
        for p in range(n_full):
            total += ordered[p] * cap
        total += ordered[n_full] * (1.0 - n_full * cap)
    else:
        for p in range(n_full):
            total += e[p] * cap
    for p in range(len(e)):
        total -= e[p] * w[p]
    return 2.0 * total


@inner_jit
def _subtract(factor: float, row: Floats, out: Floats) -> None:
    for p in range(len(out)):
        out[p] -= factor * row[p]


@inner_jit
def _solve_symmetric(A: Floats, b: Floats) -> bool:
    """Solve A x = b for x in place of ``b``; False where a pivot is 0. O(m³/3).

    A is its upper triangle, which changes, and none of its leading minors may be 0: no rows are
    exchanged. For a few dozen rows that takes a third of the time of LAPACK.
    """
    m = len(b)
    for j in range(m):
        row = A[j]
        if row[j] == 0.0:
            return False
        for i in range(j + 1, m):
            factor = row[i] / row[j]
            _subtract(factor, row[i:], A[i, i:])
            b[i] -= factor * b[j]
    for j in range(m - 1, -1, -1):
        row = A[j]
        for i in range(j + 1, m):
            b[j] -= row[i] * b[i]
        b[j] /= row[j]
    return True


@inner_jit
def _jump(G: Floats, cap: float, w: Floats, e: Floats) -> None:
    """Minimise over the weights between their bounds, as far as they stay there. O(f³ + f m).

    Pairs find the f weights that are free soon, but then come near their minimum slowly.
    """
    free = np.empty(_MOST_FREE, dtype=np.int64)
    f = 0
    for p in range(len(w)):
        if w[p] > 0.0 and w[p] < cap:
            if f == _MOST_FREE:
                return
            free[f] = p
            f += 1
    if f < 2:
        return
    system = np.empty((f + 1, f + 1))
    d = np.zeros(f + 1)
    for a in range(f):
        d[a] = e[free[a]]
        row = G[free[a]]
        for b in range(a, f):
            system[a, b] = row[free[b]]
        system[a, a] += _RIDGE * (1.0 + system[a, a])  # copies of a feature
        system[a, f] = 1.0  # moves add up to 0
    system[f, f] = 0.0
    if not _solve_symmetric(system, d):
        return
    length, blocked, bound = 1.0, -1, 0.0
    for a in range(f):
        room = cap - w[free[a]] if d[a] > 0.0 else w[free[a]]
        if abs(d[a]) * length > room:
            length, blocked = room / abs(d[a]), free[a]
            bound = cap if d[a] > 0.0 else 0.0
    mean = 0.0
    for a in range(f):
        mean += d[a]
    mean /= f
    moves = np.empty(f)
    for a in range(f):
        move = length * (d[a] - mean)  # the sum stays as it is, to the last digit
        w[free[a]] = min(max(w[free[a]] + move, 0.0), cap)
        moves[a] = -move
    add_rows(G, free[:f], moves, e)
    if blocked >= 0:
        w[blocked] = bound


@jit
def take_steps(G: Floats, w: Floats, e: Floats, k: float, goal: float, max_steps: int) -> int:
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
            _jump(G, cap, w, e)
            _update(0.0, G[0], G[0], cap, w, e, work)
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
def solve_whole(
    G: Floats, c: Floats, size: float, least: float, w: Floats, k: float, tol: float,
    objectives: Floats, max_steps: int,
) -> tuple[int, float, float, int]:  # fmt: skip
    """Minimise over all columns at once; return passes, the last gap and its unit, and steps.

    ``G`` (n, n) is contiguous and ``w``, (n,), changes in place. J after each pass goes to
    ``objectives``, whose length is the most passes; ``least`` is the least unit of a gap. Slopes
    are computed afresh in each pass, since they drift while pairs move. O(n) for each step.
    """
    n = len(w)
    e, taken = np.empty(n), np.empty(n)
    used = np.empty(n, dtype=np.int64)
    n_steps, gap, unit = 0, 0.0, 1.0
    for turn in range(len(objectives)):
        n_used = 0
        for p in range(n):
            e[p] = c[p]
            if w[p] != 0.0:
                used[n_used], taken[n_used] = p, -w[p]
                n_used += 1
        add_rows(G, used[:n_used], taken[:n_used], e)
        J = size
        for p in range(n):
            J -= w[p] * (c[p] + e[p])
        objectives[turn] = J
        gap = find_gap(w, e, k)
        unit = max(J, least)
        if gap <= tol * unit or turn == len(objectives) - 1:
            return turn + 1, gap, unit, n_steps
        n_steps += take_steps(G, w, e, k, 0.5 * tol * unit, max_steps)
    return len(objectives), gap, unit, n_steps


@jit
def back_project(F: Floats, q: Floats, out: Floats) -> None:
    """Write Fᵀq to ``out`` (n,) in double precision. O(Nn)."""
    out[:] = 0.0
    add_rows(F, np.arange(len(F)), q, out)


@jit
def add_block(factor: float, G: Floats, rows: Ints, columns: Ints, out: Floats) -> None:
    """Add ``factor`` times the rows and columns of G to ``out``. O(1) for each number."""
    for a in range(len(rows)):
        row, line = G[rows[a]], out[a]
        for b in range(len(columns)):
            line[b] += factor * row[columns[b]]


@jit
def map_block(
    slope: Floats, offset: Floats, h: Floats, mass: float, rows: Ints, columns: Ints, out: Floats
) -> None:
    """Change a block of G to that of mapped columns in place. O(1) for each number."""
    for a in range(len(rows)):
        i, line = rows[a], out[a]
        s, o, at_h = slope[i], offset[i], h[i] + mass * offset[i]
        for b in range(len(columns)):
            j = columns[b]
            line[b] = s * slope[j] * line[b] + at_h * offset[j] + o * h[j]


@jit
def descend_groups(
    Z: Floats, groups: Ints, y: Floats, C: float, corner: float, roots: Floats, curvatures: Floats,
    W: Floats, state: Floats, f: Floats, pull: Floats,
) -> None:  # fmt: skip
    """Visit each group once; W, f and state = [t, intercept] change in place.

    Z is (D, width, n), W (D, width). ``corner`` is the width of the rounded part of the hinge,
    ``roots`` √a_k, ``curvatures`` the largest eigenvalue of Z_kZ_kᵀ, ``pull`` room for n numbers.
    O(n · width) for each group.
    """
    width = Z.shape[1]
    step = np.empty(width)
    state[1] += move_intercept(y, corner, f)
    for k in groups:
        old = 0.0
        for j in range(width):
            old += W[k, j] * W[k, j]
        old = np.sqrt(old)
        others = state[0] - roots[k] * old
        slope(y, corner, f, pull)
        bend = C / corner * curvatures[k]
        size = 0.0
        for j in range(width):
            step[j] = W[k, j] + C * dot(Z[k, j], pull) / bend
            size += step[j] * step[j]
        size = np.sqrt(size)
        new = max(bend * size - others * roots[k], 0.0) / (bend + roots[k] * roots[k])
        if new == 0.0 and old == 0.0:
            continue
        for j in range(width):
            w = step[j] * new / size if size > 0 else 0.0
            if w != W[k, j]:
                add(Z[k, j], w - W[k, j], f)
                W[k, j] = w
        state[0] = others + roots[k] * new


@jit
def move_intercept(y: Floats, corner: float, f: Floats) -> float:
    """Add to all margins what makes the rounded hinge least, by bisection; return it. O(n)."""
    low, high = -2.0, 2.0
    for i in range(len(f)):
        low = min(low, -f[i] - 2.0)
        high = max(high, -f[i] + 2.0)
    for _ in range(50):
        middle = 0.5 * (low + high)
        total = 0.0
        for i in range(len(f)):
            total += y[i] * min(max((1.0 - y[i] * (f[i] + middle)) / corner, 0.0), 1.0)
        if total > 0:
            low = middle
        else:
            high = middle
    middle = 0.5 * (low + high)
    for i in range(len(f)):
        f[i] += middle
    return middle


@inner_jit
def slope(y: Floats, corner: float, f: Floats, pull: Floats) -> None:
    """Write minus the slope of each row's loss to ``pull``. O(n)."""
    for i in range(len(f)):
        s = (1.0 - y[i] * f[i]) / corner
        s = s if s > 0.0 else 0.0
        pull[i] = y[i] * (s if s < 1.0 else 1.0)


@inner_jit
def add(z: Floats, factor: float, f: Floats) -> None:
    """Add factor · z to f. O(n)."""
    for i in range(len(f)):
        f[i] += factor * z[i]


@inner_jit(fastmath={"reassoc", "contract", "nsz"})
def dot(z: Floats, pull: Floats) -> float:
    """Return z·pull, summed in any order. O(n)."""
    total = 0.0
    for i in range(len(pull)):
        total += z[i] * pull[i]
    return total

"""Solvers of "Features in Concert": the convex problem behind a vote of few features.

    min_w J(w) = ‖Fw − t‖²    s.t.  Σ_j w_j = 1,  0 ≤ w_j ≤ 1/k

J is convex and the feasible set is a simplex with its corners cut off, so that a solution has at
least k weights above 0. With e = c − Gw (minus half the gradient) and s the best vertex, the
largest slopes filled to 1/k, the duality gap is 2 (e·s − e·w): no feasible point is better by
more. At a solution there is λ with e_j ≤ λ where w_j = 0, e_j = λ in between, and e_j ≥ λ where
w_j = 1/k.

- :func:`solve_working_set`, the default: pairs of weights move (sequential minimal optimisation)
  inside a table of few columns, which grows by the columns of largest slope until the gap of all
  columns is closed.
- :func:`solve_frank_wolfe`: the method of the paper (IPFP): go to the best vertex as far as a
  closed-form line search says.

Both know nothing of estimators: an objective (:mod:`fieldguide.select.objective`) or arrays in;
weights, objective after each pass and gap out.

References: "Features in Concert: Discriminative Feature Selection meets Unsupervised Clustering";
M. Frank, P. Wolfe (1956); R.-E. Fan, P.-H. Chen, C.-J. Lin, "Working set selection using second
order information for training support vector machines", JMLR 6 (2005).
"""

from typing import NamedTuple

import numpy as np

from fieldguide.errors import InvalidArgument
from fieldguide.select import _steps
from fieldguide.select.objective import Objective, RowsObjective

# A gap is relative to J, but to no less than this share of tᵀt: J may be 0 at its minimum.
LEAST_SHARE = 1e-4
_TINY = 1e-12  # where t is 0
_LEAST_SIZE = 64  # of the columns that a table grows by
_INNER_SHARE = 0.1  # the gap inside the table to reach, of the gap of all columns
_MAX_PASSES = 100  # times that columns are added to the table
_MAX_STEPS = 1_000_000


class ConcertSolution(NamedTuple):
    """Weights and what they are worth.

    Examples
    --------
    >>> F = np.random.default_rng(0).uniform(size=(30, 6))
    >>> found = solve_working_set(RowsObjective(F, F[:, 0]), 1)
    >>> found.w.round(2), bool(found.objectives[-1] < 1e-6)
    (array([1., 0., 0., 0., 0., 0.]), True)
    """

    w: np.ndarray  # (n,)
    objectives: np.ndarray  # J after each pass over all columns
    gap: float  # relative duality gap reached
    n_steps: int  # pairs moved, or vertices approached


def solve_concert(
    F: np.ndarray, t: np.ndarray, k: float, *, tol: float = 1e-6, start: np.ndarray | None = None
) -> ConcertSolution:
    """Solve the problem of the paper for a matrix.

    Parameters
    ----------
    F : ndarray of shape (N, n), C-contiguous, may be memory-mapped
    t : ndarray of shape (N,)
    k : float
        1 to n, whole or not.
    tol : float
        Relative duality gap to stop at.
    start : ndarray of shape (n,), optional
        Weights to begin with, such as the solution for another k.

    Examples
    --------
    >>> F = np.array([[0.9, 0.8, 0.1], [0.7, 0.9, 0.5], [0.1, 0.2, 0.3], [0.2, 0.1, 0.6]])
    >>> solve_concert(F, np.array([1.0, 1.0, 0.0, 0.0]), k=2).w
    array([0.5, 0.5, 0. ])
    """
    return solve_working_set(RowsObjective(F, t), k, tol=tol, start=start)


def solve_working_set(
    objective: Objective,
    k: float,
    *,
    tol: float = 1e-6,
    start: np.ndarray | None = None,
) -> ConcertSolution:
    """Minimise over a growing table of columns.

    Parameters
    ----------
    objective : Objective
        J, as a :class:`GramObjective` or a :class:`RowsObjective`.
    k, tol, start
        As of :func:`solve_concert`.

    Examples
    --------
    >>> F = np.random.default_rng(0).uniform(size=(30, 6))
    >>> objective = RowsObjective(F, F[:, :2].mean(axis=1))
    >>> found = solve_working_set(objective, 2)
    >>> found.gap <= 1e-6, found.w.round(2)
    (True, array([0.5, 0.5, 0. , 0. , 0. , 0. ]))
    """
    n = len(objective.c)
    check_k(k, n)
    w = fill_vertex(objective.c, k, start)
    table = objective.open_table()
    size = max(int(k) // 4, _LEAST_SIZE)
    least = max(LEAST_SHARE * objective.size, _TINY)
    if n <= max(size, objective.whole_up_to):
        table.add(np.arange(n))
        trace = np.empty(_MAX_PASSES + 1)
        settings = (float(k), float(tol), trace, _MAX_STEPS)
        n_passes, gap, unit, n_steps = _steps.solve_whole(
            table.gram, objective.c, float(objective.size), least, w, *settings
        )
        return ConcertSolution(w, trace[:n_passes], gap / unit, n_steps)
    table.add(np.flatnonzero(w))
    objectives: list[float] = []
    n_steps = 0
    while True:
        J, e = table.look(w[table.ids])
        objectives.append(J)
        gap = _steps.find_gap(w, e, float(k))
        unit = max(J, least)
        if gap <= tol * unit or len(objectives) > _MAX_PASSES:
            return ConcertSolution(w, np.array(objectives), gap / unit, n_steps)
        goal = 0.5 * tol * unit
        if len(table.ids) < n:
            is_better = e > e[w > 0].min()
            is_better[table.ids] = False
            table.add(_take_largest(e, np.flatnonzero(is_better), size))
            goal = max(goal, _INNER_SHARE * gap)
        inner, slopes = w[table.ids], e[table.ids]
        n_steps += _steps.take_steps(table.gram, inner, slopes, float(k), goal, _MAX_STEPS)
        w[table.ids] = inner


def _take_largest(e: np.ndarray, ids: np.ndarray, size: int) -> np.ndarray:
    """Return those ``ids`` that have the largest slopes, at most ``size``, in order."""
    if len(ids) <= size:
        return ids
    return np.sort(ids[np.argpartition(-e[ids], size - 1)[:size]])


def solve_frank_wolfe(
    objective: Objective,
    k: float,
    *,
    tol: float = 1e-3,
    start: np.ndarray | None = None,
    max_iter: int = 100,
) -> ConcertSolution:
    """Go to the best vertex as far as J falls, again and again: the method of the paper.

    It comes near the minimum in 10 to 20 iterations and needs thousands for a gap of 1e-6; the
    seed takes 100.

    Parameters
    ----------
    objective : Objective
        J, as a :class:`GramObjective` or a :class:`RowsObjective`.
    k, tol, start
        As of :func:`solve_concert`.
    max_iter : int
        The most steps.

    Examples
    --------
    >>> F = np.random.default_rng(0).uniform(size=(30, 6))
    >>> objective = RowsObjective(F, F[:, :2].mean(axis=1))
    >>> found = solve_frank_wolfe(objective, 2)
    >>> found.gap <= 1e-3, np.argsort(-found.w)[:2].tolist()
    (True, [0, 1])
    """
    n = len(objective.c)
    check_k(k, n)
    w = fill_vertex(objective.c, k, start)
    table = objective.open_table()
    table.add(np.flatnonzero(w))
    objectives: list[float] = []
    while True:
        J, e = table.look(w[table.ids])
        objectives.append(J)
        vertex = fill_vertex(e, k)
        gap = 2.0 * float(e @ (vertex - w))
        unit = max(J, LEAST_SHARE * objective.size, _TINY)
        if gap <= tol * unit or len(objectives) > max_iter:
            return ConcertSolution(w, np.array(objectives), gap / unit, len(objectives) - 1)
        table.add(np.setdiff1d(np.flatnonzero(vertex), table.ids, assume_unique=True))
        d = (vertex - w)[table.ids]
        bend = float(d @ (table.gram @ d))
        w += min(1.0, 0.5 * gap / bend if bend > 0 else 1.0) * (vertex - w)


def fill_vertex(e: np.ndarray, k: float, start: np.ndarray | None = None) -> np.ndarray:
    """Return the feasible point with the largest e·w: the largest slopes filled to 1/k.

    With ``start``, what it has below 1/k is kept, and only the rest of 1 is filled in.
    """
    cap, n = 1.0 / k, len(e)
    order = np.argsort(-e, kind="stable")
    w = np.zeros(n)
    if start is None:
        n_full = min(int(k), n)
        w[order[:n_full]] = cap
        if n_full < n:
            w[order[n_full]] = 1.0 - n_full / k
        return w
    w = np.clip(np.asarray(start, dtype=np.float64), 0.0, cap)
    w /= max(1.0, w.sum())
    room = cap - w[order]
    w[order] += np.clip(1.0 - w.sum() - (np.cumsum(room) - room), 0.0, room)
    return np.minimum(w, cap)


def check_k(k: float, n: int) -> None:
    """Refuse a k for which no weights are feasible."""
    if isinstance(k, bool) or not 1 <= k <= n:
        raise InvalidArgument(
            f"k must be a number from 1 to {n}, the number of features; got {k!r}."
        )

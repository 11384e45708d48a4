"""One vote of features for each class against the rest, all from the same rows or sums.

With class c against the rest, n₊ and n₋ rows, the problem of
:mod:`fieldguide.select.concert_solvers` has

=========  =======================================================================
targets    p1 for the rows of the class, p0 for the others
weights    1, or N / 2n₊ and N / 2n₋ where the classes are balanced
flips      f ← 1 − f in columns whose mean is smaller in the class than elsewhere
bias       free or 0
=========  =======================================================================

The vote w·f' is linear in f. Scores of classes are votes as they are, votes with their bias, or,
calibrated, votes less their (weighted) mean over their (weighted) standard deviation.
"""

from typing import Any, NamedTuple

import numpy as np

from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide.errors import InvalidArgument
from fieldguide.select.concert_solvers import (
    ConcertSolution,
    solve_frank_wolfe,
    solve_working_set,
)
from fieldguide.select.objective import ColumnMap, GramObjective, RowsObjective
from fieldguide.select.sums import FeatureSums


class VoteOptions(NamedTuple):
    """What the problem of each class is, and how it is solved."""

    p0: float = 0.0
    p1: float = 0.5
    bias: bool = False
    balance: bool = False
    calibrate: bool = False
    solver: str = "working_set"
    tol: float = 1e-6


class Votes(NamedTuple):
    """The function of each class; two classes have one, of the second."""

    weights: np.ndarray  # (m, n)
    flips: np.ndarray  # (m, n) bool
    coef: np.ndarray  # (m, n) of the features as they are given
    intercept: np.ndarray  # (m,)
    gaps: np.ndarray  # (m,) relative duality gaps


def fit_votes(
    sums: FeatureSums,
    k: float,
    options: VoteOptions,
    columns: ColumnMap,
    *,
    F: np.ndarray | None = None,
    index: np.ndarray | None = None,
    start: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Votes:
    """Solve the problem of every class.

    Parameters
    ----------
    sums : FeatureSums
        With Gram matrices, unless rows are given.
    k : float
    options : VoteOptions
    columns : ColumnMap
        Brings the columns to [0, 1].
    F, index : ndarray of shape (N, n) and (N,), optional
        Rows and their class numbers, in place of the Gram matrices.
    start : ndarray of shape (m, n), optional
        Weights to begin with, such as those for another k.
    n_jobs : int, optional
        Threads, each with some classes; the result does not depend on it.
    """
    n_classes = len(sums.counts)
    whole = sums.whole_gram()
    classes = [1] if n_classes == 2 else list(range(n_classes))

    def solve(place: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
        count = sums.counts[classes[place]]
        if count in (0, sums.counts.sum()):
            return _vote_without_rows(sums.totals.shape[1], count > 0)
        problem = _pose(sums, classes[place], options, columns, F, index, whole)
        begin = None if start is None else start[place]
        solution = _solve(problem.objective, k, options, begin)
        return (*_read(problem, solution, options), solution.gap)

    # A BLAS of several threads inside several threads is slow, and may sum in another order.
    with one_blas_thread():
        found = list(map_in_order(solve, range(len(classes)), n_jobs=n_jobs, travels=True))
    weights, flips, coef, intercept, gaps = (np.array(part) for part in zip(*found, strict=True))
    return Votes(weights, flips, coef, intercept, gaps)


def _vote_without_rows(n: int, is_certain: bool) -> tuple[Any, ...]:
    """Return the function of a class that no row, or every row, is of."""
    return np.zeros(n), np.zeros(n, dtype=bool), np.zeros(n), np.inf if is_certain else -np.inf, 0.0


class _Problem(NamedTuple):
    objective: RowsObjective | GramObjective
    flips: np.ndarray
    columns: ColumnMap  # with the flips, without the bias
    h: np.ndarray  # weighted sums of the columns as they are given
    mass: float
    sum_t: float


def _pose(
    sums: FeatureSums,
    c: int,
    options: VoteOptions,
    columns: ColumnMap,
    F: np.ndarray | None,
    index: np.ndarray | None,
    whole: np.ndarray | None,
) -> _Problem:
    """Return the problem of class ``c`` against the rest."""
    count, inside = sums.counts[c], sums.totals[c]
    n, outside = sums.counts.sum(), sums.totals.sum(axis=0) - inside
    others = n - count
    v1, v0 = (n / (2 * count), n / (2 * others)) if options.balance else (1.0, 1.0)
    p1, p0 = options.p1, options.p0
    flips = columns.slope * (inside / count - outside / others) < 0
    mapped = columns.flipped(flips)
    h, ft = v1 * inside + v0 * outside, v1 * p1 * inside + v0 * p0 * outside
    mass, sum_t = v1 * count + v0 * others, v1 * p1 * count + v0 * p0 * others
    objective: RowsObjective | GramObjective
    if F is not None and index is not None:
        is_c = index == c
        objective = RowsObjective(
            F,
            np.where(is_c, p1, p0),
            weight=np.where(is_c, v1, v0),
            columns=mapped,
            fit_bias=options.bias,
            h=h,
            ft=ft,
        )
    else:
        if whole is None:
            raise InvalidArgument("votes need rows, or sums with Gram matrices.")
        parts = [(1.0, whole)]
        if options.balance:
            parts = [(v1 - v0, sums.grams[c]), (v0, whole)]
        size = v1 * p1**2 * count + v0 * p0**2 * others
        objective = GramObjective(
            *(parts, h, ft),
            mass=mass,
            sum_t=sum_t,
            size=size,
            columns=mapped,
            fit_bias=options.bias,
        )
    return _Problem(objective, flips, mapped, h, mass, sum_t)


def _solve(
    objective: RowsObjective | GramObjective,
    k: float,
    options: VoteOptions,
    start: np.ndarray | None,
) -> ConcertSolution:
    if options.solver == "frank_wolfe":
        return solve_frank_wolfe(objective, k, tol=options.tol, start=start)
    return solve_working_set(objective, k, tol=options.tol, start=start)


def _read(
    problem: _Problem, solution: ConcertSolution, options: VoteOptions
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return weights, flips, and the score as a linear function of the given features."""
    w, objective = solution.w, problem.objective
    coef = w * problem.columns.slope
    intercept = float(w @ problem.columns.offset)
    mean = float(coef @ problem.h) / problem.mass + intercept
    # Σ v (w·f')² = wᵀG'w = J + 2 c·w − tᵀDt; the mean is already gone where the bias is free.
    spread = solution.objectives[-1] + 2 * float(objective.c @ w) - objective.size
    variance = spread / problem.mass - (0.0 if options.bias else mean**2)
    if options.calibrate:
        unit = np.sqrt(max(variance, 1e-12))
        return w, problem.flips, coef / unit, (intercept - mean) / unit
    if options.bias:
        intercept += problem.sum_t / problem.mass - mean
    return w, problem.flips, coef, intercept

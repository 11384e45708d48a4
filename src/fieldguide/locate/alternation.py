"""Region selection: projected gradient on the weights of regions, around a warm-started SVM.

    min_s J(s)   s.t.   s_i in the capped simplex of each positive bag

J and its gradient are those of :mod:`fieldguide.locate.region_problem`. For a fixed hyperplane the
problem is linear in s, so that without a cap the weights run to one region per bag. J is not
convex: another start may end elsewhere. The search stops where no direction promises more than a
share ``tol`` of J, by the Frank–Wolfe gap

    max over s' of  −∇J(s)·(s' − s),

which is 0 at a stationary point alone.
"""

from typing import NamedTuple

import numpy as np

from fieldguide.locate.region_problem import Hyperplane, Problem
from fieldguide.locate.simplex import least_values, project

_ARMIJO = 1e-2
_SHRINK = 0.3
_MOST_TRIALS = 10
# The hyperplane is solved to a share of the gap of s: closer is wasted, wider misleads the search.
_SVM_SHARE = 0.1
_SVM_TOL = (1e-5, 1e-3)


class Selection(NamedTuple):
    """Where one search ended."""

    s: np.ndarray  # (n_positive_regions,)
    plane: Hyperplane
    objectives: list[float]  # J after each step, never rising
    gap: float  # Frank–Wolfe gap over J


def select_regions(
    problem: Problem,
    caps: np.ndarray,
    s: np.ndarray,
    *,
    tol: float = 1e-2,
    max_iter: int = 50,
    alpha0: np.ndarray | None = None,
) -> Selection:
    """Search from weights ``s``, which the caps must allow.

    Parameters
    ----------
    problem : GramProblem or RowProblem
    caps : ndarray of shape (n_positive_bags,)
    s : ndarray of shape (n_positive_regions,)
    tol : float
        Stop at this Frank–Wolfe gap, relative to J.
    max_iter : int
        Steps at most.
    alpha0 : ndarray, optional
        Dual variables to start the first SVM from.
    """
    svm_tol = _SVM_TOL[1]
    plane = problem.solve(s, alpha0, svm_tol)
    objectives, step = [plane.objective], None
    while True:
        gradient = -plane.alpha[: problem.n_bags][problem.bag] * plane.values
        gap = float(gradient @ s - least_values(gradient, problem.start, caps).sum())
        relative = gap / max(plane.objective, 1e-300)
        if relative <= tol or len(objectives) > max_iter:
            return Selection(s, plane, objectives, relative)
        wanted = float(np.clip(_SVM_SHARE * relative, *_SVM_TOL))
        if wanted < 0.5 * svm_tol:
            svm_tol = wanted
            plane = problem.solve(s, plane.alpha, svm_tol)
            continue
        if step is None:
            step = 1 / max(float(np.abs(gradient).max()), 1e-300)
        for _ in range(_MOST_TRIALS):
            trial = project(s - step * gradient, problem.start, caps)
            promised = float(gradient @ (trial - s))
            found = problem.solve(trial, plane.alpha, svm_tol)
            if found.objective <= plane.objective + _ARMIJO * promised:
                break
            step *= _SHRINK
        else:
            return Selection(s, plane, objectives, relative)
        s, plane = trial, found
        objectives.append(plane.objective)
        step *= 2


def select_best_region(
    problem: Problem, s: np.ndarray, *, max_iter: int = 50, alpha0: np.ndarray | None = None
) -> Selection:
    """MI-SVM: train, let the best region alone stand for its bag, and again until none changes.

    The gap of the result is 0 if the search came to rest, otherwise the share of bags whose region
    still changed.
    """
    plane = problem.solve(s, alpha0, _SVM_TOL[1])
    objectives, gap, chosen = [plane.objective], 1.0, None
    while gap > 0 and len(objectives) <= max_iter:
        last, chosen = chosen, place_best(plane.values, problem.start)
        if last is not None:
            gap = float((last != chosen).mean())
            if gap == 0:
                break
        s = np.zeros(len(s))
        s[chosen] = 1
        plane = problem.solve(s, plane.alpha, _SVM_TOL[1])
        objectives.append(plane.objective)
    return Selection(s, plane, objectives, gap)


def place_best(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the place of the largest value of each bag."""
    most = np.repeat(np.maximum.reduceat(values, start[:-1]), np.diff(start))
    places = np.flatnonzero(values == most)
    return places[np.searchsorted(places, start[:-1])]


def draw_weights(
    start: np.ndarray, caps: np.ndarray, rng: np.random.Generator | None
) -> np.ndarray:
    """Return weights to start from: equal ones without ``rng``, else drawn ones, made feasible."""
    sizes = np.diff(start)
    if rng is None:
        return 1 / np.repeat(sizes, sizes)
    drawn = rng.exponential(size=start[-1])
    return project(drawn / np.repeat(np.add.reduceat(drawn, start[:-1]), sizes), start, caps)

"""Held-out scores for every p1 and k of a grid: one warm-started path for each fold.

Along a path k falls, so that the weights for the last k are feasible for the next. The pair whose
held-out scores, after the best scale, give the rows' classes most probability wins: with few rows
that ranks far better than the number of right answers, which jumps by whole rows.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fieldguide._parallel import map_in_order
from fieldguide._random import deal_folds
from fieldguide.select.objective import ColumnMap
from fieldguide.select.sums import sum_rows
from fieldguide.select.votes import VoteOptions, fit_votes
from fieldguide.svm import fit_scale

_N_FOLDS = 5
P1_GRID = (2.0, 1.0, 0.5)
DEFAULT_P1 = 2.0  # without rows to hold out, which is so where rows are few
_LARGEST_K = 250  # larger ones cost much and gained nothing where measured
K_GRID = (5, 10, 20, 50, 100, 200, 400)
PATH_TOL = 1e-3  # enough to rank


class HeldOutVotes(NamedTuple):
    """What votes of the other folds say of each row."""

    grid: tuple[tuple[float, float], ...]  # (p1, k)
    scores: np.ndarray  # (len(grid), N, m)


def default_k(n: int) -> float:
    """Return k for n features where rows are few and nothing can be held out: an eighth."""
    return float(min(max(1, round(n / 8)), _LARGEST_K))


def root_k(n: int) -> int:
    """Return the square root of n, near the best k where rows are many."""
    return max(1, round(math.sqrt(n)))


def list_k(n: int, k: str) -> tuple[float, ...]:
    """Return the grid of "auto" or "cv" for n features; a vote of more than half selects little."""
    if k == "auto":
        return tuple({default_k(n), float(root_k(n))})
    return tuple(float(k) for k in K_GRID if k <= n / 2) or (float(root_k(n)),)


def list_path(p1_grid: Sequence[float], k_grid: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return all pairs of p1 and k, with k falling."""
    return tuple((p1, k) for p1 in p1_grid for k in sorted(k_grid, reverse=True))


def list_folds(index: np.ndarray, n_classes: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return kept and held-out rows of each fold; none where a class has a single row."""
    n_folds = min(_N_FOLDS, int(np.bincount(index, minlength=n_classes).min()))
    if n_folds < 2:
        return []
    fold = deal_folds(index, n_folds, seed)
    return [(np.flatnonzero(fold != q), np.flatnonzero(fold == q)) for q in range(n_folds)]


def hold_out_votes(
    F: np.ndarray,
    index: np.ndarray,
    n_classes: int,
    grid: Sequence[tuple[float, float]],
    options: VoteOptions,
    columns: ColumnMap,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
) -> HeldOutVotes | None:
    """Return scores of rows that took no part, or None where a class has a single row.

    ``grid`` lists p1 and k of votes in the order of the path.
    """
    folds = list_folds(index, n_classes, seed)
    if not folds:
        return None
    loose = options._replace(tol=max(options.tol, PATH_TOL))

    def walk(fold: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        kept, held_out = fold
        rows, labels = F[kept], index[kept]
        sums, given = sum_rows(rows, labels, n_classes, balance=options.balance)
        weights, scores = None, []
        for p1, k in grid:
            asked = loose._replace(p1=p1)
            votes = fit_votes(sums, k, asked, columns, start=weights, **given)
            weights = votes.weights
            scores.append(F[held_out] @ votes.coef.T + votes.intercept)
        return held_out, scores

    done = list(map_in_order(walk, folds, n_jobs=n_jobs, travels=True))
    result = np.empty((len(grid), len(index), done[0][1][0].shape[1]))
    for held_out, scores in done:
        result[:, held_out] = scores
    return HeldOutVotes(tuple(grid), result)


def choose_pair(held_out: HeldOutVotes, index: np.ndarray) -> tuple[float, float]:
    """Return the p1 and k with the least held-out loss."""
    losses = [fit_scale(spread_two_classes(scores), index)[1] for scores in held_out.scores]
    return held_out.grid[int(np.argmin(np.round(losses, 9)))]


def spread_two_classes(scores: np.ndarray) -> np.ndarray:
    """Return a score for each of two classes from the one margin; more classes as they are."""
    return scores * np.array([-0.5, 0.5]) if scores.shape[1] == 1 else scores

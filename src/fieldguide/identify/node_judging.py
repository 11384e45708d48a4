"""Which of several SVMs a node of an attention tree should have.

A kernel node may take fewer support vectors (Eq. 4): among values of C whose held-out accuracy is
near the best, the one with the least cost of ruling out a class,

    c = f⁻ N / |Z⁺| + f⁺ N / |Z⁻|,    f± = |Z±| / (|Z⁺| + |Z⁻|)

=====  ==========================================================
N      support vectors of the node
|Z±|   classes with decided rows on the right and on the left
=====  ==========================================================

Of several splits of the classes, the one is best whose SVM tells most about the class of rows that
it has not seen.
"""

from typing import Any

import numpy as np
from scipy.special import xlogy

from fieldguide._random import deal_folds
from fieldguide.identify.routed_plan import RoutedPlan
from fieldguide.svm import Problems, Question

_JUDGE_FOLDS = 3
_C_FACTORS = (1.0, 0.3, 3.0, 0.1, 10.0)  # of the C of a kernel node; of equal costs the first


def elimination_cost(n_support: Any, n_left: Any, n_right: Any) -> np.ndarray:
    """Return c of Eq. 4: kernel values for each class that a node rules out, on average.

    Examples
    --------
    >>> float(elimination_cost(60, 2, 4))
    25.0
    """
    n_left, n_right = np.asarray(n_left, dtype=float), np.asarray(n_right, dtype=float)
    share = n_left / (n_left + n_right)
    cost: np.ndarray = np.asarray(n_support) * (share / n_right + (1 - share) / n_left)
    return cost


def choose_support(problems: Problems, plan: RoutedPlan, C: float, tolerance: float) -> np.ndarray:
    """Return the factor of C of each node: the cheapest that is nearly the most accurate."""
    index = plan.class_of
    fold = deal_folds(index, _JUDGE_FOLDS, problems.seed)
    n_right = np.zeros((len(_C_FACTORS), plan.n_nodes))
    n_support = np.zeros((len(_C_FACTORS), plan.n_nodes))
    n_decided = np.zeros(plan.n_nodes)
    for k in range(_JUDGE_FOLDS):
        held = np.flatnonzero(fold == k)
        sides = plan.sides(index, held)
        is_decided = np.abs(sides) == 1
        n_decided += is_decided.sum(axis=0)
        questions = plan.questions(index, (fold != k).astype(np.float64))
        for c, factor in enumerate(_C_FACTORS):
            margins = problems.evaluate(problems.solve(questions, C=C * factor), held)
            n_right[c] += (is_decided & (margins * sides > 0)).sum(axis=0)
    for c, factor in enumerate(_C_FACTORS):
        n_support[c] = np.diff(problems.solve(plan.questions(index), C=C * factor).beta.indptr)
    accuracy = n_right / np.maximum(n_decided, 1)
    cost = elimination_cost(n_support, *plan.count_sides())
    cost[accuracy < accuracy.max(axis=0) - tolerance - 1e-12] = np.inf
    factors: np.ndarray = np.array(_C_FACTORS)[cost.argmin(axis=0)]
    return factors


def judge_split(
    problems: Problems, question: Question, rows: np.ndarray, index: np.ndarray, C: float
) -> float:
    """Return how many bits the side of a node's SVM tells about the class of rows it did not see.

    Each fold of ``rows``, decided or not, is sent left or right by a function trained without it.
    """
    fold = np.full(len(index), -1)
    fold[rows] = deal_folds(index[rows], _JUDGE_FOLDS, problems.seed)
    is_right = np.zeros(len(rows), dtype=bool)
    for k in range(_JUDGE_FOLDS):
        is_used = fold[question.rows] != k
        held = np.flatnonzero(fold[rows] == k)
        signs = question.sign[is_used]
        if not len(held):
            continue
        if np.ptp(signs) == 0 if len(signs) else True:
            return -np.inf  # without this fold there is nothing to part
        trained = problems.solve([Question(question.rows[is_used], signs)], C=C)
        is_right[held] = problems.evaluate(trained, rows[held])[:, 0] > 0
    counts = np.zeros((2, int(index.max()) + 1))
    np.add.at(counts, (is_right.astype(int), index[rows]), 1)
    return (_entropy(counts.sum(axis=0)) - sum(_entropy(side) for side in counts)) / len(rows)


def _entropy(counts: np.ndarray) -> float:
    """Return n H in bits."""
    return float((xlogy(counts.sum(), counts.sum()) - xlogy(counts, counts).sum()) / np.log(2))

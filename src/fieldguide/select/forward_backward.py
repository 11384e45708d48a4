"""Adaptive forward–backward greedy selection (FoBa) of features for least squares.

    Q(β) = ½ Σ_i (β·f_i + b − t_i)²,    t_i = 1 for rows of the class, 0 for the others

Forward: take the feature whose coordinate alone lowers Q most, by δ, and fit all that were taken
anew. Backward: while setting some coordinate to 0 costs less than ν times the δ of the step that
made the set so large, drop it. It ends at ``k`` features, or when δ is small.

Reference: T. Zhang, "Adaptive forward-backward greedy algorithm for learning sparse
representations", IEEE Transactions on Information Theory 57 (2011).
"""

from typing import Any, Self

import numpy as np

from fieldguide._check import check_number
from fieldguide._parallel import map_in_order, one_blas_thread
from fieldguide.select.k_path import root_k
from fieldguide.select.objective import RowsObjective
from fieldguide.select.voting import LINEAR_VOTES, VotingSelector, fold_two_classes

_RIDGE = 1e-10  # of the diagonal, for features that are sums of others


class ForwardBackwardSelector(VotingSelector):
    """Select features one by one for least squares, and drop those that others have replaced.

    Parameters
    ----------
    k : int, optional
        Features for each class, at most; the square root of their number by default.
    nu : float
        A feature is dropped when that costs less than ``nu`` times what the last one gained.
    tol : float
        Stop when a feature gains less than this share of Q without features.
    n_jobs : int, optional
        Threads, each with some classes.

    Attributes
    ----------
    classes_, weights_, flips_
        As of :class:`~fieldguide.select.ConcertSelector`; weights are ``|β|``, flips where β < 0.
    coef_, intercept_ : ndarray of shape (n_functions, n_features) and (n_functions,)

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.select import ForwardBackwardSelector
    >>> F = np.array([[0.9, 0.5, 0.4], [0.7, 0.4, 0.5], [0.1, 0.4, 0.5], [0.2, 0.5, 0.4]])
    >>> ForwardBackwardSelector(k=1).fit(F, [0, 0, 1, 1]).get_support()
    array([ True, False, False])
    """

    _fitted = LINEAR_VOTES

    def __init__(
        self, k: int | None = None, *, nu: float = 0.5, tol: float = 1e-3, n_jobs: int | None = None
    ) -> None:
        self.k = k
        self.nu = nu
        self.tol = tol
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Choose features from the rows of ``X``, (n, n_features), with labels ``y``, (n,)."""
        self._check_arguments()
        X, index = self._read_training_rows(X, y)
        n = X.shape[1]
        if self.k is not None:
            check_number(type(self).__name__, "k", self.k, 1, n, integer=True)
        k = self.k or root_k(n)
        classes = [1] if len(self.classes_) == 2 else list(range(len(self.classes_)))

        def solve(c: int) -> tuple[np.ndarray, float]:
            t = (index == c).astype(np.float64)
            objective = RowsObjective(X, t, fit_bias=True)
            beta = select_forward_backward(objective, k, self.nu, self.tol)
            return beta, float(t.mean() + beta @ objective.columns.offset)

        with one_blas_thread():
            found = list(map_in_order(solve, classes, n_jobs=self.n_jobs))
        self.coef_ = np.array([beta for beta, _ in found])
        self.intercept_ = np.array([intercept for _, intercept in found])
        if len(self.classes_) == 2:
            self.intercept_ -= 0.5  # the middle of the two targets
        self.weights_ = fold_two_classes(np.abs(self.coef_), len(self.classes_))
        self.flips_ = fold_two_classes(self.coef_ < 0, len(self.classes_))
        return self

    def _check_arguments(self) -> None:
        owner = type(self).__name__
        check_number(owner, "nu", self.nu, 0.0, 1.0)
        check_number(owner, "tol", self.tol, 0.0, 1.0)


def select_forward_backward(objective: RowsObjective, k: int, nu: float, tol: float) -> np.ndarray:
    """Return β of at most ``k`` features, (n,).

    ``objective`` is J = 2Q; a table keeps every column that was ever taken.
    """
    n = len(objective.c)
    table = objective.open_table()
    active: list[int] = []  # places in the table
    gains: list[float] = []  # δ of the step that made the set as large as it is
    beta = np.zeros(0)
    e, norms = objective.c, objective.norms()
    least = tol * 0.5 * objective.size
    while len(active) < k:
        reach = np.divide(e * e, 2 * norms, out=np.zeros(n), where=norms > 1e-12)
        reach[table.ids[active]] = 0.0
        best = int(reach.argmax())
        if not reach[best] > least:
            break
        known = np.flatnonzero(table.ids == best)
        if not len(known):
            table.add(np.array([best]))
        before = _error(objective, table, active, beta)
        active.append(int(known[0]) if len(known) else len(table.ids) - 1)
        beta = _fit(objective, table, active)
        gains.append(max(before - _error(objective, table, active, beta), 0.0))
        while len(active) > 1:
            costs = 0.5 * beta**2 * table.gram.diagonal()[active]
            worst = int(costs.argmin())
            if costs[worst] > nu * gains[-1]:
                break
            del active[worst]
            gains.pop()
            beta = _fit(objective, table, active)
        whole = np.zeros(len(table.ids))
        whole[active] = beta
        e = table.look(whole)[1]
    result = np.zeros(n)
    result[table.ids[active]] = beta
    return result


def _fit(objective: RowsObjective, table: Any, active: list[int]) -> np.ndarray:
    """Return the least squares solution of the active columns."""
    gram = table.gram[np.ix_(active, active)].copy()
    gram.flat[:: len(gram) + 1] *= 1 + _RIDGE
    weights: np.ndarray = np.linalg.lstsq(gram, objective.c[table.ids[active]], rcond=None)[0]
    return weights


def _error(objective: RowsObjective, table: Any, active: list[int], beta: np.ndarray) -> float:
    """Return Q of the least squares solution."""
    return 0.5 * (objective.size - float(objective.c[table.ids[active]] @ beta))

"""MI-SVM: the best region of a positive picture stands for it, and the choice is made again.

It is region selection (:mod:`fieldguide.locate.region_selector`) without a cap and with the whole
step to the best region at once.

Reference: S. Andrews, I. Tsochantaridis, T. Hofmann, "Support vector machines for
multiple-instance learning", NIPS (2002).
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from fieldguide._check import check_number
from fieldguide.locate.alternation import Selection, draw_weights, select_best_region
from fieldguide.locate.kernel_bags import KernelBagClassifier
from fieldguide.locate.region_problem import Problem
from fieldguide.locate.simplex import find_caps


class MISVM(KernelBagClassifier):
    """Multiple-instance SVM that takes the best region of each positive bag.

    The score of a bag is that of its best region.

    Parameters
    ----------
    kernel, C, C_negative, gamma, map_order, map_above, n_folds, n_jobs, random_state
        As of :class:`RegionSelector`.
    max_iter : int
        The most times that the best regions are chosen anew.

    Attributes
    ----------
    classes_ : ndarray
    coef_, intercept_ : ndarray
        With the kernel "linear", as those of :class:`RegionSelector`.
    weights_ : list of lists of ndarray
        For each function and positive training bag, 1 at the chosen region; not saved, nor are the
        next two.
    objectives_ : list of lists of float
    gaps_ : ndarray
        For each function, the share of bags whose region still changed at the last choice.
    C_ : float

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import MISVM
    >>> wing, sky, leaf = np.eye(3)
    >>> bags = [[wing, sky], [sky, wing, leaf], [sky, leaf], [leaf, leaf]]
    >>> MISVM("linear", C=10.0).fit(bags, [1, 1, -1, -1]).predict([[leaf, wing], [sky]])
    array([ 1, -1])
    """

    def __init__(
        self,
        kernel: str = "chi2",
        *,
        C: float | str = 1.0,
        C_negative: float | str | None = None,
        gamma: float | None = None,
        max_iter: int = 50,
        map_order: int = 1,
        map_above: int = 5000,
        n_folds: int = 3,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.C_negative = C_negative
        self.gamma = gamma
        self.max_iter = max_iter
        self.map_order = map_order
        self.map_above = map_above
        self.n_folds = n_folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, bags: Sequence[Any], y: Any) -> Self:
        """Learn from bags and their labels; see :meth:`BagClassifier.fit`."""
        super().fit(bags, y)
        self._warn(0.05, f"raise max_iter (now {self.max_iter})")
        return self

    def _search(
        self, problem: Problem, cap: float, seed: int, alpha0: np.ndarray | None = None
    ) -> list[Selection]:
        s = draw_weights(problem.start, find_caps(problem.start, cap), None)
        return [select_best_region(problem, s, max_iter=self.max_iter, alpha0=alpha0)]

    def _caps(self) -> Sequence[float]:
        return (1.0,)

    def _score_bags(self, scores: np.ndarray, start: np.ndarray) -> np.ndarray:
        return np.maximum.reduceat(scores, start[:-1])

    def _check_arguments(self) -> None:
        super()._check_arguments()
        check_number("MISVM", "max_iter", self.max_iter, 1, 100_000, integer=True)

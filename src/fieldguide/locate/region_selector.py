"""Region selection: which regions of the positive pictures make them positive.

Only labels of whole pictures are known. Every region of a negative picture is a negative example;
a positive picture is the weighted mean of its regions, and the weights are learned together with
the classifier (:mod:`fieldguide.locate.alternation`). Weights sum to 1 and none exceeds ``cap``:
with a cap of 1/3 at least three regions stand for a picture. ``cap=1`` is the problem as the
reference prints it, whose solutions tend to one region per picture.

Reference: J. Zhao, L. Wang, R. Cabral, F. De la Torre, "Feature and region selection for visual
learning", CMU-RI-TR-12-14 (2014).
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from fieldguide._check import check_number
from fieldguide._random import spawn_generators
from fieldguide.locate.alternation import Selection, draw_weights, select_regions
from fieldguide.locate.kernel_bags import KernelBagClassifier
from fieldguide.locate.region_problem import Problem
from fieldguide.locate.simplex import find_caps

CAP_GRID = (1 / 3, 1.0, 1 / 8)


class RegionSelector(KernelBagClassifier):
    """Classifier of bags that learns which regions matter.

    Parameters
    ----------
    kernel : {"linear", "chi2", "intersection", "jensen_shannon", "hellinger", \
"exponential_chi2", "rbf"}
        Up to ``map_above`` regions exactly, on their kernel matrix; above it through an explicit
        map ("linear" always, "exponential_chi2" and "rbf" never).
    C : float or "cv"
        Cost of a positive bag on the wrong side.
    C_negative : float, "balanced" or None
        Cost of a negative region; that of C when None. "balanced" gives positive bags and negative
        regions the same total cost.
    cap : float in (0, 1] or "cv"
        The largest weight of a region; a bag of m regions has max(cap, 1/m).
    n_starts : int
        Number of searches, the first from equal weights, the others from random ones; the best is
        kept. The problem is not convex: ``objectives_`` tells where each search ended.
    gamma : float, optional
        Of "exponential_chi2" and "rbf"; 1 / mean distance by default.
    tol : float
        Stop when no step can lower the objective by more than this share of it.
    max_iter : int
        Largest number of steps of a search.
    map_order, map_above : int
        The explicit map is used for more than ``map_above`` regions, and has 2 · ``map_order`` + 1
        columns for each bin.
    n_folds : int
        For "cv": C = 1 and cap = 1/3 are kept unless others have a clearly better average
        precision of held-out bags, by more than a standard error.
    n_jobs : int, optional
        Threads for folds and classes; the answer does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed; None is another one each time.

    Attributes
    ----------
    classes_ : ndarray
    coef_ : ndarray of shape (n_functions, n_features)
        With the kernel "linear", and of the type of the bags: a region h scores w·h + b. Two
        classes have one function, which speaks for ``classes_[1]``, more have one for each class.
    intercept_ : ndarray of shape (n_functions,)
    weights_ : list of lists of ndarray
        For each function, the weights of the regions of each positive training bag, in order. Like
        the three of the search that follow, it is not saved.
    objectives_ : list of lists of float
        For each function, where each start ended.
    gaps_ : ndarray
        For each function, what a step could still promise, relative to the objective.
    cv_scores_ : dict
        Held-out average precision of each (C, cap); empty where there was no choice.
    C_, cap_ : float
        Those used.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.locate import RegionSelector
    >>> wing, sky, leaf = np.eye(3)
    >>> bags = [[wing, sky], [sky, wing, leaf], [sky, leaf], [leaf, leaf]]
    >>> selector = RegionSelector("linear", C=10.0, cap=1.0).fit(bags, [1, 1, -1, -1])
    >>> [weights.round(2).tolist() for weights in selector.weights_[0]]
    [[1.0, 0.0], [0.0, 1.0, 0.0]]
    >>> selector.predict([[leaf, wing, sky], [sky]])
    array([ 1, -1])
    """

    def __init__(
        self,
        kernel: str = "chi2",
        *,
        C: float | str = 1.0,
        C_negative: float | str | None = None,
        cap: float | str = 1 / 3,
        n_starts: int = 1,
        gamma: float | None = None,
        tol: float = 1e-2,
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
        self.cap = cap
        self.n_starts = n_starts
        self.gamma = gamma
        self.tol = tol
        self.max_iter = max_iter
        self.map_order = map_order
        self.map_above = map_above
        self.n_folds = n_folds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, bags: Sequence[Any], y: Any) -> Self:
        """Learn from bags and their labels; see :meth:`BagClassifier.fit`."""
        super().fit(bags, y)
        self._warn(self.tol, f"raise max_iter (now {self.max_iter})")
        return self

    def _search(
        self, problem: Problem, cap: float, seed: int, alpha0: np.ndarray | None = None
    ) -> list[Selection]:
        caps = find_caps(problem.start, cap)
        return [
            select_regions(
                problem,
                caps,
                draw_weights(problem.start, caps, rng),
                tol=self.tol,
                max_iter=self.max_iter,
                alpha0=alpha0,
            )
            for rng in (None, *spawn_generators(seed, self.n_starts - 1))
        ]

    def _caps(self) -> Sequence[float]:
        return CAP_GRID if self.cap == "cv" else (float(self.cap),)

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if self.cap != "cv":
            check_number("RegionSelector", "cap", self.cap, 1e-9, 1)
        check_number("RegionSelector", "n_starts", self.n_starts, 1, 10_000, integer=True)
        check_number("RegionSelector", "tol", self.tol, 1e-4, 1)
        check_number("RegionSelector", "max_iter", self.max_iter, 1, 100_000, integer=True)

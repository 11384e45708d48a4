"""Which bins of a histogram tell the kinds apart? Weights of an additive kernel, and its SVM.

    min_p  min_{w, b}  ½ Σ_k |w_k|²/p_k + C Σ_i max(0, 1 − y_i f(x_i)),    p ≥ 0,  Σ_k a_k p_k = 1

with f(x) = Σ_k w_k·ψ(x_k) + b, ψ the feature map of the kernel of one bin, and a_k the mean squared
distance ψ(x_k) − ψ(z_k) of two rows of the same side: bins that vary much within a kind pay for it.
The problem is convex and its solution is sparse. Several kinds are one problem each, a kind against
the rest. :mod:`fieldguide.select.additive_pricing` solves it exactly,
:mod:`fieldguide.select.group_lasso` for many rows.

Reference: J. Zhao, L. Wang, R. Cabral, F. De la Torre, "Feature and region selection for visual
learning", CMU-RI-TR-12-14 (2014).
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from fieldguide._check import check_choice, check_number, check_seed
from fieldguide._parallel import map_in_order
from fieldguide._random import deal_folds
from fieldguide._saving import Array, Items, Number, OneOf
from fieldguide.errors import InvalidArgument
from fieldguide.select._additive_modes import (
    FUNCTION,
    MODES,
    Answer,
    ExactMode,
    LargeMode,
    solve_rounds,
)
from fieldguide.select.additive_pricing import OPERATIONS
from fieldguide.select.voting import VotingSelector, number_classes
from fieldguide.svm import warn_open_gaps

C_GRID = tuple(10.0 ** (k / 2) for k in range(-5, 3))
N_FOLDS = 5
MOST_EXACT_ROWS = 1000  # of mode="auto"; the exact solver's steps cost n³


class PathPoint(NamedTuple):
    """One point of a regularisation path.

    Examples
    --------
    >>> from fieldguide.select import AdditiveKernelSelector
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = rng.gamma(2.0, size=(40, 6))
    >>> X[:, 3] *= 1 + 9 * y
    >>> points = AdditiveKernelSelector().path(X, y, C=[1e-3, 1e-2, 1e-1])
    >>> [point.n_selected for point in points]
    [1, 1, 1]
    """

    C: float
    weights: np.ndarray  # as weights_
    n_selected: int
    objective: float  # of all problems together
    gap: float  # the largest


class AdditiveKernelSelector(VotingSelector):
    """Select the bins of histograms that separate kinds, together with an SVM on them.

    Parameters
    ----------
    kernel : {"chi2", "intersection", "linear"}
        Of each bin; the first two take values that are not negative.
    C : float or "cv"
        Weight of the training errors: the larger, the more bins. "cv" takes the value of a small
        grid with the best cross-validated mean accuracy of the classes, the smallest of equals.
    mode : {"auto", "exact", "large"}
        "exact" is certified and takes up to a few thousand rows; "large" is a group lasso on the
        explicit map of the kernel, followed by one SVM with the exact kernel of the bins that it
        kept. "auto" is exact up to 1,000 rows.
    normalize : bool
        False sets all a_k to 1, which is plain multiple kernel learning with a kernel for each bin.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of pricing rounds ("exact"), or of runs of 50 epochs each ("large").
    n_jobs : int, optional
        Threads, over classes; the answer does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed of the folds of ``C="cv"``.
    n_rounds : int
        Number of rounds. Each round selects bins and sets them aside, so that the next one selects
        among the others. The weights are the mean over all rounds, and one SVM is trained in the
        end. One round selects few more bins than there are support rows; several rounds also keep
        bins that are similar to those.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : ndarray of shape (n_features,), or (n_classes, n_features) for more than two classes
        p_k, with Σ a_k p_k = 1 in each row; most are 0.
    spreads_ : ndarray of the same shape
        a_k; infinity for bins that are the same in all rows.
    n_selected_ : int
        Bins with a weight in any problem.
    gap_ : float
        The largest relative gap of a problem, or of one of its rounds: its objective is at most
        this share above the optimum. In large mode the optimum is that of the group lasso.
    objective_ : float
        Of all problems and rounds together; in large mode that of the group lasso.
    n_iter_ : int
        Steps of the interior-point method, or epochs, of the longest problem.
    C_ : float
        The C that was used.
    mode_ : {"exact", "large"}

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.select import AdditiveKernelSelector
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(40) % 2
    >>> X = rng.gamma(2.0, size=(40, 30))
    >>> X[:, 7] *= 1 + 9 * y
    >>> selector = AdditiveKernelSelector(C=0.1).fit(X, y)
    >>> int(selector.weights_.argmax()), selector.transform(X).shape[1] < 10
    (7, True)
    """

    _fitted: ClassVar = {
        "functions_": Items(FUNCTION),
        "spreads_": Array("float64", ..., finite=False),
        "mode_": OneOf(*MODES),
        "C_": Number(above=0),
        "objective_": Number(finite=False),
        "gap_": Number(finite=False),
        "n_iter_": Number(0, whole=True),
        "n_selected_": Number(0, whole=True),
    }

    def __init__(
        self,
        kernel: str = "chi2",
        C: float | str = 1.0,
        *,
        mode: str = "auto",
        normalize: bool = True,
        tol: float = 1e-2,
        max_iter: int = 100,
        n_jobs: int | None = None,
        random_state: Any = 0,
        n_rounds: int = 1,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.mode = mode
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.n_rounds = n_rounds

    def fit(self, X: Any, y: Any) -> Self:
        """Weigh the columns of ``X`` for telling apart the classes ``y``.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
        y : array of shape (n,)
            Two classes or more.
        """
        X, index = self._read_training_rows(X, y)
        self.mode_ = self._choose_mode(X.shape[0])
        self.C_ = self._choose_C(X, index) if self.C == "cv" else float(self.C)
        solver = self._prepare(X)
        sides = list_sides(index, len(self.classes_))

        def solve(side: np.ndarray) -> tuple[np.ndarray, Answer]:
            spreads = check_spreads(solver.measure(side))
            answer = solve_rounds(solver, side, spreads, self.C_, None, n_rounds=self.n_rounds)
            if self.n_rounds == 1:
                answer = solver.finish(side, self.C_, answer)
            return spreads, answer

        spreads, answers = zip(*map_in_order(solve, sides, n_jobs=self.n_jobs), strict=True)
        self.functions_ = [answer.function for answer in answers]
        self.weights_ = _stack([answer.weights for answer in answers])
        self.spreads_ = _stack(spreads)
        self.objective_ = float(sum(answer.objective for answer in answers))
        self.gap_ = float(max(answer.gap for answer in answers))
        self.n_iter_ = max(1, *(answer.n_iter for answer in answers))
        self.n_selected_ = int(self._get_support_mask().sum())
        remedy = f"raise max_iter (now {self.max_iter}), or lower C"
        warn_open_gaps("AdditiveKernelSelector", [a.gap for a in answers], self.tol, remedy)
        return self

    def path(self, X: Any, y: Any, C: Sequence[float] | None = None) -> list[PathPoint]:
        """Return the weights for each value of ``C``, smallest first; nothing is stored.

        Each solution starts from the one before. By default ten values up to ``self.C``, down to
        a hundredth of it (of 1 for ``C="cv"``).
        """
        reader = clone(self)
        X, index = reader._read_training_rows(X, y)
        largest = 1.0 if isinstance(self.C, str) else float(self.C)
        values = np.geomspace(largest / 100, largest, 10) if C is None else np.sort(C)
        for value in values:
            check_number("AdditiveKernelSelector.path", "C", float(value), 1e-9, 1e9)
        reader.mode_ = reader._choose_mode(X.shape[0])
        walks = reader._walk(X, index, values)
        points = []
        for value, answers in zip(values, zip(*walks, strict=True), strict=True):
            weights = _stack([answer.weights for answer in answers])
            n_selected = int(np.atleast_2d(weights).any(axis=0).sum())
            objective = float(sum(answer.objective for answer in answers))
            gap = float(max(answer.gap for answer in answers))
            points.append(PathPoint(float(value), weights, n_selected, objective, gap))
        return points

    def _score(self, X: Any) -> np.ndarray:
        return np.column_stack([function.evaluate(X) for function in self.functions_])

    def _read_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C", reset=False
        )
        self._check_values(X)
        return X

    def _read_training_rows(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        self._check_arguments()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"
        )
        self._check_values(X)
        self.classes_, index = number_classes("AdditiveKernelSelector", y)
        return X, index

    def _check_arguments(self) -> None:
        owner = "AdditiveKernelSelector"
        if isinstance(self.C, str) and self.C != "cv":
            raise InvalidArgument(f'C of {owner} must be a number or "cv"; got {self.C!r}.')
        if not isinstance(self.C, str):
            check_number(owner, "C", self.C, 1e-9, 1e9)
        check_choice(owner, "kernel", self.kernel, tuple(OPERATIONS))
        check_choice(owner, "mode", self.mode, ("auto", *MODES))
        check_choice(owner, "normalize", self.normalize, (True, False))
        check_number(owner, "n_rounds", self.n_rounds, 1, 1000, integer=True)
        check_number(owner, "tol", self.tol, 1e-6, 1)
        check_number(owner, "max_iter", self.max_iter, 1, 10**6, integer=True)

    def _check_values(self, X: Any) -> None:
        if self.kernel != "linear":
            check_non_negative(X, f"AdditiveKernelSelector with the {self.kernel} kernel")

    def _choose_mode(self, n: int) -> str:
        if self.mode != "auto":
            return self.mode
        return "exact" if n <= MOST_EXACT_ROWS else "large"

    def _prepare(self, X: Any) -> ExactMode | LargeMode:
        return MODES[self.mode_](
            self.kernel, X, normalize=self.normalize, tol=self.tol, max_iter=self.max_iter
        )

    def _walk(self, X: Any, index: np.ndarray, values: Sequence[float]) -> list[list[Answer]]:
        """Return the answers of each problem for rising values of C, each warm-started."""
        solver = self._prepare(X)

        def walk(side: np.ndarray) -> list[Answer]:
            spreads = check_spreads(solver.measure(side))
            answers: list[Answer] = []
            for C in values:
                start = answers[-1].state if answers else None
                answers.append(
                    solve_rounds(solver, side, spreads, float(C), start, n_rounds=self.n_rounds)
                )
            return answers

        sides = list_sides(index, len(self.classes_))
        return list(map_in_order(walk, sides, n_jobs=self.n_jobs))

    def _choose_C(self, X: Any, index: np.ndarray) -> float:
        """Return the C of the grid with the best held-out mean accuracy of the classes."""
        seed = check_seed("AdditiveKernelSelector", self.random_state)
        fold = deal_folds(index, N_FOLDS, seed)
        shares = 1 / np.bincount(index)[index]
        right = np.zeros(len(C_GRID))
        for k in range(N_FOLDS):
            train, test = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            if len(np.unique(index[train])) < len(self.classes_) or not len(test):
                continue  # a class of one row cannot be held out
            walks = self._walk(X[train], index[train], C_GRID)
            for place, answers in enumerate(zip(*walks, strict=True)):
                margins = np.column_stack([a.function.evaluate(X[test]) for a in answers])
                best = margins.argmax(axis=1) if len(walks) > 1 else margins[:, 0] > 0
                right[place] += shares[test] @ (best == index[test])
        best_C: float = C_GRID[int(np.argmax(np.round(right, 9)))]
        return best_C

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.kernel != "linear"
        return tags


def list_sides(index: np.ndarray, n_classes: int) -> list[np.ndarray]:
    """Return the ±1 labels of each problem: one for two classes, else each class against all."""
    positives = [1] if n_classes == 2 else range(n_classes)
    return [np.where(index == c, 1.0, -1.0) for c in positives]


def check_spreads(spreads: np.ndarray) -> np.ndarray:
    """Refuse rows that are all the same."""
    if not np.isfinite(spreads).any():
        raise InvalidArgument(
            "X of AdditiveKernelSelector has no column that varies, so there is nothing to select; "
            "give rows that differ."
        )
    return spreads


def _stack(rows: Sequence[np.ndarray]) -> np.ndarray:
    return rows[0] if len(rows) == 1 else np.array(rows)

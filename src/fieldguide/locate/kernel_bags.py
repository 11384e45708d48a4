"""What region selection and MI-SVM share: kernels, the explicit map, costs, and their choice."""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_choice, check_number, check_seed
from fieldguide._parallel import map_in_order
from fieldguide._random import deal_folds
from fieldguide._saving import Number, OneOf, OrNone, Part
from fieldguide.errors import FieldguideWarning, InvalidArgument
from fieldguide.kernels import KERNELS, AdditiveKernelMap, default_gamma
from fieldguide.locate.alternation import Selection
from fieldguide.locate.bags import BagClassifier, Bags
from fieldguide.locate.region_problem import GramProblem, Problem, RowProblem
from fieldguide.svm.functions import (
    WITH_GAMMA,
    Functions,
    LinearFunctions,
    functions_field,
    kernel_matrix,
    pool_functions,
)

MAPPED = ("chi2", "intersection", "jensen_shannon")
ROW_KERNELS = ("linear", "hellinger", *MAPPED)
C_GRID = (1.0, 0.1, 10.0)  # the first is kept unless another is clearly better
MOST_GRAM_ROWS = 20_000
# Stored columns and values cost twice a plain value, and are skipped where they are zero.
_DENSE_SHARE = 0.4


class Settings(NamedTuple):
    """What is chosen by cross-validation."""

    C: float
    cap: float


class Space:
    """Where the regions live: rows of an explicit map, or a kernel matrix."""

    def __init__(self, X: Any, kernel: str, gamma: float | None, order: int, map_above: int):
        self.kernel, self.order = kernel, order
        self.is_rows = kernel in ROW_KERNELS and (kernel == "linear" or X.shape[0] > map_above)
        self.gamma = gamma
        if gamma is None and kernel in WITH_GAMMA:
            self.gamma = default_gamma(X, kernel)
        self.X = X
        self.values = self.map_rows(X) if self.is_rows else kernel_matrix(kernel, self.gamma, X)

    @classmethod
    def bare(cls, kernel: str, gamma: float | None, order: int, is_rows: bool) -> "Space":
        """Return the space of a saved classifier, without any row."""
        space = cls.__new__(cls)
        space.kernel, space.gamma, space.order, space.is_rows = kernel, gamma, order, is_rows
        space.X = space.values = None
        return space

    def map_rows(self, X: Any) -> Any:
        """Return φ(X), sparse where most of it is zero."""
        if self.kernel == "linear":
            return X
        if not sparse.issparse(X) and np.count_nonzero(X) < _DENSE_SHARE * X.size:
            X = sparse.csr_array(X)
        if self.kernel == "hellinger":
            return np.sqrt(X)
        return AdditiveKernelMap(self.kernel, order=self.order).fit(X).transform(X)

    def pose(
        self, data: Bags, bags: np.ndarray, is_positive: np.ndarray
    ) -> tuple[Problem, np.ndarray]:
        """Return the problem of some bags, and the regions in its order."""
        positive, negative = data.rows(bags[is_positive]), data.rows(bags[~is_positive])
        start = join_sizes(np.diff(data.start)[bags[is_positive]])
        rows = np.concatenate([positive, negative])
        if self.is_rows:
            return RowProblem(self.values[rows], start), rows
        return GramProblem(self.values[np.ix_(rows, rows)], start), rows

    def spread(self, coef: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return coefficients of columns as they are, those of regions at their places."""
        if self.is_rows:
            return coef
        out = np.zeros(self.X.shape[0])
        out[rows] = coef
        return out

    def without_rows(self) -> "Space":
        """Return a copy without the training rows, for what is kept and pickled."""
        light = copy(self)
        light.X = light.values = None
        return light

    def functions(self, coefs: list[np.ndarray], intercepts: list[float]) -> Functions:
        """Return the functions of coefficients over all columns, or over all regions."""
        if self.is_rows:
            dtype = self.values.dtype
            return LinearFunctions(np.stack(coefs).astype(dtype), np.array(intercepts, dtype))
        beta = sparse.csr_array(np.stack(coefs))
        return pool_functions(self.kernel, self.gamma, self.X, beta, np.array(intercepts))


class KernelBagClassifier(BagClassifier):
    """Base of the bag classifiers that train SVMs; subclasses search the weights of regions."""

    C: float | str
    C_negative: float | str | None
    kernel: str
    gamma: float | None
    map_order: int
    map_above: int
    n_folds: int
    n_jobs: int | None
    random_state: Any

    _fitted: ClassVar = {
        "C_": Number(above=0),
        "cap_": Number(above=0),
        "_functions": functions_field(apart=True),
        "_space": Part(
            Space,
            {
                "kernel": OneOf("linear", *KERNELS),
                "gamma": OrNone(Number(above=0)),
                "order": Number(0, 6, whole=True),
                "is_rows": OneOf(True, False),
            },
            Space.bare,
        ),
    }
    _unsaved = ("weights_", "objectives_", "gaps_", "cv_scores_")  # what the search told

    @abstractmethod
    def _search(
        self, problem: Problem, cap: float, seed: int, alpha0: np.ndarray | None = None
    ) -> list[Selection]:
        """Return the searches for weights of regions, one for each start."""

    @abstractmethod
    def _caps(self) -> Sequence[float]:
        """Return the caps to choose from."""

    def _train(self, data: Bags, index: np.ndarray) -> None:
        self._check_values(data.X)
        self._check_size(data.X.shape[0])
        space = Space(data.X, self.kernel, self.gamma, self.map_order, self.map_above)
        seed = check_seed(type(self).__name__, self.random_state)
        self.C_, self.cap_ = self._choose(space, data, index, seed)
        self.gamma_ = space.gamma

        def answer(k: int) -> tuple[list[Selection], np.ndarray]:
            problem, rows = space.pose(data, np.arange(len(index)), index == k)
            problem.price(*self._costs(self.C_, problem))
            return self._search(problem, self.cap_, seed), rows

        answers = list(map_in_order(answer, self._questions(), n_jobs=self.n_jobs))
        best = [min(searches, key=_objective) for searches, _ in answers]
        coefs = [space.spread(b.plane.coef, a[1]) for a, b in zip(answers, best, strict=True)]
        self.objectives_ = [[_objective(found) for found in searches] for searches, _ in answers]
        self.gaps_ = np.array([found.gap for found in best])
        self.weights_ = [
            np.split(found.s, np.cumsum(np.diff(data.start)[index == k])[:-1])
            for k, found in zip(self._questions(), best, strict=True)
        ]
        self._functions = space.functions(coefs, [found.plane.intercept for found in best])
        self._space = space.without_rows()

    @property
    def coef_(self) -> np.ndarray:
        """w of each function of the kernel "linear", (n_functions, n_features)."""
        return self._linear_functions("coef_").coef

    @property
    def intercept_(self) -> np.ndarray:
        """b of each function of the kernel "linear", (n_functions,)."""
        return self._linear_functions("intercept_").intercept

    def _linear_functions(self, wanted: str) -> LinearFunctions:
        check_is_fitted(self)
        kernel, functions = self._space.kernel, self._functions
        if kernel != "linear" or not isinstance(functions, LinearFunctions):
            raise AttributeError(
                f"{wanted} of {type(self).__name__} is there for the kernel 'linear' alone; this "
                f"one was fitted with {kernel!r}."
            )
        return functions

    def _count_functions(self) -> int:
        return len(self._functions.intercept)

    def _check_opened(self) -> None:
        super()._check_opened()
        space, functions = self._space, self._functions
        n_columns = self.n_features_in_
        if space.is_rows and self.kernel in MAPPED:
            n_columns *= 2 * self.map_order + 1
        kernel = "linear" if isinstance(functions, LinearFunctions) else functions.kernel
        is_sound = (
            (space.kernel, space.order) == (self.kernel, self.map_order)
            and kernel == ("linear" if space.is_rows else self.kernel)
            and functions.n_features == n_columns
        )
        if not is_sound:
            raise InvalidArgument("_functions and _space do not fit the kernel and the columns.")
        self.gamma_ = space.gamma

    def _costs(self, C: float, problem: Problem) -> tuple[float, float]:
        if self.C_negative is None:
            return C, C
        if self.C_negative == "balanced":
            return C, C * problem.n_bags / problem.n_negative
        return C, float(self.C_negative)

    def _choose(self, space: Space, data: Bags, index: np.ndarray, seed: int) -> Settings:
        """Return C and cap: as they are given, or those of the best held-out score of bags."""
        costs = C_GRID if self.C == "cv" else (self.C,)
        grid = [Settings(float(C), float(cap)) for cap in self._caps() for C in costs]
        self.cv_scores_: dict[Settings, float] = {}
        if len(grid) == 1:
            return grid[0]
        least = np.bincount(index).min()
        if least < 2:
            raise InvalidArgument(
                f'C="cv" and cap="cv" of {type(self).__name__} need at least 2 bags of each '
                f"class; the smallest has {least}: give numbers instead."
            )
        n_folds = min(self.n_folds, int(least))
        fold = deal_folds(index, n_folds, seed)

        def judge(k: int) -> np.ndarray:
            return self._judge(space, data, index, fold == k, grid, seed)

        table = np.stack(list(map_in_order(judge, range(n_folds), n_jobs=self.n_jobs)))
        self.cv_scores_ = dict(zip(grid, table.mean(axis=0).tolist(), strict=True))
        return grid[choose_clearly_better(table)]

    def _judge(
        self,
        space: Space,
        data: Bags,
        index: np.ndarray,
        is_out: np.ndarray,
        grid: list[Settings],
        seed: int,
    ) -> np.ndarray:
        """Return the average precision of the bags left out, for each entry of the grid."""
        from sklearn.metrics import average_precision_score

        inside, outside = np.flatnonzero(~is_out), np.flatnonzero(is_out)
        held = space.values[data.rows(outside)]
        start = join_sizes(np.diff(data.start)[outside])
        result = np.zeros(len(grid))
        for k in self._questions():
            problem, rows = space.pose(data, inside, index[inside] == k)
            alpha = None
            for place, (C, cap) in enumerate(grid):
                problem.price(*self._costs(C, problem))
                best = min(self._search(problem, cap, seed, alpha), key=_objective)
                alpha = best.plane.alpha
                coef = space.spread(best.plane.coef, rows).astype(space.values.dtype)
                scores = self._score_bags(held @ coef + best.plane.intercept, start)
                result[place] += average_precision_score(index[outside] == k, scores)
        return result / len(self._questions())

    def _score(self, X: Any) -> np.ndarray:
        self._check_values(X)
        rows = self._space.map_rows(X) if self._space.is_rows else X
        return np.asarray(self._functions.evaluate(rows, n_jobs=self.n_jobs), dtype=np.float64)

    def _check_values(self, X: Any) -> None:
        name = type(self).__name__
        values = X.data if sparse.issparse(X) else X
        if self.kernel not in ("linear", "rbf") and values.min(initial=0) < 0:
            raise InvalidArgument(
                f"bags of {name} with the {self.kernel} kernel must not be negative (least "
                f"{values.min():g}); clip them, or use the kernel 'linear' or 'rbf'."
            )

    def _check_size(self, n_regions: int) -> None:
        if self.kernel in WITH_GAMMA and n_regions > MOST_GRAM_ROWS:
            raise InvalidArgument(
                f"{type(self).__name__} with the {self.kernel} kernel keeps a matrix of all pairs "
                f"of regions and takes {MOST_GRAM_ROWS:,} of them at most; got {n_regions:,}: use "
                f"fewer, or one of the kernels {', '.join(ROW_KERNELS)}."
            )

    def _check_arguments(self) -> None:
        name = type(self).__name__
        if self.C != "cv":
            check_number(name, "C", self.C, 1e-9, 1e9)
        if self.C_negative is not None and self.C_negative != "balanced":
            check_number(name, "C_negative", self.C_negative, 1e-9, 1e9)
        check_choice(name, "kernel", self.kernel, ("linear", *KERNELS))
        if self.gamma is not None:
            check_number(name, "gamma", self.gamma, 1e-12, 1e12)
        check_number(name, "map_order", self.map_order, 0, 6, integer=True)
        check_number(name, "map_above", self.map_above, 0, MOST_GRAM_ROWS, integer=True)
        check_number(name, "n_folds", self.n_folds, 2, 100, integer=True)

    def _warn(self, tol: float, remedy: str) -> None:
        worst = float(self.gaps_.max())
        if worst > tol:
            warnings.warn(
                f"{type(self).__name__} stopped at a gap of {worst:.2g} where {tol:.2g} was asked "
                f"for; {remedy}.",
                FieldguideWarning,
                stacklevel=3,
            )


def choose_clearly_better(table: np.ndarray) -> int:
    """Return the column that gains most on the first, less a standard error; else the first.

    ``table`` holds a score for each fold and setting. Held-out scores of bags say little of where
    the regions are, and often are perfect for several settings: small differences are no reason.

    Examples
    --------
    >>> import numpy as np
    >>> choose_clearly_better(np.array([[0.8, 0.9, 0.8], [0.7, 0.7, 0.8], [0.8, 0.7, 0.9]]))
    2
    """
    gain = table - table[:, :1]
    error = gain.std(axis=0, ddof=1) / len(table) ** 0.5
    return int((gain.mean(axis=0) - error).argmax())


def join_sizes(sizes: np.ndarray) -> np.ndarray:
    """Return where bags of given sizes begin, and the end."""
    return np.concatenate([[0], np.cumsum(sizes)])


def _objective(found: Selection) -> float:
    return found.plane.objective

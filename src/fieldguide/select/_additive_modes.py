"""The two ways to weigh bins, behind one interface: exact, and by a map for many rows."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from fieldguide._saving import INTEGERS, Array, Either, Number, OneOf, Part
from fieldguide.errors import InvalidArgument
from fieldguide.kernels import AdditiveKernelMap
from fieldguide.select.additive_pricing import (
    Selection,
    measure_spreads,
    plain_gram,
    select_bins,
    store_columns,
    take_bins,
    weigh_rows,
)
from fieldguide.select.group_lasso import (
    MAP_ORDER,
    GroupSolution,
    map_bins,
    measure_mapped_spreads,
    solve_groups,
)
from fieldguide.svm import solve_kernel
from fieldguide.svm.functions import check_pool

_ROWS_PER_BLOCK = 1024
_REFIT_TOL = 1e-3


class Expansion(NamedTuple):
    """The function Σ_i β_i Σ_k p_k κ(x_ik, x_k) + b, with the bins and rows that count."""

    kernel: str
    bins: np.ndarray
    p: np.ndarray  # of the bins
    rows: np.ndarray  # support rows, weighed, (m, len(bins))
    beta: np.ndarray  # (m,)
    intercept: float

    def evaluate(self, X: Any) -> np.ndarray:
        """Return the function at each row of ``X``, (n,)."""
        out = np.full(X.shape[0], float(self.intercept))
        if not len(self.beta):
            return out
        for low in range(0, X.shape[0], _ROWS_PER_BLOCK):
            block = slice(low, low + _ROWS_PER_BLOCK)
            part = weigh_rows(self.kernel, take_bins(X[block], self.bins), self.p)
            out[block] += plain_gram(self.kernel, part, self.rows) @ self.beta
        return out


class Mapping(NamedTuple):
    """The function Σ_k w_k·ψ(x_k) + b in the space of the explicit map."""

    kernel: str
    bins: np.ndarray
    W: np.ndarray  # (len(bins), width)
    intercept: float

    def evaluate(self, X: Any) -> np.ndarray:
        """Return the function at each row of ``X``, (n,)."""
        part = take_bins(X, self.bins)
        if self.kernel != "linear":
            part = AdditiveKernelMap(self.kernel, order=MAP_ORDER).fit_transform(part)
        values: np.ndarray = part @ self.W.ravel() + self.intercept
        return values


def _check_expansion(**parts: Any) -> Expansion:
    check_pool(parts["kernel"], parts["rows"])
    return Expansion(**parts)


def _check_mapping(**parts: Any) -> Mapping:
    made = Mapping(**parts)
    if made.W.shape[1] != (1 if made.kernel == "linear" else 2 * MAP_ORDER + 1):
        raise InvalidArgument(f"W must have the columns of the map of the {made.kernel} kernel.")
    return made


_KERNEL = OneOf("chi2", "intersection", "linear")
_BINS = Array(INTEGERS, "n_bins", within=(0, "n_features"))
FUNCTION = Either(
    Part(
        Expansion,
        {
            "kernel": _KERNEL,
            "bins": _BINS,
            "p": Array("float64", "n_bins", low=0),
            "rows": Array("float64", "n_support", "n_bins"),
            "beta": Array("float64", "n_support"),
            "intercept": Number(),
        },
        _check_expansion,
    ),
    Part(
        Mapping,
        {
            "kernel": _KERNEL,
            "bins": _BINS,
            "W": Array("float64", "n_bins", "n_columns"),
            "intercept": Number(),
        },
        _check_mapping,
    ),
)


class Answer(NamedTuple):
    """What one problem of two sides got."""

    weights: np.ndarray  # (D,) p
    function: Expansion | Mapping
    objective: float
    gap: float
    n_iter: int
    state: Any  # where the same problem with another C may start


class ExactMode:
    """Column generation on the exact kernel, certified; for up to a few thousand rows."""

    def __init__(self, kernel: str, X: Any, *, normalize: bool, tol: float, max_iter: int) -> None:
        self.kernel, self.normalize, self.tol, self.max_iter = kernel, normalize, tol, max_iter
        self.X = X.tocsc() if sparse.issparse(X) else X
        self.columns = store_columns(kernel, X)

    def measure(self, y: np.ndarray) -> np.ndarray:
        """Return a_k, or 1 for each bin that is not flat."""
        return _plain_unless(measure_spreads(self.columns, y), self.normalize)

    def solve(
        self, y: np.ndarray, spreads: np.ndarray, C: float, start: Selection | None
    ) -> Answer:
        """Return the weights for one C."""
        found = select_bins(
            *(self.kernel, self.X, self.columns, spreads, y, C),
            start=start,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        function = _expand(self.kernel, self.X, found.p, found.beta, found.intercept)
        return Answer(found.p, function, found.objective, found.gap, found.n_steps, found)

    def finish(self, y: np.ndarray, C: float, answer: Answer) -> Answer:
        """Return the answer itself: it is exact."""
        return answer

    def train(self, y: np.ndarray, C: float, weights: np.ndarray) -> Expansion:
        """Return the SVM with the exact kernel of any weights."""
        return _train(self.kernel, self.X, y, C, weights)


class LargeMode:
    """A group lasso on the explicit map, then one SVM with the exact kernel of the bins it kept."""

    def __init__(self, kernel: str, X: Any, *, normalize: bool, tol: float, max_iter: int) -> None:
        self.kernel, self.normalize, self.tol = kernel, normalize, tol
        self.max_epochs = 50 * max_iter
        self.X = X.tocsc() if sparse.issparse(X) else X
        self.mapped = map_bins(kernel, X)

    def measure(self, y: np.ndarray) -> np.ndarray:
        """Return a_k in the space of the map, or 1 for each bin that is not flat."""
        return _plain_unless(measure_mapped_spreads(self.mapped, y), self.normalize)

    def solve(
        self, y: np.ndarray, spreads: np.ndarray, C: float, start: GroupSolution | None
    ) -> Answer:
        """Return the weights for one C, and the function in the space of the map."""
        found = solve_groups(
            self.mapped, spreads, y, C, start=start, tol=self.tol, max_epochs=self.max_epochs
        )
        q = found.shares(spreads)
        bins = np.flatnonzero(q)
        p = np.zeros(len(q))
        p[bins] = q[bins] / spreads[bins]
        function = Mapping(self.kernel, bins, found.W[bins], found.intercept)
        return Answer(p, function, found.objective, found.gap, found.n_epochs, found)

    def finish(self, y: np.ndarray, C: float, answer: Answer) -> Answer:
        """Return the same weights with the SVM of the exact kernel."""
        return answer._replace(function=self.train(y, C, answer.weights))

    def train(self, y: np.ndarray, C: float, weights: np.ndarray) -> Expansion:
        """Return the SVM with the exact kernel of any weights."""
        return _train(self.kernel, self.X, y, C, weights)


MODES: dict[str, type[ExactMode] | type[LargeMode]] = {"exact": ExactMode, "large": LargeMode}


def _plain_unless(spreads: np.ndarray, normalize: bool) -> np.ndarray:
    return spreads if normalize else np.where(np.isfinite(spreads), 1.0, np.inf)


def solve_rounds(
    mode: ExactMode | LargeMode,
    y: np.ndarray,
    spreads: np.ndarray,
    C: float,
    start: Any,
    *,
    n_rounds: int,
) -> Answer:
    """Weigh the bins, then those that got no weight, and so on; the weights are the mean of all.

    ``start`` is of the first round. Fewer rounds are held where no bin is left.
    """
    first = mode.solve(y, spreads, C, start)
    if n_rounds == 1:
        return first
    left, answers = spreads.copy(), [first]
    left[first.weights > 0] = np.inf
    while len(answers) < n_rounds and np.isfinite(left).any():
        answers.append(mode.solve(y, left, C, None))
        left[answers[-1].weights > 0] = np.inf
    weights = np.mean([answer.weights for answer in answers], axis=0)
    return Answer(
        weights,
        mode.train(y, C, weights),
        float(sum(answer.objective for answer in answers)),
        max(answer.gap for answer in answers),
        sum(answer.n_iter for answer in answers),
        first.state,
    )


def _train(kernel: str, X: Any, y: np.ndarray, C: float, weights: np.ndarray) -> Expansion:
    """Return the SVM with the exact kernel of these weights, in single precision."""
    bins = np.flatnonzero(weights)
    rows = weigh_rows(kernel, take_bins(X, bins), weights[bins])
    svm = solve_kernel(
        plain_gram(kernel, rows.astype(np.float32)), y, np.full(len(y), C), tol=_REFIT_TOL
    )
    return _expand(kernel, X, weights, svm.beta, svm.intercept)


def _expand(kernel: str, X: Any, p: np.ndarray, beta: np.ndarray, intercept: float) -> Expansion:
    bins, support = np.flatnonzero(p), np.flatnonzero(beta)
    rows = weigh_rows(kernel, take_bins(X, bins)[support], p[bins])
    return Expansion(kernel, bins, p[bins], rows, beta[support], intercept)

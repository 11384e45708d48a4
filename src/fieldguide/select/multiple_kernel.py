"""Which block of features matters? Multiple kernel learning on a handful of kernels.

    min_p  SVM objective with the kernel Σ_m p_m K_m / v_m,    p ≥ 0,  Σ_m p_m = 1

where K_m is a kernel of one block of columns (words, edges, colours, a network's output) and v_m
the mean squared distance of two training rows in its space, so that no block wins by its scale.
Several classes are one problem each, a class against the rest, each with weights of its own.

Reference: A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet, "SimpleMKL", JMLR 9 (2008). The
problem is theirs; the solver is :mod:`fieldguide.select._multiple_weights`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fieldguide._check import check_choice, check_number
from fieldguide._parallel import map_in_order
from fieldguide._saving import ROWS, Array, Items, Labels, Number, OneOf, OrNone, Part, Plain, Saved
from fieldguide.errors import InvalidArgument
from fieldguide.kernels import KERNELS, default_gamma
from fieldguide.select._multiple_weights import lower_bound, solve_weights
from fieldguide.select.additive_kernel_selector import list_sides
from fieldguide.select.additive_pricing import snap
from fieldguide.select.voting import number_classes
from fieldguide.svm import solve_kernel, warn_open_gaps
from fieldguide.svm.functions import WITH_GAMMA, check_pool

KERNEL_NAMES = ("linear", *KERNELS, "precomputed")


class Block(NamedTuple):
    """The training rows of one block of columns, and their kernel."""

    name: str
    columns: Any
    kernel: str
    gamma: float | None
    rows: np.ndarray

    def gram(self, X: np.ndarray) -> np.ndarray:
        """Return the kernel of rows ``X``, columns of the block alone, with the training rows."""
        if self.kernel == "precomputed":
            return X
        if self.kernel == "linear":
            products: np.ndarray = X @ self.rows.T
            return products
        options = {} if self.gamma is None else {"gamma": self.gamma}
        same = X is self.rows
        return KERNELS[self.kernel](np.ascontiguousarray(X), None if same else self.rows, **options)


class MultipleKernelClassifier(Saved, ClassifierMixin, BaseEstimator):
    """SVM with a weighted sum of the kernels of blocks of columns.

    Parameters
    ----------
    blocks : mapping of name to columns, optional
        Columns are a slice or a list of numbers. Each column is a block by default; for
        "precomputed" each n columns are, n the number of training rows.
    kernel : str, or mapping of block name to str
        "linear", "chi2", "intersection", "jensen_shannon", "hellinger", "exponential_chi2", "rbf",
        or "precomputed": then the block holds a Gram matrix, of the training rows in ``fit``, and
        of the rows to predict with the training rows afterwards.
    C : float
        Weight of the training errors.
    normalize : bool
        Divide each kernel by the mean squared distance v_m.
    tol : float
        Relative duality gap to reach.
    n_jobs : int, optional
        Threads, over classes; the answer does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    block_names_ : list
    weights_ : ndarray of shape (n_blocks,), or (n_classes, n_blocks) for more than two classes
        p, with sum 1.
    scales_ : ndarray of shape (n_blocks,)
        v_m.
    gap_ : float
        The largest relative duality gap of a problem.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.select import MultipleKernelClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = rng.normal(size=(60, 9))
    >>> X[:, 3:6] += y[:, None]
    >>> blocks = {"shape": slice(0, 3), "colour": slice(3, 6), "place": slice(6, 9)}
    >>> model = MultipleKernelClassifier(blocks, C=0.1).fit(X, y)
    >>> model.block_names_[model.weights_.argmax()]
    'colour'
    """

    _fitted: ClassVar = {
        **ROWS,
        "classes_": Labels("n_classes"),
        "weights_": Array("float64", ..., low=0),
        "scales_": Array("float64", "n_blocks", above=0, finite=False),
        "dual_coef_": Array("float64", "n_functions", "n_rows"),
        "intercept_": Array("float64", "n_functions"),
        "gap_": Number(finite=False),
        "_blocks": Items(
            Part(
                Block,
                {
                    "name": Plain(),
                    "columns": Plain(),
                    "kernel": OneOf(*KERNEL_NAMES),
                    "gamma": OrNone(Number(above=0)),
                    "rows": Array("float64", "n_rows", "n_columns"),
                },
            )
        ),
    }

    def __init__(
        self,
        blocks: Mapping[str, Any] | None = None,
        kernel: str | Mapping[str, str] = "rbf",
        *,
        C: float = 1.0,
        normalize: bool = True,
        tol: float = 1e-3,
        n_jobs: int | None = None,
    ) -> None:
        self.blocks = blocks
        self.kernel = kernel
        self.C = C
        self.normalize = normalize
        self.tol = tol
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Weigh the blocks of rows ``X`` for telling apart the classes ``y``."""
        self._check_arguments()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        self.classes_, index = number_classes("MultipleKernelClassifier", y)
        self._blocks = self._read_blocks(X)
        self.block_names_ = [block.name for block in self._blocks]
        grams = [block.gram(block.rows) for block in self._blocks]
        self.scales_ = np.array([mean_distance(K) for K in grams])
        if not self.normalize:
            self.scales_ = np.where(np.isfinite(self.scales_), 1.0, np.inf)
        if not np.isfinite(self.scales_).any():
            raise InvalidArgument(
                "X of MultipleKernelClassifier has no block that varies, so there is nothing to "
                "weigh; give rows that differ."
            )
        kernels = Stacked(np.stack(grams) / self.scales_[:, None, None])
        sides = list_sides(index, len(self.classes_))

        def solve(side: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
            return weigh_kernels(kernels, np.isfinite(self.scales_), side, self.C, self.tol)

        solved = map_in_order(solve, sides, n_jobs=self.n_jobs)
        weights, beta, intercept, gaps = (np.array(part) for part in zip(*solved, strict=True))
        self.weights_ = weights[0] if len(sides) == 1 else weights
        self.dual_coef_, self.intercept_ = beta, intercept
        self.gap_ = float(gaps.max())
        warn_open_gaps("MultipleKernelClassifier", gaps, self.tol, "lower C, or raise tol")
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margin of each class, (n, n_classes); for two classes one, (n,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        margins = np.tile(self.intercept_, (len(X), 1))
        shares = np.atleast_2d(self.weights_) / self.scales_
        for block, share in zip(self._blocks, shares.T, strict=True):
            if share.any():
                margins += block.gram(X[:, block.columns]) @ (share[:, None] * self.dual_coef_).T
        return margins[:, 0] if len(self.classes_) == 2 else margins

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        margins = self.decision_function(X)
        best = (margins > 0).astype(int) if margins.ndim == 1 else margins.argmax(axis=1)
        classes: np.ndarray = self.classes_[best]
        return classes

    def _check_arguments(self) -> None:
        check_number("MultipleKernelClassifier", "C", self.C, 1e-9, 1e9)
        check_number("MultipleKernelClassifier", "tol", self.tol, 1e-6, 1)
        check_choice("MultipleKernelClassifier", "normalize", self.normalize, (True, False))
        named = self.kernel.values() if isinstance(self.kernel, Mapping) else (self.kernel,)
        if not all(isinstance(kernel, str) for kernel in named):
            raise InvalidArgument(
                "kernel of MultipleKernelClassifier must be a name, or a name for each block; got "
                f"{self.kernel!r}."
            )

    def _check_opened(self) -> None:
        n_blocks, n_classes = len(self._blocks), len(self.classes_)
        n_functions = 1 if n_classes == 2 else n_classes
        shape = (n_blocks,) if n_classes == 2 else (n_classes, n_blocks)
        if n_classes < 2 or not n_blocks or self.weights_.shape != shape:
            raise InvalidArgument(f"weights_ must have the shape {shape}.")
        if len(self.intercept_) != n_functions or len(self.scales_) != n_blocks:
            raise InvalidArgument("intercept_ and scales_ must fit classes_ and _blocks.")
        columns = np.broadcast_to(0, self.n_features_in_)  # of no memory
        for block in self._blocks:
            if columns[block.columns].shape != block.rows.shape[1:]:
                raise InvalidArgument(f"columns of block {block.name!r} do not fit its rows.")
            if block.kernel in WITH_GAMMA and block.gamma is None:
                raise InvalidArgument(f"Block {block.name!r} needs a gamma.")
            check_pool(block.kernel, block.rows)
        self.block_names_ = [block.name for block in self._blocks]

    def _read_blocks(self, X: np.ndarray) -> list["Block"]:
        n, D = X.shape
        columns = self.blocks
        if columns is None:
            width = n if self.kernel == "precomputed" else 1
            columns = {f"x{k}": slice(k * width, (k + 1) * width) for k in range(D // width)}
        blocks = []
        for name, where in columns.items():
            kernel = self.kernel if isinstance(self.kernel, str) else self.kernel.get(name, "")
            check_choice("MultipleKernelClassifier", f"kernel of {name!r}", kernel, KERNEL_NAMES)
            try:
                part = X[:, where]
            except IndexError:
                part = np.empty((n, 0))
            if part.ndim != 2 or not part.shape[1]:
                raise InvalidArgument(
                    f"Block {name!r} of MultipleKernelClassifier must be columns of the {D} of X; "
                    f"got {where!r}."
                )
            if kernel == "precomputed" and part.shape[1] != n:
                raise InvalidArgument(
                    f"Block {name!r} of MultipleKernelClassifier must be a Gram matrix with {n} "
                    f"columns, one for each training row; got {part.shape[1]}."
                )
            gamma = default_gamma(part, kernel) if kernel in WITH_GAMMA else None
            blocks.append(Block(name, where, kernel, gamma, np.ascontiguousarray(part)))
        if not blocks:
            raise InvalidArgument(
                "blocks of MultipleKernelClassifier is empty; name one block of columns or more."
            )
        return blocks

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        named = [self.kernel] if isinstance(self.kernel, str) else list(self.kernel.values())
        tags.input_tags.positive_only = all(name in KERNELS and name != "rbf" for name in named)
        return tags


class Stacked(NamedTuple):
    """A handful of kernels, all in memory."""

    stack: np.ndarray  # (M, n, n)

    def gram(self, q: np.ndarray) -> np.ndarray:
        """Return Σ_m q_m K_m, (n, n)."""
        return np.tensordot(q, self.stack, axes=1)

    def apply(self, beta: np.ndarray) -> np.ndarray:
        """Return K_mβ of each kernel, (M, n)."""
        applied: np.ndarray = self.stack @ beta
        return applied


def mean_distance(K: np.ndarray) -> float:
    """Return the mean squared distance of two rows; infinity where all rows are the same."""
    distance = 2 * float(K.diagonal().mean() - K.mean())
    return distance if distance > 1e-10 * max(float(K.diagonal().mean()), 1e-300) else np.inf


def weigh_kernels(
    kernels: Stacked, is_usable: np.ndarray, y: np.ndarray, C: float, tol: float
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return weights, signed dual variables, intercept and relative gap of two sides."""
    some = Stacked(kernels.stack[is_usable])
    upper = np.full(len(y), float(C))
    q, beta = np.full(len(some.stack), 1 / len(some.stack)), None
    for inner_tol in (0.3 * tol, 0.01 * tol, 1e-4 * tol):
        found = solve_weights(some, y, upper, q, beta=beta, tol=inner_tol)
        sums = some.apply(found.beta) @ found.beta
        weights = found.sparse_weights()
        K = some.gram(weights)
        svm = solve_kernel(K, y, upper, beta0=snap(found.beta, C), tol=0.1 * tol)
        bound = lower_bound(y, upper, found.beta, float(sums.max()))
        gap = (svm.primal - bound) / svm.primal
        if gap <= tol:
            break
        q, beta = found.q, found.beta
    whole = np.zeros(len(is_usable))
    whole[is_usable] = weights
    return whole, svm.beta, svm.intercept, gap

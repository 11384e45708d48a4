"""The training rows of many binary problems, prepared once for all of them.

A classifier of many classes asks many two-class questions about subsets of the same rows. The
rows (linear) or their Gram matrix (kernel) are shared by all of them: a problem is a list of row
numbers and signs, and nothing is copied. Solving releases the GIL, so problems run side by side
in threads; what a problem gets does not depend on how many there are.
"""

import copy
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from fieldguide._device import get, is_out_of_memory, put
from fieldguide._parallel import map_in_order
from fieldguide.errors import FieldguideWarning
from fieldguide.kernels import default_gamma
from fieldguide.svm import _kernels
from fieldguide.svm.coordinate_descent import solve_linear
from fieldguide.svm.functions import (
    WITH_GAMMA,
    Functions,
    LinearFunctions,
    kernel_matrix,
    pool_functions,
)
from fieldguide.svm.gram_one_vs_all import check_gram, train_one_vs_all_gram
from fieldguide.svm.one_vs_all import train_one_vs_all, view_rows
from fieldguide.svm.shared_rows import Rows, balance_sides, check_rows, share_rows
from fieldguide.svm.smo import solve_kernel


class Question(NamedTuple):
    """One binary problem: which rows, and on which side each of them is.

    Examples
    --------
    >>> question = Question(rows=np.array([0, 2, 3]), sign=np.array([-1, 1, 1]))
    >>> trained = Problems(np.array([[0.0], [0.5], [1.0], [3.0]])).solve([question], C=10.0)
    >>> trained.gaps <= 1e-3
    array([ True])
    """

    rows: np.ndarray  # (m,) numbers of training rows
    sign: np.ndarray  # (m,) -1 or +1
    weight: np.ndarray | None = None  # (m,) sample weights


class Trained(NamedTuple):
    """Functions over the shared rows, one for each problem.

    Examples
    --------
    >>> problems = Problems(np.array([[0.0], [1.0], [9.0]]))
    >>> trained = problems.one_vs_all(np.array([0, 0, 1]), 2, C=10.0)
    >>> trained.coef.shape, trained.beta.shape
    ((2, 1), (2, 3))
    >>> problems.evaluate(trained, np.arange(3)).argmax(axis=1)
    array([0, 0, 1])
    """

    # (n_functions, n) signed dual variables y·α; none are stored of what a device has trained
    beta: csr_array
    coef: np.ndarray | None  # (n_functions, n_features) if linear
    intercept: np.ndarray  # (n_functions,)
    gaps: np.ndarray  # (n_functions,) relative duality gaps


class Problems:
    """Binary problems on subsets of the same rows.

    Parameters
    ----------
    X : ndarray, csr_array or Rows of shape (n, d), float32 or float64, C-contiguous
        The rows; their Gram matrix for "precomputed".
    kernel : str
        "linear", "precomputed", or one of :data:`fieldguide.kernels.KERNELS`.
    gamma : float, optional
        Of the kernels that have one; 1 / mean distance of the rows by default.
    loss : {"hinge", "squared_hinge"}
    class_weight : {None, "balanced"}
        "balanced" gives the two sides of each problem the same weight.
    intercept_scaling : float
        Of the linear solver, which penalises the intercept; 0 leaves it out.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Largest number of epochs of the linear solver; ``gaps`` say whether it was enough.
    max_steps : int, optional
        Largest number of steps of the kernel solver.
    n_jobs : int, optional
        Threads.
    seed : int
        Of the order in which the linear solver visits rows.
    remember : bool
        Keep what :meth:`one_vs_all` returns, for keys that ask for the same functions again.
    device : {"cpu", "cuda"}
        Where linear functions are trained, if rows are dense, the loss is the squared hinge and
        classes are not balanced; all else is done by the processor.

    Examples
    --------
    >>> problems = Problems(np.array([[0.0], [0.2], [1.0], [3.0]]))
    >>> trained = problems.solve([Question(np.array([0, 2]), np.array([-1, 1]))], C=10.0)
    >>> problems.evaluate(trained, np.array([1, 3])).ravel() > 0
    array([False,  True])
    """

    def __init__(
        self,
        X: Any,
        kernel: str = "linear",
        gamma: float | None = None,
        *,
        loss: str = "squared_hinge",
        class_weight: str | None = None,
        intercept_scaling: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_steps: int | None = None,
        n_jobs: int | None = None,
        seed: int = 0,
        remember: bool = False,
        device: str = "cpu",
    ) -> None:
        self.X = view_rows(X) if isinstance(X, Rows) else X
        self.kernel = kernel
        self.gamma = find_gamma(X, kernel, gamma)
        self.loss = loss
        self.class_weight = class_weight
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.max_steps = max_steps
        self.n_jobs = n_jobs
        self.seed = seed
        self.device = device
        self.n = X.shape[0]
        self._on_device: dict[str, Any] = {}
        self._shared: Rows | None = None
        self._gram = np.empty((0, 0))
        self._known: dict[tuple[Any, ...], Trained] | None = {} if remember else None
        if kernel == "linear":
            self._shared = share_rows(X)
        elif kernel == "precomputed":
            self._gram = check_gram("Problems", X)
        else:
            self._gram = kernel_matrix(kernel, self.gamma, X, n_jobs=n_jobs)

    def changed(self, **settings: Any) -> "Problems":
        """Return the same problems with other settings; the rows are shared."""
        other = copy.copy(self)
        vars(other).update(settings)
        return other

    def part(self, rows: np.ndarray) -> "Problems":
        """Return problems on some of the rows, which are copied."""
        other = self.changed(X=self.X[rows], n=len(rows), _on_device={})
        if self._shared is not None:
            other._shared = share_rows(other.X)
        else:
            other._gram = self._gram[np.ix_(rows, rows)]
        other._known = None if self._known is None else {}
        return other

    def one_vs_all(
        self,
        index: np.ndarray,
        n_classes: int,
        *,
        C: float,
        weight: np.ndarray | None = None,
        start: Trained | None = None,
    ) -> Trained:
        """Train each class against the rest; rows of ``weight`` 0 take no part.

        ``start`` is what the same rows got with another C.
        """
        if self._known is None or start is not None:
            return self._train_one_vs_all(index, n_classes, C, weight, start)
        share = np.ones(self.n) if weight is None else np.asarray(weight, dtype=np.float64)
        asked = (index.tobytes(), C, self.loss, self.class_weight, self.tol, share.tobytes())
        if asked not in self._known:
            self._known[asked] = self._train_one_vs_all(index, n_classes, C, share, None)
        return self._known[asked]

    def _train_one_vs_all(
        self,
        index: np.ndarray,
        n_classes: int,
        C: float,
        weight: np.ndarray | None,
        start: Trained | None,
    ) -> Trained:
        if self._fits_device():
            return self._train_on_device(index, n_classes, C, weight)
        shared: dict[str, Any] = {"C": C, "sample_weight": weight, "loss": self.loss}
        shared |= {"class_weight": self.class_weight, "tol": self.tol, "n_jobs": self.n_jobs}
        if self._shared is not None:
            found = train_one_vs_all(
                *(self._shared, index, n_classes),
                alpha0=None if start is None else abs(start.beta),
                intercept_scaling=self.intercept_scaling,
                max_iter=self.max_iter,
                seed=self.seed,
                **shared,
            )
            return Trained(_signed(found.alpha, index), found.coef, found.intercept, found.gaps)
        solved = train_one_vs_all_gram(
            *(self._gram, index, n_classes),
            beta0=None if start is None else start.beta,
            max_steps=self.max_steps,
            **shared,
        )
        return Trained(solved.beta, None, solved.intercept, solved.gaps)

    def _fits_device(self) -> bool:
        is_dense = self._shared is not None and self._shared.width > 0
        is_plain = self.loss == "squared_hinge" and self.class_weight is None
        return self.device != "cpu" and is_dense and is_plain and self._put_rows() is not None

    def _train_on_device(
        self, index: np.ndarray, n_classes: int, C: float, weight: np.ndarray | None
    ) -> Trained:
        """Train each class against the rest by whole matrices; there is nothing to start from."""
        from fieldguide.svm.array_one_vs_all import train_one_vs_all_arrays

        found = train_one_vs_all_arrays(
            *(self._put_rows(), put(index, self.device), n_classes),
            C=C,
            sample_weight=None if weight is None else put(weight, self.device),
            intercept_scaling=self.intercept_scaling,
            tol=self.tol,
        )
        untold = csr_array((n_classes, self.n))
        return Trained(untold, get(found.coef), get(found.intercept), found.gaps)

    def _solve_on_device(self, questions: Sequence[Question], C: float) -> Trained:
        """Train the functions of questions side by side; a row of weight 0 takes no part."""
        from fieldguide.svm.array_one_vs_all import train_sides_arrays

        X = self._put_rows()

        def find_sides(first: int, stop: int) -> Any:
            sides = np.zeros((self.n, stop - first), dtype=self.X.dtype)
            for column, (rows, sign, weight) in zip(sides.T, questions[first:stop], strict=True):
                column[rows] = sign if weight is None else sign * (weight > 0)
            return put(sides, self.device)

        found = train_sides_arrays(
            *(X, find_sides, len(questions)),
            C=C,
            intercept_scaling=self.intercept_scaling,
            tol=self.tol,
        )
        untold = csr_array((len(questions), self.n))
        return Trained(untold, get(found.coef), get(found.intercept), found.gaps)

    def _put_rows(self) -> Any:
        """Return the rows on the device, sent there once for all that share them; None where they
        do not fit into its memory."""
        if "X" not in self._on_device:
            try:
                self._on_device["X"] = put(self.X, self.device)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                self._on_device["X"] = None
                warnings.warn(
                    f"{self.n} rows do not fit into the memory of the graphics processor; the "
                    "processor trains their functions.",
                    FieldguideWarning,
                    stacklevel=2,
                )
        return self._on_device["X"]

    def one_vs_one(
        self,
        index: np.ndarray,
        n_classes: int,
        *,
        C: float,
        weight: np.ndarray | None = None,
        start: Trained | None = None,
    ) -> Trained:
        """Train each pair of classes, in the order of :func:`list_pairs`; the second is positive.

        Rows of ``weight`` 0 take no part; ``start`` is as in :meth:`one_vs_all`.
        """
        is_used = np.ones(self.n, dtype=bool) if weight is None else weight > 0
        members = [np.flatnonzero(is_used & (index == c)) for c in range(n_classes)]
        pairs = list_pairs(n_classes)

        def ask(a: int, b: int) -> Question:
            rows = np.concatenate([members[a], members[b]])
            sign = np.repeat([-1.0, 1.0], [len(members[a]), len(members[b])])
            return Question(rows, sign, None if weight is None else weight[rows])

        return self.solve([ask(a, b) for a, b in pairs], C=C, start=start)

    def solve(
        self, questions: Sequence[Question], *, C: float, start: Trained | None = None
    ) -> Trained:
        """Return the function that separates the rows of each question by their signs."""
        if self._fits_device() and all(_is_plain(question.weight) for question in questions):
            return self._solve_on_device(questions, C)

        def answer(k: int) -> tuple[np.ndarray, np.ndarray | None, float, float]:
            rows, sign, weight = questions[k]
            weight = np.ones(len(rows)) if weight is None else weight
            weight = balance_sides(sign, weight) if self.class_weight == "balanced" else weight
            first = None if start is None else start.beta[[k]].toarray()[0, rows]
            if self._shared is not None:
                linear = solve_linear(
                    self._shared,
                    sign,
                    rows=rows,
                    C=C,
                    loss=self.loss,
                    sample_weight=weight,
                    intercept_scaling=self.intercept_scaling,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    alpha0=None if first is None else np.maximum(first * sign, 0),
                    seed=self.seed,
                )
                return linear.alpha * sign, linear.w, linear.b, linear.gap
            found = solve_kernel(
                *(self._gram, sign, C * weight),
                rows=None if np.array_equal(rows, np.arange(self.n)) else rows,
                beta0=first,
                tol=self.tol,
                max_steps=self.max_steps,
                loss=self.loss,
            )
            return found.beta, None, found.intercept, found.gap

        beta, coef, b, gaps = zip(
            *map_in_order(answer, range(len(questions)), n_jobs=self.n_jobs), strict=True
        )
        return Trained(
            _stack([question.rows for question in questions], beta, self.n),
            None if self._shared is None else np.stack(coef),
            np.array(b),
            np.array(gaps),
        )

    def evaluate(self, trained: Trained, rows: np.ndarray) -> np.ndarray:
        """Return each function at some of the rows, (len(rows), n_functions)."""
        if self._shared is not None and trained.coef is not None:
            if len(trained.coef) == 1:  # a copy of the rows would take longer than the products
                return _evaluate_in_place(self._shared, trained, rows)[:, None]
            products = np.asarray(self.X[rows] @ trained.coef.T)
            return np.asarray(products + trained.intercept)
        support = np.unique(trained.beta.indices)
        values = self._gram[np.ix_(rows, support)].astype(np.float64)
        margins: np.ndarray = (trained.beta[:, support] @ values.T).T + trained.intercept
        return margins

    def lengths(self, trained: Trained) -> np.ndarray:
        """Return ``|w|`` of each function, in the space of the kernel where there is one."""
        if trained.coef is not None:
            return np.asarray(np.linalg.norm(trained.coef, axis=1))
        support = np.unique(trained.beta.indices)
        beta = trained.beta[:, support]
        products = beta @ self._gram[np.ix_(support, support)].astype(np.float64)
        squares = np.asarray(beta.multiply(products).sum(axis=1)).ravel()
        lengths: np.ndarray = np.sqrt(np.maximum(squares, 0))
        return lengths

    def mean_products(self, index: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the mean product (or kernel value) of the rows of each two groups, (n, n).

        It is the product of their mean rows, in the space of the kernel where there is one.
        """
        size = np.maximum(np.bincount(index, minlength=n_groups), 1)
        share = csr_array((1 / size[index], (index, np.arange(self.n))), shape=(n_groups, self.n))
        if self._shared is not None:
            means = share @ self.X
            means = means.toarray() if issparse(means) else np.asarray(means)
            products: np.ndarray = means @ means.T
            return products
        half = share @ self._gram
        return np.asarray(share @ half.T)

    def mean_distances(self, index: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the squared distance of the mean rows of each two groups, (n, n)."""
        return _square_distances(self.mean_products(index, n_groups))

    def affinity(self, rows: np.ndarray) -> np.ndarray:
        """Return how alike some of the rows are, (m, m): exp(−d² / mean d²) of their distances.

        The distances are those in the space of the kernel where there is one.
        """
        if self._shared is not None:
            part = self.X[rows]
            products = part @ part.T
            products = products.toarray() if issparse(products) else np.asarray(products)
        else:
            products = self._gram[np.ix_(rows, rows)]
        distance = _square_distances(products.astype(np.float64))
        mean = distance.mean()
        return np.exp(-distance / mean) if mean > 0 else np.ones_like(distance)

    def functions(self, trained: Trained) -> Functions:
        """Return the functions alone, for rows that are not among these."""
        if trained.coef is not None:
            coef, intercept = trained.coef, trained.intercept
            return LinearFunctions(coef.astype(np.float32), intercept.astype(np.float32))
        return pool_functions(self.kernel, self.gamma, self.X, trained.beta, trained.intercept)


def list_pairs(n_classes: int) -> np.ndarray:
    """Return every pair (a, b) with a < b, in order, (n_pairs, 2).

    Parameters
    ----------
    n_classes : int

    Examples
    --------
    >>> list_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.stack(np.triu_indices(n_classes, k=1), axis=1)


def find_gamma(X: Any, kernel: str, gamma: float | None) -> float | None:
    """Return the gamma that a kernel uses: as given, or 1 / mean distance of the rows."""
    if kernel not in WITH_GAMMA:
        return None
    return float(default_gamma(X, kernel) if gamma is None else gamma)


def _evaluate_in_place(matrix: Rows, trained: Trained, rows: np.ndarray) -> np.ndarray:
    """Return the only function at some of the rows, (len(rows),), without a copy of them."""
    assert trained.coef is not None
    rows = check_rows(rows, matrix.shape[0])
    w = np.append(trained.coef[0], trained.intercept[0]).astype(matrix.data.dtype)
    values = np.empty(len(rows))
    _kernels.evaluate(*matrix.layout, rows, 1.0, w, values)
    return values


def _square_distances(products: np.ndarray) -> np.ndarray:
    """Return |a − b|² of vectors from their products, (n, n)."""
    square = np.diag(products)
    squares: np.ndarray = np.maximum(square[:, None] + square - 2 * products, 0)
    return squares


def _is_plain(weight: np.ndarray | None) -> bool:
    """Whether all rows that take part weigh the same."""
    return weight is None or bool(np.isin(weight, (0, 1)).all())


def _signed(alpha: csr_array, index: np.ndarray) -> csr_array:
    """Return y·α of one-vs-all problems."""
    owner = np.repeat(np.arange(alpha.shape[0]), np.diff(alpha.indptr))
    sign = np.where(index[alpha.indices] == owner, 1.0, -1.0)
    return csr_array((alpha.data * sign, alpha.indices, alpha.indptr), shape=alpha.shape)


def _stack(rows: Sequence[np.ndarray], values: Sequence[np.ndarray], n: int) -> csr_array:
    """Return vectors over some of n rows each as the rows of one matrix."""
    used = [np.flatnonzero(value) for value in values]
    return csr_array(
        (
            np.concatenate([value[u] for value, u in zip(values, used, strict=True)]),
            np.concatenate([row[u] for row, u in zip(rows, used, strict=True)]),
            np.concatenate([[0], np.cumsum([len(u) for u in used])]),
        ),
        shape=(len(values), n),
    )

"""One kernel SVM per class against all others, on one shared Gram matrix.

Every class is one problem of :mod:`fieldguide.svm.smo` on the same matrix, which is never copied.
The solver releases the GIL, so classes run side by side in threads; what a class gets does not
depend on how many there are.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fieldguide._check import check_choice, check_number
from fieldguide._parallel import map_in_order
from fieldguide.errors import InvalidArgument
from fieldguide.svm.one_vs_all import balance_factors, check_index
from fieldguide.svm.shared_rows import check_weights
from fieldguide.svm.smo import LOSSES, solve_kernel


class GramSolution(NamedTuple):
    """Result of :func:`train_one_vs_all_gram`.

    Examples
    --------
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> found = train_one_vs_all_gram(x @ x.T, np.array([0, 0, 1, 1]), 2)
    >>> (found.beta @ (x @ x.T) + found.intercept[:, None]).argmax(axis=0)
    array([0, 0, 1, 1])
    """

    beta: csr_array  # (n_classes, n) signed dual variables; f_c(x) = Σ_k β_ck K(x_k, x) + b_c
    intercept: np.ndarray  # (n_classes,)
    gaps: np.ndarray  # (n_classes,) relative duality gaps reached
    n_steps: np.ndarray  # (n_classes,)


def train_one_vs_all_gram(
    K: np.ndarray,
    index: np.ndarray,
    n_classes: int,
    *,
    C: float = 1.0,
    sample_weight: np.ndarray | None = None,
    class_weight: str | None = None,
    tol: float = 1e-3,
    max_steps: int | None = None,
    n_jobs: int | None = None,
    loss: str = "hinge",
    beta0: csr_array | None = None,
) -> GramSolution:
    """Train one classifier per class.

    Parameters
    ----------
    K : ndarray of shape (n, n), float32 or float64, C-contiguous
        Gram matrix; it may be memory-mapped.
    index : ndarray of shape (n,)
        Class of each row, 0 to n_classes - 1.
    C : float
        Weight of the loss against ½|w|².
    sample_weight : ndarray of shape (n,), optional
        0 leaves a row out, which is how folds share one matrix.
    class_weight : {None, "balanced"}
        With "balanced" a class and its rest weigh the same together.
    tol : float
        Relative duality gap of each problem.
    max_steps : int, optional
        Of each problem.
    n_jobs : int, optional
        Threads.
    loss : {"hinge", "squared_hinge"}
    beta0 : csr_array of shape (n_classes, n), optional
        Where to start, for instance the ``beta`` of the same problem with another C.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.svm import train_one_vs_all_gram
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    >>> K = np.exp(-3 * (X - X.T) ** 2)
    >>> solution = train_one_vs_all_gram(K, np.array([0, 0, 1, 1, 2, 2]), 3, C=10.0)
    >>> (K @ solution.beta.T + solution.intercept).argmax(axis=1)
    array([0, 0, 1, 1, 2, 2])
    """
    K = check_gram("train_one_vs_all_gram", K)
    check_number("train_one_vs_all_gram", "C", C, 1e-9, 1e9)
    check_choice("train_one_vs_all_gram", "class_weight", class_weight, (None, "balanced"))
    check_choice("train_one_vs_all_gram", "loss", loss, LOSSES)
    if beta0 is not None and beta0.shape != (n_classes, len(K)):
        raise InvalidArgument(
            f"beta0 must have the shape {(n_classes, len(K))}, classes and rows; got {beta0.shape}."
        )
    index = check_index(index, len(K), n_classes)
    weight = check_weights(sample_weight, len(K))
    factors = balance_factors(index, n_classes, weight, class_weight)

    def train(c: int) -> tuple[np.ndarray, np.ndarray, float, float, int]:
        is_class = index == c
        y = np.where(is_class, 1.0, -1.0)
        upper = C * weight * factors[c, is_class.astype(int)]
        start = None if beta0 is None else beta0[[c]].toarray()[0]
        solution = solve_kernel(K, y, upper, beta0=start, tol=tol, max_steps=max_steps, loss=loss)
        support = np.flatnonzero(solution.beta)
        values = solution.beta[support]
        return support, values, solution.intercept, solution.gap, solution.n_steps

    parts = list(map_in_order(train, range(n_classes), n_jobs=n_jobs))
    lengths = [len(support) for support, *_ in parts]
    beta = csr_array(
        (
            np.concatenate([values for _, values, *_ in parts]),
            np.concatenate([support for support, *_ in parts]),
            np.concatenate([[0], np.cumsum(lengths)]),
        ),
        shape=(n_classes, len(K)),
    )
    intercept, gaps, n_steps = (
        np.array(column) for column in zip(*(p[2:] for p in parts), strict=True)
    )
    return GramSolution(beta, intercept, gaps, n_steps)


def check_gram(owner: str, K: Any) -> np.ndarray:
    """Return a square, finite, C-contiguous float matrix; a sound one is not copied."""
    if not isinstance(K, np.ndarray) or K.ndim != 2 or K.shape[0] != K.shape[1] or not len(K):
        shape = getattr(K, "shape", type(K).__name__)
        raise InvalidArgument(f"K of {owner} must be a square Gram matrix; got {shape}.")
    if K.dtype not in (np.float32, np.float64):
        K = K.astype(np.float64)
    # The sum of a row is finite when all of its entries are: one pass, no copy of the matrix.
    if not np.isfinite(K.sum(axis=1)).all():
        raise InvalidArgument(f"K of {owner} holds NaN or infinity; look at the rows it came from.")
    return np.ascontiguousarray(K)

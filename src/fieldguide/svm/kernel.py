"""The kernel SVM as a scikit-learn classifier for two classes.

    min_{w, b}  ½ |w|² + C Σ_i s_i ℓ(1 − y_i (w·φ(x_i) + b))

with ℓ the hinge or its square, and φ of one of the kernels of :mod:`fieldguide.kernels` or of a
Gram matrix that the caller computed. The intercept is not penalised. The solver is
:func:`fieldguide.svm.smo.solve_kernel`.
"""

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    check_non_negative,
    validate_data,
)

from fieldguide._check import check_choice, check_classes, check_number, check_seed
from fieldguide._saving import (
    INTEGERS,
    ROWS,
    Array,
    IfSet,
    Labels,
    Number,
    OrNone,
    Rows,
    Saved,
    Size,
)
from fieldguide.errors import InvalidArgument
from fieldguide.kernels import KERNELS, default_gamma
from fieldguide.svm.c_path import ask_two_classes, choose_C
from fieldguide.svm.functions import SIGNED, WITH_GAMMA, check_pool
from fieldguide.svm.gap import warn_open_gaps
from fieldguide.svm.gram_one_vs_all import check_gram
from fieldguide.svm.linear import weigh_classes
from fieldguide.svm.problems import Problems
from fieldguide.svm.smo import LOSSES, solve_kernel


class KernelSVM(Saved, ClassifierMixin, BaseEstimator):
    """Binary SVM with a kernel and a free intercept.

    Parameters
    ----------
    C : float or "cv"
        Weight of the training errors against ½|w|²; "cv" takes the value of a small grid with the
        best cross-validated mean accuracy of the two classes.
    kernel : str
        "chi2", "intersection", "jensen_shannon", "hellinger", "exponential_chi2", "rbf", or
        "precomputed": then X is the Gram matrix of the training rows in ``fit``, and of the rows
        to predict with the training rows afterwards.
    gamma : float, optional
        Of "exponential_chi2" and "rbf"; 1 / mean distance of the training rows by default, where
        rows of weight 0 do not count and, for "rbf", the others count by their weight.
    class_weight : {None, "balanced"} or dict of class to weight
    tol : float
        Relative duality gap to stop at.
    max_steps : int, optional
        Steps of the solver, each of which moves two variables.
    warm_start : bool
        Start from the solution of the last ``fit`` when the number of rows is the same.
    n_jobs : int, optional
        Threads for the Gram matrix and the folds; the answer does not depend on it.
    loss : {"hinge", "squared_hinge"}
    random_state : int, Generator, RandomState or None
        Seed of the folds of ``C="cv"``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    C_ : float
        The value that was used.
    support_ : ndarray of int
        Training rows with a coefficient.
    support_vectors_ : array or sparse array
        Those rows; not there for "precomputed".
    dual_coef_ : ndarray
        Their coefficients.
    intercept_ : float
    gamma_ : float or None
    duality_gap_ : float
        Relative gap reached.
    n_iter_ : int
        Steps taken.

    Examples
    --------
    >>> from fieldguide.svm import KernelSVM
    >>> X = [[0.0, 0.0], [0.1, 0.1], [1.0, 0.0], [0.0, 1.0]]
    >>> KernelSVM(C=10.0).fit(X, ["in", "in", "out", "out"]).predict([[0.9, 0.1]])
    array(['out'], dtype='<U3')
    """

    _fitted: ClassVar = {
        **ROWS,
        "classes_": Labels(2),
        "C_": Number(above=0),
        "_n_rows": Size("n_rows"),
        "support_": Array(INTEGERS, "n_support", within=(0, "n_rows")),
        "support_vectors_": IfSet(Rows("n_support", "n_features")),
        "dual_coef_": Array("float64", "n_support"),
        "intercept_": Number(),
        "gamma_": OrNone(Number(above=0)),
        "duality_gap_": Number(finite=False),
        "n_iter_": Number(0, whole=True),
    }

    def __init__(
        self,
        C: float | str = 1.0,
        kernel: str = "rbf",
        *,
        gamma: float | None = None,
        class_weight: str | dict[Any, float] | None = None,
        tol: float = 1e-3,
        max_steps: int | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        loss: str = "hinge",
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.class_weight = class_weight
        self.tol = tol
        self.max_steps = max_steps
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.loss = loss
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "KernelSVM":
        """Train on rows ``X`` with labels ``y`` of two classes."""
        self._check_arguments()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"
        )
        if self.kernel not in SIGNED:
            check_non_negative(X, f"KernelSVM with the {self.kernel} kernel")
        check_classes(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(
                f"KernelSVM needs 2 classes; the data has {len(self.classes_)} "
                f"class{'es' if len(self.classes_) > 1 else ''}. "
                "Only binary classification is supported; use one-vs-all training for more."
            )
        rows_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        signs = np.where(index == 1, 1.0, -1.0)
        weight = weigh_classes("KernelSVM", self.class_weight, self.classes_, signs, rows_weight)
        self.gamma_ = self._find_gamma(X, rows_weight)
        K = check_gram("KernelSVM", X if self.kernel == "precomputed" else self._gram(X))
        settings: dict[str, Any] = {"loss": self.loss, "tol": self.tol, "max_steps": self.max_steps}
        if self.C == "cv":
            problems = Problems(K, "precomputed", n_jobs=self.n_jobs, **settings)
            train = ask_two_classes(np.arange(len(K)), signs)
            seed = check_seed("KernelSVM", self.random_state)
            self.C_ = choose_C(problems, train, index, weight=weight, seed=seed)
        else:
            self.C_ = float(self.C)
        solution = solve_kernel(K, signs, self.C_ * weight, beta0=self._start(len(K)), **settings)
        self.support_ = np.flatnonzero(solution.beta)
        self.dual_coef_ = solution.beta[self.support_]
        self.intercept_ = solution.intercept
        self.duality_gap_ = solution.gap
        self.n_iter_ = max(solution.n_steps, 1)
        self._n_rows = len(K)
        if self.kernel != "precomputed":
            self.support_vectors_ = X[self.support_]
        warn_open_gaps("KernelSVM", solution.gap, self.tol, "raise max_steps, or scale the data")
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margin of each row; positive for ``classes_[1]``."""
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C", reset=False
        )
        if self.kernel == "precomputed":
            return np.asarray(X[:, self.support_] @ self.dual_coef_ + self.intercept_)
        if not len(self.support_):
            return np.full(X.shape[0], self.intercept_)
        values = self._gram(X, self.support_vectors_)
        return np.asarray(values @ self.dual_coef_ + self.intercept_)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        is_second = self.decision_function(X) > 0
        classes: np.ndarray = self.classes_[is_second.astype(int)]
        return classes

    def _check_arguments(self) -> None:
        if isinstance(self.C, str) and self.C != "cv":
            raise InvalidArgument(f'C of KernelSVM must be a number or "cv"; got {self.C!r}.')
        if self.C != "cv":
            check_number("KernelSVM", "C", self.C, 1e-9, 1e9)
        check_choice("KernelSVM", "loss", self.loss, LOSSES)
        check_choice("KernelSVM", "kernel", self.kernel, (*KERNELS, "precomputed"))
        if not isinstance(self.class_weight, dict):
            check_choice("KernelSVM", "class_weight", self.class_weight, (None, "balanced"))
        check_number("KernelSVM", "tol", self.tol, 0, 1)
        if self.gamma is not None:
            check_number("KernelSVM", "gamma", self.gamma, 1e-12, 1e12)

    def _check_opened(self) -> None:
        pool = getattr(self, "support_vectors_", None)
        is_given = self.kernel == "precomputed"
        if is_given != (pool is None) or (is_given and self._n_rows != self.n_features_in_):
            raise InvalidArgument(f"support_vectors_ do not fit the kernel {self.kernel!r}.")
        if self.kernel in WITH_GAMMA and self.gamma_ is None:
            raise InvalidArgument(f"The kernel {self.kernel!r} needs gamma_.")
        check_pool(self.kernel, pool)

    def _find_gamma(self, X: Any, weight: np.ndarray) -> float | None:
        if self.kernel not in WITH_GAMMA:
            return None
        if self.gamma is not None:
            return float(self.gamma)
        if self.kernel == "rbf":
            return 1 / mean_square_distance(X, weight)
        return default_gamma(X[weight > 0], self.kernel)

    def _gram(self, X: Any, Y: Any = None) -> np.ndarray:
        options = {"gamma": self.gamma_} if self.kernel in WITH_GAMMA else {}
        if sparse.issparse(X):
            X = sparse.csr_array(X)
        return KERNELS[self.kernel](X, Y, n_jobs=self.n_jobs, **options)

    def _start(self, n: int) -> np.ndarray | None:
        if not self.warm_start or getattr(self, "_n_rows", None) != n:
            return None
        beta = np.zeros(n)
        beta[self.support_] = self.dual_coef_
        return beta

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel not in SIGNED
        return tags


def mean_square_distance(X: Any, weight: np.ndarray) -> float:
    """Return the weighted mean of |x − z|² over all pairs of rows: twice their variance.

    1 where all rows are equal.
    """
    total = weight.sum()
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    mean = (X.T @ weight) / total
    distance = 2 * (float(weight @ np.asarray(squares).ravel()) / total - float(mean @ mean))
    return distance if distance > 1e-12 else 1.0

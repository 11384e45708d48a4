"""One-vs-all: a linear function per kind, all of them evaluated, the largest wins.

For each kind with targets t = ±1, the least-squares SVM

    min_{w, b}  ½ |w|² + (C / 2) Σ_i (t_i − w·x_i − b)²

has the solution of one linear system, and one factorization serves every kind. The margins that
each row would get if it alone were left out follow in closed form from the same factorization
(h_i is the i-th diagonal entry of the hat matrix, intercept included):

    f_loo(x_i) = t_i − (t_i − f(x_i)) / (1 − h_i)

Probabilities are softmax(scale · margins), with the scale that makes the left-out margins most
likely.

Reference: J. Suykens, J. Vandewalle, "Least squares support vector machine classifiers",
Neural Processing Letters 9 (1999).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from fieldguide._check import check_number

_LOG_SCALE_RANGE = (-3.0, 5.0)


class OneVsAllClassifier(ClassifierMixin, BaseEstimator):
    """Linear one-vs-all classifier with calibrated probabilities.

    Parameters
    ----------
    C : float
        Weight of the training errors against ½|w|².

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features), float32
    intercept_ : ndarray of shape (n_classes,), float32
    scale_ : float
        Of the margins, in the softmax of :meth:`predict_proba`.
    graph_ : None
        A flat classifier has no decision graph.

    Examples
    --------
    >>> from fieldguide.identify import OneVsAllClassifier
    >>> key = OneVsAllClassifier().fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])
    >>> str(key.predict([[0.9]])[0])
    'b'
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: Any, y: Any) -> "OneVsAllClassifier":
        """Train one function per class on rows ``X`` with labels ``y``."""
        check_number("OneVsAllClassifier", "C", self.C, 1e-9, 1e9)
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"OneVsAllClassifier needs at least 2 classes; the data has 1 class, "
                f"{self.classes_[0]!r}."
            )
        solution = solve_least_squares(X, index, len(self.classes_), float(self.C))
        self.coef_ = solution.coef.astype(np.float32)
        self.intercept_ = solution.intercept.astype(np.float32)
        self.scale_ = fit_scale(solution.left_out_margins, index)
        self.graph_ = None
        return self

    def margins(self, X: Any) -> np.ndarray:
        """Return the margin of every class, also when there are two: (n, n_classes)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        return X @ self.coef_.T + self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margins, (n, n_classes); for two classes the second's alone, (n,)."""
        margins = self.margins(X)
        # With two classes the targets are each other's negative, and so are the margins.
        return margins[:, 1] if len(self.classes_) == 2 else margins

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest margin."""
        best = self.margins(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return calibrated probabilities; the largest belongs to :meth:`predict`."""
        margins = self.margins(X).astype(np.float64)
        return softmax(self.scale_ * margins, axis=1)

    def decision_path(self, X: Any) -> csr_array:
        """Return which functions are evaluated for each row, (n, n_classes): all of them."""
        n = len(self.margins(X))
        return csr_array(np.ones((n, len(self.classes_)), dtype=bool))

    def evaluations(self, X: Any) -> np.ndarray:
        """Return the number of functions evaluated for each row: all of them."""
        n = len(self.margins(X))
        return np.full(n, len(self.classes_))

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted classifier as arrays and as values that JSON can hold."""
        check_is_fitted(self)
        arrays = {"coef": self.coef_, "intercept": self.intercept_}
        return arrays, {"C": self.C, "classes": self.classes_.tolist(), "scale": self.scale_}

    @classmethod
    def from_state(
        cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]
    ) -> "OneVsAllClassifier":
        """Make a fitted classifier from what :meth:`to_state` returned."""
        key = cls(C=settings["C"])
        key.classes_ = np.array(settings["classes"])
        key.coef_, key.intercept_ = arrays["coef"], arrays["intercept"]
        n_classes = len(key.classes_)
        if key.coef_.ndim != 2 or key.intercept_.shape != (n_classes,):
            raise ValueError("The arrays of a OneVsAllClassifier do not fit together.")
        if len(key.coef_) != n_classes:
            raise ValueError("A OneVsAllClassifier needs one row of coef for each class.")
        key.scale_ = float(settings["scale"])
        key.n_features_in_ = key.coef_.shape[1]
        key.graph_ = None
        return key


class Solution(NamedTuple):
    """Result of :func:`solve_least_squares`."""

    coef: np.ndarray  # (n_classes, n_features)
    intercept: np.ndarray  # (n_classes,)
    left_out_margins: np.ndarray  # (n, n_classes)


def solve_least_squares(X: np.ndarray, index: np.ndarray, n_classes: int, C: float) -> Solution:
    """Solve all one-vs-all problems, in the smaller of the primal and the dual form.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    index : ndarray of shape (n,)
        Class of each row, 0 to n_classes - 1.
    """
    n, d = X.shape
    targets = np.where(index[:, None] == np.arange(n_classes), 1.0, -1.0)
    x_mean, t_mean = X.mean(axis=0, dtype=np.float64), targets.mean(axis=0)
    # Centring takes the intercept, which is not penalised, out of the system.
    rows = np.asarray(X - x_mean, dtype=np.float64)
    centred = targets - t_mean
    if d <= n:
        factor = cho_factor(rows.T @ rows + np.eye(d) / C)
        coef = cho_solve(factor, rows.T @ centred).T
        hat = np.einsum("ij,ji->i", rows, cho_solve(factor, rows.T))
    else:
        factor = cho_factor(rows @ rows.T + np.eye(n) / C)
        coef = cho_solve(factor, centred).T @ rows
        hat = 1 - np.diag(cho_solve(factor, np.eye(n))) / C
    fitted = rows @ coef.T + t_mean
    leverage = np.clip(hat + 1 / n, 0, 1 - 1e-6)
    left_out = targets - (targets - fitted) / (1 - leverage)[:, None]
    return Solution(coef, t_mean - coef @ x_mean, left_out)


def fit_scale(margins: np.ndarray, index: np.ndarray) -> float:
    """Return the scale s for which softmax(s · margins) gives the rows' classes most mass."""
    own = margins[np.arange(len(index)), index]

    def loss(log_scale: float) -> float:
        scale = np.exp(log_scale)
        return float(np.mean(logsumexp(scale * margins, axis=1) - scale * own))

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SCALE_RANGE, method="bounded").x))

"""Linear SVM of two classes as a scikit-learn classifier.

    min_{w, b}  ½ (|w|² + (b / s)²) + C Σ_i v_i ℓ(1 − y_i (w·x_i + b))

with ℓ the hinge or its square, s the ``intercept_scaling`` and v_i the sample weight times the
class weight. The solver and its symbols are in :mod:`fieldguide.svm.coordinate_descent`.
"""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fieldguide._check import check_choice, check_classes, check_number, check_seed
from fieldguide._saving import FLOATS, ROWS, Array, Labels, Number, Saved
from fieldguide.errors import InvalidArgument
from fieldguide.svm.c_path import ask_two_classes, choose_C
from fieldguide.svm.coordinate_descent import LinearSolution, check_settings, solve_linear
from fieldguide.svm.equal_rows import group_rows
from fieldguide.svm.gap import warn_open_gaps
from fieldguide.svm.problems import Problems
from fieldguide.svm.shared_rows import balance_sides, check_weights, share_rows


class LinearSVM(Saved, ClassifierMixin, BaseEstimator):
    """Linear support vector machine of two classes, trained to a stated duality gap.

    Parameters
    ----------
    C : float or "cv"
        Weight of the training errors against ½|w|²; "cv" takes the value of a small grid with the
        best cross-validated mean accuracy of the two classes.
    loss : {"hinge", "squared_hinge"}
    class_weight : None, "balanced" or dict
        "balanced" gives both classes half of the total weight; a dict has a weight for each class.
    fit_intercept : bool
    intercept_scaling : float
        The constant column that carries the intercept. The intercept is penalised, the less the
        larger this is.
    tol : float
        Relative duality gap to reach: 1e-3 means that no solution has an objective more than 0.1 %
        lower.
    max_iter : int
        Largest number of epochs over the rows.
    warm_start : bool
        Start from the last solution when the number of rows is the same.
    random_state : int, Generator, RandomState or None
        Seed of the order in which rows are visited, and of the folds of ``C="cv"``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (1, n_features), of the type of X
    intercept_ : ndarray of shape (1,)
    dual_coef_ : ndarray of shape (1, n)
        α_i y_i of each training row; 0 where the row is no support vector.
    C_ : float
        The value that was used.
    n_iter_ : int
    duality_gap_ : float
        Relative duality gap that was reached.

    Examples
    --------
    >>> from fieldguide.svm import LinearSVM
    >>> svm = LinearSVM(C=10.0).fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> svm.predict([[0.4], [2.6]]).tolist()
    ['low', 'high']
    """

    _fitted: ClassVar = {
        **ROWS,
        "classes_": Labels(2),
        "coef_": Array(FLOATS, 1, "n_features"),
        "intercept_": Array(FLOATS, 1),
        "dual_coef_": Array(FLOATS, 1, "n_rows"),
        "C_": Number(above=0),
        "n_iter_": Number(0, whole=True),
        "duality_gap_": Number(finite=False),
    }

    def __init__(
        self,
        C: float | str = 1.0,
        *,
        loss: str = "hinge",
        class_weight: str | dict[Any, float] | None = None,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1000,
        warm_start: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "LinearSVM":
        """Train on the rows of ``X`` (dense or sparse) with two labels in ``y``."""
        self._check_arguments()
        X, y = validate_data(
            *(self, X, y), dtype=(np.float64, np.float32), accept_sparse="csr", order="C"
        )
        self.classes_, sign = encode_two_classes(y)
        weight = check_weights(sample_weight, len(sign))
        if not weight.any():
            raise InvalidArgument("sample_weight must not be zero for every row; give some weight.")
        weight = weigh_classes("LinearSVM", self.class_weight, self.classes_, sign, weight)
        seed = check_seed("LinearSVM", self.random_state)
        bias = self.intercept_scaling if self.fit_intercept else 0.0
        settings: dict[str, Any] = {"loss": self.loss, "intercept_scaling": bias, "tol": self.tol}
        settings |= {"max_iter": self.max_iter, "seed": seed}
        matrix = share_rows(X)
        groups = group_rows(matrix, sign, weight)
        if self.C == "cv":
            labels = (groups.sign > 0).astype(np.int64)
            train = ask_two_classes(groups.rows, groups.sign)
            problems = Problems(matrix, **settings)
            self.C_ = choose_C(
                problems, train, labels, rows=groups.rows, weight=groups.weight, seed=seed
            )
        else:
            self.C_ = float(self.C)
        last = self._last_alpha(sign)
        solution = solve_linear(
            matrix,
            groups.sign,
            rows=groups.rows,
            C=self.C_,
            sample_weight=groups.weight,
            alpha0=None if last is None else groups.gather(last),
            **settings,
        )
        self._store(solution, groups.spread(solution.alpha) * sign)
        remedy = f"raise max_iter (now {self.max_iter}), lower C, or scale the columns"
        warn_open_gaps("LinearSVM", solution.gap, self.tol, remedy)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margin of each row, (n,); positive for the second class."""
        check_is_fitted(self)
        X = validate_data(
            *(self, X), dtype=(np.float64, np.float32), accept_sparse="csr", reset=False
        )
        return np.asarray(X @ self.coef_[0] + self.intercept_[0]).ravel()

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        check_is_fitted(self)
        return self.classes_[(self.decision_function(X) > 0).astype(np.int64)]

    def fast_predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row of an array that is known to be right, for serving.

        Nothing is checked: ``X`` must be a finite float array of shape (n, n_features), best of
        the type of ``coef_``. For such arrays the answers are those of :meth:`predict`.
        """
        classes: np.ndarray = self.classes_[
            (X @ self.coef_[0] + self.intercept_[0] > 0).astype(np.int64)
        ]
        return classes

    def _check_arguments(self) -> None:
        C = 1.0 if isinstance(self.C, str) and self.C == "cv" else self.C
        if isinstance(C, str):
            raise InvalidArgument(f'C of LinearSVM must be a number or "cv"; got {C!r}.')
        check_settings("LinearSVM", C, self.loss, self.intercept_scaling, self.tol, self.max_iter)
        if not isinstance(self.class_weight, dict):
            check_choice("LinearSVM", "class_weight", self.class_weight, (None, "balanced"))
        if self.fit_intercept:
            check_number("LinearSVM", "intercept_scaling", self.intercept_scaling, 1e-9, 1e6)

    def _last_alpha(self, sign: np.ndarray) -> np.ndarray | None:
        """Return where to start: the last solution if it is wanted and is of as many rows."""
        if not self.warm_start or not hasattr(self, "dual_coef_"):
            return None
        last = self.dual_coef_[0]
        return np.maximum(last * sign, 0) if last.shape == sign.shape else None

    def _store(self, solution: LinearSolution, dual_coef: np.ndarray) -> None:
        self.coef_ = solution.w[None]
        self.intercept_ = np.array([solution.b], dtype=solution.w.dtype)
        self.dual_coef_ = dual_coef[None]
        self.n_iter_ = solution.n_iter
        self.duality_gap_ = solution.gap

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def encode_two_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two classes and -1 or +1 for each label; refuse any other number of classes."""
    check_classes(y)
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise InvalidArgument(
            f"Only binary classification is supported by LinearSVM; y has {len(classes)} classes: "
            f"use OneVsAllClassifier."
        )
    if len(classes) < 2:
        raise InvalidArgument(
            f"LinearSVM needs rows of 2 classes; y has 1 class, {classes[0]!r}: add the other."
        )
    return classes, np.where(index == 1, 1.0, -1.0)


def weigh_classes(
    owner: str, class_weight: Any, classes: np.ndarray, sign: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the sample weights times those of the classes."""
    if class_weight is None:
        return weight
    if class_weight == "balanced":
        return balance_sides(sign, weight)
    unknown = [label for label in class_weight if label not in classes]
    if unknown:
        raise InvalidArgument(
            f"class_weight of {owner} must have classes as keys; got {unknown[0]!r}, which is "
            f"not in y."
        )
    low, high = (float(class_weight.get(label, 1.0)) for label in classes.tolist())
    return check_weights(weight * np.where(sign > 0, high, low), len(sign))

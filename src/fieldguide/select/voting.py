"""What the selectors share: they choose columns, and name classes by a vote of what they chose."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fieldguide._check import check_classes
from fieldguide._saving import FLOATS, ROWS, Array, Field, Labels, Saved
from fieldguide.errors import InvalidArgument
from fieldguide.select.objective import ColumnMap

LINEAR_VOTES: dict[str, Field] = {
    "flips_": Array("bool", ...),
    "coef_": Array(FLOATS, "n_functions", "n_features"),
    "intercept_": Array(FLOATS, "n_functions"),
}


class VotingSelector(Saved, SelectorMixin, ClassifierMixin, BaseEstimator, ABC):
    """Base of the selectors: a transformer of columns that is a classifier too.

    A fitted one has ``classes_`` and ``weights_``, (n_features,) for two classes and
    (n_classes, n_features) for more: what each feature counts for each class, never negative. The
    columns that count for some class are the selected ones.
    """

    weights_: np.ndarray
    coef_: np.ndarray  # of linear votes
    intercept_: np.ndarray
    classes_: np.ndarray

    _fitted: ClassVar = {
        **ROWS,
        "classes_": Labels("n_classes"),
        "weights_": Array("float64", ..., low=0),
    }

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Choose columns of ``X``, (n, n_features), that tell the classes ``y`` apart."""

    def _score(self, X: np.ndarray) -> np.ndarray:
        """Return a score for each class, (n, n_classes), or of the second of two, (n, 1)."""
        scores: np.ndarray = X @ self.coef_.T + self.intercept_
        return scores

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each class, (n, n_classes); for two classes one margin, (n,).

        The margin of two classes is positive for the second.
        """
        scores = self._score(self._read_rows(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest score."""
        scores = self._score(self._read_rows(X))
        is_pair = len(self.classes_) == 2
        best = (scores[:, 0] > 0).astype(np.int64) if is_pair else scores.argmax(axis=1)
        classes: np.ndarray = self.classes_[best]
        return classes

    def _check_opened(self) -> None:
        n_classes, n = len(self.classes_), self.n_features_in_
        n_functions = 1 if n_classes == 2 else n_classes
        for name in ("weights_", "flips_", "spreads_"):
            shape = np.shape(getattr(self, name, self.weights_))
            if n_classes < 2 or shape != ((n,) if n_classes == 2 else (n_classes, n)):
                raise InvalidArgument(f"{name} of shape {shape} do not fit classes_ and columns.")
        for name in ("intercept_", "stumps_", "functions_"):
            if hasattr(self, name) and len(getattr(self, name)) != n_functions:
                raise InvalidArgument(f"{name} must be {n_functions}, as many as classes_ ask for.")

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask: np.ndarray = np.any(np.atleast_2d(self.weights_) > 0, axis=0)
        return mask

    def _read_rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows: np.ndarray = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        return rows

    def _read_training_rows(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows and a class number for each."""
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32), order="C")
        self.classes_, index = number_classes(type(self).__name__, y)
        return X, index


def number_classes(owner: str, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, at least two, and the number of each row's."""
    check_classes(y)
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InvalidArgument(
            f"{owner} needs rows of at least 2 classes; y has 1 class, {classes[0]!r}: add another."
        )
    return classes, index


def fold_two_classes(values: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the one row of two classes flat, the rows of more as they are."""
    return values[0] if n_classes == 2 else values


def map_to_unit(owner: str, low: np.ndarray, high: np.ndarray, scale: bool) -> ColumnMap:
    """Return the map that brings columns to [0, 1] by their range; those inside stay as they are.

    A column of one value outside [0, 1] becomes 0.
    """
    is_outside = (low < 0) | (high > 1)
    if is_outside.any() and not scale:
        raise InvalidArgument(
            f"{owner} with scale=False needs values in [0, 1]; got {low.min():g} to "
            f"{high.max():g}: scale the columns or set scale=True."
        )
    span = high - low
    is_flat = is_outside & ~(span > 0)
    slope = np.where(is_outside, 1.0 / np.where(span > 0, span, 1.0), 1.0)
    offset = np.where(is_outside, -low * slope, 0.0)
    slope[is_flat], offset[is_flat] = 0.0, 0.0
    return ColumnMap(slope, offset)

"""What every key shares: the rows and labels that it takes, and the arguments of its SVMs."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from fieldguide._check import InvalidArgument, check_choice, check_number
from fieldguide._saving import ROWS, Labels, Number, Saved
from fieldguide.identify.held_out import HELD_OUT
from fieldguide.kernels import KERNELS
from fieldguide.svm import Functions, LinearFunctions
from fieldguide.svm.functions import SIGNED

KERNEL_NAMES = ("linear", *KERNELS, "precomputed")


def default_loss(kernel: str) -> str:
    """Return the squared hinge for linear functions, the hinge for others: its support is small."""
    return "squared_hinge" if kernel == "linear" else "hinge"


class Key(Saved, ClassifierMixin, BaseEstimator, ABC):
    """Base of all keys; subclasses have the arguments of an SVM that are declared here."""

    C: float | str
    kernel: str
    gamma: float | None
    loss: str | None
    tol: float

    _fitted: ClassVar = {
        **ROWS,
        "classes_": Labels("n_classes"),
        "C_": Number(above=0),
        "held_out_": HELD_OUT,
    }

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Train on rows ``X`` with labels ``y``."""

    def _check_shared(self, owner: str) -> None:
        """Refuse arguments that no SVM can use."""
        if isinstance(self.C, str) and self.C != "cv":
            raise InvalidArgument(f'C of {owner} must be a number or "cv"; got {self.C!r}.')
        if not isinstance(self.C, str):
            check_number(owner, "C", self.C, 1e-9, 1e9)
        check_choice(owner, "kernel", self.kernel, KERNEL_NAMES)
        check_choice(owner, "loss", self.loss, (None, "hinge", "squared_hinge"))
        check_number(owner, "tol", self.tol, 1e-12, 1)
        if self.gamma is not None:
            check_number(owner, "gamma", self.gamma, 1e-12, 1e12)

    def _find_loss(self) -> str:
        """Return the loss that was asked for, or the usual one of the kernel."""
        return self.loss or default_loss(self.kernel)

    def _check_functions(self, functions: Functions) -> None:
        """Refuse functions of another kernel, and a single class."""
        kernel = "linear" if isinstance(functions, LinearFunctions) else functions.kernel
        if self.kernel != kernel:
            raise InvalidArgument(f"The functions are not of the kernel {self.kernel!r}.")
        if len(self.classes_) < 2:
            raise InvalidArgument("classes_ must be two or more.")

    def _read_training_rows(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"
        )
        self._check_values(X)
        check_classification_targets(y)
        self.classes_, index = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidArgument(
                f"{type(self).__name__} needs at least 2 classes; the data has 1 class, "
                f"{self.classes_[0]!r}."
            )
        return X, index

    def _read_rows(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=(np.float32, np.float64), order="C", reset=False
        )
        self._check_values(X)
        return X

    def _check_values(self, X: Any) -> None:
        if self.kernel not in SIGNED:
            check_non_negative(X, f"{type(self).__name__} with the {self.kernel} kernel")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel not in SIGNED
        return tags

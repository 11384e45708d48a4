"""What every key shares: the rows and labels that it takes, and the arguments of its SVMs."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from fieldguide._check import check_choice, check_classes, check_number
from fieldguide._saving import ROWS, Array, IfSet, Labels, Number, Saved
from fieldguide.errors import InvalidArgument
from fieldguide.identify.back_off import choose_likeliest, find_threshold
from fieldguide.identify.confidence import HELD_OUT
from fieldguide.kernels import KERNELS
from fieldguide.svm import Functions, LinearFunctions, Problems
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
        "rank_doubts_": IfSet(Array("float32", "n_rank_doubts")),
    }

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Self:
        """Train on rows ``X`` with labels ``y``."""

    @abstractmethod
    def _fit_problems(self, problems: Problems, index: np.ndarray) -> Self:
        """Train on rows that have been read, of the classes ``index``."""

    def predict_likeliest(self, X: Any, confidence: float = 0.9) -> np.ndarray:
        """Return the fewest classes that hold each row's own with some confidence, (n, n_classes).

        They are the likeliest by :meth:`predict_proba`, one at least. The class of a new row is
        among them about as often as ``confidence`` says, if it comes from where the training rows
        came from.

        Examples
        --------
        >>> from fieldguide.identify import OneVsAllClassifier
        >>> X = np.repeat([[0.0] * 6, [1.0] + [0.0] * 5, [9.0] * 6], 40, axis=0)
        >>> X += np.random.default_rng(0).normal(0, 0.5, X.shape)
        >>> key = OneVsAllClassifier(C=10.0).fit(X, np.repeat(["ant", "bee", "yak"], 40))
        >>> few = key.predict_likeliest([[0.5] + [0.0] * 5, [9.0] * 6], confidence=0.95)
        >>> [key.classes_[group].tolist() for group in few]
        [['ant', 'bee'], ['yak']]
        """
        check_number(type(self).__name__, "confidence", confidence, 0, 1)
        probability = self.predict_proba(X)
        doubts = getattr(self, "rank_doubts_", np.empty(0))
        if not len(doubts):
            raise InvalidArgument(
                f"{type(self).__name__} held no rows out when it was fitted, so nothing is known "
                "of its confidence; give two classes at least two rows each."
            )
        return choose_likeliest(probability, find_threshold(doubts, confidence))

    @abstractmethod
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, (n, n_classes)."""

    def check_arguments(self) -> None:
        """Refuse arguments that no fit could use."""
        self._check_arguments()

    @abstractmethod
    def _check_arguments(self) -> None:
        """Refuse arguments that make no sense."""

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
        check_classes(y)
        self.classes_ = np.unique(y)
        return X, self._count_classes(np.searchsorted(self.classes_, y))

    def _count_classes(self, index: np.ndarray) -> np.ndarray:
        """Keep the classes that rows have, at least two, and return their numbers anew."""
        found, index = np.unique(index, return_inverse=True)
        self.classes_ = self.classes_[found]
        if len(self.classes_) < 2:
            raise InvalidArgument(
                f"{type(self).__name__} needs at least 2 classes; the data has 1 class, "
                f"{self.classes_[0]!r}."
            )
        return index

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

"""One-vs-all: a function per class, all of them evaluated, the largest wins.

    min_{w_k, b_k}  ½ |w_k|² + C Σ_i loss(t_ik (w_k·φ(x_i) + b_k)),    t_ik = ±1: is i of class k?

Two classes are one problem. The rows or their Gram matrix are shared by all problems, and so is
the pool of support rows.
"""

from typing import Any

import numpy as np

from fieldguide._device import find_device
from fieldguide.identify.flat import FlatKey
from fieldguide.svm import FastScorer, LinearFunctions
from fieldguide.svm.c_path import Train, ask_one_vs_all, ask_two_classes, score_two_classes


class OneVsAllClassifier(FlatKey):
    """Linear or kernel SVMs, one for each class against all others.

    Parameters
    ----------
    C : float or "cv"
        Weight of the training errors against ½|w|²; "cv" takes the best of 10⁻³ … 10³ by
        five-fold cross-validation on the training rows.
    kernel : str
        "linear", "chi2", "intersection", "jensen_shannon", "hellinger", "exponential_chi2",
        "rbf", or "precomputed": then X is the Gram matrix of the training rows in ``fit``, and of
        the rows to predict with the training rows afterwards.
    gamma : float, optional
        Of "exponential_chi2" and "rbf"; 1 / mean distance of the training rows by default.
    loss : {None, "hinge", "squared_hinge"}
        By default the squared hinge for the linear kernel, and the hinge for the others, where it
        keeps the support small.
    class_weight : {None, "balanced"} or dict of class to weight
        "balanced" gives the class and the rest the same weight in each problem.
    tol : float
        Relative duality gap of each problem.
    probability : bool
        Fit the scale of :meth:`predict_proba` to held-out scores. It takes five more trainings;
        False does without.
    n_jobs : int, optional
        Threads; the answer does not depend on it.
    random_state : int, Generator, RandomState or None
        Of the folds and of the order in which the linear solver visits rows.
    device : {"cpu", "auto", "cuda"}
        Where linear functions are trained, if X is dense, the loss is the squared hinge and
        class_weight is not "balanced"; all else is done by the processor. "cuda" needs the extra
        ``gpu``, and is worth it from some hundred thousand rows on; "auto" takes it if it is there.
        Functions reach the same duality gap, and differ within it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    functions_ : LinearFunctions or KernelFunctions
        One for each class; for two classes one, positive for the second.
    C_ : float
        The C that was used.
    inverse_temperature_ : float or None
        Probabilities are ``softmax(inverse_temperature_ · scores)``, then calibrated.
    held_out_ : HeldOut or None
        What the key says of each training row when its fold is left out, and how often that is
        right; None without ``probability``, and when fewer than two classes have two rows.
    duality_gap_ : float
        The largest relative gap of a problem.
    graph_ : None
        A flat classifier has no decision graph.

    Examples
    --------
    >>> from fieldguide.identify import OneVsAllClassifier
    >>> key = OneVsAllClassifier().fit([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"])
    >>> str(key.predict([[0.9]])[0])
    'b'
    """

    def __init__(
        self,
        C: float | str = 1.0,
        kernel: str = "linear",
        *,
        gamma: float | None = None,
        loss: str | None = None,
        class_weight: str | dict[Any, float] | None = None,
        tol: float = 1e-3,
        probability: bool = True,
        n_jobs: int | None = None,
        random_state: Any = 0,
        device: str = "cpu",
    ) -> None:
        super().__init__(
            C,
            kernel,
            gamma=gamma,
            loss=loss,
            class_weight=class_weight,
            tol=tol,
            probability=probability,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.device = device

    def _find_device(self) -> str:
        return find_device(type(self).__name__, self.device)

    def fast_predict(self, X: np.ndarray) -> np.ndarray:
        """As of every flat key; see :meth:`FlatKey.fast_predict`."""
        functions = self.functions_
        if len(X) > 1 or len(self.classes_) == 2 or not isinstance(functions, LinearFunctions):
            return super().fast_predict(X)
        scorer = self._make_once(lambda: FastScorer(functions.coef, functions.intercept))
        return self.classes_[[scorer.best(X[0])]]

    @staticmethod
    def _count_functions(n_classes: int) -> int:
        return 1 if n_classes == 2 else n_classes

    def _trainer(self, index: np.ndarray) -> Train:
        if len(self.classes_) == 2:
            return ask_two_classes(np.arange(len(index)), np.where(index == 1, 1.0, -1.0))
        return ask_one_vs_all(index, len(self.classes_))

    def _score(self, margins: np.ndarray) -> np.ndarray:
        return score_two_classes(margins) if margins.shape[1] == 1 else margins

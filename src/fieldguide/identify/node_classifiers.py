"""Nodes with a binary classifier of another make, such as scikit-learn's.

The plan of a key (which classes go which way) is its own. The functions of its nodes, and those of
its classes for the shortlist, are then trained by clones of the classifier, on signs −1 and +1:

    f(x) = decision_function(x), or log p / (1 − p) of predict_proba

Where every trained classifier is linear in its rows (``coef_`` and ``intercept_``), the functions
become linear functions of the key, and all that is known of those follows: the fast path, exact
explanations, ONNX. Others are asked as they are.
"""

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logit
from sklearn.base import clone

from fieldguide._parallel import map_in_order
from fieldguide._saving import Field, Reader, Writer
from fieldguide.errors import InvalidArgument
from fieldguide.svm import Functions, KernelFunctions, Problems, Question, Trained

_NEAR = 1e-12  # to 0 and 1, of probabilities
_N_CHECKED = 16  # rows on which linear functions are compared with the classifier


class ConstantMargin(NamedTuple):
    """What is trained where all rows are on one side."""

    sign: float

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the side for every row of X, (n,)."""
        return np.full(X.shape[0], self.sign)


class EstimatorFunctions(KernelFunctions):
    """Functions that are classifiers: the pool holds these, and each value is one decision."""

    def _kernel_values(self, X: Any, n_jobs: int | None) -> np.ndarray:
        if not len(self.pool):
            return np.empty((X.shape[0], 0))
        columns = map_in_order(lambda model: decide(model, X), self.pool, n_jobs=n_jobs)
        return np.stack(list(columns), axis=1)


class TrainedEstimators(NamedTuple):
    """Trained classifiers, one for each problem."""

    models: tuple[Any, ...]

    @property
    def gaps(self) -> np.ndarray:
        """No duality gaps: a classifier of another make says itself what it could not do."""
        return np.zeros(len(self.models))


class EstimatorProblems(Problems):
    """Binary problems on shared rows that clones of a classifier solve."""

    classifier: Any

    @classmethod
    def over(cls, problems: Problems, classifier: Any) -> "EstimatorProblems":
        """Return the problems of the same rows, solved by clones of ``classifier``."""
        made = copy.copy(problems)
        made.__class__ = cls
        vars(made).update(classifier=classifier, _known=None)
        assert isinstance(made, cls)
        return made

    def solve(self, questions: Sequence[Question], *, C: float, start: Any = None) -> Any:
        """Return a trained classifier for each question; ``C`` and ``start`` are not used."""

        def train(question: Question) -> Any:
            rows, sign, weight = question
            kept = np.arange(len(rows)) if weight is None else np.flatnonzero(weight)
            sides = np.unique(sign[kept])
            if len(sides) < 2:
                return ConstantMargin(float(sides[0]) if len(sides) else 0.0)
            return clone(self.classifier).fit(self.X[rows[kept]], sign[kept].astype(np.int64))

        models = tuple(map_in_order(train, questions, n_jobs=self.n_jobs, travels=True))
        linear = read_linear(models, self.X[: min(_N_CHECKED, self.n)])
        if linear is None:
            return TrainedEstimators(models)
        n = len(models)
        return Trained(csr_array((n, self.n)), *linear, np.zeros(n))

    def _train_one_vs_all(
        self,
        index: np.ndarray,
        n_classes: int,
        C: float,
        weight: np.ndarray | None,
        start: Trained | None,
    ) -> Any:
        every = np.arange(self.n)
        signs = [np.where(index == c, 1.0, -1.0) for c in range(n_classes)]
        return self.solve([Question(every, sign, weight) for sign in signs], C=C)

    def evaluate(self, trained: Any, rows: np.ndarray) -> np.ndarray:
        """Return each function at some of the rows, (len(rows), n_functions)."""
        if isinstance(trained, TrainedEstimators):
            return np.stack([decide(model, self.X[rows]) for model in trained.models], axis=1)
        return super().evaluate(trained, rows)

    def lengths(self, trained: Any) -> np.ndarray:
        """Return |w| of linear functions, and 1 for others, whose margins have no known length."""
        if isinstance(trained, TrainedEstimators):
            return np.ones(len(trained.models))
        return super().lengths(trained)

    def functions(self, trained: Any) -> Functions:
        """Return the functions alone, for rows that are not among these."""
        if not isinstance(trained, TrainedEstimators):
            return super().functions(trained)
        n = len(trained.models)
        pool = np.empty(n, dtype=object)
        pool[:] = trained.models
        places = np.arange(n)
        identity = csr_array((np.ones(n), places, np.arange(n + 1)), shape=(n, n))
        width = self.X.shape[1]
        return EstimatorFunctions(
            "node_classifier", None, pool, places, identity, np.zeros(n), width
        )


def join_trained(first: Any, second: Any) -> TrainedEstimators:
    """Return the classifiers of both, linear functions among them as classifiers."""
    models: list[Any] = []
    for part in (first, second):
        if isinstance(part, TrainedEstimators):
            models += part.models
        else:
            models += [
                LinearMargin(w, float(b)) for w, b in zip(part.coef, part.intercept, strict=True)
            ]
    return TrainedEstimators(tuple(models))


class LinearMargin(NamedTuple):
    """A linear function among classifiers that are not."""

    coef: np.ndarray  # (n_features,)
    intercept: float

    def decision_function(self, X: Any) -> np.ndarray:
        """Return w·x + b for every row of X, (n,)."""
        return np.asarray(X @ self.coef) + self.intercept


def decide(model: Any, X: Any) -> np.ndarray:
    """Return how far a classifier of −1 and +1 is on the side of +1 for each row, (n,)."""
    if not X.shape[0]:
        return np.empty(0)
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64).ravel()
    probability = np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]
    margins: np.ndarray = logit(np.clip(probability, _NEAR, 1 - _NEAR))
    return margins


def read_linear(models: Sequence[Any], X: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return coef and intercept of classifiers that are all linear in their rows, or None.

    That they are is seen on some rows: a model may have ``coef_`` of columns that it has changed.
    """
    coef, intercept = [], []
    for model in models:
        if isinstance(model, ConstantMargin):
            coef.append(np.zeros(X.shape[1]))
            intercept.append(model.sign)
            continue
        w, b = (np.ravel(getattr(model, name, ())) for name in ("coef_", "intercept_"))
        if len(w) != X.shape[1] or len(b) != 1:
            return None
        told = LinearMargin(w, float(b[0])).decision_function(X)
        if not np.allclose(told, decide(model, X), rtol=1e-4, atol=1e-6):
            return None
        coef.append(w.astype(np.float64))
        intercept.append(float(b[0]))
    return np.stack(coef), np.array(intercept)


def check_node_classifier(owner: str, classifier: Any, kernel: str) -> None:
    """Refuse what cannot be trained at the nodes of a key."""
    if classifier is None:
        return
    has_answer = hasattr(classifier, "decision_function") or hasattr(classifier, "predict_proba")
    if isinstance(classifier, type) or not hasattr(classifier, "fit") or not has_answer:
        raise InvalidArgument(
            f"node_classifier of {owner} must be a classifier with fit and decision_function or "
            f"predict_proba, such as LogisticRegression(); got {classifier!r}."
        )
    if kernel != "linear":
        raise InvalidArgument(
            f"node_classifier of {owner} takes the place of SVMs with a kernel; leave the kernel "
            f'"linear", or give the classifier one; got kernel={kernel!r}.'
        )


class NodeClassifierField(Field):
    """None in a saved key: a file names no code, so that it can hold no class of another make."""

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Refuse all but None."""
        if value is not None:
            out.refuse(
                path,
                f"is a {type(value).__name__}, and a file holds no classifier of another make; "
                "save a key with node_classifier=None",
            )

    def read(self, record: Any, path: str, source: Reader) -> None:
        """Return None."""
        if record is not None:
            source.refuse(path, "must be null")

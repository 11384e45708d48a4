"""What one-vs-all and one-vs-one share: no graph, every function evaluated for every row.

A flat key trains its functions on one shared matrix or Gram matrix, and turns their margins into
a score for each class; the largest score wins. Probabilities are softmax(scale · scores), with
the scale that makes the scores of held-out rows most likely.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import softmax
from sklearn.utils.metaestimators import available_if

from fieldguide._check import check_choice, check_seed
from fieldguide._saving import Number, OrNone
from fieldguide.errors import InvalidArgument
from fieldguide.identify.back_off import find_rank_doubts
from fieldguide.identify.confidence import (
    CONFIDENCE,
    HeldOut,
    apply_confidence,
    fit_confidence,
    measure_growth,
)
from fieldguide.identify.key import Key
from fieldguide.svm import (
    FastKernelScorer,
    LinearFunctions,
    Problems,
    SigmoidCalibration,
    Trained,
    choose_C,
    fit_scale,
    hold_out,
    warn_open_gaps,
)
from fieldguide.svm.c_path import N_FOLDS, Train
from fieldguide.svm.functions import functions_field
from fieldguide.svm.shared_rows import check_weights


class FlatKey(Key):
    """Base of the classifiers without a graph.

    Subclasses say how to train (``_trainer``) and how margins become scores (``_score``).
    """

    _fitted: ClassVar = {
        "functions_": functions_field(),
        "duality_gap_": Number(finite=False),
        "inverse_temperature_": OrNone(Number(above=0)).once("scale_"),
        "calibration_": CONFIDENCE.once("confidence_"),
    }

    held_out_: HeldOut | None

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
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.probability = probability
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on rows ``X`` with labels ``y``.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
            The Gram matrix of the rows, (n, n), for the kernel "precomputed".
        y : array of shape (n,)
            Two classes or more.
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts as if it were there twice, and one of weight 0 as if it were
            not there; all weights are 1 by default. Probabilities are calibrated on held-out rows,
            each of which counts once, and so it does in the default of gamma.
        """
        self._check_arguments()
        X, index = self._read_training_rows(X, y)
        weight, kept = None, np.arange(len(index))
        if sample_weight is not None:
            weight = check_weights(sample_weight, len(index))
            kept = self._find_weighted(weight)
            X, weight, index = X[kept], weight[kept], self._count_classes(index[kept])
        seed = check_seed(type(self).__name__, self.random_state)
        problems = Problems(
            X,
            self.kernel,
            self.gamma,
            loss=self._find_loss(),
            class_weight=None if isinstance(self.class_weight, dict) else self.class_weight,
            tol=self.tol,
            n_jobs=self.n_jobs,
            seed=seed,
            device=self._find_device(),
        )
        self._fit_problems(problems, index, weight)
        if self.held_out_ is not None:
            self.held_out_ = self.held_out_._replace(rows=kept[self.held_out_.rows])
        return self

    def _fit_problems(
        self, problems: Problems, index: np.ndarray, weight: np.ndarray | None = None
    ) -> Self:
        weight = self._weigh_rows(index) * (1.0 if weight is None else weight)
        folds: dict[str, Any] = {"weight": weight, "score": self._score, "seed": problems.seed}
        if self.C == "cv":
            self.C_ = choose_C(problems, self._trainer(index), index, **folds)
        else:
            self.C_ = float(self.C)
        trained = self._trainer(index)(problems, self.C_, weight, None)
        self.functions_ = problems.functions(trained)
        self.duality_gap_ = float(trained.gaps.max())
        self.inverse_temperature_: float | None = None
        self.held_out_ = None
        self.calibration_: SigmoidCalibration | None = None
        if self.probability:
            self._calibrate(problems, index, folds, problems.lengths(trained))
        self.graph_ = None
        warn_open_gaps(
            type(self).__name__, trained.gaps, self.tol, "lower C, scale the columns or raise tol"
        )
        return self

    def _find_device(self) -> str:
        return "cpu"

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each class, (n, n_classes); for two classes one margin, (n,).

        The margin of two classes is positive for the second.
        """
        margins = self.functions_at(X)
        return margins[:, 0] if len(self.classes_) == 2 else self._score(margins)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the largest score."""
        best = self._score(self.functions_at(X)).argmax(axis=1)
        classes: np.ndarray = self.classes_[best]
        return classes

    @available_if(lambda self: self.probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return calibrated probabilities; the largest belongs to :meth:`predict`."""
        scores = self._score(self.functions_at(X)).astype(np.float64)
        return self._share(scores, self.inverse_temperature_)

    def _share(self, scores: np.ndarray, scale: float | None) -> np.ndarray:
        """Return probabilities from scores; without a fitted confidence, a plain softmax."""
        assert scale is not None
        shares = softmax(scale * scores, axis=1)
        return apply_confidence(shares, scores.argmax(axis=1), getattr(self, "calibration_", None))

    def fast_predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row of an array that is known to be right, for serving.

        Nothing is checked: ``X`` must be a finite, C-contiguous float32 array of shape
        (n, n_features), not negative where the kernel asks for that. A single row takes a compiled
        path of its own (:class:`~fieldguide.svm.FastScorer`,
        :class:`~fieldguide.svm.FastKernelScorer`). For such arrays the answers are those of
        :meth:`predict`, but for scores that are equal to single precision.
        """
        margins = self._serve_row(X[0]) if len(X) == 1 else self.functions_.evaluate(X)
        classes: np.ndarray = self.classes_[self._score(margins).argmax(axis=1)]
        return classes

    def _serve_row(self, x: np.ndarray) -> np.ndarray:
        """Return the margins of one row, (1, n_functions), by the fastest way there is."""
        functions = self.functions_
        if isinstance(functions, LinearFunctions):
            margins: np.ndarray = (functions.coef @ x + functions.intercept)[None]
            return margins
        if functions.pool is None or issparse(functions.pool) or not len(functions.pool):
            return functions.evaluate(x[None])
        scorer = self._make_once(
            lambda: FastKernelScorer(
                functions.kernel,
                functions.gamma,
                functions.pool,
                functions.coef.toarray(),
                functions.intercept,
            )
        )
        scores: np.ndarray = scorer.scores(x)
        return scores[None].astype(np.float64)

    def _make_once(self, make: Callable[[], Any]) -> Any:
        """Return the scorer of the functions, made at its first use after a fit."""
        made_for, scorer = self.__dict__.get("_scorer", (None, None))
        if made_for is not self.functions_:
            scorer = make()
            self._scorer = (self.functions_, scorer)
        return scorer

    def decision_path(self, X: Any) -> csr_array:
        """Return which functions are evaluated for each row, (n, n_functions): all of them."""
        shape = (self._read_rows(X).shape[0], len(self.functions_.intercept))
        return csr_array(np.ones(shape, dtype=bool))

    def evaluations(self, X: Any) -> np.ndarray:
        """Return what each row costs: functions if linear, else distinct kernel values."""
        n = self._read_rows(X).shape[0]
        every = csr_array(np.ones((1, len(self.functions_.intercept)), dtype=bool))
        return np.repeat(self.functions_.count_evaluations(every), n)

    def functions_at(self, X: Any) -> np.ndarray:
        """Return the margin of each function at each row, (n, n_functions)."""
        X = self._read_rows(X)
        return self.functions_.evaluate(X, self.n_jobs)

    def _check_opened(self) -> None:
        self._check_functions(self.functions_)
        if len(self.functions_.intercept) != self._count_functions(len(self.classes_)):
            raise InvalidArgument("functions_ do not fit classes_.")
        if self.probability and self.inverse_temperature_ is None:
            raise InvalidArgument(
                "inverse_temperature_ must be a number where there are probabilities."
            )
        self.graph_ = None

    @staticmethod
    @abstractmethod
    def _count_functions(n_classes: int) -> int:
        """Return how many functions tell so many classes apart."""

    @abstractmethod
    def _trainer(self, index: np.ndarray) -> Train:
        """Return how to train the functions of rows with the classes ``index``."""

    @abstractmethod
    def _score(self, margins: np.ndarray) -> np.ndarray:
        """Return a score for each class, (n, n_classes), from the margins of the functions."""

    def _calibrate(
        self, problems: Problems, index: np.ndarray, folds: dict[str, Any], lengths: np.ndarray
    ) -> None:
        """Fit the scale of the scores to held-out rows, and keep what is said of those."""
        self.inverse_temperature_, self.rank_doubts_ = 1.0, np.empty(0, dtype=np.float32)
        if (np.bincount(index) >= 2).sum() < 2:
            return  # a fold could be left with a single class: there is nothing to learn from
        train, of_folds = self._trainer(index), []

        def train_fold(
            part: Problems, C: float, weight: np.ndarray, start: Trained | None
        ) -> Trained:
            trained = train(part, C, weight, start)
            of_folds.append(part.lengths(trained))
            return trained

        scores = hold_out(problems, train_fold, index, grid=(self.C_,), **folds)[0]
        scores = scores.astype(np.float64)
        scale, _ = fit_scale(scores, index)
        answer = scores.argmax(axis=1)
        self.calibration_ = fit_confidence(softmax(scale * scores, axis=1), answer, index)
        probability = self._share(scores, scale)
        self.inverse_temperature_ = scale / float(measure_growth(lengths, of_folds).mean())
        self.rank_doubts_ = find_rank_doubts(probability, index)
        self.held_out_ = HeldOut.from_probabilities(
            np.arange(len(index)), probability, index, N_FOLDS
        )

    def _check_arguments(self) -> None:
        owner = type(self).__name__
        self._check_shared(owner)
        if not isinstance(self.class_weight, dict):
            check_choice(owner, "class_weight", self.class_weight, (None, "balanced"))

    def _find_weighted(self, weight: np.ndarray) -> np.ndarray:
        """Return the rows that have a weight; all of them where X is a Gram matrix."""
        if not weight.any():
            raise InvalidArgument("sample_weight must not be zero for every row; give some weight.")
        is_gram = self.kernel == "precomputed"
        return np.arange(len(weight)) if is_gram else np.flatnonzero(weight)

    def _weigh_rows(self, index: np.ndarray) -> np.ndarray:
        """Return the weight of each row, by its class."""
        given = self.class_weight if isinstance(self.class_weight, dict) else {}
        unknown = set(given) - set(self.classes_.tolist())
        if unknown:
            raise InvalidArgument(
                f"class_weight of {type(self).__name__} must have classes as keys; got "
                f"{unknown.pop()!r}, which is not in y."
            )
        weights = np.array([float(given.get(label, 1.0)) for label in self.classes_.tolist()])
        row_weights: np.ndarray = weights[index]
        return row_weights

"""What a key says of rows held out of its training, and probabilities that are right as often.

A kind with a single row can never be named rightly when that row is held out: it counts as an
error, as it would for a user.

Probabilities are fitted to held-out rows by making the rows' own classes likely. Two things are
then still wrong.

*The form.* One scale of all scores cannot make both the answer and the rest right. Of the answer,
p' = 1 / (1 + exp(−(slope · logit p + offset))) is fitted to whether held-out answers are right,
and the other classes share what is left as before. The answer stays the largest.

*The size.* The functions of the folds are trained on fewer rows. Those of all rows are longer, and
so are their margins, by which they are no surer: a scale that was fitted to the folds is divided by
how much longer they are (:func:`measure_growth`).
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from scipy.special import logit

from fieldguide._saving import FLOATS, INTEGERS, Array, IfSet, Number, OrNone, Part
from fieldguide.svm import SigmoidCalibration, calibrate_margins

CONFIDENCE = IfSet(OrNone(Part(SigmoidCalibration, {"slope": Number(0), "offset": Number()})))
_NEAR = 1e-9  # of 0 and 1

_LOG_SCALE_RANGE = (-3.0, 5.0)
_SHRINKAGE = 2.0


def fit_confidence(
    probability: np.ndarray, answer: np.ndarray, index: np.ndarray
) -> SigmoidCalibration | None:
    """Return how sure the answers to held-out rows should be; None for two classes.

    Of two classes the scale says it all.
    """
    if probability.shape[1] == 2:
        return None
    told = _logit(probability[np.arange(len(answer)), answer])
    return calibrate_margins(told, np.where(answer == index, 1.0, -1.0))


def apply_confidence(
    probability: np.ndarray, answer: np.ndarray, confidence: SigmoidCalibration | None
) -> np.ndarray:
    """Return distributions in which the answers are as sure as they should be, and the largest."""
    if confidence is None:
        return probability
    own = np.arange(len(answer)), answer
    rest = probability.astype(np.float64)
    rest[own] = 0
    rest /= np.maximum(rest.sum(axis=1, keepdims=True), _NEAR)
    second = rest.max(axis=1)
    sure = confidence.probability(_logit(probability[own]))
    # A hair above the second: equal entries would leave the answer to the order of the classes.
    sure = np.maximum(sure, second / (1 + second) * (1 + 1e-9))
    rest *= 1 - sure[:, None]
    rest[own] = sure
    shares: np.ndarray = rest / rest.sum(axis=1, keepdims=True)
    return shares


def measure_growth(lengths: np.ndarray, of_folds: Sequence[np.ndarray]) -> np.ndarray:
    """Return how much longer functions are than on average over the folds, (n_functions,)."""
    mean = np.mean(np.sort(np.stack(list(of_folds)), axis=0), axis=0)  # in whatever order they came
    return np.where((lengths > 0) & (mean > 0), lengths / np.where(mean > 0, mean, 1), 1.0)


def _logit(p: np.ndarray) -> np.ndarray:
    logits: np.ndarray = logit(np.clip(p.astype(np.float64), _NEAR, 1 - _NEAR))
    return logits


class HeldOut(NamedTuple):
    """Answers for rows that were left out of the training.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    >>> told = HeldOut.from_probabilities(np.arange(3), p, np.array([0, 1, 1]), n_folds=3)
    >>> told.answer.tolist(), told.confidence.tolist(), round(told.accuracy, 2)
    ([0, 1, 0], [0.9, 0.8, 0.6], 0.67)
    """

    rows: np.ndarray  # (n,) the training rows that were held out
    answer: np.ndarray  # (n,) classes, as numbers of classes_
    confidence: np.ndarray  # (n,) probability of the answer
    accuracy: float
    mean_class_accuracy: float
    n_folds: int
    own_probability: np.ndarray | None = (
        None  # (n,) probability of the row's own class; None of older keys
    )

    @classmethod
    def from_probabilities(
        cls, rows: np.ndarray, probability: np.ndarray, index: np.ndarray, n_folds: int
    ) -> Self:
        """Judge held-out probabilities, (n, n_classes), by the rows' own classes."""
        answer = probability.argmax(axis=1)
        is_right = answer == index
        shares = 1 / np.bincount(index)[index]
        return cls(
            rows,
            answer,
            probability.max(axis=1),
            float(is_right.mean()),
            float(shares @ is_right / shares.sum()),
            n_folds,
            probability[np.arange(len(index)), index],
        )


HELD_OUT = OrNone(
    Part(
        HeldOut,
        {
            "rows": Array(INTEGERS, "n_held_out", low=0),
            "answer": Array(INTEGERS, "n_held_out", within=(0, "n_classes")),
            "confidence": Array(FLOATS, "n_held_out").once("sure"),
            "accuracy": Number(0, 1.001),  # a mean may be above 1 by rounding
            "mean_class_accuracy": Number(0, 1.001),
            "n_folds": Number(0, whole=True),
            "own_probability": IfSet(OrNone(Array(FLOATS, "n_held_out"))).once("own"),
        },
    )
)


def fit_node_scales(margins: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Return the scale of each node for which the sides that classes go to are most likely.

    ``side`` is −1 or +1 where the class of a row goes one way at a node; other entries are left
    out. Both are (n, n_nodes). Deep nodes see few rows, so each log-scale is drawn to that of all
    nodes together, as by a normal prior of half a unit's deviation.
    """
    is_decided = np.abs(side) == 1
    signed = (margins * side).astype(np.float64)
    together = _fit_log_scale(signed[is_decided], 0.0, 0.0)
    return np.exp(
        [
            _fit_log_scale(signed[is_decided[:, node], node], together, _SHRINKAGE)
            for node in range(margins.shape[1])
        ]
    )


def _fit_log_scale(z: np.ndarray, centre: float, shrinkage: float) -> float:
    """Return log s with the least Σ log(1 + exp(−s z)) + shrinkage · (log s − centre)²."""
    from scipy.optimize import minimize_scalar

    if not len(z):
        return centre

    def loss(log_scale: float) -> float:
        missed = np.logaddexp(0, -np.exp(log_scale) * z).sum()
        return float(missed + shrinkage * (log_scale - centre) ** 2)

    return float(minimize_scalar(loss, bounds=_LOG_SCALE_RANGE, method="bounded").x)

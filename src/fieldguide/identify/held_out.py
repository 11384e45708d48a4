"""What a key says of its own training rows, each when its fold is left out of the training.

A kind with a single row can never be named rightly when that row is held out: it counts as an
error, as it would for a user.
"""

from typing import NamedTuple, Self

import numpy as np

from fieldguide._saving import FLOATS, INTEGERS, Array, IfSet, Number, OrNone, Part


class HeldOut(NamedTuple):
    """Answers for rows that were left out of the training."""

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

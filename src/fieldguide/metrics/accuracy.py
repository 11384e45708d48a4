"""How often answers are right, and whether they are right as often as their probabilities say."""

from typing import Any, NamedTuple

import numpy as np

from fieldguide.errors import InvalidArgument


def mean_class_accuracy(y_true: Any, y_pred: Any) -> float:
    """Return the mean over kinds of the share of their specimens that is predicted right.

    The kinds are those of ``y_true``; a kind that occurs in the predictions alone is an error
    there, and not a kind of its own.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        The kind of each specimen.
    y_pred : array-like of shape (n,)
        What it is said to be.

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> from fieldguide.metrics import mean_class_accuracy
    >>> mean_class_accuracy(["owl", "owl", "owl", "wren"], ["owl", "owl", "owl", "owl"])
    0.5
    """
    truth, guess = np.asarray(y_true), np.asarray(y_pred)
    if truth.ndim != 1 or truth.shape != guess.shape or not truth.size:
        raise InvalidArgument(
            "y_true and y_pred of mean_class_accuracy must be two lists of the same length, "
            f"not empty; got shapes {truth.shape} and {guess.shape}."
        )
    if _is_names(truth) != _is_names(guess):
        raise InvalidArgument(
            "y_true and y_pred of mean_class_accuracy must be both names or both numbers; "
            f"got {truth.tolist()[0]!r} and {guess.tolist()[0]!r}."
        )
    k = np.unique(truth, return_inverse=True)[1]
    return float(np.mean(np.bincount(k, weights=truth == guess) / np.bincount(k)))


def _is_names(y: np.ndarray) -> bool:
    """Return whether the labels are text; refuse what is neither text nor number, and NaN."""
    labels = y.tolist()
    is_text = all(isinstance(label, str) for label in labels)
    if not is_text and not all(isinstance(label, int | float) for label in labels):
        raise InvalidArgument("Labels of mean_class_accuracy must be all names or all numbers.")
    if any(label != label for label in labels):
        raise InvalidArgument(
            "Labels of mean_class_accuracy must not be NaN; leave these rows out."
        )
    return is_text


class Reliability(NamedTuple):
    """Answers in bins of equal width, by how sure they were; bins without any are left out.

    Examples
    --------
    >>> found = Reliability(np.array([0.6, 0.9]), np.array([0.5, 0.9]), np.array([10, 30]))
    >>> round(found.error, 3)  # 10 of 40 answers are 0.1 too sure
    0.025
    """

    confidence: np.ndarray  # (n_bins,) mean probability of the answers
    accuracy: np.ndarray  # (n_bins,) share of them that was right
    n_answers: np.ndarray  # (n_bins,) answers

    @property
    def error(self) -> float:
        """Expected calibration error: confidence against accuracy, a bin by its answers."""
        return float(
            self.n_answers @ np.abs(self.confidence - self.accuracy) / self.n_answers.sum()
        )


def measure_reliability(confidence: Any, is_right: Any, n_bins: int = 10) -> Reliability:
    """Return how often answers of each probability are right.

    Parameters
    ----------
    confidence : array-like of shape (n,)
        The probability that each answer was given with.
    is_right : array-like of shape (n,)
    n_bins : int

    Examples
    --------
    >>> told = measure_reliability([0.95, 0.95, 0.55, 0.55], [True, True, True, False], 2)
    >>> told.confidence.tolist(), told.accuracy.tolist(), round(told.error, 3)
    ([0.75], [0.75], 0.0)
    """
    p, right = np.asarray(confidence, dtype=np.float64), np.asarray(is_right, dtype=np.float64)
    if p.ndim != 1 or p.shape != right.shape or not p.size:
        raise InvalidArgument(
            "confidence and is_right of measure_reliability must be two lists of equal length, not "
            f"empty; got shapes {p.shape} and {right.shape}."
        )
    if not ((p >= 0) & (p <= 1 + 1e-9)).all():
        raise InvalidArgument(
            "confidence of measure_reliability must be probabilities, from 0 to 1."
        )
    place = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    count = np.bincount(place, minlength=n_bins)
    is_used = count > 0
    of = np.maximum(count, 1)
    means = (np.bincount(place, weights=v, minlength=n_bins) / of for v in (p, right))
    told, found = (mean[is_used] for mean in means)
    return Reliability(told, found, count[is_used])

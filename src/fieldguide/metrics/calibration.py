"""Whether probabilities mean what they say: of the answers given with p, a share p is right."""

from typing import Any, NamedTuple

import numpy as np

from fieldguide.errors import InvalidArgument


class Reliability(NamedTuple):
    """Answers in bins of equal width, by how sure they were; bins without any are left out."""

    confidence: np.ndarray  # (n_bins,) mean probability of the answers
    accuracy: np.ndarray  # (n_bins,) share of them that was right
    n_answers: np.ndarray  # (n_bins,) answers

    @property
    def error(self) -> float:
        """Expected calibration error: the mean distance of the two, by the number of answers."""
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

"""How often a kind is recognized, each kind counting the same however many specimens it has."""

from typing import Any

import numpy as np

from fieldguide.errors import InvalidArgument


def mean_class_accuracy(y_true: Any, y_pred: Any) -> float:
    """Return the mean over kinds of the share of their specimens that is predicted right.

    The kinds are those of ``y_true``; a kind that is only predicted counts as wrong where it is,
    and not as a kind of its own.

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

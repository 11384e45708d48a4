"""What a key says of rows that it has not seen: cross-validation by kind.

Each kind is dealt over the folds as evenly as its size allows, so that small kinds are not lost
to one fold. A kind with a single row can never be named rightly when that row is held out: it
counts as an error, as it would for a user.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from fieldguide._parallel import map_in_order
from fieldguide.svm.folds import deal_folds


class HeldOut(NamedTuple):
    """Answers for rows that were left out of the training."""

    answer: np.ndarray  # (n,) kinds
    sure: np.ndarray  # (n,) probability of the answer
    accuracy: float
    mean_class_accuracy: float


def hold_out(
    key: Any,
    X: np.ndarray,
    y: np.ndarray,
    *,
    n_folds: int = 5,
    random_state: int = 0,
    n_jobs: int = 1,
) -> HeldOut:
    """Train ``key`` on all folds but one, in turn, and ask it about the one."""
    fold = deal_folds(y, n_folds, random_state)

    def answer_fold(k: int) -> tuple[np.ndarray, np.ndarray]:
        trained = clone(key).fit(X[fold != k], y[fold != k])
        probability = trained.predict_proba(X[fold == k])
        return trained.classes_[probability.argmax(axis=1)], probability.max(axis=1)

    answer = np.empty(len(y), dtype=y.dtype)
    sure = np.empty(len(y))
    used = [k for k in range(n_folds) if (fold == k).any()]
    results = map_in_order(answer_fold, used, n_jobs=n_jobs)
    for k, (kinds, probability) in zip(used, results, strict=True):
        answer[fold == k] = kinds
        sure[fold == k] = probability
    is_right = answer == y
    per_class = [is_right[y == kind].mean() for kind in np.unique(y)]
    return HeldOut(answer, sure, float(is_right.mean()), float(np.mean(per_class)))

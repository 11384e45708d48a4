"""Folds for cross-validation: each class is dealt over them as evenly as its size allows."""

import numpy as np


def deal_folds(y: np.ndarray, n_folds: int, random_state: int) -> np.ndarray:
    """Return a fold for each row; within a kind, fold sizes differ by at most one."""
    rng = np.random.default_rng(random_state)
    fold = np.empty(len(y), dtype=np.int64)
    start = 0
    for kind in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == kind))
        fold[rows] = (start + np.arange(len(rows))) % n_folds
        start += len(rows)  # the next kind goes on where this one ended, so folds stay even
    return fold

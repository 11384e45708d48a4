"""Chance by one number: generators for pieces of work, and the folds that rows are dealt to."""

import numpy as np


def spawn_generators(seed: int, n: int) -> list[np.random.Generator]:
    """Return ``n`` independent generators, the i-th always the same for a given ``seed``.

    Spawned before parallel work is handed out, so that the result cannot depend on ``n_jobs``.

    >>> a, b = spawn_generators(0, 2)
    >>> a.integers(100) == spawn_generators(0, 5)[0].integers(100)
    np.True_
    """
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(n)]


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

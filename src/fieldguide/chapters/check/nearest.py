"""The nearest specimens of each, among all, in memory that grows with the collection alone.

A build looks for the nearest ones of a large collection in a sample, which is right for words and
wrong for copies. Here rows are first reduced to the directions that vary most, and then compared
block by block: the time grows with the square of the collection, by 128 products a pair.
"""

import numpy as np
from threadpoolctl import threadpool_limits

from fieldguide.features import find_components
from fieldguide.guide.summaries import find_nearest

N_DIRECTIONS = 128
_N_SAMPLE = 1024  # rows, to say which directions vary most
_BLOCK = 1024  # rows


def find_near(X: np.ndarray, k: int) -> np.ndarray:
    """Return the ``k`` nearest rows of each, itself not among them, (n, min(k, n - 1))."""
    n = len(X)
    with threadpool_limits(1, "blas"):  # another number of threads may sum in another order
        return find_nearest(reduce_rows(X), np.arange(n), min(k, n - 1))


def reduce_rows(embedding: np.ndarray) -> np.ndarray:
    """Return rows of length 1 in the directions that vary most, (n, at most N_DIRECTIONS)."""
    n = len(embedding)
    sample = np.asarray(embedding[:: -(-n // _N_SAMPLE)], dtype=np.float32)
    centre, axes = find_components(sample, N_DIRECTIONS)
    directions = axes.T
    rows = np.empty((n, directions.shape[1]), dtype=np.float32)
    for start in range(0, n, _BLOCK):
        part = np.asarray(embedding[start : start + _BLOCK], dtype=np.float32)
        rows[start : start + _BLOCK] = (part - centre.astype(np.float32)) @ directions
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

"""Words found among many descriptors: k-means, and the nearest of its middles.

Distances of a block of rows to all words are one matrix product; the k least of each row are
picked in one pass over it. Sums are taken in order, so the number of threads changes nothing.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fieldguide._jit import jit
from fieldguide._parallel import map_in_order
from fieldguide.errors import InvalidArgument

_BLOCK = 512  # descriptors whose distances to all words stay in the cache
_CHUNK = 8192  # descriptors in one piece of work of the clustering


class WordLearner:
    """Base of what learns words from descriptors; the last word is that of plain windows."""

    n_words: int
    n_iter: int
    n_jobs: int | None
    words_: np.ndarray
    frequency_: np.ndarray

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Find the words of ``X``, which is read twice, and return its histograms."""
        if isinstance(X, Iterator):
            raise InvalidArgument(
                f"X of {type(self).__name__}.fit_transform is read twice and must not be an "
                "iterator; give a list, an array or a Collection."
            )
        fitted: Any = self
        histograms: np.ndarray = fitted.fit(X, y).transform(X)
        return histograms

    def _learn_words(
        self, rows: np.ndarray, plain_share: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Keep the middles of clusters, most frequent first; return each row's and its distance."""
        middles = cluster_rows(rows, self.n_words - 1, rng, n_iter=self.n_iter, n_jobs=self.n_jobs)
        word, distance = assign_rows(rows, middles, self.n_jobs)
        counts = np.bincount(word, minlength=self.n_words - 1)
        order = np.argsort(-counts, kind="stable")
        self.words_ = np.vstack([middles[order], np.zeros((1, rows.shape[1]), np.float32)])
        shares = counts[order] / counts.sum() * (1 - plain_share)
        self.frequency_ = np.append(shares, plain_share).astype(np.float32)
        return np.argsort(order)[word], distance


def cluster_rows(
    X: np.ndarray, k: int, rng: np.random.Generator, *, n_iter: int = 20, n_jobs: int | None = None
) -> np.ndarray:
    """Return the k middles of Lloyd's k-means after ``n_iter`` rounds, from k random rows.

    A middle that no row is nearest to moves to a row that is far from its own. Distances are
    found in threads, sums taken in order, so ``n_jobs`` does not change the answer.
    """
    middles = X[np.sort(rng.choice(len(X), k, replace=False))]
    return move_middles(X, middles, n_iter, n_jobs=n_jobs)


def move_middles(
    X: np.ndarray,
    middles: np.ndarray,
    n_iter: int,
    *,
    keep_all: bool = True,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return where ``middles`` are after ``n_iter`` of Lloyd's rounds, or where they stand still.

    A middle without rows moves to a row that is far from its own or, unless all are kept, is left
    out.
    """
    for _ in range(n_iter):
        word, distance = assign_rows(X, middles, n_jobs)
        is_used, moved = find_middles(X, word, len(middles))
        if keep_all:
            means, moved = moved, np.empty_like(middles)
            moved[is_used] = means
            if n_empty := len(middles) - len(means):
                moved[~is_used] = X[np.argsort(-distance, kind="stable")[:n_empty]]
        if np.array_equal(moved, middles):
            break
        middles = moved
    return middles


def find_middles(X: np.ndarray, word: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which of k words have rows, (k,) bool, and the means of these."""
    sums, counts = np.zeros((k, X.shape[1])), np.zeros(k, np.int64)
    add_rows(X, word, sums, counts)
    is_used = counts > 0
    return is_used, sums[is_used] / counts[is_used, None]


def assign_rows(
    X: np.ndarray, words: np.ndarray, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest word of each row and the squared distance to it."""

    def assign(start: int) -> tuple[np.ndarray, np.ndarray]:
        return nearest_words(X[start : start + _CHUNK], words, 1)

    parts = list(map_in_order(assign, range(0, len(X), _CHUNK), n_jobs=n_jobs))
    word, distance = (np.concatenate(column)[:, 0] for column in zip(*parts, strict=True))
    return word, distance


def nearest_words(X: np.ndarray, words: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest words of each row, nearest first, and the squared distances, (n, k)."""
    half_squares = 0.5 * np.einsum("ij,ij->i", words, words)
    index = np.empty((len(X), k), np.int64)
    score = np.empty((len(X), k), X.dtype)
    for start in range(0, len(X), _BLOCK):
        part = slice(start, start + _BLOCK)
        select_least(X[part] @ words.T, half_squares, index[part], score[part])
    squares = np.einsum("ij,ij->i", X, X)
    return index, np.maximum(2 * score + squares[:, None], 0)


@jit
def add_rows(X: np.ndarray, word: np.ndarray, sums: np.ndarray, counts: np.ndarray) -> None:
    """Add each row of X (n, d) to the sum of its word, in order."""
    for i in range(X.shape[0]):
        target, row = sums[word[i]], X[i]
        for p in range(len(row)):
            target[p] += row[p]
        counts[word[i]] += 1


@jit
def select_least(
    products: np.ndarray, half_squares: np.ndarray, index: np.ndarray, score: np.ndarray
) -> None:
    """Write the places of the k least half_squares − products of each row, least first. O(nm)."""
    k = index.shape[1]
    for i in range(products.shape[0]):
        row = products[i]
        best, place = score[i], index[i]
        for a in range(k):
            best[a] = np.inf
            place[a] = 0
        worst = best[k - 1]
        for j in range(len(row)):
            value = half_squares[j] - row[j]
            if value < worst:
                a = k - 1
                while a > 0 and best[a - 1] > value:
                    best[a] = best[a - 1]
                    place[a] = place[a - 1]
                    a -= 1
                best[a] = value
                place[a] = j
                worst = best[k - 1]

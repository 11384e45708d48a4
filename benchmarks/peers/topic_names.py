"""Peers: groups by scikit-learn's HDBSCAN or Ward, named as BERTopic names topics, by c-TF-IDF.

Of a group c and a word w with tf(c, w) rows of the group that show it and f(w) rows of all,

    weight = tf(c, w) / Σ_w tf(c, w) · log(1 + A / f(w)),

A being the mean number of words of a group. The words with the largest weights are its name. Groups
by k-means are named by the words that most of their rows show. Ward and k-means are told how many
groups there are.
"""

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans


def find_groups(A: np.ndarray, smallest: int) -> np.ndarray:
    """Return the group of each row, −1 for none."""
    model = HDBSCAN(min_cluster_size=smallest, metric="hamming", copy=True)
    return np.asarray(model.fit_predict(A.astype(float)))


def part_by_ward(A: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the group of each row."""
    return np.asarray(AgglomerativeClustering(n_groups).fit_predict(A))


def part_by_means(A: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the group of each row."""
    return np.asarray(KMeans(n_groups, n_init=10, random_state=0).fit_predict(A))


def name_by_frequency(A: np.ndarray, labels: np.ndarray, n_words: int) -> dict[int, list[int]]:
    """Return the words of each group that most of its rows show."""
    return {
        int(g): np.argsort(-A[labels == g].mean(axis=0), kind="stable")[:n_words].tolist()
        for g in np.unique(labels)
    }


def name_groups(A: np.ndarray, labels: np.ndarray, n_words: int) -> dict[int, list[int]]:
    """Return the words of each group, largest weight first."""
    groups = [int(g) for g in np.unique(labels) if g >= 0]
    shown = np.array([A[labels == g].sum(axis=0) for g in groups], dtype=float)
    if not len(groups):
        return {}
    rate = shown / np.maximum(shown.sum(axis=1, keepdims=True), 1)
    weight = rate * np.log1p(shown.sum(axis=1).mean() / np.maximum(A.sum(axis=0), 1))
    return {
        g: np.argsort(-w, kind="stable")[:n_words].tolist()
        for g, w in zip(groups, weight, strict=True)
    }

"""From a name to a group of kinds, where a key is unsure of the name.

A class lies in nested groups: the class itself, then the classes of each node on its way up to the
root. A key that is unsure answers with the smallest group that it is sure enough of:

    S_0 = {answer} ⊂ S_1 ⊂ … ⊂ all classes         the first with P(S_i | x) > t

A row is wrong at threshold t if the group that is chosen misses its class, that is, if the largest
group of its chain without its class has P > t. This P is the *doubt* of a held-out row. The
threshold is the doubt that a share ``confidence`` of n held-out rows does not exceed, counted as
(n + 1) · confidence of n: then new rows of the same source are in their group at least so often
(conformal prediction; groups only grow with t). The held-out rows were judged by functions of
fewer rows, which are a little less sure than the final ones; one standard error on top makes up
for most of that.
For every key, with a graph or without, there is a plainer chain: the likeliest class, the likeliest
two, three, … (:func:`choose_likeliest`), with doubts of its own.
"""

import math
from typing import NamedTuple

import numpy as np

from fieldguide.identify.graph import ABSENT, DecisionGraph


class Groups(NamedTuple):
    """What a key is sure enough of, for each row.

    Examples
    --------
    >>> from fieldguide.identify import RelaxedHierarchyClassifier
    >>> X = np.repeat(np.eye(4), 9, axis=0) + np.random.default_rng(0).normal(0, 0.1, (36, 4))
    >>> key = RelaxedHierarchyClassifier(C=10.0, random_state=0).fit(X, np.repeat(list("abcd"), 9))
    >>> groups = key.predict_groups(np.eye(4)[:1], confidence=0.9)
    >>> key.classes_[groups.members[0]].tolist()
    ['a']
    """

    members: np.ndarray  # (n, n_classes) bool: the classes of the group
    node: np.ndarray  # (n,) the node whose classes they are; -1 where it is one class


def find_chains(graph: DecisionGraph) -> list[np.ndarray]:
    """Return the nodes from the first root down to each class, (n_classes,) arrays of numbers.

    A class that goes both ways is followed to where more of its training rows lie.
    """
    n, counts = graph.n_nodes, graph.leaf_counts.toarray()
    weight = np.zeros((n + graph.n_leaves, graph.n_classes))
    weight[n:] = counts[::-1]  # leaf l has the place −1 − l
    for j in range(n - 1, -1, -1):
        weight[j] = weight[graph.left[j]] + weight[graph.right[j]]
    chains = []
    for k in range(graph.n_classes):
        node, chain = int(graph.roots[0]), []
        while node >= 0:
            chain.append(node)
            left, right = int(graph.left[node]), int(graph.right[node])
            node = right if weight[right, k] > weight[left, k] else left
        chains.append(np.array(chain, dtype=np.int64))
    return chains


def choose_groups(
    graph: DecisionGraph, probability: np.ndarray, answer: np.ndarray, threshold: float
) -> Groups:
    """Return the smallest group of each row whose probability is above a threshold."""
    is_there = graph.colors != ABSENT
    members = np.zeros(probability.shape, dtype=bool)
    members[np.arange(len(answer)), answer] = True
    node = np.full(len(answer), -1)
    own = probability[np.arange(len(answer)), answer]
    chains = find_chains(graph)
    for k in np.unique(answer[own <= threshold]):
        rows = np.flatnonzero((answer == k) & (own <= threshold))
        chain = chains[k][::-1]  # from the class up
        if not len(chain):
            continue
        is_sure = probability[rows] @ is_there[chain].T > threshold
        is_sure[:, -1] = True
        node[rows] = chain[is_sure.argmax(axis=1)]
        members[rows] = is_there[node[rows]]
        members[rows, k] = True
    return Groups(members, node)


def find_doubts(
    graph: DecisionGraph, probability: np.ndarray, answer: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the doubts of held-out rows, ascending, (n,); 0 for a row that is named rightly."""
    is_there = graph.colors != ABSENT
    doubts = np.zeros(len(labels))
    chains = find_chains(graph)
    for k in np.unique(answer):
        rows = np.flatnonzero((answer == k) & (labels != k))
        doubts[rows] = probability[rows, k]
        chain = chains[k]
        if not len(rows) or not len(chain):
            continue
        misses = ~is_there[chain][:, labels[rows]].T
        mass = probability[rows] @ is_there[chain].T
        doubts[rows] = np.maximum(doubts[rows], (mass * misses).max(axis=1))
    return np.sort(doubts).astype(np.float32)


def find_rank_doubts(probability: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return how much held-out rows give to classes before their own, ascending, (n,)."""
    own = probability[np.arange(len(labels)), labels][:, None]
    before = np.where(probability > own, probability, 0).sum(axis=1)
    return np.sort(before).astype(np.float32)


def choose_likeliest(probability: np.ndarray, threshold: float) -> np.ndarray:
    """Return the fewest classes of each row that together are above a threshold, (n, n) bool."""
    order = np.argsort(-probability, axis=1, kind="stable")
    mass = np.cumsum(np.take_along_axis(probability, order, axis=1), axis=1)
    before = np.concatenate([np.zeros((len(mass), 1)), mass[:, :-1]], axis=1)
    members = np.zeros(probability.shape, dtype=bool)
    np.put_along_axis(members, order, before <= threshold, axis=1)
    return members


def find_threshold(doubts: np.ndarray, confidence: float) -> float:
    """Return the threshold at which groups hold as often as asked; above 1: only the whole."""
    n = len(doubts)
    rank = math.ceil((n + 1) * confidence + math.sqrt(n * confidence * (1 - confidence)))
    return float(doubts[rank - 1]) if rank <= len(doubts) else np.inf

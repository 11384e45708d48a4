"""How sure a tree in words is of its branches: would their specimens come back to them?

Each specimen is taken out of the tree and put back by its words alone. A node v that n_v
specimens sit at, of which a share r_vd shows word d, takes it with probability

    p(v | x)  ∝  n_v  Π_d  (r_vd^x_d (1 − r_vd)^(1 − x_d))^w_d

with the specimen itself left out of n_v and r_vd, and w_d the weight of the word in the growing of
the tree. A branch is as sure as the mean probability with which its specimens come back to it or
to a branch below it: the *held mass*. The meaning is the same whatever method grew the tree.
"""

import numpy as np

from fieldguide.metrics import ancestor_matrix

_PRIOR = 1.0  # specimens, with the shares of the whole collection, that every node is given
_BLOCK = 2048


def held_mass(
    parent: np.ndarray, labels: np.ndarray, shows: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return how sure a tree is of each branch; 1 for the root.

    Parameters
    ----------
    parent : ndarray of shape (n_nodes,)
        Pre-order; -1 for the root.
    labels : ndarray of shape (n,)
        Node of each specimen.
    shows : ndarray of shape (n, n_words), bool
    weights : ndarray of shape (n_words,)
    """
    is_above = ancestor_matrix(parent)
    total = np.zeros(len(parent))
    for begin in range(0, len(labels), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        mass = place_rows(labels, shows, weights, len(parent), rows) @ is_above
        total += (mass * is_above[labels[rows]]).sum(axis=0)
    counts = np.bincount(labels, minlength=len(parent)) @ is_above
    return np.clip(total / np.maximum(counts, 1), 0, 1)


def place_rows(
    labels: np.ndarray, shows: np.ndarray, weights: np.ndarray, n_nodes: int, rows: slice
) -> np.ndarray:
    """Return p(node | words) of some rows, each left out of its own node, (n_rows, n_nodes)."""
    counts = np.bincount(labels, minlength=n_nodes).astype(np.float64)
    sums = np.zeros((n_nodes, shows.shape[1]))
    np.add.at(sums, labels, shows)
    base = np.clip(shows.mean(axis=0), 1 / (2 * len(shows)), 1 - 1 / (2 * len(shows)))
    X, own = shows[rows].astype(np.float64), labels[rows]
    log_p = _log_masses(X, counts, sums, base, weights)
    left_counts = counts[own] - 1
    rates = (sums[own] - X + _PRIOR * base) / (left_counts + _PRIOR)[:, None]
    said = np.where(X > 0, np.log(rates), np.log1p(-np.minimum(rates, 1 - 1e-12))) @ weights
    with np.errstate(divide="ignore"):
        log_p[np.arange(len(own)), own] = np.log(left_counts) + said
    top = log_p.max(axis=1, keepdims=True)
    p = np.exp(log_p - np.where(np.isfinite(top), top, 0))
    return p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300)


def _log_masses(
    X: np.ndarray, counts: np.ndarray, sums: np.ndarray, base: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return log n_v plus the weighted log-likelihood of each row at each node."""
    rates = (sums + _PRIOR * base) / (counts + _PRIOR)[:, None]
    shown, hidden = weights * np.log(rates), weights * np.log1p(-rates)
    with np.errstate(divide="ignore"):  # a node where no specimen sits takes none
        return np.log(counts) + X @ (shown - hidden).T + hidden.sum(axis=1)

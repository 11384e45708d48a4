"""What the margins met on the way say about the class: the evidence of a shortlist.

Rows of class k have log-odds about m_jk at node j. With z_j the log-odds of a row at the nodes
that it was asked, taken as normal and independent, and r_k = 1 if a leaf of k was reached,

    log P(k | z) = −Σ_j (z_j − m_jk)² / (2 T σ_j²) + b r_k + const

==========  ========================================================================
m_jk, σ_j   mean of a class and spread within classes at node j, of held-out rows
T           temperature: margins of one path are not independent, so that the plain
            sum is too sure of itself
b           what a leaf counts for: sums of normals know nothing of the sides taken
==========  ========================================================================

T and b make the classes of held-out rows most likely.

A class of few rows is drawn to the classes that go the same way at the node.
"""

import numpy as np
from scipy.special import logsumexp

from fieldguide.identify.graph import BOTH, LEFT, MOST_LOGIT, MOST_PRECISION, RIGHT

_WEIGHT_BOUNDS = ((0.0, 5.0), (0.0, 8.0))  # of log T and of b
_MAX_ROWS = 2000  # that two weights are fitted to
_LEAST_VARIANCE = 1e-6
_OWN_WEIGHT = 1.0  # rows that what is known of a node's side counts for


def fit_evidence(
    logits: np.ndarray, labels: np.ndarray, colors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean log-odds of each class, (n_nodes, n_classes), and 1 / (2 σ²) of each node.

    Parameters
    ----------
    logits : array of shape (n, n_nodes)
        Of rows that the functions have not seen.
    labels : array of shape (n,)
        Their classes.
    colors : array of shape (n_nodes, n_classes)
        Which way each class goes at each node, as in a graph.
    """
    n_classes = colors.shape[1]
    logits = np.clip(logits, -MOST_LOGIT, MOST_LOGIT).astype(np.float64)
    count = np.bincount(labels, minlength=n_classes).astype(np.float64)
    sums = np.zeros((n_classes, logits.shape[1]))
    np.add.at(sums, labels, logits)
    centre = np.zeros_like(sums)
    for color in np.unique(colors):
        is_same = (colors == color).T
        n_rows = count @ is_same
        side = (sums * is_same).sum(axis=0) / np.maximum(n_rows, 1)
        unknown = {LEFT: -1.0, BOTH: 0.0, RIGHT: 1.0}.get(int(color), 0.0)
        side = np.where(n_rows > 0, side, unknown)
        mean = (sums + _OWN_WEIGHT * side) / (count[:, None] + _OWN_WEIGHT)
        centre = np.where(is_same, mean, centre)
    n_free = max(len(labels) - np.count_nonzero(count), 1)
    spread = ((logits - centre[labels]) ** 2).sum(axis=0) / n_free
    precision = np.minimum(0.5 / np.maximum(spread, _LEAST_VARIANCE), MOST_PRECISION)
    # Row by row, as searches read it.
    return np.ascontiguousarray(centre.T, dtype=np.float32), precision.astype(np.float32)


def weigh_evidence(
    logits: np.ndarray, is_asked: np.ndarray, class_logits: np.ndarray, precision: np.ndarray
) -> np.ndarray:
    """Return the log-probability of each class but for a constant of the row, (n, n_classes)."""
    z = np.clip(logits, -MOST_LOGIT, MOST_LOGIT).astype(np.float64)
    weight = is_asked * precision.astype(np.float64)
    centre = class_logits.astype(np.float64)
    log_p: np.ndarray = 2 * (weight * z) @ centre - weight @ centre**2
    return log_p


def fit_weights(
    scores: np.ndarray, is_reached: np.ndarray, labels: np.ndarray
) -> tuple[float, float]:
    """Return T and b for which softmax(scores / T + b · is_reached) makes the labels likeliest."""
    from scipy.optimize import minimize

    step = max(1, len(labels) // _MAX_ROWS)
    scores, is_reached, labels = scores[::step], is_reached[::step], labels[::step]
    own = np.arange(len(labels)), labels

    def loss(weights: np.ndarray) -> float:
        mixed = scores * np.exp(-weights[0]) + weights[1] * is_reached
        return float(np.mean(logsumexp(mixed, axis=1) - mixed[own]))

    found = minimize(loss, [1.0, 1.0], method="Nelder-Mead", bounds=_WEIGHT_BOUNDS)
    return float(np.exp(found.x[0])), float(found.x[1])

"""What a node of a stick-breaking tree holds, for both likelihoods, and how a new one is drawn.

=========  ================================  =====================================
kind       ATTRIBUTE                         BERNOULLI
=========  ================================  =====================================
theta      chance that the node adds an      logit of the chance of an attribute
           attribute
quiet      product of 1 - theta on the path  not used
spread     c, precision around the parent    sigma, step from the parent
noise      omega, chance of a flip           not used
=========  ================================  =====================================

An entry d of a row says that the row shows attribute d, an entry n_attributes + d that nothing is
known of it. The log-likelihood of a row at node k is base[k] plus the score[k] of its entries.
"""

import math
from typing import NamedTuple

import numpy as np

from fieldguide._arrays import Words
from fieldguide._jit import inner_jit, jit
from fieldguide.describe._draws import normal, truncated_beta

ATTRIBUTE, BERNOULLI = 0, 1


class Nodes(NamedTuple):
    """Arrays with room for more nodes than there are; the root is node 0."""

    n_used: np.ndarray  # (1,)
    parent: np.ndarray
    depth: np.ndarray
    first: np.ndarray  # first child, -1 without one
    last: np.ndarray
    following: np.ndarray  # next sibling
    stop: np.ndarray  # nu: share of what arrives that stays
    share: np.ndarray  # psi: share of what earlier siblings have left
    theta: np.ndarray  # (room, n_attributes)
    quiet: np.ndarray  # (room, n_attributes)
    score: np.ndarray  # (room, 2 n_attributes)
    base: np.ndarray


class Columns(NamedTuple):
    """Parameters of the attributes, and of the sticks."""

    kind: int
    floor: float  # theta lies in [floor, 1 - floor]
    max_depth: int
    noise: np.ndarray  # (n_attributes,)
    spread: np.ndarray  # (n_attributes,)
    hyper: np.ndarray  # (3,): alpha, lambda, gamma


def make_nodes(room: int, n_attributes: int) -> Nodes:
    """Return arrays for ``room`` nodes, with none in use."""
    links = ("parent", "depth", "first", "last", "following")
    sticks = ("stop", "share", "base")
    widths = {"theta": n_attributes, "quiet": n_attributes, "score": 2 * n_attributes}
    return Nodes(
        n_used=np.zeros(1, dtype=np.int64),
        **{name: np.full(room, -1) for name in links},
        **{name: np.zeros(room) for name in sticks},
        **{name: np.zeros((room, width)) for name, width in widths.items()},
    )


@inner_jit(counted=False)
def draw_theta(nodes: Nodes, columns: Columns, words: Words, k: int) -> None:
    """Draw theta of node k from its prior, given its parent."""
    above = nodes.parent[k]
    for d in range(nodes.theta.shape[1]):
        t = nodes.theta[above, d]
        c = columns.spread[d]
        if columns.kind == ATTRIBUTE:
            nodes.theta[k, d] = truncated_beta(words, c * t, c * (1.0 - t), columns.floor)
        else:
            nodes.theta[k, d] = t + c * normal(words)


@jit(counted=False)
def fill_scores(nodes: Nodes, columns: Columns, k: int) -> None:
    """Compute quiet, score and base of node k; those of its parent are there already."""
    above = nodes.parent[k]
    n = nodes.theta.shape[1]
    base = 0.0
    for d in range(n):
        t = nodes.theta[k, d]
        if columns.kind == ATTRIBUTE:
            quiet = 1.0 - t
            if above >= 0:
                quiet *= nodes.quiet[above, d]
            nodes.quiet[k, d] = quiet
            absent = columns.noise[d] + (1.0 - 2.0 * columns.noise[d]) * quiet
            log_absent = math.log(absent)
            nodes.score[k, d] = math.log(1.0 - absent) - log_absent
        else:
            log_absent = -max(t, 0.0) - math.log1p(math.exp(-abs(t)))
            nodes.score[k, d] = t
        nodes.score[k, n + d] = -log_absent
        base += log_absent
    nodes.base[k] = base


@jit(counted=False)
def fill_all_scores(nodes: Nodes, columns: Columns) -> None:
    """Compute the scores of every node; parents precede children."""
    for k in range(nodes.n_used[0]):
        fill_scores(nodes, columns, k)

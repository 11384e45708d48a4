"""The way of one row through a key: which nodes it meets, how far it is from each, which side.

    p(side taken at node j | x) = 1 / (1 + exp(−s_j |f_j(x)|))

The walk follows the sign of the margin, as a greedy search does, whatever the search of the key:
it is what a person can read. A search that also looks down the other side of close decisions may
give another answer than the leaf where the walk ends.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.utils.validation import check_array, check_is_fitted

from fieldguide.errors import InvalidArgument
from fieldguide.identify.graph import BOTH, LEFT, RIGHT


@dataclass(frozen=True)
class Step:
    """One decision on the way.

    Examples
    --------
    >>> from fieldguide.identify import DAGSVMClassifier, trace_path
    >>> X = np.repeat(np.eye(3), 4, axis=0)
    >>> key = DAGSVMClassifier(C=10.0).fit(X, np.repeat(list("abc"), 4))
    >>> step = trace_path(key, X[0])[0]
    >>> step.left, step.both, step.right, step.side  # a goes left, c right
    ((0,), (1,), (2,), -1)
    """

    node: int  # of the graph
    margin: float  # the value of the node's function
    probability: float  # of the side taken, at least a half
    side: int  # −1 left, +1 right
    child: int  # where it leads: a node, or −1 − leaf
    left: tuple[int, ...]  # classes that go left only
    both: tuple[int, ...]  # classes that go both ways
    right: tuple[int, ...]  # classes that go right only


def trace_path(key: Any, x: Any) -> list[Step]:
    """Return the decisions from the root to a leaf, by the sign of each margin.

    Parameters
    ----------
    key : fitted classifier of :mod:`fieldguide.identify`
    x : array of shape (n_features,), or one row as an array or a CSR matrix
        For the kernel "precomputed", its kernel values with the training rows.

    Returns
    -------
    list of Step
        Empty for keys without a graph.

    Examples
    --------
    >>> from fieldguide.identify import DAGSVMClassifier, trace_path
    >>> X = np.repeat(np.eye(3), 4, axis=0)
    >>> key = DAGSVMClassifier(C=10.0).fit(X, np.repeat(list("abc"), 4))
    >>> [(step.side, key.classes_[list(step.both)].tolist()) for step in trace_path(key, X[0])]
    [(-1, ['b']), (-1, [])]
    """
    check_is_fitted(key)
    graph = key.graph_
    if graph is None:
        return []
    margins = graph.functions.evaluate(_read_row(graph, x))[0]
    steps: list[Step] = []
    node = 0 if graph.n_nodes else -1
    while node >= 0:
        margin = float(margins[node])
        goes_right = margin > 0
        child = int((graph.right if goes_right else graph.left)[node])
        colors = graph.colors[node]
        steps.append(
            Step(
                node,
                margin,
                float(expit(float(graph.scale[node]) * abs(margin))),
                RIGHT if goes_right else LEFT,
                child,
                *(tuple(np.flatnonzero(colors == c).tolist()) for c in (LEFT, BOTH, RIGHT)),
            )
        )
        node = child
    return steps


def _read_row(graph: Any, x: Any) -> Any:
    if not issparse(x):
        x = np.asarray(x)
        x = x[None] if x.ndim == 1 else x
    row = check_array(x, accept_sparse="csr", dtype=(np.float32, np.float64), order="C")
    if row.shape != (1, graph.functions.n_features):
        raise InvalidArgument(
            f"trace_path takes one row of {graph.functions.n_features} columns; got "
            f"{row.shape[0]} of {row.shape[1]}."
        )
    return row

"""What a prediction costs, as a share of what one-vs-all spends on it."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fieldguide.errors import InvalidArgument
from fieldguide.identify.graph import DecisionGraph


def relative_complexity(key: Any, X: Any, reference: Any = None) -> np.ndarray:
    """Return the cost of each row over that of one-vs-all: RC of the papers, (n,).

    Costs are functions if linear, else distinct kernel values, as ``evaluations`` counts them.

    Parameters
    ----------
    key : fitted classifier of :mod:`fieldguide.identify`
    X : rows to predict
    reference : fitted classifier, optional
        What to compare with. By default one-vs-all: a function for each class; of kernel keys with
        a graph, the functions of the classes that they hold for the shortlist.

    Examples
    --------
    >>> from fieldguide.identify import OneVsOneClassifier, relative_complexity
    >>> X = np.arange(8.0)[:, None]
    >>> key = OneVsOneClassifier().fit(X, np.repeat(list("abcd"), 2))
    >>> relative_complexity(key, X[:2]).tolist()
    [1.5, 1.5]
    """
    cost = key.evaluations(X)
    if reference is not None:
        return cost / reference.evaluations(X)
    n_classes = len(key.classes_)
    if key.kernel == "linear":
        return cost / n_classes
    if key.graph_ is not None:
        return cost / cost_of_classes(key.graph_)
    if type(key).__name__ == "OneVsAllClassifier":
        return np.ones(len(cost))
    raise InvalidArgument(
        f"relative_complexity of a {type(key).__name__} with a kernel needs a reference; give a "
        "OneVsAllClassifier that was trained on the same rows."
    )


def cost_of_classes(graph: DecisionGraph) -> int:
    """Return what the functions of all classes of a graph cost: one-vs-all."""
    flat = np.arange(len(graph.functions.intercept)) >= graph.n_nodes
    return int(graph.functions.count_evaluations(csr_array(flat[None]))[0])

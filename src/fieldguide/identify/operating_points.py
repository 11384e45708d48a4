"""What a key costs and how often it is right, for each of its settings; which one to take.

All are measured on the same held-out rows, so that two settings are compared row by row: the
standard error of a difference of accuracies is that of the mean of (right here − right there),
which is far smaller than that of either accuracy.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from fieldguide.errors import InvalidArgument
from fieldguide.identify.graph import DecisionGraph


class OperatingPoint(NamedTuple):
    """One setting of a key, beside one-vs-all on the same held-out rows.

    Examples
    --------
    >>> point = OperatingPoint(0.5, 4.0, 0.25, accuracy=0.90, gain=-0.01, standard_error=0.005)
    >>> point.is_within(max_loss=0.02), point.is_within(max_loss=0.01)
    (True, False)
    """

    tolerance: float | None  # of the shortlist; None for a key without
    evaluations: float  # of functions, or kernel values, for a row on average
    relative_cost: float  # of what one-vs-all evaluates
    accuracy: float
    gain: float  # in accuracy over one-vs-all
    standard_error: float  # standard error of the gain

    def is_within(self, max_loss: float) -> bool:
        """Whether so little is lost against one-vs-all, with one standard error to spare."""
        return self.gain - self.standard_error >= -max_loss


def measure_point(
    tolerance: float | None, cost: float, whole: float, is_right: np.ndarray, flat_right: np.ndarray
) -> OperatingPoint:
    """Return a point from the mean cost of a row, and which rows are named rightly, (n,) each."""
    gain = is_right.astype(np.float64) - flat_right
    return OperatingPoint(
        tolerance,
        cost,
        cost / whole,
        float(is_right.mean()),
        float(gain.mean()),
        float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else 0.0,
    )


def choose_point(points: list[OperatingPoint], max_loss: float, max_cost: float | None) -> int:
    """Return the cheapest of the points that lose little enough, or the dearest that is allowed.

    With ``max_cost``, a share of one-vs-all's cost, the most accurate that is cheap enough wins,
    the cheapest of equals. Where no point will do, the nearest: the most accurate, or the cheapest.
    """
    order = range(len(points))
    if max_cost is not None:
        allowed = [i for i in order if points[i].relative_cost <= max_cost]
        if not allowed:
            return min(order, key=lambda i: points[i].evaluations)
        return max(allowed, key=lambda i: (points[i].accuracy, -points[i].evaluations))
    good = [i for i in order if points[i].is_within(max_loss)]
    if not good:
        return max(order, key=lambda i: (points[i].accuracy, -points[i].evaluations))
    return min(good, key=lambda i: (points[i].evaluations, -points[i].accuracy))


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
    cost: np.ndarray = key.evaluations(X)
    if reference is not None:
        whole = reference.evaluations(X)
    elif key.kernel == "linear":
        whole = len(key.classes_)
    elif key.graph_ is not None:
        whole = cost_of_classes(key.graph_)
    elif type(key).__name__ == "OneVsAllClassifier":
        return np.ones(len(cost))
    else:
        raise InvalidArgument(
            f"relative_complexity of a {type(key).__name__} with a kernel needs a reference; give "
            "a OneVsAllClassifier that was trained on the same rows."
        )
    complexity: np.ndarray = cost / whole
    return complexity


def cost_of_classes(graph: DecisionGraph) -> int:
    """Return what the functions of all classes of a graph cost: one-vs-all.

    Examples
    --------
    >>> from fieldguide.identify.graph import make_graph
    >>> from fieldguide.svm import LinearFunctions
    >>> functions = LinearFunctions(np.ones((4, 1)), np.zeros(4))  # of one node, then of 3 classes
    >>> cost_of_classes(make_graph(functions, [-1], [-2], [0, 1], 3))
    3
    """
    flat = np.arange(len(graph.functions.intercept)) >= graph.n_nodes
    return int(graph.functions.count_evaluations(csr_array(flat[None]))[0])

"""How often a key can err on new rows, from the margins of its nodes: two theorems.

With m training rows, all on their own side of every node where their class has a side, the
probability of an error is, with probability 1 − δ over the draw of these rows, less than

    (130 R² / m) (D′ log(4em) log(4m) + N log(2m) − log(δ/2)),    D′ = Σ_j 1/γ_j²

========  ===================================================================================
γ_j       margin of node j: the least |f_j(x)| / ‖w_j‖ over the rows of its colored classes
N, Σ_j    all decision nodes of the key, for the error over all classes (Theorem 3.1);
          the nodes where class k is at −1 or +1, for the error of class k (Theorem 3.2)
R         radius of a ball about the origin that holds the rows (in feature space for kernels)
========  ===================================================================================

The reference prints γ_j without ‖w_j‖; its proof is for functions of norm 1. The bounds say which
of two keys is the simpler for its margins. They do not say how often a key errs: they hold only
for zero training error, and at usual sizes they are far above 1, where they say nothing.

Reference: Gao and Koller, "Discriminative learning of relaxed hierarchy for large-scale visual
recognition", 2011, supplementary material, section 3.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument
from fieldguide.identify.graph import ABSENT
from fieldguide.identify.node_classifiers import EstimatorFunctions
from fieldguide.svm import LinearFunctions
from fieldguide.svm.functions import kernel_matrix


class GeneralizationBound(NamedTuple):
    """Bounds on the error of a key on new rows; each holds only where its flag says so.

    Examples
    --------
    >>> margins, colors = [[-1.0], [-3.0], [2.0]], [[-1, 1]]
    >>> bound = bound_from_margins(margins, [2.0], colors, index=[0, 0, 1], radius=1.0)
    >>> bound.is_valid, bound.is_class_valid.tolist(), bound.per_class.shape
    (True, [True, True], (2,))
    """

    overall: float
    per_class: np.ndarray  # (n_classes,)
    node_margins: np.ndarray  # (n_nodes,)
    is_valid: bool  # no training row is on the wrong side of any node
    is_class_valid: np.ndarray  # (n_classes,) the same for the nodes where the class has a side


def generalization_bound(key: Any, X: Any, y: Any, *, delta: float = 0.05) -> GeneralizationBound:
    """Bound the error of a fitted key with a decision graph on new rows.

    Parameters
    ----------
    key : classifier with a ``graph_``
    X, y
        The rows that it was trained on, and their labels.
    delta : float
        The bounds hold with probability 1 − delta each; see :func:`bound_from_margins`.

    Examples
    --------
    >>> from fieldguide.identify import DAGSVMClassifier, generalization_bound
    >>> X, y = np.array([[-1.0], [-1.1], [1.0], [1.1]]), np.array([0, 0, 1, 1])
    >>> bound = generalization_bound(DAGSVMClassifier(C=10.0).fit(X, y), X, y)
    >>> bound.is_valid, bound.overall > 1
    (True, True)
    """
    graph = getattr(key, "graph_", None)
    if graph is None:
        raise InvalidArgument("generalization_bound needs a fitted key with a decision graph.")
    if len(graph.roots) > 1:
        raise InvalidArgument("generalization_bound is of one graph; fit the key with n_trees=1.")
    functions = graph.functions
    X = np.ascontiguousarray(X, dtype=np.float64)
    if isinstance(functions, LinearFunctions):
        norms = np.linalg.norm(functions.coef[: graph.n_nodes].astype(np.float64), axis=1)
        radius = float(np.linalg.norm(X, axis=1).max())
    elif isinstance(functions, EstimatorFunctions):
        raise InvalidArgument(
            "generalization_bound is of SVMs and other linear functions; fit the key without its "
            "node_classifier."
        )
    elif functions.pool is None:
        raise InvalidArgument(
            "generalization_bound needs the rows themselves; train the key with a kernel by name."
        )
    else:
        coef = functions.coef[: graph.n_nodes]
        pool = kernel_matrix(functions.kernel, functions.gamma, functions.pool)
        norms = np.sqrt(
            np.maximum((coef @ pool.astype(np.float64) * coef.toarray()).sum(axis=1), 0)
        )
        own = [kernel_matrix(functions.kernel, functions.gamma, row[None])[0, 0] for row in X]
        radius = float(np.sqrt(max(own)))
    index = np.searchsorted(key.classes_, y)
    margins = functions.evaluate(X)[:, : graph.n_nodes]
    return bound_from_margins(margins, norms, graph.colors, index, radius, delta)


def bound_from_margins(
    margins: Any, norms: Any, colors: Any, index: Any, radius: float, delta: float = 0.05
) -> GeneralizationBound:
    """Bound the error of a key on new rows, over all classes and for each class.

    The bounds hold only for zero training error (``is_valid``, ``is_class_valid``), each by itself
    with probability 1 − delta, and are vacuous (above 1) at usual sizes: for a margin of a tenth
    of the radius, ten nodes need some 50 million rows to be bounded by 1.

    Parameters
    ----------
    margins : array-like of shape (n_rows, n_nodes)
        f_j(x_i) of every training row at every decision node, reached or not.
    norms : array-like of shape (n_nodes,)
        ‖w_j‖ of each node's function; the margin of a node with norm 0 is 0.
    colors : array-like of shape (n_nodes, n_classes)
        −1, 0 or +1, and 2 for a class that the node does not hold.
    index : array-like of shape (n_rows,)
        Class of each row, as a number of the columns of ``colors``.
    radius : float
        The largest ‖x‖ of a row; for a kernel, the largest √K(x, x).
    delta : float, default=0.05
        Probability that a bound fails, in (0, 1).

    Returns
    -------
    GeneralizationBound

    Examples
    --------
    One node between two classes, with every row at a distance of at least 0.5:

    >>> from fieldguide.identify.bounds import bound_from_margins
    >>> margins, colors = [[-1.0], [-3.0], [2.0]], [[-1, 1]]
    >>> bound = bound_from_margins(margins, [2.0], colors, index=[0, 0, 1], radius=1.0)
    >>> bound.node_margins.tolist(), bound.is_valid
    ([0.5], True)
    >>> round(bound.overall)
    1739
    """
    margin = np.asarray(margins, dtype=np.float64)
    norm = np.asarray(norms, dtype=np.float64)
    color, k = np.asarray(colors), np.asarray(index)
    _check_arrays(margin, norm, color, k)
    gamma, is_right = _measure_nodes(margin, norm, color, k)
    is_active = np.abs(color) == 1
    n_rows = len(margin)
    per_class = [margin_bound(gamma[nodes], radius, n_rows, delta) for nodes in is_active.T]
    return GeneralizationBound(
        overall=margin_bound(gamma, radius, n_rows, delta),
        per_class=np.array(per_class),
        node_margins=gamma,
        is_valid=bool(is_right.all()),
        is_class_valid=np.array([is_right[nodes].all() for nodes in is_active.T]),
    )


def margin_bound(node_margins: Any, radius: float, n_rows: int, delta: float = 0.05) -> float:
    """Return the bound for nodes with the given margins, infinite if one of these is 0.

    Parameters
    ----------
    node_margins : array-like of shape (n_nodes,)
        Distance from each node's hyperplane to the nearest row of a colored class, infinite for
        a node without such rows.
    radius : float
        Radius of the ball about the origin that holds the rows, above 0.
    n_rows : int
        Number of training rows.
    delta : float, default=0.05
        Probability that the bound fails, in (0, 1).

    Returns
    -------
    float
        Above 0, and often far above 1.

    Examples
    --------
    >>> from fieldguide.identify.bounds import margin_bound
    >>> round(margin_bound([0.5, 0.25], radius=1.0, n_rows=1000))
    203
    >>> margin_bound([0.5, 0.0], radius=1.0, n_rows=1000)
    inf
    """
    check_number("margin_bound", "n_rows", n_rows, 1, np.inf, integer=True)
    if not (isinstance(delta, (int, float)) and 0 < delta < 1):
        raise InvalidArgument(f"delta of margin_bound must be a number in (0, 1); got {delta!r}.")
    if not (isinstance(radius, (int, float)) and 0 < radius < np.inf):
        raise InvalidArgument(
            f"radius of margin_bound must be a finite number above 0; got {radius!r}."
        )
    gamma = np.asarray(node_margins, dtype=np.float64)
    if gamma.ndim != 1 or not (gamma >= 0).all():
        raise InvalidArgument(
            "node_margins of margin_bound must be a list of distances, 0 or above; "
            f"got {node_margins!r}."
        )
    with np.errstate(divide="ignore", over="ignore"):
        complexity = float(np.sum(1 / gamma**2))
    inner = (
        complexity * math.log(4 * math.e * n_rows) * math.log(4 * n_rows)
        + len(gamma) * math.log(2 * n_rows)
        - math.log(delta / 2)
    )
    return 130 * radius**2 / n_rows * inner


def _check_arrays(margin: np.ndarray, norm: np.ndarray, color: np.ndarray, k: np.ndarray) -> None:
    n_nodes = len(norm) if norm.ndim == 1 else -1
    shapes = (margin.shape, norm.shape, color.shape, k.shape)
    if k.ndim != 1 or color.ndim != 2 or margin.shape != (len(k), n_nodes) or len(color) != n_nodes:
        raise InvalidArgument(
            "margins, norms, colors and index of bound_from_margins must have the shapes "
            "(n_rows, n_nodes), (n_nodes,), (n_nodes, n_classes) and (n_rows,); "
            f"got {', '.join(map(str, shapes))}."
        )
    if not np.isin(color, (-1, 0, 1, ABSENT)).all():
        raise InvalidArgument(
            "colors of bound_from_margins must be −1, 0, +1 or, for an absent class, 2; "
            f"got {np.unique(color).tolist()}."
        )
    if not (np.issubdtype(k.dtype, np.integer) and np.isin(k, np.arange(color.shape[1])).all()):
        raise InvalidArgument(
            "index of bound_from_margins must be whole numbers from 0 to "
            f"{color.shape[1] - 1}, the columns of colors; got {np.unique(k).tolist()}."
        )
    if not (np.isfinite(margin).all() and np.isfinite(norm).all() and (norm >= 0).all()):
        raise InvalidArgument(
            "margins and norms of bound_from_margins must be finite, and norms 0 or above; "
            "leave out rows and nodes without a value."
        )


def _measure_nodes(
    margin: np.ndarray, norm: np.ndarray, color: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the margin of each node, and whether all its colored rows are on their side."""
    gamma = np.full(len(norm), np.inf)
    is_right = np.ones(len(norm), dtype=bool)
    for j in range(len(norm)):
        side = color[j, k]
        is_colored = np.abs(side) == 1
        if is_colored.any():
            f = margin[is_colored, j]
            gamma[j] = np.abs(f).min() / norm[j] if norm[j] > 0 else 0.0
            is_right[j] = (f * side[is_colored] > 0).all()
    return gamma, is_right

"""The linear function that decides between two classes, for every key whose functions are linear.

    flat, one-vs-all    f_a − f_b
    flat, one-vs-one    the function of the pair
    a decision graph    the function of the node where the walk of the row leaves b behind
    with a shortlist    f_a − f_b where both are on it, since these decide; else that node; else,
                        where the walk does not lead to a, f_a − f_b, which would decide

Of a class against all others, one-vs-all and shortlists have a function of its own, f_a.

A linear function of a row is a sum over its columns. What a column adds to the decision is exact,
and where columns are sums over places of a picture, so is what a place adds.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fieldguide.errors import InvalidArgument
from fieldguide.identify.graph import LEFT
from fieldguide.identify.one_vs_all import OneVsAllClassifier
from fieldguide.identify.path import trace_path
from fieldguide.identify.search_strategies import Shortlist
from fieldguide.svm import LinearFunctions, list_pairs


class Contrast(NamedTuple):
    """coef · x + intercept, above 0 where it speaks for ``winner``.

    Examples
    --------
    >>> import numpy as np
    >>> owl_or_wren = Contrast(winner=0, rival=1, coef=np.array([2.0, -1.0]), intercept=0.5)
    >>> owl_or_wren.evaluate([1.0, 1.0])  # above 0: for the owl
    1.5
    """

    winner: int  # places in ``classes_``
    rival: int | None  # None: all others
    coef: np.ndarray  # (n_features,) float64
    intercept: float
    node: int | None = None  # of the key's graph; None for flat keys

    def evaluate(self, x: np.ndarray) -> float:
        """Return the margin of one row."""
        return float(self.coef @ np.asarray(x, dtype=np.float64).ravel() + self.intercept)


class StepFunction(NamedTuple):
    """coef · x + intercept of a node of a graph, above 0 for the side that a row took.

    Examples
    --------
    >>> import numpy as np
    >>> StepFunction(node=0, coef=np.array([2.0, -1.0]), intercept=0.5).evaluate([1.0, 1.0])
    1.5
    """

    node: int
    coef: np.ndarray  # (n_features,) float64
    intercept: float

    def evaluate(self, x: np.ndarray) -> float:
        """Return the margin of one row."""
        return float(self.coef @ np.asarray(x, dtype=np.float64).ravel() + self.intercept)


def contrast_classes(
    key: Any, x: np.ndarray, *, winner: int | None = None, rival: int | None = None
) -> Contrast | None:
    """Return the function that decides between two classes for a row.

    Parameters
    ----------
    key : fitted classifier of :mod:`fieldguide.identify`
    x : array of shape (n_features,) or (1, n_features)
    winner, rival : int, optional
        Places in ``classes_``; by default the most probable class, and the most probable other.

    Returns
    -------
    Contrast, or None
        None where no one linear function decides: with another kernel, and in a graph without a
        shortlist when the walk of the row does not lead to the winner, or ends with both.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.identify import OneVsAllClassifier, contrast_classes
    >>> X, y = np.repeat(np.eye(3), 4, axis=0), np.repeat(list("abc"), 4)
    >>> key = OneVsAllClassifier(C=10.0).fit(X, y)
    >>> found = contrast_classes(key, X[0], winner=0, rival=2)
    >>> scores = key.decision_function(X[:1])[0]
    >>> bool(np.isclose(found.evaluate(X[0]), scores[0] - scores[2]))
    True
    """
    check_is_fitted(key)
    row = np.atleast_2d(x)
    if row.shape[0] != 1:
        raise InvalidArgument(f"contrast_classes takes one row; got {row.shape[0]}.")
    winner, rival = _choose(key, row, winner, rival)
    functions = _read_linear(key)
    if functions is None:
        return None
    if key.graph_ is not None:
        return _contrast_in_graph(key, row, winner, rival)

    def take(k: int) -> tuple[np.ndarray, float]:
        return np.asarray(functions.coef[k], dtype=np.float64), float(functions.intercept[k])

    if len(functions.intercept) == 1:  # two classes, one function, positive for the second
        coef, intercept = take(0)
        scale = 2.0 if isinstance(key, OneVsAllClassifier) else 1.0  # its scores are −f and f
        scale *= 1 if winner == 1 else -1
        return Contrast(winner, rival, scale * coef, scale * intercept)
    if isinstance(key, OneVsAllClassifier):
        (coef, intercept), (other, its_intercept) = take(winner), take(rival)
        return Contrast(winner, rival, coef - other, intercept - its_intercept)
    pairs = list_pairs(len(key.classes_))
    low, high = sorted((winner, rival))
    (p,) = np.flatnonzero((pairs[:, 0] == low) & (pairs[:, 1] == high))
    coef, intercept = take(int(p))
    sign = 1 if winner == high else -1
    return Contrast(winner, rival, sign * coef, sign * intercept)


def contrast_others(key: Any, winner: int) -> Contrast | None:
    """Return the function of a class against all others, by which it competes with theirs.

    Parameters
    ----------
    key : fitted classifier of :mod:`fieldguide.identify`
    winner : int
        Place in ``classes_``.

    Returns
    -------
    Contrast, or None
        None where the key has no such linear function: one-vs-one, a graph without a shortlist,
        another kernel, or two classes, which have one function for both.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.identify import OneVsAllClassifier, contrast_others
    >>> X, y = np.repeat(np.eye(3), 4, axis=0), np.repeat(list("abc"), 4)
    >>> key = OneVsAllClassifier(C=10.0).fit(X, y)
    >>> found = contrast_others(key, 1)
    >>> bool(np.isclose(found.evaluate(X[0]), key.decision_function(X[:1])[0, 1]))
    True
    """
    check_is_fitted(key)
    n_classes, graph, functions = len(key.classes_), key.graph_, _read_linear(key)
    if not 0 <= winner < n_classes:
        raise InvalidArgument(f"winner must be a place among {n_classes} classes; got {winner}.")
    has_own = isinstance(key, OneVsAllClassifier) if graph is None else _has_list(key)
    if functions is None or not has_own or n_classes < 3:
        return None
    place = winner if graph is None else graph.n_nodes + winner
    coef = np.asarray(functions.coef[place], dtype=np.float64)
    return Contrast(winner, None, coef, float(functions.intercept[place]))


def contrast_steps(key: Any, x: np.ndarray) -> list[StepFunction]:
    """Return the function of every step of a row through a decision graph, signed as it went.

    Empty for keys without a graph, and with another kernel than the linear one.

    Parameters
    ----------
    key : fitted key
    x : array of shape (n_features,)
        The row.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.identify import DAGSVMClassifier, contrast_steps, trace_path
    >>> X = np.repeat(np.eye(3), 4, axis=0)
    >>> key = DAGSVMClassifier(C=10.0).fit(X, np.repeat(list("abc"), 4))
    >>> told = [round(step.evaluate(X[0]), 3) for step in contrast_steps(key, X[0])]
    >>> told == [round(abs(step.margin), 3) for step in trace_path(key, X[0])]
    True
    """
    check_is_fitted(key)
    if key.graph_ is None or not isinstance(key.graph_.functions, LinearFunctions):
        return []
    functions, found = key.graph_.functions, []
    for step in trace_path(key, x):
        coef = np.asarray(functions.coef[step.node], dtype=np.float64)
        intercept = float(functions.intercept[step.node])
        found.append(StepFunction(step.node, step.side * coef, step.side * intercept))
    return found


def _contrast_in_graph(key: Any, row: np.ndarray, winner: int, rival: int) -> Contrast | None:
    has_list = _has_list(key)
    if has_list and _is_listed(key, row, winner, rival):
        return _contrast_flat(key, winner, rival)
    decided, is_reached = None, True
    for step in trace_path(key, row):
        lost = step.right if step.side == LEFT else step.left
        is_reached &= winner not in lost
        if rival in lost and decided is None:
            decided = step
    if not is_reached or decided is None:
        return _contrast_flat(key, winner, rival) if has_list else None
    node, coef, intercept = next(f for f in contrast_steps(key, row) if f.node == decided.node)
    return Contrast(winner, rival, coef, intercept, node)


def _has_list(key: Any) -> bool:
    """Whether the one-vs-all functions of a shortlist decide."""
    return isinstance(key.search_, Shortlist)


def _is_listed(key: Any, row: np.ndarray, winner: int, rival: int) -> bool:
    """Whether the one-vs-all functions of two classes were both asked about a row."""
    asked = key.decision_path(row)[[0], key.graph_.n_nodes :].toarray()[0]
    return bool(asked[winner] and asked[rival])


def _contrast_flat(key: Any, winner: int, rival: int) -> Contrast:
    """Return the difference of the one-vs-all functions that a graph holds for its shortlist."""
    places = key.graph_.n_nodes + np.array([winner, rival])
    coef = key.graph_.functions.coef[places].astype(np.float64)
    intercept = key.graph_.functions.intercept[places].astype(np.float64)
    return Contrast(winner, rival, coef[0] - coef[1], float(intercept[0] - intercept[1]))


def _read_linear(key: Any) -> LinearFunctions | None:
    """Return the functions of a key, or of its graph; None with another kernel."""
    functions = key.functions_ if key.graph_ is None else key.graph_.functions
    return functions if isinstance(functions, LinearFunctions) else None


def _choose(key: Any, row: np.ndarray, winner: int | None, rival: int | None) -> tuple[int, int]:
    n_classes = len(key.classes_)
    if winner is None or rival is None:
        order = np.argsort(-key.predict_proba(row)[0], kind="stable").tolist()
        if winner is None:
            winner = next(k for k in order if k != rival)
        if rival is None:
            rival = next(k for k in order if k != winner)
    if not (0 <= winner < n_classes and 0 <= rival < n_classes) or winner == rival:
        raise InvalidArgument(
            f"winner and rival must be two different places among {n_classes} classes; got "
            f"{winner} and {rival}."
        )
    return winner, rival

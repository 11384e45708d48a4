"""Searches in a graph of linear functions without any check of the input, for serving."""

from typing import Any

import numpy as np

from fieldguide.errors import InvalidArgument
from fieldguide.identify import _walks, search
from fieldguide.identify._margins import Rows, Source
from fieldguide.identify.graph import DecisionGraph
from fieldguide.svm import Functions, LinearFunctions


class FastWalker:
    """Greedy walks through one tree or graph of linear functions.

    The answers are those of :func:`~fieldguide.identify.search.walk`.

    Parameters
    ----------
    graph : DecisionGraph
        Of linear functions, with one root.
    classes : ndarray of shape (n_classes,), optional
        What :meth:`predict` answers; numbers 0 to n_classes - 1 by default.

    Examples
    --------
    >>> from fieldguide.identify.graph import make_graph
    >>> functions = LinearFunctions(np.array([[1.0], [1.0]]), np.array([0.0, -2.0]))
    >>> graph = make_graph(functions, [-1, -2], [1, -3], [0, 1, 2], 3)
    >>> walker = FastWalker(graph, np.array(["ant", "bee", "cod"]))
    >>> str(walker.predict_one(np.array([1], dtype=np.float32)))
    'bee'
    """

    def __init__(self, graph: DecisionGraph, classes: Any = None) -> None:
        if not isinstance(graph.functions, LinearFunctions) or len(graph.roots) > 1:
            raise InvalidArgument(
                "FastWalker takes graphs of linear functions with one root; use walk for others."
            )
        self.classes = np.arange(graph.n_classes) if classes is None else np.asarray(classes)
        functions = search.node_functions(graph)
        functions = functions._replace(coef=_align(functions.coef))
        self._source = Source(functions.n_features, *functions)
        self._links = search.read_links(graph)
        # Leaves by the number of their class: the walk then ends at the answer.
        leaf_class = graph.leaf_class
        named = [
            np.where(child < 0, -1 - leaf_class[np.maximum(-1 - child, 0)], child)
            for child in (graph.left, graph.right)
        ]
        self._arguments = (*functions, *named)
        self._only = None if graph.n_nodes else int(graph.leaf_class[0])

    def best(self, x: np.ndarray) -> int:
        """Return the number of the class of one row, a float32 array (n_features,).

        ``x`` must be finite and contiguous; nothing is checked.
        """
        return _walks.walk_one(x, *self._arguments) if self._only is None else self._only

    def predict_one(self, x: np.ndarray) -> Any:
        """Return the class of one row, as :meth:`best` takes it."""
        return self.classes[self.best(x)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row of a C-contiguous float32 array; nothing is checked."""
        if len(X) == 1:
            return self.classes[[self.best(X[0])]]
        leaf, n_asked = np.empty((2, len(X)), dtype=np.int32)
        links = self._links
        rows = Rows(X, np.empty((len(X), 0)))
        _walks.walk_rows(rows, self._source, links, links.roots[0], leaf, n_asked)
        classes: np.ndarray = self.classes[links.leaf_class[leaf]]
        return classes


class FastShortlist:
    """Shortlists in a graph of linear functions.

    The answers are those of :func:`~fieldguide.identify.search.shortlist`.

    Parameters
    ----------
    graph, flat, tolerance, max_classes, budget
        As of :func:`~fieldguide.identify.search.shortlist`; linear functions alone.
    classes : ndarray of shape (n_classes,), optional
        What :meth:`predict` answers; numbers 0 to n_classes - 1 by default.

    Examples
    --------
    >>> from fieldguide.identify.graph import make_graph
    >>> coef = np.array([[1.0], [1.0], [-1.0], [0.0], [1.0]])  # of two nodes, then of three classes
    >>> functions = LinearFunctions(coef, np.array([0.0, -2.0, 0.0, 1.0, -1.0]))
    >>> graph = make_graph(functions, [-1, -2], [1, -3], [0, 1, 2], 3)
    >>> fast = FastShortlist(graph, tolerance=1.0, classes=["ant", "bee", "cod"])
    >>> fast.predict(np.array([[-3.0], [1.0], [5.0]], dtype=np.float32)).tolist()
    ['ant', 'bee', 'cod']
    """

    def __init__(
        self,
        graph: DecisionGraph,
        flat: Functions | None = None,
        *,
        tolerance: float,
        max_classes: int = 16,
        budget: int | None = None,
        classes: Any = None,
    ) -> None:
        limits = search.check_limits("FastShortlist", graph, tolerance, max_classes, budget)
        parts = search.class_functions(graph, flat)
        if not all(isinstance(part, LinearFunctions) for part in parts):
            raise InvalidArgument(
                "FastShortlist takes linear functions; use shortlist for kernel functions."
            )
        source, own = (
            (part.n_features, _align(part.coef), np.ascontiguousarray(part.intercept, np.float32))
            for part in parts
        )
        reach = search.find_reach(graph, tolerance)
        self._arguments = (
            *(source, tuple(search.read_links(graph)), own),
            *(reach, float(tolerance), *limits),
        )
        self.classes = np.arange(graph.n_classes) if classes is None else np.asarray(classes)

    def best(self, x: np.ndarray) -> int:
        """Return the number of the class of one row, a float32 array (n_features,).

        ``x`` must be finite and contiguous; nothing is checked.
        """
        return int(self._answer(x[None])[0])

    def predict_one(self, x: np.ndarray) -> Any:
        """Return the class of one row, as :meth:`best` takes it."""
        return self.classes[self.best(x)]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row of a C-contiguous float32 array; nothing is checked."""
        classes: np.ndarray = self.classes[self._answer(X)]
        return classes

    def _answer(self, X: np.ndarray) -> np.ndarray:
        answer = np.empty(len(X), dtype=np.intp)
        _walks.answer_by_shortlist(X, *self._arguments, answer)
        return answer


def _align(coef: np.ndarray) -> np.ndarray:
    """Return a float32 copy that begins where a line of the cache does.

    A read across two lines counts twice: measured, products took a fifth longer.
    """
    n_bytes, line = 4 * coef.size, 64
    room = np.empty(n_bytes + line, dtype=np.uint8)
    start = -room.ctypes.data % line
    copy = room[start : start + n_bytes].view(np.float32).reshape(coef.shape)
    copy[:] = coef
    return copy

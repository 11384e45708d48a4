"""The three searches as objects, to be given to a key: ``Greedy``, ``BestFirst``, ``Shortlist``.

A key with a decision graph takes one as ``search``, or its name. The mathematics is in
:mod:`fieldguide.identify.search`; an object holds the settings, which are set and searched over as
every parameter is (``search__tolerance``). A search of one's own is a subclass of :class:`Search`.
"""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fieldguide._check import check_choice, check_number
from fieldguide._saving import Either, Field, Part, Plain, Reader, Writer
from fieldguide.errors import InvalidArgument
from fieldguide.identify import search
from fieldguide.identify.graph import DecisionGraph
from fieldguide.identify.serving import FastShortlist, FastWalker
from fieldguide.svm import LinearFunctions


class Search(BaseEstimator, ABC):
    """Base of the ways to find an answer in a decision graph.

    A subclass needs :meth:`find`, and an ``__init__`` that stores its arguments, as every
    scikit-learn estimator has.

    Examples
    --------
    >>> from fieldguide.identify import BestFirst, DAGSVMClassifier, Search
    >>> class Thrifty(Search):
    ...     def find(self, graph, X, *, n_jobs=1, paths=False):
    ...         return BestFirst(budget=2).find(graph, X, n_jobs=n_jobs, paths=paths)
    >>> X = np.repeat(np.eye(3), 4, axis=0)
    >>> key = DAGSVMClassifier(C=10.0, search=Thrifty()).fit(X, np.repeat(list("abc"), 4))
    >>> key.predict(np.eye(3)).tolist()
    ['a', 'b', 'c']
    """

    @abstractmethod
    def find(
        self, graph: DecisionGraph, X: Any, *, n_jobs: int | None = 1, paths: bool = False
    ) -> search.SearchResult:
        """Return the answer for each row and what it cost.

        Parameters
        ----------
        graph : DecisionGraph
        X : rows of shape (n, n_features)
        n_jobs : int, optional
            Threads.
        paths : bool
            Also return which nodes and which functions of classes each row used.
        """

    def serve(self, graph: DecisionGraph, classes: np.ndarray) -> Any:
        """Return an object whose ``predict`` answers rows without checks; None if there is none."""
        return None

    def check_arguments(self) -> None:
        """Refuse arguments that no search could use."""

    def settle(self, tolerance: float) -> "Search":
        """Return the search with the tolerance that was chosen for it in place of "auto"."""
        return self

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # settings change


class Greedy(Search):
    """Take the more probable side at each node, down to a leaf: the rule of the papers.

    Examples
    --------
    >>> from fieldguide.identify import Greedy, RelaxedHierarchyClassifier
    >>> X = np.repeat(np.eye(4), 9, axis=0) + np.random.default_rng(0).normal(0, 0.1, (36, 4))
    >>> key = RelaxedHierarchyClassifier(C=10.0, search=Greedy())
    >>> key.fit(X, np.repeat(list("abcd"), 9)).predict(np.eye(4)).tolist()
    ['a', 'b', 'c', 'd']
    """

    def find(
        self, graph: DecisionGraph, X: Any, *, n_jobs: int | None = 1, paths: bool = False
    ) -> search.SearchResult:
        """Return the class of the leaf that each row comes to."""
        return search.walk(graph, X, n_jobs, paths=paths)

    def serve(self, graph: DecisionGraph, classes: np.ndarray) -> FastWalker | None:
        """Return the fast form, for a single tree or graph of linear functions."""
        if not isinstance(graph.functions, LinearFunctions) or len(graph.roots) > 1:
            return None
        return FastWalker(graph, classes)


class BestFirst(Search):
    """Find the most probable class, following the most probable paths first.

    Parameters
    ----------
    budget : int, optional
        The most nodes to evaluate for one row; no limit by default.

    Examples
    --------
    >>> from fieldguide.identify import BestFirst, RelaxedHierarchyClassifier
    >>> X = np.repeat(np.eye(4), 9, axis=0) + np.random.default_rng(0).normal(0, 0.1, (36, 4))
    >>> key = RelaxedHierarchyClassifier(C=10.0, search=BestFirst(budget=3))
    >>> key.fit(X, np.repeat(list("abcd"), 9)).predict(np.eye(4)).tolist()
    ['a', 'b', 'c', 'd']
    """

    def __init__(self, budget: int | None = None) -> None:
        self.budget = budget

    def find(
        self, graph: DecisionGraph, X: Any, *, n_jobs: int | None = 1, paths: bool = False
    ) -> search.SearchResult:
        """Return the class with the largest total probability of its paths."""
        return search.best_first(graph, X, budget=self.budget, n_jobs=n_jobs, paths=paths)

    def check_arguments(self) -> None:
        """Refuse a budget that is no number of nodes."""
        _check_budget(self)


class Shortlist(Search):
    """List the most probable classes; the one-vs-all functions of these decide.

    Parameters
    ----------
    tolerance : float or "auto"
        A class is listed if its log-probability is at most this below that of the most probable
        class. "auto" is chosen on held-out rows when the key is fitted: the cheapest tolerance that
        ``max_loss`` allows, or the most accurate one that ``max_cost`` allows.
    max_loss : float
        For "auto": how far the held-out accuracy, minus one standard error of the difference, may
        be below that of one-vs-all.
    max_cost : float, optional
        For "auto", in place of ``max_loss``: the largest cost, as a share of that of one-vs-all.
    max_classes : int
        The most classes on the list.
    budget : int, optional
        The most nodes to evaluate for one row; no limit by default.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from fieldguide.identify import RelaxedHierarchyClassifier, Shortlist
    >>> X = np.repeat(np.eye(4), 9, axis=0) + np.random.default_rng(0).normal(0, 0.1, (36, 4))
    >>> key = RelaxedHierarchyClassifier(C=10.0, search=Shortlist(max_classes=2))
    >>> tried = GridSearchCV(key, {"search__tolerance": [0.0, 2.0]}, cv=3)
    >>> tried.fit(X, np.repeat(list("abcd"), 9)).best_estimator_.search.max_classes
    2
    """

    def __init__(
        self,
        tolerance: float | str = "auto",
        *,
        max_loss: float = 0.01,
        max_cost: float | None = None,
        max_classes: int = 16,
        budget: int | None = None,
    ) -> None:
        self.tolerance = tolerance
        self.max_loss = max_loss
        self.max_cost = max_cost
        self.max_classes = max_classes
        self.budget = budget

    def find(
        self, graph: DecisionGraph, X: Any, *, n_jobs: int | None = 1, paths: bool = False
    ) -> search.SearchResult:
        """Return the listed class whose one-vs-all function is largest."""
        return search.shortlist(
            graph,
            X,
            tolerance=self._read_tolerance(),
            max_classes=self.max_classes,
            budget=self.budget,
            n_jobs=n_jobs,
            paths=paths,
        )

    def serve(self, graph: DecisionGraph, classes: np.ndarray) -> FastShortlist | None:
        """Return the fast form, for linear functions."""
        if not isinstance(graph.functions, LinearFunctions):
            return None
        return FastShortlist(
            graph,
            tolerance=self._read_tolerance(),
            max_classes=self.max_classes,
            budget=self.budget,
            classes=classes,
        )

    def check_arguments(self) -> None:
        """Refuse arguments that make no sense."""
        if isinstance(self.tolerance, str) and self.tolerance != "auto":
            raise InvalidArgument(
                f'tolerance of Shortlist must be a number or "auto"; got {self.tolerance!r}.'
            )
        if not isinstance(self.tolerance, str):
            check_number("Shortlist", "tolerance", self.tolerance, 0, np.inf)
        check_number("Shortlist", "max_loss", self.max_loss, 0, 1)
        if self.max_cost is not None:
            check_number("Shortlist", "max_cost", self.max_cost, 0, np.inf)
        check_number("Shortlist", "max_classes", self.max_classes, 1, 2**31 - 1, integer=True)
        _check_budget(self)

    def settle(self, tolerance: float) -> "Shortlist":
        """Return the same search with a number in place of "auto"."""
        if self.tolerance != "auto":
            return self
        settled = copy(self)
        settled.tolerance = tolerance
        return settled

    def _read_tolerance(self) -> float:
        if isinstance(self.tolerance, str):
            raise InvalidArgument(
                'The tolerance of this Shortlist is "auto", which a key replaces when it is '
                "fitted; give a number to search a graph by itself."
            )
        return self.tolerance


SEARCHES: dict[str, type[Search]] = {
    "greedy": Greedy,
    "best_first": BestFirst,
    "shortlist": Shortlist,
}


def make_search(owner: str, given: Any) -> Search:
    """Return the search that a key was given, as an object or by its name."""
    if isinstance(given, Search):
        return given
    if not isinstance(given, str):
        raise InvalidArgument(
            f"search of {owner} must be a Search, such as Shortlist(tolerance=2.0), or one of "
            f"{', '.join(map(repr, SEARCHES))}; got {given!r}."
        )
    check_choice(owner, "search", given, SEARCHES)
    return SEARCHES[given]()


class SearchField(Field):
    """A search in a saved key: its name, or which of the three it is with its settings."""

    _parts = Either(
        *(
            Part(kind, {name: Plain() for name in kind._get_param_names()})
            for kind in SEARCHES.values()
        )
    )

    def write(self, value: Any, path: str, out: Writer) -> Any:
        """Return the name, or the settings."""
        return value if isinstance(value, str) else self._parts.write(value, path, out)

    def read(self, record: Any, path: str, source: Reader) -> Any:
        """Return the name, or the search."""
        return record if isinstance(record, str) else self._parts.read(record, path, source)


def _check_budget(given: BestFirst | Shortlist) -> None:
    if given.budget is not None:
        owner = type(given).__name__
        check_number(owner, "budget", given.budget, 1, 2**31 - 1, integer=True)

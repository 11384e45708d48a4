"""What a key with a decision graph answers: classes, probabilities, groups of classes, costs."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.special import softmax

from fieldguide._check import check_number
from fieldguide.errors import InvalidArgument
from fieldguide.identify.back_off import Groups, choose_groups, find_threshold
from fieldguide.identify.confidence import apply_confidence
from fieldguide.identify.graph import DecisionGraph
from fieldguide.identify.key import Key
from fieldguide.identify.search import SearchResult, count_costs
from fieldguide.identify.search_strategies import Search, make_search


class GraphKey(Key):
    """Base of the keys whose answers are found in a decision graph; see :class:`TreeKey`."""

    graph_: DecisionGraph
    tolerance_: float
    inverse_temperature_: float
    miss_rate_: float
    doubts_: np.ndarray
    search: Search | str
    n_jobs: int | None

    def predict(self, X: Any) -> np.ndarray:
        """Return the class that the search finds."""
        X = self._read_rows(X)
        classes: np.ndarray = self.classes_[self._find(self.graph_, X).answer]
        return classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities that belong to the search; the largest is that of :meth:`predict`.

        Greedy and best-first share out the mass of the paths that were followed. With a shortlist,
        the margins met on the way say how probable each class is, and the one-vs-all functions
        share out anew what is on the list. What is left is spread evenly.
        """
        X = self._read_rows(X)
        return self._probabilities(self._find(self.graph_, X))

    def predict_groups(self, X: Any, confidence: float = 0.9) -> Groups:
        """Return the smallest group of classes that each row belongs to with some confidence.

        The group is the class that :meth:`predict` finds where that is sure enough, otherwise the
        classes of a node above it, in the last resort all. New rows are in their group at least as
        often as ``confidence`` says, if they come from where the training rows came from.

        Parameters
        ----------
        X : rows
        confidence : float
            In (0, 1).

        Examples
        --------
        >>> from fieldguide.identify import RelaxedHierarchyClassifier
        >>> X = np.repeat([[0.0] * 6, [1.0] + [0.0] * 5, [9.0] * 6], 40, axis=0)
        >>> X += np.random.default_rng(0).normal(0, 0.5, X.shape)
        >>> key = RelaxedHierarchyClassifier(C=10.0).fit(X, np.repeat(["ant", "bee", "yak"], 40))
        >>> groups = key.predict_groups([[0.5] + [0.0] * 5, [9.0] * 6], confidence=0.9)
        >>> [key.classes_[group].tolist() for group in groups.members]
        [['ant', 'bee'], ['yak']]
        """
        check_number(type(self).__name__, "confidence", confidence, 0, 1)
        X = self._read_rows(X)
        if not len(self.doubts_):
            raise InvalidArgument(
                f"{type(self).__name__} was fitted to too few rows to hold any out, so nothing is "
                "known of its confidence; give two classes at least two rows each."
            )
        found = self._find(self.graph_, X)
        return choose_groups(
            self.graph_,
            self._probabilities(found),
            found.answer,
            find_threshold(self.doubts_, confidence),
        )

    def decision_path(self, X: Any) -> csr_array:
        """Return which functions each row uses, (n, n_nodes + n_classes): nodes, then classes."""
        X = self._read_rows(X)
        found = self._find(self.graph_, X, paths=True)
        return csr_array(hstack([found.used, found.used_flat]))

    def evaluations(self, X: Any) -> np.ndarray:
        """Return what each row costs: functions if linear, else distinct kernel values."""
        X = self._read_rows(X)
        found = self._find(self.graph_, X, paths=True)
        return count_costs(self.graph_, None, found)

    def fast_predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row of an array that is known to be right, for serving.

        Nothing is checked: ``X`` must be a finite, C-contiguous float32 array of shape
        (n, n_features). For such arrays the answers are those of :meth:`predict`.
        """
        server = self._serve()
        if server is None:
            classes: np.ndarray = self.classes_[self._find(self.graph_, X).answer]
        else:
            classes = server.predict(X)
        return classes

    def _check_opened(self) -> None:
        self._check_functions(self.graph_.functions)
        if not self.graph_.has_flat:
            raise InvalidArgument("graph_ must have a function for each class besides its nodes'.")

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the key, and those of its search as ``search__tolerance``."""
        search = params.get("search", self.search)
        if isinstance(search, str) and any(name.startswith("search__") for name in params):
            params["search"] = make_search(type(self).__name__, search)
        key: Self = super().set_params(**params)
        return key

    @property
    def search_(self) -> Search:
        """The search as an object, with the chosen tolerance in place of "auto"."""
        return self._read_search().settle(self.tolerance_)

    def _read_search(self) -> Search:
        return make_search(type(self).__name__, self.search)

    def _find(self, graph: DecisionGraph, X: Any, *, paths: bool = False) -> SearchResult:
        return self.search_.find(graph, X, n_jobs=self.n_jobs, paths=paths)

    def _serve(self) -> Any:
        """Return what answers rows without checks, made once for the settings at hand."""
        graph, search = self.graph_, self.search
        settings = (search,) if isinstance(search, str) else (type(search), *vars(search).values())
        made = getattr(self, "_server", None)
        if made is not None and made[0] is graph and made[1:3] == (self.tolerance_, settings):
            return made[3]
        server = self.search_.serve(graph, self.classes_)
        self._server = graph, self.tolerance_, settings, server
        return server

    def _probabilities(self, found: SearchResult) -> np.ndarray:
        """Return a distribution for each row whose largest entry is the answer."""
        n, n_classes = len(found.answer), len(self.classes_)
        if found.margins is None:
            shares = found.mass.toarray()
        else:
            shares = self._share_list(found)
        probability = shares + np.maximum(1 - shares.sum(axis=1, keepdims=True), 0) / n_classes
        # Equal entries, and rounding: the answer is the first of the largest.
        own = np.arange(n), found.answer
        probability[own] = np.maximum(probability[own], probability.max(axis=1) * (1 + 1e-9))
        probability /= probability.sum(axis=1, keepdims=True)
        return apply_confidence(probability, found.answer, getattr(self, "calibration_", None))

    def _share_list(self, found: SearchResult) -> np.ndarray:
        """Return the shares of the classes, those on a list by the functions that decided it."""
        assert found.margins is not None
        n, n_classes = len(found.answer), len(self.classes_)
        scores = np.full((n, n_classes), -np.inf)
        rows = np.repeat(np.arange(n), np.diff(found.margins.indptr))
        scores[rows, found.margins.indices] = self.inverse_temperature_ * found.margins.data
        alone = np.diff(found.margins.indptr) == 0  # one class was left, and nothing more asked
        scores[alone, found.answer[alone]] = 0
        shares: np.ndarray = softmax(scores, axis=1)
        if not self.graph_.has_evidence:
            shares = shares * (1 - self.miss_rate_)
            return shares
        mass = found.mass.toarray()
        listed = np.where(np.isfinite(scores), mass, 0)
        shares = mass - listed + shares * listed.sum(axis=1, keepdims=True)
        return shares

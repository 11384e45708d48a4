"""What every key with a decision graph shares: training, calibration, search, cost.

    plan        which classes go which way at each node (each key's own idea)
    nodes       a binary SVM for each node, on the rows of its decided classes
    flat        a one-vs-all function for each class, for the shortlist
    scale       of a node's margin: 1 / (1 + exp(−scale · f)) is the probability of the right side

The scales and the tolerance of the shortlist are fitted to margins of held-out rows: the functions
are trained again without each fold, on the same plan.
"""

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array, hstack
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import InvalidArgument, check_choice, check_number, check_seed
from fieldguide.errors import FieldguideWarning
from fieldguide.identify import search as searches
from fieldguide.identify.flat import fit_scale
from fieldguide.identify.graph import DecisionGraph, read_graph
from fieldguide.identify.growing import Plan, ask_nodes, build_graph, join
from fieldguide.identify.held_out import HeldOut
from fieldguide.identify.key import Key, default_loss
from fieldguide.svm import KernelFunctions, Problems, Trained, choose_C, warn_open_gaps
from fieldguide.svm.c_path import ask_one_vs_all, score_as_is
from fieldguide.svm.folds import deal_folds

SEARCHES = ("greedy", "best_first", "shortlist")
TOLERANCES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
N_FOLDS = 3
_NEAR = 0.005  # of the flat functions' held-out accuracy: what "auto" asks of the tolerance
_MAX_HELD_OUT = 4000  # rows whose held-out margins are kept
_LOG_SCALE_RANGE = (-3.0, 5.0)
_SHRINKAGE = 2.0


class TreeKey(Key):
    """Base of the keys with a decision graph.

    Parameters
    ----------
    C : float or "cv"
        Weight of the training errors of each function; "cv" takes the best for one-vs-all.
    kernel, gamma, tol
        As of :class:`~fieldguide.identify.OneVsAllClassifier`.
    search : {"shortlist", "best_first", "greedy"}
        How an answer is found: by the more probable side at each node; by the most probable class;
        or by the one-vs-all functions of the classes that are probable enough.
    tolerance : float or "auto"
        Of the shortlist: classes whose log-probability is within so much of the first. "auto" is
        the least that comes within half a point of one-vs-all on held-out rows.
    max_classes : int
        Longest shortlist.
    budget : int, optional
        Largest number of nodes evaluated for one row.
    n_jobs : int
        Threads; the answer does not depend on it.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : DecisionGraph
        Its functions are those of the nodes, then those of the classes.
    tolerance_ : float
    flat_scale_ : float
        Of the one-vs-all functions, in the softmax over a shortlist.
    miss_ : float
        How often the class of a held-out row was not on its shortlist.
    held_out_ : HeldOut or None
        What the key says of training rows when their fold is left out.
    """

    # What a saved key needs besides its graph.
    _saved: tuple[str, ...] = ("C", "kernel", "search", "tolerance", "max_classes", "budget")

    def __init__(
        self,
        C: float | str = 1.0,
        kernel: str = "linear",
        gamma: float | None = None,
        tol: float = 1e-3,
        search: str = "shortlist",
        tolerance: float | str = "auto",
        max_classes: int = 16,
        budget: int | None = None,
        n_jobs: int = 1,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.tol = tol
        self.search = search
        self.tolerance = tolerance
        self.max_classes = max_classes
        self.budget = budget
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Grow the graph, train its functions and calibrate them.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, n_features)
            The Gram matrix of the rows, (n, n), for the kernel "precomputed".
        y : array of shape (n,)
        """
        self._check_arguments()
        X, index = self._read_training_rows(X, y)
        seed = check_seed(type(self).__name__, self.random_state)
        problems = Problems(
            X, self.kernel, self.gamma, loss="hinge", tol=self.tol, n_jobs=self.n_jobs, seed=seed
        )
        self.C_ = self._choose_C(problems, index, seed) if self.C == "cv" else float(self.C)
        plan = self._plan(problems, index, self.C_)
        asked = problems.changed(loss=default_loss(self.kernel))
        nodes = asked.solve(ask_nodes(plan, index), C=self.C_)
        flat = self._train_flat(problems, index, None)
        self.graph_ = build_graph(plan, problems, nodes, flat, index)
        self._calibrate(asked, plan, nodes, index, seed)
        gaps = np.concatenate([nodes.gaps, flat.gaps])
        warn_open_gaps(
            type(self).__name__, gaps, self.tol, "lower C, scale the columns or raise tol"
        )
        return self

    @abstractmethod
    def _plan(self, problems: Problems, index: np.ndarray, C: float) -> Plan:
        """Return which classes go which way at each node."""

    def _check_own(self) -> None:
        """Refuse arguments of the key's own that make no sense."""

    # -- prediction -----------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Return the class that the search finds."""
        X = self._read_rows(X)
        return self.classes_[self._find(self.graph_, X).answer]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities that belong to the search; the largest is that of :meth:`predict`.

        Greedy and best-first share out the mass of the paths that were followed; a shortlist is
        shared out by the one-vs-all functions that decided it, but for how often the right class
        is not on it. What is left is spread evenly.
        """
        X = self._read_rows(X)
        return self._probabilities(self._find(self.graph_, X))

    def decision_path(self, X: Any) -> csr_array:
        """Return which functions each row uses, (n, n_nodes + n_classes): nodes, then classes."""
        X = self._read_rows(X)
        found = self._find(self.graph_, X, paths=True)
        return csr_array(hstack([found.used, found.used_flat]))

    def evaluations(self, X: Any) -> np.ndarray:
        """Return what each row costs: functions if linear, else distinct kernel values."""
        X = self._read_rows(X)
        found = self._find(self.graph_, X, paths=True)
        return searches.count_costs(self.graph_, None, found)

    def fast_predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each row of an array that is known to be right, for serving.

        Nothing is checked: ``X`` must be a finite, C-contiguous float32 array of shape
        (n, n_features). For such arrays the answers are those of :meth:`predict`.
        """
        return self.classes_[self._find(self.graph_, X).answer]

    def to_state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the fitted key as arrays and as values that JSON can hold."""
        check_is_fitted(self)
        arrays, settings = self.graph_.to_state()
        return arrays, {
            **settings,
            "C": self.C_,
            "classes": self.classes_.tolist(),
            "flat_scale": self.flat_scale_,
            "miss": self.miss_,
            "search": self.search,
            "tolerance": self.tolerance_,
            "max_classes": self.max_classes,
            "budget": self.budget,
        }

    @classmethod
    def from_state(cls, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> Self:
        """Make a fitted key from what :meth:`to_state` returned."""
        graph = read_graph(arrays, settings)
        classes = np.array(settings["classes"])
        key = cls(**{name: settings[name] for name in cls._saved})
        key._check_arguments()
        flat_scale, miss = float(settings["flat_scale"]), float(settings["miss"])
        is_sound = 0 < flat_scale < np.inf and 0 <= miss < 1
        if classes.shape != (graph.n_classes,) or not graph.has_flat or not is_sound:
            raise InvalidArgument(f"The parts of a {cls.__name__} do not fit together.")
        key.classes_, key.graph_ = classes, graph
        key.flat_scale_, key.miss_ = flat_scale, miss
        key.C_, key.tolerance_ = float(settings["C"]), float(settings["tolerance"])
        key.held_out_, key.n_features_in_ = None, graph.functions.n_features
        return key

    def _find(self, graph: DecisionGraph, X: Any, *, paths: bool = False) -> searches.Found:
        if self.search == "greedy":
            return searches.walk(graph, X, self.n_jobs, paths=paths)
        options: dict[str, Any] = {"budget": self.budget, "n_jobs": self.n_jobs, "paths": paths}
        if self.search == "best_first":
            return searches.best_first(graph, X, **options)
        return searches.shortlist(
            graph, X, tolerance=self.tolerance_, max_classes=self.max_classes, **options
        )

    def _probabilities(self, found: searches.Found) -> np.ndarray:
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
        return probability / probability.sum(axis=1, keepdims=True)

    def _share_list(self, found: searches.Found) -> np.ndarray:
        """Return the shares of the classes on each row's list, which is right but for a miss."""
        assert found.margins is not None
        n, n_classes = len(found.answer), len(self.classes_)
        scores = np.full((n, n_classes), -np.inf)
        rows = np.repeat(np.arange(n), np.diff(found.margins.indptr))
        scores[rows, found.margins.indices] = self.flat_scale_ * found.margins.data
        alone = np.diff(found.margins.indptr) == 0  # one class was left, and nothing more asked
        scores[alone, found.answer[alone]] = 0
        return softmax(scores, axis=1) * (1 - self.miss_)

    # -- training -------------------------------------------------------------------------

    def _train_flat(
        self, problems: Problems, index: np.ndarray, weight: np.ndarray | None
    ) -> Trained:
        """Train the one-vs-all function of each class, as OneVsAllClassifier does by default."""
        return problems.changed(loss=default_loss(self.kernel)).one_vs_all(
            index, len(self.classes_), C=self.C_, weight=weight
        )

    def _choose_C(self, problems: Problems, index: np.ndarray, seed: int) -> float:
        return choose_C(
            problems.changed(loss=default_loss(self.kernel)),
            ask_one_vs_all(index, len(self.classes_)),
            index,
            score=score_as_is,
            seed=seed,
        )

    def _calibrate(
        self, problems: Problems, plan: Plan, nodes: Trained, index: np.ndarray, seed: int
    ) -> None:
        """Fit the scales and the tolerance to held-out rows, and keep what is said of those."""
        self.flat_scale_, self.miss_, self.held_out_ = 1.0, 0.0, None
        self.tolerance_ = 1.0 if self.tolerance == "auto" else float(self.tolerance)
        if (np.bincount(index) >= 2).sum() < 2:
            return  # a fold could be left with a single class: there is nothing to learn from
        held_out, margins = self._hold_out(problems, plan, nodes, index, seed)
        labels, n_nodes = index[held_out], len(plan.sets)
        side = plan.colors()[:, labels].T
        scales = fit_node_scales(margins[:, :n_nodes], side)
        self.graph_ = self.graph_._replace(scale=scales.astype(np.float32))
        flat = margins[:, n_nodes:].astype(np.float64)
        self.flat_scale_ = fit_scale(flat, labels)
        # The margins themselves as functions: search then runs on held-out margins.
        looked_up = self.graph_._replace(functions=_look_up(margins.shape[1]))
        if self.tolerance == "auto" and self.search == "shortlist":
            wanted = (flat.argmax(axis=1) == labels).mean() - _NEAR
            for tolerance in TOLERANCES:
                self.tolerance_ = tolerance
                if (self._find(looked_up, margins).answer == labels).mean() >= wanted:
                    break
        found = self._find(looked_up, margins)
        if found.margins is not None:
            self.miss_ = count_misses(found, labels)
        probability = self._probabilities(found)
        self.held_out_ = HeldOut.from_probabilities(held_out, probability, labels, N_FOLDS)

    def _hold_out(
        self, problems: Problems, plan: Plan, nodes: Trained, index: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows, and their margins at every node and class when their fold is left out.

        Of many rows, a fold is no more than what is kept, and its training alone will do.
        """
        n_folds = max(N_FOLDS, len(index) // _MAX_HELD_OUT)
        fold = deal_folds(index, n_folds, seed)
        wanted = min(len(index), _MAX_HELD_OUT)
        n_used = 1 + np.searchsorted(np.cumsum(np.bincount(fold)), wanted)
        rows = np.flatnonzero(fold < n_used)
        if len(rows) > wanted:
            rows = np.sort(np.random.default_rng(seed).permutation(rows)[:wanted])
        margins = np.empty((len(rows), len(plan.sets) + plan.n_classes), dtype=np.float32)
        for k in np.unique(fold[rows]):
            is_held = fold[rows] == k
            weight = np.ones(len(index))
            weight[rows[is_held]] = 0
            questions = ask_nodes(plan, index, weight)
            trained = join(
                problems.solve(questions, C=self.C_, start=nodes),
                self._train_flat(problems, index, weight),
            )
            margins[is_held] = problems.evaluate(trained, rows[is_held])
        return rows, margins

    def _warn_capped(self, n_nodes: int, remedy: str) -> None:
        warnings.warn(
            f"{type(self).__name__} has {n_nodes} nodes: max_nodes was reached, and from then on "
            f"no class went both ways; {remedy}, or raise max_nodes.",
            FieldguideWarning,
            stacklevel=4,
        )

    def _check_arguments(self) -> None:
        owner = type(self).__name__
        self._check_shared(owner)
        check_choice(owner, "search", self.search, SEARCHES)
        if isinstance(self.tolerance, str) and self.tolerance != "auto":
            raise InvalidArgument(
                f'tolerance of {owner} must be a number or "auto"; got {self.tolerance!r}.'
            )
        if not isinstance(self.tolerance, str):
            check_number(owner, "tolerance", self.tolerance, 0, np.inf)
        check_number(owner, "max_classes", self.max_classes, 1, 2**31 - 1, integer=True)
        if self.budget is not None:
            check_number(owner, "budget", self.budget, 1, 2**31 - 1, integer=True)
        self._check_own()


def fit_node_scales(margins: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Return the scale of each node for which the sides that classes go to are most likely.

    ``side`` is −1 or +1 where the class of a row goes one way at a node; other entries are left
    out. Both are (n, n_nodes). Deep nodes see few rows, so each log-scale is drawn to that of all
    nodes together, as by a normal prior of half a unit's deviation.
    """
    is_decided = np.abs(side) == 1
    signed = (margins * side).astype(np.float64)
    together = _fit_log_scale(signed[is_decided], 0.0, 0.0)
    return np.exp(
        [
            _fit_log_scale(signed[is_decided[:, node], node], together, _SHRINKAGE)
            for node in range(margins.shape[1])
        ]
    )


def _fit_log_scale(z: np.ndarray, centre: float, shrinkage: float) -> float:
    """Return log s with the least Σ log(1 + exp(−s z)) + shrinkage · (log s − centre)²."""
    if not len(z):
        return centre

    def loss(log_scale: float) -> float:
        missed = np.logaddexp(0, -np.exp(log_scale) * z).sum()
        return float(missed + shrinkage * (log_scale - centre) ** 2)

    return float(minimize_scalar(loss, bounds=_LOG_SCALE_RANGE, method="bounded").x)


def count_misses(found: searches.Found, labels: np.ndarray) -> float:
    """Return how often the class of a row is not on its list, by Laplace's rule."""
    assert found.margins is not None
    on_list = csr_array(
        (np.ones(len(found.margins.indices)), found.margins.indices, found.margins.indptr),
        shape=found.margins.shape,
    )
    is_there = on_list.toarray()[np.arange(len(labels)), labels] > 0
    is_there |= found.answer == labels
    return float((np.count_nonzero(~is_there) + 1) / (len(labels) + 2))


def _look_up(n: int) -> KernelFunctions:
    """Return functions that read their value from a column of the rows."""
    places = np.arange(n)
    identity = csr_array((np.ones(n), places, np.arange(n + 1)), shape=(n, n))
    return KernelFunctions("precomputed", None, None, places, identity, np.zeros(n), n)

"""What every key with a decision graph shares: training and calibration.

    plan        which classes go which way at each node (each key's own idea)
    nodes       a binary SVM for each node, on the rows of its decided classes
    flat        a one-vs-all function for each class, for the shortlist
    scale       of a node's margin: 1 / (1 + exp(−scale · f)) is the probability of the right side
    evidence    what margins rows of each class have at each node, for the shortlist

Scales, evidence, the tolerance of the shortlist and the doubts of groups are fitted to margins of
held-out rows: the functions are trained again without each fold, or of many rows without some of
the folds, on the same plan.
"""

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from fieldguide._check import check_number, check_seed
from fieldguide._random import deal_folds
from fieldguide._saving import Array, Number
from fieldguide.errors import FieldguideWarning
from fieldguide.identify.back_off import (
    find_doubts,
    find_rank_doubts,
)
from fieldguide.identify.confidence import (
    CONFIDENCE,
    HeldOut,
    fit_confidence,
    fit_node_scales,
    measure_growth,
)
from fieldguide.identify.evidence import fit_evidence, fit_weights, weigh_evidence
from fieldguide.identify.graph import GRAPH, DecisionGraph
from fieldguide.identify.graph_key import GraphKey
from fieldguide.identify.growing import AnyPlan, build_graph, join, plant
from fieldguide.identify.node_classifiers import (
    EstimatorProblems,
    NodeClassifierField,
    check_node_classifier,
)
from fieldguide.identify.operating_points import (
    OperatingPoint,
    choose_point,
    cost_of_classes,
    measure_point,
)
from fieldguide.identify.search import SearchResult, count_costs, shortlist
from fieldguide.identify.search_strategies import Search, SearchField, Shortlist, make_search
from fieldguide.svm import (
    KernelFunctions,
    LinearFunctions,
    Problems,
    SigmoidCalibration,
    Trained,
    choose_C,
    fit_scale,
    warn_open_gaps,
)
from fieldguide.svm.c_path import ask_one_vs_all, score_as_is

TOLERANCES = (
    *(0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0),
    *(2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0, 22.0, 30.0),
)
N_FOLDS = 5
_FOLD_TOL = 1e-2  # what nodes say of rows left out needs no exact hyperplane
_USUAL_REACH = 1.0  # in log-probability below the first leaf, for what evidence is fitted to
# Classes for each column up to which evidence is kept: weighing all classes at a node then takes
# less than half the time of its linear function. Beyond, the leaves that are reached make the list.
_MAX_CLASSES_PER_COLUMN = 0.5
_MAX_EVIDENCE = 2**26  # entries of the table of classes and nodes
_MAX_HELD_OUT, _ROWS_PER_CLASS = 4000, 10  # rows whose held-out margins are kept, if there are more


class TreeKey(GraphKey):
    """Base of the keys with a decision graph.

    Parameters
    ----------
    C : float or "cv"
        Weight of the training errors of each function; "cv" takes the best for one-vs-all.
    kernel, gamma, loss, tol
        As of :class:`~fieldguide.identify.OneVsAllClassifier`.
    search : Search or {"shortlist", "best_first", "greedy"}
        How an answer is found: :class:`~fieldguide.identify.Greedy`,
        :class:`~fieldguide.identify.BestFirst` or :class:`~fieldguide.identify.Shortlist`, or the
        name of one with its default settings.
    node_classifier : classifier, optional
        A binary classifier with ``decision_function`` or ``predict_proba``, such as
        ``LogisticRegression()``, clones of which are trained at the nodes, and for each class
        against the rest, in place of the SVMs of the key. Those still plan which classes go which
        way, where the method needs an SVM for that. A key with linear classifiers is served,
        explained and exported as one with SVMs is; a key with any other cannot be saved.
    n_trees : int
        Number of trees that answer together, each grown from other starting points.
    n_jobs : int, optional
        Threads; the answer does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed; None is another one each time.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    graph_ : DecisionGraph
        Its functions are those of the nodes, then those of the classes.
    tolerance_ : float
        Of a shortlist: the tolerance that was chosen, or the one that was given.
    inverse_temperature_ : float
        Classes of a shortlist share ``softmax(inverse_temperature_ · one-vs-all functions)``.
    miss_rate_ : float
        Share of the held-out rows whose class was not on their shortlist.
    doubts_ : ndarray
        Of the held-out rows, ascending: the probability of the largest group around the answer that
        misses the row's class. :meth:`predict_groups` takes its thresholds from these.
    held_out_ : HeldOut or None
        What the key says of training rows when their fold is left out.
    """

    _fitted: ClassVar = {
        "graph_": GRAPH,
        "tolerance_": Number(0, finite=False),
        "inverse_temperature_": Number(above=0).once("flat_scale_"),
        "miss_rate_": Number(0, 1).once("miss_"),
        "doubts_": Array("float32", "n_doubts"),
        "calibration_": CONFIDENCE.once("confidence_"),
    }
    _newer: ClassVar[tuple[str, ...]] = ("loss", "node_classifier")
    _parameters: ClassVar = {"search": SearchField(), "node_classifier": NodeClassifierField()}
    node_classifier: Any = None  # of keys without this argument
    n_trees = 1  # the same

    def __init__(
        self,
        C: float | str = 1.0,
        kernel: str = "linear",
        *,
        gamma: float | None = None,
        loss: str | None = None,
        tol: float = 1e-3,
        search: Search | str = "shortlist",
        node_classifier: Any = None,
        n_trees: int = 1,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.loss = loss
        self.tol = tol
        self.search = search
        self.node_classifier = node_classifier
        self.n_trees = n_trees
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
        return self._fit_problems(problems, index)

    def _fit_problems(self, problems: Problems, index: np.ndarray) -> Self:
        problems = problems.changed(loss="hinge")
        self.C_ = self._choose_C(problems, index) if self.C == "cv" else float(self.C)
        return self._train_plan(problems, index, self._plan_trees(problems, index))

    def _train_plan(self, problems: Problems, index: np.ndarray, plan: AnyPlan) -> Self:
        """Train the functions of the nodes and of the classes, and calibrate them."""
        asked = problems.changed(loss=self._find_loss())
        if self.node_classifier is not None:
            asked = EstimatorProblems.over(asked, self.node_classifier)
        nodes = asked.solve(plan.questions(index), C=self.C_)
        flat = self._train_flat(asked, index, None)
        self.graph_ = build_graph(plan, asked, nodes, flat, index)
        self._calibrate(asked, plan, nodes, flat, index)
        gaps = np.concatenate([nodes.gaps, flat.gaps])
        warn_open_gaps(
            type(self).__name__, gaps, self.tol, "lower C, scale the columns or raise tol"
        )
        return self

    @classmethod
    def _update_parameters(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Gather the settings of the search, which once were parameters of the key."""
        usual = Shortlist().get_params()
        own = {name: given.pop(name) for name in usual if name in given}
        if own and own != usual and given.get("search") == "shortlist":
            given["search"] = {"Shortlist": own}
        elif own and given.get("search") == "best_first":
            given["search"] = {"BestFirst": {"budget": own.get("budget")}}
        return given

    @abstractmethod
    def _plan(self, problems: Problems, index: np.ndarray, C: float, tree: int) -> Any:
        """Return which classes go which way at each node; ``tree`` is its number, from 0."""

    def _plan_trees(self, problems: Problems, index: np.ndarray) -> AnyPlan:
        """Return the plan of all trees together."""
        return plant([self._plan(problems, index, self.C_, tree) for tree in range(self.n_trees)])

    def _check_own(self) -> None:
        """Refuse arguments of the key's own that make no sense."""

    def _train_flat(
        self, problems: Problems, index: np.ndarray, weight: np.ndarray | None
    ) -> Trained:
        """Train the one-vs-all function of each class, as OneVsAllClassifier does."""
        return problems.changed(loss=self._find_loss()).one_vs_all(
            index, len(self.classes_), C=self.C_, weight=weight
        )

    def _choose_C(self, problems: Problems, index: np.ndarray) -> float:
        return choose_C(
            problems.changed(loss=self._find_loss()),
            ask_one_vs_all(index, len(self.classes_)),
            index,
            score=score_as_is,
            seed=problems.seed,
        )

    def _calibrate(
        self,
        problems: Problems,
        plan: AnyPlan,
        nodes: Trained,
        flat: Trained,
        index: np.ndarray,
    ) -> None:
        """Fit all that needs held-out rows, and keep what is said of those."""
        seed = problems.seed
        self.inverse_temperature_, self.miss_rate_, self.held_out_ = 1.0, 0.0, None
        self.doubts_, self.rank_doubts_ = (np.empty(0, dtype=np.float32) for _ in range(2))
        self.calibration_: SigmoidCalibration | None = None
        self._points: list[OperatingPoint] = []
        search = self._read_search()
        self.tolerance_ = 1.0
        if isinstance(search, Shortlist) and search.tolerance != "auto":
            self.tolerance_ = float(search.tolerance)
        if (np.bincount(index) >= 2).sum() < 2:
            return  # a fold could be left with a single class: there is nothing to learn from
        held_out, margins, n_folds, growth = self._hold_out(problems, plan, nodes, flat, index)
        labels = index[held_out]
        scales = fit_node_scales(margins[:, : plan.n_nodes], plan.sides(index, held_out))
        self.graph_ = self.graph_._replace(scale=scales.astype(np.float32))
        self.inverse_temperature_, _ = fit_scale(
            margins[:, plan.n_nodes :].astype(np.float64), labels
        )
        # Functions that never saw a class say nothing of its only row.
        alone = np.flatnonzero(np.bincount(index)[labels] == 1)
        known = margins[:, : plan.n_nodes].copy()
        known[alone] = problems.evaluate(nodes, held_out[alone])
        parts = self._weigh(margins, known, labels, seed)
        if isinstance(search, Shortlist) and search.tolerance == "auto":
            self.tolerance_ = self._choose_tolerance(search, parts, margins, labels)
        finds = [self._find(graph, margins[rows]) for rows, graph in parts]
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        if finds[0].margins is not None:
            n_missed = sum(
                count_misses(found, labels[rows])
                for found, (rows, _) in zip(finds, parts, strict=True)
            )
            self.miss_rate_ = (n_missed + 1) / (len(labels) + 2)  # Laplace's rule
        answer = np.concatenate([found.answer for found in finds])[order]

        def share() -> np.ndarray:
            return np.concatenate([self._probabilities(found) for found in finds])[order]

        self.calibration_ = fit_confidence(share(), answer, labels)
        probability = share()
        self.held_out_ = HeldOut.from_probabilities(held_out, probability, labels, n_folds)
        self.doubts_ = find_doubts(self.graph_, probability, answer, labels)
        self.rank_doubts_ = find_rank_doubts(probability, labels)
        self._shorten(growth)

    def _shorten(self, growth: np.ndarray) -> None:
        """Take the functions of all rows for no surer than those of the folds were."""
        n_nodes = self.graph_.n_nodes
        scale = self.graph_.scale / growth[:n_nodes]
        self.graph_ = self.graph_._replace(scale=scale.astype(np.float32))
        self.inverse_temperature_ /= float(growth[n_nodes:].mean())

    def _weigh(
        self, margins: np.ndarray, known: np.ndarray, labels: np.ndarray, seed: int
    ) -> list[tuple[np.ndarray, DecisionGraph]]:
        """Give the graph its evidence; return folds of the rows, and graphs to judge them with.

        Those read their functions from the margins, and their evidence is that of the other folds.
        ``known`` are the margins of the nodes that evidence is taken from.
        """
        looked_up = self.graph_._replace(functions=_look_up(margins.shape[1]))
        n_nodes, colors, functions = self.graph_.n_nodes, self.graph_.colors, self.graph_.functions
        is_cheap = not isinstance(functions, LinearFunctions) or (
            len(self.classes_) <= _MAX_CLASSES_PER_COLUMN * functions.n_features
        )
        if (
            not isinstance(self.search_, Shortlist)
            or not is_cheap
            or not 0 < colors.size <= _MAX_EVIDENCE
        ):
            return [(np.arange(len(labels)), looked_up)]
        logits, known = (m[:, :n_nodes] * self.graph_.scale for m in (margins, known))
        near = shortlist(looked_up, margins, tolerance=_USUAL_REACH, paths=True)
        is_reached = near.mass.toarray() > 0
        assert near.used is not None
        fold = deal_folds(labels, N_FOLDS, seed)
        places = [np.flatnonzero(fold == k) for k in range(N_FOLDS)]
        evidence, scores = [], np.empty((len(labels), len(self.classes_)))
        for rows in places:
            others = np.setdiff1d(np.arange(len(labels)), rows)
            evidence.append(fit_evidence(known[others], labels[others], colors))
            scores[rows] = weigh_evidence(logits[rows], near.used[rows].toarray(), *evidence[-1])
        temperature, bonus = fit_weights(scores, is_reached, labels)
        evidence.append(fit_evidence(known, labels, colors))
        graphs = [
            graph._replace(
                class_logits=means, precision=precision / np.float32(temperature), leaf_bonus=bonus
            )
            for graph, (means, precision) in zip(
                [looked_up] * N_FOLDS + [self.graph_], evidence, strict=True
            )
        ]
        self.graph_ = graphs.pop()
        return list(zip(places, graphs, strict=True))

    def _choose_tolerance(
        self,
        search: Shortlist,
        parts: list[tuple[np.ndarray, DecisionGraph]],
        margins: np.ndarray,
        labels: np.ndarray,
    ) -> float:
        """Return the tolerance that the wanted cost or accuracy asks for, on held-out rows."""
        max_loss, max_cost = search.max_loss, search.max_cost
        self._points = self._measure_points(search, parts, margins, labels)
        if max_cost is not None and self._points[0].relative_cost > max_cost:
            warnings.warn(
                f"max_cost={max_cost:g} of {type(self).__name__} cannot be met: the nodes "
                f"alone cost {self._points[0].relative_cost:.3f} of one-vs-all.",
                FieldguideWarning,
                stacklevel=5,
            )
        chosen = self._points[choose_point(self._points, max_loss, max_cost)].tolerance
        assert chosen is not None
        return chosen

    def _measure_points(
        self,
        search: Shortlist,
        parts: list[tuple[np.ndarray, DecisionGraph]],
        margins: np.ndarray,
        labels: np.ndarray,
    ) -> list[OperatingPoint]:
        """Return what each tolerance costs and gains, until there is nothing more to gain."""
        n_nodes, n = self.graph_.n_nodes, len(labels)
        flat_right = margins[:, n_nodes:].argmax(axis=1) == labels
        whole = cost_of_classes(self.graph_)
        points: list[OperatingPoint] = []
        for tolerance in TOLERANCES:
            settled = search.settle(tolerance)
            is_right, cost = np.empty(n, dtype=bool), 0.0
            for rows, graph in parts:
                found = settled.find(graph, margins[rows], n_jobs=self.n_jobs, paths=True)
                is_right[rows] = found.answer == labels[rows]
                cost += float(count_costs(self.graph_, None, found).sum())
            points.append(measure_point(tolerance, cost / n, whole, is_right, flat_right))
            last = points[-1]
            if search.max_cost is not None and last.relative_cost > search.max_cost:
                break
            if search.max_cost is None and last.gain >= 0 and last.is_within(search.max_loss):
                break
        return points

    def _hold_out(
        self,
        problems: Problems,
        plan: AnyPlan,
        nodes: Trained,
        flat: Trained,
        index: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
        """Return rows, and their margins at every node and class when their fold is left out.

        Of many rows, a fold is no more than what is kept, and its training alone will do. The
        number of folds comes next, then how much longer the functions of all rows are.
        """
        seed, of_folds = problems.seed, []
        loose = problems.changed(tol=max(self.tol, _FOLD_TOL))
        wanted = min(len(index), max(_MAX_HELD_OUT, _ROWS_PER_CLASS * plan.n_classes))
        fold = deal_folds(index, max(N_FOLDS, len(index) // wanted), seed)
        n_used = 1 + np.searchsorted(np.cumsum(np.bincount(fold)), wanted)
        rows = np.flatnonzero(fold < n_used)
        if len(rows) > wanted:
            rows = np.sort(np.random.default_rng(seed).permutation(rows)[:wanted])
        margins = np.empty((len(rows), plan.n_nodes + plan.n_classes), dtype=np.float32)
        for k in np.unique(fold[rows]):
            is_held = fold[rows] == k
            weight = np.ones(len(index))
            weight[rows[is_held]] = 0
            questions = plan.questions(index, weight)
            trained = join(
                loose.solve(questions, C=self.C_, start=nodes),
                self._train_flat(problems, index, weight),
            )
            margins[is_held] = problems.evaluate(trained, rows[is_held])
            of_folds.append(problems.lengths(trained))
        lengths = np.concatenate([problems.lengths(nodes), problems.lengths(flat)])
        return rows, margins, int(fold.max()) + 1, measure_growth(lengths, of_folds)

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
        make_search(owner, self.search).check_arguments()
        check_node_classifier(owner, self.node_classifier, self.kernel)
        check_number(owner, "n_trees", self.n_trees, 1, 1000, integer=True)
        self._check_own()


def count_misses(found: SearchResult, labels: np.ndarray) -> int:
    """Return how many rows have a list that their class is not on."""
    assert found.margins is not None
    on_list = csr_array(
        (np.ones(len(found.margins.indices)), found.margins.indices, found.margins.indptr),
        shape=found.margins.shape,
    )
    is_there = on_list.toarray()[np.arange(len(labels)), labels] > 0
    is_there |= found.answer == labels
    return int(np.count_nonzero(~is_there))


class _GivenMargins(KernelFunctions):
    """Functions that were evaluated before: each has a column of the rows for its value."""

    def evaluate(self, X: Any, n_jobs: int | None = None) -> np.ndarray:
        """Return every function at every row, (n, n_functions)."""
        values: np.ndarray = X[:, self.support[self.coef.indices]]
        return values


def _look_up(n: int) -> _GivenMargins:
    places = np.arange(n)
    identity = csr_array((np.ones(n), places, np.arange(n + 1)), shape=(n, n))
    return _GivenMargins("precomputed", None, None, places, identity, np.zeros(n), n)

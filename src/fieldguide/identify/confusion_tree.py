"""The tree of Griffin and Perona: kinds that are confused stay together, then one-vs-all decides.

The confusion matrix of one-vs-all by cross-validation, made symmetric, says which classes are
alike. Spectral bipartition cuts it in two, and each half again. A row walks down a few levels, and
the one-vs-all functions of the classes that are left there decide.

Reference: G. Griffin, P. Perona, "Learning and using taxonomies for fast visual categorization",
CVPR (2008).
"""

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from fieldguide._check import check_number
from fieldguide.identify.bipartition import bipartition, likeness
from fieldguide.identify.graph import DecisionGraph
from fieldguide.identify.growing import Classes, Plan, Split, grow
from fieldguide.identify.search import SearchResult, walk
from fieldguide.identify.search_strategies import Search
from fieldguide.identify.tree_key import TreeKey
from fieldguide.svm import KernelFunctions, LinearFunctions, Problems, hold_out
from fieldguide.svm.c_path import ask_one_vs_all, score_as_is

# Of the classes of a node, on its smaller side: few classes are confused with each other at all,
# and the least cut would take them off one by one.
_LEAST_SHARE = 0.3
_FAINT = 1e-3  # likeness of classes that are never confused, by the distance of their means


class WalkToGroup(Search):
    """Walk to a leaf of several classes; the one-vs-all functions of these decide."""

    def find(
        self, graph: DecisionGraph, X: Any, *, n_jobs: int | None = 1, paths: bool = False
    ) -> SearchResult:
        """Return the class of the leaf whose function is largest."""
        found = walk(graph, X, n_jobs, paths=paths)
        n, n_classes = len(found.leaf), graph.n_classes
        answer, n_flat = found.answer.copy(), np.zeros(n, dtype=np.int32)
        margins = np.zeros((n, n_classes))
        is_asked = np.zeros((n, n_classes), dtype=bool)
        for leaf in np.unique(found.leaf):
            rows = np.flatnonzero(found.leaf == leaf)
            classes = graph.leaf_counts[[leaf]].indices
            if len(classes) > 1:
                values = _evaluate(graph, X[rows], graph.n_nodes + classes)
                answer[rows] = classes[values.argmax(axis=1)]
                margins[np.ix_(rows, classes)] = values
                is_asked[np.ix_(rows, classes)] = True
                n_flat[rows] = len(classes)
        asked = csr_array(is_asked)
        mass = csr_array((np.ones(n), answer, np.arange(n + 1)), shape=(n, n_classes))
        return found._replace(
            answer=answer.astype(np.int32),
            n_flat=n_flat,
            mass=mass,
            margins=csr_array((margins[is_asked], asked.indices, asked.indptr), asked.shape),
            used_flat=asked if paths else None,
        )


class ConfusionTreeClassifier(TreeKey):
    """A few levels of a tree of confusions, then one-vs-all among the classes that are left.

    Parameters
    ----------
    levels : int
        Number of binary nodes on the way down. Of K classes about K / 2^levels are left then, and
        their one-vs-all functions decide.
    C, kernel, gamma, loss, tol, n_jobs, random_state
        As of every tree key; see :class:`TreeKey`.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.identify import ConfusionTreeClassifier
    >>> X = np.repeat(np.eye(4), 6, axis=0) + np.random.default_rng(0).normal(0, 0.1, (24, 4))
    >>> key = ConfusionTreeClassifier(levels=1, C=10.0).fit(X, np.repeat(list("abcd"), 6))
    >>> key.predict(np.eye(4)).tolist(), key.evaluations(np.eye(4)).tolist()
    (['a', 'b', 'c', 'd'], [3, 3, 3, 3])
    """

    search = WalkToGroup()  # not an argument: it is the method
    _parameters: ClassVar = {}

    def __init__(
        self,
        levels: int = 3,
        *,
        C: float | str = 1.0,
        kernel: str = "linear",
        gamma: float | None = None,
        loss: str | None = None,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.levels = levels
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.loss = loss
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_arguments(self) -> None:
        owner = type(self).__name__
        self._check_shared(owner)
        check_number(owner, "levels", self.levels, 1, 60, integer=True)

    def _plan(self, problems: Problems, index: np.ndarray, C: float, tree: int) -> Plan:
        n_classes = len(self.classes_)
        likeness = find_likeness(problems.changed(loss=self._find_loss()), index, n_classes, C)

        def split(classes: Classes) -> Split:
            second = bipartition(likeness[np.ix_(classes, classes)], _LEAST_SHARE)
            return Split(np.where(second, 1, -1).astype(np.int8))

        return grow(
            n_classes, split, split, max_nodes=10**9, max_depth=self.levels, n_jobs=self.n_jobs
        )[0]


def find_likeness(problems: Problems, index: np.ndarray, n_classes: int, C: float) -> np.ndarray:
    """Return how often each two classes are confused, in shares of their rows, (n, n).

    Classes that are never confused are a little alike, by the distance of their means, so that
    every cut has a reason.
    """
    scores = hold_out(
        problems,
        ask_one_vs_all(index, n_classes),
        index,
        score=score_as_is,
        grid=(C,),
        seed=problems.seed,
    )[0]
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (index, scores.argmax(axis=1)), 1)
    confusion /= np.maximum(confusion.sum(axis=1, keepdims=True), 1)
    faint = likeness(problems.mean_distances(index, n_classes))
    return (confusion + confusion.T) / 2 + _FAINT * faint


def _evaluate(graph: DecisionGraph, X: Any, places: np.ndarray) -> np.ndarray:
    """Return some of the graph's functions at rows, (n, len(places))."""
    functions = graph.functions
    if isinstance(functions, LinearFunctions):
        chosen: Any = LinearFunctions(functions.coef[places], functions.intercept[places])
    else:
        assert isinstance(functions, KernelFunctions)
        chosen = functions._replace(
            coef=functions.coef[places], intercept=functions.intercept[places]
        )
    margins: np.ndarray = chosen.evaluate(X)
    return margins

"""The attention tree of Panda and Roy: easy rows are decided early, hard ones go on.

A tree is grown by boosting (:mod:`fieldguide.identify.attention_growing`): at each node the rows
of which the boosted classifier is sure go one way, the others both ways. The node's SVM is trained
on the sure rows alone, with the side they were sent to as its target, and decides at test time.
Rows of one class may come to leaves at different depths: that is the point of the method.

With ``search="greedy"``, ``loss="hinge"``, ``C="cv"`` and ``max_kept=1``, and with a kernel
``support_tolerance=0.01`` as its budget of support vectors (Eq. 4; the number is our reading), this
is the method as printed. Beyond it: the searches of every key, children that receive the rows as
the SVM sends them, several candidate splits, pruning, several trees, and kinds that are added to a
fitted tree.

Reference: P. Panda, K. Roy, "Attention Tree: learning hierarchies of visual features for
large-scale image recognition".
"""

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from fieldguide._check import check_choice, check_number
from fieldguide._random import spawn_generators
from fieldguide._saving import Array, Part
from fieldguide.errors import FieldguideWarning, InvalidArgument
from fieldguide.identify.attention_growing import (
    CAPPED,
    AttentionTree,
    grow_attention_tree,
    split_once,
)
from fieldguide.identify.attention_pruning import prune_attention_tree
from fieldguide.identify.binning import Binned, bin_features
from fieldguide.identify.bipartition import bipartition, likeness
from fieldguide.identify.node_judging import choose_support, judge_split
from fieldguide.identify.routed_plan import (
    Examples,
    RoutedPlan,
    pick_examples,
    plant_trees,
)
from fieldguide.identify.search_strategies import Search
from fieldguide.identify.teachable_key import GROWING_TOL, TeachableKey
from fieldguide.svm import (
    Problems,
    Question,
)

_SVM_LINK = 4.0  # rows outside the margin, |f| ≥ 1, are decided for every delta up to 0.98
# Of trees after the first. Two thirds of the rows instead were worse with best-first search on
# Caltech-101 and CUB-200, and the same with shortlists.
_COLUMN_SHARE = 0.5


class AttentionTreeClassifier(TeachableKey):
    """A tree of SVMs, grown by boosting, in which hard rows go both ways.

    Parameters
    ----------
    delta : float
        In [0.5, 1): how sure boosting must be of a row to send it one way. At 0.5 no row goes both
        ways; the larger it is, the more do, and the larger the tree.
    n_rounds : int
        Boosting rounds at each node; each adds a decision stump.
    max_depth : int
        Largest number of inner nodes on the way to a leaf.
    max_error : float
        Largest weighted error of a stump, γ of the paper. Boosting stops before a worse one.
    min_samples : int
        A node with fewer rows becomes a leaf.
    max_kept : float
        In [0, 1]: a node is a leaf when each of its children would keep more than this share of its
        rows. At 1, which turns the rule off, a tree whose ``delta`` is near 1 sends nearly all rows
        both ways and makes little progress.
    route : {"boost", "svm"}
        Who says where the rows of a node go: the boosted classifier, as in the paper, or the node's
        SVM, with p(+1) = 1 / (1 + exp(−4 f)), so that training sees what testing sees.
    n_candidates : int
        Number of splits of the classes that are tried at a node, each made from one of the features
        that separate the classes best. The split whose SVM tells most about the classes of held-out
        rows is kept.
    prune : float
        Share of the rows that is set aside while the tree grows. A subtree that names these rows no
        better than a single leaf would is then replaced by a leaf. 0 turns pruning off.
    support_tolerance : float, optional
        With a kernel: held-out accuracy that a node may lose in exchange for fewer support vectors.
        By default every node has the same C.
    max_columns : int, optional
        Number of columns, drawn at random, that boosting may use; all by default. The SVMs use all
        columns.
    max_nodes : int
        Largest number of nodes. A tree that needs more is grown again, with rows going both ways in
        as many of its first levels as fit; if it is still too large without any, some nodes become
        leaves. A warning says so.
    C, kernel, gamma, loss, tol, search, node_classifier, n_trees, n_jobs, random_state
        As of every tree key; see :class:`TreeKey`. Boosting works on the columns of the rows for
        every kernel, so that "precomputed" is not possible. The second and later trees are grown
        on a random half of the columns each.

    Attributes
    ----------
    examples_ : Examples
        A few training rows of the first levels that went left, both ways and right, to look at.

    Notes
    -----
    A root that no stump can part is parted by its classes, in two groups that are alike within,
    and a warning says so.

    The key keeps its training rows for :meth:`add_kind`, by reference if they are a float32 or
    float64 array in C order, and the numbers of the rows at every node; :meth:`to_state` leaves
    both out. :meth:`plan_to_state` saves the numbers, and :meth:`resume` takes both back.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.identify import AttentionTreeClassifier
    >>> X = np.repeat(np.eye(4), 6, axis=0) + np.random.default_rng(0).normal(0, 0.1, (24, 4))
    >>> key = AttentionTreeClassifier(C=10.0).fit(X, np.repeat(list("abcd"), 6))
    >>> key.predict(np.eye(4)).tolist()
    ['a', 'b', 'c', 'd']
    """

    def __init__(
        self,
        delta: float = 0.6,
        n_rounds: int = 50,
        *,
        max_depth: int = 30,
        max_error: float = 0.48,
        min_samples: int = 2,
        max_kept: float = 0.9,
        route: str = "boost",
        n_candidates: int = 1,
        prune: float = 0.0,
        support_tolerance: float | None = None,
        max_columns: int | None = None,
        max_nodes: int = 5000,
        C: float | str = 1.0,
        kernel: str = "linear",
        gamma: float | None = None,
        loss: str | None = None,
        tol: float = 1e-3,
        search: Search | str = "shortlist",
        node_classifier: Any = None,
        n_trees: int = 1,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.delta = delta
        self.n_rounds = n_rounds
        self.max_depth = max_depth
        self.max_error = max_error
        self.min_samples = min_samples
        self.max_kept = max_kept
        self.route = route
        self.n_candidates = n_candidates
        self.prune = prune
        self.support_tolerance = support_tolerance
        self.max_columns = max_columns
        self.max_nodes = max_nodes
        super().__init__(
            C=C,
            kernel=kernel,
            gamma=gamma,
            loss=loss,
            tol=tol,
            search=search,
            node_classifier=node_classifier,
            n_trees=n_trees,
            n_jobs=n_jobs,
            random_state=random_state,
        )

    _fitted: ClassVar = {
        "examples_": Part(
            Examples,
            {
                "node": Array("int32", "n_examples", within=(0, "n_nodes")),
                "rows": Array("int32", "n_examples", 3, "n_each", low=-1),
            },
        ),
    }
    _newer: ClassVar[tuple[str, ...]] = ("loss", "max_kept", "max_columns", "node_classifier")
    _gone: ClassVar[tuple[str, ...]] = ("link_scale",)

    def _check_own(self) -> None:
        owner = type(self).__name__
        is_number = isinstance(self.delta, (int, float)) and not isinstance(self.delta, bool)
        if not (is_number and 0.5 <= self.delta < 1):
            raise InvalidArgument(f"delta of {owner} must be in [0.5, 1); got {self.delta!r}.")
        check_number(owner, "n_rounds", self.n_rounds, 1, 10**6, integer=True)
        check_number(owner, "max_depth", self.max_depth, 1, 10**6, integer=True)
        check_number(owner, "max_error", self.max_error, 0, 0.5)
        check_number(owner, "min_samples", self.min_samples, 1, 10**9, integer=True)
        check_number(owner, "max_kept", self.max_kept, 0, 1)
        check_choice(owner, "route", self.route, ("boost", "svm"))
        check_number(owner, "n_candidates", self.n_candidates, 1, 10**6, integer=True)
        check_number(owner, "prune", self.prune, 0, 0.9)
        check_number(owner, "max_nodes", self.max_nodes, 1, 10**7, integer=True)
        if self.support_tolerance is not None:
            check_number(owner, "support_tolerance", self.support_tolerance, 0, 1)
        if self.max_columns is not None:
            check_number(owner, "max_columns", self.max_columns, 1, 2**31 - 1, integer=True)
        if self.kernel == "precomputed":
            raise InvalidArgument(
                f'{owner} grows on the columns of the rows, which the kernel "precomputed" does '
                "not have; give the rows and a kernel by name."
            )

    def _plan_trees(self, problems: Problems, index: np.ndarray) -> RoutedPlan:
        columns = np.arange(problems.X.shape[1])
        if self.max_columns is not None and self.max_columns < len(columns):
            rng = np.random.default_rng(problems.seed)
            columns = np.sort(rng.permutation(columns)[: self.max_columns])
            binned = bin_features(problems.X[:, columns], n_jobs=self.n_jobs)
        else:
            binned = bin_features(problems.X, n_jobs=self.n_jobs)
        trees = []
        for tree in range(self.n_trees):
            trees.append(self._plan(problems, index, self.C_, tree, binned, columns))
        plan = plant_trees(trees, index, len(self.classes_))
        if self.support_tolerance is not None and self.kernel != "linear":
            asked = problems.changed(loss=self._find_loss())
            factor = choose_support(asked, plan, self.C_, self.support_tolerance)
            plan = plan._replace(C_factor=factor)
        self._grown, self.examples_ = (problems.X, index, plan), pick_examples(plan)
        return plan

    def _plan(
        self,
        problems: Problems,
        index: np.ndarray,
        C: float,
        tree: int,
        binned: Binned | None = None,
        columns: np.ndarray | None = None,
    ) -> AttentionTree:
        assert binned is not None
        assert columns is not None
        n_classes, rng = len(self.classes_), spawn_generators(problems.seed, tree + 1)[tree]
        if tree:
            n_asked = max(1, int(_COLUMN_SHARE * len(columns)))
            part = np.sort(rng.permutation(len(columns))[:n_asked])
            binned = Binned(np.ascontiguousarray(binned.levels[:, part]), binned.cuts[part])
            columns = columns[part]
        grown = np.arange(len(index))
        if self.prune:
            grown = np.flatnonzero(~_set_apart(index, self.prune, rng))
            binned = binned._replace(levels=binned.levels[grown])
        loose = problems.changed(
            tol=max(problems.tol, GROWING_TOL), n_jobs=1, loss=self._find_loss()
        )
        made = self._grow(loose, binned, grown, index, n_classes, C)
        self._warn_large(made)
        if not made.n_nodes:
            made = split_once(index[grown], _halve(problems, index, n_classes), n_classes)
        named = made.feature >= 0
        feature = np.where(named, columns[np.where(named, made.feature, 0)], -1)
        made = made._replace(
            rows=grown[made.rows], leaf_rows=grown[made.leaf_rows], feature=feature
        )
        if self.prune and len(grown) < len(index):
            alone = plant_trees([made], index, n_classes)
            trained = loose.solve(alone.questions(index), C=C)
            rest = np.setdiff1d(np.arange(len(index)), grown)
            margins = problems.evaluate(trained, rest)
            made = prune_attention_tree(made, margins, index[rest], index)
        return made

    def _grow(
        self,
        problems: Problems,
        binned: Binned,
        rows: np.ndarray,
        index: np.ndarray,
        n_classes: int,
        C: float,
        max_depth: int | None = None,
    ) -> AttentionTree:
        """Grow a tree on some rows, whose levels are ``binned``; it numbers them from 0."""

        def decide(question: Question, part: np.ndarray) -> np.ndarray:
            asked = Question(rows[question.rows], question.sign)
            trained = problems.solve([asked], C=C)
            p: np.ndarray = expit(_SVM_LINK * problems.evaluate(trained, rows[part])[:, 0])
            return p

        def judge(question: Question, part: np.ndarray) -> float:
            asked = Question(rows[question.rows], question.sign)
            return judge_split(problems, asked, rows[part], index, C)

        return grow_attention_tree(
            binned,
            index[rows],
            n_classes,
            delta=self.delta,
            n_rounds=self.n_rounds,
            gamma=self.max_error,
            max_depth=self.max_depth if max_depth is None else max_depth,
            min_samples=self.min_samples,
            max_kept=self.max_kept,
            max_nodes=self.max_nodes,
            decide=decide if self.route == "svm" else None,
            n_candidates=self.n_candidates,
            judge=judge if self.n_candidates > 1 else None,
            n_jobs=self.n_jobs,
        )

    def _warn_large(self, tree: AttentionTree) -> None:
        owner = type(self).__name__
        if tree.is_capped:
            n_cut = int((tree.leaf_cause == CAPPED).sum())
            lost = "below its first levels no row goes both ways"
            if n_cut:
                lost = f"{n_cut} of its {tree.n_leaves} leaves could be parted further"
            warnings.warn(
                f"{owner} with delta={self.delta:g} needs more nodes than max_nodes="
                f"{self.max_nodes}; it has {tree.n_nodes}, and {lost}; lower delta, or raise "
                "max_nodes.",
                FieldguideWarning,
                stacklevel=6,
            )
        elif not tree.n_nodes:
            warnings.warn(
                f"Boosting of {owner} parts no rows at the root with delta={self.delta:g} and "
                f"max_error={self.max_error:g}, and the classes were parted in two groups by "
                "their means instead; lower delta, or give columns that tell more.",
                FieldguideWarning,
                stacklevel=6,
            )


def _set_apart(index: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return True for a share of the rows of each class, never all of them."""
    is_apart = np.zeros(len(index), dtype=bool)
    for kind in np.unique(index):
        rows = rng.permutation(np.flatnonzero(index == kind))
        is_apart[rows[: min(len(rows) - 1, round(share * len(rows)))]] = True
    return is_apart


def _halve(problems: Problems, index: np.ndarray, n_classes: int) -> np.ndarray:
    """Return −1 or +1 for each class, in two groups that are alike within."""
    alike = likeness(problems.mean_distances(index, n_classes))
    return np.where(bipartition(alike, 0.3), 1, -1)

"""A key that learns new kinds after its training: its tree grows at the leaves that they reach."""

from abc import abstractmethod
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from fieldguide._check import check_number
from fieldguide._random import deal_folds
from fieldguide._saving import State, pack, unpack
from fieldguide.errors import InvalidArgument
from fieldguide.identify.attention_growing import (
    AttentionTree,
    split_once,
)
from fieldguide.identify.binning import Binned, bin_features
from fieldguide.identify.confidence import HeldOut
from fieldguide.identify.new_kinds import (
    graft_rows,
    hold_out_margins,
    is_plan_of,
    join_functions,
    read_new_labels,
    stack_rows,
    widen_graph,
)
from fieldguide.identify.routed_plan import (
    PLAN,
    Examples,
    RoutedPlan,
    pick_examples,
    renumber,
)
from fieldguide.identify.tree_key import N_FOLDS, TreeKey
from fieldguide.svm import (
    LinearFunctions,
    Problems,
    Question,
    warn_open_gaps,
)

GROWING_TOL = 1e-2  # who goes where needs no exact hyperplane


class TeachableKey(TreeKey):
    """Base of the keys that new kinds can be added to."""

    max_depth: int
    examples_: Examples
    _grown: tuple[Any, np.ndarray, RoutedPlan]  # rows, their classes, the plan; for add_kind

    def add_kind(self, X: Any, y: Any) -> Self:
        """Teach the fitted key new kinds without training it again.

        The new rows go down the tree to their leaves, and only these grow: on the new rows and the
        training rows that were there. The new nodes and the one-vs-all functions of the new kinds
        are trained; all other functions stay as they are, bit for bit. Scales and evidence of the
        new nodes are fitted to held-out rows; ``held_out_``, ``doubts_`` and ``tolerance_`` stay
        what they were without the new kinds, so fit again once these have become many.

        Parameters
        ----------
        X : rows of shape (n, n_features)
        y : array of shape (n,)
            Kinds that the key does not know yet.

        Examples
        --------
        >>> from fieldguide.identify import AttentionTreeClassifier
        >>> X = np.repeat(np.eye(4), 6, axis=0) + np.random.default_rng(0).normal(0, 0.1, (24, 4))
        >>> y = np.repeat(list("abcd"), 6)
        >>> key = AttentionTreeClassifier(C=10.0).fit(X[:18], y[:18]).add_kind(X[18:], y[18:])
        >>> key.predict(np.eye(4)).tolist()
        ['a', 'b', 'c', 'd']
        """
        old_X, old_index, plan = self._recall_training()
        X = self._read_rows(X)
        labels = read_new_labels(type(self).__name__, self.classes_, X, y)
        classes = np.sort(np.concatenate([self.classes_, np.unique(labels)]))
        place = np.searchsorted(classes, self.classes_)
        added = np.searchsorted(classes, np.unique(labels))
        index = np.concatenate([place[old_index], np.searchsorted(classes, labels)])
        rows = stack_rows(old_X, X)
        graph = self.graph_
        plan = renumber(plan, place, index, len(classes))
        grow_leaf = partial(self._grow_leaf, rows, index, len(classes), len(old_index))
        wider, n_old = graft_rows(plan, graph, X, grow_leaf, self.n_jobs), graph.n_nodes
        functions = graph.functions
        problems = Problems(
            rows,
            self.kernel,
            None if isinstance(functions, LinearFunctions) else functions.gamma,
            loss=self._find_loss(),
            tol=self.tol,
            n_jobs=self.n_jobs,
        )
        every = np.arange(len(index))
        questions = [wider.ask(node) for node in range(n_old, wider.n_nodes)]
        questions += [Question(every, np.where(index == c, 1.0, -1.0)) for c in added]
        trained = problems.solve(questions, C=self.C_)
        order = np.concatenate([place, added]).argsort()
        n_new = wider.n_nodes - n_old
        self.graph_ = widen_graph(
            graph,
            wider,
            join_functions(functions, problems, trained, n_old, n_new, order),
            hold_out_margins(problems, wider, n_old, self.C_),
            X,
            place,
            self.n_jobs,
        )
        self.classes_, self._grown = classes, (rows, index, wider)
        self.examples_ = pick_examples(wider)
        if self.held_out_ is not None:
            self.held_out_ = self.held_out_._replace(answer=place[self.held_out_.answer])
        warn_open_gaps(type(self).__name__, trained.gaps, self.tol, "lower C or raise tol")
        return self

    def hold_out_kinds(self, X: Any, y: Any, n_folds: int = N_FOLDS) -> HeldOut | None:
        """Return what is said of rows of new kinds by keys that were taught these without them.

        For each fold of the rows, a copy of the key is taught the others, which takes as long as
        :meth:`add_kind`. The key itself has seen none of the rows and stays as it is. Answers are
        numbers of the classes that :meth:`add_kind` will make of it; None for a single row.
        """
        check_number(type(self).__name__, "n_folds", n_folds, 2, 10**6, integer=True)
        X = self._read_rows(X)
        labels = read_new_labels(type(self).__name__, self.classes_, X, y)
        if len(labels) < 2:
            return None
        classes = np.sort(np.concatenate([self.classes_, np.unique(labels)]))
        fold = deal_folds(np.unique(labels, return_inverse=True)[1], n_folds, 0)
        probability = np.zeros((len(labels), len(classes)))
        for k in np.unique(fold):
            held, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            taught = copy(self).add_kind(X[others], labels[others])
            known = np.searchsorted(classes, taught.classes_)
            probability[np.ix_(held, known)] = taught.predict_proba(X[held])
        return HeldOut.from_probabilities(
            np.arange(len(labels)),
            probability,
            np.searchsorted(classes, labels),
            len(np.unique(fold)),
        )

    def plan_to_state(self) -> State:
        """Return which training rows came to which node, as :meth:`to_state` returns the key."""
        return pack(PLAN, self._recall_training()[2], type(self).__name__)

    def resume(self, X: Any, y: Any, plan: State) -> Self:
        """Give a key that was opened from a file its training rows again, to add kinds to it.

        What :meth:`add_kind` then makes of it is the same bit for bit as if it had not been saved.

        Parameters
        ----------
        X : rows of shape (n, n_features)
            Those of the training, in their order, and after them those that were added.
        y : array of shape (n,)
        plan : arrays and record
            What :meth:`plan_to_state` returned of the key that was saved.

        Examples
        --------
        >>> from fieldguide.identify import AttentionTreeClassifier
        >>> X = np.repeat(np.eye(4), 6, axis=0) + np.random.default_rng(0).normal(0, 0.1, (24, 4))
        >>> y = np.repeat(list("abcd"), 6)
        >>> key = AttentionTreeClassifier(C=10.0).fit(X[:18], y[:18])
        >>> opened = AttentionTreeClassifier.from_state(*key.to_state())
        >>> opened.resume(X[:18], y[:18], key.plan_to_state()).add_kind(X[18:], y[18:]).classes_
        array(['a', 'b', 'c', 'd'], dtype='<U1')
        """
        X, labels = self._read_rows(X), column_or_1d(y)
        read = unpack(PLAN, *plan, type(self).__name__)
        if not (len(labels) == X.shape[0] and np.array_equal(np.unique(labels), self.classes_)):
            raise InvalidArgument(
                f"resume of {type(self).__name__} needs the {len(self.classes_)} kinds that the "
                "key knows, a label for each row; give the rows and labels of its training."
            )
        index = np.searchsorted(self.classes_, labels)
        if not is_plan_of(read, self.graph_, X):
            raise InvalidArgument(
                f"The plan is not of this {type(self).__name__} and its {X.shape[0]} training "
                "rows; give those that it was saved with."
            )
        self._grown = X, index, read._replace(class_of=index)
        return self

    def renumber_rows(self, number: np.ndarray) -> Self:
        """Give the training rows other numbers, such as those of a table that they have joined.

        Parameters
        ----------
        number : array of shape (n,)
            The new number of each training row, each of 0 to n − 1 once.
        """
        X, index, plan = self._recall_training()
        order = np.argsort(number)
        if not np.array_equal(number[order], np.arange(len(index))):
            raise InvalidArgument(
                f"renumber_rows of {type(self).__name__} needs every number from 0 to "
                f"{len(index) - 1} once."
            )
        plan = plan._replace(
            rows=number[plan.rows], leaf_rows=number[plan.leaf_rows], class_of=index[order]
        )
        self._grown = X[order], index[order], plan
        self.examples_ = pick_examples(plan)
        if self.held_out_ is not None:
            self.held_out_ = self.held_out_._replace(rows=number[self.held_out_.rows])
        functions = self.graph_.functions
        if not isinstance(functions, LinearFunctions):
            functions = functions._replace(support=number[functions.support])
            self.graph_ = self.graph_._replace(functions=functions)
        return self

    def _recall_training(self) -> tuple[Any, np.ndarray, RoutedPlan]:
        """Return the training rows, their classes and the plan."""
        check_is_fitted(self)
        if self.node_classifier is not None:
            raise InvalidArgument(
                f"{type(self).__name__} adds kinds with SVMs of its own, not with a "
                "node_classifier; fit the key again with all rows."
            )
        if not hasattr(self, "_grown"):
            raise InvalidArgument(
                f"This {type(self).__name__} was opened from a file, which holds no training "
                "rows; fit it again to add kinds, or give them back with resume."
            )
        return self._grown

    def _grow_leaf(
        self, X: Any, index: np.ndarray, n_classes: int, first: int, part: np.ndarray, depth: int
    ) -> AttentionTree:
        """Grow a tree on the old and new rows of a leaf; where none grows, part old from new."""
        gamma = None
        if not isinstance(self.graph_.functions, LinearFunctions):
            gamma = self.graph_.functions.gamma
        own = X[part]
        problems = Problems(own, self.kernel, gamma, loss=self._find_loss(), tol=GROWING_TOL)
        grow = partial(self._grow, problems, bin_features(own), np.arange(len(part)))
        tree = grow(index[part], n_classes, self.C_, max(1, self.max_depth - depth))
        if not tree.n_nodes:
            side = np.full(n_classes, -1)
            side[np.unique(index[first:])] = 1
            tree = split_once(index[part], side, n_classes)
        return tree._replace(rows=part[tree.rows], leaf_rows=part[tree.leaf_rows])

    @abstractmethod
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

"""The tree of Marszałek and Schmid: the rows are cut in two, and the classes follow their rows.

At each node the rows of its classes are cut in two groups that are alike within (normalised cut).
With q_k the larger share of class k in one group, the class is decided when 2 q_k − 1 ≥ 1 − α, and
goes to that group's side; otherwise it goes both ways. The function of the node tells the decided
classes apart. α = 1 lets no class go both ways; the smaller α is, the more do.

Reference: M. Marszałek, C. Schmid, "Constructing category hierarchies for visual recognition",
ECCV (2008).
"""

from typing import Any, ClassVar

import numpy as np

from fieldguide._check import check_number
from fieldguide._random import spawn_generators
from fieldguide.identify.bipartition import bipartition
from fieldguide.identify.growing import Classes, Plan, Split, grow
from fieldguide.identify.search_strategies import Search
from fieldguide.identify.tree_key import TreeKey
from fieldguide.svm import Problems

_MAX_ROWS = 1000  # cut in two at a node; where there are more, as many are drawn from each class


class NormalizedCutTreeClassifier(TreeKey):
    """A graph whose nodes cut the rows in two, by how alike they are.

    Parameters
    ----------
    alpha : float
        In (0, 1]: twice the share of a class's rows that may land on the other side before the
        class goes both ways. At 1 no class goes both ways; the smaller it is, the more do.
    max_nodes : int
        The most nodes, unless the classes need more. Where classes that go both ways would take
        the graph beyond, none does from there on, and a warning says so.
    C, kernel, gamma, loss, tol, search, node_classifier, n_trees, n_jobs, random_state
        As of every tree key; see :class:`TreeKey`.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.identify import NormalizedCutTreeClassifier
    >>> X = np.repeat(np.eye(4), 6, axis=0) + np.random.default_rng(0).normal(0, 0.1, (24, 4))
    >>> key = NormalizedCutTreeClassifier(C=10.0).fit(X, np.repeat(list("abcd"), 6))
    >>> key.predict(np.eye(4)).tolist()
    ['a', 'b', 'c', 'd']
    """

    _gone: ClassVar[tuple[str, ...]] = ("max_rows",)

    def __init__(
        self,
        alpha: float = 0.5,
        *,
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
        self.alpha = alpha
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

    def _check_own(self) -> None:
        owner = type(self).__name__
        check_number(owner, "alpha", self.alpha, 1e-6, 1)
        check_number(owner, "max_nodes", self.max_nodes, 1, 10**7, integer=True)

    def _plan(self, problems: Problems, index: np.ndarray, C: float, tree: int) -> Plan:
        n_classes = len(self.classes_)
        members = [np.flatnonzero(index == c) for c in range(n_classes)]
        # Each class draws its rows once, so that a node does not depend on when it is reached.
        generators = spawn_generators(problems.seed, n_classes * (tree + 1))[-n_classes:]
        for rng, rows in zip(generators, members, strict=True):
            rng.shuffle(rows)
        if tree:  # other trees see two rows of three
            members = [rows[: max(1, 2 * len(rows) // 3)] for rows in members]

        def share(classes: Classes) -> np.ndarray:
            """Return the share of each class in the second group."""
            n_each = max(1, _MAX_ROWS // len(classes))
            parts = [members[c][:n_each] for c in classes]
            second = bipartition(problems.affinity(np.concatenate(parts)))
            owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
            return np.bincount(owner, weights=second) / np.bincount(owner)

        plan, is_capped = grow(
            n_classes,
            lambda classes: decide_classes(share(classes), self.alpha),
            lambda classes: decide_classes(share(classes), 1.0),
            max_nodes=self.max_nodes,
            n_jobs=self.n_jobs,
        )
        if is_capped:
            self._warn_capped(len(plan.sets), "raise alpha")
        return plan


def decide_classes(share: np.ndarray, alpha: float) -> Split:
    """Return the split of classes by their shares in the second group.

    Where no class is decided on a side, the one that leans to it most is.
    """
    lean = 2 * share - 1
    colors = np.where(np.abs(lean) >= 1 - alpha, np.where(lean > 0, 1, -1), 0).astype(np.int8)
    order = np.argsort(lean, kind="stable")
    if not (colors < 0).any():
        colors[order[0]] = -1
    if not (colors > 0).any():
        colors[order[-1]] = 1
    return Split(colors)

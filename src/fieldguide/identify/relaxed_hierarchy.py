"""The relaxed hierarchy of Gao and Koller: classes that are hard to place go both ways.

At a node with classes 𝒦, a colouring μ_k ∈ {−1, 0, +1} and a hyperplane are found together:

    min  ½|w|² + C Σ_{μ_k = +1} Σ_{i∈k} ξ⁺_i + C Σ_{μ_k = −1} Σ_{i∈k} ξ⁻_i − ρ C Σ_{μ_k ≠ 0} n_k
    s.t. −B ≤ Σ μ_k ≤ B, and a class on each side

Two steps take turns until a colouring comes back: the hyperplane for given colours is a binary SVM,
and the colours for a given hyperplane are found exactly (:mod:`fieldguide.identify.coloring`).
Neither raises the objective. Of many rows, a part is enough to find colours. With
``coloring="printed"`` the colours are those of the procedure that the reference prints
(:mod:`fieldguide.identify.printed_coloring`), and the exact ones where that breaks a constraint.
Classes with μ ≤ 0 go left, with μ ≥ 0 right. Once the colours stand, the function of the node is
trained again, on all rows and with the loss of the other functions of the key.

With ``words`` some colourings to start from are those of a word, and of all colourings on the way
whose objectives are about equal the one is taken whose sides a word tells apart best
(:mod:`fieldguide.identify.worded_split`).

=====  =======================================================================
ξ⁺ ξ⁻  max(0, 1 − f(x)), max(0, 1 + f(x)): slack on the right, on the left
ρ      reward of a row that takes part: large ρ is fast, small ρ is accurate
B      how uneven the two sides may be
=====  =======================================================================

Reference: T. Gao, D. Koller, "Discriminative learning of relaxed hierarchy for large-scale visual
recognition", ICCV (2011).
"""

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fieldguide._check import check_choice, check_number
from fieldguide.identify.bipartition import bipartition
from fieldguide.identify.coloring import class_costs, color_classes
from fieldguide.identify.growing import Classes, Plan, Split, draw_rows, grow
from fieldguide.identify.printed_coloring import color_as_printed
from fieldguide.identify.search_strategies import Search
from fieldguide.identify.tree_key import TreeKey
from fieldguide.identify.worded_split import check_words, color_by_words, measure_apart
from fieldguide.svm import Problems, Question, Trained

COLORINGS = ("exact", "printed")
_MAX_TURNS = 20
_GROWING_TOL = 1e-2  # colours need no exact hyperplane
_MOST_PLANNED = 2**15  # rows that colours are found by
_WORD_STARTS = 2
# Times C, for each row: objectives that are about equal. Of 0, 0.01, 0.03, 0.1 and 0.3, on other
# splits than the figures of docs/keys.md.
_WORD_SLACK = 0.03


class RelaxedHierarchyClassifier(TreeKey):
    """A graph of hyperplanes whose classes may go both ways.

    Parameters
    ----------
    rho : float
        Reward for each row whose class goes one way at a node. From about 1 on nearly every class
        goes one way; the smaller rho is, the more classes go both ways, and the more nodes there
        are.
    balance : int, optional
        Largest difference of the numbers of classes on the two sides of a node; by default a
        tenth of its classes, at least 1.
    n_starts : int
        Number of starting points at each node: the spectral bipartition of the class means, then
        pairs of distant classes.
    max_nodes : int
        The most nodes, unless the classes need more. Where classes that go both ways would take
        the graph beyond, none does from there on, and a warning says so.
    words : array of shape (n_classes, n_words), optional
        How often each class shows each of some words, classes in the order of ``np.unique(y)``. Of
        splits that are about as good, the one is taken that a word tells apart best.
    coloring : {"exact", "printed"}
        How the colours of a hyperplane are found: the best of all, or by the procedure of the
        paper, which is not always the best. It is for a ``balance`` of 1 or more; where it leaves
        a side empty or uneven, the exact colours are taken.
    C, kernel, gamma, loss, tol, search, node_classifier, n_trees, n_jobs, random_state
        As of every tree key; see :class:`TreeKey`.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.identify import RelaxedHierarchyClassifier
    >>> X = np.repeat(np.eye(4), 6, axis=0) + np.random.default_rng(0).normal(0, 0.1, (24, 4))
    >>> key = RelaxedHierarchyClassifier(C=10.0).fit(X, np.repeat(list("abcd"), 6))
    >>> key.predict(np.eye(4)).tolist()
    ['a', 'b', 'c', 'd']
    """

    _newer: ClassVar[tuple[str, ...]] = ("loss", "words", "coloring", "node_classifier")

    def __init__(
        self,
        rho: float = 1.2,
        *,
        balance: int | None = None,
        n_starts: int = 3,
        max_nodes: int = 5000,
        words: Any = None,
        coloring: str = "exact",
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
        self.rho = rho
        self.balance = balance
        self.n_starts = n_starts
        self.max_nodes = max_nodes
        self.words = words
        self.coloring = coloring
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
        check_number(owner, "rho", self.rho, 0, 100)
        check_number(owner, "n_starts", self.n_starts, 1, 100, integer=True)
        check_number(owner, "max_nodes", self.max_nodes, 1, 10**7, integer=True)
        check_choice(owner, "coloring", self.coloring, COLORINGS)
        if self.balance is not None:
            least = 1 if self.coloring == "printed" else 0
            check_number(owner, "balance", self.balance, least, 10**7, integer=True)
        if self.words is not None:
            check_words(owner, self.words)

    def _plan(self, problems: Problems, index: np.ndarray, C: float, tree: int) -> Plan:
        n_classes, words = len(self.classes_), None
        if len(index) > _MOST_PLANNED:
            rows = draw_rows(index, _MOST_PLANNED, problems.seed)
            C *= len(index) / len(rows)
            problems, index = problems.part(rows), index[rows]
        loose = problems.changed(tol=max(problems.tol, _GROWING_TOL), n_jobs=1)
        if self.words is not None:
            words = check_words(type(self).__name__, self.words, n_classes)
        painter = Painter(
            *(loose, index, n_classes, C, self.rho, self.balance, tree, words),
            is_printed=self.coloring == "printed",
        )
        plan, is_capped = grow(
            n_classes,
            lambda classes: painter.split(classes, self.n_starts),
            painter.force,
            max_nodes=self.max_nodes,
            n_jobs=self.n_jobs,
        )
        if is_capped:
            self._warn_capped(len(plan.sets), "raise rho")
        return plan


class Painting(NamedTuple):
    """A colouring with its hyperplane."""

    colors: np.ndarray  # (len(classes),) int8
    objective: float


class Painter:
    """Colours the classes of a node."""

    def __init__(
        self,
        problems: Problems,
        index: np.ndarray,
        n_classes: int,
        C: float,
        rho: float,
        balance: int | None,
        tree: int = 0,
        words: np.ndarray | None = None,
        *,
        is_printed: bool = False,
    ) -> None:
        self._is_printed = is_printed
        self._problems, self._C, self._rho = problems, C, rho
        self._balance, self._tree, self._words = balance, tree, words
        self._members = [np.flatnonzero(index == c) for c in range(n_classes)]
        self._distance = problems.mean_distances(index, n_classes)

    def split(self, classes: Classes, n_starts: int) -> Split:
        """Return the best colouring over several starts."""
        if len(classes) == 2:
            return Split(np.array([-1, 1], dtype=np.int8))
        starts = self._starts(classes, n_starts)
        if self._words is not None:
            return Split(self._choose_worded(classes, starts, self._words[list(classes)]))
        paintings = [self.paint(classes, start) for start in starts]
        return Split(min(paintings, key=lambda painting: painting.objective).colors)

    def force(self, classes: Classes) -> Split:
        """Return a split in which no class goes both ways."""
        return Split(self._halve(classes))

    def paint(self, classes: Classes, colors: np.ndarray) -> Painting:
        """Alternate hyperplane and colours until a colouring comes back."""
        return min(self._alternate(classes, colors), key=lambda painting: painting.objective)

    def _alternate(self, classes: Classes, colors: np.ndarray) -> Iterator[Painting]:
        """Yield each colouring on the way with the hyperplane that it was found for."""
        rows = np.concatenate([self._members[c] for c in classes])
        owner = np.repeat(np.arange(len(classes)), [len(self._members[c]) for c in classes])
        balance = self._find_balance(len(classes))
        seen: set[bytes] = set()
        trained: Trained | None = None
        for _ in range(_MAX_TURNS):
            seen.add(colors.tobytes())
            side = colors[owner]
            is_active = side != 0
            question = Question(rows[is_active], side[is_active].astype(np.float64))
            trained = self._problems.solve([question], C=self._C, start=trained)
            margin = self._problems.evaluate(trained, rows)[:, 0]
            cost_minus, cost_plus = self._costs(margin, owner, len(classes))
            beta = trained.beta.toarray()[0, rows]
            # ½|w|², whichever way the intercept is treated: Σ β f = |w|² at the optimum's β.
            penalty = 0.5 * float(beta @ margin)
            colors = self._color(cost_minus, cost_plus, balance)
            cost = cost_minus[colors < 0].sum() + cost_plus[colors > 0].sum()
            yield Painting(colors, penalty + float(cost))
            if colors.tobytes() in seen:
                break

    def _choose_worded(
        self, classes: Classes, starts: list[np.ndarray], words: np.ndarray
    ) -> np.ndarray:
        """Return the colours that a word tells apart best, of those that are about the best."""
        starts = [*starts, *color_by_words(words, _WORD_STARTS)]
        paintings = [p for start in starts for p in self._alternate(classes, start)]
        n_rows = sum(len(self._members[c]) for c in classes)
        most = min(p.objective for p in paintings) + _WORD_SLACK * self._C * n_rows
        return max(
            (p for p in paintings if p.objective <= most),
            key=lambda p: (measure_apart(words, p.colors), -p.objective),
        ).colors

    def _color(self, minus: np.ndarray, plus: np.ndarray, balance: int) -> np.ndarray:
        if self._is_printed:
            colors = color_as_printed(minus, plus, balance)
            if colors.min() < 0 < colors.max() and abs(int(colors.sum())) <= balance:
                return colors
        return color_classes(minus, plus, balance)

    def _find_balance(self, n_classes: int) -> int:
        return self._balance if self._balance is not None else max(1, n_classes // 10)

    def _costs(
        self, margin: np.ndarray, owner: np.ndarray, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what each class costs on the left and on the right."""
        count = np.bincount(owner, minlength=n)
        left, right = (
            np.bincount(owner, weights=np.maximum(0, 1 - sign * margin), minlength=n)
            for sign in (-1, 1)
        )
        return class_costs(left, right, count, self._C, self._rho)

    def _halve(self, classes: Classes) -> np.ndarray:
        distance = self._distance[np.ix_(classes, classes)]
        scale = distance[distance > 0].mean() if (distance > 0).any() else 1.0
        second = bipartition(np.exp(-distance / scale))
        return np.where(second, 1, -1).astype(np.int8)

    def _starts(self, classes: Classes, n_starts: int) -> list[np.ndarray]:
        """Return the bipartition of the classes, then the most distant pairs, one class each.

        Trees after the first begin with pairs drawn by their distance instead.
        """
        distance = self._distance[np.ix_(classes, classes)].copy()
        if self._tree:
            rng = np.random.default_rng([self._problems.seed, self._tree, *classes])
            starts = []
            distance *= rng.random(distance.shape)
        else:
            starts = [self._halve(classes)]
        while len(starts) < n_starts and distance.max() > 0:
            a, b = np.unravel_index(int(distance.argmax()), distance.shape)
            colors = np.zeros(len(classes), dtype=np.int8)
            colors[a], colors[b] = -1, 1
            starts.append(colors)
            distance[[a, b]] = 0
            distance[:, [a, b]] = 0
        return starts or [self._halve(classes)]

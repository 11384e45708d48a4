"""Put a tree into words: name each node by what rises over its parent, and fold what has no name.

The share of a node is, for each attribute, the part of its rows (here and below) that show it. An
attribute names a node when its share is at least ``MIN_SHARE``, rises over the parent's by at
least ``MIN_RISE``, and no node above has it. A node that no attribute names, or that is too small,
is folded into its parent; siblings with the same leading word become one branch; a branch whose
rows show the leading word of a sibling goes below that sibling; siblings whose rows all show one
more word become branches below it. What is left is a tree in which every node but the root has
words, and a row sits at the deepest node that holds it.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fieldguide._check import check_number
from fieldguide.describe.tree import Tree, find_depth
from fieldguide.errors import InvalidArgument

MIN_SHARE = 0.7
MIN_RISE = 0.25
MAX_WORDS = 3
_BELONGS = 0.9  # a branch that shows its sibling's leading word this often goes below it
_COMPANION = 0.75  # a further word must rise by this part of the leading word's rise
_LEAST_RISE = 0.1  # of the word of a node that has none over the threshold
YES = 0.5


@dataclass(frozen=True)
class DescribedTree:
    """A tree in words.

    Attributes
    ----------
    parent : ndarray of shape (n_nodes,)
        Pre-order; -1 for the root.
    words : tuple of tuple of str
        Of each node; () where no word is true of it and new. The root has the words that nearly
        all rows show; no other node repeats them.
    truth : ndarray of shape (n_nodes,)
        How often the words are true of the node's rows, on average; 1 for a node without any.
    labels : ndarray of shape (n,)
        The deepest node that holds each row.

    Examples
    --------
    >>> words = (("animal",), ("winged",), ("red cap", "small"))
    >>> told = DescribedTree(np.array([-1, 0, 1]), words, np.ones(3), np.array([1, 2, 2]))
    >>> told.sentence(2), told.depth.tolist()
    ('winged › red cap, small', [0, 1, 2])
    """

    parent: np.ndarray
    words: tuple[tuple[str, ...], ...]
    truth: np.ndarray
    labels: np.ndarray

    @property
    def depth(self) -> np.ndarray:
        """Edges from the root to each node, (n_nodes,)."""
        return find_depth(self.parent)

    def sentence(self, node: int) -> str:
        """Return the path to a node: ``"animal › winged › red cap"``.

        What the root says is true of everything, so only its own sentence has it.
        """
        if node == 0:
            return ", ".join(self.words[0])
        phrases = []
        while node > 0:
            phrases.append(", ".join(self.words[node]))
            node = int(self.parent[node])
        return " › ".join(phrase for phrase in reversed(phrases) if phrase)


class NamedNodes(ABC):
    """Gives fitted trees words for each node, as the model has it: nothing is folded.

    Needs ``tree_``, ``labels_`` and ``means_``, the means of the rows at or below each node.
    """

    tree_: Tree
    labels_: np.ndarray
    means_: np.ndarray
    n_features_in_: int

    @abstractmethod
    def _stated_rates(self) -> np.ndarray:
        """Return the probability that a row at each node shows each attribute."""

    def describe(
        self, names: Sequence[str] | None = None, threshold: float = MIN_SHARE
    ) -> DescribedTree:
        """Put every node into words.

        The words of a node are the attributes that its rows show with probability over
        ``threshold`` and that no node above shows. A node without one gets the attribute that
        rises most over its parent, of those that at least half of its rows show and no node above
        says; where none rises by a tenth, the node has no words. At most three words, the largest
        rise first. The root has the words that nearly all rows show, and they are said only there.

        Parameters
        ----------
        names : sequence of str, optional
            Of the attributes; by default the columns of the data frame that was fitted, or
            "attribute 0", "attribute 1", …
        threshold : float
        """
        check_is_fitted(self)
        owner = f"{type(self).__name__}.describe"
        check_number(owner, "threshold", threshold, 0, 1)
        names = self._check_names(owner, names)
        words = choose_words(self.tree_.parent, self._stated_rates(), threshold)
        sure = [
            float(self.means_[k, found].mean()) if found else 1.0 for k, found in enumerate(words)
        ]
        return DescribedTree(
            self.tree_.parent,
            tuple(tuple(names[d] for d in found) for found in words),
            np.array(sure),
            self.labels_,
        )

    def _check_names(self, owner: str, names: Sequence[str] | None) -> list[str]:
        d = self.n_features_in_
        if names is None:
            names = getattr(self, "feature_names_in_", [f"attribute {j}" for j in range(d)])
        found = ["" if name is None else str(name).strip() for name in names]
        if len(found) != d:
            raise InvalidArgument(
                f"names of {owner} must name each of {d} attributes; got {len(found)}."
            )
        if not all(found):
            raise InvalidArgument(
                f"names of {owner} must not be empty; attribute {found.index('')} has none."
            )
        if len(set(found)) != d:
            twice = next(name for name in found if found.count(name) > 1)
            raise InvalidArgument(
                f"names of {owner} must differ; {twice!r} is there twice: rename one."
            )
        return found


def choose_words(parent: np.ndarray, rates: np.ndarray, threshold: float) -> list[list[int]]:
    """Return the attributes that name each node, none where there is no true one."""
    words: list[list[int]] = []
    above: list[set[int]] = []  # what a node or one above it shows
    said: list[set[int]] = []
    for k in range(len(parent)):
        is_root = k == 0
        rise = rates[k] if is_root else rates[k] - rates[parent[k]]
        shown = set(np.flatnonzero(rates[k] > threshold).tolist())
        known = set() if is_root else above[parent[k]]
        spoken = set() if is_root else said[parent[k]]
        found = sorted(shown - known - spoken, key=lambda d: (-rise[d], d))[:MAX_WORDS]
        if not found and not is_root:
            is_open = (rates[k] >= YES) & (rise >= _LEAST_RISE)
            is_open[list(spoken)] = False
            if is_open.any():
                found = [int(np.where(is_open, rise, -1).argmax())]
        words.append(found)
        above.append(known | shown)
        said.append(spoken | set(found))
    return words


def describe_tree(
    tree: Tree,
    labels: np.ndarray,
    A: np.ndarray,
    names: Sequence[str],
    *,
    min_count: int = 5,
    min_share: float = MIN_SHARE,
    implied: Mapping[str, Sequence[str]] | None = None,
) -> DescribedTree:
    """Name the nodes of ``tree``.

    Parameters
    ----------
    tree : Tree
    labels : ndarray of shape (n,)
        Node of each row.
    A : ndarray of shape (n, n_attributes)
        Probability that the row shows the attribute; NaN where that is not known.
    names : sequence of str
    min_count : int
        Smaller nodes are folded into their parent.
    min_share : float
        Part of the rows of a node that an attribute must be true of to name it.
    implied : mapping of str to sequence of str, optional
        The more general words that a word implies: "dog" need not add "animal".

    Examples
    --------
    >>> tree = Tree(np.array([-1, 0, 0]), np.zeros(3))
    >>> A = np.array([[1, 1, 0]] * 5 + [[1, 0, 1]] * 5)
    >>> told = describe_tree(tree, np.repeat([1, 2], 5), A, ["animal", "winged", "furry"])
    >>> told.sentence(1), told.sentence(2)  # all are animals: that divides nothing
    ('winged', 'furry')
    """
    A = np.asarray(A, dtype=np.float64)
    is_known = ~np.isnan(A)
    usual = np.where(is_known, A, 0).sum(axis=0) / np.maximum(is_known.sum(axis=0), 1)
    shows = np.where(is_known, A, usual)
    teller = _Teller(tree, labels, shows, list(names), min_count, min_share, implied or {})
    teller.tell([0], parent=-1, words=[], path=frozenset())
    return DescribedTree(
        np.array(teller.parent),
        tuple(tuple(names[j] for j in words) for words in teller.words),
        np.array(teller.truth),
        teller.labels,
    )


class _Teller:
    """Walks a tree from the root and writes the described one, in pre-order."""

    def __init__(
        self,
        tree: Tree,
        labels: np.ndarray,
        shows: np.ndarray,
        names: list[str],
        min_count: int,
        min_share: float,
        implied: Mapping[str, Sequence[str]],
    ) -> None:
        n_nodes = len(tree)
        self.children = tree.children()
        sums = np.zeros((n_nodes, shows.shape[1]))
        np.add.at(sums, labels, shows)
        self.sums = tree.sum_up(sums)
        self.counts = tree.sum_up(np.bincount(labels, minlength=n_nodes))
        self.rows_at = [np.flatnonzero(labels == node) for node in range(n_nodes)]
        self.min_count = min_count
        self.min_share = min_share
        position = {name: j for j, name in enumerate(names)}
        self.implied = {
            position[name]: {position[word] for word in general if word in position}
            for name, general in implied.items()
            if name in position
        }
        self.parent: list[int] = []
        self.words: list[list[int]] = []
        self.truth: list[float] = []
        self.labels = np.zeros(len(labels), dtype=np.int64)

    def tell(self, nodes: list[int], parent: int, words: list[int], path: frozenset[int]) -> None:
        """Write the branch that ``nodes`` make together, and everything below it."""
        branch = len(self.parent)
        share = self._share(nodes)
        self.parent.append(parent)
        self.words.append(words)
        self.truth.append(float(share[words].mean()) if words else 1.0)
        path = path | set(words) | {g for word in words for g in self.implied.get(word, ())}
        for group in self._branches(nodes, share, path, branch):
            found = self._name(group, share, path)
            self.tell(group, branch, found, path)

    def _branches(
        self, nodes: list[int], share: np.ndarray, path: frozenset[int], branch: int
    ) -> list[list[int]]:
        """Return the groups of nodes that become branches of ``branch``, largest first.

        Rows of nodes that become none sit at ``branch`` itself.
        """
        by_word: dict[int, list[int]] = {}
        pending = list(nodes)
        if len(nodes) == 1:
            self.labels[self.rows_at[nodes[0]]] = branch
            pending = list(self.children[nodes[0]])
        while pending:
            node = pending.pop()
            found = self._name([node], share, path)
            if found:
                by_word.setdefault(found[0], []).append(node)
            else:
                self.labels[self.rows_at[node]] = branch
                pending += self.children[node]
        self._hang_below(by_word, share, path)
        self._join_general(by_word, share, path)
        groups = []
        for group in by_word.values():
            if self.counts[group].sum() >= self.min_count and self._name(group, share, path):
                groups.append(sorted(group))
            else:
                self._settle(group, branch)
        return sorted(groups, key=lambda group: (-self.counts[group].sum(), group[0]))

    def _hang_below(
        self, by_word: dict[int, list[int]], above: np.ndarray, path: frozenset[int]
    ) -> None:
        """Put each group whose rows show the leading word of another group below that one."""
        waiting = sorted(by_word, key=lambda word: (self.counts[by_word[word]].sum(), word))
        for word in waiting:
            group = by_word[word]
            shown = self._share(group)
            for other in sorted(by_word, key=lambda other: (-shown[other], other)):
                if shown[other] < _BELONGS:
                    break
                both = by_word[other] + group
                if other == word or self._share(by_word[other])[word] >= YES:
                    continue
                found = self._name(both, above, path)
                below = path | set(found)
                if found[:1] == [other] and self._name(group, self._share(both), below)[:1]:
                    by_word[other] = both
                    del by_word[word]
                    break

    def _join_general(
        self, by_word: dict[int, list[int]], above: np.ndarray, path: frozenset[int]
    ) -> None:
        """Make one branch of groups whose rows all show a word that none of them is named by."""
        while True:
            shares = {word: self._share(group) for word, group in by_word.items()}
            best: tuple[int, list[int]] | None = None
            for general in range(self.sums.shape[1]):
                if general in path or general in by_word:
                    continue
                joined = [word for word in by_word if shares[word][general] >= _BELONGS]
                if len(joined) < max(2, len(best[1]) + 1 if best else 0):
                    continue
                union = [node for word in joined for node in by_word[word]]
                if self._name(union, above, path)[:1] == [general]:
                    best = general, joined
            if best is None:
                return
            by_word[best[0]] = [node for word in best[1] for node in by_word.pop(word)]

    def _settle(self, nodes: list[int], branch: int) -> None:
        pending = list(nodes)
        while pending:
            node = pending.pop()
            self.labels[self.rows_at[node]] = branch
            pending += self.children[node]

    def _share(self, nodes: list[int]) -> np.ndarray:
        shares: np.ndarray = self.sums[nodes].sum(axis=0) / max(self.counts[nodes].sum(), 1)
        return shares

    def _name(self, nodes: list[int], above: np.ndarray, path: frozenset[int]) -> list[int]:
        """Return the attributes that name ``nodes`` under a parent with shares ``above``."""
        share = self._share(nodes)
        rise = share - above
        rise[share < self.min_share] = 0
        rise[list(path)] = 0
        words: list[int] = []
        hidden: set[int] = set()
        for j in np.argsort(-rise, kind="stable"):
            if len(words) == MAX_WORDS or rise[j] < MIN_RISE:
                break
            if words and rise[j] < _COMPANION * rise[words[0]]:
                break
            if j in hidden or any(int(j) in self.implied.get(w, ()) for w in words):
                continue
            specific = [w for w in words if w in self.implied.get(int(j), ())]
            for general in specific:  # the more specific word stands for both
                words.remove(general)
            words.append(int(j))
            hidden |= self.implied.get(int(j), set())
        return words

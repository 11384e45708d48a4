"""Where words end, likeness goes on: branches of specimens that look alike, named by what they are.

Specimens that sit at a branch itself, below which no word divides them, are divided by likeness:
those with a label by kinds, whose mean rows are joined by average linkage; the others by k-means. A
branch of likeness is named by what it holds: by its kinds ("ketch and schooner"), by the two most
typical of many ("like ketch and schooner"), or by its most typical picture ("like IMG_0042"). No
word is invented, and a branch that is not like what it would be named after is none.

In a labelled collection kinds sit together: specimens that words put apart from most of their kind
join it, unless enough of the kind are there to say that a word divides it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from fieldguide.describe import DescribedTree
from fieldguide.guide.naming import LIKE, listed
from fieldguide.guide.summaries import group_kinds, list_children, normalise_rows
from fieldguide.metrics import ancestor_matrix

if TYPE_CHECKING:
    from scipy.cluster.hierarchy import ClusterNode

LEAST = 12  # specimens at a branch, from which on they are divided
N_BRANCHES = 8  # into which at most they are divided at once
N_NAMED = 3  # kinds that a name lists
_MOST = 0.6  # share of a kind that sits where the kind does
_DIVIDES = 0.3  # share of a kind at a branch, from which on a word divides the kind
_LARGE = 48  # specimens without a label that are divided once more
_TIGHT = 0.5  # of the median distance of kinds: of those that one name may list
_TOGETHER = 0.85  # share of nearest specimens that a division must keep together
_MOST_FITTED = 4096
_MOST_KINDS = 500
_HALF = 0.5
_LEAST_NEAR = 2
_COHERENT = 0.75  # coherence of a branch of pictures; what is less coherent is not alike
_ALIKE = 0.7  # share of a branch of many kinds that must be like the two that it is named after
_FARTHEST = 0.05  # of the pictures of a kind, farther from its mean than what is like the kind


@dataclass(frozen=True)
class Names:
    """How specimens and kinds are called."""

    kinds: Sequence[str | None]  # of each specimen
    shown: dict[str, str]  # kind as people write it
    stems: Sequence[str]  # file of each specimen, without its folders and ending


@dataclass(frozen=True)
class Likeness:
    """What likeness is measured by, and how what is alike is called."""

    X: np.ndarray  # (n, n_columns), rows of length 1
    near: np.ndarray  # (n, k), the nearest specimens of each
    names: Names

    def find_near_without_kind(self) -> np.ndarray:
        """Return ``near`` of the specimens that have no kind, -1 for the others: what a kind
        shows, and where it sits, is found from all of its pictures already."""
        has_kind = np.array([kind is not None for kind in self.names.kinds], dtype=bool)
        return np.where(has_kind[:, None], -1, self.near)


@dataclass(frozen=True)
class _Group:
    name: str
    rows: np.ndarray
    truth: float
    is_branch: bool  # else its parts take its place
    parts: list["_Group"]


def gather_kinds(parent: np.ndarray, labels: np.ndarray, kinds: Sequence[str | None]) -> np.ndarray:
    """Return the branch of each specimen, stray ones with their kind.

    The place of a kind is the deepest branch that holds most of it, there or below. Specimens
    elsewhere go there; so do those below it, but where a part of the kind sits that is large
    enough to say that a word divides it.
    """
    is_above = ancestor_matrix(parent) > 0  # [v, a]: a is v or above it
    found = labels.copy()
    for ids in group_kinds(kinds).values():
        rows = np.array(ids)
        held = is_above[labels[rows]].sum(axis=0)
        place = int(np.flatnonzero(held >= _MOST * len(rows)).max())  # they lie on one path
        is_part = (held >= max(3, _DIVIDES * len(rows))) & is_above[:, place]
        for i in rows:
            way = np.flatnonzero(is_above[labels[i]] & is_part)
            found[i] = way.max() if len(way) else place
    return found


def add_likeness(
    described: DescribedTree, likeness: Likeness, least: int, seed: int
) -> tuple[DescribedTree, np.ndarray]:
    """Divide by likeness what words do not divide.

    Parameters
    ----------
    described : DescribedTree
        In words.
    likeness : Likeness
    least : int
        Specimens of a branch.

    Returns
    -------
    The tree with the new branches, and which branches are of likeness. The truth of one that is
    "like" a picture is its coherence, of one that is "like" two of its kinds the share of pictures
    that are no farther from them than their own; one that lists its kinds is true of all.
    """
    children = list_children(described.parent)
    parent: list[int] = []
    words: list[tuple[str, ...]] = []
    truth: list[float] = []
    is_like: list[bool] = []
    labels = np.zeros_like(described.labels)

    def write(above: int, said: tuple[str, ...], true: float, like: bool) -> int:
        parent.append(above)
        words.append(said)
        truth.append(true)
        is_like.append(like)
        return len(parent) - 1

    def write_group(group: _Group, above: int) -> None:
        node = write(above, (group.name,), group.truth, True)
        labels[group.rows] = node
        for part in group.parts:
            write_group(part, node)

    def write_branch(v: int, above: int) -> None:
        node = write(above, described.words[v], float(described.truth[v]), False)
        rows = np.flatnonzero(described.labels == v)
        labels[rows] = node
        for child in children[v]:
            write_branch(child, node)
        is_alone = not children[v]
        for group in _divide(likeness, rows, least, tight, is_alone=is_alone, seed=seed):
            write_group(group, node)

    tight = _TIGHT * _find_usual_distance(likeness)
    write_branch(0, -1)
    tree = DescribedTree(np.array(parent), tuple(words), np.array(truth), labels)
    return tree, np.array(is_like)


def find_coherence(rows: np.ndarray, near: np.ndarray, among: np.ndarray) -> float:
    """Return the share of ``rows`` that have at least half of their nearest specimens in them.

    Only the nearest specimens that are ``among`` those to be divided count, and one that has fewer
    than two of them is not at home: what a word has put elsewhere says nothing about the rest.
    """
    if not near.shape[1]:
        return 1.0
    is_own, is_near = (np.isin(near[rows], some).sum(axis=1) for some in (rows, among))
    least = min(_LEAST_NEAR, len(rows) - 1)
    return float(((is_own >= least) & (is_own >= _HALF * is_near)).mean())


def _divide(
    likeness: Likeness, rows: np.ndarray, least: int, tight: float, *, is_alone: bool, seed: int
) -> list[_Group]:
    """Return the groups of alike specimens among ``rows``, the largest first; [] for one group.

    ``is_alone``: nothing else is below the branch.
    """
    if len(rows) < max(least, LEAST if is_alone else 1):
        return []
    labelled = np.array([likeness.names.kinds[i] is not None for i in rows], dtype=bool)
    groups = _divide_kinds(likeness, rows[labelled], least, tight)
    groups += _divide_rows(likeness, rows[~labelled], least, seed)
    groups = _keep_branches([group for group in groups if len(group.rows) >= least])
    if is_alone:
        groups = _open_one(groups, len(rows))
    return sorted(groups, key=lambda group: (-len(group.rows), group.name))


def _keep_branches(groups: list[_Group]) -> list[_Group]:
    """Return the groups that are branches, of the others their parts that are."""
    return [
        kept
        for group in groups
        for kept in ([group] if group.is_branch else _keep_branches(group.parts))
    ]


def _open_one(groups: list[_Group], n_rows: int) -> list[_Group]:
    """Return the groups; in place of one that alone is most of a branch, its parts: it would say
    the branch again."""
    while len(groups) == 1 and 2 * len(groups[0].rows) > n_rows:
        groups = groups[0].parts
    return groups


def _divide_kinds(likeness: Likeness, rows: np.ndarray, least: int, tight: float) -> list[_Group]:
    """Return groups of alike kinds."""
    from scipy.cluster.hierarchy import ClusterNode, linkage, to_tree

    X, names = likeness.X, likeness.names
    of_kind = {k: rows[at] for k, at in group_kinds([names.kinds[i] for i in rows]).items()}
    order = list(of_kind)
    if not order:
        return []
    middles = np.array([X[of_kind[kind]].mean(axis=0) for kind in order])
    means = normalise_rows(middles)
    lengths = np.linalg.norm(middles, axis=1)  # the longer, the more alike the pictures of a kind

    def make(members: list[int], node: "ClusterNode") -> _Group:
        own = np.sort(np.concatenate([of_kind[order[k]] for k in members]))
        parts = [make(part.pre_order(), part) for part in _cut(node, tight)]
        parts = _keep_branches([part for part in parts if len(part.rows) >= least])
        named, truth = members, 1.0
        if len(members) > N_NAMED:
            named = _find_typical(members, means, lengths)
            truth = _find_alike(X, own, [(of_kind[order[k]], means[k]) for k in named])
        name = listed([names.shown.get(order[k], order[k]) for k in named])
        name = name if named is members else LIKE + name
        return _Group(name, own, truth, truth >= _ALIKE, parts)

    if len(order) == 1:
        return [make([0], ClusterNode(0))]
    distances = np.maximum(1 - means @ means.T, 0)[np.triu_indices(len(order), 1)]
    top = to_tree(linkage(distances, "average"))
    return [make(part.pre_order(), part) for part in (_cut(top, tight) or [top])]


def _find_usual_distance(likeness: Likeness) -> float:
    """Return the median distance of two kinds, 1 less the cosine of their mean rows."""
    some = list(group_kinds(likeness.names.kinds).values())[:_MOST_KINDS]
    if len(some) < 2:
        return 0.0
    means = normalise_rows(np.array([likeness.X[ids].mean(axis=0) for ids in some]))
    return float(np.median((1 - means @ means.T)[np.triu_indices(len(some), 1)]))


def _cut(node: "ClusterNode", tight: float) -> "list[ClusterNode]":
    """Return the parts of a cluster of kinds, at most `N_BRANCHES`, what is farthest apart divided
    first; [] for a few that are alike, which one name can list."""
    parts = [node]
    while len(parts) < N_BRANCHES:
        widest = max(parts, key=lambda part: (part.dist, -part.id))
        is_tight = widest.get_count() <= N_NAMED and widest.dist <= tight
        if widest.is_leaf() or is_tight:
            break
        at = parts.index(widest)
        parts[at : at + 1] = [widest.get_left(), widest.get_right()]
    return parts if len(parts) > 1 else []


def _find_typical(members: list[int], means: np.ndarray, lengths: np.ndarray) -> list[int]:
    """Return the two of the kinds ``members`` that are nearest to the mean of all, of the half
    whose own pictures are most alike: what holds all sorts of things is near to everything."""
    tight = np.median(lengths[members])
    typical = means[members] @ means[members].mean(axis=0)
    some = [j for j, k in enumerate(members) if lengths[k] >= tight]
    return [members[j] for j in sorted(some, key=lambda j: (-typical[j], j))[:2]]


def _find_alike(
    X: np.ndarray, rows: np.ndarray, named: Sequence[tuple[np.ndarray, np.ndarray]]
) -> float:
    """Return the share of ``rows`` that are as near to the mean of a kind as its own pictures."""
    is_alike = np.zeros(len(rows), dtype=bool)
    for own, mean in named:
        is_alike |= X[rows] @ mean >= np.quantile(X[own] @ mean, _FARTHEST)
    return float(is_alike.mean())


def _divide_rows(likeness: Likeness, rows: np.ndarray, least: int, seed: int) -> list[_Group]:
    """Return groups of alike specimens that have no kind."""
    from sklearn.cluster import KMeans

    X, names = likeness.X, likeness.names

    def make(own: np.ndarray) -> _Group:
        typical = own[int(np.argmax(X[own] @ X[own].mean(axis=0)))]
        parts = [make(part) for part in split(own)] if len(own) >= _LARGE else []
        parts = _open_one(_keep_branches(parts), len(own))
        truth = find_coherence(own, likeness.near, rows)
        return _Group(LIKE + names.stems[typical], own, truth, truth >= _COHERENT, parts)

    def split(own: np.ndarray) -> list[np.ndarray]:
        """Return as many parts as keep most of the nearest specimens together; [] for none."""
        drawn = np.random.default_rng(seed).permutation(len(own))[:_MOST_FITTED]
        some = X[own[drawn]]
        most = min(N_BRANCHES, len(own) // max(least, LEAST), len(np.unique(some, axis=0)))
        for n_parts in range(most, 1, -1):
            with threadpool_limits(1):  # another number of threads may sum in another order
                model = KMeans(n_parts, n_init=1, random_state=seed).fit(some)
                found = model.predict(X[own])
            part_of = np.full(len(X), -1)
            part_of[own] = found
            of_near = part_of[likeness.near[own]]
            together = (of_near == found[:, None]).sum() / max((of_near >= 0).sum(), 1)
            pieces = [own[found == k] for k in range(n_parts)]
            if together >= _TOGETHER and min(map(len, pieces)) >= least:
                return pieces
        return []

    return [make(part) for part in split(rows)] or ([make(rows)] if len(rows) else [])

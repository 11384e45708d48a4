"""Grow the tree of a guide: by words as far as words are true, by likeness from there on.

=============  =================================================================================
attribute      the Attribute Tree Process; the default from 30 specimens on
bernoulli      the same with FBLM
agglomerative  Ward clustering of the yes/no words
=============  =================================================================================

The tree is grown from what is known of the words (:mod:`fieldguide.guide.tree_evidence`), and put
into words (:func:`fieldguide.describe.describe_tree`): first by what a thing is; then, below each
branch, by what is seen of it, as a tree of its own. What is left together is divided further by
likeness (:mod:`fieldguide.guide.likeness`).

Two figures say what a branch is worth. Its *truth* is how often its name is true of its specimens,
by the scores of each picture alone. Its *stability* is how far the chains of samples agree on it.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from fieldguide._check import check_choice
from fieldguide.describe import AgglomerativeTree, DescribedTree, describe_tree
from fieldguide.features import SUBJECT_NAMES
from fieldguide.features.vocabulary import YES, find_above, load_vocabulary
from fieldguide.guide import rows, specimens
from fieldguide.guide import words as words_chapter
from fieldguide.guide.likeness import Likeness, Names, add_likeness, gather_kinds
from fieldguide.guide.naming import show_kinds
from fieldguide.guide.specimens import Table
from fieldguide.guide.summaries import list_children
from fieldguide.guide.tree_consensus import find_consensus
from fieldguide.guide.tree_evidence import Evidence, gather_evidence
from fieldguide.guide.tree_sampling import STEP, find_stability, make_model, sample_tree
from fieldguide.guide.tree_truth import MIN_TRUTH, find_doubtful, join_alike, tighten
from fieldguide.guide.workspace import Progress, Workspace
from fieldguide.metrics import ancestor_matrix, locality, purity

NAME = "tree"
TREES = ("auto", "attribute", "bernoulli", "agglomerative")
LEAST_SPECIMENS = 30  # for auto to sample a tree
MAX_LEAVES = 400
MOST_SAMPLED = 8192  # specimens that the sampler sees; it places the others by what it found
LEAST_SEEN = 24  # specimens that what is seen of them may divide


@dataclass(frozen=True)
class GrownTree:
    """A tree in words, and how it came about."""

    described: DescribedTree
    is_likeness: np.ndarray  # (n_branches,) bool: named by what it holds, not by a word
    stability: np.ndarray  # (n_branches,); NaN where chains have nothing to say
    about: dict[str, Any]  # as guide.json keeps it


def build(work: Workspace) -> None:
    """Grow the tree of the specimens by their words and their looks."""
    table: Table = work.built[specimens.NAME]
    said: words_chapter.Words = work.built[words_chapter.NAME]
    stems = [PurePosixPath(record.path).stem for record in table.records]
    kinds = sorted({kind for kind in table.kinds if kind is not None})
    shown = dict(zip(kinds, show_kinds(kinds), strict=True))
    names = Names(table.kinds, shown, stems)
    likeness = Likeness(work.built[rows.NAME].X, said.near, names)
    grown = grow_tree(
        gather_evidence(said.matrix, table.kinds, is_one_subject=bool(said.model.common_)),
        likeness,
        work.settings.tree,
        seed=work.seed,
        n_jobs=work.n_jobs,
        progress=work.progress,
        work=work.journal.kept("chains"),
    )
    work.built[NAME] = grown
    work.info["tree"] = grown.about | judge_tree(grown, table.kinds)
    work.info["settings"]["tree"] = grown.about["method"]


def grow_tree(
    evidence: Evidence,
    likeness: Likeness,
    tree: str = "auto",
    *,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Progress = lambda *_: None,
    work: MutableMapping[str, bytes] | None = None,
) -> GrownTree:
    """Grow the tree of specimens.

    Parameters
    ----------
    evidence : Evidence
    likeness : Likeness
    tree : {"auto", "attribute", "bernoulli", "agglomerative"}
    seed, n_jobs : int
        The tree depends on the seed, and never on ``n_jobs``.
    progress : callable
        Called with (what is being done, how many are done, how many there are).
    work : mutable mapping of str to bytes, optional
        Keeps what a long run needs to go on after it was interrupted.
    """
    check_choice("a guide", "tree", tree, TREES)
    progress(STEP, 0, 1)
    n = len(likeness.X)
    method, because = choose_method(tree, n)
    about: dict[str, Any] = {"method": method, "asked": tree, "because": because}
    about["n_words"] = len(evidence.names)
    grower = _Grower(method, find_least(n), seed, n_jobs, progress, work)
    grown = grow_by(grower.grow, evidence, likeness, seed)
    return replace(grown, about=about | grown.about)


def grow_by(
    grow: Callable[[Evidence, np.ndarray], "WordTree"],
    evidence: Evidence,
    likeness: Likeness,
    seed: int,
) -> GrownTree:
    """Return the tree of specimens from trees in words that ``grow`` makes of some of them.

    Whatever makes them, they are joined, judged and gone on with by the same rules. ``grow`` is
    given the evidence of some specimens, and which of them look like each.
    """
    n = len(likeness.X)
    near = likeness.find_near_without_kind()

    def grow_some(rows_of: np.ndarray, columns: np.ndarray) -> WordTree:
        if len(columns):
            place = np.full(n + 1, -1)  # the last one is that of none
            place[rows_of] = np.arange(len(rows_of))
            return grow(evidence.take(rows_of, columns), place[near[rows_of]])
        alone = np.zeros(len(rows_of), dtype=np.int64)
        root = DescribedTree(np.array([-1]), ((),), np.ones(1), alone)
        return WordTree(root, np.full(1, np.nan), {})

    what, seen = (np.flatnonzero(evidence.is_seen == is_seen) for is_seen in (False, True))
    whole = grow_some(np.arange(n), what)
    twigs: dict[int, tuple[WordTree, np.ndarray]] = {}
    for v in range(0 if evidence.seen_heads else 1, len(whole.described.parent)):
        rows_of = np.flatnonzero(whole.described.labels == v)
        if len(rows_of) >= LEAST_SEEN and len(seen):
            twigs[v] = grow_some(rows_of, seen), rows_of
    described, stability = graft(whole, twigs)
    labels = gather_kinds(described.parent, described.labels, likeness.names.kinds)
    described = replace(described, labels=labels)
    described, stability = fold(described, stability, count_below(described) >= find_least(n))
    described = tighten(described, evidence, likeness.names.kinds, find_least(n))
    is_kept = ~find_doubtful(described, evidence) & (count_below(described) >= find_least(n))
    described, stability = fold(described, stability, is_kept)
    described = join_alike(described, evidence, near)
    tree_all, is_like = add_likeness(described, likeness, find_least(n), seed)
    stable = np.full(len(is_like), np.nan)
    stable[~is_like] = stability
    about = whole.about | {"n_by_likeness": int(is_like.sum())}
    return GrownTree(tree_all, is_like, stable, about)


@dataclass(frozen=True)
class WordTree:
    """A tree of some specimens by some words."""

    described: DescribedTree
    stability: np.ndarray
    about: dict[str, Any]


@dataclass(frozen=True)
class _Grower:
    """Grows trees by one method."""

    method: str
    least: int
    seed: int
    n_jobs: int
    progress: Progress
    work: MutableMapping[str, bytes] | None

    def grow(self, evidence: Evidence, near: np.ndarray) -> WordTree:
        """Return the tree of all rows of ``evidence`` by all of its words.

        ``near`` holds the rows that look like each, -1 for none.
        """
        n = len(evidence.joined)
        if self.method == "agglomerative":
            described = cluster(evidence, self.least)
            return WordTree(described, np.full(len(described.parent), np.nan), {})
        drawn = np.arange(n)
        if n > MOST_SAMPLED:
            drawn = np.sort(np.random.default_rng(self.seed).permutation(n)[:MOST_SAMPLED])
        some = evidence.take(drawn, np.arange(len(evidence.names)))
        start = cluster(some, max(3, round(0.002 * len(drawn))))
        model = make_model(self.method, len(drawn), int(start.depth.max()), self.seed, self.n_jobs)
        sample_tree(model, some.joined, (start.parent, start.labels), self.progress, self.work)
        samples = model.place(evidence.joined)  # alike specimens sit together
        told = [put_into_words(tree, at, evidence, self.least) for tree, at in samples]
        described = find_consensus(told, self.least, near)
        stability = find_stability(described.parent, described.labels[drawn], model.chains_)
        return WordTree(described, stability, _word_run(model, start))


def graft(
    whole: WordTree, twigs: Mapping[int, tuple[WordTree, np.ndarray]]
) -> tuple[DescribedTree, np.ndarray]:
    """Return a tree with others below its nodes, and the stability of each node.

    A twig comes with the specimens that it is the tree of; they sat at the node itself.
    """
    base = whole.described
    parent: list[int] = []
    words: list[tuple[str, ...]] = []
    stability: list[float] = []
    labels = np.zeros_like(base.labels)
    children = list_children(base.parent)

    def write(above: int, said: tuple[str, ...], stable: float) -> int:
        parent.append(above)
        words.append(said)
        stability.append(stable)
        return len(parent) - 1

    def write_node(v: int, above: int) -> None:
        node = write(above, base.words[v], float(whole.stability[v]))
        labels[base.labels == v] = node
        for child in children[v]:
            write_node(child, node)
        if v in twigs:
            twig, rows_of = twigs[v]
            at = {0: node}
            for u in range(1, len(twig.described.parent)):
                above_u = at[int(twig.described.parent[u])]
                at[u] = write(above_u, twig.described.words[u], float(twig.stability[u]))
            labels[rows_of] = [at[int(u)] for u in twig.described.labels]

    write_node(0, -1)
    tree = DescribedTree(np.array(parent), tuple(words), np.ones(len(parent)), labels)
    return tree, np.array(stability)


def fold(
    described: DescribedTree, stability: np.ndarray, is_kept: np.ndarray
) -> tuple[DescribedTree, np.ndarray]:
    """Return the tree with the root and the branches that are kept.

    What was in others, or below them, goes one up; branches of one name side by side become one.
    """
    parent = described.parent
    place = [0] * len(parent)  # the branch, of the old numbers, that takes the place of each
    below: dict[int, dict[tuple[str, ...], int]] = {0: {}}  # of a branch, by their names
    for v in range(1, len(parent)):
        above = place[parent[v]]
        place[v] = above
        if is_kept[v]:
            place[v] = below[above].setdefault(described.words[v], v)
            below.setdefault(place[v], {})
    order: list[int] = []
    new_parent: list[int] = []
    pending = [(0, -1)]
    while pending:
        v, above = pending.pop()
        pending += [(u, len(order)) for u in reversed(below[v].values())]
        order.append(v)
        new_parent.append(above)
    number = np.zeros(len(parent), dtype=np.int64)
    number[order] = np.arange(len(order))
    words = tuple(described.words[v] for v in order)
    labels = number[np.array(place)[described.labels]]
    tree = DescribedTree(np.array(new_parent), words, described.truth[order], labels)
    return tree, stability[order]


def count_below(described: DescribedTree) -> np.ndarray:
    """Return how many specimens each branch has, here or below."""
    here = np.bincount(described.labels, minlength=len(described.parent))
    counts: np.ndarray = here @ ancestor_matrix(described.parent)
    return counts


def find_least(n: int) -> int:
    """Return how many specimens the smallest branch has."""
    return max(3, round(0.004 * n))


def judge_tree(grown: GrownTree, kinds: Sequence[str | None]) -> dict[str, Any]:
    """Return how well a tree keeps kinds together, and how true its names are on average.

    Purity and locality are over the specimens that have a kind; None where none has.
    """
    tree = grown.described
    named = np.array([i for i, kind in enumerate(kinds) if kind is not None], dtype=np.int64)
    found: dict[str, Any] = {"purity": None, "locality": None, "mean_truth": None}
    if len(named):
        y = np.array([kinds[i] for i in named])
        found["purity"] = round(purity(tree.labels[named], y), 3)
        found["locality"] = round(locality(tree.parent, tree.labels[named], y), 2)
    if len(tree.parent) > 1:
        found["mean_truth"] = round(float(tree.truth[1:].mean()), 3)
    return found


def choose_method(tree: str, n_specimens: int) -> tuple[str, str]:
    """Return the method, and why."""
    if tree != "auto":
        return tree, "asked for"
    if n_specimens < LEAST_SPECIMENS:
        return "agglomerative", f"fewer than {LEAST_SPECIMENS} specimens"
    return "attribute", f"at least {LEAST_SPECIMENS} specimens"


def cluster(evidence: Evidence, min_count: int) -> DescribedTree:
    """Return the Ward tree of the specimens, put into words."""
    shows = np.nan_to_num(evidence.joined) >= YES
    n_leaves = min(MAX_LEAVES, max(8, len(shows) // 8))
    clustered = AgglomerativeTree("ward", n_leaves=n_leaves).fit(shows.astype(float))
    return put_into_words(clustered.tree_, clustered.labels_, evidence, min_count)


def put_into_words(
    tree: Any, labels: np.ndarray, evidence: Evidence, min_count: int
) -> DescribedTree:
    """Name the nodes of a tree of the rows of ``evidence``, by the rules of a guide.

    A node holds what belongs together, also pictures of which the network is not sure. Where no
    kind speaks for them, a node is named by what most of it is; those that the name does not fit
    leave it later (:mod:`fieldguide.guide.tree_truth`).
    """
    is_by_most = not evidence.has_kinds and not evidence.is_seen.any()
    return describe_tree(
        *(tree, labels, evidence.joined, evidence.names),
        min_count=min_count,
        min_share=YES if is_by_most else MIN_TRUTH,
        implied=general_words(),
    )


def _word_run(model: Any, start: DescribedTree) -> dict[str, Any]:
    """Return how the sampling went, as numbers that JSON can hold."""
    r_hat = model.r_hat_["log_joint"]
    return {
        "n_sweeps": int(model.n_iter_),
        "n_chains": int(model.n_chains),
        "n_start": len(start.parent) - 1,
        "n_nodes": len(model.tree_) - 1,
        "log_joint": round(float(model.log_joint_), 3),
        "r_hat": round(float(r_hat), 3) if np.isfinite(r_hat) else None,
    }


def general_words() -> dict[str, tuple[str, ...]]:
    """Return, for each word, the more general ones that it implies."""
    names = load_vocabulary().names
    above = {name: tuple(names[g] for g in sorted(find_above(k))) for k, name in enumerate(names)}
    for name in SUBJECT_NAMES:  # what is mostly red, or red below, is with red
        for part in name.split():
            if f"with {part}" in SUBJECT_NAMES and f"with {part}" != name:
                above[name] = (f"with {part}",)
    return above

"""Grow the tree of a guide, by one of three methods, and put it into words.

=============  =================================================================================
agglomerative  Ward clustering of the yes/no words
attribute      the Attribute Tree Process, its chains begun at the tree that Ward clustering gives
bernoulli      the same with FBLM
=============  =================================================================================

A chain of samples that begins with all specimens at the root stays among coarse trees for longer
than anyone waits. Begun at a tree that is too fine, it takes away what the words do not pay for,
and moves specimens and branches to where they fit better.

Words about the picture, and the network's words in a collection with many words of its owner's,
say less about what a thing is: they count a fifth in the agglomerative tree and not at all in the
others.
"""

import threading
import time
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from fieldguide._check import check_choice
from fieldguide.describe import (
    AgglomerativeTree,
    AttributeTree,
    BernoulliTree,
    DescribedTree,
    describe_tree,
    pack_chains,
    unpack_chains,
)
from fieldguide.errors import FieldguideError
from fieldguide.features import AttributeMatrix
from fieldguide.features.properties import FORMAT_NAMES
from fieldguide.features.vocabulary import YES, load_vocabulary
from fieldguide.guide import specimens
from fieldguide.guide import words as words_chapter
from fieldguide.guide.placing import held_mass
from fieldguide.guide.workspace import Progress, Workspace
from fieldguide.metrics import locality, purity

NAME = "tree"
TREES = ("auto", "attribute", "bernoulli", "agglomerative")
STEP = "growing the tree"

N_CHAINS, N_SWEEPS = 2, 100
# A word that a branch adds (theta over 0.7 where its parent's is at the floor) costs the printed
# model, with precisions c of 20 to 100, a factor of exp(28) and more; here it costs exp(3) to
# exp(6). With c under 1.5 or a lower floor, a sweep can take minutes: new nodes fit nothing.
_PRIOR: dict[str, Any] = {"c_bounds": (1.0, 3.0), "noise_prior": (1.0, 1000.0), "theta_floor": 1e-4}
_MOST_ROW_SWEEPS = 2_000_000  # of larger collections, fewer sweeps; at least 30
# For auto to sample a tree. Of fewer specimens Ward keeps kinds together better, and to compile the
# sampler, the first time, takes longer than all the rest; with fewer words half of the specimens
# stay at the root (CUB-200, 24 words).
LEAST_SPECIMENS, LEAST_WORDS = 1000, 50
MANY_OWN_WORDS = 20
MAX_LEAVES = 400
_LITTLE = 0.2  # weight of words that say less about what a thing is
_SAVE_EVERY_S = 20.0
_OWN = ("annotation", "keyword", "folder", "kind")


@dataclass(frozen=True)
class GrownTree:
    """A tree in words, and how it came about, as guide.json keeps it."""

    described: DescribedTree
    about: dict[str, Any]


def build(work: Workspace) -> None:
    """Grow the tree of the specimens by their words."""
    grown = grow_tree(
        *(work.built[words_chapter.NAME], work.settings.tree),
        seed=work.seed,
        n_jobs=work.n_jobs,
        progress=work.progress,
        work=work.journal.kept("chains"),
    )
    work.built[NAME] = grown.described
    work.info["tree"] = grown.about | judge_tree(grown.described, work.built[specimens.NAME].kinds)
    work.info["settings"]["tree"] = grown.about["method"]


def grow_tree(
    words: AttributeMatrix,
    tree: str = "auto",
    *,
    seed: int = 0,
    n_jobs: int = 1,
    progress: Progress = lambda *_: None,
    work: MutableMapping[str, bytes] | None = None,
) -> GrownTree:
    """Grow the tree of specimens by their words.

    Parameters
    ----------
    words : AttributeMatrix
    tree : {"auto", "attribute", "bernoulli", "agglomerative"}
    seed, n_jobs : int
        The tree depends on the seed of the sampled ones, and never on ``n_jobs``.
    progress : callable
        Called with (what is being done, how many are done, how many there are).
    work : mutable mapping of str to bytes, optional
        Keeps what a long run needs to go on after it was interrupted.
    """
    check_choice("a guide", "tree", tree, TREES)
    progress(STEP, 0, 1)
    columns = _subject_columns(words)
    method, because = choose_method(tree, len(words.scores), len(columns))
    about: dict[str, Any] = {"method": method, "asked": tree, "because": because}
    if method == "agglomerative" or not columns:
        columns, weights = _weigh_columns(words)
    else:
        weights = np.ones(len(columns))
    n = len(words.scores)
    if not columns:
        alone = DescribedTree(np.array([-1]), ((),), np.ones(1), np.zeros(n, dtype=np.int64))
        return GrownTree(alone, {**about, "n_words": 0})
    shows = words.scores[:, columns] >= YES
    names = [words.names[j] for j in columns]
    least = max(3, round(0.004 * n))
    if method == "agglomerative":
        described = cluster(shows, names, weights, least)
    else:
        start = cluster(shows, names, weights, max(3, round(0.002 * n)))
        model = make_model(method, n, start, seed, n_jobs)
        sample_tree(model, shows, start, progress, work)
        described = describe_tree(
            model.tree_, model.labels_, shows, names, min_count=least, implied=general_words()
        )
        about |= _word_run(model, start)
    sure = held_mass(described.parent, described.labels, shows, weights)
    return GrownTree(replace(described, sure=sure), {**about, "n_words": len(columns)})


def judge_tree(described: DescribedTree, kinds: Sequence[str | None]) -> dict[str, Any]:
    """Return how well a tree keeps kinds together, and how sure it is of its branches on average.

    Purity and locality are over the specimens that have a kind; None where none has.
    """
    named = np.array([i for i, kind in enumerate(kinds) if kind is not None], dtype=np.int64)
    found: dict[str, Any] = {"purity": None, "locality": None}
    if len(named):
        y = np.array([kinds[i] for i in named])
        found["purity"] = round(purity(described.labels[named], y), 3)
        found["locality"] = round(locality(described.parent, described.labels[named], y), 2)
    sure = described.sure[1:]
    return {**found, "mean_sure": round(float(sure.mean()), 3) if len(sure) else None}


def choose_method(tree: str, n_specimens: int, n_words: int) -> tuple[str, str]:
    """Return the method, and why."""
    if tree != "auto":
        return tree, "asked for"
    if n_specimens < LEAST_SPECIMENS:
        return "agglomerative", f"fewer than {LEAST_SPECIMENS} specimens"
    if n_words < LEAST_WORDS:
        return "agglomerative", f"fewer than {LEAST_WORDS} words about what a thing is"
    return "attribute", f"at least {LEAST_SPECIMENS} specimens and {LEAST_WORDS} words"


def cluster(
    shows: np.ndarray, names: Sequence[str], weights: np.ndarray, min_count: int
) -> DescribedTree:
    """Return the Ward tree of the rows, put into words."""
    n_leaves = min(MAX_LEAVES, max(8, len(shows) // 8))
    clustered = AgglomerativeTree("ward", n_leaves=n_leaves).fit(shows * np.sqrt(weights))
    return describe_tree(
        *(clustered.tree_, clustered.labels_, shows, names),
        min_count=min_count,
        implied=general_words(),
    )


def make_model(method: str, n: int, start: DescribedTree, seed: int, n_jobs: int) -> Any:
    """Return the sampler, not yet fitted."""
    n_sweeps = min(N_SWEEPS, max(30, _MOST_ROW_SWEEPS // n))
    settings: dict[str, Any] = {
        "n_iter": n_sweeps,
        "n_chains": N_CHAINS,
        "n_jobs": n_jobs,
        "random_state": seed,
        "max_depth": max(15, int(start.depth.max())),
    }
    return (
        AttributeTree(**settings, **_PRIOR) if method == "attribute" else BernoulliTree(**settings)
    )


def sample_tree(
    model: Any,
    shows: np.ndarray,
    start: DescribedTree,
    progress: Progress,
    work: MutableMapping[str, bytes] | None,
) -> None:
    """Fit ``model``, its chains begun at ``start``; a run that was interrupted goes on."""
    A = shows.astype(np.uint8)
    work = {} if work is None else work
    name = _digest(model, A)
    chains = None
    if name in work:
        with suppress(FieldguideError):
            chains = unpack_chains(work[name])
    n_total = model.n_iter * model.n_chains
    while True:
        n_done = [0] * model.n_chains if chains is None else list(map(_n_done, chains))
        watch = _Watch(n_done, n_total, progress)
        try:
            model.fit(A, start=(start.parent, start.labels), resume=chains, progress=watch)
        finally:
            chains = getattr(model, "chains_", None)
            if chains and min(map(_n_done, chains)) < model.n_iter:
                work[name] = pack_chains(chains)
        if model.n_iter_ >= model.n_iter:
            break
    work.pop(name, None)


class _Watch:
    """Counts the sweeps of all chains, and stops them now and then so that they can be saved."""

    def __init__(self, done: Sequence[int], n_total: int, progress: Progress) -> None:
        self._done = list(done)
        self._n_total = n_total
        self._progress = progress
        self._lock = threading.Lock()
        self._stop_at = time.monotonic() + _SAVE_EVERY_S

    def __call__(self, chain: int, n_done: int, log_joint: float) -> bool:
        with self._lock:
            self._done[chain] = n_done
            self._progress(STEP, sum(self._done), self._n_total)
        return time.monotonic() > self._stop_at


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


def _subject_columns(words: AttributeMatrix) -> list[int]:
    """Return the columns that say what a thing is."""
    own = [j for j, source in enumerate(words.sources) if source in _OWN]
    if len(own) >= MANY_OWN_WORDS:
        return own
    return [j for j, source in enumerate(words.sources) if source in (*_OWN, "network")]


def _weigh_columns(words: AttributeMatrix) -> tuple[list[int], np.ndarray]:
    """Return all columns but those on the format of the file, with weights."""
    used = [j for j, name in enumerate(words.names) if name not in FORMAT_NAMES]
    is_annotated = any(words.sources[j] == "annotation" for j in used)
    weight_of = {"picture": _LITTLE, "network": _LITTLE if is_annotated else 1.0}
    return used, np.array([weight_of.get(words.sources[j], 1.0) for j in used])


def general_words() -> dict[str, tuple[str, ...]]:
    """Return, for each word of the vocabulary, all words above it."""
    vocabulary = load_vocabulary()
    above: dict[str, tuple[str, ...]] = {}
    for name, parents in zip(vocabulary.names, vocabulary.parents, strict=True):
        direct = [vocabulary.names[p] for p in parents]
        above[name] = tuple(dict.fromkeys(direct + [g for p in direct for g in above[p]]))
    return above


def _digest(model: Any, A: np.ndarray) -> str:
    settings = {k: v for k, v in sorted(model.get_params().items()) if k != "n_jobs"}
    digest = blake2b(f"{type(model).__name__} {settings} {A.shape}".encode(), digest_size=8)
    digest.update(np.packbits(A, axis=1).tobytes())
    return digest.hexdigest()


def _n_done(chain: Any) -> int:
    return len(chain["trace.log_joint"])

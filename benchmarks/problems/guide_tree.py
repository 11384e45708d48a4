"""Is the tree of a guide true, whole, and the same again?

Caltech-101 (no background class), CUB-200 and drawn specimens, as a build sees them, without any
word of the owner's: no labels, no names of folders. Beside the Attribute Tree Process with the
settings and the start of a guide: FBLM, Ward clustering, k-means and HDBSCAN of the same words, the
third and fourth with as many parts as the Attribute Tree Process has nodes (HDBSCAN chooses for
itself).

- log-likelihood: of the words of held-out halves, per word, by one judge: each part has the rates
  of its training rows (with 1 row that has the rates of all) and its share of them as a weight.
  Words are probabilities, as guides have them, or cut at ½: all methods learn from the same, and
  are judged by the same;
- purity: against the kinds, which no method has seen, at the same number of parts;
- named by the same rules: trees of whole collections as a guide grows them, with rivals in place
  of the Attribute Tree Process, their number of parts chosen so that as many branches with
  specimens are left (HDBSCAN and FBLM choose); purity by words alone, and with what likeness adds;
- below the root, by words / with likeness: share of specimens that the tree of a guide places;
- two seeds agree: share of specimens with the same names on the first two levels, over all pairs;
- names true: the share of branches with the words of the network whose names are true of at least
  80 % of their pictures, by what the names of folders imply (Caltech-101: the words listed in
  `words`); colours, and names that the folders say nothing of, are left to the eye.

What was seen of a picture is kept in ``out/bench/seen``, what was measured of a collection in
``out/bench/guide_tree``: a run that was stopped goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.special import logsumexp
from sklearn.cluster import HDBSCAN, KMeans
from threadpoolctl import threadpool_limits

from benchmarks.cells import keep_cell
from benchmarks.named_rivals import compare_named
from benchmarks.problems.region_selection import interval
from benchmarks.problems.words import CALTECH
from benchmarks.seen import N_JOBS, Seen, look_at
from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.describe import AgglomerativeTree
from fieldguide.features import WordModel
from fieldguide.guide.likeness import Likeness, Names
from fieldguide.guide.naming import show_kinds
from fieldguide.guide.nearest import find_near
from fieldguide.guide.tree_evidence import Evidence, gather_evidence
from fieldguide.guide.tree_sampling import make_model
from fieldguide.guide.trees import GrownTree, cluster, grow_tree
from fieldguide.metrics import purity

N_SEEDS = 3
CELLS = Path("out/bench/guide_tree")


def run(data: Path | None, *, tiny: bool) -> dict:
    sets = look_at_collections(data, tiny=tiny)
    n_seeds = 2 if tiny else N_SEEDS
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for name, seen in sets.items():
            rows += judge_set(name, seen, n_seeds, None if tiny else CELLS)
    return {"rows": rows}


def look_at_collections(data: Path | None, *, tiny: bool) -> dict[str, Seen]:
    """Return what a build sees of the collections at hand."""
    sets = {"specimens": look_at_specimens(2 if tiny else 24)}
    if data is not None and not tiny:
        for name, folder in (("Caltech-101", "caltech101"), ("CUB-200", "cub200/images")):
            items = Collection.from_folder(data / folder).items
            items = [item for item in items if item.kind != "BACKGROUND_Google"]
            paths = [data / folder / item.path for item in items]
            sets[name] = look_at(folder.replace("/", "_"), paths, [str(i.kind) for i in items])
    return sets


def look_at_specimens(n_per_kind: int) -> Seen:
    drawn = load_specimens(n_per_kind=n_per_kind)
    kinds = [drawn.target_names[k] for k in drawn.target]
    images = [Image.fromarray(image) for image in drawn.images]
    return look_at(f"specimens_{n_per_kind}", images, kinds)


def gather(seen: Seen, kinds: list[str | None]) -> tuple[Evidence, Likeness]:
    """Return what a guide grows its tree from."""
    X = seen.X if any(kinds) else seen.weigh_plainly()
    near = find_near(X, 10)
    model = WordModel()
    words = model.fit_transform(
        seen.probabilities,
        seen=seen.seen,
        near=near,
        kinds=kinds if any(kinds) else None,
    )
    every = sorted(set(seen.kinds))
    shown = dict(zip(every, show_kinds(every), strict=True))
    evidence = gather_evidence(words, kinds, is_one_subject=bool(model.common_))
    return evidence, Likeness(X, near, Names(kinds, shown, seen.stems))


def judge_set(
    name: str, seen: Seen, n_seeds: int, cells: Path | None = None
) -> list[dict[str, Any]]:
    """Return a row for each method; what ``cells`` hold is not measured again."""
    evidence, likeness = gather(seen, [None] * len(seen.kinds))
    y = np.array(seen.kinds)
    found: dict[str, dict[str, list[float]]] = {}
    for seed in range(n_seeds):
        half = _keep(cells, f"{name} half {seed}", partial(judge_half, evidence, y, seed))
        for method, values in half.items():
            cell = found.setdefault(method, {})
            for what, value in values.items():
                cell.setdefault(what, []).append(value)
    rows: list[dict[str, Any]] = [
        {
            "data": name,
            "method": method,  # with the words that it learnt from
            **{what: interval(np.array(values)) for what, values in cell.items()},
        }
        for method, cell in found.items()
    ]
    judge = partial(judge_grown, name, evidence, likeness, y, n_seeds)
    rows[0] |= _keep(cells, f"{name} grown", judge)
    return rows


def _keep(cells: Path | None, name: str, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    if cells is None:
        return compute()
    kept: dict[str, Any] = keep_cell(cells / f"{name}.json", compute)
    return kept


def judge_half(evidence: Evidence, y: np.ndarray, seed: int) -> dict[str, dict[str, float]]:
    """Judge parts of a half of the specimens by every method, by the other half and by kinds."""
    n = len(y)
    order = np.random.default_rng(seed).permutation(n)
    old, new = order[: n // 2], order[n // 2 :]
    some = evidence.take(old, np.arange(len(evidence.names)))
    shown = cluster(some, 3)
    start, depth = (shown.parent, shown.labels), int(shown.depth.max())
    found = {}
    for words, A in (
        ("probabilities", evidence.joined),
        ("cut at ½", (np.nan_to_num(evidence.joined) >= 0.5).astype(float)),
    ):
        for method, labels in part_half(A[old], start, depth, seed).items():
            found[f"{words}, {method}"] = {
                "parts": len(np.unique(labels)),
                "log_likelihood": judge_words(labels, A[old], A[new]),
                "purity": purity(labels, y[old]),
            }
    return found


def part_half(
    A: np.ndarray, start: tuple[np.ndarray, np.ndarray], depth: int, seed: int
) -> dict[str, np.ndarray]:
    """Return the parts of rows by every method."""
    fitted, flat = (
        make_model(method, len(A), depth, seed, N_JOBS).fit(A, start=start)
        for method in ("attribute", "bernoulli")
    )
    placed = fitted.predict(A)
    n_parts = len(np.unique(placed))
    filled = np.where(np.isnan(A), fitted.base_rates_, A)
    return {
        "Attribute Tree Process": placed,
        "FBLM": flat.predict(A),
        "Ward": AgglomerativeTree("ward", n_leaves=n_parts).fit(filled).labels_,
        "k-means": KMeans(n_parts, n_init=4, random_state=seed).fit_predict(filled),
        "HDBSCAN": HDBSCAN(min_cluster_size=5, metric="manhattan", copy=True).fit_predict(filled),
    }


def judge_grown(
    name: str, evidence: Evidence, likeness: Likeness, y: np.ndarray, n_seeds: int
) -> dict[str, Any]:
    """Judge trees of the whole collection, as a guide grows them."""
    grown = [
        grow_tree(evidence, likeness, "attribute", seed=s, n_jobs=N_JOBS) for s in range(n_seeds)
    ]
    return {
        "below_by_words": [float(_below(tree, by_words=True)) for tree in grown],
        "below": [float(_below(tree, by_words=False)) for tree in grown],
        "two_seeds": [_agree(grown[i], grown[j]) for i in range(n_seeds) for j in range(i)],
        "names_true": _judge_names(grown[0], y.tolist()) if name == "Caltech-101" else None,
        "r_hat": grown[0].about.get("r_hat"),
        "named": compare_named(grown, evidence, likeness, y),
    }


def judge_words(labels: np.ndarray, old: np.ndarray, new: np.ndarray) -> float:
    """Return the mean log-likelihood per word of new rows under parts of old ones.

    A word that is probable with s is there with s and not there with 1 − s; one that is not known
    says nothing.
    """
    is_known = ~np.isnan(old)
    shown = np.where(is_known, old, 0)
    base = (shown.sum(axis=0) + 0.5) / (is_known.sum(axis=0) + 1)
    log_p = []
    for part in np.unique(labels):
        own = labels == part
        rates = (shown[own].sum(axis=0) + base) / (is_known[own].sum(axis=0) + 1)
        said = np.nansum(np.log(new * rates + (1 - new) * (1 - rates)), axis=1)
        log_p.append(said + np.log(own.mean()))
    return float(logsumexp(log_p, axis=0).mean() / old.shape[1])


def _below(grown: GrownTree, *, by_words: bool) -> float:
    """Return the share of specimens below the root."""
    tree = grown.described
    top = np.zeros(len(tree.parent), dtype=np.int64)
    for v in range(1, len(tree.parent)):
        top[v] = v if tree.parent[v] == 0 else top[tree.parent[v]]
    is_below = tree.labels > 0
    if by_words:
        is_below &= ~grown.is_likeness[top[tree.labels]]
    return is_below.mean()


def _agree(one: GrownTree, two: GrownTree) -> float:
    """Return the share of specimens with the same names on the first two levels."""
    return float(np.mean([a == b for a, b in zip(_name(one), _name(two), strict=True)]))


def _name(grown: GrownTree) -> list[tuple[str, ...]]:
    tree = grown.described
    path: list[tuple[str, ...]] = [()]
    for v in range(1, len(tree.parent)):
        own = () if grown.is_likeness[v] else tree.words[v][:1]
        path.append((path[tree.parent[v]] + own)[:2])
    return [path[v] for v in tree.labels]


def _judge_names(grown: GrownTree, kinds: list[str]) -> str:
    """Return how many of the branches that folders can judge are true of 80 % of their pictures."""
    tree = grown.described
    is_below = np.eye(len(tree.parent), dtype=bool)
    for v in range(1, len(tree.parent)):
        is_below[v] |= is_below[tree.parent[v]]
    y, good, judged = np.array(kinds), 0, 0
    for v in range(1, len(tree.parent)):
        words = [word for word in tree.words[v] if word in CALTECH]
        if words and not grown.is_likeness[v]:
            own = y[is_below[tree.labels, v]]
            judged += 1
            good += np.mean([np.isin(own, CALTECH[word].split()).mean() for word in words]) >= 0.8
    return f"{good} of {judged}"


def table(result: dict) -> str:
    lines = [
        "| data | words, method | parts | log-likelihood per word, held out | purity |",
        "|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        cells = (row["data"], row["method"], row["parts"], row["log_likelihood"], row["purity"])
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += [
        "",
        "| data | named by the same rules | branches: by words | purity | in all | purity |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        for method, cells in row.get("named", {}).items():
            lines.append("| " + " | ".join([row["data"], method, *cells]) + " |")
    lines += [
        "",
        "| data | below the root: by words | in all | two seeds agree | names true | R-hat |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        if "below" in row:
            true = row["names_true"] or "–"
            shares = (interval(row[what]) for what in ("below_by_words", "below", "two_seeds"))
            lines.append(f"| {row['data']} | {' | '.join(shares)} | {true} | {row['r_hat']} |")
    return "\n".join(lines)

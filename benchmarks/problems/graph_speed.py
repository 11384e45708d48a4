"""Greedy walks through a balanced decision graph beside one-vs-all, seconds per row.

Random functions of 512 columns in single precision, one thread. One-vs-all is one matrix product
and the largest of each row, by numpy, without intercepts; ``FastScorer`` is our own one-vs-all
for single rows. A batch is 1,000 rows, a turn five batches; single rows are asked one call at a
time. ``FastWalker`` answers with classes alone, as numpy does; ``walk`` and the other two searches
say what they spent too. Margins leave little doubt here; what those two ask depends on the data,
so nodes and functions per row are printed too.
"""

import statistics
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measures import alternate, spread
from fieldguide.identify.graph import DecisionGraph, make_graph
from fieldguide.identify.search import best_first, shortlist, walk
from fieldguide.identify.serving import FastWalker
from fieldguide.svm import FastScorer, LinearFunctions

N_FEATURES = 512
N_BATCHES = 5
BATCH, SINGLE = "FastWalker, batch", "FastWalker, single"


def draw_balanced(rng: np.random.Generator, n_classes: int, n_features: int) -> DecisionGraph:
    """Return a graph of one leaf for each class, all at nearly the same depth, with their own
    functions after those of the nodes."""
    n_nodes = n_classes - 1
    child = np.arange(1, 2 * n_nodes + 1)
    child = np.where(child < n_nodes, child, n_nodes - 1 - child)
    coef = rng.standard_normal((n_nodes + n_classes, n_features), dtype=np.float32)
    functions = LinearFunctions(coef, np.zeros(len(coef), np.float32))
    return make_graph(
        functions,
        child[::2],
        child[1::2],
        np.arange(n_classes),
        n_classes,
        scale=np.full(n_nodes, 0.5),
    )


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes, n, n_repeats = ((16,), 20, 2) if tiny else ((256, 1000, 10_000), 1000, 5)
    with threadpool_limits(1):
        return {
            "n_features": N_FEATURES,
            "n": n,
            "n_repeats": n_repeats,
            "rows": [time_size(n_classes, n, n_repeats) for n_classes in sizes],
        }


def time_size(n_classes: int, n: int, n_repeats: int) -> dict[str, Any]:
    rng = np.random.default_rng(n_classes)
    graph = draw_balanced(rng, n_classes, N_FEATURES)
    X = rng.standard_normal((N_BATCHES * n, N_FEATURES), dtype=np.float32)
    coef, intercept = (a[graph.n_nodes :].copy() for a in graph.functions[:2])
    walker, scorer = FastWalker(graph), FastScorer(coef, intercept)
    alone, batches = X[:n], np.split(X, N_BATCHES)
    batch = {
        "numpy, batch": lambda: [(B @ coef.T).argmax(axis=1) for B in batches],
        BATCH: lambda: [walker.predict(B) for B in batches],
        "walk, batch": lambda: [walk(graph, B).answer for B in batches],
        "best_first, batch": lambda: [best_first(graph, B).answer for B in batches],
        "shortlist, batch": lambda: [shortlist(graph, B, tolerance=1.0).answer for B in batches],
    }
    single = {
        "numpy, single": lambda: [int((coef @ x).argmax()) for x in alone],
        "FastScorer, single": lambda: [scorer.best(x) for x in alone],
        SINGLE: lambda: [walker.best(x) for x in alone],
    }
    seconds = {name: [s / len(X) for s in t] for name, t in alternate(batch, n_repeats).items()}
    for name, times in alternate(single, n_repeats).items():
        seconds[name] = [s / len(alone) for s in times]
    listed = shortlist(graph, X, tolerance=1.0)
    return {
        "n_classes": n_classes,
        "seconds": {name: spread(times) for name, times in seconds.items()},
        "batch, numpy over FastWalker": compare(seconds["numpy, batch"], seconds[BATCH]),
        "single, numpy over FastWalker": compare(seconds["numpy, single"], seconds[SINGLE]),
        "nodes asked": {
            "walk": float(walk(graph, X).n_nodes.mean()),
            "best_first": float(best_first(graph, X).n_nodes.mean()),
            "shortlist": float((listed.n_nodes + listed.n_flat).mean()),
        },
    }


def compare(theirs: list[float], ours: list[float]) -> dict[str, float]:
    """Return the ratio of medians, with the spread of the ratios of single turns."""
    ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
    return {**spread(ratios), "median": statistics.median(theirs) / statistics.median(ours)}


def table(result: dict) -> str:
    lines = [
        f"{result['n_features']} columns, batches of {result['n']} rows, "
        f"{result['n_repeats']} turns each; µs per row, ratios with their spread",
        "",
        "| classes | numpy, batch | FastWalker | numpy/FastWalker | walk | best-first (nodes) "
        "| shortlist (functions) | numpy, single | FastScorer | FastWalker | numpy/FastWalker |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        micro = {name: 1e6 * times["median"] for name, times in row["seconds"].items()}
        batch, single = row["batch, numpy over FastWalker"], row["single, numpy over FastWalker"]
        asked = row["nodes asked"]
        lines.append(
            f"| {row['n_classes']} | {micro['numpy, batch']:.2f} | {micro[BATCH]:.2f} "
            f"| {batch['median']:.1f} ({batch['least']:.1f}–{batch['largest']:.1f}) "
            f"| {micro['walk, batch']:.2f} "
            f"| {micro['best_first, batch']:.2f} ({asked['best_first']:.1f}) "
            f"| {micro['shortlist, batch']:.2f} ({asked['shortlist']:.1f}) "
            f"| {micro['numpy, single']:.1f} | {micro['FastScorer, single']:.1f} "
            f"| {micro[SINGLE]:.2f} "
            f"| {single['median']:.0f} ({single['least']:.0f}–{single['largest']:.0f}) |"
        )
    return "\n".join(lines)

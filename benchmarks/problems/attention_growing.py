"""Growing an attention tree at the size of the paper: 256 classes, 40 rows each, 3,000 features.

Rows resemble bags of words: classes in groups of eight, rows that scatter about their class, most
entries 0. The SVMs of the nodes come on top. Time and memory are those of a process of its own:
memory is what it grows above what it holds when the rows are drawn.

Then as many classes as the document's scenes, 397, with 10 rows each and 500 features: what is left
of a tree within a smaller and a smaller cap on its nodes.
"""

import gc
import json
import os
import time
from pathlib import Path

import numpy as np

from benchmarks.measures import run_alone
from fieldguide.identify.attention_growing import AttentionTree, grow_attention_tree
from fieldguide.identify.binning import bin_features


def draw_rows(n_classes: int, per_class: int, d: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    index = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    common = rng.gamma(0.3, size=d) + 1e-4
    common /= common.sum()
    groups = rng.dirichlet(0.05 * d * common, size=max(2, n_classes // 8))
    own = rng.dirichlet(0.05 * d * common, size=n_classes)
    words = (own + 2 * groups[np.arange(n_classes) % len(groups)] + 12 * common) / 15
    X = np.empty((len(index), d), dtype=np.float32)
    for i, k in enumerate(index):
        X[i] = np.sqrt(rng.multinomial(500, rng.dirichlet(300 * words[k] + 1e-6)) / 500)
    return X, index


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = (6, 5, 60) if tiny else (256, 40, 3000)
    settings = [(0.5, 2), (0.6, 1)] if tiny else [(0.5, 2), (0.6, 2), (0.7, 2), (0.6, 1)]
    rows = [measure_alone(*sizes, delta, n_jobs, 5000) for delta, n_jobs in settings]
    sizes, caps = ((6, 5, 60), (100, 3)) if tiny else ((397, 10, 500), (6000, 5000, 3000, 1000))
    capped = [measure_alone(*sizes, 0.7, 1, max_nodes) for max_nodes in caps]
    return {"rows": rows, "capped": capped, "load": os.getloadavg()}


def measure_alone(*arguments: float) -> dict:
    """Measure in a process of its own."""
    code = "from benchmarks.problems import attention_growing\n"
    return json.loads(run_alone(f"{code}print(attention_growing.measure{arguments})\n"))


def measure(
    n_classes: int, per_class: int, d: int, delta: float, n_jobs: int, max_nodes: int
) -> str:
    """Grow a tree in this process; return its figures as JSON."""
    X, index = draw_rows(n_classes, per_class, d)
    started = time.perf_counter()
    grow_attention_tree(bin_features(X[:20, :70]), index[:20] % 3, 3)
    warm_up = time.perf_counter() - started
    gc.collect()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    started = time.perf_counter()
    binned = bin_features(X, n_jobs=n_jobs)
    cut = time.perf_counter() - started
    started, cpu = time.perf_counter(), time.process_time()
    tree = grow_attention_tree(
        binned, index, n_classes, delta=delta, max_nodes=max_nodes, n_jobs=n_jobs
    )
    return json.dumps(
        {
            "n_classes": n_classes,
            "n": len(X),
            "d": d,
            "non-zero": float(np.mean(X > 0)),
            "delta": delta,
            "n_jobs": n_jobs,
            "max_nodes": max_nodes,
            "warm-up": warm_up,
            "seconds to cut": cut,
            "seconds": time.perf_counter() - started,
            "CPU seconds": time.process_time() - cpu,
            "growth_mb": _status("VmHWM") - before,
            "peak_mb": _status("VmHWM"),
            **_describe(tree),
        }
    )


def _describe(tree: AttentionTree) -> dict:
    return {
        "nodes": tree.n_nodes,
        "leaves": tree.n_leaves,
        "mean depth of leaves": float(tree.leaf_depth.mean()),
        "rows at all nodes": len(tree.rows),
        "hard": float(np.mean(tree.labels == 0)) if len(tree.labels) else 0.0,
        "capped": tree.is_capped,
        "levels with hard rows": int(tree.depth[_has_hard_rows(tree)].max(initial=0)),
        "classes with a leaf": len(np.unique(tree.leaf_counts.toarray().argmax(axis=1))),
    }


def _has_hard_rows(tree: AttentionTree) -> np.ndarray:
    return np.array([len(tree.hard_rows(node)) > 0 for node in range(tree.n_nodes)], dtype=bool)


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def table(result: dict) -> str:
    lines = [
        "| classes, rows, features | Δ | threads | cut s | grow s | CPU s | MB more | nodes "
        "| rows at all nodes |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['n_classes']}, {row['n']}, {row['d']} | {row['delta']} | {row['n_jobs']} "
            f"| {row['seconds to cut']:.2f} | {row['seconds']:.1f} | {row['CPU seconds']:.1f} "
            f"| {row['growth_mb']:.0f} | {row['nodes']} | {row['rows at all nodes']} |"
        )
    lines += [
        "",
        "| classes, rows, features | Δ | `max_nodes` | nodes | capped | levels with hard rows "
        "| classes with a leaf | grow s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in result["capped"]:
        lines.append(
            f"| {row['n_classes']}, {row['n']}, {row['d']} | {row['delta']} | {row['max_nodes']:,} "
            f"| {row['nodes']:,} | {'yes' if row['capped'] else 'no'} "
            f"| {row['levels with hard rows']} | {row['classes with a leaf']} "
            f"| {row['seconds']:.1f} |"
        )
    return "\n".join(lines)

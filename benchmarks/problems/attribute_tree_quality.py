"""Trees of aPascal against a taxonomy of its kinds: edge error, purity, locality, nodes.

6,340 training objects with 88 annotated attributes, 500 sweeps, single chains from five seeds; the
tree of a chain is its best sample after half the sweeps. The default settings, four chains, are
judged on the training half and on the test half. Agglomerative clustering is cut at every
height. One chain of 10,000 sweeps shows what the last sample is worth beside the best. Trees made
by hand from the kinds show how near a tree of these words can come. Each cell is saved as soon as
it is known, and not computed again.

    python benchmarks/run.py --only attribute_tree_quality --data DIR
"""

import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import printed
from benchmarks.curves import draw_curves
from benchmarks.problems.attribute_tree_cells import CELLS, keep_cell
from benchmarks.word_trees import make_word_trees
from fieldguide.datasets.apascal import TAXONOMIES, load_apascal
from fieldguide.describe import (
    AgglomerativeTree,
    AttributeTree,
    BernoulliTree,
    load_chains,
    save_chains,
)
from fieldguide.metrics import average_edge_error, locality, purity

PICTURES = Path("docs/pictures")
SEEDS = range(5)
DEFAULT_SEEDS = range(3)
HYPERS = ((1, 10), (5, 5), (10, 5), (10, 10), (10, 20))
SEED_TABLE = {(1, 10): 1.97, (5, 5): 1.93, (10, 5): 1.76, (10, 10): 1.585, (10, 20): 1.569}
HEIGHTS = (0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16)
LONG = 10_000
# The document's priors, with a floor, of which it says nothing, and omega below 1/2 as of old.
PRIORS = {**printed.TREE, "theta_floor": 1e-3, "max_noise": 0.5}
del PRIORS["a"], PRIORS["b"]


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None or not (data / "apascal").exists():
        return {"skipped": "it needs --data with a folder apascal"}
    pascal = load_apascal(data / "apascal")
    A, y = pascal.attributes, np.array(pascal.target_names)[pascal.target]
    if tiny:
        return {"sampled": {"ATP": [_sample(AttributeTree(n_iter=3), 0, A, y)["best"]]}}
    with threadpool_limits(1):
        sampled = {
            "ATP": [_keep("atp", AttributeTree(n_iter=500), i, A, y) for i in SEEDS],
            "ATP, printed priors": [
                _keep("atp printed", AttributeTree(n_iter=500, **PRIORS), i, A, y) for i in SEEDS
            ],
            "ATP, default settings": [
                _keep_default(f"atp default {i}", i, A, y) for i in DEFAULT_SEEDS
            ],
            "ATP, default settings, test half": [
                _keep_default(f"atp default test {i}", i, *_load_test(data)) for i in DEFAULT_SEEDS
            ],
            "FBLM": [_keep("fblm", BernoulliTree(n_iter=500), i, A, y) for i in SEEDS],
        }
        cuts = [keep_cell(f"agglomerative {h:g}", lambda h=h: _cut(h, A, y)) for h in HEIGHTS]
        hypers = [
            {"a": a, "b": b, "paper": SEED_TABLE[a, b], "trees": [
                _keep("atp printed" if (a, b) == (10, 5) else f"atp a={a} b={b}",
                      AttributeTree(n_iter=500, a=a, b=b, **PRIORS), i, A, y)
                for i in SEEDS
            ]}
            for a, b in HYPERS
        ]  # fmt: skip
        long = keep_cell("atp long", lambda: _sample_long(A, y))
    result = {
        "sampled": {name: [cell["best"] for cell in cells] for name, cells in sampled.items()},
        "cuts": cuts,
        "hypers": [{**row, "trees": [cell["best"] for cell in row["trees"]]} for row in hypers],
        "long": long,
        "by hand": judge_word_trees(pascal),
    }
    _draw(result)
    return result


def _keep(name: str, model, seed: int, A, y) -> dict:
    return keep_cell(f"{name} {seed}", lambda: _sample(model, seed, A, y))


def _keep_default(name: str, seed: int, A, y) -> dict:
    return keep_cell(name, lambda: _fit_default(seed, A, y))


def _load_test(data: Path) -> tuple[np.ndarray, np.ndarray]:
    pascal = load_apascal(data / "apascal", "test")
    return pascal.attributes, np.array(pascal.target_names)[pascal.target]


def _fit_default(seed: int, A, y) -> dict:
    started = time.process_time()
    model = AttributeTree(random_state=seed).fit(A)
    return {**_judge_both(model, y), "seconds": time.process_time() - started}


def _sample(model, seed: int, A, y) -> dict:
    """Run one chain; judge its best sample and its last."""
    started = time.process_time()
    model.set_params(n_chains=1, random_state=seed).fit(A)
    return {**_judge_both(model, y), "seconds": time.process_time() - started}


def _sample_long(A, y) -> dict:
    """Run one long chain, saved every 500 sweeps and taken up where it was left."""
    path = CELLS / "atp long.safetensors"
    model = AttributeTree(n_iter=LONG, n_chains=1, random_state=0, **PRIORS)
    chains = load_chains(path) if path.exists() else None
    n_done = len(chains[0]["trace.log_joint"]) if chains else 0
    while n_done < LONG:
        n_done += 500
        model.fit(A, resume=chains, progress=lambda _, n, __, stop=n_done: n >= stop)
        chains = model.chains_
        save_chains(path, chains)
    if not hasattr(model, "tree_"):
        model.fit(A, resume=chains)
    return _judge_both(model, y)


def _judge_both(model, y) -> dict:
    last = model.chains_[0]
    return {
        "best": {**judge(model.tree_.parent, model.labels_, y), "log joint": model.log_joint_},
        "last": {
            **judge(last["sample.parent"], last["sample.labels"], y),
            "log joint": float(last["trace.log_joint"][-1]),
        },
    }


def _cut(height: float, A, y) -> dict:
    tree = AgglomerativeTree(threshold=height).fit(A)
    return {"height": height, **judge(tree.tree_.parent, tree.labels_, y)}


def judge(parent, labels, y) -> dict[str, float]:
    return {
        **{
            f"AEE, {reading}": average_edge_error(parent, labels, y, taxonomy)
            for reading, taxonomy in TAXONOMIES.items()
        },
        "purity": purity(labels, y),
        "locality": locality(parent, labels, y),
        "nodes": len(parent),
    }


def judge_word_trees(pascal) -> dict[str, dict[str, float]]:
    """Judge the trees that are made by hand of what the words can carry."""
    y = np.array(pascal.target_names)[pascal.target]
    trees = make_word_trees(pascal.attributes, list(pascal.attribute_names), y)
    return {name: judge(parent, labels, y) for name, parent, labels in trees}


def _draw(result: dict) -> None:
    heights = [cut["height"] for cut in result["cuts"]]
    for measure, name in (
        *((f"AEE, {reading}", f"aee_{reading}") for reading in TAXONOMIES),
        *(("purity", "purity"), ("locality", "locality")),
    ):
        curves = {"agglomerative": [(cut["height"], cut[measure]) for cut in result["cuts"]]}
        for method in ("ATP", "FBLM"):
            trees = result["sampled"][method]
            mean = float(np.mean([tree[measure] for tree in trees]))
            curves[method] = [(min(heights), mean), (max(heights), mean)]
        label = "average edge error" if measure.startswith("AEE") else measure
        x = "height of the agglomerative cut (attributes that differ)"
        draw_curves(PICTURES / f"apascal_{name}.svg", curves, x, label)


def table(result: dict) -> str:
    measures = [*(f"AEE, {reading}" for reading in TAXONOMIES), "purity", "locality", "nodes"]
    lines = [f"| method | {' | '.join(measures)} |", "|---" * (len(measures) + 1) + "|"]
    for method, trees in result["sampled"].items():
        lines.append(f"| {method}, {len(trees)} fits | {_cells(trees, measures)} |")
    if "long" not in result:
        return "\n".join(lines)
    for which in ("last", "best"):
        cells = _cells([result["long"][which]], measures)
        lines.append(f"| ATP, {LONG} sweeps, {which} sample | {cells} |")
    for cut in result["cuts"]:
        cells = _cells([cut], measures)
        lines.append(f"| agglomerative, cut at {cut['height']:g} | {cells} |")
    lines += word_lines(result["by hand"], measures[: len(TAXONOMIES)])
    lines += ["", "| a | b | AEE, flat | AEE, alive | AEE, fine | nodes | the paper's AEE |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in result["hypers"]:
        cells = _cells(row["trees"], [m for m in measures if m not in ("purity", "locality")])
        lines.append(f"| {row['a']} | {row['b']} | {cells} | {row['paper']:g} |")
    return "\n".join(lines)


def word_lines(trees: dict[str, dict[str, float]], measures: list[str]) -> list[str]:
    """Return the table of the trees that are made by hand."""
    lines = ["", f"| made by hand | {' | '.join(measures)} |", "|---" * (len(measures) + 1) + "|"]
    return lines + [f"| {name} | {_cells([tree], measures)} |" for name, tree in trees.items()]


def _cells(trees: list[dict], measures: list[str]) -> str:
    cells = []
    for measure in measures:
        values = [tree[measure] for tree in trees]
        digits = 0 if measure == "nodes" else 2
        cell = f"{np.mean(values):.{digits}f}"
        if len(values) > 1:
            least, most = min(values), max(values)
            cell += f" ± {np.std(values):.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"
        cells.append(cell)
    return " | ".join(cells)

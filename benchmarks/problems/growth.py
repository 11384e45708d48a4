"""How the cost of a key grows with the number of kinds: evaluations against kinds.

25, 50 and 101 kinds of Caltech-101 and 200 of CUB-200 (deep features, three splits, kinds drawn
with the split), and 1,000 drawn kinds of 20 rows as in ``thousand_kinds`` (one draw; but for the
cut, whose graph of 200 kinds has thousands of nodes already). Every cell is saved as soon as it is
known. With matplotlib, the curves go to ``docs/pictures/growth.svg``.

    python benchmarks/run.py --only growth --data DIR
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.curves import draw_curves
from benchmarks.problems.keys import draw_split, load_rows, prepare
from benchmarks.problems.thousand_kinds import draw
from fieldguide._files import write_json
from fieldguide.identify import (
    AttentionTreeClassifier,
    NormalizedCutTreeClassifier,
    OneVsAllClassifier,
    RelaxedHierarchyClassifier,
)
from fieldguide.metrics import mean_class_accuracy

CELLS = Path("out/bench/growth")
PICTURE = Path("docs/pictures/growth.svg")
SIZES = {25: "caltech101 deep", 50: "caltech101 deep", 101: "caltech101 deep", 200: "cub200 deep",
         1000: "drawn"}  # fmt: skip
NODES = 1000
KEYS: dict[str, Any] = {
    "one-vs-all": lambda: OneVsAllClassifier(probability=False),
    "relaxed, shortlist": lambda: RelaxedHierarchyClassifier(),
    "relaxed, rho 0.7, greedy": lambda: RelaxedHierarchyClassifier(
        rho=0.7, max_nodes=NODES, search="greedy"
    ),
    "attention, delta 0.6, greedy": lambda: AttentionTreeClassifier(search="greedy"),
    "cut, alpha 0.4, greedy": lambda: NormalizedCutTreeClassifier(
        alpha=0.4, max_nodes=NODES, search="greedy"
    ),
}
N_SPLITS = 3


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None or tiny:
        return {"skipped": "it needs --data with caltech101 and cub200, at full size"}
    for name in ("caltech101 deep", "cub200 deep"):
        prepare(data, name)
    cells = [
        measure_cell(key, size, split)
        for key in KEYS
        for size in SIZES
        for split in range(1 if SIZES[size] == "drawn" else N_SPLITS)
        if not (key.startswith("cut") and SIZES[size] == "drawn")
    ]
    result = {"cells": cells}
    draw_curves(
        PICTURE,
        {key: [(size, mean(cells, key, size, "evaluations")) for size in SIZES] for key in KEYS},
        "kinds",
        "evaluations per row",
        is_log=True,
    )
    return result


def measure_cell(key_name: str, n_classes: int, split: int) -> dict:
    path = CELLS / f"{key_name.replace(' ', '_').replace(',', '')}-{n_classes}-{split}.json"
    if path.exists():
        return json.loads(path.read_text())
    X, y, X_test, y_test = load(n_classes, split)
    key = KEYS[key_name]().fit(X, y)
    cell = {
        "key": key_name,
        "kinds": n_classes,
        "split": split,
        "accuracy": float(mean_class_accuracy(y_test, key.predict(X_test))),
        "evaluations": float(key.evaluations(X_test).mean()),
        "n_nodes": 0 if key.graph_ is None else key.graph_.n_nodes,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, cell)
    return cell


def load(n_classes: int, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    name = SIZES[n_classes]
    if name == "drawn":
        return draw(n_classes, 512, 20, 10, seed=split)
    values, y = load_rows(name)
    kinds = np.random.default_rng(split).permutation(np.unique(y))[:n_classes]
    train, test = draw_split(name.split()[0], y, split)
    train, test = (rows[np.isin(y[rows], kinds)] for rows in (train, test))
    return values[train], y[train], values[test], y[test]


def mean(cells: list[dict], key: str, size: int, what: str) -> float:
    found = [c[what] for c in cells if (c["key"], c["kinds"]) == (key, size)]
    return float(np.mean(found)) if found else np.nan


def table(result: dict) -> str:
    head = " | ".join(f"{size}" for size in SIZES)
    lines = [f"| evaluations (accuracy) at kinds | {head} |", "|---" * (len(SIZES) + 1) + "|"]
    for key in KEYS:
        cells = []
        for size in SIZES:
            spent, right = (
                mean(result["cells"], key, size, what) for what in ("evaluations", "accuracy")
            )
            cells.append(f"{spent:.1f} ({right:.3f})" if np.isfinite(spent) else "–")
        lines.append(f"| {key} | {' | '.join(cells)} |")
    return "\n".join(lines)

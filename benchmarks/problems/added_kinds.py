"""New kinds without retraining: an attention tree that is taught ten kinds more, against a refit.

Deep features of Caltech-101 and CUB-200 as in ``keys``; ten kinds are drawn with the split and left
out of the fit, then added with ``add_kind``. Accuracies are means over kinds, of the old kinds and
of the new ones; a refit sees all kinds from the start. Three splits.

    python benchmarks/run.py --only added_kinds --data DIR
"""

import time
from pathlib import Path

import numpy as np

from benchmarks.problems.keys import DEEP, draw_split, load_rows, prepare
from fieldguide.identify import AttentionTreeClassifier, relative_complexity
from fieldguide.metrics import mean_class_accuracy

N_ADDED, N_SPLITS = 10, 3


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None or tiny:
        return {"skipped": "it needs --data with caltech101 and cub200, at full size"}
    rows = []
    for name in DEEP:
        prepare(data, name)
        rows += [measure(name, split) for split in range(N_SPLITS)]
    return {"rows": rows}


def measure(name: str, split: int) -> dict:
    values, y = load_rows(name)
    train, test = draw_split(name.split()[0], y, split)
    added = np.random.default_rng(split).permutation(np.unique(y))[:N_ADDED]
    is_new, is_new_test = np.isin(y[train], added), np.isin(y[test], added)
    old, new = train[~is_new], train[is_new]
    X_old, X_new = values[test[~is_new_test]], values[test[is_new_test]]
    y_old, y_new = y[test[~is_new_test]], y[test[is_new_test]]
    AttentionTreeClassifier().fit(values[old[:200]], y[old[:200]])  # compiles
    started = time.perf_counter()
    key = AttentionTreeClassifier().fit(values[old], y[old])
    fit_s = time.perf_counter() - started
    row = {
        "data": name,
        "split": split,
        "fit_s": fit_s,
        "n_nodes": key.graph_.n_nodes,
        "old, before": float(mean_class_accuracy(y_old, key.predict(X_old))),
    }
    started = time.perf_counter()
    key.add_kind(values[new], y[new])
    row["add_s"] = time.perf_counter() - started
    row["n_nodes, after"] = key.graph_.n_nodes
    started = time.perf_counter()
    whole = AttentionTreeClassifier().fit(values[train], y[train])
    row["refit_s"] = time.perf_counter() - started
    for label, judged in (("after", key), ("refit", whole)):
        row[f"old, {label}"] = float(mean_class_accuracy(y_old, judged.predict(X_old)))
        row[f"new, {label}"] = float(mean_class_accuracy(y_new, judged.predict(X_new)))
        row[f"rc, {label}"] = float(relative_complexity(judged, values[test]).mean())
    return row


def table(result: dict) -> str:
    lines = [
        "| data | old kinds before | old, after | old, refit | new, added | new, refit "
        "| RC after / refit | seconds: add / refit | nodes before, after |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["data"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["data"] == name]
        m = {what: np.mean([row[what] for row in rows]) for what in rows[0] if what != "data"}
        lines.append(
            f"| {name} | {m['old, before']:.3f} | {m['old, after']:.3f} | {m['old, refit']:.3f} "
            f"| {m['new, after']:.3f} | {m['new, refit']:.3f} "
            f"| {m['rc, after']:.3f} / {m['rc, refit']:.3f} "
            f"| {m['add_s']:.1f} / {m['refit_s']:.1f} "
            f"| {m['n_nodes']:.0f}, {m['n_nodes, after']:.0f} |"
        )
    return "\n".join(lines)

"""Accuracy against cost: keys with a decision graph beside one-vs-all, on photographs.

Deep features, rows of length one. Caltech-101: 20 rows of each kind to train on, 10 to test on; the
background is left out. CUB-200: 12 and 5. RC is the number of functions evaluated over that of
one-vs-all. Every cell (data, split, key) is saved as soon as it is known, and not computed again.

    python benchmarks/run.py --only keys --data DIR         (KEYS_SPLITS=10 for more splits)
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from fieldguide._files import write_json
from fieldguide.datasets import load_caltech, load_cub200
from fieldguide.features import DeepFeatures
from fieldguide.identify import (
    ConfusionTreeClassifier,
    NormalizedCutTreeClassifier,
    OneVsAllClassifier,
    RelaxedHierarchyClassifier,
    relative_complexity,
)
from fieldguide.metrics import mean_class_accuracy

CELLS = Path("out/bench/keys")
DATA = {"caltech101": (load_caltech, 20, 10), "cub200": (load_cub200, 12, 5)}
KEYS: dict[str, Any] = {
    "one-vs-all": lambda: OneVsAllClassifier(probability=False),
    "relaxed, rho 0.9": lambda: RelaxedHierarchyClassifier(rho=0.9),
    "relaxed, rho 0.7": lambda: RelaxedHierarchyClassifier(rho=0.7),
    "cut, alpha 0.8": lambda: NormalizedCutTreeClassifier(alpha=0.8),
    "cut, alpha 0.3": lambda: NormalizedCutTreeClassifier(alpha=0.3),
    "confusion, 2 levels": lambda: ConfusionTreeClassifier(levels=2),
    "confusion, 4 levels": lambda: ConfusionTreeClassifier(levels=4),
}
TOLERANCES = (1.0, 2.0, 3.0, 4.0)


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None:
        return {"skipped": "it needs --data with caltech101 and cub200"}
    n_splits = 1 if tiny else int(os.environ.get("KEYS_SPLITS", "3"))
    names = list(DATA)[:1] if tiny else list(DATA)
    cells = []
    for name in names:
        if not (data / name).is_dir():
            continue
        X, y = load_rows(data, name, tiny)
        for split in range(n_splits):
            for key in list(KEYS)[: 2 if tiny else None]:
                cells += measure_cell(name, X, y, split, key, save=not tiny)
    return {"n_splits": n_splits, "cells": cells}


def load_rows(data: Path, name: str, tiny: bool) -> tuple[np.ndarray, np.ndarray]:
    load, n_train, n_test = DATA[name]
    bunch = load(data / name)
    y = np.asarray(bunch.target)
    if tiny:
        kept = [np.flatnonzero(y == k)[: n_train + n_test] for k in range(3)]
        rows = np.concatenate(kept)
        images = [bunch.images.picture(int(i))[0].image for i in rows]
        X, y = DeepFeatures().transform(images), y[rows]
    else:
        path = CELLS / f"{name}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, DeepFeatures().transform(bunch.images))
        X = np.load(path)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def measure_cell(
    name: str, X: np.ndarray, y: np.ndarray, split: int, key_name: str, save: bool
) -> list[dict]:
    """Return a row for each search of one key on one split."""
    path = CELLS / f"{name}-{split}-{key_name.replace(' ', '_').replace(',', '')}.json"
    if save and path.exists():
        return json.loads(path.read_text())["rows"]
    _, n_train, n_test = DATA[name]
    rng = np.random.default_rng(split)
    orders = [rng.permutation(np.flatnonzero(y == k)) for k in np.unique(y)]
    train = np.concatenate([order[:n_train] for order in orders])
    test = np.concatenate([order[n_train : n_train + n_test] for order in orders])
    key = KEYS[key_name]()
    started = time.perf_counter()
    key.fit(X[train], y[train])
    fit_s = time.perf_counter() - started
    rows = []
    for label, settings in searches_of(key).items():
        for setting, value in settings.items():
            setattr(key, setting, value)
        started = time.perf_counter()
        answer = key.predict(X[test])
        per_row_us = (time.perf_counter() - started) / len(test) * 1e6
        rows.append(
            {
                "data": name,
                "split": split,
                "key": key_name,
                "search": label,
                "accuracy": float(mean_class_accuracy(y[test], answer)),
                "rc": float(relative_complexity(key, X[test]).mean()),
                "fit_s": fit_s,
                "per_row_us": per_row_us,
                "n_nodes": 0 if key.graph_ is None else key.graph_.n_nodes,
            }
        )
    if save:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"rows": rows})
    return rows


def searches_of(key: Any) -> dict[str, dict]:
    """Return the searches to try, each with the attributes to set."""
    if key.graph_ is None or isinstance(key, ConfusionTreeClassifier):
        return {"": {}}
    lists = {
        f"shortlist, {label}": {"search": "shortlist", "tolerance_": value}
        for label, value in [("auto", key.tolerance_), *((str(t), t) for t in TOLERANCES)]
    }
    return {"greedy": {"search": "greedy"}, "best-first": {"search": "best_first"}, **lists}


def table(result: dict) -> str:
    lines = [
        "| data | key | search | accuracy | minus one-vs-all | RC | nodes | fit s | µs/row |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    cells = result["cells"]
    flat = {(c["data"], c["split"]): c["accuracy"] for c in cells if c["key"] == "one-vs-all"}
    groups: dict[tuple, list[dict]] = {}
    for cell in cells:
        groups.setdefault((cell["data"], cell["key"], cell["search"]), []).append(cell)
    measured = ("accuracy", "rc", "n_nodes", "fit_s", "per_row_us")
    for (data, key, search), rows in groups.items():
        mean = {name: np.mean([row[name] for row in rows]) for name in measured}
        apart = [row["accuracy"] - flat[row["data"], row["split"]] for row in rows]
        half = 1.96 * np.std(apart, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
        lines.append(
            f"| {data} | {key} | {search} | {mean['accuracy']:.3f} "
            f"| {np.mean(apart):+.3f} ± {half:.3f} | {mean['rc']:.3f} | {mean['n_nodes']:.0f} "
            f"| {mean['fit_s']:.1f} | {mean['per_row_us']:.1f} |"
        )
    return "\n".join(lines)

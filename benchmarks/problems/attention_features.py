"""Attention trees on the document's features, and its budget of support vectors (Eq. 4).

Caltech-101: 15 photographs of each kind to train on, 10 to test on, the background left out;
CIFAR-10: 150 and 100, all from its training part; drawn anew for each split. Features are
histograms, about whose columns boosting can ask:

    words    400 visual words in a pyramid of 1 and 2 × 2 cells, found in the first split's training
    hog      gradients in a pyramid of 2 × 2, 4 × 4 and 8 × 8 cells; of CIFAR-10 without the last

Linear nodes see them through an explicit map, as in Figures 4a and 5a, and so does boosting. Kernel
nodes see them as they are (4b, 5b), with and without a budget: of the values of C near the key's,
a node takes that with the fewest kernel values for each class it rules out, among those that lose
no more than ``support_tolerance`` of its held-out accuracy. C is the best for one-vs-all by
cross-validation on the first split. RC is the cost over that of one-vs-all: functions if linear,
distinct kernel values if not. Every cell is saved as soon as it is known, and not computed again.

    python benchmarks/run.py --only attention_features --data DIR
    ATTENTION_SPLITS=3 ATTENTION_ONLY=hog …                     (more splits; some features)
"""

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems.keys import scale_rows
from fieldguide._files import write_json
from fieldguide.features import BagOfWords, SpatialHOG
from fieldguide.identify import AttentionTreeClassifier, OneVsAllClassifier, relative_complexity
from fieldguide.kernels import AdditiveKernelMap
from fieldguide.metrics import mean_class_accuracy

CELLS = Path("out/bench/attention_features")
SIZES = {"caltech101": (15, 10), "cifar10": (150, 100)}
MAPPED = {"caltech101 words, χ² map": "chi2", "caltech101 hog, intersection map": "intersection"}
KERNELS = {
    "caltech101 words, exponential χ²": "exponential_chi2",
    "caltech101 hog, intersection": "intersection",
    "cifar10 hog, intersection": "intersection",
}
TOLERANCES = (None, 0.0, 0.01, 0.03, 0.1)
Place = tuple[str, int, float | None, float | None]  # features, split, Δ, support_tolerance


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None:
        return {"skipped": "it needs --data with caltech101 and cifar10"}
    studies = {name: Study(data, name, tiny=tiny) for name in SIZES}
    n_splits = int(os.environ.get("ATTENTION_SPLITS", "1"))
    wanted = os.environ.get("ATTENTION_ONLY", "")
    places: list[Place] = []
    for split in range(n_splits):
        for name in (*MAPPED, *KERNELS):
            places.append((name, split, None, None))
            if name in MAPPED:
                places += [(name, split, delta, None) for delta in (0.5, 0.6, 0.7)]
            else:
                places += [(name, split, delta, t) for delta in (0.5, 0.7) for t in TOLERANCES]
    cells = [
        row
        for place in places
        if wanted in place[0]
        for row in studies[place[0].split()[0]].measure(*place)
    ]
    return {"n_splits": n_splits, "cells": cells}


class Study:
    """Some photographs, their features, and what is known of keys on them."""

    def __init__(self, data: Path, name: str, *, tiny: bool) -> None:
        from fieldguide.datasets import load_caltech, load_cifar10

        self._name = name
        self._bunch = {"caltech101": load_caltech, "cifar10": load_cifar10}[name](data / name)
        self._n_train, self._n_test = (8, 4) if tiny else SIZES[name]
        self._n_words = 20 if tiny else 400
        self._y = np.asarray(self._bunch.target)
        self._kinds = np.unique(self._y)[: 4 if tiny else None]
        self._folder = CELLS / f"{name}-{'tiny' if tiny else 'whole'}"

    def measure(
        self, name: str, split: int, delta: float | None, tolerance: float | None
    ) -> list[dict]:
        """Return a row for each search of a key; one-vs-all where there is no Δ."""
        stem = f"{name}-{split}-{delta}-{tolerance}".replace(" ", "_").replace(",", "")
        path = self._folder / f"{stem}.json"
        if not path.exists():
            write_json(path, {"rows": self._judge(name, split, delta, tolerance)})
        return json.loads(path.read_text())["rows"]

    def _judge(
        self, name: str, split: int, delta: float | None, tolerance: float | None
    ) -> list[dict]:
        X, y, X_test, y_test = self._cut(name, split)
        shared: dict[str, Any] = {"C": self._find_C(name), "kernel": KERNELS.get(name, "linear")}
        if delta is None:
            key: Any = OneVsAllClassifier(probability=False, **shared)
        else:
            key = AttentionTreeClassifier(delta=delta, support_tolerance=tolerance, **shared)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a cap that is reached: the number of nodes tells
            key.fit(X, y)
        shown = {"data": name, "split": split, "delta": delta, "tolerance": tolerance}
        shown |= {"fit_s": time.perf_counter() - started, "C": shared["C"]}
        if delta is None:
            return [shown | self._describe(key, X_test, y_test) | {"search": ""}]
        rows = []
        for search in ("greedy", "shortlist"):
            key.search = search
            rows.append(shown | self._describe(key, X_test, y_test) | {"search": search})
        return rows

    def _describe(self, key: Any, X: np.ndarray, y: np.ndarray) -> dict:
        flat = key.graph_ is None
        functions = key.functions_ if flat else key.graph_.functions
        n_nodes = 0 if flat else key.graph_.n_nodes
        is_linear = key.kernel == "linear"
        support = None if is_linear or flat else np.diff(functions.coef.indptr)[:n_nodes].mean()
        return {
            "accuracy": float(mean_class_accuracy(y, key.predict(X))),
            "rc": 1.0 if flat else float(relative_complexity(key, X).mean()),
            "evaluations": float(key.evaluations(X).mean()),
            "support": support,
            "n_nodes": n_nodes,
        }

    def _find_C(self, name: str) -> float:
        path = self._folder / f"C-{name}.json".replace(" ", "_").replace(",", "")
        if not path.exists():
            X, y, _, _ = self._cut(name, 0)
            kernel = KERNELS.get(name, "linear")
            key = OneVsAllClassifier("cv", kernel, probability=False).fit(X, y)
            write_json(path, {"C": key.C_})
        return float(json.loads(path.read_text())["C"])

    def _cut(self, name: str, split: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return rows and kinds of the training and of the test of a split."""
        parts = self._draw(split)
        rows = [self._load(name.split(",")[0].split()[1])[part] for part in parts]
        if name in MAPPED:
            mapped = AdditiveKernelMap(MAPPED[name])
            rows = [scale_rows(mapped.fit_transform(part)) for part in rows]
        return rows[0], self._y[parts[0]], rows[1], self._y[parts[1]]

    def _load(self, descriptor: str) -> np.ndarray:
        """Return the histograms of all photographs of the kinds; other rows are 0."""
        path = self._folder / f"{descriptor}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            used = np.flatnonzero(np.isin(self._y, self._kinds))
            images = {int(i): self._bunch.images.picture(int(i))[0].image for i in used}
            if descriptor == "words":
                feature: Any = BagOfWords(self._n_words, pyramid=((1, 1), (2, 2)), n_jobs=-1)
                feature.fit([images[int(i)] for i in self._draw(0)[0]])
            else:
                feature = SpatialHOG(n_jobs=-1)
                if self._name == "cifar10":
                    feature.set_params(levels=(2, 4), side_px=32)
                feature.fit(list(images.values())[:1])
            found = feature.transform(list(images.values()))
            rows = np.zeros((len(self._y), found.shape[1]), dtype=np.float32)
            rows[used] = found / np.maximum(found.sum(axis=1, keepdims=True), 1e-12)
            np.save(path, rows)
        return np.load(path)

    def _draw(self, split: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(split)
        orders = [rng.permutation(np.flatnonzero(self._y == kind)) for kind in self._kinds]
        last = self._n_train + self._n_test
        train = np.concatenate([order[: self._n_train] for order in orders])
        return train, np.concatenate([order[self._n_train : last] for order in orders])


def table(result: dict) -> str:
    """Return a table for linear nodes, and one for kernel nodes with their budgets."""
    linear = [
        "| features | key (nodes) | greedy | RC | shortlist | RC | fit, s |",
        "|---|---|---|---|---|---|---|",
    ]
    kernel = [
        "| features | key (nodes) | `support_tolerance` | support vectors of a node | greedy "
        "| kernel values (RC) | shortlist | kernel values (RC) | fit, s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple, dict[str, list[dict]]] = {}
    for cell in result["cells"]:
        place = cell["data"], cell["delta"], cell["tolerance"]
        groups.setdefault(place, {}).setdefault(cell["search"], []).append(cell)
    for (name, delta, tolerance), searches in groups.items():
        first = next(iter(searches.values()))
        key = "one-vs-all"
        if delta is not None:
            key = f"Δ = {delta} ({mean(first, 'n_nodes'):,.0f})"
        if delta is None:
            pairs = [show(first, name in KERNELS), " | "]
        else:
            pairs = [show(searches[search], name in KERNELS) for search in ("greedy", "shortlist")]
        fit_s = f"{mean(first, 'fit_s'):.0f}"
        if name in MAPPED:
            linear.append(f"| {name} | {key} | {' | '.join(pairs)} | {fit_s} |")
        else:
            budget = "" if delta is None else "none" if tolerance is None else f"{tolerance:g}"
            support = "" if delta is None else f"{mean(first, 'support'):.0f}"
            kernel.append(
                f"| {name} | {key} | {budget} | {support} | {' | '.join(pairs)} | {fit_s} |"
            )
    return "\n".join([*linear, "", *kernel])


def show(cells: list[dict], is_kernel: bool) -> str:
    """Return accuracy and cost, as two columns."""
    cost = f"{mean(cells, 'rc'):.3f}"
    if is_kernel:
        cost = f"{mean(cells, 'evaluations'):,.0f} ({cost})"
    return f"{mean(cells, 'accuracy'):.3f} | {cost}"


def mean(cells: list[dict], what: str) -> float:
    return float(np.mean([cell[what] for cell in cells]))

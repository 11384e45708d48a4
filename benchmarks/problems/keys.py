"""Accuracy against cost: every key beside one-vs-all, on photographs.

Caltech-101: 20 rows of each kind to train on, 10 to test on, the background left out; CUB-200: 12
and 5; drawn anew for each split. RC is the number of functions evaluated (distinct kernel values,
for kernels) over that of one-vs-all; differences of accuracy are taken split by split, with a 95 %
interval of Student's t. C is 1 for deep features, elsewhere the best for one-vs-all by
cross-validation on the training rows of the first split, and the same for all keys but trees as
printed, for whose hinge loss it is always chosen so.

| representation | |
|---|---|
| caltech101 deep, cub200 deep | deep features, rows of length one, linear functions |
| caltech101 words, map | visual words in a pyramid, χ² map, linear |
| caltech101 words, exp-chi2 | the same words, exponential χ² kernel |
| caltech101 hog, intersection | HOG pyramid, intersection kernel |
| caltech101 hog rows, intersection | the same, from the columns, for attention trees |
| caltech101 hog, map | the same, explicit map of that kernel, linear |
| caltech101 words rows, map | words of the whole picture, no pyramid, χ² map, linear, columns |
| caltech101 words rows, exp-chi2 | the same, exponential χ² kernel |

The words are found in the training photographs of the first split. A linear function of the tens
of thousands of columns of a map is trained on as many columns as there are training rows, with the
same scalar products (``rotate``). Every cell (representation, split, key) is saved as soon as it is
known, and not computed again.

    python benchmarks/run.py --only keys --data DIR
    KEYS_SPLITS=10 KEYS_JOBS=16 KEYS_ONLY=deep KEYS_KEY=relaxed …     (more splits; processes; some)
    KEYS_SPLITS=10 KEYS_SAVED=1 …                                     (what is known, nothing new)
"""

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import t as student

from benchmarks import printed
from benchmarks.curves import draw_curves
from benchmarks.problems.caltech_features import gram, rotate
from fieldguide._files import write_json
from fieldguide.identify import (
    AttentionTreeClassifier,
    BestFirst,
    ConfusionTreeClassifier,
    DAGSVMClassifier,
    Greedy,
    NormalizedCutTreeClassifier,
    OneVsAllClassifier,
    OneVsOneClassifier,
    RelaxedHierarchyClassifier,
    Search,
    Shortlist,
    relative_complexity,
)
from fieldguide.kernels import AdditiveKernelMap, exponential_chi2_kernel, intersection_kernel
from fieldguide.metrics import mean_class_accuracy

CELLS = Path("out/bench/keys")
PICTURES = Path("docs/pictures")
SIZES = {"caltech101": (20, 10), "cub200": (12, 5)}
DEEP = ("caltech101 deep", "cub200 deep")
CLASSICAL = {
    "caltech101 words, map": "linear",
    "caltech101 words, exp-chi2": "precomputed",
    "caltech101 hog, intersection": "precomputed",
    "caltech101 hog, map": "linear",
    "caltech101 hog rows, intersection": "intersection",
    "caltech101 words rows, map": "linear",
    "caltech101 words rows, exp-chi2": "exponential_chi2",
}
N_WORDS = 1000  # the first columns: the grid of one cell
NODES = 1000  # at most; graphs in which many classes go both ways grow without end otherwise
KEYS: dict[str, Any] = {
    "one-vs-all": lambda **o: OneVsAllClassifier(probability=False, **o),
    "relaxed, rho 1.2": lambda **o: RelaxedHierarchyClassifier(rho=1.2, **o),
    **{
        f"relaxed, rho {rho}": lambda rho=rho, **o: RelaxedHierarchyClassifier(
            rho=rho, max_nodes=NODES, **o
        )
        for rho in (0.9, 0.8, 0.7, 0.6, 0.5)
    },
    **{
        f"confusion, {levels} levels": lambda levels=levels, **o: ConfusionTreeClassifier(
            levels=levels, **o
        )
        for levels in (2, 3, 4, 5)
    },
    **{
        f"cut, alpha {alpha}": lambda alpha=alpha, **o: NormalizedCutTreeClassifier(
            alpha=alpha, max_nodes=NODES, **o
        )
        for alpha in (0.8, 0.6, 0.4, 0.2, 0.1)
    },
    **{
        f"attention, delta {delta:g}": lambda delta=delta, **o: AttentionTreeClassifier(
            delta=delta, **o
        )
        for delta in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
    },
    **{
        f"attention as printed, delta {delta:g}": lambda delta=delta, **o: AttentionTreeClassifier(
            delta=delta, **printed.ATTENTION | o
        )
        for delta in (0.5, 0.6, 0.7, 0.8, 0.9)
    },
    "attention, delta 0.6, 10 candidates": lambda **o: AttentionTreeClassifier(
        n_candidates=10, **o
    ),
    "relaxed, rho 1.2, 3 trees": lambda **o: RelaxedHierarchyClassifier(rho=1.2, n_trees=3, **o),
    "one-vs-one": lambda **o: OneVsOneClassifier(probability=False, **o),
    "DAGSVM": lambda **o: DAGSVMClassifier(**o),
}
SHORTLISTED = ("relaxed, rho 1.2", "attention, delta 0.6")
TOLERANCES = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None:
        return {"skipped": "it needs --data with caltech101 and cub200"}
    if tiny:
        return {"n_splits": 1, "cells": run_tiny(data)}
    names = [name for name in (*DEEP, *CLASSICAL) if os.environ.get("KEYS_ONLY", "") in name]
    n_splits, n_jobs = (int(os.environ.get(f"KEYS_{what}", "1")) for what in ("SPLITS", "JOBS"))
    for name in names:
        prepare(data, name)
    # A key on all splits, then the next: what is cut short has whole rows in its table.
    wanted, only_saved = os.environ.get("KEYS_KEY", ""), bool(os.environ.get("KEYS_SAVED"))
    places = [
        (name, split, key)
        for key in KEYS
        for name in names
        for split in range(n_splits)
        if wanted in key
        and (not key.startswith("attention") or has_columns(name))
        and (not only_saved or place_of_cell(name, split, key).exists())
    ]
    cells = [
        row
        for rows in Parallel(n_jobs)(delayed(measure_cell)(*place) for place in places)
        for row in rows
    ]
    for name in names:
        draw_families([cell for cell in cells if cell["data"] == name], name)
    return {"n_splits": n_splits, "cells": cells}


def draw_families(cells: list[dict], name: str) -> None:
    """Draw accuracy against RC: each family of keys over its knob, and shortlists over theirs."""
    families: dict[str, dict[str, list[dict]]] = {}
    for cell in cells:
        family, _, knob = cell["key"].partition(", ")
        search = cell["search"]
        if family == "one-vs-one" or "trees" in knob or "candidates" in knob:
            continue
        if search in ("", "greedy"):
            families.setdefault(f"{family}, greedy" if search else family, {}).setdefault(
                knob, []
            ).append(cell)
        elif cell["key"] in SHORTLISTED and search != "shortlist, auto" and "short" in search:
            families.setdefault(f"{cell['key']}, shortlist", {}).setdefault(search, []).append(cell)
    flat = families.pop("one-vs-all", {}).get("", [])
    curves = {
        family: [
            tuple(float(np.mean([c[what] for c in rows])) for what in ("rc", "accuracy"))
            for rows in knobs.values()
            if len(rows) == len(flat)  # a mean over fewer splits would not compare
        ]
        for family, knobs in families.items()
    }
    curves = {family: points for family, points in curves.items() if points}
    if flat and curves:
        level = float(np.mean([c["accuracy"] for c in flat]))
        draw_curves(
            PICTURES / f"{place_of(name).stem}.svg",
            curves,
            "relative complexity",
            "accuracy",
            level=("one-vs-all (at 1)", level),
        )


def run_tiny(data: Path) -> list[dict]:
    from fieldguide.datasets import load_caltech
    from fieldguide.features import DeepFeatures

    bunch = load_caltech(data / "caltech101")
    y = np.asarray(bunch.target)
    rows = np.concatenate([np.flatnonzero(y == k)[:30] for k in range(3)])
    images = [bunch.images.picture(int(i))[0].image for i in rows]
    X = scale_rows(DeepFeatures().transform(images))
    names = list(KEYS)[:2]
    return [row for key in names for row in judge("caltech101 deep", 0, key, X, y[rows], 1.0)]


# -- representations --------------------------------------------------------------------------


def prepare(data: Path, name: str) -> None:
    """Compute a representation of all photographs, once: rows, or products of rows."""
    path = place_of(name)
    if path.exists():
        return
    from fieldguide.datasets import load_caltech, load_cub200
    from fieldguide.features import BagOfWords, DeepFeatures, SpatialHOG

    load = {"caltech101": load_caltech, "cub200": load_cub200}[name.split()[0]]
    bunch = load(data / name.split()[0])
    y = np.asarray(bunch.target)
    path.parent.mkdir(parents=True, exist_ok=True)
    if name in DEEP:
        rows = DeepFeatures(n_jobs=-1).transform(bunch.images)
        np.savez(path, values=rows.astype(np.float16), y=y)
        return
    descriptor = "words" if "words" in name else "hog"
    cached = CELLS / f"{descriptor}.npy"
    if not cached.exists():
        images = [bunch.images.picture(i)[0].image for i in range(len(y))]
        if descriptor == "words":
            train, _ = draw_split("caltech101", y, 0)
            feature = BagOfWords(n_jobs=-1).fit([images[i] for i in train])
        else:
            feature = SpatialHOG(n_jobs=-1).fit(images[:1])
        np.save(cached, feature.transform(images))
    rows = np.load(cached)
    rows = rows[:, :N_WORDS] if "words rows" in name else rows
    rows /= np.maximum(rows.sum(axis=1, keepdims=True), 1e-12)
    if has_columns(name):
        np.savez(path, values=(rows * 4096).astype(np.float16), y=y)
        return
    products = {
        "caltech101 words, map": lambda: gram(rows, "chi2"),
        "caltech101 words, exp-chi2": lambda: exponential_chi2_kernel(rows, n_jobs=-1),
        "caltech101 hog, intersection": lambda: intersection_kernel(rows, n_jobs=-1),
        "caltech101 hog, map": lambda: gram(rows, "intersection"),
    }[name]()
    upper = np.triu_indices(len(y))
    np.savez(path, values=np.round(products[upper] * 65535).astype(np.uint16), y=y)


def has_columns(name: str) -> bool:
    """Whether the rows have columns that mean something, as boosting needs."""
    return name in DEEP or "rows" in name


def place_of(name: str) -> Path:
    return CELLS / f"{name.replace(' ', '_').replace(',', '')}.npz"


def place_of_cell(name: str, split: int, key_name: str) -> Path:
    stem = f"{name}-{split}-{key_name}".replace(" ", "_").replace(",", "")
    return CELLS / f"{stem}.json"


def load_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, or the products of rows, and their kinds."""
    with np.load(place_of(name)) as saved:
        values, y = saved["values"], saved["y"]
    if name in DEEP:
        return scale_rows(values), y
    if has_columns(name):
        rows = values.astype(np.float32)
        rows /= rows.sum(axis=1, keepdims=True)
        return (scale_rows(AdditiveKernelMap().fit_transform(rows)) if "map" in name else rows), y
    products = np.empty((len(y), len(y)), dtype=np.float32)
    upper = np.triu_indices(len(y))
    products[upper] = values / np.float32(65535)
    products.T[upper] = products[upper]
    return products, y


def scale_rows(X: np.ndarray) -> np.ndarray:
    X = np.asarray(X, dtype=np.float32)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def draw_split(data: str, y: np.ndarray, split: int) -> tuple[np.ndarray, np.ndarray]:
    n_train, n_test = SIZES[data]
    rng = np.random.default_rng(split)
    orders = [rng.permutation(np.flatnonzero(y == k)) for k in np.unique(y)]
    train = np.concatenate([order[:n_train] for order in orders])
    return train, np.concatenate([order[n_train : n_train + n_test] for order in orders])


def cut_split(name: str, values: np.ndarray, train: np.ndarray, test: np.ndarray) -> list:
    """Return training and test rows as the keys take them."""
    if CLASSICAL.get(name) == "precomputed":
        return [values[np.ix_(rows, train)] for rows in (train, test)]
    if has_columns(name):
        return [values[train], values[test]]
    both = np.concatenate([train, test])
    rows = rotate(values[np.ix_(both, both)], len(train))
    return [rows[: len(train)], rows[len(train) :]]


# -- cells ------------------------------------------------------------------------------------


def measure_cell(name: str, split: int, key_name: str) -> list[dict]:
    """Return a row for each search of one key on one split."""
    path = place_of_cell(name, split, key_name)
    if path.exists():
        return json.loads(path.read_text())["rows"]
    values, y = load_rows(name)
    C = find_C(name, values, y, printed="as printed" in key_name)
    rows = judge(name, split, key_name, values, y, C)
    write_json(path, {"rows": rows})
    return rows


def find_C(name: str, values: np.ndarray, y: np.ndarray, *, printed: bool = False) -> float:
    """Return the C of all keys, or of trees as printed, whose nodes have another loss."""
    if name in DEEP and not printed:
        return 1.0
    path = CELLS / f"{place_of(name).stem}-C{'-printed' if printed else ''}.json"
    if not path.exists():
        train, test = draw_split(name.split()[0], y, 0)
        X, _ = cut_split(name, values, train, test)
        kernel, loss = CLASSICAL.get(name, "linear"), "hinge" if printed else None
        key = OneVsAllClassifier("cv", kernel, loss=loss, probability=False).fit(X, y[train])
        write_json(path, {"C": key.C_})
    return float(json.loads(path.read_text())["C"])


def judge(
    name: str, split: int, key_name: str, values: np.ndarray, y: np.ndarray, C: float
) -> list[dict]:
    train, test = draw_split(name.split()[0], y, split)
    X, X_test = cut_split(name, values, train, test)
    key = KEYS[key_name](C=C, kernel=CLASSICAL.get(name, "linear"))
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # caps that are reached: the number of nodes tells
        key.fit(X, y[train])
    fit_s = time.perf_counter() - started
    reference = None
    if key.graph_ is None and key_name != "one-vs-all":
        reference = OneVsAllClassifier(C, key.kernel, probability=False).fit(X, y[train])
    rows = []
    for label, search in searches_of(key_name, key).items():
        if search is not None:
            key.search = search
        rows.append(
            {
                "data": name,
                "split": split,
                "key": key_name,
                "search": label,
                "accuracy": float(mean_class_accuracy(y[test], key.predict(X_test))),
                "rc": float(relative_complexity(key, X_test, reference).mean()),
                "fit_s": fit_s,
                "n_nodes": 0 if key.graph_ is None else key.graph_.n_nodes,
                "tolerance": getattr(search, "tolerance", None),
            }
        )
    return rows


def searches_of(name: str, key: Any) -> dict[str, Search | None]:
    """Return the searches to try; None for a key that keeps its own."""
    if key.graph_ is None or isinstance(key, ConfusionTreeClassifier):
        return {"": None}
    if name.startswith("attention as printed"):
        return {"greedy": None}
    lists = {
        f"shortlist, {label}": Shortlist(value)
        for label, value in [("auto", key.tolerance_), *((str(t), t) for t in TOLERANCES)]
    }
    return {"greedy": Greedy(), "best-first": BestFirst(), **lists}


SHOWN = ("greedy", "best-first", "shortlist, auto", "shortlist, 5.0")


def table(result: dict) -> str:
    """Return a table for each representation, and one of every tolerance of the shortlists."""
    cells = result["cells"]
    flat = {(c["data"], c["split"]): c["accuracy"] for c in cells if c["key"] == "one-vs-all"}
    groups: dict[tuple[str, str], dict[str, list[dict]]] = {}
    for cell in cells:
        groups.setdefault((cell["data"], cell["key"]), {}).setdefault(cell["search"], []).append(
            cell
        )
    parts = [
        tabulate(name, {key: rows for (data, key), rows in groups.items() if data == name}, flat)
        for name in dict.fromkeys(data for data, _ in groups)
    ]
    lines = [
        "| data | key | shortlist, τ | accuracy | minus one-vs-all | RC |",
        "|---|---|---|---|---|---|",
    ]
    for (data, key), searches in groups.items():
        for search, rows in searches.items():
            if key in SHORTLISTED and search.startswith("shortlist") and search not in SHOWN:
                accuracy = np.mean([row["accuracy"] for row in rows])
                tolerance = search.removeprefix("shortlist, ")
                lines.append(
                    f"| {data} | {key} | {tolerance} | {accuracy:.3f} | {judge_rows(rows, flat)} |"
                )
    return "\n\n".join([*parts, "\n".join(lines), relax(groups)])


def relax(groups: dict[tuple[str, str], dict[str, list[dict]]]) -> str:
    """Return what greedy walks gain and cost when more goes both ways, split by split."""
    lines = ["| data | from | to | accuracy | RC |", "|---|---|---|---|---|"]
    for data in dict.fromkeys(data for data, _ in groups):
        for first, second in RELAXED:
            sides = [groups.get((data, key), {}).get("greedy") for key in (first, second)]
            if any(rows is None for rows in sides):
                continue
            one, two = ({row["split"]: row for row in rows or []} for rows in sides)
            columns = []
            for what in ("accuracy", "rc"):
                apart = np.array([two[k][what] - one[k][what] for k in sorted(one.keys() & two)])
                columns.append(f"{apart.mean():+.3f} ± {interval(apart):.3f}".replace("-", "−"))
            lines.append(f"| {data} | {first} | {second} | {' | '.join(columns)} |")
    return "\n".join(lines)


RELAXED = (
    ("relaxed, rho 1.2", "relaxed, rho 0.8"),
    ("relaxed, rho 1.2", "relaxed, rho 0.7"),
    ("cut, alpha 0.8", "cut, alpha 0.4"),
    ("attention, delta 0.5", "attention, delta 0.7"),
)


def tabulate(name: str, keys: dict[str, dict[str, list[dict]]], flat: dict) -> str:
    """Return the table of one representation: a row for each key, two columns for each search."""
    n_splits = max(len(rows) for searches in keys.values() for rows in searches.values())
    level = np.mean([accuracy for (data, _), accuracy in flat.items() if data == name])
    lines = [
        f"{name}; one-vs-all {level:.3f}:",
        "",
        f"| key (nodes) |{''.join(f' {search} | RC |' for search in SHOWN)} fit, s |",
        f"|---|{'---|---|' * len(SHOWN)}---|",
    ]
    for key, searches in keys.items():
        first = next(iter(searches.values()))
        n_nodes, fit_s = (np.mean([row[what] for row in first]) for what in ("n_nodes", "fit_s"))
        size = f" ({n_nodes:,.0f})" if n_nodes else ""
        fewer = f", {len(first)} splits" if len(first) < n_splits else ""
        columns = [
            judge_rows(searches.get(search, searches.get("", []) if i == 0 else []), flat)
            for i, search in enumerate(SHOWN)
        ]
        lines.append(f"| {key}{size}{fewer} | {' | '.join(columns)} | {fit_s:.1f} |")
    return "\n".join(lines)


def judge_rows(rows: list[dict], flat: dict) -> str:
    """Return accuracy minus that of one-vs-all, and RC, as two columns."""
    if not rows:
        return " | "
    apart = np.array([row["accuracy"] - flat[row["data"], row["split"]] for row in rows])
    difference = f"{apart.mean():+.3f} ± {interval(apart):.3f}".replace("-", "−")
    return f"{difference} | {np.mean([row['rc'] for row in rows]):.3f}"


def interval(apart: np.ndarray) -> float:
    """Return the half of a 95 % interval for the mean."""
    n = len(apart)
    return student.ppf(0.975, n - 1) * apart.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan

"""A thousand kinds, 100,000 rows of 512 columns: keys beside one-vs-all and beside label trees.

The rows are drawn. Kinds are the leaves of a tree: a branch is its parent's mean and a Gaussian
step, 0.75 times as long as the step above; every branching has 2 to 6 branches. A row is the mean
of its kind and noise, more of it in the first columns than in the last, brought to length one. The
noise is 2.1 long, chosen so that one-vs-all with the default C names about three quarters of the
test rows rightly.

RC is the number of functions evaluated for a row over that of one-vs-all, 1,000. Fits have 2
threads, predictions 1; the time of a prediction is the least CPU time of five. Every contestant has
a process of its own: its peak memory includes the rows. The peers are napkinXC and omikuji at their
own defaults, but for the number of trees, run by the Python that ``FIELDGUIDE_PEERS_PYTHON`` names;
they are skipped with a reason without it. Every cell is saved as soon as it is known, and not
computed again.
"""

import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measures import ROOT, peak_mb, run_alone
from benchmarks.peers import label_trees
from benchmarks.peers.label_trees import N_SINGLE, least_seconds
from fieldguide._files import write_json
from fieldguide.errors import FieldguideWarning
from fieldguide.identify import (
    BestFirst,
    Greedy,
    OneVsAllClassifier,
    RelaxedHierarchyClassifier,
    Shortlist,
    relative_complexity,
)
from fieldguide.svm import FastScorer

CELLS = Path("out/bench/thousand_kinds")
SIZES = {"n_classes": 1000, "d": 512, "n_train": 100, "n_test": 20}
TINY = {"n_classes": 12, "d": 16, "n_train": 10, "n_test": 5}
NOISE, SHRINKAGE = 2.1, 0.75
KEYS: dict[str, Any] = {
    "one-vs-all": lambda: OneVsAllClassifier(probability=False, n_jobs=2),
    "relaxed, rho 1.2": lambda: RelaxedHierarchyClassifier(n_jobs=2),
    "relaxed, rho 0.9": lambda: RelaxedHierarchyClassifier(rho=0.9, n_jobs=2),
}
TOLERANCES = (0.5, 1.0, 2.0, 3.0, 4.0)
PEERS_PYTHON = "FIELDGUIDE_PEERS_PYTHON"


def draw(
    n_classes: int, d: int, n_train: int, n_test: int, noise: float = NOISE, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return training rows and their kinds, then test rows and theirs, so many of each kind."""
    rng = np.random.default_rng(seed)
    means = np.empty((n_classes, d), dtype=np.float32)
    branches = [(0, n_classes, np.zeros(d), 1.0)]
    while branches:
        first, end, mean, step = branches.pop()
        if end - first == 1:
            means[first] = mean
            continue
        n_branches = min(int(rng.integers(2, 7)), end - first)
        cuts = np.sort(rng.choice(np.arange(first + 1, end), n_branches - 1, replace=False))
        for a, b in zip([first, *cuts], [*cuts, end], strict=True):
            own = mean + step * rng.normal(size=d) / np.sqrt(d)
            branches.append((a, b, own, SHRINKAGE * step))
    deviation = (1 + np.arange(d) / 32) ** -0.5
    deviation *= noise / np.linalg.norm(deviation)

    def draw_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
        index = rng.permutation(np.repeat(np.arange(n_classes), n))
        X = rng.standard_normal((len(index), d), dtype=np.float32)
        X *= deviation.astype(np.float32)
        X += means[index]
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        return X, index

    return *draw_rows(n_train), *draw_rows(n_test)


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = TINY if tiny else SIZES
    rows, skipped = [], {}
    for name in list(KEYS)[: 2 if tiny else None]:
        code = f"from benchmarks.problems import thousand_kinds as t; t.print_key({name!r}, {tiny})"
        rows += recall(name, lambda code=code: json.loads(run_alone(code)), save=not tiny)
    python = os.environ.get(PEERS_PYTHON)
    for name in label_trees.PEERS:
        reason = refuse(python, label_trees.PEERS[name]["package"])
        if reason is not None:
            skipped[name] = reason
            continue
        rows += recall(name, lambda name=name: measure_peer(python, name, sizes), save=not tiny)
    return {"sizes": sizes, "noise": NOISE, "rows": rows, "left out": skipped}


def recall(name: str, measure: Any, *, save: bool) -> list[dict]:
    """Return the rows of one contestant: as saved, or measured and saved."""
    path = CELLS / f"{name.replace(' ', '_').replace(',', '')}.json"
    if save and path.exists():
        return json.loads(path.read_text())["rows"]
    rows = measure()
    if save:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"rows": rows})
    return rows


def print_key(name: str, tiny: bool) -> None:
    """Fit one of our keys in this process, and print a row for each of its searches."""
    X, y, X_test, y_test = draw(**(TINY if tiny else SIZES))
    warm_up(name)
    key = KEYS[name]()
    load = os.getloadavg()[0]
    started, cpu_started = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FieldguideWarning)
        key.fit(X, y)
    fitted = {
        "key": name,
        "fit_s": time.perf_counter() - started,
        "fit_cpu_s": time.process_time() - cpu_started,
        "peak_mb": peak_mb(),
        "load": [load, os.getloadavg()[0]],
        "n_nodes": 0 if key.graph_ is None else key.graph_.n_nodes,
        "warnings": [str(warning.message) for warning in caught],
    }
    key.n_jobs = 1
    rows = []
    for label, search in searches_of(key).items():
        key.search = search
        rows.append({**fitted, "search": label, **judge(key, X_test, y_test)})
    print(json.dumps(rows))


def warm_up(name: str) -> None:
    """Compile the loops that a key uses, on a few rows."""
    X, y, X_test, _ = draw(**TINY)
    key = KEYS[name]().fit(X, y)
    for search in searches_of(key).values():
        key.search = search
        key.predict(X_test)
        serve(key)(X_test[0])
        key.fast_predict(X_test[:1])


def searches_of(key: Any) -> dict[str, Any]:
    """Return the searches to try; none of a flat key."""
    if key.graph_ is None:
        return {"": None}
    auto = key.tolerance_
    lists = {
        f"shortlist, {label}": Shortlist(value)
        for label, value in [(f"auto ({auto:g})", auto), *((f"{t:g}", t) for t in TOLERANCES)]
    }
    return {"greedy": Greedy(), "best-first": BestFirst(), **lists}


def judge(key: Any, X: np.ndarray, y: np.ndarray) -> dict:
    """Return accuracy, cost and the time of one row, in a batch and alone."""
    predict_one = serve(key)

    def ask_one_by_one() -> None:
        for x in X[:N_SINGLE]:
            predict_one(x)

    batch_s, single_s = least_seconds(lambda: key.fast_predict(X)), least_seconds(ask_one_by_one)
    return {
        "accuracy": float((key.fast_predict(X) == y).mean()),
        "rc": float(relative_complexity(key, X).mean()),
        "batch_us": batch_s / len(X) * 1e6,
        "single_us": single_s / len(X[:N_SINGLE]) * 1e6,
    }


def serve(key: Any) -> Callable[[np.ndarray], Any]:
    """Return what answers one row without checks."""
    if key.graph_ is None:
        return FastScorer(key.functions_.coef, key.functions_.intercept).best
    served = key.search_.serve(key.graph_, key.classes_)
    return (lambda x: key.fast_predict(x[None])) if served is None else served.best


def refuse(python: str | None, package: str) -> str | None:
    """Return why a peer cannot run, or None."""
    if not python:
        return f"{PEERS_PYTHON} does not name a Python that has it"
    found = subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False)
    return None if found.returncode == 0 else f"{PEERS_PYTHON} has no {package}"


def measure_peer(python: str, name: str, sizes: dict) -> list[dict]:
    """Train a peer in a process of its own, and return its rows."""
    with tempfile.TemporaryDirectory() as folder:
        for part, array in zip(label_trees.PARTS, draw(**sizes), strict=True):
            np.save(Path(folder) / part, array)
        load = os.getloadavg()[0]
        done = subprocess.run(
            [python, ROOT / "benchmarks/peers/label_trees.py", name, folder],
            capture_output=True,
            text=True,
            check=True,
        )
        rows = json.loads(done.stdout.splitlines()[-1])
    return [{**row, "load": [load, os.getloadavg()[0]]} for row in rows]


def table(result: dict) -> str:
    rows = result["rows"]
    sizes = result["sizes"]
    lines = [
        f"{sizes['n_classes'] * sizes['n_train']:,} rows of {sizes['d']} columns, "
        f"{sizes['n_classes']:,} kinds; {sizes['n_classes'] * sizes['n_test']:,} test rows",
        "",
        "| key | search | accuracy | RC | nodes | fit s (CPU) | peak MB | µs/row, batch | single |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        rc = row["rc"]
        shown = f"{'≥ ' if row.get('rc is least') else ''}{rc:.3f}" if rc is not None else "–"
        times = [f"{row[k]:.1f}" if row[k] is not None else "–" for k in ("batch_us", "single_us")]
        lines.append(
            f"| {row['key']} | {row['search']} | {row['accuracy']:.3f} | {shown} "
            f"| {row['n_nodes'] or '–'} | {row['fit_s']:.0f} ({row['fit_cpu_s']:.0f}) "
            f"| {row['peak_mb']:.0f} | {times[0]} | {times[1]} |"
        )
    lines += [f"\n{name} left out: {reason}." for name, reason in result["left out"].items()]
    return "\n".join(lines)

"""Wall-clock time of a prediction: the default key with a graph beside one-vs-all, one thread.

Deep features of Caltech-101 and CUB-200 as in ``keys`` (1280 columns), split 0. numpy is the
product with all functions of the classes in single precision, and argmax. Ways alternate within a
repetition, and repetitions are many and short, so that other programs hurt all ways alike;
microseconds per row, the median and the least of repetitions, and the ratio of numpy's time to it.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.problems.keys import DEEP, cut_split, draw_split, load_rows, prepare
from fieldguide.identify import OneVsAllClassifier, RelaxedHierarchyClassifier, relative_complexity
from fieldguide.metrics import mean_class_accuracy

REPEATS, N_SINGLE = 41, 100


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None or tiny:
        return {"skipped": "it needs --data with caltech101 and cub200, at full size"}
    return {"rows": [row for name in DEEP for row in measure(data, name)]}


def measure(data: Path, name: str) -> list[dict]:
    prepare(data, name)
    values, y = load_rows(name)
    train, test = draw_split(name.split()[0], y, 0)
    X, X_test = (np.ascontiguousarray(rows) for rows in cut_split(name, values, train, test))
    flat = OneVsAllClassifier(probability=False).fit(X, y[train])
    keys = {
        search: RelaxedHierarchyClassifier(search=search).fit(X, y[train])
        for search in ("greedy", "shortlist")
    }
    graph = keys["greedy"].graph_
    coef = np.ascontiguousarray(graph.functions.coef[graph.n_nodes :].T)
    intercept = graph.functions.intercept[graph.n_nodes :]
    ways: dict[str, Callable] = {
        "numpy": lambda rows: (rows @ coef + intercept).argmax(axis=1),
        "one-vs-all": flat.fast_predict,
        **{f"relaxed, {search}": key.fast_predict for search, key in keys.items()},
    }
    seconds: dict[tuple[str, str], list[float]] = {}
    for _ in range(REPEATS + 1):
        for way, predict in ways.items():
            started = time.perf_counter()
            predict(X_test)
            batch = (time.perf_counter() - started) / len(X_test)
            started = time.perf_counter()
            for i in range(N_SINGLE):
                predict(X_test[i : i + 1])
            single = (time.perf_counter() - started) / N_SINGLE
            seconds.setdefault((way, "batch"), []).append(batch)
            seconds.setdefault((way, "single"), []).append(single)
    rows = []
    for way, predict in ways.items():
        key = keys.get(way.removeprefix("relaxed, "))
        row = {"data": name, "way": way}
        if way != "numpy":
            row["accuracy"] = float(mean_class_accuracy(y[test], predict(X_test)))
            row["rc"] = 1.0 if key is None else float(relative_complexity(key, X_test).mean())
        for size in ("batch", "single"):
            # The first repetition compiles.
            own, product = (np.array(seconds[one, size][1:]) for one in (way, "numpy"))
            ratio = product / own
            row[size] = {
                "us": float(np.median(own) * 1e6),
                "least_us": float(own.min() * 1e6),
                "ratio": float(np.median(ratio)),
                "least": float(ratio.min()),
                "most": float(ratio.max()),
            }
        rows.append(row)
    return rows


def table(result: dict) -> str:
    lines = [
        "| data | way | accuracy | RC | batch µs (least) | numpy/it | single µs (least) "
        "| numpy/it |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        judged = f"{row['accuracy']:.3f} | {row['rc']:.3f}" if "rc" in row else " | "
        times = " | ".join(
            f"{row[size]['us']:.1f} ({row[size]['least_us']:.1f}) | {row[size]['ratio']:.1f} "
            f"({row[size]['least']:.1f}–{row[size]['most']:.1f})"
            for size in ("batch", "single")
        )
        lines.append(f"| {row['data']} | {row['way']} | {judged} | {times} |")
    return "\n".join(lines)

"""Features in Concert: the tables and figures of the document."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.documents.item import Item, Verdict, judge_parts, word_interval

TITLE = "Features in Concert: discriminative feature selection meets unsupervised clustering"
OURS, SVM, BOOSTED, FOBA = "Concert", "linear SVM, C tuned", "AdaBoost", "FoBa"
PRINTED = "Concert as printed, k = 50"


def read_methods(rows: list[dict], method: str, what: str) -> list[float]:
    """Return one figure of a method in every cell that has it."""
    return [row["methods"][method][what] for row in rows if method in row["methods"]]


def judge_accuracy(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether a concert is more accurate than its rivals on average, in less time."""
    rows = [
        row
        for row in results["concert_accuracy"]["rows"]
        if all(m in row["methods"] for m in (OURS, PRINTED, SVM, BOOSTED, FOBA))
    ]
    parts, told = {}, []
    for name in (PRINTED, OURS):
        own, seconds = (read_methods(rows, name, what) for what in ("accuracy", "fit_s"))
        told.append(f"{name} {word_interval(own)} in {np.median(seconds):.2g} s")
        for rival in (SVM, BOOSTED, FOBA):
            apart = np.subtract(own, read_methods(rows, rival, "accuracy"))
            parts[f"{name} above {rival}"] = apart.mean() > 0
            slower = np.median(read_methods(rows, rival, "fit_s")) >= np.median(seconds)
            parts[f"{name} quicker than {rival}"] = bool(slower)
    for rival in (SVM, BOOSTED, FOBA):
        own, seconds = (read_methods(rows, rival, what) for what in ("accuracy", "fit_s"))
        told.append(f"{rival} {word_interval(own)} in {np.median(seconds):.2g} s")
    return judge_parts(parts, f"mean of {len(rows)} cells: " + "; ".join(told))


def judge_gap(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether training and test accuracy are closer than those of an SVM."""
    rows = [
        row
        for row in results["concert_accuracy"]["rows"]
        if all(m in row["methods"] for m in (PRINTED, OURS, SVM))
    ]
    gaps = {
        name: np.subtract(*(read_methods(rows, name, what) for what in ("train", "accuracy")))
        for name in (PRINTED, OURS, SVM)
    }
    because = "training less test accuracy: " + "; ".join(
        f"{name} {word_interval(gap.tolist())}" for name, gap in gaps.items()
    )
    parts = {f"{name} below SVM": gaps[name].mean() < gaps[SVM].mean() for name in (PRINTED, OURS)}
    return judge_parts(parts, because)


def judge_frames(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether one frame of each shot is nearly as good as ten."""
    clips = [row for row in results["concert_accuracy"]["rows"] if row["data"] == "clips"]
    shots = max((row["n_per_class"] for row in clips), default=0)
    by_frames = {
        n: read_methods(
            [r for r in clips if (r["n_per_class"], r["n_frames"]) == (shots, n)], OURS, "accuracy"
        )
        for n in sorted({row["n_frames"] for row in clips})
    }
    by_frames = {n: own for n, own in by_frames.items() if own}
    because = f"drawn clips, {shots} shots; accuracy by frames of each: " + ", ".join(
        f"{n}: {word_interval(own)}" for n, own in by_frames.items()
    )
    first, last = (by_frames[n] for n in (min(by_frames), max(by_frames)))
    return judge_parts({"one frame within 0.1": np.mean(first) >= np.mean(last) - 0.1}, because)


def judge_pools(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether accuracy doubles from the smallest pool to the largest."""
    rows = results["concert_accuracy"]["rows"]
    parts, told = {}, []
    for data in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == data]
        means = {
            pool: float(
                np.mean(read_methods([r for r in own if r["pool"] == pool], OURS, "accuracy"))
            )
            for pool in dict.fromkeys(row["pool"] for row in own)
        }
        if len(means) > 1:
            first, *_, last = means.values()
            parts[f"{data}: twice as much"] = last >= 2 * first
            parts[f"{data}: more"] = last > first
            told.append(
                f"{data}: " + ", ".join(f"{pool} {mean:.3f}" for pool, mean in means.items())
            )
    return judge_parts(parts, "; ".join(told) + " (document: 0.297 to 0.700)")


def judge_sensitivity(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether weights are nearly equal up to k, and accuracy is flat around its peak."""
    found = results["concert_plots"]
    by_k = {int(k): value for k, value in found["accuracy by k"].items()}
    best = max(by_k, key=by_k.__getitem__)
    near = [by_k[k] for k in by_k if best / 2 <= k <= best * 2]
    weights = np.sort(found["weights"])[::-1]
    k = round(1 / weights[0])
    full = float(np.mean(weights[:k] >= 0.99 / k))
    because = (
        f"best k {best}, accuracy {by_k[best]:.3f}, within a factor of two of it at least "
        f"{min(near):.3f}; {full:.0%} of the first {k} weights are 1/k"
    )
    parts = {
        "stable around the peak": min(near) >= by_k[best] - 0.03,
        "nearly equal weights": full >= 0.8,
    }
    return judge_parts(parts, because)


ITEMS = (
    Item("concert/fig1", "What classes bring a train to mind.", instead="an illustration"),
    Item("concert/fig2", "Sensitivity to k, equal weights, steps and time of the solver.",
         ("concert_plots",), judge_sensitivity, page="benchmarks.md#features-in-concert"),
    Item("concert/fig3", "The six windows of a frame.", instead="an illustration"),
    Item("concert/table1", "Which windows the selected classifiers look at, by category.",
         ("concert_plots",), page="benchmarks.md#features-in-concert"),
    Item("concert/fig4", "More accurate than SVM, AdaBoost and FoBa, in less time.",
         ("concert_accuracy",), judge_accuracy, page="concert_table.md"),
    Item("concert/fig5", "Training and test errors are closer than those of an SVM.",
         ("concert_accuracy",), judge_gap, page="benchmarks.md#features-in-concert"),
    Item("concert/fig6", "One frame of each shot is nearly enough.",
         ("concert_accuracy",), judge_frames, page="concert_table.md"),
    Item("concert/fig7", "The classes that are selected for a category.",
         ("concert_plots",), page="benchmarks.md#features-in-concert"),
    Item("concert/table2", "Accuracy doubles with the size and diversity of the pool.",
         ("concert_accuracy",), judge_pools, page="concert_table.md"),
)  # fmt: skip

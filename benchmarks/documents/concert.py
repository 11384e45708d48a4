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
    """Whether a concert as printed is more accurate than its rivals on average, in less time.

    What decides is the difference of accuracy in the same cell; our own settings are told beside.
    """
    rows = keep_complete(results, (PRINTED, OURS, SVM, BOOSTED, FOBA))
    parts, told = {}, []
    for name in (PRINTED, OURS):
        own, seconds = (read_methods(rows, name, what) for what in ("accuracy", "fit_s"))
        apart_from = []
        for rival in (SVM, BOOSTED, FOBA):
            apart = np.subtract(own, read_methods(rows, rival, "accuracy"))
            apart_from.append(f"{word_interval(apart.tolist())} from {rival}")
            slower = float(np.median(read_methods(rows, rival, "fit_s")))
            if name == PRINTED:
                parts[f"above {rival}"] = bool(apart.mean() > 0)
                parts[f"quicker than {rival}"] = bool(np.median(seconds) < slower)
        told.append(
            f"{name} {word_interval(own)} in {np.median(seconds):.2g} s: " + ", ".join(apart_from)
        )
    for rival in (SVM, BOOSTED, FOBA):
        own, seconds = (read_methods(rows, rival, what) for what in ("accuracy", "fit_s"))
        told.append(f"{rival} {word_interval(own)} in {np.median(seconds):.2g} s")
    because = f"{describe_rows(rows)}; accuracy: {'; '.join(told)}"
    return judge_parts(parts, f"{because} (document: above all three, in curves without numbers)")


def judge_gap(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether training and test accuracy are closer than those of an SVM."""
    rows = keep_complete(results, (PRINTED, OURS, SVM))
    gaps = {
        name: np.subtract(*(read_methods(rows, name, what) for what in ("train", "accuracy")))
        for name in (PRINTED, OURS, SVM)
    }
    less = {name: (gaps[SVM] - gaps[name]).tolist() for name in (PRINTED, OURS)}
    because = f"{describe_rows(rows)}; training less test accuracy: " + "; ".join(
        [f"{name} {word_interval(gap.tolist())}" for name, gap in gaps.items()]
        + [f"{name} closer than the SVM by {word_interval(own)}" for name, own in less.items()]
    )
    parts = {f"{name} closer than the SVM": np.mean(own) > 0 for name, own in less.items()}
    return judge_parts(parts, f"{because} (document: closer, in curves without numbers)")


def judge_frames(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether one frame of each shot is nearly as good as ten: within 0.1, draw by draw."""
    clips = results["concert_shots"]["rows"]
    shots = max((row["n_per_class"] for row in clips), default=0)
    by_frames: dict[int, dict[int, float]] = {}
    for row in clips:
        if row["n_per_class"] == shots and OURS in row["methods"]:
            own = by_frames.setdefault(row["n_frames"], {})
            own[row["draw"]] = row["methods"][OURS]["accuracy"]
    told = ", ".join(f"{n}: {word_interval([*by_frames[n].values()])}" for n in sorted(by_frames))
    few, many = (by_frames[n] for n in (min(by_frames), max(by_frames)))
    lost = [many[draw] - few[draw] for draw in sorted(few.keys() & many)]
    because = (
        f"drawn clips, {shots} shots; accuracy by frames of each shot: {told}; one frame loses "
        f"{word_interval(lost)} (document: generalizes from one frame, a curve without numbers)"
    )
    return judge_parts({"one frame within 0.1": np.mean(lost) <= 0.1}, because)


def judge_pools(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether accuracy doubles from the smallest pool to I + II + III, draw by draw.

    With 10 and 20 images of each class, as the document has 10 and 20 shots, where there are such.
    """
    rows = [row for row in results["concert_accuracy"]["rows"] if OURS in row["methods"]]
    rows = [row for row in rows if row["n_per_class"] in (10, 20)] or rows
    parts, told = {}, []
    for data in dict.fromkeys(row["data"] for row in rows):
        of_pool: dict[str, dict[int, list[float]]] = {}
        for row in rows:
            if row["data"] == data:
                own = of_pool.setdefault(row["pool"], {}).setdefault(row["draw"], [])
                own.append(row["methods"][OURS]["accuracy"])
        means = {
            pool: {draw: float(np.mean(each)) for draw, each in own.items()}
            for pool, own in of_pool.items()
        }
        if len(means) > 1:
            first, *_, last = means.values()
            times = [last[draw] / first[draw] for draw in sorted(first.keys() & last)]
            parts[f"{data}: twice as much"] = np.mean(times) >= 2
            parts[f"{data}: more"] = np.mean(times) > 1
            shown = (f"{pool} {word_interval([*own.values()])}" for pool, own in means.items())
            told.append(
                f"{data}: {', '.join(shown)}; from first to last {word_interval(times, 2)} times"
            )
    return judge_parts(parts, "; ".join(told) + " (document: 0.297, 0.516, 0.700; 2.36 times)")


def keep_complete(
    results: Mapping[str, dict[str, Any]], methods: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Return the cells that have all of these methods."""
    rows = results["concert_accuracy"]["rows"]
    return [row for row in rows if all(m in row["methods"] for m in methods)]


def describe_rows(rows: list[dict[str, Any]]) -> str:
    names = " and ".join(dict.fromkeys(row["data"] for row in rows))
    return f"{len(rows)} cells of {names}"


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
         ("concert_plots",), judge_sensitivity, page="concert.md"),
    Item("concert/fig3", "The six windows of a frame.", instead="an illustration"),
    Item("concert/table1", "Which windows the selected classifiers look at, by category.",
         ("concert_plots",), page="concert.md"),
    Item("concert/fig4", "More accurate than SVM, AdaBoost and FoBa, in less time.",
         ("concert_accuracy",), judge_accuracy, page="concert_cells.md"),
    Item("concert/fig5", "Training and test errors are closer than those of an SVM.",
         ("concert_accuracy",), judge_gap, page="concert.md"),
    Item("concert/fig6", "One frame of each shot is nearly enough.",
         ("concert_shots",), judge_frames, page="concert_cells.md"),
    Item("concert/fig7", "The classes that are selected for a category.",
         ("concert_names", "concert_plots"), page="concert.md"),
    Item("concert/table2", "Accuracy doubles with the size and diversity of the pool.",
         ("concert_accuracy",), judge_pools, page="concert_cells.md"),
)  # fmt: skip

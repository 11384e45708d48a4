"""Feature and region selection (Zhao, Wang and others): tables and figures."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.documents.item import Item, Verdict, judge_parts, word_interval

TITLE = "Feature and region selection for visual learning"
RIVALS = ("linear SVM", "χ² SVM", "MKL-χ²", "FS-linear")


def judge_selectors(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether FS-χ² has the best average precision, with a few of the words."""
    rows = results["additive_table"]["rows"]
    found = {(row["problem"], row["n_words"], row["method"]): row for row in rows}
    parts, told = {}, []
    for problem, n_words in dict.fromkeys((row["problem"], row["n_words"]) for row in rows):
        ours = found[problem, n_words, "FS-χ²"]
        name = f"{problem}, {n_words} words"
        precision = {
            rival: float(np.mean(found[problem, n_words, rival]["AP"]))
            for rival in RIVALS
            if (problem, n_words, rival) in found
        }
        best = max(precision, key=precision.__getitem__)
        parts[f"{name}: best AP"] = np.mean(ours["AP"]) >= precision[best]
        parts[f"{name}: half of the words or fewer"] = np.mean(ours["words"]) <= n_words / 2
        apart = np.subtract(ours["AP"], found[problem, n_words, best]["AP"]).tolist()
        told.append(
            f"{name}: {word_interval(ours['AP'])} with {np.mean(ours['words']):.0f} words, "
            f"best rival {best} {precision[best]:.3f}, apart {word_interval(apart)}"
        )
    document = "document: car 0.988 with 56 of 1000, χ² SVM 0.959; best in five of six rows"
    return judge_parts(parts, f"AP of FS-χ²; {'; '.join(told)} ({document})")


def judge_regions(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether region selection finds regions better than MI-SVM and MILBoost do."""
    cells = [c for c in results["region_selection"]["cells"] if c["cut"] == "slic"]
    ours, linear, plain, boost = (
        {key: mean_of(cells, method, key) for key in ("box 0.4", "box 0.5")}
        for method in (
            *("region selection, chi2, cap 1/3", "region selection, linear, cap 1/3"),
            *("MI-SVM, chi2", "MILBoost"),
        )
    )
    parts = {
        "at .4 above MI-SVM": ours["box 0.4"] > plain["box 0.4"],
        "at .4 above MILBoost": ours["box 0.4"] > boost["box 0.4"],
        "χ² above linear": ours["box 0.4"] > linear["box 0.4"],
        "at .5 as MI-SVM": ours["box 0.5"] >= plain["box 0.5"] - 0.02,
    }
    because = (
        f"AP of boxes at .4 and .5, visual words: {ours['box 0.4']:.3f}, {ours['box 0.5']:.3f}; "
        f"MI-SVM {plain['box 0.4']:.3f}, {plain['box 0.5']:.3f}; "
        f"MILBoost {boost['box 0.4']:.3f}, {boost['box 0.5']:.3f}; "
        f"linear {linear['box 0.4']:.3f}, {linear['box 0.5']:.3f}"
    )
    return judge_parts(parts, because)


def judge_actions(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether region selection finds actions better than MILBoost does."""
    ours, boost = (
        mean_of(results["clip_regions"]["cells"], method, "AP 1/8")
        for method in ("region selection, chi2, cap 1/3", "MILBoost")
    )
    because = f"AP at an overlap of 1/8 on drawn clips: {ours:.3f}, MILBoost {boost:.3f}"
    return judge_parts({"above MILBoost": ours > boost}, because)


def judge_crane(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether region selection is about as good as CRANE."""
    cells = [c for c in results["clip_regions"]["cells"] if c["cut"] == "hierarchical"]
    ours, crane = (
        mean_of(cells, method, "AP .5") for method in ("region selection, chi2, cap 1/3", "CRANE")
    )
    because = f"AP at .5 on drawn clips: {ours:.3f}, CRANE {crane:.3f} (document: 0.289, 0.292)"
    return judge_parts({"within 0.05 of CRANE": ours >= crane - 0.05}, because)


def mean_of(cells: list[dict], method: str, key: str) -> float:
    found = [cell[key] for cell in cells if cell["method"] == method]
    return float(np.mean(found)) if found else float("nan")


ITEMS = (
    Item("additive/fig1", "Selected features and regions of a car and of a wave.",
         instead="an illustration"),
    Item("additive/fig2", "Examples of the four collections.", instead="an illustration"),
    Item("additive/table1", "FS-χ² has the best average precision, with few words.",
         ("additive_table",), judge_selectors, page="additive_selection.md"),
    Item("additive/fig3", "Patches of the words with the largest weights.",
         instead="the plates of a guide show the windows of its patterns (docs/marks.md)"),
    Item("additive/fig4", "Regions that are selected, coloured by their weights.",
         ("region_selection",), page="regions.md"),
    Item("additive/fig5", "Precision and recall of regions beside MI-SVM and MILBoost.",
         ("region_selection",), judge_regions, page="regions.md"),
    Item("additive/fig6", "Boxes of actions in ten frames.", ("clip_regions",),
         page="clips.md"),
    Item("additive/fig7", "Precision and recall of actions beside MILBoost.",
         ("clip_regions",), judge_actions, page="clips.md"),
    Item("additive/table2", "About as good as CRANE on YouTube-Objects.",
         ("clip_regions",), judge_crane, page="clips.md"),
    Item("additive/fig8", "The precision and recall of that table.",
         ("clip_regions",), judge_crane, page="clips.md"),
)  # fmt: skip

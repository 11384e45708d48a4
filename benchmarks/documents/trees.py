"""Attribute Tree Process (Mittelman, Sun, Kuipers and Savarese): tables and figures."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.documents.item import Item, Verdict, judge_parts, word_interval

PAGE = "trees.md#apascal-against-its-taxonomy"
TITLE = "Learning hierarchical linguistic descriptions of visual datasets"
ERRORS = ("AEE, flat", "AEE, alive", "AEE, fine")  # three readings of the hierarchy of Figure 4


def judge_errors(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether the tree's edge error is below that of FBLM, and agglomeration depends on its cut."""
    found = results["attribute_tree_quality"]
    trees, cuts = found["sampled"], found["cuts"]
    parts, told = {}, []
    for name in ERRORS:
        ours, fblm = ([tree[name] for tree in trees[m]] for m in ("ATP", "FBLM"))
        of_cuts = [cut[name] for cut in cuts]
        parts[f"{name}: below FBLM"] = np.mean(ours) < np.mean(fblm)
        parts[f"{name}: steadier than cuts"] = np.ptp(ours) < np.ptp(of_cuts)
        told.append(
            f"{name} {word_interval(ours, 2)}, FBLM {word_interval(fblm, 2)}, "
            f"cuts {min(of_cuts):.2f} to {max(of_cuts):.2f}"
        )
    return judge_parts(parts, "; ".join(told) + " (document: 1.76, FBLM 6.55)")


def judge_priors(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether the edge error hardly depends on the two numbers of the prior."""
    rows = results["attribute_tree_quality"]["hypers"]
    found = results["attribute_tree_quality"]["sampled"]
    means = [float(np.mean([tree[ERRORS[0]] for tree in row["trees"]])) for row in rows]
    fblm = float(np.mean([tree[ERRORS[0]] for tree in found["FBLM"]]))
    told = ", ".join(
        f"({row['a']}, {row['b']}) {mean:.2f} (document {row['paper']})"
        for row, mean in zip(rows, means, strict=True)
    )
    parts = {"all below FBLM": max(means) < fblm, "spread at most 0.4": np.ptp(means) <= 0.4}
    return judge_parts(parts, f"AEE of the flat reading by (a, b): {told}; FBLM {fblm:.2f}")


def judge_compromise(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether locality is better than that of FBLM, and purity hardly worse."""
    trees = results["attribute_tree_quality"]["sampled"]
    ours, fblm = (
        {what: float(np.mean([tree[what] for tree in trees[m]])) for what in ("locality", "purity")}
        for m in ("ATP", "FBLM")
    )
    parts = {
        "better locality": ours["locality"] > fblm["locality"],
        "purity at most 0.05 worse": ours["purity"] >= fblm["purity"] - 0.05,
    }
    because = (
        f"locality {ours['locality']:.2f}, FBLM {fblm['locality']:.2f}; "
        f"purity {ours['purity']:.2f}, FBLM {fblm['purity']:.2f}; of aPascal's kinds, SUN09 is "
        "not here"
    )
    return judge_parts(parts, because)


def judge_detectors(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether trees of detector scores are worse than those of annotations, and better than
    FBLM's."""
    cells = results["attribute_tree_detectors"]["cells"]
    errors = {
        (cell["rows"], cell["from"], cell["method"]): [tree["AEE"] for tree in cell["trees"]]
        for cell in cells
        if all("AEE" in tree for tree in cell["trees"])
    }
    parts, told = {}, []
    for (rows, source, method), own in errors.items():
        fblm = errors.get((rows, source, "FBLM"))
        if method == "ATP" and fblm:
            parts[f"{rows}, {source}: below FBLM"] = np.mean(own) < np.mean(fblm)
            told.append(f"{rows}, {source}: {word_interval(own, 2)}, FBLM {word_interval(fblm, 2)}")
    return judge_parts(parts, "AEE; " + "; ".join(told))


ITEMS = (
    Item("atp/fig1", "An attribute hierarchy beside a category hierarchy.",
         instead="an illustration"),
    Item("atp/fig2", "The two graphical models.", instead="an illustration"),
    Item("atp/fig3a", "The attribute hierarchy of PASCAL, from annotations.",
         ("attribute_tree_text",), page="trees.md#trees-to-read"),
    Item("atp/fig3b", "The same from the scores of attribute detectors.",
         ("attribute_tree_detectors",), page=PAGE),
    Item("atp/fig4", "The category hierarchy that trees are compared with.",
         instead="given, not a result; its three readings are in fieldguide.datasets"),
    Item("atp/fig5a", "The edge error beside FBLM's, and beside cuts of agglomeration.",
         ("attribute_tree_quality",), judge_errors, page=PAGE),
    Item("atp/fig5b", "The same from the scores of detectors.",
         ("attribute_tree_detectors",), judge_detectors, page=PAGE),
    Item("atp/table1", "The edge error hardly depends on the prior's numbers.",
         ("attribute_tree_quality",), judge_priors, page=PAGE),
    Item("atp/fig6", "Locality and purity beside FBLM's, on SUN09.",
         ("attribute_tree_quality",), judge_compromise, page=PAGE),
)  # fmt: skip

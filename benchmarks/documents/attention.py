"""Attention Tree (Panda and Roy): the figures of the document."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.documents.item import Item, Verdict, judge_parts, word_interval

TITLE = "Attention Tree: learning hierarchies of visual features"
LOSS = 0.03  # of accuracy: keys that lose no more than this are compared by their cost
MOST_PHOTOGRAPHED = 200  # kinds; the rows of more are drawn
PRINTED = "attention as printed"
RIVALS = ("relaxed", "cut", "confusion")


class Cheapest(NamedTuple):
    """The cheapest key of a family at an allowed loss; infinite where there is none."""

    cost: float
    of_splits: tuple[float, ...] = ()


def judge_tradeoff(results: Mapping[str, dict[str, Any]], data: tuple[str, ...]) -> Verdict:
    """Whether attention trees are the cheapest of the trees at nearly the accuracy of one-vs-all.

    The document's trees are walked greedily; ours are also searched by a shortlist, which is told.
    """
    parts: dict[str, bool] = {}
    told = []
    for name in data:
        cells = [cell for cell in results["keys"]["cells"] if cell["data"] == name]
        if not any(cell["key"].startswith(PRINTED) for cell in cells):
            continue  # a run of some collections only
        n_splits = len({cell["split"] for cell in cells})
        told.append(f"{name}, {n_splits} splits")
        for way, family, searches in (
            ("as printed", PRINTED, ("greedy", "")),
            ("with a shortlist", "attention", None),
        ):
            found = find_cheapest(cells, (family, *RIVALS), searches)
            own = found[family].cost
            least = min(each.cost for each in found.values())
            parts[f"{name}, {way}"] = bool(np.isfinite(own) and own <= least)
            told.append(f"{way}: {word_costs(found)}")
        told.append(f"as printed, the best accuracy is {word_best(cells)} from one-vs-all")
    because = f"relative complexity at a loss of {LOSS:.0%} or less; " + "; ".join(told)
    document = "document: no loss at 0.27, 0.025 at 0.18, where rivals lose 0.032 to 0.10"
    return judge_parts(parts, f"{because} ({document})")


def find_cheapest(
    cells: list[dict], families: tuple[str, ...], searches: tuple[str, ...] | None
) -> dict[str, Cheapest]:
    """Return the cheapest key of each family among those that lose little."""
    of_flat = [c["accuracy"] for c in cells if c["key"] == "one-vs-all"]
    flat = np.mean(of_flat)
    groups: dict[tuple[str, str], list[dict]] = {}
    for cell in cells:
        if searches is None or cell["search"] in searches:
            groups.setdefault((cell["key"], cell["search"]), []).append(cell)
    costs = dict.fromkeys(families, Cheapest(np.inf))
    for (key, _), own in groups.items():
        family = key.split(",")[0]
        if len(own) < len(of_flat):
            continue  # a run that was stopped: a mean over fewer splits would not compare
        if family in costs and np.mean([c["accuracy"] for c in own]) >= flat - LOSS:
            spent = tuple(float(c["rc"]) for c in own)
            if np.mean(spent) < costs[family].cost:
                costs[family] = Cheapest(float(np.mean(spent)), spent)
    return costs


def word_costs(costs: Mapping[str, Cheapest]) -> str:
    return ", ".join(
        f"{family} {word_interval(found.of_splits)}" if found.of_splits else f"{family} never"
        for family, found in costs.items()
    )


def word_best(cells: list[dict]) -> str:
    """Say how far below one-vs-all the most accurate tree as printed is, split by split."""
    flat = {c["split"]: c["accuracy"] for c in cells if c["key"] == "one-vs-all"}
    apart: dict[str, list[float]] = {}
    for cell in cells:
        if cell["key"].startswith(PRINTED):
            apart.setdefault(cell["key"], []).append(cell["accuracy"] - flat[cell["split"]])
    if not apart:
        return "none"
    best = max(apart, key=lambda key: float(np.mean(apart[key])))
    return f"{word_interval(apart[best])} ({best.split(', ')[1]})"


def judge_growth(results: Mapping[str, dict[str, Any]]) -> Verdict:
    """Whether the cost of an attention tree grows more slowly than the number of kinds does."""
    powers = fit_powers([c for c in results["growth"]["cells"] if c["kinds"] <= MOST_PHOTOGRAPHED])
    ours = next(key for key in powers if key.startswith("attention"))
    rivals = [key for key in powers if key.startswith(("cut", "relaxed, rho"))]
    told = ", ".join(f"{word_interval(power, 2)} ({key})" for key, power in powers.items())
    mean = {key: float(np.mean(power)) for key, power in powers.items()}
    parts = {
        "sublinear": mean[ours] < 1,
        **{f"slower than {key}": mean[ours] <= mean[key] for key in rivals},
    }
    return judge_parts(parts, f"cost grows as the number of kinds, 25 to 200, to the power {told}")


def fit_powers(cells: list[dict]) -> dict[str, list[float]]:
    """Return how fast the cost of each key grows, once for each split: the slope of logarithms."""
    powers: dict[str, list[float]] = {}
    for key, split in dict.fromkeys((cell["key"], cell["split"]) for cell in cells):
        own = [c for c in cells if (c["key"], c["split"]) == (key, split)]
        kinds, spent = (np.log([c[what] for c in own]) for what in ("kinds", "evaluations"))
        powers.setdefault(key, []).append(float(np.polyfit(kinds, spent, 1)[0]))
    return powers


ITEMS = (
    Item("attention/fig1", "A drawing of attention in the brain, and a toy tree.",
         instead="an illustration"),
    Item("attention/fig2", "The tree of 3,000 drawn points, whose features are lines.",
         ("attention_pictures",), page="keys.md#keys-with-a-graph"),
    Item("attention/fig3", "A relaxed and a constrained hierarchy, as a sample.",
         ("attention_pictures",), page="keys.md#the-attention-tree"),
    Item("attention/fig4", "Caltech-256: faster at the same accuracy than all other trees.",
         ("keys",), partial(judge_tradeoff, data=("caltech101 deep", "cub200 deep")),
         page="keys.md#keys-with-a-graph"),
    Item("attention/fig5", "SUN: the same on HOG, linear (a) and with a kernel (b).",
         ("keys", "attention_features"), page="keys.md#keys-with-a-graph"),
    Item("attention/fig6", "The cost grows more slowly than the number of classes.",
         ("growth",), judge_growth, page="keys.md#keys-with-a-graph"),
    Item("attention/fig7", "The tree of some photographs: alike ones part late.",
         ("attention_specimens",), page="keys.md#the-attention-tree"),
    Item("attention/fig8", "The first three levels, with examples of each side.",
         ("attention_specimens",), page="keys.md#the-attention-tree"),
)  # fmt: skip

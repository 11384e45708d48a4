"""What does a key cost whose splits prefer to be told apart by a word?

Half of the specimens of each kind are known, half are new, at most 24 in all, five splits. A
relaxed hierarchy with the ρ of ``auto``, without words, and with how often each kind shows each
word among the known specimens (``--key-words``). Words are those that a build finds by itself, and
of the drawn specimens also the owner's attributes.

Accuracy on the new specimens, share of one-vs-all's functions that are evaluated, and the share of
couplets that a word tells apart: at least 65 % of the new specimens of one side show it and at most
25 % of the other's, each kind weighed equally; the word is the one that tells the sides apart best
among the known specimens.

    python benchmarks/run.py --only key_words --data DIR
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems.guide_tree import look_at_collections
from benchmarks.problems.region_selection import interval
from benchmarks.seen import Seen
from fieldguide.datasets import load_specimens
from fieldguide.features import WordModel
from fieldguide.features.vocabulary import YES
from fieldguide.guide.key_choice import KEY_C
from fieldguide.guide.nearest import find_near
from fieldguide.guide.tree_evidence import MEASURED
from fieldguide.identify import ABSENT, DecisionGraph, RelaxedHierarchyClassifier

N_SPLITS, N_PER_KIND = 5, 24
RHO = 1.5  # of auto
SAID, DENIED = 0.65, 0.25
MANY = 4  # kinds of a couplet: fewer are nearly always told apart
WITHOUT, WITH = "without", "with"
FIGURES = ("accuracy", "share", "worded", "worded_large", "nodes")


def run(data: Path | None, *, tiny: bool) -> dict:
    rows: list[dict[str, Any]] = []
    for name, seen in look_at_collections(data, tiny=tiny).items():
        chosen = take_some(np.array(seen.kinds))
        shown = {"found": find_words(seen)}
        if name == "specimens":
            shown["the owner's"] = load_specimens(2 if tiny else N_PER_KIND).attributes > 0
        for source, shows in shown.items():
            for split in range(1 if tiny else N_SPLITS):
                judged = judge_split(
                    seen.X[chosen], np.array(seen.kinds)[chosen], shows[chosen], split
                )
                rows += [{"data": name, "words": source, "split": split, **row} for row in judged]
    return {"rows": rows}


def take_some(kinds: np.ndarray) -> np.ndarray:
    """Return the first specimens of each kind."""
    return np.sort(
        np.concatenate([np.flatnonzero(kinds == name)[:N_PER_KIND] for name in np.unique(kinds)])
    )


def find_words(seen: Seen) -> np.ndarray:
    """Return what specimens show of the words that a build finds, without any of the owner's."""
    near = find_near(seen.X, WordModel.N_NEAR)
    matrix = WordModel().fit_transform(seen.probabilities, seen=seen.seen, near=near)
    return matrix.scores[:, [source in MEASURED for source in matrix.sources]] >= YES


def judge_split(
    X: np.ndarray, kinds: np.ndarray, shows: np.ndarray, split: int
) -> list[dict[str, Any]]:
    """Return the figures without and with words."""
    names = np.unique(kinds)
    rng = np.random.default_rng(split)
    members = [rng.permutation(np.flatnonzero(kinds == name)) for name in names]
    known = np.sort(np.concatenate([own[: len(own) // 2] for own in members]))
    new = np.setdiff1d(np.arange(len(kinds)), known)
    shares, shares_new = (share(shows[part], kinds[part], names) for part in (known, new))
    rows = []
    for method, words in ((WITHOUT, None), (WITH, shares)):
        key = RelaxedHierarchyClassifier(C=KEY_C, rho=RHO, words=words).fit(X[known], kinds[known])
        row = {
            "method": method,
            "accuracy": float(key.score(X[new], kinds[new])),
            "share": float(key.evaluations(X[new]).mean() / len(names)),
        }
        rows.append(row | judge_couplets(key.graph_, shares, shares_new))
    return rows


def share(shows: np.ndarray, kinds: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return how often each kind shows each word."""
    return np.stack([shows[kinds == name].mean(axis=0) for name in names])


def judge_couplets(graph: DecisionGraph, known: np.ndarray, new: np.ndarray) -> dict[str, float]:
    """Return the share of couplets that the word chosen on known specimens tells apart on new."""
    is_told = np.array([tells_apart(sides, known, new) for sides in graph.colors])
    is_large = (graph.colors != ABSENT).sum(axis=1) >= MANY
    return {
        "nodes": graph.n_nodes,
        "worded": float(is_told.mean()),
        "worded_large": float(is_told[is_large].mean()),
    }


def tells_apart(sides: np.ndarray, known: np.ndarray, new: np.ndarray) -> bool:
    difference = known[sides == 1].mean(axis=0) - known[sides == -1].mean(axis=0)
    word = int(np.abs(difference).argmax())
    low, high = sorted(new[sides == side, word].mean() for side in (-1, 1))
    return bool(high >= SAID and low <= DENIED)


def table(result: dict) -> str:
    lines = [
        "Without words, with them, and how far they are apart.",
        "",
        "| data | words | accuracy | evaluations | couplets that a word tells apart "
        "| of 4 and more kinds | nodes |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = result["rows"]
    for data, words in dict.fromkeys((row["data"], row["words"]) for row in rows):
        some = [row for row in rows if (row["data"], row["words"]) == (data, words)]
        cells = []
        for figure in FIGURES:
            without, with_words = (
                np.array([row[figure] for row in some if row["method"] == method])
                for method in (WITHOUT, WITH)
            )
            apart = interval((with_words - without).tolist())
            cells.append(f"{without.mean():.3f}, {with_words.mean():.3f} ({apart})")
        lines.append(f"| {data} | {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)

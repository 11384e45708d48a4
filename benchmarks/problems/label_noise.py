"""Are wrong labels found, and how many right ones are listed with them?

5 % of the labels, drawn at random, become another kind, drawn at random. The key has not seen a
specimen when it judges it: probabilities are those of one-vs-all on five folds. Beside what a guide
does with them and the nearest specimens: cleanlab, with the same labels and probabilities. The last
row is a guide as it is, with what it knows when it has chosen its key: one-vs-all's held-out
answers.

- at N: precision of the first N, where N labels were swapped (and so recall too);
- list: precision, recall and length (in N) of what is listed without knowing N.

Weights were chosen on seeds 100 to 102 of the same pictures, with other labels swapped; the seeds
here are 0 to 2. Each collection and seed is kept in ``out/bench/label_noise``.

    python benchmarks/run.py --only label_noise --data DIR
"""

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.cells import keep_cell
from benchmarks.peers import cleanlab_labels
from benchmarks.problems.guide_tree import look_at_collections
from benchmarks.seen import VERSION, Seen
from fieldguide.chapters.check.labels import N_NEAR, HeldOutAnswers, doubt_labels
from fieldguide.features import find_close, reduce_rows
from fieldguide.guide.key_choice import KEY_C
from fieldguide.identify import OneVsAllClassifier, choose_key

N_SEEDS, N_FOLDS, SHARE = 3, 5, 0.05
CELLS = Path("out/bench/label_noise")


def run(data: Path | None, *, tiny: bool) -> dict:
    rows: list[dict[str, Any]] = []
    reason = cleanlab_labels.find_reason()
    for name, seen in look_at_collections(data, tiny=tiny).items():
        for seed in range(1 if tiny else N_SEEDS):
            measure = partial(find_swapped, seen, seed, has_cleanlab=reason is None)
            others = "with" if reason is None else "without"
            cell = CELLS / f"{name}-{seed}-{others}-{VERSION}.json"
            found = measure() if tiny else keep_cell(cell, measure)
            rows += [{"data": name, "seed": seed, **row} for row in found]
    return {"rows": rows, "cleanlab": reason or "ran"}


def find_swapped(seen: Seen, seed: int, *, has_cleanlab: bool) -> list[dict[str, Any]]:
    """Return the figures of each way, for one collection with labels swapped."""
    near = find_close(reduce_rows(seen.X), N_NEAR)
    names, true = np.unique(seen.kinds, return_inverse=True)
    label = swap_labels(true, seed)
    probability = hold_out(seen.X, label)
    found = {"Fieldguide": list_doubts(label, read_rows(probability, label), near)}
    if has_cleanlab:
        found |= ask_cleanlab(label, probability)
    judges = choose_key(seen.X, names[label], C=KEY_C).flat
    assert judges is not None
    assert judges.own_probability is not None
    said = HeldOutAnswers(judges.answer, judges.confidence, judges.own_probability)
    found["a guide as it is"] = list_doubts(label, said, near)
    return [{"way": way, **judge(label != true, *lists)} for way, lists in found.items()]


def swap_labels(true: np.ndarray, seed: int) -> np.ndarray:
    """Return labels of which a share is another class, drawn at random."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(true))[: max(1, round(SHARE * len(true)))]
    label = true.copy()
    n_kinds = true.max() + 1
    label[rows] = (true[rows] + rng.integers(1, n_kinds, len(rows))) % n_kinds
    return label


def hold_out(X: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Return the probabilities of each row when its fold is left out, (n, n_kinds)."""
    n_kinds = label.max() + 1
    probability = np.zeros((len(label), n_kinds))
    n_folds = min(N_FOLDS, int(np.bincount(label).max()))
    with warnings.catch_warnings():
        # A label that was swapped may be the only one of its class: it is in one fold.
        warnings.filterwarnings("ignore", "The least populated class in y has only")
        folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, label))
    for known, new in folds:
        key = OneVsAllClassifier(C=KEY_C).fit(X[known], label[known])
        probability[np.ix_(new, key.classes_)] = key.predict_proba(X[new])
    return probability / probability.sum(axis=1, keepdims=True)


def read_rows(probability: np.ndarray, label: np.ndarray) -> HeldOutAnswers:
    """Return what a guide keeps of probabilities."""
    own = probability[np.arange(len(label)), label]
    return HeldOutAnswers(probability.argmax(axis=1), probability.max(axis=1), own)


def list_doubts(
    label: np.ndarray, said: HeldOutAnswers, near: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return all rows, the most doubtful first, and those that are listed."""
    doubts = doubt_labels(label, said, near, int(label.max()) + 1)
    return np.argsort(-doubts.doubt, kind="stable"), np.flatnonzero(doubts.is_listed)


def ask_cleanlab(
    label: np.ndarray, probability: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the rows by each of its scores, and its list."""
    listed = cleanlab_labels.list_labels(label, probability)
    return {
        f"cleanlab, {method.replace('_', ' ')}": (
            cleanlab_labels.rank_labels(label, probability, method),
            listed,
        )
        for method in cleanlab_labels.RANKINGS
    }


def judge(is_wrong: np.ndarray, order: np.ndarray, listed: np.ndarray) -> dict[str, float]:
    """Return precision at the number of wrong labels, and of the list precision, recall, length."""
    n = int(is_wrong.sum())
    hits = float(is_wrong[listed].sum())
    return {
        "at_n": float(is_wrong[order[:n]].mean()),
        "precision": hits / max(len(listed), 1),
        "recall": hits / n,
        "length": len(listed) / n,
    }


def table(result: dict) -> str:
    lines = [
        "| data | way | precision at N | list: precision | list: recall | list: length, N |",
        "|---|---|---|---|---|---|",
    ]
    for name, way in dict.fromkeys((row["data"], row["way"]) for row in result["rows"]):
        of_way = [row for row in result["rows"] if (row["data"], row["way"]) == (name, way)]
        figures = {
            figure: np.array([row[figure] for row in of_way])
            for figure in ("at_n", "precision", "recall", "length")
        }
        spread = figures["at_n"].std(ddof=1) if len(of_way) > 1 else 0.0
        cells = " | ".join(f"{figures[f].mean():.3f}" for f in ("precision", "recall", "length"))
        lines.append(f"| {name} | {way} | {figures['at_n'].mean():.3f} ± {spread:.3f} | {cells} |")
    if result["cleanlab"] != "ran":
        lines.append(f"\ncleanlab: skipped, {result['cleanlab']}.")
    return "\n".join(lines)

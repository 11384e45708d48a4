"""What does the key of a guide cost, and do its probabilities mean what they say?

A third of the specimens are new pictures, the rest is the guide; ten splits. One-vs-all, and the
key that ``auto`` chooses by held-out specimens of the guide alone: accuracy on the new pictures,
the share of one-vs-all's functions that are evaluated, how far the two are apart (and the standard
error of one-vs-all's mean over the splits), the expected calibration error (15 bins), how often a
new picture is among the kinds that are named for nine times in ten and how many those are, and
the time of both trainings (CPU seconds, compilation apart).

    python benchmarks/run.py --only key_choice --data DIR
"""

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.problems.guide_tree import look_at_collections
from fieldguide.errors import FieldguideWarning
from fieldguide.guide.key_choice import KEY_C
from fieldguide.identify import OneVsAllClassifier, choose_key
from fieldguide.metrics import measure_reliability

N_SPLITS, N_BINS = 10, 15
CONFIDENCE = 0.9


def run(data: Path | None, *, tiny: bool) -> dict:
    rows: list[dict[str, Any]] = []
    for name, seen in look_at_collections(data, tiny=tiny).items():
        X, kinds = seen.X, np.array(seen.kinds)
        choose_key(X[::4], kinds[::4], C=KEY_C)  # compiles
        splits = [judge_split(X, kinds, seed) for seed in range(1 if tiny else N_SPLITS)]
        rows += [{"data": name, "split": seed, **split} for seed, split in enumerate(splits)]
    return {"rows": rows}


def judge_split(X: np.ndarray, kinds: np.ndarray, seed: int) -> dict[str, Any]:
    """Return the figures of one-vs-all and of the key that is chosen, on one split."""
    order = np.random.default_rng(seed).permutation(len(kinds))
    new, known = np.split(order, [len(order) // 3])
    known = np.sort(known)
    started = time.process_time()
    flat = OneVsAllClassifier(C=KEY_C).fit(X[known], kinds[known])
    between = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldguideWarning)
        key = choose_key(X[known], kinds[known], C=KEY_C).key
    ended = time.process_time()
    return {
        "key": type(key).__name__,
        "share": float(key.evaluations(X[new]).mean() / flat.evaluations(X[:1])[0]),
        "flat seconds": between - started,
        "seconds": ended - between,
        **{f"flat {name}": value for name, value in judge(flat, X[new], kinds[new]).items()},
        **judge(key, X[new], kinds[new]),
    }


def judge(key: Any, X: np.ndarray, kinds: np.ndarray) -> dict[str, float]:
    """Return accuracy, calibration error, and how often and how large a group holds."""
    probability = key.predict_proba(X)
    is_known = np.isin(kinds, key.classes_)
    own = np.searchsorted(key.classes_, np.where(is_known, kinds, key.classes_[0]))
    is_right = (probability.argmax(axis=1) == own) & is_known
    members = key.predict_likeliest(X, CONFIDENCE)
    return {
        "accuracy": float(is_right.mean()),
        "calibration": measure_reliability(probability.max(axis=1), is_right, N_BINS).error,
        "held": float((members[np.arange(len(own)), own] & is_known).mean()),
        "group": float(members.sum(axis=1).mean()),
    }


def table(result: dict) -> str:
    lines = [
        "| data | key | one-vs-all | key's | apart | error of the mean | share of evaluations "
        "| calibration error, flat / key | nine in ten: held, kinds | time, × one-vs-all |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(row["data"] for row in result["rows"]):
        splits = [row for row in result["rows"] if row["data"] == name]

        def mean(of: str, splits: list[dict[str, Any]] = splits) -> float:
            return float(np.mean([split[of] for split in splits]))

        flat = np.array([split["flat accuracy"] for split in splits])
        error = flat.std(ddof=1) / np.sqrt(len(flat)) if len(flat) > 1 else 0.0
        keys = ", ".join(sorted({split["key"].removesuffix("Classifier") for split in splits}))
        lines.append(
            f"| {name} | {keys} | {flat.mean():.2%} | {mean('accuracy'):.2%} "
            f"| {mean('accuracy') - flat.mean():+.2%} | {error:.2%} | {mean('share'):.1%} "
            f"| {mean('flat calibration'):.3f} / {mean('calibration'):.3f} "
            f"| {mean('held'):.1%}, {mean('group'):.1f} "
            f"| {mean('seconds') / mean('flat seconds'):.2f} |"
        )
    return "\n".join(lines)

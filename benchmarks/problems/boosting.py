"""AdaBoost with decision stumps for the same number of rounds as scikit-learn's, one thread.

Dense rows are normal variables of which a tenth speak for the label, with noise. Sparse rows
resemble bags of words: square roots of shares, most of them 0. The time of Fieldguide is that of
cutting the features into levels and of all rounds; the time on levels that are there already, as at
the nodes of a tree, is given beside it. The peer splits by Gini's index on all values, Fieldguide
by the weighted error on 64 levels: training errors are given for both.
"""

import os
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measures import alternate, spread
from benchmarks.peers import sklearn_adaboost
from fieldguide.identify.binning import bin_features
from fieldguide.identify.boosting import boost, gather


def draw_dense(n: int, d: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    d_used = max(1, d // 10)
    score = X[:, :d_used] @ rng.normal(size=d_used) / np.sqrt(d_used)
    return X, np.where(score + 0.5 * rng.normal(size=n) > 0, 1, -1)


def draw_sparse(n: int, d: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    common = rng.gamma(0.5, size=d) + 1e-3
    words = np.stack([common * rng.gamma(2, size=d) for _ in range(2)])
    words /= words.sum(axis=1, keepdims=True)
    y = rng.integers(0, 2, n)
    counts = np.stack([rng.multinomial(300, 0.7 * words[k] + 0.3 * words[1 - k]) for k in y])
    return np.sqrt(counts / 300).astype(np.float32), 2 * y - 1


DRAW = {"dense": draw_dense, "sparse": draw_sparse}
N_ROUNDS = {"dense": 10, "sparse": 50}  # the peer needs a minute for 50 rounds on dense rows


def run(data: Path | None, *, tiny: bool) -> dict:
    n, d, n_repeats = (60, 40, 1) if tiny else (5000, 3000, 5)
    with threadpool_limits(1):
        rows = [_compare(kind, n, d, 3 if tiny else N_ROUNDS[kind], n_repeats) for kind in DRAW]
    return {"rows": rows, "load": os.getloadavg()}


def _compare(kind: str, n: int, d: int, n_rounds: int, n_repeats: int) -> dict:
    X, y = DRAW[kind](n, d)
    started = time.perf_counter()
    ready = bin_features(X)
    boost(gather(ready, np.arange(20)), y[:20], n_rounds=1)
    warm_up = time.perf_counter() - started
    every = np.arange(n)
    seconds = alternate(
        {
            "fieldguide": lambda: boost(gather(bin_features(X), every), y, n_rounds=n_rounds),
            "on levels": lambda: boost(gather(ready, every), y, n_rounds=n_rounds),
            "sklearn": lambda: sklearn_adaboost.fit(X, y, n_rounds),
        },
        n_repeats,
    )
    found = boost(gather(ready, every), y, n_rounds=n_rounds)
    peer = sklearn_adaboost.fit(X, y, n_rounds)
    theirs = seconds["sklearn"]
    return {
        "kind": kind,
        "n": n,
        "d": d,
        "non-zero": float(np.mean(X != 0)),
        "rounds": n_rounds,
        "stumps": {"fieldguide": len(found.stumps.alpha), "sklearn": len(peer.estimators_)},
        "training error": {
            "fieldguide": float(np.mean(np.sign(found.score) != y)),
            "sklearn": float(1 - peer.score(X, y)),
        },
        "warm-up": warm_up,
        **{name: spread(values) for name, values in seconds.items()},
        **{
            f"ratio, {name}": spread([b / a for a, b in zip(seconds[name], theirs, strict=True)])
            for name in ("fieldguide", "on levels")
        },
    }


def table(result: dict) -> str:
    lines = [
        "| rows | rounds | fieldguide s | on levels s | AdaBoostClassifier s | ÷ fieldguide "
        "| ÷ on levels | training error, both |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        error = row["training error"]
        lines.append(
            f"| {row['n']} × {row['d']}, {row['kind']} | {row['rounds']} "
            f"| {row['fieldguide']['median']:.2f} | {row['on levels']['median']:.3f} "
            f"| {row['sklearn']['median']:.1f} | {_shown(row['ratio, fieldguide'])} "
            f"| {_shown(row['ratio, on levels'])} "
            f"| {error['fieldguide']:.3f}, {error['sklearn']:.3f} |"
        )
    return "\n".join(lines)


def _shown(ratio: dict) -> str:
    return f"{ratio['median']:.0f} ({ratio['least']:.0f}–{ratio['largest']:.0f})"

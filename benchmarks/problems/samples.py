"""What is lost where a guide looks for the nearest specimens in cells and not among all.

Words are supported by what the nearest specimens show, labels are doubted by them, and copies are
among them (``guide/neighbours.py``): up to 8,192 specimens the nearest are those of all, of more
those of the cells nearby. Drawn rows of length one: kinds around centres, groups of near-copies
inside a kind. For 2,000 specimens of collections of rising size: how like the nearest are, how many
of them are of the same kind, and how well they tell the kind by a vote; from all, from cells, and
from a sample of 4,096, which is as quick; and how many of the nearest and of the near-copies among
them are found.

    python benchmarks/run.py --only samples
"""

import time
from pathlib import Path

import numpy as np

from fieldguide.features import WordModel, find_close
from fieldguide.guide.nearest import Nearest

SIZES = (10_000, 30_000, 100_000)
N_COLUMNS, N_KINDS, N_ASKED, N_SAMPLED, SEED = 128, 200, 2000, 4096, 0
# Standard deviations of a kind around its neighbours in general, of a group in its kind, and of a
# specimen in its group, all directions together; a group is of 10 specimens.
OF_KIND, OF_GROUP, OF_SPECIMEN, IN_GROUP = 0.6, 1.0, 0.5, 10


def run(data: Path | None, *, tiny: bool) -> dict:
    return {"rows": [measure(n) for n in ((600,) if tiny else SIZES)]}


def measure(n: int) -> dict[str, float]:
    """Compare the nearest of all with those of the sample."""
    X, kinds = draw(n)
    asked = np.sort(np.random.default_rng(SEED + 1).permutation(n)[:N_ASKED])
    k = WordModel.N_NEAR
    started = time.perf_counter()
    close = find_close(X, k)[asked]
    between = time.perf_counter()
    exact = Nearest(X).find(X[asked], k, own=asked)
    seconds = between - started, (time.perf_counter() - between) * n / len(asked)
    pool = np.sort(np.random.default_rng(SEED).permutation(n)[:N_SAMPLED])
    sample = Nearest(X).find(X[asked], k, own=asked, among=pool)
    found = {"all": exact, "cells": close, "sample": sample}
    row = {"n": n, "seconds of all, all": seconds[1], "seconds of all, cells": seconds[0]}
    row["found of the nearest"] = share_found(close, exact)
    row["found of near-copies"] = share_found(close, exact[:, : IN_GROUP - 1])
    for name, near in found.items():
        row[f"likeness, {name}"] = float(np.einsum("id,ijd->ij", X[asked], X[near]).mean())
        row[f"of the same kind, {name}"] = float((kinds[near] == kinds[asked, None]).mean())
        row[f"kind by vote, {name}"] = float((vote(kinds[near]) == kinds[asked]).mean())
    return row


def share_found(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return how many of the wanted are among the found, row by row."""
    return float((wanted[:, :, None] == found[:, None, :]).any(axis=2).mean())


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of length one, and the kind of each."""
    rng = np.random.default_rng(SEED)
    groups = rng.integers(0, N_KINDS, -(-n // IN_GROUP))
    of_group = np.arange(n) // IN_GROUP
    kinds = groups[of_group]

    def spread(count: int, deviation: float) -> np.ndarray:
        drawn = rng.standard_normal((count, N_COLUMNS), dtype=np.float32)
        return drawn * np.float32(deviation / np.sqrt(N_COLUMNS))

    X = spread(N_KINDS, OF_KIND)[kinds] + spread(len(groups), OF_GROUP)[of_group]
    X += spread(n, OF_SPECIMEN)
    return X / np.linalg.norm(X, axis=1, keepdims=True), kinds


def vote(kinds: np.ndarray) -> np.ndarray:
    """Return the commonest kind of each row, the nearest first where two are."""
    same = (kinds[:, :, None] == kinds[:, None, :]).sum(axis=2)
    return kinds[np.arange(len(kinds)), same.argmax(axis=1)]


def table(result: dict) -> str:
    names = list(result["rows"][0])
    lines = [f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for row in result["rows"]:
        shown = [f"{row['n']:,}", *(f"{row[name]:.3f}" for name in names[1:])]
        lines.append(f"| {' | '.join(shown)} |")
    return "\n".join(lines)

"""What is lost where a guide looks for the nearest specimens in a sample and not among all.

Words are supported by what the nearest specimens show (``guide/words.py``): up to 4,096 specimens
the nearest are those of all, of more those of a sample. Drawn rows of length one: kinds around
centres, groups of near-copies inside a kind, so that the nearest of all are nearer than any of a
sample. For 2,000 specimens of collections of rising size: how like the nearest are, how many of
them are of the same kind, and how well they tell the kind by a vote; from all and from the sample.

    python benchmarks/run.py --only samples
"""

import time
from pathlib import Path

import numpy as np

from fieldguide.features import WordModel
from fieldguide.guide.summaries import find_nearest
from fieldguide.guide.words import find_near

SIZES = (10_000, 30_000, 100_000)
N_COLUMNS, N_KINDS, N_ASKED, SEED = 128, 200, 2000, 0
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
    sampled = find_near(X, k, SEED)[asked]
    seconds = time.perf_counter() - started
    found = {"all": find_nearest(X, asked, k), "sample": sampled}
    row = {"n": n, "seconds for all specimens, in the sample": seconds}
    for name, near in found.items():
        row[f"likeness, {name}"] = float(np.einsum("id,ijd->ij", X[asked], X[near]).mean())
        row[f"of the same kind, {name}"] = float((kinds[near] == kinds[asked, None]).mean())
        row[f"kind by vote, {name}"] = float((vote(kinds[near]) == kinds[asked]).mean())
    return row


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

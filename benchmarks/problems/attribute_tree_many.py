"""The Attribute Tree Process on 100,000 rows of 500 words, of which some are unsure.

Rows are drawn from a tree of 5 × 5 × 4 kinds: a group has 4 words, a branch of it 3 and a kind 2,
and one entry in a hundred is flipped; a sixth of the entries are scores instead of yes or no, as a
calibrated detector would give them. Two chains on two threads, 100 sweeps from the root, with the
priors of a guide. A second fit sees 5,000 rows and places the others with ``predict``: the same
number of sweeps costs a twentieth. Times are those of a clock on the wall and of the CPU, compiling
apart.

    python benchmarks/run.py --only attribute_tree_many
"""

import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measures import peak_mb
from fieldguide.describe import AttributeTree
from fieldguide.metrics import purity

PRIOR = {"c_bounds": (1.0, 3.0), "noise_prior": (1.0, 1000.0), "theta_floor": 1e-4}
N_SWEEPS, N_PART = 100, 5000


def draw_words(n: int, n_words: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return words in [0, 1] and the kind of each row."""
    rng = np.random.default_rng(seed)
    kinds = np.zeros((100, n_words), dtype=bool)
    for width, n_words_each in ((20, 4), (4, 3), (1, 2)):
        for begin in range(0, 100, width):
            kinds[begin : begin + width, rng.choice(n_words, n_words_each, replace=False)] = True
    y = rng.integers(100, size=n)
    A = np.empty((n, n_words), dtype=np.float32)
    for begin in range(0, n, 8192):
        at = slice(begin, begin + 8192)
        shown = kinds[y[at]] ^ (rng.random((len(y[at]), n_words)) < 0.01)
        A[at] = shown
        # the logit of a calibrated score of evidence s is normal with mean ±s²/2
        is_soft = rng.random(shown.shape) < 1 / 6
        base = np.log(shown.mean(axis=0) + 1e-3)
        logit = base + np.where(shown, 4.5, -4.5) + 3 * rng.normal(size=shown.shape)
        A[at][is_soft] = (1 / (1 + np.exp(-logit)))[is_soft]
    return A, y


def run(data: Path | None, *, tiny: bool) -> dict:
    n, n_words, n_sweeps = (400, 40, 3) if tiny else (100_000, 500, N_SWEEPS)
    n_part = 100 if tiny else N_PART
    A, y = draw_words(n, n_words)
    with threadpool_limits(1):
        make_model(2).fit(A[:50])  # compiled before the clock starts
        started = time.perf_counter(), time.process_time()
        whole = make_model(n_sweeps).fit(A)
        rows = [judge("all rows", started, whole.labels_, y, whole)]
        started = time.perf_counter(), time.process_time()
        part = make_model(n_sweeps).fit(A[:n_part])
        labels = part.predict(A)
        rows.append(judge(f"{n_part} rows, the others placed", started, labels, y, part))
    return {"n": A.shape, "soft": float(((A > 0) & (A < 1)).mean()), "rows": rows}


def make_model(n_sweeps: int) -> AttributeTree:
    return AttributeTree(n_sweeps, n_chains=2, n_jobs=2, random_state=0, **PRIOR)


def judge(name: str, started: tuple[float, float], labels, y, model) -> dict:
    return {
        "fit": name,
        "wall_s": time.perf_counter() - started[0],
        "cpu_s": time.process_time() - started[1],
        "purity": purity(labels, y),
        "nodes": len(model.tree_),
        "peak_mb": peak_mb(),
    }


def table(result: dict) -> str:
    n, n_words = result["n"]
    lines = [
        f"{n} × {n_words}, {100 * result['soft']:.0f} % of the entries unsure:",
        "",
        "| fit | s | CPU s | nodes | purity | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['fit']} | {row['wall_s']:.0f} | {row['cpu_s']:.0f} | {row['nodes']} "
            f"| {row['purity']:.2f} | {row['peak_mb']:.0f} |"
        )
    return "\n".join(lines)

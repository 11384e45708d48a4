"""Time to select bins: column generation beside the plain reduced-gradient method, and many rows.

Histograms of 1,000 bins, drawn. With 120 rows both methods run until they have the same objective:
ours to its gap of 1 %, the plain method until it is within 1 % of that, or for a minute. With 400
rows ours alone. With 5,000 rows the group lasso: a path of ten values of C, each started from the
last, and the SVM of the exact kernel at its end, in a process of its own, whose memory is counted
from where its imports have ended. Seconds are those of the processor, of which there is one.
"""

import json
import time
from pathlib import Path

import numpy as np

from benchmarks.measures import run_alone, spread
from benchmarks.peers import plain_reduced_gradient
from fieldguide.select.additive_pricing import measure_spreads, select_bins, store_columns

C, TOL = 1.0, 1e-2


def draw_histograms(
    n: int, n_bins: int = 1000, n_relevant: int = 20, *, ratio: float = 2.0, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return histograms with sum 1, their sides ±1, and the bins whose mean differs.

    A bin is a gamma variable with a mean of its own; a relevant bin is on one side ``ratio`` times
    what it is on the other. Bins that matter are the same for any number of rows.
    """
    choices, rows = np.random.default_rng([seed, 0]), np.random.default_rng([seed, n])
    means = choices.gamma(1.0, 1.0, n_bins) + 0.1
    relevant = np.sort(choices.choice(n_bins, n_relevant, replace=False))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rows.gamma(0.8, 1.0, size=(n, n_bins)) * means
    lifted = np.where(choices.random(n_relevant) < 0.5, 1.0, -1.0)
    X[:, relevant] *= ratio ** (0.5 * y[:, None] * lifted)
    return X / X.sum(axis=1, keepdims=True), y, relevant


def run(data: Path | None, *, tiny: bool) -> dict:
    n_repeats, n_bins, limit_s = (1, 40, 1.0) if tiny else (5, 1000, 60.0)
    compare = {
        kernel: _compare(kernel, n_bins, n_repeats, limit_s) for kernel in ("chi2", "linear")
    }
    exact = {kernel: _time_exact(kernel, 60 if tiny else 400, n_bins) for kernel in KERNELS}
    sizes = ("200", "40") if tiny else ("5000", "1000")
    large = {kernel: json.loads(run_alone(MEASURE, kernel, *sizes)) for kernel in KERNELS}
    return {"compare": compare, "exact": exact, "large": large}


KERNELS = ("chi2", "intersection", "linear")


def _compare(kernel: str, n_bins: int, n_repeats: int, limit_s: float) -> dict:
    ours, theirs, ratios, reached = [], [], [], []
    for turn in range(n_repeats + 1):
        X, y, _ = draw_histograms(120, n_bins, 10, seed=turn)
        columns = store_columns(kernel, X)
        spreads = measure_spreads(columns, y)
        started = time.process_time()
        found = select_bins(kernel, X, columns, spreads, y, C, tol=TOL)
        seconds = time.process_time() - started
        goal = found.objective * (1 + TOL)
        other = plain_reduced_gradient.descend(
            *(kernel, X, columns, spreads, y, C),
            is_enough=lambda objective, gap, goal=goal: objective <= goal,
            limit_s=limit_s if turn else 1.0,
        )
        if turn:  # the first compiles
            ours.append(seconds)
            theirs.append(other.seconds)
            ratios.append(other.seconds / seconds)
            reached.append(other.objective / found.objective - 1)
    return {
        "ours": spread(ours),
        "plain": spread(theirs),
        "ratio": spread(ratios),
        "plain above ours": spread(reached),
    }


def _time_exact(kernel: str, n: int, n_bins: int) -> dict:
    X, y, relevant = draw_histograms(n, n_bins, 20)
    started = time.process_time()
    columns = store_columns(kernel, X)
    found = select_bins(kernel, X, columns, measure_spreads(columns, y), y, C, tol=TOL)
    return {
        "seconds": time.process_time() - started,
        "gap": found.gap,
        "bins": int((found.p > 0).sum()),
        "relevant": int((found.p[relevant] > 0).sum()),
    }


MEASURE = """
import json, sys, time
from benchmarks.measures import peak_mb
from benchmarks.problems.additive_selection import draw_histograms
import numpy as np
from fieldguide.select import AdditiveKernelSelector
kernel, n, n_bins = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
small = draw_histograms(60, 30, 5)
selector = AdditiveKernelSelector(kernel, mode="large", C=0.1)
selector.fit(*small[:2])  # compiles
before = peak_mb()
X, y, relevant = draw_histograms(n, n_bins)
X = X.astype(np.float32)
started = time.process_time()
points = selector.path(X, y)
path_s = time.process_time() - started
mb = peak_mb() - before
started = time.process_time()
selector.fit(X, y)
fit_s = time.process_time() - started
hits = int((selector.weights_[relevant] > 0).sum())
print(json.dumps({
    "path_s": path_s, "path_mb": mb, "fit_s": fit_s, "fit_mb": peak_mb() - before,
    "gap": max(p.gap for p in points), "bins": selector.n_selected_, "relevant": hits,
}))
"""


def table(result: dict) -> str:
    lines = [
        "| 120 rows, 1,000 bins | ours, s | plain, s | plain / ours | plain's objective above |"
    ]
    lines.append("|---|---|---|---|---|")
    for kernel, row in result["compare"].items():
        ratio = row["ratio"]
        lines.append(
            f"| {kernel} | {row['ours']['median']:.2f} | {row['plain']['median']:.1f} "
            f"| {ratio['median']:.0f} ({ratio['least']:.0f}–{ratio['largest']:.0f}) "
            f"| {row['plain above ours']['median']:.1%} |"
        )
    lines += ["", "| 400 rows, exact | s | gap | bins | of 20 relevant |", "|---|---|---|---|---|"]
    for kernel, row in result["exact"].items():
        lines.append(
            f"| {kernel} | {row['seconds']:.1f} | {row['gap']:.1e} | {row['bins']} "
            f"| {row['relevant']} |"
        )
    lines += [
        "",
        "| 5,000 rows, large | path of 10, s | MB | fit with exact SVM, s | MB | gap | bins |",
    ]
    lines[-1] += " of 20 relevant |"
    lines.append("|---|---|---|---|---|---|---|---|")
    for kernel, row in result["large"].items():
        lines.append(
            f"| {kernel} | {row['path_s']:.1f} | {row['path_mb']:.0f} | {row['fit_s']:.1f} "
            f"| {row['fit_mb']:.0f} | {row['gap']:.1e} | {row['bins']} | {row['relevant']} |"
        )
    return "\n".join(lines)

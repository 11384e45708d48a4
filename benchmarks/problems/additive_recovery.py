"""Are the right bins selected as rows are added? Histograms of 1,000 bins, 20 of which matter.

Each method ranks the bins: ours by their share q = a·p of the kernel at the C that leaves about as
many bins as matter, plain multiple kernel learning (all a = 1) by the same share, the univariate
score by the F statistic. The measure is how many of the 20 bins with the largest rank are among
the 20 that matter, over three draws. The bins have gamma variables of different means;
those that matter are twice as large on one side as on the other.
"""

from pathlib import Path

import numpy as np

from benchmarks.curves import draw_curves
from benchmarks.problems.additive_selection import draw_histograms
from benchmarks.problems.additive_table import rank_bins
from fieldguide.select import AdditiveKernelSelector

PICTURE = Path("docs/pictures/additive_recovery.svg")
SIZES = (50, 100, 200, 400, 800, 1600)
SELECTORS = {
    "FS-χ²": {"kernel": "chi2"},
    "FS-intersection": {"kernel": "intersection"},
    "FS-linear": {"kernel": "linear"},
    "MKL-χ²": {"kernel": "chi2", "normalize": False},
}
VALUES = np.geomspace(1e-3, 1.0, 9)


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes, n_bins, n_relevant, n_draws = ((40, 80), 60, 5, 1) if tiny else (SIZES, 1000, 20, 3)
    rows = []
    for n in sizes:
        for seed in range(n_draws):
            X, y, relevant = draw_histograms(n, n_bins, n_relevant, seed=seed)
            for name, settings in SELECTORS.items():
                ranked, n_selected = rank(X, y, n_relevant, **settings)
                rows.append(_count(n, seed, name, ranked, relevant) | {"bins": n_selected})
            rows.append(_count(n, seed, "F statistic", rank_bins(X, y > 0), relevant))
    if not tiny:
        methods = dict.fromkeys(row["method"] for row in rows)
        curves = {name: [(n, _mean(rows, name, n)) for n in sizes] for name in methods}
        draw_curves(PICTURE, curves, "rows", "share of the bins that matter among the first 20")
    return {"sizes": list(sizes), "rows": rows}


def rank(X: np.ndarray, y: np.ndarray, n_wanted: int, **settings) -> tuple[np.ndarray, int]:
    """Return the bins by their share, at the first C that leaves as many as are wanted."""
    scale = 1.0 if settings.get("normalize", True) else 1000.0  # raw bins have small kernels
    mode = "exact" if len(X) <= 400 else "large"
    selector = AdditiveKernelSelector(mode=mode, **settings)
    for C in VALUES * scale * 400 / len(X):
        selector.set_params(C=float(C)).fit(X, y)
        if selector.n_selected_ >= n_wanted:
            break
    used = np.isfinite(selector.spreads_)
    share = np.where(used, selector.weights_ * np.where(used, selector.spreads_, 0), 0)
    return np.argsort(-share, kind="stable"), selector.n_selected_


def _count(n: int, seed: int, method: str, ranked: np.ndarray, relevant: np.ndarray) -> dict:
    first = ranked[: len(relevant)]
    share = float(np.isin(first, relevant).mean())
    return {"n": n, "seed": seed, "method": method, "share": share}


def _mean(rows: list[dict], method: str, n: int) -> float:
    return float(np.mean([r["share"] for r in rows if r["method"] == method and r["n"] == n]))


def table(result: dict) -> str:
    sizes, rows = result["sizes"], result["rows"]
    lines = ["| rows | " + " | ".join(map(str, sizes)) + " |", "|---" * (len(sizes) + 1) + "|"]
    for name in dict.fromkeys(row["method"] for row in rows):
        means = " | ".join(f"{_mean(rows, name, n):.2f}" for n in sizes)
        lines.append(f"| {name} | {means} |")
    return "\n".join(lines)

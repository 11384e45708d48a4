"""Exact agglomerative trees of 0/1 attributes, beside scipy's.

The rows are drawn from 40 groups with their own attribute rates, a few per cent flipped: as many
different rows as there are specimens, which is the worst case for a method that joins equal ones.
"""

from pathlib import Path

import numpy as np

from benchmarks.measures import alternate, spread
from benchmarks.peers import scipy_linkage
from fieldguide.describe.agglomerative import join_nearest


def draw_attributes(n: int, d: int = 150, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rates = rng.beta(0.2, 1.5, size=(40, d))
    rows = rng.random((n, d)) < rates[rng.integers(0, 40, n)]
    return (rows ^ (rng.random((n, d)) < 0.03)).astype(float)


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = (60,) if tiny else (1000, 3000, 10_000)
    rows = []
    for n in sizes:
        A = np.unique(draw_attributes(n), axis=0)
        for method in ("average", "ward"):
            contestants = {"fieldguide": lambda A=A, m=method: join_nearest(A, np.ones(len(A)), m)}
            if n <= 3000:
                contestants["scipy"] = lambda A=A, m=method: scipy_linkage.heights(A, m)
            seconds = alternate(contestants, 1 if n > 3000 or tiny else 5)
            row = {"n": len(A), "method": method, **{k: spread(v) for k, v in seconds.items()}}
            if "scipy" in seconds:
                pairs = zip(seconds["scipy"], seconds["fieldguide"], strict=True)
                row["ratio"] = spread([theirs / ours for theirs, ours in pairs])
                ours = join_nearest(A, np.ones(len(A)), method)[1].sum()
                row["sum of heights, ours over theirs"] = float(
                    ours / scipy_linkage.heights(A, method).sum()
                )
            rows.append(row)
    return {"rows": rows}


def table(result: dict) -> str:
    lines = [
        "| rows | linkage | fieldguide s | scipy s | scipy ÷ fieldguide |",
        "|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        theirs = f"{row['scipy']['median']:.2f}" if "scipy" in row else "–"
        ratio = row.get("ratio")
        shown = (
            f"{ratio['median']:.2f} ({ratio['least']:.2f}–{ratio['largest']:.2f})" if ratio else "–"
        )
        ours = row["fieldguide"]["median"]
        lines.append(f"| {row['n']} | {row['method']} | {ours:.2f} | {theirs} | {shown} |")
    return "\n".join(lines)

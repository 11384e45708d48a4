"""The exponential-χ² Gram matrix of bags of words, beside scikit-learn's; one thread each.

The rows are counts of 1,000 words, 7 % of them not zero, with frequencies that fall by rank as
those of real words do: rows then have more words in common than if all were equally frequent.
Both contestants get the same dense float32 rows and γ. Peak memory is that of a process of its own.
"""

from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measures import alternate, run_alone, spread
from benchmarks.peers import sklearn_chi2
from fieldguide.kernels import default_gamma, exponential_chi2_kernel

MEASURE = """
from benchmarks.measures import peak_mb
from benchmarks.peers import sklearn_chi2
from benchmarks.problems.gram import draw_words
from fieldguide.kernels import exponential_chi2_kernel

small = draw_words(64, {d})
X = draw_words({n}, {d})
def work(X):
    if {name!r} == "fieldguide":
        return exponential_chi2_kernel(X, gamma=0.01)
    return sklearn_chi2.gram(X, 0.01)
work(small)
before = peak_mb()
work(X)
print(before, peak_mb())
"""


def draw_words(n: int, d: int, density: float = 0.07, seed: int = 0) -> np.ndarray:
    """Return n rows of d words, float32, each word in a share of the rows that falls by rank."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, d + 1) ** 0.7
    for _ in range(50):
        shares = np.minimum(shares * density / shares.mean(), 1)
    X = np.empty((n, d), dtype=np.float32)
    for row in X:  # row by row, so that drawing leaves no mark on the peak of memory
        row[:] = (rng.random(d) < shares) * rng.gamma(1, 1, d)
    return X


def run(data: Path | None, *, tiny: bool) -> dict:
    n, d, n_repeats = (60, 50, 1) if tiny else (5000, 1000, 5)
    X = draw_words(n, d)
    gamma = default_gamma(X)
    contestants = {
        "fieldguide": lambda: exponential_chi2_kernel(X, gamma=gamma, n_jobs=1),
        "scikit-learn": lambda: sklearn_chi2.gram(X, gamma),
    }
    with threadpool_limits(1):
        seconds = alternate(contestants, n_repeats)
        ours, theirs = contestants["fieldguide"](), sklearn_chi2.gram(X[:50], gamma)
    pairs = zip(seconds["scikit-learn"], seconds["fieldguide"], strict=True)
    return {
        "shape": [n, d],
        "density": float((X > 0).mean()),
        **{name: spread(values) for name, values in seconds.items()},
        "ratio": spread([slow / fast for slow, fast in pairs]),
        "largest difference": float(abs(ours[:50, :50] - theirs).max()),
        "peak_mb": {name: measure_peak_mb(name, n, d) for name in contestants},
    }


def measure_peak_mb(name: str, n: int, d: int) -> dict[str, float]:
    """Return the largest resident memory of a process, before and after its matrix."""
    found = run_alone(MEASURE.format(name=name, n=n, d=d))
    before, after = map(float, found.split())
    return {"before": before, "after": after}


def table(result: dict) -> str:
    lines = [
        "| | s | peak MB | of it for the matrix |",
        "|---|---|---|---|",
    ]
    for name, peak in result["peak_mb"].items():
        grown = peak["after"] - peak["before"]
        seconds = result[name]["median"]
        lines.append(f"| {name} | {seconds:.2f} | {peak['after']:.0f} | {grown:.0f} |")
    ratio = result["ratio"]
    lines.append(
        f"\nscikit-learn ÷ fieldguide: {ratio['median']:.1f} "
        f"({ratio['least']:.1f}–{ratio['largest']:.1f})"
    )
    return "\n".join(lines)

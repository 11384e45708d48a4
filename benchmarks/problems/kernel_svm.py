"""One-vs-all kernel SVMs on one exponential-χ² Gram matrix, beside libsvm on the same matrix.

128 classes of bag-of-words rows at 7 % density. Both are judged by the same relative duality gap;
scikit-learn's SVC takes a tolerance on the optimality violation instead, which is lowered for each
sampled class until the judge finds the gap that we ask of ourselves.

Serving: one row at a time against one classifier of two classes with the RBF kernel, SVC.predict
beside FastKernelScorer with the support rows that SVC found.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measures import alternate, run_alone, spread
from benchmarks.peers import sklearn_precomputed
from fieldguide.kernels import exponential_chi2_kernel
from fieldguide.svm import FastKernelScorer, train_one_vs_all_gram
from fieldguide.svm.smo import judge

C, GAP = 10.0, 1e-3


def draw_words(n: int, n_classes: int, d: int = 1000, density: float = 0.07, seed: int = 0):
    """Return L1-normalised histograms: each class favours words of its own."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    liking = rng.gamma(0.15, 1.0, size=(n_classes, d)) + 0.02
    rows = np.zeros((n, d), dtype=np.float32)
    n_words = round(density * d)
    for i in range(n):
        p = liking[y[i]] / liking[y[i]].sum()
        chosen = rng.choice(d, n_words, replace=False, p=p)
        rows[i, chosen] = rng.gamma(1.0, 1.0, n_words)
    return rows / rows.sum(axis=1, keepdims=True), y


def run(data: Path | None, *, tiny: bool) -> dict:
    n, n_classes, sampled, repeats = (200, 4, 2, 1) if tiny else (5000, 128, 4, 5)
    X, y = draw_words(n, n_classes)
    K = exponential_chi2_kernel(X)
    train_one_vs_all_gram(K[:50, :50].copy(), y[:50] % 2, 2)  # compiles
    seconds: dict[str, list[float]] = {"one thread": [], "two threads": [], "SVC": []}
    classes = np.linspace(0, n_classes - 1, sampled).astype(int)
    tolerances = {c: sklearn_precomputed.find_tolerance(K, y == c, C, GAP) for c in classes}
    for _ in range(repeats):
        for name, n_jobs in (("one thread", 1), ("two threads", 2)):
            started = time.perf_counter()
            solution = train_one_vs_all_gram(K, y, n_classes, C=C, tol=GAP, n_jobs=n_jobs)
            seconds[name].append(time.perf_counter() - started)
        started = time.perf_counter()
        for c in classes:
            sklearn_precomputed.fit(K, y == c, C, tolerances[c])
        seconds["SVC"].append((time.perf_counter() - started) * n_classes / sampled)
    worst = max(_gap_of(K, y, c, solution) for c in classes)
    return {
        "n": n,
        "n_classes": n_classes,
        "seconds": {name: spread(values) for name, values in seconds.items()},
        "ratio": spread(
            [s / o for s, o in zip(seconds["SVC"], seconds["one thread"], strict=True)]
        ),
        "two threads over one": spread(
            [a / b for a, b in zip(seconds["one thread"], seconds["two threads"], strict=True)]
        ),
        "worst gap, ours": worst,
        "tolerances of SVC": [float(t) for t in tolerances.values()],
        "peak_mb": _peaks() if not tiny else {},
        "serving": _compare_serving(X[: 200 if tiny else 2000], 5 if tiny else 200, repeats),
    }


def _compare_serving(X: np.ndarray, n_rows: int, n_repeats: int) -> dict:
    rng = np.random.default_rng(0)
    gamma = 1 / (2 * float(X.var(axis=0).sum()))
    svc = sklearn_precomputed.SVC(C=C, gamma=gamma).fit(X, rng.random(len(X)) < 0.5)
    scorer = FastKernelScorer(
        *("rbf", gamma, svc.support_vectors_, svc.dual_coef_[0], svc.intercept_, svc.classes_)
    )
    singles = X[rng.integers(0, len(X), n_rows)]
    doubles = singles.astype(np.float64)
    seconds = alternate(
        {
            "fieldguide": lambda: [scorer.predict_one(x) for x in singles],
            "SVC": lambda: [svc.predict(x[None]) for x in doubles],
        },
        n_repeats,
    )
    pairs = zip(seconds["fieldguide"], seconds["SVC"], strict=True)
    same = np.mean([scorer.predict_one(x) == svc.predict(x[None])[0] for x in singles])
    return {
        "n_support": len(svc.support_),
        **{name: spread([s / n_rows * 1e6 for s in v]) for name, v in seconds.items()},
        "ratio": spread([b / a for a, b in pairs]),
        "same answers": float(same),
    }


def _gap_of(K, y, c, solution) -> float:
    t = np.where(y == c, 1.0, -1.0)
    beta = solution.beta[[c]].toarray()[0]
    return judge(t, np.full(len(t), C), beta, t - K.astype(np.float64) @ beta)[1]


MEASURE = """
import sys, numpy as np
from benchmarks.measures import peak_mb
K, y = np.load(sys.argv[1]), np.arange(5000) % 128
if sys.argv[2] == "ours":
    from fieldguide.svm import FastKernelScorer, train_one_vs_all_gram
    train_one_vs_all_gram(K, y, 128, C=10.0)
else:
    from sklearn.svm import SVC
    SVC(C=10.0, kernel="precomputed").fit(K, y == 0)
print(peak_mb())
"""


def _peaks() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "K.npy"
        X, _ = draw_words(5000, 128)
        np.save(path, exponential_chi2_kernel(X))
        return {who: float(run_alone(MEASURE, str(path), who)) for who in ("ours", "SVC")}


def table(result: dict) -> str:
    lines = [f"{result['n']} rows, {result['n_classes']} classes", ""]
    lines += ["| who | seconds (median) | least | largest |", "|---|---|---|---|"]
    for name, s in result["seconds"].items():
        lines.append(f"| {name} | {s['median']:.2f} | {s['least']:.2f} | {s['largest']:.2f} |")
    for name in ("ratio", "two threads over one"):
        r = result[name]
        lines.append(f"\n{name}: {r['median']:.2f} ({r['least']:.2f}–{r['largest']:.2f})")
    lines.append(f"\npeak MB: {result['peak_mb']}")
    serving = result["serving"]
    lines.append(
        f"\none row at a time, {serving['n_support']} support rows, µs: "
        f"fieldguide {serving['fieldguide']['median']:.0f}, SVC {serving['SVC']['median']:.0f}; "
        f"ratio {serving['ratio']['median']:.1f} "
        f"({serving['ratio']['least']:.1f}–{serving['ratio']['largest']:.1f})"
    )
    return "\n".join(lines)

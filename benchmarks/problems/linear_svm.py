"""Linear SVMs, one-vs-all, to the same duality gap as scikit-learn's LinearSVC; and serving.

Dense rows resemble deep features: kinds in groups, no entry below 0, unit length. Sparse rows are
bags of words, 7 % non-zero, square roots of counts, unit length. Both contestants must reach a
relative gap of 1e-3: Fieldguide by its own duality gap, which is the harder measure; the peer by
its objective against a lower bound from a solution 1000 times as exact. One thread each.
"""

import ctypes
import gc
import time
from itertools import product
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from benchmarks.measures import alternate, run_alone, spread
from benchmarks.peers import sklearn_svm
from fieldguide.svm import FastScorer, dual_value, primal_value, solve_linear, train_one_vs_all

GAP = 1e-3
N_SAMPLED = 4
LOSSES = ("squared_hinge", "hinge")


def draw_dense(n_classes: int, d: int, per_class: int = 20, seed: int = 0):
    rng = np.random.default_rng(seed)
    index = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    groups = rng.normal(size=(50, d))
    centres = 0.7 * (groups[rng.integers(0, 50, n_classes)] + rng.normal(size=(n_classes, d)))
    X = np.maximum(centres[index] + rng.normal(size=(len(index), d)), 0)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return np.ascontiguousarray(X, dtype=np.float32), index


def draw_sparse(n_classes: int, d: int, per_class: int = 20, seed: int = 0):
    rng = np.random.default_rng(seed)
    index = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    common = rng.gamma(0.3, size=d)
    common /= common.sum()
    own = np.stack([rng.dirichlet(0.05 * d * common + 1e-4) for _ in range(n_classes)])
    words = (own[index] + common) / 2
    counts = np.stack([rng.multinomial(d // 10, p / p.sum()) for p in words])
    X = np.sqrt(counts.astype(np.float32))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return csr_matrix(X), index


DRAW = {"dense": draw_dense, "sparse": draw_sparse}


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = {"dense": (1000, 512), "sparse": (256, 3000)}
    if tiny:
        sizes = {"dense": (8, 16), "sparse": (6, 200)}
    n_repeats = 1 if tiny else 5
    # Each cell starts processes: tiny, every kind of rows and every loss has its turn once.
    cells = zip(sizes, LOSSES, strict=True) if tiny else product(sizes, LOSSES)
    with threadpool_limits(1):
        rows = [_compare(kind, *sizes[kind], loss, n_repeats) for kind, loss in cells]
        serving = _compare_serving(*sizes["dense"], 20 if tiny else 500, n_repeats)
    return {"rows": rows, "serving": serving}


def _compare(kind: str, n_classes: int, d: int, loss: str, n_repeats: int) -> dict:
    X, index = DRAW[kind](n_classes, d)
    exact = X.astype(np.float64)
    signs = [np.where(index == k, 1.0, -1.0) for k in range(N_SAMPLED)]
    bounds = []
    for sign in signs:
        best = solve_linear(exact, sign, loss=loss, tol=GAP / 1000, max_iter=10**5)
        bounds.append(dual_value(exact, sign, best.alpha, loss=loss))
    peer = sklearn_svm.find_settings(exact, signs, bounds, loss, GAP)
    started = time.perf_counter()
    train_one_vs_all(X[:100], index[:100], n_classes, loss=loss)
    warm_up = time.perf_counter() - started
    ours, theirs = [], []
    for _ in range(n_repeats):
        started = time.perf_counter()
        found = train_one_vs_all(X, index, n_classes, loss=loss, tol=GAP)
        ours.append(time.perf_counter() - started)
        theirs.append(sklearn_svm.time_all(exact, signs, n_classes, peer))
    missed = [
        1 - bound / primal_value(exact, sign, found.coef[k], found.intercept[k], loss=loss)
        for k, (sign, bound) in enumerate(zip(signs, bounds, strict=True))
    ]
    stored = X.nnz / np.prod(X.shape) if kind == "sparse" else 1.0
    return {
        "kind": kind,
        "loss": loss,
        "n": X.shape[0],
        "d": d,
        "n_classes": n_classes,
        "non-zero": stored,
        "peer settings": peer,
        "largest gap, ours": float(found.gaps.max()),
        "largest miss of the bound, ours": float(max(missed)),
        "warm-up": warm_up,
        "fieldguide": spread(ours),
        "sklearn": spread(theirs),
        "ratio": spread([b / a for a, b in zip(ours, theirs, strict=True)]),
        "peak_mb": {
            name: _peak_mb(kind, n_classes, d, loss, name) for name in ("fieldguide", "sklearn")
        },
    }


def _compare_serving(n_classes: int, d: int, n_rows: int, n_repeats: int) -> dict:
    rng = np.random.default_rng(0)
    X, index = draw_dense(n_classes, d)
    # Weights of the right kind are enough: prediction time does not depend on how they were found.
    coef = np.stack([X[index == k].mean(axis=0) for k in range(n_classes)])
    coef = coef - coef.mean(axis=0)
    svc = sklearn_svm.LinearSVC()
    svc.classes_, svc.n_features_in_ = np.arange(n_classes), d
    svc.coef_, svc.intercept_ = coef.astype(np.float64), np.zeros(n_classes)
    scorer = FastScorer(coef, np.zeros(n_classes))
    singles = X[rng.integers(0, len(X), n_rows)]
    doubles = singles.astype(np.float64)
    seconds = alternate(
        {
            "fieldguide": lambda: [scorer.predict_one(x) for x in singles],
            "sklearn": lambda: [svc.predict(x[None]) for x in doubles],
        },
        n_repeats,
    )
    agree = np.mean([scorer.predict_one(x) == svc.predict(x[None])[0] for x in singles])
    pairs = zip(seconds["fieldguide"], seconds["sklearn"], strict=True)
    return {
        **{name: spread([s / n_rows * 1e6 for s in v]) for name, v in seconds.items()},
        "ratio": spread([b / a for a, b in pairs]),
        "same answers": float(agree),
    }


def _peak_mb(kind: str, n_classes: int, d: int, loss: str, name: str) -> float:
    """Return how far a process of its own grows above what it holds when the rows are drawn."""
    code = (
        "from benchmarks.problems import linear_svm\n"
        f"print(linear_svm.grow({kind!r}, {n_classes}, {d}, {loss!r}, {name!r}))\n"
    )
    return float(run_alone(code))


def grow(kind: str, n_classes: int, d: int, loss: str, name: str) -> float:
    """Train in this process, and return the growth of its memory in MB."""
    X, index = DRAW[kind](n_classes, d)
    train_one_vs_all(X[:100], index[:100], n_classes, loss=loss)
    gc.collect()
    # Memory freed after the drawing would hide what the training takes.
    ctypes.CDLL(None).malloc_trim(0)
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    if name == "fieldguide":
        train_one_vs_all(X, index, n_classes, loss=loss, tol=GAP)
    else:
        # Memory does not depend on the number of iterations, nor much on that of classes.
        sklearn_svm.fit(X, np.where(index == 0, 1, -1), loss=loss, dual=True, max_iter=1)
    return _status("VmHWM") - before


def _status(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def table(result: dict) -> str:
    lines = [
        "| rows | loss | fieldguide s | LinearSVC s | LinearSVC ÷ fieldguide | peak MB, both |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        shape = f"{row['n_classes']} × {row['n'] // row['n_classes']}, {row['d']}, {row['kind']}"
        ratio, mb = row["ratio"], row["peak_mb"]
        lines.append(
            f"| {shape} | {row['loss']} | {row['fieldguide']['median']:.2f} "
            f"| {row['sklearn']['median']:.1f} | {_shown(ratio)} "
            f"| {mb['fieldguide']:.0f}, {mb['sklearn']:.0f} |"
        )
    serving = result["serving"]
    lines.append(
        f"| one row at a time, µs | – | {serving['fieldguide']['median']:.0f} "
        f"| {serving['sklearn']['median']:.0f} | {_shown(serving['ratio'])} | – |"
    )
    return "\n".join(lines)


def _shown(ratio: dict) -> str:
    return f"{ratio['median']:.1f} ({ratio['least']:.1f}–{ratio['largest']:.1f})"

"""Average precision and number of visual words of selectors, on three problems of real pictures.

| problem | positives | negatives |
|---|---|---|
| birds | CUB-200 | Caltech-101 without its birds and its background |
| animals | animals of Caltech-101 | its other kinds, without the background |
| trucks | trucks of CIFAR-10 | its automobiles |

Histograms of 1,000 and of 4,000 words in the whole picture. The words are found in 100 pictures of
each side that are used for nothing else. The pictures of CIFAR-10 are small, 32 pixels, so their
windows are smaller and twice as dense. A split draws 150 pictures of each side to train on and 200
others to test on, of 400 of each side. Every method chooses its C by three folds of the training
rows, by average precision; a method that ranks words ranks them again in each fold. Kernels of SVMs
are divided by the mean squared distance of two rows, so that one grid of C does for all.

FS-χ² in rounds takes the words of a first selection, then those of a selection among the words that
are left, and so on up to a tenth of all words; an SVM is trained on these. Elimination is no
selection of ours: the words that add least to the χ² SVM leave, and it is trained again. The
univariate score is the F statistic of a word.

Histograms, then splits, are kept in out/bench/additive, so that a run goes on where it was stopped;
``ADDITIVE_JOBS`` processes work on splits side by side; ``ADDITIVE_SPLITS`` (10) and
``ADDITIVE_WORDS`` (1000,4000) make a smaller study, and ``ADDITIVE_ONLY=document`` leaves out what
the document does not compare.
"""

import json
import os
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import t as student
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.measures import save
from benchmarks.problems.additive_pictures import PROBLEMS, Problem, describe
from fieldguide.kernels import KERNELS
from fieldguide.select import AdditiveKernelSelector
from fieldguide.select.additive_pricing import measure_spreads, store_columns
from fieldguide.svm import solve_kernel

CELLS = Path("out/bench/additive")
SVM_C = tuple(10.0 ** (k / 2) for k in range(-3, 6))
SELECT_C = tuple(10.0 ** (k / 2) for k in range(-4, 3))
SHARE = 0.1

# What a method gives for each value of a grid: margins of the test rows and number of words.
Found = list[tuple[np.ndarray, int]]
Grid = tuple[float, ...]
Trial = Callable[[np.ndarray, np.ndarray, np.ndarray, Grid], Found]


def train_svms(kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, grid: Grid) -> Found:
    """Return the margins of the SVMs of all C, each started from the one before."""
    K, K_test = make_grams(kernel, X, X_test)
    found, beta = [], None
    for C, last in zip(grid, (1.0, *grid), strict=False):
        start = None if beta is None else beta * (C / last)
        svm = solve_kernel(K, y, np.full(len(y), C), beta0=start, tol=1e-3)
        beta = svm.beta
        found.append((K_test @ beta + svm.intercept, X.shape[1]))
    return found


def make_grams(kernel: str, X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return kernels with a mean squared distance of 1; "exponential_chi2" scales rows to sum 1."""
    if kernel == "linear":
        K, K_test = X @ X.T, X_test @ X.T
    elif kernel == "exponential_chi2":
        rows, others = (Z / np.maximum(Z.sum(axis=1, keepdims=True), 1e-12) for Z in (X, X_test))
        inner = KERNELS["chi2"](rows)
        gamma = 1 / max(2 * (inner.diagonal().mean() - inner.mean()), 1e-12)
        # The χ² kernel of a row of sum 1 with itself is 1, of an empty row 0.
        own, other = inner.diagonal(), others.sum(axis=1)
        K = np.exp(-gamma * (own[:, None] + own - 2 * inner))
        K_test = np.exp(-gamma * (other[:, None] + own - 2 * KERNELS["chi2"](others, rows)))
    else:
        K, K_test = KERNELS[kernel](X), KERNELS[kernel](X_test, X)
    scale = max(2 * (K.diagonal().mean() - K.mean()), 1e-12)
    return K / scale, K_test / scale


def select_words(
    kernel: str,
    normalize: bool,
    n_rounds: int,
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    grid: Grid,
) -> Found:
    """Return the margins of the selector's SVMs: exact for one C, by the group lasso for several.

    All SVMs have the exact kernel, so that the folds choose among nearly the same functions.
    """
    mode = "exact" if len(grid) == 1 else "large"
    selector = AdditiveKernelSelector(kernel, mode=mode, normalize=normalize, n_rounds=n_rounds)
    # Plain multiple kernel learning has the kernels of raw words, which are as small as words are.
    scale = 1.0 if normalize else X.shape[1]
    found = []
    for point in selector.path(X, y, [scale * C for C in grid]):
        kept = np.flatnonzero(point.weights)
        p = point.weights[kept] if kernel != "linear" else np.sqrt(point.weights[kept])
        A, B = X[:, kept] * p, X_test[:, kept] * p
        if kernel == "linear":
            K, K_test = A @ A.T, B @ A.T
        else:
            K, K_test = KERNELS[kernel](A), KERNELS[kernel](B, A)
        svm = solve_kernel(K, y, np.full(len(y), point.C), tol=1e-3)
        found.append((K_test @ svm.beta + svm.intercept, len(kept)))
    return found


def rank_then_train(
    rank: Callable[[np.ndarray, np.ndarray, int], np.ndarray],
    kernel: str,
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    grid: Grid,
) -> Found:
    """Return the margins of SVMs on a tenth of the words, those that rank first."""
    kept = rank(X, y, round(SHARE * X.shape[1]))
    return train_svms(kernel, X[:, kept], y, X_test[:, kept], grid)


def rank_by_score(X: np.ndarray, y: np.ndarray, n_words: int) -> np.ndarray:
    """Return the words by the F statistic of two classes of equal size, largest first."""
    return rank_bins(X, y > 0)[:n_words]


def rank_bins(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the bins by the F statistic of two classes of equal size, largest first."""
    between = (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) ** 2
    within = X[y == 1].var(axis=0) + X[y == 0].var(axis=0)
    return np.argsort(-between / np.maximum(within, 1e-300), kind="stable")


def eliminate(X: np.ndarray, y: np.ndarray, n_words: int) -> np.ndarray:
    """Return the words that are left when the χ² SVM's cheapest fifth leaves again and again."""
    columns = store_columns("chi2", X)
    spreads = measure_spreads(columns, y)
    left = np.flatnonzero(np.isfinite(spreads))
    while len(left) > n_words:
        rows = np.ascontiguousarray(X[:, left]) / spreads[left]
        K, _ = make_grams("chi2", rows, rows[:1])
        svm = solve_kernel(K, y, np.ones(len(y)), tol=1e-2)
        prices = columns.price(left, svm.beta) / spreads[left]
        n_left = max(n_words, int(0.8 * len(left)))
        left = np.sort(left[np.argsort(-prices, kind="stable")[:n_left]])
    return left


def rank_in_rounds(X: np.ndarray, y: np.ndarray, n_words: int) -> np.ndarray:
    """Return the words of a selection, heaviest first, then of one among those left, and so on."""
    left, ranked = np.arange(X.shape[1]), np.empty(0, dtype=np.int64)
    while len(ranked) < n_words:
        selector = AdditiveKernelSelector("chi2", mode="large").fit(X[:, left], y)
        used = np.flatnonzero(selector.weights_)
        share = selector.weights_[used] * selector.spreads_[used]
        ranked = np.append(ranked, left[used[np.argsort(-share, kind="stable")]])
        left = np.delete(left, used)
    return ranked[:n_words]


WHOLE = "χ² SVM"
METHODS: dict[str, tuple[Trial, Grid]] = {
    "linear SVM": (partial(train_svms, "linear"), SVM_C),
    WHOLE: (partial(train_svms, "chi2"), SVM_C),
    "exponential χ² SVM": (partial(train_svms, "exponential_chi2"), SVM_C),
    "MKL-χ²": (partial(select_words, "chi2", False, 1), SELECT_C),
    "FS-linear": (partial(select_words, "linear", True, 1), SELECT_C),
    "FS-χ²": (partial(select_words, "chi2", True, 1), SELECT_C),
    "FS-intersection": (partial(select_words, "intersection", True, 1), SELECT_C),
    "FS-χ², three rounds": (partial(select_words, "chi2", True, 3), SELECT_C),
    "FS-χ² in rounds, χ² SVM": (partial(rank_then_train, rank_in_rounds, "chi2"), SVM_C),
    "FS-χ² in rounds, exponential χ² SVM": (
        partial(rank_then_train, rank_in_rounds, "exponential_chi2"),
        SVM_C,
    ),
    "by elimination, χ² SVM": (partial(rank_then_train, eliminate, "chi2"), SVM_C),
    "by elimination, exponential χ² SVM": (
        partial(rank_then_train, eliminate, "exponential_chi2"),
        SVM_C,
    ),
    "top by F, χ² SVM": (partial(rank_then_train, rank_by_score, "chi2"), SVM_C),
    "top by F, exponential χ² SVM": (
        partial(rank_then_train, rank_by_score, "exponential_chi2"),
        SVM_C,
    ),
}


COMPARED = ("linear SVM", WHOLE, "MKL-χ²", "FS-linear", "FS-χ²")  # what the document compares


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = [int(n) for n in os.environ.get("ADDITIVE_WORDS", "1000,4000").split(",")]
    sizes = [30] if tiny else sizes
    methods = COMPARED if os.environ.get("ADDITIVE_ONLY") == "document" else tuple(METHODS)
    cells = CELLS.with_name("additive-tiny") if tiny else CELLS
    problems = [Problem(name, n_words, tiny) for n_words in sizes for name in PROBLEMS]
    if any(describe(cells, data, problem) is None for problem in problems):
        return {"skipped": "it needs --data with caltech101, cub200 and cifar10"}
    splits = range(1 if tiny else int(os.environ.get("ADDITIVE_SPLITS", "10")))
    jobs = sorted(product(problems, splits), key=lambda job: (job[0].n_words, job[1]))
    n_jobs = int(os.environ.get("ADDITIVE_JOBS", "1"))
    done = Parallel(n_jobs)(delayed(measure_split)(cells, *job, methods) for job in jobs)
    found = dict(zip(jobs, done, strict=True))
    rows = [
        {
            "problem": problem.name,
            "n_words": problem.n_words,
            "method": method,
            **{key: [found[problem, s][method][key] for s in splits] for key in ("AP", "words")},
            "at_end": sum(found[problem, s][method]["at_end"] for s in splits),
        }
        for problem in problems
        for method in methods
    ]
    return {"n_splits": len(splits), "rows": rows}


def measure_split(
    cells: Path, problem: Problem, split: int, methods: tuple[str, ...]
) -> dict[str, dict[str, float]]:
    """Return what every method gets on one split; what its file holds is not done again."""
    path = cells / f"{problem.name}-{problem.n_words}-{split}.json"
    found: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
    X = describe(cells, None, problem)
    A, y, B, y_test = problem.split(X, split)
    for method in methods:
        trial, grid = METHODS[method]
        if method not in found:
            found[method] = judge(trial, grid, A, y, B, y_test)
            save(path, found)
    return found


def judge(
    trial: Trial, grid: Grid, X: np.ndarray, y: np.ndarray, X_test, y_test
) -> dict[str, float]:
    """Return average precision and number of words for the C that the training rows choose."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = np.zeros(len(grid))
    for a, b in folds.split(X, y):
        scores += [average_precision_score(y[b], m) for m, _ in trial(X[a], y[a], X[b], grid)]
    best = int(np.argmax(np.round(scores, 9)))
    ((margin, n_words),) = trial(X, y, X_test, (grid[best],))
    return {
        "AP": float(average_precision_score(y_test, margin)),
        "words": float(n_words),
        "C": grid[best],
        "at_end": float(best in (0, len(grid) - 1)),
    }


def table(result: dict) -> str:
    """AP ± standard deviation over splits, mean number of words, points above the χ² SVM (95 %)."""
    lines = []
    for n_words in dict.fromkeys(row["n_words"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["n_words"] == n_words]
        names = list(dict.fromkeys(row["problem"] for row in rows))
        lines += [f"| {n_words} words | " + " | ".join(names) + " | C at an end |"]
        lines += ["|---" * (len(names) + 2) + "|"]
        found = {(row["method"], row["problem"]): row for row in rows}
        for method in dict.fromkeys(row["method"] for row in rows):
            cells = [
                tell(found[method, name], found[WHOLE, name], is_whole=method == WHOLE)
                for name in names
            ]
            n_ends = sum(found[method, name]["at_end"] for name in names)
            lines.append(f"| {method} | " + " | ".join(cells) + f" | {n_ends:.0f} |")
        lines.append("")
    return "\n".join(lines)


def tell(row: dict, whole: dict, *, is_whole: bool) -> str:
    ap = np.array(row["AP"])
    text = f"{ap.mean():.3f} ± {ap.std():.3f}, {np.mean(row['words']):.0f}"
    middle, low, high = compare(100 * (ap - whole["AP"]))
    return text if is_whole else f"{text}, {middle:+.1f} ({low:+.1f} … {high:+.1f})"


def compare(differences: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of paired differences and its 95 % interval by Student's t."""
    n, middle = len(differences), float(differences.mean())
    if n < 2:
        return middle, middle, middle
    half = float(student.ppf(0.975, n - 1) * differences.std(ddof=1) / np.sqrt(n))
    return middle, middle - half, middle + half

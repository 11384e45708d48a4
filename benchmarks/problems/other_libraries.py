"""Other libraries on the same drawn rows, at small sizes and one thread: what each takes and gives.

| part | rows | others |
|---|---|---|
| kinds | 40 kinds × 20 rows of 64 columns | scikit-learn, hiclass, LightGBM, usearch, … |
| columns | 200 rows of 120 columns, 10 of which matter | abess, Boruta, L1, mRMR |
| groups in words | 300 rows of 60 words, 12 kinds | HDBSCAN, Ward, k-means of scikit-learn |

HDBSCAN's and Ward's groups are named by c-TF-IDF, as BERTopic names topics, those of k-means by the
words that most of their rows show; the last two are told that there are 12. The size of a model is
that of its saved form. Keys are judged by as many new rows, columns by 1,000.
A row costs what a batch of the new rows costs, divided by their number: by ``fast_predict`` of our
keys, which checks nothing, and by the ``predict`` of the others; omikuji is asked row by row.
Times are CPU seconds, compiling apart, of the draws in turn; ratios are those of the same draw,
the other over ours (of the first row of each part), median and least to largest. The others run at
their own settings in the Python that ``FIELDGUIDE_PEERS_PYTHON`` names, and are left out with a
reason where it does not have them. On disk a package has its own files, without what it needs.

    FIELDGUIDE_PEERS_PYTHON=… python benchmarks/run.py --only other_libraries
"""

import json
import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks.documents.item import word_interval
from benchmarks.measures import ROOT, spread
from benchmarks.peers import feature_selectors, kind_classifiers, topic_names
from benchmarks.peers.label_trees import PARTS, least_seconds
from benchmarks.problems.thousand_kinds import PEERS_PYTHON, draw, refuse
from fieldguide.describe import AttributeTree, describe_tree
from fieldguide.errors import FieldguideWarning
from fieldguide.identify import (
    AttentionTreeClassifier,
    OneVsAllClassifier,
    RelaxedHierarchyClassifier,
)
from fieldguide.select import AdditiveKernelSelector, ConcertSelector, CorrelationSelector
from fieldguide.svm import LinearSVM

N_DRAWS = 5
KINDS = {"n_classes": 40, "d": 64, "n_train": 20, "n_test": 20}
TINY_KINDS = {"n_classes": 6, "d": 16, "n_train": 8, "n_test": 4}
N_MATTER, N_WORDS, SMALLEST = 10, 60, 8
CLASSIFIERS = kind_classifiers.PACKAGES
KEYS: dict[str, Callable[[], Any]] = {
    "relaxed hierarchy, shortlist": lambda: RelaxedHierarchyClassifier(),
    "attention tree, shortlist": lambda: AttentionTreeClassifier(),
    "one-vs-all": lambda: OneVsAllClassifier(probability=False),
}
SELECTORS: dict[str, Callable[[], Any]] = {
    "concert, k = 10": lambda: ConcertSelector(k=N_MATTER),
    "additive kernel, linear": lambda: AdditiveKernelSelector("linear", C=0.3),
    "correlation, k = 10": lambda: CorrelationSelector(k=N_MATTER),
}
Rows = list[dict[str, float]]


def run(data: Path | None, *, tiny: bool) -> dict:
    n_draws = 1 if tiny else N_DRAWS
    python, left_out = os.environ.get(PEERS_PYTHON), {}
    for name, package in (CLASSIFIERS | feature_selectors.PACKAGES).items():
        if reason := refuse(python, package):
            left_out[name] = reason
    with threadpool_limits(1), tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldguideWarning)
        parts = {
            "kinds": compare_kinds(Path(folder), n_draws, python, left_out, tiny=tiny),
            "columns": compare_columns(Path(folder), n_draws, python, left_out, tiny=tiny),
            "groups in words": compare_groups(n_draws, tiny=tiny),
        }
    return {"parts": parts, "left out": left_out, "on disk, MB": weigh(python, left_out)}


def compare_kinds(
    home: Path, n_draws: int, python: str | None, left_out: dict[str, str], *, tiny: bool
) -> dict[str, Rows]:
    folders = [home / f"kinds {seed}" for seed in range(n_draws)]
    found: dict[str, Rows] = {name: [] for name in KEYS}
    for seed, folder in enumerate(folders):
        folder.mkdir()
        arrays = draw(**(TINY_KINDS if tiny else KINDS), noise=1.2, seed=seed)
        for part, array in zip(PARTS, arrays, strict=True):
            np.save(folder / part, array)
        X, y, X_test, y_test = arrays
        for name, make in KEYS.items():
            if not seed:
                make().fit(X, y).predict(X_test)  # compiled before it is timed
            started = time.process_time()
            key = make().fit(X, y)
            seconds = time.process_time() - started
            row_s = least_seconds(lambda key=key, rows=X_test: key.fast_predict(rows)) / len(X_test)
            accuracy = float((key.fast_predict(X_test) == y_test).mean())
            figures = {"accuracy": accuracy, "fit s": seconds, "µs a row": row_s * 1e6}
            size = sum(array.nbytes for array in key.to_state()[0].values()) / 1e3
            found[name].append(figures | {"model KB": size})
    for name in CLASSIFIERS:
        if name not in left_out:
            rows = ask(python, "kind_classifiers.py", name, *map(str, folders))
            found[name] = [
                {
                    "accuracy": r["accuracy"],
                    "fit s": r["fit_s"],
                    "µs a row": r["row_us"],
                    "model KB": float("nan") if r["model_kb"] is None else r["model_kb"],
                }
                for r in rows
            ]
    return found


def compare_columns(
    home: Path, n_draws: int, python: str | None, left_out: dict[str, str], *, tiny: bool
) -> dict[str, Rows]:
    n, d = (40, 20) if tiny else (200, 120)
    folders = [home / f"columns {seed}" for seed in range(n_draws)]
    found: dict[str, Rows] = {name: [] for name in SELECTORS}
    problems = []
    for seed, folder in enumerate(folders):
        folder.mkdir()
        problems.append(draw_columns(n, d, seed))
        for name, array in zip(("X", "y"), problems[-1], strict=False):
            np.save(folder / f"{name}.npy", array)
        X, y = problems[-1][:2]
        for name, make in SELECTORS.items():
            if not seed:
                make().fit(X, y)
            started = time.process_time()
            chosen = np.flatnonzero(make().fit(X, y).get_support())
            found[name].append(judge_columns(problems[-1], chosen, time.process_time() - started))
    for name in feature_selectors.PACKAGES:
        if name not in left_out:
            rows = ask(python, "feature_selectors.py", name, str(N_MATTER), *map(str, folders))
            found[name] = [
                judge_columns(problem, np.array(row["columns"], dtype=int), row["fit_s"])
                for problem, row in zip(problems, rows, strict=True)
            ]
    return found


def draw_columns(n: int, d: int, seed: int) -> tuple[np.ndarray, ...]:
    """Return rows in [0, 1] of two kinds that the first columns tell apart, then new ones."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n + 1000) % 2)
    X = rng.normal(size=(len(y), d))
    X[:, :N_MATTER] += 0.6 * (2 * y[:, None] - 1)
    X = 1 / (1 + np.exp(-X))
    return X[:n], y[:n], X[n:], y[n:]


def judge_columns(
    problem: tuple[np.ndarray, ...], chosen: np.ndarray, seconds: float
) -> dict[str, float]:
    X, y, X_test, y_test = problem
    right = 0.5
    if len(chosen):
        model = LinearSVM(C=1.0).fit(X[:, chosen], y)
        right = float((model.predict(X_test[:, chosen]) == y_test).mean())
    return {
        "columns": float(len(chosen)),
        "of 10 that matter": float((chosen < N_MATTER).sum()),
        "accuracy of an SVM on them": right,
        "fit s": seconds,
    }


def compare_groups(n_draws: int, *, tiny: bool) -> dict[str, Rows]:
    n, n_iter = (60, 3) if tiny else (300, 200)
    words = [f"word {j}" for j in range(N_WORDS)]
    ours = "tree of attributes"
    groupers: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
        "HDBSCAN and c-TF-IDF": (
            lambda A: topic_names.find_groups(A, SMALLEST),
            topic_names.name_groups,
        ),
        "Ward and c-TF-IDF": (lambda A: topic_names.part_by_ward(A, 12), topic_names.name_groups),
        "k-means and frequent words": (
            lambda A: topic_names.part_by_means(A, 12),
            topic_names.name_by_frequency,
        ),
    }
    found: dict[str, Rows] = {name: [] for name in (ours, *groupers)}
    AttributeTree(3, 1).fit(draw_words(30, 0)[0])  # compiled before it is timed
    for seed in range(n_draws):
        A, y = draw_words(n, seed)
        started = time.process_time()
        model = AttributeTree(n_iter, 2, random_state=seed).fit(A)
        told = describe_tree(model.tree_, model.labels_, A, words)
        seconds = time.process_time() - started
        names = {k: [words.index(w) for w in own] for k, own in enumerate(told.words) if own}
        found[ours].append(judge_groups(A, y, told.labels, names, seconds))
        for name, (part, call) in groupers.items():
            started = time.process_time()
            labels = part(A)
            named = call(A, labels, 3)
            seconds = time.process_time() - started
            found[name].append(judge_groups(A, y, labels, named, seconds))
    return found


def draw_words(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of 3 × 2 × 2 kinds: 4 words for a group, 3 for a branch and 3 for a kind."""
    rng = np.random.default_rng(seed)
    shown = np.zeros((12, N_WORDS), dtype=bool)
    free = iter(rng.permutation(N_WORDS))
    for width, n_each in ((4, 4), (2, 3)):
        for first in range(0, 12, width):
            shown[first : first + width, [next(free) for _ in range(n_each)]] = True
    for k in range(12):
        shown[k, rng.choice(N_WORDS, 3, replace=False)] = True
    y = rng.integers(12, size=n)
    return (shown[y] ^ (rng.random((n, N_WORDS)) < 0.03)).astype(float), y


def judge_groups(
    A: np.ndarray, y: np.ndarray, labels: np.ndarray, names: dict[int, list[int]], seconds: float
) -> dict[str, float]:
    named = [i for i, k in enumerate(labels.tolist()) if k in names]
    true = [A[i, names[int(labels[i])]].mean() for i in named]
    return {
        "adjusted Rand index": float(adjusted_rand_score(y, labels)),
        "groups": float(len(np.unique(labels[labels >= 0]))),
        "rows with a name": len(named) / len(y),
        "words true of their rows": float(np.mean(true)) if true else 0.0,
        "fit s": seconds,
    }


def weigh(python: str | None, left_out: dict[str, str]) -> dict[str, float]:
    """Return how many MB the files of each package are on disk, ours first."""
    own = sum(
        path.stat().st_size for path in (ROOT / "src").rglob("*") if "__pycache__" not in path.parts
    )
    found = {"fieldguide": own / 1e6}
    packages = CLASSIFIERS | feature_selectors.PACKAGES
    for package in dict.fromkeys(packages[name] for name in packages if name not in left_out):
        script = (
            "import importlib, pathlib, sys; "
            "home = pathlib.Path(importlib.import_module(sys.argv[1]).__file__).parent; "
            "print(sum(p.stat().st_size for p in home.rglob('*') if '__pycache__' not in p.parts))"
        )
        told = subprocess.run(
            [str(python), "-c", script, package], capture_output=True, text=True, check=True
        )
        found[package] = float(told.stdout.split()[-1]) / 1e6
    return found


def ask(python: str | None, script: str, *arguments: str) -> list[dict[str, Any]]:
    """Run a peer in its own Python, with one thread, and return what it printed."""
    assert python is not None
    single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [python, str(ROOT / "benchmarks" / "peers" / script), *arguments]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | single
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return list(json.loads(done.stdout.splitlines()[-1]))


def table(result: dict) -> str:
    """Return a table for each part: means ± half of a 95 % interval, then ratios of time."""
    blocks = []
    for part, ways in result["parts"].items():
        first = next(iter(ways.values()))
        whats = list(first[0])
        timed = [what for what in whats if what in ("fit s", "µs a row")]
        heads = [*whats, *(f"{what} ÷ ours" for what in timed)]
        lines = [f"| {part} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
        for name, rows in ways.items():
            cells = [word_interval([row[what] for row in rows], _digits(what)) for what in whats]
            cells = ["not written" if cell == "nan" else cell for cell in cells]
            for what in timed:
                ratios = [a[what] / max(b[what], 1e-9) for a, b in zip(rows, first, strict=True)]
                cells.append("1" if rows is first else _show_spread(ratios))
            lines.append(f"| {name} | {' | '.join(cells)} |")
        blocks.append("\n".join(lines))
    weights = ", ".join(f"{name} {mb:.1f}" for name, mb in result["on disk, MB"].items())
    blocks.append(f"On disk, MB: {weights}.")
    blocks += [f"{name} left out: {reason}." for name, reason in result["left out"].items()]
    return "\n\n".join(blocks)


def _show_spread(ratios: list[float]) -> str:
    median, least, largest = (
        f"{value:.0f}" if value >= 10 else f"{value:.2g}" for value in spread(ratios).values()
    )
    return f"{median} ({least}–{largest})"


def _digits(what: str) -> int:
    if what == "model KB":
        return 0
    return 1 if what in ("columns", "of 10 that matter", "groups", "µs a row") else 3

"""How many words are enough? Average precision by the number of words, for ways to choose them.

The problems and splits of :mod:`benchmarks.problems.additive_table`, with 4,000 words. Each way
chooses words in the training rows, and the χ² SVM is trained on them, its C by three folds in which
the words are chosen again. "FS-χ², with the test rows" sees the test rows and their sides when it
chooses: it is no method, and shows how much of the choice is chance.

Every split of a problem is saved in out/bench/additive as soon as it is known, and not measured
again; ``ADDITIVE_SPLITS`` (10) makes a smaller study, ``ADDITIVE_JOBS`` processes share it.
"""

import json
import os
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.curves import draw_curves
from benchmarks.documents.item import word_interval
from benchmarks.measures import save
from benchmarks.problems.additive_pictures import PROBLEMS, Problem, describe
from benchmarks.problems.additive_table import (
    CELLS,
    SVM_C,
    rank_by_score,
    rank_in_rounds,
    train_svms,
)

PICTURE = "docs/pictures/additive_words_{}.svg"
COUNTS = (25, 50, 100, 200, 400, 800)
AT_ONCE = "FS-χ², with the test rows"


def draw_words(X: np.ndarray, y: np.ndarray, n_words: int) -> np.ndarray:
    """Return words drawn at random."""
    return np.random.default_rng(0).permutation(X.shape[1])[:n_words]


WAYS = {
    "FS-χ² in rounds": rank_in_rounds,
    "F statistic": rank_by_score,
    "at random": draw_words,
}


def run(data: Path | None, *, tiny: bool) -> dict:
    n_words, counts = (30, (5, 10)) if tiny else (4000, COUNTS)
    cells = CELLS.with_name("additive-tiny") if tiny else CELLS
    problems = [Problem(name, n_words, tiny) for name in PROBLEMS]
    if any(describe(cells, data, problem) is None for problem in problems):
        return {"skipped": "it needs --data with caltech101, cub200 and cifar10"}
    splits = range(1 if tiny else int(os.environ.get("ADDITIVE_SPLITS", "10")))
    jobs = [(problem, split) for split in splits for problem in problems]
    n_jobs = int(os.environ.get("ADDITIVE_JOBS", "1"))
    found = Parallel(n_jobs)(delayed(measure_split)(cells, *job, counts) for job in jobs)
    rows = [
        {"problem": problem.name, "split": split, **row}
        for (problem, split), part in zip(jobs, found, strict=True)
        for row in part
    ]
    result = {"counts": [*counts, n_words], "rows": rows}
    if not tiny:
        for name in PROBLEMS:
            draw(result, name)
    return result


def measure_split(
    cells: Path, problem: Problem, split: int, counts: tuple[int, ...]
) -> list[dict[str, float | str]]:
    """Return the average precision of each way and number of words on one split."""
    path = cells / f"{problem.name}-{problem.n_words}-{split}-words.json"
    if path.exists():
        return json.loads(path.read_text())
    X = describe(cells, None, problem)
    A, y, B, y_test = problem.split(X, split)
    both = rank_in_rounds(np.vstack([A, B]), np.concatenate([y, y_test]), max(counts))
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(A, y))
    parts = [(A[a], y[a], A[b], y[b]) for a, b in folds] + [(A, y, B, y_test)]
    ways = {**WAYS, AT_ONCE: lambda X, y, n_words: both[:n_words]}
    rows: list[dict[str, float | str]] = []
    for way, choose in ways.items():
        ranked = [choose(part[0], part[1], max(counts)) for part in parts]
        for count in counts:
            scores = [score(*part, kept[:count]) for part, kept in zip(parts, ranked, strict=True)]
            rows.append({"way": way, "words": count, "AP": pick(scores)})
    every = np.arange(X.shape[1])
    whole = pick([score(*part, every) for part in parts])
    rows += [{"way": way, "words": len(every), "AP": whole} for way in ways]
    save(path, rows)
    return rows


def score(X, y, X_test, y_test, kept: np.ndarray) -> list[float]:
    """Return the average precision of the χ² SVM on some words for each C."""
    found = train_svms("chi2", X[:, kept], y, X_test[:, kept], SVM_C)
    return [float(average_precision_score(y_test, margin)) for margin, _ in found]


def pick(scores: list[list[float]]) -> float:
    """Return the last score for the C that the others choose."""
    best = int(np.argmax(np.round(np.sum(scores[:-1], axis=0), 9)))
    return scores[-1][best]


def _mean(result: dict, problem: str, way: str, words: int) -> float:
    return float(np.mean(_of_splits(result, problem, way, words)))


def _of_splits(result: dict, problem: str, way: str, words: int) -> list[float]:
    wanted = (problem, way, words)
    return [r["AP"] for r in result["rows"] if (r["problem"], r["way"], r["words"]) == wanted]


def draw(result: dict, name: str) -> None:
    """Write the picture of one problem."""
    ways = [*WAYS, AT_ONCE]
    *counts, n_words = result["counts"]
    curves = {way: [(k, _mean(result, name, way, k)) for k in counts] for way in ways}
    whole = _mean(result, name, ways[0], n_words)
    draw_curves(
        Path(PICTURE.format(name)),
        curves,
        f"words of {n_words}",
        f"average precision, {name}",
        level=("χ² SVM on all words", whole),
    )


def table(result: dict) -> str:
    """Return the means, then the points above the SVM on all words, of the same splits."""
    *fewer, every = result["counts"]
    blocks = []
    for what, counts in (("mean", result["counts"]), ("points above all words", fewer)):
        lines = [f"| {what} | way | {' | '.join(map(str, counts))} |"]
        lines.append("|---" * (len(counts) + 2) + "|")
        for name in dict.fromkeys(row["problem"] for row in result["rows"]):
            for way in (*WAYS, AT_ONCE):
                whole = np.array(_of_splits(result, name, way, every))
                found = [np.array(_of_splits(result, name, way, k)) for k in counts]
                if what == "mean":
                    figures = [f"{values.mean():.3f}" for values in found]
                else:
                    figures = [word_interval(100 * (values - whole), 1) for values in found]
                lines.append(f"| {name} | {way} | {' | '.join(figures)} |")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)

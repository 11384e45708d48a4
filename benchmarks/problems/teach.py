"""Words taught by a few pictures, beside logistic regression on the same rows.

So many pictures that show an attribute and as many that do not teach it, drawn at random for each
seed; all other pictures judge. Rows are deep features of length one.

CUB-200: an attribute is shown by the pictures of a species if more than half of its annotators'
votes say so, seen in that picture or not. Specimens: pictures drawn by Fieldguide, of whose true
attributes nothing is hidden. Attributes are those that 40 pictures show and 40 do not, at most 24
of them, evenly.

"Average precision" and "balanced accuracy" are means over attributes, with the standard deviation
over seeds. "Holds" is the share of attributes of which the held-out pictures say that they hold;
then, of these and of all others, the share of the pictures said to show the word that do
("precision"), and of those that do that are said to ("recall"). A guide says the former alone.

    python benchmarks/run.py --only teach --data DIR
"""

import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, balanced_accuracy_score
from threadpoolctl import threadpool_limits

from benchmarks.problems.attribute_detectors import pick
from benchmarks.problems.keys import load_rows, prepare, scale_rows
from fieldguide.datasets import load_cub200, load_specimens
from fieldguide.features import ColorHistogram, DeepFeatures
from fieldguide.guide.edits import Lesson
from fieldguide.guide.teaching import Detector, judge_lesson

N_TAUGHT = (5, 10, 20)
N_SEEDS, N_ATTRIBUTES, LEAST = 5, 24, 40
OURS, PEER = "fieldguide", "LogisticRegression"


def run(data: Path | None, *, tiny: bool) -> dict:
    result = {"specimens": measure(*draw_specimens(tiny), tiny=tiny)}
    if data is not None and not tiny:
        prepare(data, "cub200 deep")
        X, y = load_rows("cub200 deep")
        shares = load_cub200(data / "cub200").class_attributes
        result["CUB-200"] = measure(X, shares[y] > 0.5, tiny=False)
    return result


def draw_specimens(tiny: bool) -> tuple[np.ndarray, np.ndarray]:
    specimens = load_specimens(n_per_kind=3 if tiny else 20, size_px=64 if tiny else 128)
    feature = ColorHistogram() if tiny else DeepFeatures(n_jobs=1)
    return scale_rows(feature.fit_transform(specimens.images)), specimens.attributes > 0


def measure(X: np.ndarray, A: np.ndarray, *, tiny: bool) -> dict:
    """Return the quality of both contestants on each attribute, for each seed and size."""
    X, least = np.asarray(X, dtype=np.float32), 12 if tiny else LEAST
    usable = np.flatnonzero(np.minimum(A.sum(axis=0), (~A).sum(axis=0)) >= least)
    columns = pick(usable, 2 if tiny else N_ATTRIBUTES)
    rows = []
    for n in (5,) if tiny else N_TAUGHT:
        for seed in range(1 if tiny else N_SEEDS):
            for column in columns:
                rows.append({"n": n, "seed": seed, **compare(X, A[:, column], n, seed)})
    return {"n": [*X.shape, len(columns)], "base": float(A[:, columns].mean()), "rows": rows}


def compare(X: np.ndarray, is_shown: np.ndarray, n: int, seed: int) -> dict:
    """Return what n pictures of each sort teach both contestants."""
    rng = np.random.default_rng([seed, n])
    sides = (np.flatnonzero(is_shown), np.flatnonzero(~is_shown))
    lesson = Lesson(*(tuple(np.sort(rng.choice(s, n, replace=False)).tolist()) for s in sides))
    rows = [*lesson.yes, *lesson.no]
    new = np.ones(len(X), dtype=bool)
    new[rows] = False
    with threadpool_limits(1, "blas"):
        started = time.process_time()
        peer = LogisticRegression(max_iter=1000).fit(X[rows], is_shown[rows])
        found = {PEER: peer.predict_proba(X[new])[:, 1]}
        seconds = {PEER: time.process_time() - started}
        started = time.process_time()
        found[OURS] = Detector.train(X, lesson, X).score(X[new])
        seconds[OURS] = time.process_time() - started
        reliability = judge_lesson(X, lesson, X)
    truth, said = is_shown[new], found[OURS] >= 0.5
    return {
        "precision": float(truth[said].mean()) if said.any() else None,
        "recall": float(said[truth].mean()),
        "holds": reliability.holds,
        "held out": reliability.balanced_accuracy,
        **{
            name: {
                "ap": float(average_precision_score(truth, p)),
                "balanced": float(balanced_accuracy_score(truth, p >= 0.5)),
                "precision": float(truth[p >= 0.5].mean()) if (p >= 0.5).any() else None,
                "seconds": seconds[name],
            }
            for name, p in found.items()
        },
    }


def table(result: dict) -> str:
    lines = []
    for data, found in result.items():
        if data == "machine":
            continue
        n, n_columns, n_attributes = found["n"]
        lines += [
            f"{data}: {n} pictures, {n_columns} columns, {n_attributes} attributes; "
            f"{found['base']:.1%} of the pictures show one",
            "",
            "| of each sort | detector | average precision | balanced accuracy | precision |",
            "|---|---|---|---|---|",
        ]
        sizes = sorted({row["n"] for row in found["rows"]})
        for size in sizes:
            rows = [row for row in found["rows"] if row["n"] == size]
            lines += [_contestant(rows, size, name) for name in (OURS, PEER)]
        lines += [
            "",
            "| of each sort | holds | its precision | recall | else precision | recall |",
            "|---|---|---|---|---|---|",
        ]
        for size in sizes:
            rows = [row for row in found["rows"] if row["n"] == size]
            holds = [row for row in rows if row["holds"]]
            others = [row for row in rows if not row["holds"]]
            cells = [_mean(part, name) for part in (holds, others) for name in SAID]
            lines.append(f"| {size} | {len(holds) / len(rows):.0%} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


SAID = ("precision", "recall")


def _contestant(rows: list[dict], size: int, name: str) -> str:
    cells = []
    for measure_name in ("ap", "balanced", "precision"):
        by_seed: dict[int, list[float]] = {}
        for row in rows:
            value = row[name][measure_name]
            by_seed.setdefault(row["seed"], []).extend([] if value is None else [value])
        means = [float(np.mean(values)) for values in by_seed.values() if values]
        cells.append(f"{np.mean(means):.3f} ± {np.std(means):.3f}")
    return f"| {size} | {name} | {' | '.join(cells)} |"


def _mean(rows: list[dict], name: str) -> str:
    values = [row[name] for row in rows if row[name] is not None]
    return f"{np.mean(values):.2f}" if values else "–"

"""Average precision and number of space-time words of selectors, one action against the rest.

A table as that of the study, on clips that our own code draws (24 frames of 96 px; flying,
swimming, crawling, hopping): histograms of 2,000 words of edges and movement (HOG and HOF in dense
blocks). The words are found in 8 clips of each action that are used for nothing else. A split
draws, of 32 clips of each action, 16 of each to train on and tests on the others; the action that
is asked for is positive and the three others are negative. Every method chooses its C by three
folds of the training clips, by average precision. The univariate score is the F statistic of a
word; it keeps as many words as FS-χ² did on the same split, and the χ² SVM is trained on them. The
last row trains the χ² SVM, without weights, on the words of FS-χ² itself.

Histograms, then splits, are kept in ``out/bench/clips``, so that a run goes on where it was
stopped.

    python benchmarks/run.py --only clip_selection
    CLIPS_SPLITS=10 CLIPS_ACTIONS=flying,hopping …
"""

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from threadpoolctl import threadpool_limits

from benchmarks.measures import save
from benchmarks.problems.additive_table import rank_by_score
from fieldguide.datasets import load_specimen_clips
from fieldguide.errors import FieldguideWarning
from fieldguide.select import AdditiveKernelSelector
from fieldguide.svm import KernelSVM, LinearSVM
from fieldguide.video import SpaceTimeWords

CELLS = Path("out/bench/clips")
ACTIONS = ("flying", "swimming", "crawling", "hopping")
SELECT_C = (0.02, 0.06, 0.2, 0.6, 2.0)
METHODS: dict[str, tuple[Any, tuple[float, ...]]] = {
    "linear SVM": (LinearSVM(loss="hinge"), (1e1, 1e2, 1e3, 1e4, 1e5)),
    "χ² SVM": (KernelSVM(kernel="chi2"), (1e0, 1e1, 1e2, 1e3, 1e4)),
    "MKL-χ²": (AdditiveKernelSelector("chi2", normalize=False), (1e1, 1e2, 1e3, 1e4, 1e5)),
    "FS-linear": (AdditiveKernelSelector("linear"), SELECT_C),
    "FS-χ²": (AdditiveKernelSelector("chi2"), SELECT_C),
    "FS-intersection": (AdditiveKernelSelector("intersection"), SELECT_C),
}
TOP, AGAIN = "top by F, χ² SVM", "words of FS-χ², χ² SVM"


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = {"n_words": 30, "n_apart": 1, "n_pool": 6, "n_train": 4, "n_frames": 6} if tiny else {}
    splits = range(1 if tiny else int(os.environ.get("CLIPS_SPLITS", "10")))
    actions = ACTIONS[:1] if tiny else os.environ.get("CLIPS_ACTIONS", ",".join(ACTIONS)).split(",")
    cells = CELLS.with_name("clips-tiny") if tiny else CELLS
    rows = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", FieldguideWarning)
        for action in actions:
            found = [measure_split(cells, action, split, **sizes) for split in splits]
            for method in found[0]:
                row = {key: [cell[method][key] for cell in found] for key in found[0][method]}
                rows.append({"action": action, "method": method, **row})
    return {"n_splits": len(splits), "rows": rows}


def measure_split(
    cells: Path,
    action: str,
    split: int,
    *,
    n_words: int = 2000,
    n_apart: int = 8,
    n_pool: int = 32,
    n_train: int = 16,
    n_frames: int = 24,
) -> dict[str, dict[str, float]]:
    """Return what every method gets on one split; what its file holds is not done again."""
    path = cells / f"selection-{action}-{split}.json"
    found: dict[str, dict[str, float]] = json.loads(path.read_text()) if path.exists() else {}
    if {*METHODS, TOP, AGAIN} <= set(found):
        return found
    X, target = describe(cells, n_words, n_apart, n_pool, n_frames)
    rng = np.random.default_rng([split, 11])
    order = [rng.permutation(np.flatnonzero(target == k)) for k in range(len(ACTIONS))]
    train = np.concatenate([part[:n_train] for part in order])
    test = np.concatenate([part[n_train:] for part in order])
    y = (target == ACTIONS.index(action)).astype(int)

    def try_bins(kept: np.ndarray) -> dict[str, float]:
        A, B = X[train][:, kept], X[test][:, kept]
        return judge(*METHODS["χ² SVM"], A, y[train], B, y[test])

    for method, (estimator, grid) in METHODS.items():
        if method not in found:
            found[method] = judge(estimator, grid, X[train], y[train], X[test], y[test])
            save(path, found)
    if TOP not in found:
        found[TOP] = try_bins(rank_by_score(X[train], y[train], int(found["FS-χ²"]["bins"])))
    if AGAIN not in found:
        selector = AdditiveKernelSelector("chi2", C=found["FS-χ²"]["C"])
        found[AGAIN] = try_bins(selector.fit(X[train], y[train]).get_support())
    save(path, found)
    return found


def describe(
    cells: Path, n_words: int, n_apart: int, n_pool: int, n_frames: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the histogram and the action of each clip of the pool."""
    path = cells / f"words-{n_words}-{n_apart}-{n_pool}.npz"
    if not path.exists():
        drawn = load_specimen_clips(n_apart + n_pool, n_frames, random_state=0)
        n_first = n_apart * len(ACTIONS)  # round by round: the first are as many of each action
        words = SpaceTimeWords(n_words, n_descriptors=40_000, n_iter=8).fit(drawn.clips[:n_first])
        rows = words.transform(drawn.clips[n_first:])
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, X=rows, target=drawn.target[n_first:])
    with np.load(path) as kept:
        return kept["X"].astype(np.float64), kept["target"]


def judge(estimator: Any, grid: tuple[float, ...], X, y, X_test, y_test) -> dict[str, float]:
    """Return average precision, words and C of an estimator whose C the training rows choose."""
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(estimator, {"C": grid}, scoring="average_precision", cv=folds).fit(X, y)
    best = search.best_estimator_
    margin = best.decision_function(X_test)
    return {
        "AP": float(average_precision_score(y_test, margin)),
        "bins": float(getattr(best, "n_selected_", X.shape[1])),
        "C": float(search.best_params_["C"]),
    }


def table(result: dict) -> str:
    lines = [
        f"{result['n_splits']} splits, mean and standard deviation.",
        "",
        "| action | method | AP | ± | words | least | most |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        ap, bins = np.array(row["AP"]), np.array(row["bins"])
        lines.append(
            f"| {row['action']} | {row['method']} | {ap.mean():.3f} | {ap.std():.3f} "
            f"| {bins.mean():.0f} | {bins.min():.0f} | {bins.max():.0f} |"
        )
    return "\n".join(lines)

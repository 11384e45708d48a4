"""Attribute detectors beside scikit-learn, on pictures that they were not trained on.

CUB-200: deep features of length one; a picture has its species' shares of votes. 150 species to
train on, pictures of the other 50 to judge by; attributes that more than half of the annotators saw
in at least 5 species of the former and 2 of the latter, a sample of them. ROC area and average
precision are against a share above one half, cross-entropy and Brier score against the share.
Specimens: pictures drawn by Fieldguide, attributes true of the picture, half of each kind to train
on, deep features too.

"soft" rows count as positive by their share and as negative by the rest; the others are cut at one
half. scikit-learn's peers take soft rows as two weighted copies; their C is 1 too, but
where said. Contestants take turns, an attribute at a time; times are CPU seconds of one thread,
ratios over attributes.
"promised" is the ROC area, weighted by shares, that held-out rows promise when folds are dealt by
row and by species, and what new species give.

    python benchmarks/run.py --only attribute_detectors --data DIR
"""

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.measures import spread
from benchmarks.problems.keys import load_rows, prepare, scale_rows
from fieldguide.datasets import load_cub200, load_specimens
from fieldguide.describe import AttributeDetectors
from fieldguide.describe.attribute_detectors import judge, split_soft
from fieldguide.features import ColorHistogram, DeepFeatures

N_SPECIES, N_COMPARED = 150, 8
OURS = "fieldguide, soft"

Predict = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def detect(X, a, groups, X_new, **options: Any) -> np.ndarray:
    detectors = AttributeDetectors(**options).fit(X, a[:, None], groups)
    return detectors.predict_proba(X_new)[:, 0]


def regress(X, a, groups, X_new, **options: Any) -> np.ndarray:
    place, sign, weight = split_soft(a)
    peer = LogisticRegression(max_iter=300, **options).fit(X[place], sign, sample_weight=weight)
    return peer.predict_proba(X_new)[:, 1]


def calibrate(X, a, groups, X_new) -> np.ndarray:
    place, sign, weight = split_soft(a)
    folds = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    cv = list(folds.split(X[place], sign, groups[place]))
    peer = CalibratedClassifierCV(LinearSVC(), method="sigmoid", ensemble=False, cv=cv)
    return peer.fit(X[place], sign, sample_weight=weight).predict_proba(X_new)[:, 1]


def cut(predict: Predict) -> Predict:
    return lambda X, a, groups, X_new: predict(X, (a > 0.5).astype(float), groups, X_new)


CONTESTANTS: dict[str, Predict] = {
    OURS: detect,
    "fieldguide, cut": cut(detect),
    "LogisticRegression, soft": regress,
    "LogisticRegression, soft, C 10": partial(regress, C=10.0),
    "LogisticRegression, cut": cut(regress),
    "LinearSVC + sigmoid, soft": calibrate,
    "LinearSVC + sigmoid, cut": cut(calibrate),
}
# Where annotations are 0 or 1, soft and cut are the same.
ON_SPECIMENS = tuple(name for name in CONTESTANTS if "cut" not in name)


def run(data: Path | None, *, tiny: bool) -> dict:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the peers, at their own defaults
        result = {"specimens": measure_specimens(tiny)}
        if data is not None and not tiny:
            result |= measure_species(data)
    return result


def measure_specimens(tiny: bool) -> dict:
    n_per_kind = 4 if tiny else 20
    specimens = load_specimens(n_per_kind=n_per_kind, size_px=64 if tiny else 128)
    feature = ColorHistogram() if tiny else DeepFeatures(n_jobs=1)
    X = scale_rows(feature.fit_transform(specimens.images))
    A = specimens.attributes.astype(float)
    train = np.arange(len(X)) < len(X) // 2  # round by round: half of each kind
    seen = np.minimum(A[train].sum(axis=0), (1 - A[train]).sum(axis=0)) >= 5
    new = np.minimum(A[~train].sum(axis=0), (1 - A[~train]).sum(axis=0)) >= 2
    columns = pick(np.flatnonzero(seen & new), 2 if tiny else 2 * N_COMPARED)
    # Attributes are true of the picture: a picture is its own group.
    split = (X[train], A[train][:, columns], np.arange(train.sum()))
    return compare(ON_SPECIMENS, *split, X[~train], A[~train][:, columns])


def measure_species(data: Path) -> dict:
    prepare(data, "cub200 deep")
    X, y = load_rows("cub200 deep")
    shares = load_cub200(data / "cub200").class_attributes.astype(float)
    order = np.random.default_rng(0).permutation(len(shares))
    seen, new = order[:N_SPECIES], order[N_SPECIES:]
    is_usable = ((shares[seen] > 0.5).sum(axis=0) >= 5) & ((shares[new] > 0.5).sum(axis=0) >= 2)
    shares = shares[:, is_usable]
    columns = pick(np.arange(shares.shape[1]), N_COMPARED)
    train, test = np.isin(y, seen), np.isin(y, new)
    A, A_new = shares[y[train]], shares[y[test]]
    split = (X[train], A[:, columns], y[train])
    every = []
    for C in (1.0, "cv"):
        started = time.process_time()
        detectors = AttributeDetectors(C=C).fit(X[train], A, y[train])
        seconds = time.process_time() - started
        p = detectors.predict_proba(X[test])
        every.append({"C": C, "chosen": detectors.C_, "seconds": seconds, **score(p, A_new)})
    by_row = AttributeDetectors(C=detectors.C_).fit(X[train], A[:, columns])
    given = np.array([judge(p[:, d], A_new[:, d])[1] for d in columns])
    return {
        "species": compare(tuple(CONTESTANTS), *split, X[test], A_new[:, columns]),
        "promised": {
            "by row": float(by_row.held_out_.roc_auc.mean()),
            "by species": float(detectors.held_out_.roc_auc[columns].mean()),
            "new species": float(given.mean()),
        },
        "n_usable": shares.shape[1],
        "every": every,
    }


def pick(columns: np.ndarray, n: int) -> np.ndarray:
    """Return at most n of the columns, evenly."""
    return columns[np.linspace(0, len(columns) - 1, min(n, len(columns))).astype(int)]


def compare(names: tuple[str, ...], X, A, groups, X_new, A_new) -> dict:
    """Return quality and time of each contestant; they take turns, an attribute at a time."""
    found = {name: np.empty(A_new.shape) for name in names}
    seconds: dict[str, list[float]] = {name: [] for name in names}
    detect(X[:40], np.arange(40) % 2.0, np.arange(40), X_new)  # compiles
    for d in range(A.shape[1]):
        for name in names:
            started = time.process_time()
            found[name][:, d] = CONTESTANTS[name](X, A[:, d], groups, X_new)
            seconds[name].append(time.process_time() - started)
    return {
        "n": [len(X), len(X_new), X.shape[1], A.shape[1]],
        "rows": [
            {
                "contestant": name,
                **score(found[name], A_new),
                "seconds": spread(seconds[name]),
                "ratio": spread([b / a for a, b in zip(seconds[OURS], seconds[name], strict=True)]),
            }
            for name in names
        ],
    }


def score(p: np.ndarray, shares: np.ndarray) -> dict[str, float]:
    """Return means over attributes of four measures of probabilities."""
    truth = shares > 0.5
    columns = range(shares.shape[1])
    clipped = np.clip(p, 1e-6, 1 - 1e-6)
    entropy = shares * np.log(clipped) + (1 - shares) * np.log1p(-clipped)
    return {
        "auc": float(np.mean([roc_auc_score(truth[:, d], p[:, d]) for d in columns])),
        "ap": float(np.mean([average_precision_score(truth[:, d], p[:, d]) for d in columns])),
        "entropy": float(-entropy.mean()),
        "brier": float(np.square(p - shares).mean()),
    }


def table(result: dict) -> str:
    lines = []
    for data in ("species", "specimens"):
        if data not in result:
            continue
        n, n_new, n_columns, n_attributes = result[data]["n"]
        lines += [
            f"{data}: {n} rows to train on, {n_new} new ones, {n_columns} columns, "
            f"{n_attributes} attributes",
            "",
            "| detector | ROC area | average precision | cross-entropy | Brier "
            "| s per attribute | time ÷ fieldguide, soft |",
            "|---|---|---|---|---|---|---|",
        ]
        for row in result[data]["rows"]:
            r = row["ratio"]
            lines.append(
                f"| {row['contestant']} | {row['auc']:.3f} | {row['ap']:.3f} "
                f"| {row['entropy']:.4f} | {row['brier']:.4f} | {row['seconds']['median']:.2f} "
                f"| {r['median']:.1f} ({r['least']:.1f}–{r['largest']:.1f}) |"
            )
        lines.append("")
    if "promised" in result:
        told = result["promised"]
        lines += [
            f"Promised by rows held out {told['by row']:.3f}, by species held out "
            f"{told['by species']:.3f}; new species give {told['new species']:.3f}.",
            "",
            f"All {result['n_usable']} such attributes in one fit:",
            "",
            "| C | chosen | ROC area | average precision | cross-entropy | Brier | s |",
            "|---|---|---|---|---|---|---|",
        ]
        lines += [
            f"| {row['C']} | {row['chosen']:g} | {row['auc']:.3f} | {row['ap']:.3f} "
            f"| {row['entropy']:.4f} | {row['brier']:.4f} | {row['seconds']:.0f} |"
            for row in result["every"]
        ]
    return "\n".join(lines)

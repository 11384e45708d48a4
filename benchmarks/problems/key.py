"""The key of a guide beside scikit-learn's linear classifiers: held-out accuracy and seconds.

Embeddings of Caltech-101 photographs, or of drawn specimens without ``--data``; rows of length
one, the same five folds for all.
"""

import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from fieldguide._random import deal_folds
from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.features import DeepFeatures
from fieldguide.identify import OneVsAllClassifier, OneVsOneClassifier


def load(data: Path | None, tiny: bool) -> tuple[str, np.ndarray, np.ndarray]:
    if data is not None and (data / "caltech101").is_dir():
        collection = Collection.from_folder(data / "caltech101")
        y = np.array([item.kind for item in collection.items])
        X = DeepFeatures().transform(collection)
        name = "caltech101"
    else:
        drawn = load_specimens(3 if tiny else 30, n_jobs=1 if tiny else -1)
        X, y, name = DeepFeatures().transform(drawn.images), drawn.target, "specimens"
    if tiny:
        kept = np.isin(y, np.unique(y)[:4])
        X, y = X[kept], y[kept]
    return name, X / np.linalg.norm(X, axis=1, keepdims=True), y


def run(data: Path | None, *, tiny: bool) -> dict:
    name, X, y = load(data, tiny)
    contestants: dict[str, BaseEstimator] = {
        f"OneVsAllClassifier(C={C})": OneVsAllClassifier(C=C, probability=False)
        for C in (0.3, 1.0, 3.0)
    }
    contestants["OneVsAllClassifier(C=1.0), calibrated"] = OneVsAllClassifier()
    contestants["OneVsOneClassifier(C=1.0)"] = OneVsOneClassifier(probability=False)
    contestants |= {f"LinearSVC(C={C})": LinearSVC(C=C, max_iter=10_000) for C in (0.3, 1.0, 3.0)}
    contestants["LogisticRegression(C=100)"] = LogisticRegression(C=100.0, max_iter=1000)
    fold = deal_folds(y, 5, 0)
    rows = []
    for title, estimator in contestants.items():
        is_right = np.zeros(len(y), dtype=bool)
        started = time.perf_counter()
        for k in range(5):
            estimator.fit(X[fold != k], y[fold != k])
            is_right[fold == k] = estimator.predict(X[fold == k]) == y[fold == k]
        seconds = (time.perf_counter() - started) / 5
        rows.append({"key": title, "accuracy": float(is_right.mean()), "seconds_per_fit": seconds})
    return {"data": name, "n": len(y), "n_kinds": len(np.unique(y)), "rows": rows}


def table(result: dict) -> str:
    lines = [
        f"{result['data']}: {result['n']} rows, {result['n_kinds']} kinds",
        "",
        "| key | held-out accuracy | seconds per fit |",
        "|---|---|---|",
    ]
    for row in result["rows"]:
        lines.append(f"| {row['key']} | {row['accuracy']:.3f} | {row['seconds_per_fit']:.2f} |")
    return "\n".join(lines)

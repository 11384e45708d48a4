"""Which descriptors tell the kinds of Caltech-101 apart? Mean accuracy over kinds, 3 splits.

Each split draws 20 photographs of each of the 101 kinds to train on and 10 others to test on. The
background is left out. Descriptors that are histograms are scaled to sum 1 and mapped to the χ²
kernel; others are scaled to length 1. A stack puts the columns of several side by side. All are
judged by the same linear one-vs-all SVM, with the C that is best by cross-validation on the
training rows. Words are found in the training photographs of the split.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh

from fieldguide.features import (
    BagOfWords,
    ColorHistogram,
    DeepFeatures,
    Gist,
    LocalBinaryPatterns,
    SpatialHOG,
)
from fieldguide.identify import OneVsAllClassifier
from fieldguide.kernels import AdditiveKernelMap

FEATURES: dict[str, tuple[Callable[[], Any], str]] = {
    "words": (lambda: BagOfWords(n_jobs=-1), "chi2"),
    "hog": (lambda: SpatialHOG(n_jobs=-1), "chi2"),
    "patterns": (lambda: LocalBinaryPatterns(n_jobs=-1), "chi2"),
    "colors": (lambda: ColorHistogram(n_jobs=-1), "chi2"),
    "gist": (lambda: Gist(n_jobs=-1), "chi2"),
    "deep": (lambda: DeepFeatures(n_jobs=-1), "linear"),
}
STACKS: tuple[tuple[str, ...], ...] = (
    ("words",),
    ("hog",),
    ("patterns",),
    ("colors",),
    ("gist",),
    ("words", "hog"),
    ("words", "hog", "patterns", "colors", "gist"),
    ("deep",),
)
BLOCK = 2000  # columns mapped at a time


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None or not (data / "caltech101").is_dir():
        return {"skipped": "it needs --data with caltech101"}
    sizes = {"n_kinds": 4, "n_train": 8, "n_test": 4} if tiny else {}
    splits = [measure_split(data, seed, **sizes) for seed in range(1 if tiny else 3)]
    rows = [
        {"stack": stack, **{key: [split[stack][key] for split in splits] for key in split}}
        for stack, split in splits[0].items()
    ]
    return {"n_splits": len(splits), "rows": rows}


def measure_split(
    data: Path, seed: int, *, n_kinds: int = 101, n_train: int = 20, n_test: int = 10
) -> dict[str, dict[str, float]]:
    """Return accuracy, columns and images per second of every stack on one split."""
    train, test = split_files(data, seed, n_kinds, n_train, n_test)
    y_train, y_test = np.repeat(range(n_kinds), n_train), np.repeat(range(n_kinds), n_test)
    grams, widths, rates = {}, {}, {}
    for name, (make, kernel) in FEATURES.items():
        feature = make().fit(train)
        started = time.perf_counter()
        rows = feature.transform(train + test)
        rates[name] = len(rows) / (time.perf_counter() - started)
        grams[name], widths[name] = gram(rows, kernel), rows.shape[1]
    found = {}
    for stack in STACKS:
        Z = rotate(sum(grams[name] for name in stack), len(train))
        C, accuracy = judge(Z[: len(train)], y_train, Z[len(train) :], y_test)
        found[" + ".join(stack)] = {
            "accuracy": accuracy,
            "C": C,
            "columns": sum(widths[name] for name in stack),
            "images per s": 1 / sum(1 / rates[name] for name in stack),
        }
    return found


def split_files(
    data: Path, seed: int, n_kinds: int, n_train: int, n_test: int
) -> tuple[list[Path], list[Path]]:
    """Return the files to train on and to test on, kind by kind."""
    kinds = [folder for folder in sorted((data / "caltech101").iterdir()) if folder.is_dir()]
    kinds = [folder for folder in kinds if folder.name != "BACKGROUND_Google"][:n_kinds]
    train, test = [], []
    for k, folder in enumerate(kinds):
        files = sorted(folder.glob("*.jpg"))
        order = np.random.default_rng([seed, k]).permutation(len(files))
        train += [files[i] for i in order[:n_train]]
        test += [files[i] for i in order[n_train : n_train + n_test]]
    return train, test


def gram(rows: np.ndarray, kernel: str) -> np.ndarray:
    """Return the scalar products of the mapped rows, whose own are all 1, (n, n)."""
    found = np.zeros((len(rows), len(rows)), dtype=np.float32)
    for start in range(0, rows.shape[1], BLOCK):
        part = np.ascontiguousarray(rows[:, start : start + BLOCK])
        if kernel != "linear":
            part = AdditiveKernelMap(kernel).fit_transform(part)
        found += part @ part.T
    # The kernel of a histogram scales with it, so this is the same as scaling the rows before.
    length = np.sqrt(np.maximum(np.diag(found), 1e-12))
    return found / length[:, None] / length


def rotate(products: np.ndarray, n_train: int) -> np.ndarray:
    """Return rows with the same scalar products with the first ``n_train``, in as many columns.

    A linear classifier trained on those cannot tell them from the tens of thousands of columns.
    """
    values, vectors = eigh(products[:n_train, :n_train].astype(np.float64))
    is_there = values > 1e-6 * values[-1]
    axes = vectors[:, is_there] / np.sqrt(values[is_there])
    return (products[:, :n_train] @ axes).astype(np.float32)


def judge(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray
) -> tuple[float, float]:
    """Return the C that is best by cross-validation, and the mean accuracy over kinds."""
    key = OneVsAllClassifier("cv", probability=False, n_jobs=-1).fit(X, y)
    is_right = key.predict(X_test) == y_test
    return key.C_, float(np.mean([is_right[y_test == k].mean() for k in np.unique(y)]))


def table(result: dict) -> str:
    lines = [
        "| descriptors | columns | images/s | mean accuracy | least | largest |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        accuracy = row["accuracy"]
        lines.append(
            f"| {row['stack']} | {row['columns'][0]:,} | {np.median(row['images per s']):.0f} "
            f"| {np.mean(accuracy):.3f} | {min(accuracy):.3f} | {max(accuracy):.3f} |"
        )
    return "\n".join(lines)

"""ClassifierPool: size, seconds to fit, images per second, and what a learner gets out of it.

Ten classes of CIFAR-10, or of drawn specimens without ``--data``. Pool, learner and test have
pictures of their own. Three questions:

- accuracy of a linear one-vs-all classifier on the columns, with few pictures of each class,
- the same for ten classes that the pool was not trained on (Caltech-101),
- the leak: a pool that is fitted on the learner's pictures. What cross-validation on them
  promises is set beside the accuracy on new pictures.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score

from fieldguide.datasets import load_specimens
from fieldguide.features.classifier_pool import ClassifierPool
from fieldguide.identify import OneVsAllClassifier

POOLS: dict[str, dict[str, Any]] = {
    "I clusters": {"kind": "clusters"},
    "II windows": {"kind": "windows"},
    "I + II": {"kind": ("clusters", "windows")},
    "III outputs, whole and centre": {"kind": "outputs", "windows": ("whole", "centre")},
}
LEAKY = ("I clusters", "II windows")
N_DRAWS = 5


class Pictures:
    """Some pictures and their classes."""

    def __init__(self, images: list, y: np.ndarray) -> None:
        self.images, self.y = images, y

    def part(self, start: int, stop: int) -> "Pictures":
        """Return the pictures from ``start`` to ``stop`` of each class."""
        rank = np.zeros(len(self.y), dtype=int)
        for kind in np.unique(self.y):
            rank[self.y == kind] = np.arange((self.y == kind).sum())
        kept = np.flatnonzero((rank >= start) & (rank < stop))
        return Pictures([self.images[i] for i in kept], self.y[kept])


def read_folder(folder: Path, kinds: list[str]) -> Pictures:
    paths = [path for kind in kinds for path in sorted((folder / kind).glob("*.jpg"))]
    return Pictures(paths, np.array([path.parent.name for path in paths]))


def load(data: Path | None, tiny: bool) -> tuple[str, Pictures, Pictures, Pictures]:
    """Return the name of the data and the pictures of pool, learner and test."""
    if data is not None and (data / "cifar10").is_dir():
        kinds = sorted(path.name for path in (data / "cifar10" / "train").iterdir())
        train = read_folder(data / "cifar10" / "train", kinds)
        test = read_folder(data / "cifar10" / "test", kinds)
        if tiny:
            return "cifar10", train.part(0, 6), train.part(6, 12), test.part(0, 4)
        return "cifar10", train.part(0, 300), train.part(300, 360), test
    drawn = load_specimens(9 if tiny else 90, 64, n_jobs=1 if tiny else -1)
    kept = np.flatnonzero(drawn.target < (3 if tiny else 10))
    every = Pictures([drawn.images[i] for i in kept], drawn.target[kept])
    if tiny:
        return "specimens", every.part(0, 3), every.part(3, 6), every.part(6, 9)
    return "specimens", every.part(0, 20), every.part(20, 70), every.part(70, 90)


def fit_learner(X: np.ndarray, y: np.ndarray) -> Any:
    """Return a linear classifier whose C was chosen on the rows that it is trained on."""
    least = np.unique(y, return_counts=True)[1].min()
    grid = {"C": [0.001, 0.01, 0.1, 1.0]}
    return GridSearchCV(OneVsAllClassifier(), grid, cv=min(3, least)).fit(X, y)


def score_learner(
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
    n_per_class: int,
    n_draws: int,
) -> float:
    """Return the mean accuracy over draws of ``n_per_class`` training rows of each class."""
    scores = []
    for draw in range(n_draws):
        rng = np.random.default_rng(draw)
        rows = np.concatenate(
            [rng.permutation(np.flatnonzero(y == kind))[:n_per_class] for kind in np.unique(y)]
        )
        scores.append(fit_learner(X[rows], y[rows]).score(X_test, y_test))
    return float(np.mean(scores))


def measure_pools(
    own: Pictures, learner: Pictures, test: Pictures, sizes: tuple, n_draws: int
) -> list[dict]:
    rows = []
    for name, arguments in POOLS.items():
        # The maps of outputs need few pictures, and a network takes its time.
        pictures = own.part(0, 50) if arguments["kind"] == "outputs" else own
        started = time.perf_counter()
        pool = ClassifierPool(**arguments).fit(pictures.images, pictures.y)
        fit_s = time.perf_counter() - started
        started = time.perf_counter()
        X, X_test = pool.transform(learner.images), pool.transform(test.images)
        rate = (len(X) + len(X_test)) / (time.perf_counter() - started)
        accuracy = {n: score_learner(X, learner.y, X_test, test.y, n, n_draws) for n in sizes}
        rows.append(
            {
                "pool": name,
                "pictures": len(pictures.y),
                "classifiers": X.shape[1],
                "fit_s": fit_s,
                "images_per_s": rate,
                "accuracy": accuracy,
            }
        )
    return rows


def measure_leak(own: Pictures, learner: Pictures, test: Pictures, n: int) -> list[dict]:
    """Fit pools on the learner's ``n`` pictures of each class, and on as many others."""
    rows = []
    taught = learner.part(0, n)
    for name in LEAKY:
        for is_leaky, pictures in ((True, taught), (False, own.part(0, n))):
            pool = ClassifierPool(**POOLS[name]).fit(pictures.images, pictures.y)
            X, X_test = pool.transform(taught.images), pool.transform(test.images)
            found = fit_learner(X, taught.y)
            promised = cross_val_score(found.best_estimator_, X, taught.y, cv=min(5, n))
            rows.append(
                {
                    "pool": name,
                    "fitted on the learner's pictures": is_leaky,
                    "promised by cross-validation": float(promised.mean()),
                    "accuracy on new pictures": float(found.score(X_test, test.y)),
                }
            )
    return rows


def measure_other_classes(data: Path, tiny: bool) -> dict:
    """Fit pools on ten classes of Caltech-101 and learn ten others."""
    folder = data / "caltech101"
    sizes = {
        path.name: len(list(path.glob("*.jpg")))
        for path in sorted(folder.iterdir())
        if path.is_dir() and not path.name.startswith(("BACKGROUND", "Faces_easy"))
    }
    largest = sorted(sizes, key=lambda kind: (-sizes[kind], kind))[: 6 if tiny else 20]
    n = 4 if tiny else 40
    own = read_folder(folder, sorted(largest[::2])).part(0, n)
    others = read_folder(folder, sorted(largest[1::2]))
    learner, test = others.part(0, n // 2), others.part(n // 2, n)
    accuracy = {}
    for name in list(POOLS)[:3]:
        pool = ClassifierPool(**POOLS[name]).fit(own.images, own.y)
        X, X_test = pool.transform(learner.images), pool.transform(test.images)
        accuracy[name] = fit_learner(X, learner.y).score(X_test, test.y)
    return {"n_per_class": n // 2, "chance": 2 / len(largest), "accuracy": accuracy}


def run(data: Path | None, *, tiny: bool) -> dict:
    name, own, learner, test = load(data, tiny)
    sizes = (2, 3) if tiny else (8, 20, 50)
    result = {
        "data": name,
        "n_test": len(test.y),
        "rows": measure_pools(own, learner, test, sizes, 1 if tiny else N_DRAWS),
        "leak": measure_leak(own, learner, test, 3 if tiny else 50),
    }
    if data is not None and (data / "caltech101").is_dir():
        result["other_classes"] = measure_other_classes(data, tiny)
    return result


def table(result: dict) -> str:
    sizes = list(result["rows"][0]["accuracy"])
    lines = [
        f"{result['data']}: accuracy on {result['n_test']} new pictures",
        "",
        "| pool | its pictures | classifiers | fit, s | images/s | "
        + " | ".join(f"accuracy, {n} per class" for n in sizes)
        + " |",
        "|---" * (5 + len(sizes)) + "|",
    ]
    for row in result["rows"]:
        scores = " | ".join(f"{row['accuracy'][n]:.3f}" for n in sizes)
        lines.append(
            f"| {row['pool']} | {row['pictures']} | {row['classifiers']} | {row['fit_s']:.1f} | "
            f"{row['images_per_s']:.0f} | {scores} |"
        )
    lines += [
        "",
        "| pool | fitted on | promised by cross-validation | accuracy on new pictures |",
        "|---|---|---|---|",
    ]
    for row in result["leak"]:
        whose = "the learner's" if row["fitted on the learner's pictures"] else "its own"
        lines.append(
            f"| {row['pool']} | {whose} | {row['promised by cross-validation']:.3f} | "
            f"{row['accuracy on new pictures']:.3f} |"
        )
    if "other_classes" in result:
        other = result["other_classes"]
        scores = ", ".join(f"{pool} {score:.3f}" for pool, score in other["accuracy"].items())
        lines += [
            "",
            f"Classes of Caltech-101 that the pool was not trained on, {other['n_per_class']} "
            f"pictures of each: {scores} (chance {other['chance']:.2f}).",
        ]
    return "\n".join(lines)

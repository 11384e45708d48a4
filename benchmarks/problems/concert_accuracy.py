"""Accuracy and training time of a concert and of its rivals, with few images of each class.

CIFAR-10 (10 classes, 1 to 50 images of each, 1,000 test images) and Caltech-101 (101 classes, 1
to 20 images of each; up to 15 others of each class are the test), the pools of
:mod:`benchmarks.problems.concert_pools`. Every draw is the same for all methods. Times are CPU
seconds of one thread, choices of parameters by cross-validation included.

Every cell (data, pool, images of each class, draw) is saved as soon as it is known and not
computed again; ``JOBS`` processes share them, ``DRAWS`` (10) is their number. A method that would
take very long is left out of a cell and shown as a dash.
"""

import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.problems.concert_pools import COLUMNS, FOLDER, Pool, load_pool
from fieldguide._files import write_json
from fieldguide.identify import OneVsAllClassifier
from fieldguide.select import (
    BoostedStumpSelector,
    ConcertClassifier,
    CorrelationSelector,
    ForwardBackwardSelector,
)

CELLS = Path("out/bench/concert/cells")
SIZES = {"cifar10": (1, 2, 5, 10, 20, 50), "caltech101": (1, 2, 5, 10, 20)}
N_TEST = 15
PRINTED = {"p1": 0.5, "bias": False, "balance": False, "calibrate": False}
METHODS: dict[str, Callable[[int], Any]] = {
    "plain average": lambda n: CorrelationSelector(k="all"),
    "top-k correlation, k = √n": lambda n: CorrelationSelector(),
    "top-k correlation, k = n / 8": lambda n: CorrelationSelector(k=n // 8),
    "linear SVM, C tuned": lambda n: OneVsAllClassifier(C="cv", probability=False),
    "AdaBoost": lambda n: BoostedStumpSelector(),
    "FoBa": lambda n: ForwardBackwardSelector(k=min(50, n // 2)),
    "Concert as printed, k = 50": lambda n: ConcertClassifier(k=min(50, n // 2), **PRINTED),
    "Concert, k = n / 8, p1 = 1": lambda n: ConcertClassifier(k=n // 8, p1=1.0),
    "Concert": lambda n: ConcertClassifier(),
    "Concert then SVM": lambda n: ConcertClassifier(refit="svm"),
}
# Steps of AdaBoost (features × rows × rounds × classes) that are left out.
MOST_STEPS = 2e9


class Cell(NamedTuple):
    data: str
    pool: str
    n_per_class: int
    draw: int

    @property
    def path(self) -> Path:
        pool = self.pool.split(" (")[0].replace(" ", "").replace("+", "_")
        return CELLS / f"{self.data}_{pool}_{self.n_per_class}_{self.draw}.json"


def draw_split(pool: Pool, n_per_class: int, draw: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows."""
    rng = np.random.default_rng(draw)
    train, test = [], []
    for kind in np.unique(pool.y):
        rows = rng.permutation(np.flatnonzero((pool.y == kind) & ~pool.is_test))
        train.append(rows[:n_per_class])
        test.append(rows[n_per_class : n_per_class + N_TEST])
    if pool.is_test.any():
        return np.concatenate(train), np.flatnonzero(pool.is_test)
    return np.concatenate(train), np.concatenate(test)


def measure(cell: Cell, data: Path) -> dict:
    """Fit every method on one draw."""
    if cell.path.exists():
        return json.loads(cell.path.read_text())
    pool = load_pool(data, cell.data)
    train, test = draw_split(pool, cell.n_per_class, cell.draw)
    F = pool.F[:, COLUMNS[cell.pool]]
    X, y, X_test, y_test = np.array(F[train]), pool.y[train], np.array(F[test]), pool.y[test]
    result: dict[str, Any] = {**cell._asdict(), "methods": judge(X, y, X_test, y_test)}
    CELLS.mkdir(parents=True, exist_ok=True)
    write_json(cell.path, result)
    return result


def judge(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> dict:
    n, found = X.shape[1], {}
    with warnings.catch_warnings(), threadpool_limits(1):
        # scikit-learn takes a class for each row for a sign of regression.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        for name, make in METHODS.items():
            if name == "AdaBoost" and X.size * 50 * len(np.unique(y)) > MOST_STEPS:
                continue
            model = make(n)
            started = time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - started
            accuracy = float((model.predict(X_test) == y_test).mean())
            found[name] = {"accuracy": accuracy, "fit_s": seconds}
    return found


def run(data: Path | None, *, tiny: bool) -> dict:
    if tiny:
        return {"rows": [measure_drawn()]}
    if data is None and not FOLDER.exists():
        return {"skipped": "it needs --data with cifar10 and caltech101"}
    n_draws = int(os.environ.get("DRAWS", "10"))
    cells = [
        Cell(name, pool, n, draw)
        for draw in range(n_draws)
        for name, sizes in SIZES.items()
        for pool in COLUMNS
        for n in sizes
    ]
    for name in SIZES:
        load_pool(data or Path(), name)
    judge(*draw_small())  # compiled before it is timed, kept on disk for the other processes
    jobs = int(os.environ.get("JOBS", "1"))
    work = (delayed(measure)(cell, data or Path()) for cell in cells)
    return {"rows": Parallel(n_jobs=jobs)(work)}


def draw_small() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 4
    F = np.clip(0.3 + 0.3 * np.eye(4)[y].repeat(5, axis=1) + 0.2 * rng.normal(size=(40, 20)), 0, 1)
    return F[:20], y[:20], F[20:], y[20:]


def measure_drawn() -> dict:
    return {**Cell("drawn", "drawn", 5, 0)._asdict(), "methods": judge(*draw_small())}


def table(result: dict) -> str:
    """Return accuracy in per cent ± the deviation over draws, and seconds to fit."""
    cells: dict[tuple, list[dict]] = {}
    for row in result["rows"]:
        cells.setdefault((row["data"], row["pool"], row["n_per_class"]), []).append(row["methods"])
    lines = []
    for data, pool in dict.fromkeys(key[:2] for key in cells):
        sizes = [key[2] for key in cells if key[:2] == (data, pool)]
        draws = len(cells[data, pool, sizes[0]])
        lines += [
            f"\n{data}, pool {pool}: accuracy in % ± deviation over {draws} draws (CPU s to fit)\n",
            "| images of each class | " + " | ".join(map(str, sizes)) + " |",
            "|---" * (len(sizes) + 1) + "|",
        ]
        for method in METHODS:
            shown = [_show(cells[data, pool, n], method) for n in sizes]
            lines.append(f"| {method} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def _show(found: list[dict], method: str) -> str:
    values = [row[method] for row in found if method in row]
    if not values:
        return "–"
    accuracy = np.array([100 * value["accuracy"] for value in values])
    seconds = np.median([value["fit_s"] for value in values])
    return f"{accuracy.mean():.1f} ± {accuracy.std():.1f} ({seconds:.2g})"

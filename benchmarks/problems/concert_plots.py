"""Pictures of a concert, after Figures 2 and 4 to 7 and Table 1 of the document.

================================  =============================================================
``concert_k.svg``                 accuracy of one vote against k, 10 images of each class
``concert_weights.svg``           weights in falling order, k = 50
``concert_convergence.svg``       objective above its minimum against passes over all features
``concert_stability.svg``         how often features are selected in 30 draws, k = 50
``concert_time.svg``              CPU seconds to fit, pool I + II + III
``concert_train_test.svg``        error on training and on test images, the same pool
``concert_frames.svg``            accuracy on clips against frames of each of 8 shots
================================  =============================================================

They are of CIFAR-10 and specimen clips; the last three are drawn from the cells of
:mod:`benchmarks.problems.concert_accuracy` that are done. The table says in which windows the
selected ImageNet outputs look, for each class. They need matplotlib (the extra ``plot``).
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks import printed
from benchmarks.curves import draw_curves
from benchmarks.problems import concert_accuracy
from benchmarks.problems.concert_pools import COLUMNS, FOLDER, Pool, load_pool
from fieldguide.features.network import SIX
from fieldguide.select import (
    ConcertClassifier,
    ConcertSelector,
    RowsObjective,
    solve_frank_wolfe,
    solve_working_set,
)

PICTURES = Path("docs/pictures")
K, N_IMAGES, N_DRAWS, FIRST_DRAW = 50, 10, 30, 100
K_GRID = (5, 10, 20, 30, 40, 60, 80, 100, 150, 200, 250, 300)
SHOWN = ("cat", "ship", "truck")
ALL = "I + II + III (2160)"
TIMED = (
    concert_accuracy.SVM,
    concert_accuracy.BOOSTED,
    "FoBa",
    "Concert as printed, k = 50",
    "Concert, one vote",
    "Concert then SVM",
    concert_accuracy.OURS,
)
COMPARED = (concert_accuracy.SVM, "Concert, one vote", "Concert then SVM")


def run(data: Path | None, *, tiny: bool) -> dict:
    if tiny:
        rng = np.random.default_rng(0)
        y = np.repeat(np.array(["cat", "dog", "frog"]), 40)
        known = np.repeat(rng.normal(size=(3, 30)), 40, axis=0)
        F = 1 / (1 + np.exp(-(known + rng.normal(size=(120, 30)))))
        pool = Pool(F, y, np.arange(120) % 40 >= 30, np.arange(120))
        return measure(pool, slice(0, 30), (2, 5), 5, 3) | {"pictures": []}
    if data is None and not (FOLDER / "cifar10_F.npy").exists():
        return {"skipped": "it needs --data with cifar10"}
    pool = load_pool(data or Path(), "cifar10")
    result = measure(pool, COLUMNS[ALL], K_GRID, K, N_DRAWS)
    result["windows"] = count_windows(pool, K, N_DRAWS)
    return result | {"pictures": draw(result)}


def measure(pool: Pool, columns: slice, k_grid: Iterable[int], k: int, n_draws: int) -> dict:
    """Return the figures of the first four pictures."""
    F = np.ascontiguousarray(pool.F[:, columns])
    accuracy: dict[int, list[float]] = {}
    selected: dict[str, list] = {"as printed": [], "with a bias": []}
    level: dict[str, list] = {form: [] for form in selected}
    weights = []
    for draw in range(FIRST_DRAW, FIRST_DRAW + n_draws):
        train, test = concert_accuracy.draw_split(pool, N_IMAGES, draw)
        if draw < FIRST_DRAW + 5:
            for each in k_grid:
                model = ConcertClassifier(k=each, p1=1.0, refit=None).fit(F[train], pool.y[train])
                accuracy.setdefault(each, []).append(model.score(F[test], pool.y[test]))
        for form, settings in (("with a bias", {}), ("as printed", printed.CONCERT_VOTES)):
            found = ConcertSelector(k=k, **{"p1": 0.5, **settings}).fit(F[train], pool.y[train])
            selected[form].append(found.weights_ > 0)
            level[form].append(_describe_chosen(F[train], found))
        weights.append(np.sort(found.weights_, axis=1)[:, ::-1])
    return {
        "accuracy by k": {each: float(np.mean(values)) for each, values in accuracy.items()},
        "weights": np.mean(weights, axis=(0, 1))[: 2 * k].tolist(),
        "selected": {
            form: dict(zip(np.unique(pool.y).tolist(), _rank(every), strict=True))
            for form, every in selected.items()
        },
        "level": {form: np.mean(values, axis=0).tolist() for form, values in level.items()},
        "convergence": converge(F, pool, k),
    }


def _describe_chosen(F: np.ndarray, found: ConcertSelector) -> tuple[float, float]:
    """Return the mean of the selected columns, flipped as they vote, and the share of I and II."""
    means = np.where(found.flips_, 1 - F.mean(axis=0), F.mean(axis=0))
    is_chosen = found.weights_ > 0
    return float(means[is_chosen].mean()), float(is_chosen[:, :160].sum() / is_chosen.sum())


def _rank(selected: list[np.ndarray]) -> list[list[float]]:
    """Return the shares of the draws that select a feature, the largest first, for each class."""
    return np.sort(np.mean(selected, axis=0), axis=1)[:, ::-1][:, :100].tolist()


def converge(F: np.ndarray, pool: Pool, k: int) -> dict[str, list[float]]:
    """Return the objective above its minimum, relative to it, after each pass."""
    train, _ = concert_accuracy.draw_split(pool, N_IMAGES, FIRST_DRAW)
    rows, own = F[train].astype(np.float64), pool.y[train] == "cat"
    rows = np.where(rows[own].mean(axis=0) < rows[~own].mean(axis=0), 1 - rows, rows)
    curves = {}
    for name, bias in (("as printed", False), ("with a bias", True)):
        objective = RowsObjective(rows, 0.5 * own, fit_bias=bias)
        best = solve_working_set(objective, k, tol=1e-9).objectives[-1]
        for solver, trace in {
            "Frank–Wolfe": solve_frank_wolfe(objective, k, tol=0, max_iter=300).objectives,
            "working set": solve_working_set(objective, k, tol=1e-7).objectives,
        }.items():
            curves[f"{solver}, {name}"] = np.maximum(trace / best - 1, 1e-8).tolist()
    return curves


def count_windows(pool: Pool, k: int, n_draws: int) -> dict[str, list[float]]:
    """Return the share of each window among the selected ImageNet outputs, for each class."""
    F = np.ascontiguousarray(pool.F[:, 160:])
    counts = np.zeros((len(np.unique(pool.y)), len(SIX)))
    for draw in range(FIRST_DRAW, FIRST_DRAW + n_draws):
        train, _ = concert_accuracy.draw_split(pool, N_IMAGES, draw)
        found = ConcertSelector(k=k, **printed.CONCERT_VOTES).fit(F[train], pool.y[train])
        counts += (found.weights_ > 0).reshape(len(counts), len(SIX), -1).sum(axis=2)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return dict(zip(np.unique(pool.y).tolist(), shares.tolist(), strict=True))


def draw(result: dict) -> list[str]:
    """Write the pictures; return their names."""
    accuracy = {int(k): value for k, value in result["accuracy by k"].items()}
    pictures: dict[str, tuple] = {
        "k": (
            {"one vote, 10 images": [(k, 100 * value) for k, value in accuracy.items()]},
            *("k", "accuracy in %"),
        ),
        "weights": (
            {"mean of 10 classes and 30 draws": list(enumerate(result["weights"], 1))},
            *("feature, by weight", "weight"),
        ),
        "convergence": (
            {name: list(enumerate(trace, 1)) for name, trace in result["convergence"].items()},
            *("pass over all features", "objective above its minimum, relative"),
        ),
        "stability": (
            {
                f"{kind}, {form}": list(enumerate(kinds[kind][:50], 1))
                for form, kinds in result["selected"].items()
                for kind in SHOWN
            },
            *("feature, by how often it is selected", "share of the draws that select it"),
        ),
    }
    cells = [
        json.loads(cell.path.read_text())
        for cell in concert_accuracy.list_cells(10)
        if cell.path.exists()
    ]
    images = [row for row in cells if (row["data"], row["pool"]) == ("cifar10", ALL)]
    frames = [row for row in cells if row["data"] == "clips" and row["n_per_class"] == 8]
    if images:
        times = {name: _average(images, name, "fit_s", "n_per_class") for name in TIMED}
        errors = {}
        for name in COMPARED:
            for part, what in (("test", "accuracy"), ("training", "train")):
                points = _average(images, name, what, "n_per_class")
                errors[f"{name}: {part}"] = [(n, 100 * (1 - value)) for n, value in points]
        pictures["time"] = times, "images of each class", "CPU seconds to fit"
        pictures["train_test"] = errors, "images of each class", "error in %"
    if frames:
        rates = {name: _average(frames, name, "accuracy", "n_frames") for name in TIMED}
        shown = {name: [(m, 100 * value) for m, value in points] for name, points in rates.items()}
        pictures["frames"] = shown, "frames of each of 8 shots", "accuracy per frame in %"
    for name, (curves, x, y) in pictures.items():
        is_log = name in ("convergence", "time")
        draw_curves(PICTURES / f"concert_{name}.svg", curves, x, y, is_log=is_log)
    return list(pictures)


def _average(cells: list[dict], method: str, what: str, by: str) -> list[tuple[int, float]]:
    values: dict[int, list[float]] = {}
    for row in cells:
        if method in row["methods"]:
            values.setdefault(row[by], []).append(row["methods"][method][what])
    return [(n, float(np.mean(each))) for n, each in sorted(values.items())]


def table(result: dict) -> str:
    kinds = list(result["selected"]["as printed"])
    lines = ["| share of draws, mean of the first 50 | " + " | ".join(kinds) + " |"]
    lines.append("|---" * (len(kinds) + 1) + "|")
    for form, ranked in result["selected"].items():
        shares = [f"{np.mean(ranked[kind][:50]):.2f}" for kind in kinds]
        lines.append(f"| {form} | " + " | ".join(shares) + " |")
    for form, (mean, share) in result["level"].items():
        lines.append(f"\nSelected {form}: mean output {mean:.2f}, {100 * share:.0f} % of I and II.")
    for name, trace in result["convergence"].items():
        near = next((i for i, value in enumerate(trace) if value <= 0.01), None)
        lines.append(f"\n{name}: within 1 % of the minimum after {near} passes, of {len(trace)}.")
    if "windows" in result:
        lines += ["\n| window, % | " + " | ".join(SIX) + " |", "|---" * (len(SIX) + 1) + "|"]
        for kind, shares in result["windows"].items():
            lines.append(f"| {kind} | " + " | ".join(f"{100 * s:.1f}" for s in shares) + " |")
    return "\n".join(lines)

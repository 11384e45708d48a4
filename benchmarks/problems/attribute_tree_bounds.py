"""Can any bounds of the prior make a tree of aPascal near its taxonomy by all three readings?

Default settings but for ``c_bounds``, ``theta_floor`` and ``noise_prior``: four chains of 500
sweeps, the best sample, two seeds, on the training half and on the test half. The likelihood is
that of the rows that the tree was learned from. Each cell is saved, and not computed again.

    python benchmarks/run.py --only attribute_tree_bounds --data DIR
"""

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problems.attribute_tree_cells import keep_cell
from benchmarks.problems.attribute_tree_quality import judge
from fieldguide.datasets.apascal import TAXONOMIES, load_apascal
from fieldguide.describe import AttributeTree

C_BOUNDS = ((20, 100), (8, 30), (5, 20), (2, 8), (1, 3))
FLOORS = (1e-2, 3e-3, 1e-3, 1e-4, 1e-5)
NOISE = ((1, 20), (5, 20))
N_SEEDS = 2


def run(data: Path | None, *, tiny: bool) -> dict:
    if data is None or not (data / "apascal").exists():
        return {"skipped": "it needs --data with a folder apascal"}
    settings = list(product(C_BOUNDS, FLOORS, NOISE))[: 1 if tiny else None]
    cells = []
    with threadpool_limits(1):
        for split in ("train", "test"):
            pascal = load_apascal(data / "apascal", split)
            A, y = pascal.attributes, np.array(pascal.target_names)[pascal.target]
            for c_bounds, floor, noise in settings:
                priors = {"c_bounds": c_bounds, "theta_floor": floor, "noise_prior": noise}
                fit = partial(_fit, priors, A, y, 2 if tiny else 500)
                name = f"bounds {split} {c_bounds[0]} {c_bounds[1]} {floor:g} {noise[0]}"
                found = fit() if tiny else keep_cell(name, fit)
                cells.append({"split": split, **priors, **found})
    return {"cells": cells}


def _fit(priors: dict[str, Any], A: np.ndarray, y: np.ndarray, n_iter: int) -> dict[str, Any]:
    trees = []
    for seed in range(N_SEEDS):
        model = AttributeTree(n_iter=n_iter, random_state=seed, **priors).fit(A)
        trees.append(
            {
                **judge(model.tree_.parent, model.labels_, y),
                "log-likelihood": float(model.score_samples(A).mean()),
            }
        )
    return {"trees": trees}


def table(result: dict) -> str:
    """Return a line for each setting: the errors on both halves, by three readings."""
    readings = [f"AEE, {reading}" for reading in TAXONOMIES]
    lines = [
        "| `c_bounds` | `theta_floor` | `noise_prior` | half | "
        + " | ".join([*readings, "purity", "nodes", "log-likelihood of a row"])
        + " |",
        "|---" * (8 + len(readings) - 1) + "|",
    ]
    for cell in result["cells"]:
        trees = cell["trees"]
        shown = [
            f"{np.mean([tree[what] for tree in trees]):.{digits}f}"
            for what, digits in [
                *((reading, 2) for reading in readings),
                ("purity", 2),
                ("nodes", 0),
                ("log-likelihood", 2),
            ]
        ]
        (low, high), (wrong, right) = cell["c_bounds"], cell["noise_prior"]
        lines.append(
            f"| {low:g} to {high:g} | {cell['theta_floor']:g} | {wrong:g}, {right:g} "
            f"| {cell['split']} | {' | '.join(shown)} |"
        )
    least = {
        reading: min(float(np.mean([t[reading] for t in c["trees"]])) for c in result["cells"])
        for reading in readings
    }
    lines += ["", "Least mean: " + ", ".join(f"{r} {v:.2f}" for r, v in least.items())]
    return "\n".join(lines)

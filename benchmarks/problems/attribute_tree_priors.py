"""Which bounds and floor the Attribute Tree Process should have: the likelihood of other rows.

Trees are learned from half of the rows of a table, two chains of 300 sweeps, and judged by the mean
log-likelihood of a row of the other half, over three divisions. Of aPascal these are halves of the
training half. No kind is seen: the choice is made by words alone. Without ``--data`` the rows are
drawn from a tree. Each cell is saved, and not computed again.

    python benchmarks/run.py --only attribute_tree_priors --data DIR
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problems.attribute_tree import draw_rows
from benchmarks.problems.attribute_tree_cells import keep_cell
from benchmarks.problems.attribute_tree_text import load_tables
from fieldguide.describe import AttributeTree

N_DIVISIONS = 3
PRIORS: tuple[tuple[tuple[float, float], float], ...] = (
    ((20, 100), 1e-3),
    ((20, 100), 1e-5),
    ((2, 8), 1e-3),
    ((2, 8), 1e-4),
    ((2, 8), 1e-5),
    ((1, 3), 1e-5),
)


def run(data: Path | None, *, tiny: bool) -> dict:
    if tiny or data is None:
        tables = {"drawn": draw_rows()}
    else:
        tables = {name: table[0] for name, table in load_tables(data).items()}
    cells = []
    with threadpool_limits(1):
        for name, A in tables.items():
            for c_bounds, floor in PRIORS:
                judge = partial(_judge, name, np.asarray(A), c_bounds, floor, 3 if tiny else 300)
                low, high = c_bounds
                cell = f"priors {name} {low:g} {high:g} {floor:g}"
                cells.append(judge() if tiny or data is None else keep_cell(cell, judge))
    return {"cells": cells}


def _judge(
    name: str, A: np.ndarray, c_bounds: tuple[float, float], floor: float, n_iter: int
) -> dict[str, Any]:
    scores, sizes = [], []
    for seed in range(N_DIVISIONS):
        order = np.random.default_rng(seed).permutation(len(A))
        old, new = order[: len(A) // 2], order[len(A) // 2 :]
        model = AttributeTree(
            n_iter, 2, theta_floor=floor, c_bounds=c_bounds, random_state=seed
        ).fit(A[old])
        scores.append(float(model.score_samples(A[new]).mean()))
        sizes.append(len(model.tree_))
    return {
        "rows": name,
        "c_bounds": list(c_bounds),
        "theta_floor": floor,
        "held out": scores,
        "nodes": sizes,
    }


def table(result: dict) -> str:
    """Return a line for each pair of bounds and floor, a column for each table."""
    names = list(dict.fromkeys(cell["rows"] for cell in result["cells"]))
    lines = [f"| `c_bounds` | `theta_floor` | {' | '.join(names)} |"]
    lines.append("|---" * (2 + len(names)) + "|")
    for c_bounds, floor in PRIORS:
        own = [
            cell
            for cell in result["cells"]
            if (tuple(cell["c_bounds"]), cell["theta_floor"]) == (c_bounds, floor)
        ]
        shown = [
            f"{np.mean(cell['held out']):.2f} ± {np.std(cell['held out']):.2f}"
            f" ({np.mean(cell['nodes']):.0f})"
            for cell in own
        ]
        low, high = c_bounds
        lines.append(f"| {low:g} to {high:g} | {floor:g} | {' | '.join(shown)} |")
    return "\n".join(lines)

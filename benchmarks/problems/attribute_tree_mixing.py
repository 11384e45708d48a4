"""What moves of whole nodes are worth: five chains for the same CPU time, with each kind on or off.

R-hat and the effective sample size are those of the log joint density and of the number of nodes,
over the later half of the sweeps; the edge error is that of each chain's best sample there. The
density falls with every node, so chains of different numbers of nodes are compared by rows that
they have not seen: the mean log-likelihood of a row of the test half, at the last sample. Without
``--data``, the rows are drawn from a tree. Each cell is saved, and not computed again.

    python benchmarks/run.py --only attribute_tree_mixing --data DIR
"""

import time
from pathlib import Path

import numpy as np
from scipy.special import logsumexp
from threadpoolctl import threadpool_limits

from benchmarks.measures import spread
from benchmarks.problems.attribute_tree import draw_rows, make_chain
from benchmarks.problems.attribute_tree_cells import keep_cell
from fieldguide.datasets.apascal import TAXONOMIES, load_apascal
from fieldguide.datasets.awa import load_awa
from fieldguide.describe.diagnostics import effective_sample_size, r_hat
from fieldguide.describe.packed_rows import base_rates
from fieldguide.describe.sampled_tree import node_weights, row_scores
from fieldguide.describe.stick_breaking import Chain
from fieldguide.metrics import average_edge_error

N_CHAINS = 5
MOVES = {
    "rows alone": (0, 0, 0),
    "births, grafts": (6, 6, 0),
    "births, gatherings": (6, 0, 6),
    "all": (6, 6, 6),
}


def run(data: Path | None, *, tiny: bool) -> dict:
    cells = []
    with threadpool_limits(1):
        if tiny or data is None:
            return {"cells": [_measure("drawn", name, draw_rows(), None, 0.1) for name in MOVES]}
        pascal = load_apascal(data / "apascal")
        y = np.array(pascal.target_names)[pascal.target]
        new = load_apascal(data / "apascal", "test").attributes
        for name in MOVES:
            cells.append(
                keep_cell(
                    f"mixing apascal {name}",
                    lambda name=name: _measure("aPascal", name, pascal.attributes, y, 7.0, new),
                )
            )
        A = load_awa(data / "awa").attributes
        for name in MOVES:
            cells.append(
                keep_cell(
                    f"mixing awa {name}", lambda name=name: _measure("AwA", name, A, None, 10.0)
                )
            )
    return {"cells": cells}


def _measure(rows: str, moves: str, A, y, seconds: float, new=None) -> dict:
    make_chain(A, 0, n_moves=MOVES[moves]).sweep()  # compiled before the clock starts
    traces, best, errors, held_out = [], [], [], []
    for seed in range(N_CHAINS):
        chain = make_chain(A, seed, n_moves=MOVES[moves])
        started = time.process_time()
        is_late = False
        while (spent := time.process_time() - started) < seconds:
            if not is_late and spent > seconds / 2:
                is_late, chain.burn_in = True, chain.state.n_done + 1
            chain.sweep()
        traces.append(chain.trace)
        best.append(float(chain.state.best_log_joint))
        if new is not None:
            held_out.append(float(score_new(chain, base_rates(A), new)))
        if y is not None:
            found = chain.state.best
            errors.append(average_edge_error(found.parent, found.labels, y, TAXONOMIES["flat"]))
    n = min(len(trace["log_joint"]) for trace in traces)
    late = {
        name: np.array([trace[name][n // 2 : n] for trace in traces])
        for name in ("log_joint", "n_nodes")
    }
    return {
        "rows": rows,
        "moves": moves,
        "seconds": seconds,
        "sweeps": n,
        "log joint": spread([float(values.mean()) for values in late["log_joint"]]),
        "best": spread(best),
        "r_hat": {name: r_hat(values) for name, values in late.items()},
        "ess per second": {
            name: effective_sample_size(values) / (N_CHAINS * seconds / 2)
            for name, values in late.items()
        },
        "AEE": errors,
        "held out": held_out,
    }


def score_new(chain: Chain, base: np.ndarray, new: np.ndarray) -> float:
    """Return the mean log-likelihood of new rows at the chain's last sample."""
    sample, likelihood = chain.sample, chain.likelihood
    rates = np.concatenate([likelihood.rates(sample), likelihood.unborn_rates(sample)])
    with np.errstate(divide="ignore"):
        weight = np.log(np.concatenate(node_weights(sample, chain.prior.max_depth)))
    return float(logsumexp(weight + row_scores(new.astype(float), rates, base), axis=1).mean())


def table(result: dict) -> str:
    lines = [
        "| rows | moves | sweeps | mean log joint of a chain, least to largest | best | R-hat: "
        "log joint | nodes | ESS per s: log joint | nodes | AEE, flat | held out |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in result["cells"]:
        joint, r, ess = cell["log joint"], cell["r_hat"], cell["ess per second"]
        error = held_out = "–"
        if cell["AEE"]:
            error = f"{np.mean(cell['AEE']):.2f} ± {np.std(cell['AEE']):.2f}"
        if cell["held out"]:
            held_out = f"{np.mean(cell['held out']):.2f} ± {np.std(cell['held out']):.2f}"
        lines.append(
            f"| {cell['rows']} | {cell['moves']} | {cell['sweeps']} "
            f"| {joint['least']:.0f} to {joint['largest']:.0f} | {cell['best']['median']:.0f} "
            f"| {r['log_joint']:.2f} | {r['n_nodes']:.2f} | {ess['log_joint']:.2f} "
            f"| {ess['n_nodes']:.2f} | {error} | {held_out} |"
        )
    return "\n".join(lines)

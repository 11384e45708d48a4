"""The Attribute Tree Process: time of a sweep, what moves of whole nodes are worth, agreement.

With ``--data``, the rows are aPascal (6,340 objects, 88 attributes); without it, drawn from a tree.
Times are CPU seconds of one thread. There are two peers, from the same state: the same conditionals
in Python with numpy over attributes, and Fieldguide's own sweep with the compiler switched off. A
million rows are the same rows repeated, one entry in a hundred flipped, and the chain starts from
the tree of the small ones.
"""

import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.measures import peak_mb, run_alone, spread
from benchmarks.peers.plain_python_tree import PlainTree
from fieldguide.datasets.apascal import TAXONOMIES, load_apascal
from fieldguide.describe import (
    AgglomerativeTree,
    AttributeTree,
    BernoulliTree,
    load_chains,
    save_chains,
)
from fieldguide.describe.attribute_model import AttributeLikelihood
from fieldguide.describe.rows import base_rates, pack_rows
from fieldguide.describe.stick_breaking import Chain, Sample, State, StickPrior
from fieldguide.metrics import average_edge_error, locality, purity

MILLION = """
import json
import sys
from pathlib import Path
from benchmarks.problems.attribute_tree import time_many
data = None if sys.argv[1] == "None" else Path(sys.argv[1])
print(json.dumps(time_many(data, int(sys.argv[2]), int(sys.argv[3]))))
"""


UNCOMPILED = """
import os, sys
os.environ["NUMBA_DISABLE_JIT"] = "1"
from pathlib import Path
from benchmarks.problems.attribute_tree import time_uncompiled
data = None if sys.argv[1] == "None" else Path(sys.argv[1])
print(time_uncompiled(data, sys.argv[2]))
"""


def draw_rows(n: int = 400, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.eye(4, dtype=bool), 3, axis=0) | np.eye(12, dtype=bool)[:, :4]
    words = np.repeat(np.hstack([groups, np.eye(12, dtype=bool)]), 2, axis=1)
    return (words[rng.integers(0, 12, n)] ^ (rng.random((n, 32)) < 0.03)).astype(np.uint8)


def load_rows(data: Path | None) -> np.ndarray:
    return draw_rows() if data is None else load_apascal(data / "apascal").attributes


def make_chain(A: np.ndarray, seed: int, **options) -> Chain:
    likelihood = AttributeLikelihood(floor=options.pop("theta_floor", 1e-3))
    rows = pack_rows(A, base_rates(A))
    return Chain.begin(rows, likelihood, StickPrior(), np.random.default_rng(seed), **options)


def run(data: Path | None, *, tiny: bool) -> dict:
    with threadpool_limits(1):
        A = load_rows(data)
        n_burn, n_timed, n_slow = (5, 2, 1) if tiny else (150, 50, 5)
        rows = [
            _time_sweeps(data, A, floor, n_moves, n_burn, n_timed, n_slow=n_peer)
            for floor, n_moves, n_peer in ((1e-3, 0, n_slow), (1e-3, 6, 0), (1e-6, 0, 0))
        ]
        mixing = [_measure_mixing(A, n_moves, 0.3 if tiny else 10.0) for n_moves in (0, 6)]
        n_many = 2000 if tiny else 1_000_000
        many = json.loads(run_alone(MILLION, str(data), str(n_many), str(n_burn)))
        agreement = [] if data is None or tiny else _measure_agreement(data)
    return {
        "rows": rows,
        "mixing": mixing,
        "many": many,
        "agreement": agreement,
        "load": os.getloadavg(),
    }


def _time_sweeps(data, A, floor, n_moves, n_burn, n_timed, n_slow) -> dict:
    chain = make_chain(A, 0, theta_floor=floor, n_moves=n_moves)
    for _ in range(n_burn):
        chain.sweep()
    seconds, slow, n_nodes, n_born = [], [], [], []
    peer = PlainTree(A, floor=floor)
    for i in range(n_timed):
        if i < n_slow:
            peer.take_state(chain.sample)
            started = time.process_time()
            peer.sweep()
            slow.append(time.process_time() - started)
        started = time.process_time()
        chain.sweep()
        seconds.append(time.process_time() - started)
        n_nodes.append(len(chain.sample.parent))
        n_born.append(int(chain._nodes.n_used[0]))
    result = {
        "n": A.shape,
        "floor": floor,
        "moves": n_moves,
        "nodes": float(np.mean(n_nodes)),
        "instantiated": float(np.mean(n_born)),
        "fieldguide": spread(seconds),
    }
    if slow:
        with TemporaryDirectory() as folder:
            save_chains(Path(folder, "chain"), [chain.to_arrays()])
            result["uncompiled"] = float(run_alone(UNCOMPILED, str(data), f"{folder}/chain"))
        result["with numpy"] = spread(slow)
        result["ratio"] = spread([b / a for a, b in zip(seconds, slow, strict=False)])
    return result


def time_uncompiled(data: Path | None, path: str) -> float:
    """Return the time of one sweep from a saved state; run in a process without the compiler."""
    A = load_rows(data)
    rows = pack_rows(A, base_rates(A))
    np.seterr(over="ignore")  # the generator counts modulo 2^64
    chain = Chain.from_arrays(load_chains(path)[0], rows, AttributeLikelihood(), StickPrior())
    chain.n_moves = 0
    started = time.process_time()
    chain.sweep()
    return time.process_time() - started


def time_many(data: Path | None, n: int, n_burn: int) -> dict:
    """Return the time of a sweep and the peak of memory; run in a process of its own."""
    A = load_rows(data)
    small = make_chain(A, 0)
    for _ in range(n_burn):
        small.sweep()
    rng = np.random.default_rng(0)
    many = np.tile(A, (-(-n // len(A)), 1))[:n]
    for begin in range(0, n, 1 << 16):
        block = many[begin : begin + (1 << 16)]
        block ^= rng.random(block.shape) < 0.01
    state = small.state
    labels = np.tile(state.sample.labels, -(-n // len(A)))[:n]
    sample = Sample(**{**state.sample.__dict__, "labels": labels})
    rows = pack_rows(many, base_rates(many))
    chain = Chain(
        rows, small.likelihood, small.prior, State(0, state.words, sample, sample, -np.inf)
    )
    seconds, n_nodes = [], []
    for _ in range(8):
        started = time.process_time()
        chain.sweep()
        seconds.append(time.process_time() - started)
        n_nodes.append(len(chain.sample.parent))
    return {
        "n": many.shape,
        "seconds": spread(seconds[1:]),
        "nodes": float(np.mean(n_nodes)),
        "peak_mb": peak_mb(),
    }


def _measure_mixing(A, n_moves, seconds: float) -> dict:
    """Run four chains for the same CPU time; R-hat and effective sample size of the later half."""
    from fieldguide.describe.diagnostics import effective_sample_size, r_hat

    traces = []
    for seed in range(4):
        chain = make_chain(A, seed, n_moves=n_moves)
        started = time.process_time()
        while time.process_time() - started < seconds:
            chain.sweep()
        traces.append(chain.trace["log_joint"])
    n = min(map(len, traces))
    later = np.array([trace[n // 2 : n] for trace in traces])
    return {
        "moves": n_moves,
        "sweeps": n,
        "log joint": spread([float(np.mean(trace[-n // 4 :])) for trace in traces]),
        "best": spread([max(trace) for trace in traces]),
        "r_hat": r_hat(later),
        "ess per second": effective_sample_size(later) / seconds / 4,
    }


def _measure_agreement(data: Path) -> list[dict]:
    """Measure the trees of single chains of aPascal, and those of agglomerative clustering."""
    pascal = load_apascal(data / "apascal")
    y = np.array(pascal.target_names)[pascal.target]
    result = []
    for model in (AttributeTree(n_iter=500), BernoulliTree(n_iter=500)):
        trees = [
            clone(model).set_params(n_chains=1, random_state=seed).fit(pascal.attributes)
            for seed in range(5)
        ]
        result.append(_judge(type(model).__name__, trees, y))
    for n_leaves in (2, 5, 10, 20, 50, 200, 1000):
        tree = AgglomerativeTree(n_leaves=n_leaves).fit(pascal.attributes)
        result.append(_judge(f"AgglomerativeTree, {n_leaves} leaves", [tree], y))
    return result


def _judge(name: str, trees: list, y: np.ndarray) -> dict:
    def over(measure) -> list[float]:
        return [measure(tree) for tree in trees]

    values = {
        **{
            f"AEE, {reading}": over(
                lambda t, taxonomy=taxonomy: average_edge_error(t.tree_, t.labels_, y, taxonomy)
            )
            for reading, taxonomy in TAXONOMIES.items()
        },
        "purity": over(lambda t: purity(t.labels_, y)),
        "locality": over(lambda t: locality(t.tree_, t.labels_, y)),
        "nodes": over(lambda t: float(len(t.tree_))),
    }
    return {
        "method": name,
        **{key: [float(np.mean(v)), float(np.std(v))] for key, v in values.items()},
    }


def table(result: dict) -> str:
    lines = [
        "| rows | floor | moves | nodes with rows (all) | fieldguide ms | with numpy s | ratio "
        "| plain Python s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        slow = f"{row['with numpy']['median']:.2f}" if "ratio" in row else "–"
        plain = f"{row['uncompiled']:.1f}" if "ratio" in row else "–"
        ratio = "–"
        if "ratio" in row:
            r = row["ratio"]
            ratio = f"{r['median']:.0f} ({r['least']:.0f}–{r['largest']:.0f})"
        lines.append(
            f"| {row['n'][0]} × {row['n'][1]} | {row['floor']:g} | {row['moves']} "
            f"| {row['nodes']:.0f} ({row['instantiated']:.0f}) "
            f"| {1000 * row['fieldguide']['median']:.1f} | {slow} | {ratio} | {plain} |"
        )
    many = result["many"]
    lines += [
        "",
        f"{many['n'][0]} × {many['n'][1]}: {many['seconds']['median']:.2f} s per sweep at "
        f"{many['nodes']:.0f} nodes, peak {many['peak_mb']:.0f} MB.",
        "",
        "| moves | sweeps in the same time | log joint, least–largest | best | R-hat | ESS per s |",
        "|---|---|---|---|---|---|",
    ]
    for row in result["mixing"]:
        joint = row["log joint"]
        lines.append(
            f"| {row['moves']} | {row['sweeps']} | {joint['least']:.0f}–{joint['largest']:.0f} "
            f"| {row['best']['largest']:.0f} | {row['r_hat']:.2f} | {row['ess per second']:.2f} |"
        )
    if result["agreement"]:
        names = [key for key in result["agreement"][0] if key != "method"]
        lines += ["", f"| method | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
        for row in result["agreement"]:
            cells = [f"{row[key][0]:.2f} ± {row[key][1]:.2f}" for key in names]
            lines.append(f"| {row['method']} | {' | '.join(cells)} |")
    return "\n".join(lines)

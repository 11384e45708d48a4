"""The Attribute Tree Process: time of a sweep beside peers, and with a million rows.

With ``--data``, the rows are aPascal (6,340 objects, 88 attributes); without it, drawn from a tree.
Times are CPU seconds of one thread, taking turns, from the same state. The peers draw from the same
conditionals: in plain Python, with the likelihood of a row computed when it is asked for, as in the
code of 2010, or with rates kept for a sweep; with numpy over attributes; and Fieldguide's own sweep
with the compiler switched off. A million rows are the same rows repeated, one entry in a hundred
flipped, and the chain starts from the tree of the small ones.

What the trees are worth is in ``attribute_tree_quality``, what the moves are worth in
``attribute_tree_mixing``.
"""

import json
import os
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measures import peak_mb, run_alone, spread
from benchmarks.peers.numpy_tree import NumpyTree
from benchmarks.peers.plain_python_tree import PlainTree
from fieldguide.datasets.apascal import load_apascal
from fieldguide.describe import load_chains, save_chains
from fieldguide.describe.attribute_model import AttributeLikelihood
from fieldguide.describe.packed_rows import base_rates, pack_rows
from fieldguide.describe.stick_breaking import Chain, Sample, State, StickPrior

PEERS = {
    "plain Python": PlainTree,
    "plain Python, rates kept": partial(PlainTree, keeps_rates=True),
    "numpy": NumpyTree,
}
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
        n_many = 2000 if tiny else 1_000_000
        many = json.loads(run_alone(MILLION, str(data), str(n_many), str(n_burn)))
    return {"rows": rows, "many": many, "load": os.getloadavg()}


def _time_sweeps(data, A, floor, n_moves, n_burn, n_timed, n_slow) -> dict:
    chain = make_chain(A, 0, theta_floor=floor, n_moves=n_moves)
    for _ in range(n_burn):
        chain.sweep()
    seconds, n_nodes, n_born = [], [], []
    peers = {name: make(A, floor=floor) for name, make in PEERS.items()} if n_slow else {}
    slow = {name: [] for name in peers}
    for i in range(n_timed):
        if i < n_slow:
            for name, peer in peers.items():
                peer.take_state(chain.sample)
                started = time.process_time()
                peer.sweep()
                slow[name].append(time.process_time() - started)
        started = time.process_time()
        chain.sweep()
        seconds.append(time.process_time() - started)
        n_nodes.append(len(chain.sample.parent))
        n_born.append(int(chain._nodes.n_used[0]))
    if peers:
        with TemporaryDirectory() as folder:
            save_chains(Path(folder, "chain"), [chain.to_arrays()])
            slow["own sweep, not compiled"] = [
                float(run_alone(UNCOMPILED, str(data), f"{folder}/chain"))
            ]
    middle = float(np.median(seconds))
    return {
        "n": A.shape,
        "floor": floor,
        "moves": n_moves,
        "nodes": float(np.mean(n_nodes)),
        "instantiated": float(np.mean(n_born)),
        "fieldguide": spread(seconds),
        "peers": {
            name: {"seconds": spread(times), "ratio": spread([t / middle for t in times])}
            for name, times in slow.items()
        },
    }


def time_uncompiled(data: Path | None, path: str) -> float:
    """Return the time of one sweep from a saved state; run in a process without the compiler."""
    A = load_rows(data)
    rows = pack_rows(A, base_rates(A))
    np.seterr(over="ignore")  # the generator counts modulo 2^64
    chain = Chain.from_arrays(load_chains(path)[0], rows, AttributeLikelihood(), StickPrior())
    chain.n_moves[:] = 0
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


def table(result: dict) -> str:
    lines = [
        "| rows | floor | moves | nodes with rows (all) | fieldguide ms |",
        "|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        lines.append(
            f"| {row['n'][0]} × {row['n'][1]} | {row['floor']:g} | {row['moves']} "
            f"| {row['nodes']:.0f} ({row['instantiated']:.0f}) "
            f"| {1000 * row['fieldguide']['median']:.1f} |"
        )
    lines += ["", "| peer | s per sweep | times ours |", "|---|---|---|"]
    for name, peer in result["rows"][0]["peers"].items():
        r = peer["ratio"]
        lines.append(
            f"| {name} | {peer['seconds']['median']:.3f} "
            f"| {r['median']:.0f} ({r['least']:.0f} to {r['largest']:.0f}) |"
        )
    many = result["many"]
    lines += [
        "",
        f"{many['n'][0]} × {many['n'][1]}: {many['seconds']['median']:.2f} s per sweep at "
        f"{many['nodes']:.0f} nodes, peak {many['peak_mb']:.0f} MB.",
    ]
    return "\n".join(lines)

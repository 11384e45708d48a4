"""The concert's convex problem: Fieldguide beside four solvers of quadratic programmes.

Two kinds of problem, each as printed and with a free bias (columns and targets of mean 0, which
makes it harder):

- pools: outputs of the classifier pools for CIFAR-10, cat against the rest, 400 images; n is the
  number of classifiers, drawn from the 6,160 where it is less,
- drawn: logistic features that know a little of the class, where n is 125, 1,000 or larger than
  the pools.

A judge that shares no code with a solver asks for a relative duality gap of 1e-6 after making the
weights feasible. Peers get FᵀF and Fᵀt; the time of a peer is that of its coarsest tolerance that
passes the judge, in a process of its own with 8 GB and 120 s of CPU for all its tolerances and
repeats. A peer that did not finish is not run on larger problems. Fieldguide is timed from FᵀF and
Fᵀt, too, and from the rows F, where nothing has been computed before; the time to compute FᵀF is
shown beside. All times are CPU seconds of one thread, the median of five.

Every problem is saved as soon as it is done, and not computed again.

Two statements of the paper are checked as they are: that its method (Frank–Wolfe) needs 10 to 20
iterations, and that an interior point solver takes 9 times its time at 125 features and 100 times
at 1,000.
"""

import json
import os
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measures import ROOT, save, spread
from benchmarks.peers.qp import TOLERANCES, time_call
from benchmarks.problems.concert_pools import FOLDER, load_pool
from benchmarks.problems.thousand_kinds import PEERS_PYTHON, refuse
from fieldguide.select import (
    GramObjective,
    RowsObjective,
    solve_frank_wolfe,
    solve_working_set,
)

GAP = 1e-6
CELLS = Path("out/bench/concert/solvers")
LIMIT_S, LIMIT_BYTES = 120, 8 * 2**30
SIZES = ((125, 400), (1000, 400), (2160, 1000), (6160, 1000), (20_000, 1000))
K = 50
UNFINISHED, NOT_RUN = "did not finish", "not run"
LARGEST_GRAM = 7000  # features; 20,000 would need 3.2 GB for FᵀF alone


def judge(F: np.ndarray, t: np.ndarray, k: float, w: np.ndarray) -> tuple[float, float]:
    """Return the objective and the relative gap of w, made feasible by clipping and scaling."""
    w, cap = np.clip(np.asarray(w, dtype=np.float64), 0.0, 1.0 / k), 1.0 / k
    for _ in range(50):  # what lacks to 1 goes to those below the cap, in proportion
        free = w < cap
        if abs(w.sum() - 1) < 1e-14 or not w[free].any():
            break
        w[free] *= max(0.0, 1 - cap * (~free).sum()) / w[free].sum()
        w = np.minimum(w, cap)
    if not abs(w.sum() - 1) < 1e-9:
        return np.inf, np.inf
    residual = F @ w - t
    J = float(residual @ residual)
    gradient = 2 * (F.T @ residual)
    left, best = 1.0, 0.0
    for g in np.sort(gradient)[: int(np.ceil(k)) + 1]:
        best += min(cap, left) * g
        left -= min(cap, left)
    return J, float(gradient @ w - best) / max(J, 1e-4 * float(t @ t))


def draw_rows(n: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    is_own = np.arange(n_rows) < n_rows // 10
    shared = rng.normal(size=(n_rows, 20)) @ rng.normal(size=(20, n)) * 0.3
    known = np.where(is_own, 1, -1)[:, None] * rng.normal(size=n) * 0.5
    F = 1 / (1 + np.exp(-(rng.normal(size=(n_rows, n)) + shared + known)))
    return F, is_own


def take_pool(n: int, n_rows: int, pool: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    rows = rng.permutation(np.flatnonzero(~pool.is_test))[:n_rows]
    columns = np.sort(rng.permutation(pool.F.shape[1])[:n])
    return pool.F[rows][:, columns].astype(np.float64), pool.y[rows] == "cat"


def pose(F: np.ndarray, is_own: np.ndarray, *, bias: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the flipped matrix and the targets, centred where a bias is free."""
    flips = F[is_own].mean(axis=0) < F[~is_own].mean(axis=0)
    F, t = np.where(flips, 1 - F, F), 0.5 * is_own
    if bias:
        F, t = F - F.mean(axis=0), t - t.mean()
    return np.ascontiguousarray(F), t


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = ((20, 30), (40, 30)) if tiny else SIZES
    n_repeats = 2 if tiny else 5
    pool = None
    has_pool = data is not None and (data / "cifar10").is_dir()
    if not tiny and (has_pool or (FOLDER / "cifar10_F.npy").exists()):
        pool = load_pool(data or Path(), "cifar10")
    rows: list[dict] = []
    with threadpool_limits(1):
        for n, n_rows in sizes:
            for source in ("drawn", "pools"):
                if source == "pools" and (pool is None or n > pool.F.shape[1]):
                    continue
                if source == "drawn" and pool is not None and 1000 < n <= pool.F.shape[1]:
                    continue
                drawn = draw_rows(n, n_rows) if pool is None or source == "drawn" else None
                raw = drawn or take_pool(n, min(n_rows, 1000), pool)
                for bias in (False, True):
                    path = CELLS / f"{source}_{n}{'_bias' if bias else ''}.json"
                    if tiny or not path.exists():
                        F, t = pose(*raw, bias=bias)
                        unfinished = [
                            name
                            for row in rows
                            for name, peer in row["peers"].items()
                            if peer.get("failed") in (UNFINISHED, NOT_RUN) and row["n"] < n
                        ]
                        row = {"source": source, "bias": bias}
                        row |= compare(F, t, n_repeats, unfinished)
                        rows.append(row)
                        if not tiny:
                            save(path, row)
                    else:
                        rows.append(json.loads(path.read_text()))
    python = os.environ.get(PEERS_PYTHON)
    refused = {name: refuse(python, name) for name in TOLERANCES}
    return {"rows": rows, "left out": {name: why for name, why in refused.items() if why}}


def compare(F: np.ndarray, t: np.ndarray, n_repeats: int, unfinished: list[str]) -> dict:
    """Return times and gaps of all contestants on one problem."""
    n, k = F.shape[1], min(K, F.shape[1] / 4)
    settings: dict[str, Any] = {"mass": len(t), "sum_t": t.sum(), "size": t @ t}
    contestants: dict[str, Callable] = {
        "rows": lambda: solve_working_set(RowsObjective(F, t), k, tol=GAP),
        "paper": lambda: solve_frank_wolfe(RowsObjective(F, t), k, tol=1e-3),
    }
    result: dict[str, Any] = {"n": n, "n_rows": len(F), "k": k}
    if n <= LARGEST_GRAM:
        G, h, c = F.T @ F, F.sum(axis=0), F.T @ t
        objective = lambda: GramObjective([(1.0, G)], h, c, **settings)  # noqa: E731
        contestants["gram"] = lambda: solve_working_set(objective(), k, tol=GAP)
        contestants["FᵀF"] = lambda: F.T @ F
    for name, work in contestants.items():
        work()  # compiled before it is timed
        timed = [time_call(work) for _ in range(n_repeats)]
        seconds, found = [each for each, _ in timed], timed[0][1]
        result[name] = {"seconds": spread(seconds), "each": seconds}
        if name != "FᵀF":
            J, gap = judge(F, t, k, found.w)
            result[name] |= {"objective": J, "gap": gap, "n_steps": found.n_steps}
            if name != "paper":
                assert gap <= GAP * 1.01, (name, gap)
    best = result["rows"]["objective"]
    trace = solve_frank_wolfe(RowsObjective(F, t), k, tol=0, max_iter=100).objectives
    near = np.flatnonzero(trace <= best * 1.01)
    result["iterations of the paper to 1 %"] = int(near[0]) if len(near) else None
    result["peers"] = {}
    if n <= LARGEST_GRAM:
        result["peers"] = {
            name: {"failed": NOT_RUN}
            if name in unfinished
            else run_peer(name, F, t, G, c, k, n_repeats)
            for name in TOLERANCES
            if refuse(os.environ.get(PEERS_PYTHON), name) is None
        }
    return result


def run_peer(
    name: str, F: np.ndarray, t: np.ndarray, G: np.ndarray, c: np.ndarray, k: float, n_repeats: int
) -> dict:
    """Return the times of the coarsest tolerance that the judge accepts, or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        for part, array in (("G", G), ("c", c), ("k", np.array(k))):
            np.save(Path(folder) / f"{part}.npy", array)
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
        script = str(ROOT / "benchmarks/peers/qp.py")
        command = [os.environ[PEERS_PYTHON], script, name, folder, str(n_repeats)]
        try:
            done = subprocess.run(
                command,
                env=os.environ | one,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                timeout=10 * LIMIT_S,
                check=False,
                preexec_fn=_limit,
            )
            output = done.stdout
        except subprocess.TimeoutExpired as stopped:
            output = (stopped.stdout or b"").decode()
        gaps = []
        for i, line in enumerate(output.splitlines()):
            J, gap = judge(F, t, k, np.load(Path(folder) / f"{name}_{i}.npy"))
            gaps.append(gap)
            if gap <= GAP:
                found = json.loads(line)
                seconds = spread(found["seconds"])
                return {"seconds": seconds, "each": found["seconds"], "gap": gap} | {
                    "tol": found["tol"],
                    "objective": J,
                }
    if gaps:
        return {"failed": f"did not reach the gap ({min(gaps):.0e})"}
    return {"failed": UNFINISHED}


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))


def table(result: dict) -> str:
    lines = [
        "CPU ms to a relative duality gap of 1e-6, median; ratios to the best peer, least–largest",
        "",
        "| problem | n | rows | from FᵀF, c | from rows | FᵀF | "
        + " | ".join(TOLERANCES)
        + " | best peer ÷ ours | with FᵀF ÷ ours from rows | paper: iterations to 1 %, ms |",
        "|---" * (9 + len(TOLERANCES)) + "|",
    ]
    for row in result["rows"]:
        peers = row["peers"]
        shown = [_show(peers.get(name)) for name in TOLERANCES]
        finished = [peer for peer in peers.values() if "seconds" in peer]
        ratio = from_rows = "–"
        if finished:
            best = min(finished, key=lambda peer: peer["seconds"]["median"])
            ratio = _ratio(best["each"], row["gram"]["each"])
            extra = row["FᵀF"]["seconds"]["median"]
            from_rows = _ratio([extra + s for s in best["each"]], row["rows"]["each"])
        lines.append(
            f"| {row['source']}{', bias' if row['bias'] else ''} | {row['n']:,} | {row['n_rows']} "
            f"| {_show(row.get('gram'))} | {_show(row['rows'])} | {_show(row.get('FᵀF'))} | "
            + " | ".join(shown)
            + f" | {ratio} | {from_rows} | {row['iterations of the paper to 1 %']}, "
            f"{_show(row['paper'])} |"
        )
    lines += [f"\n{name} left out: {reason}." for name, reason in result["left out"].items()]
    return "\n".join(lines)


def _show(found: dict | None) -> str:
    if found is None:
        return "–"
    if "failed" in found:
        return found["failed"]
    return f"{found['seconds']['median'] * 1e3:.3g}"


def _ratio(theirs: list[float], ours: list[float]) -> str:
    """Return the ratio of the medians, and the least and largest of the repeats in turn."""
    middle = statistics.median(theirs) / statistics.median(ours)
    each = [a / b for a, b in zip(theirs, ours, strict=False)]  # slow peers are repeated less
    return f"{middle:.0f} ({min(each):.0f}–{max(each):.0f})"

"""How much sooner two workers of a dask scheduler measure than one, beside this machine's thread.

Drawn specimens of 256 px as JPEG files; both looks of the network, thumbnails, the journal: what a
build does with each picture. Each worker is a process of one thread on this machine, warmed up.
Contestants take turns, and the best turn counts; the load of the machine is told beside it, since
on a busy machine workers get what others leave. Seconds of processor time do not depend on that
as much: those of the building machine for a picture say how many workers it can feed. Nor does the
time of pieces of work that only wait: it says what dealing them out costs.

    python benchmarks/run.py --only cluster
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from threadpoolctl import threadpool_limits

from benchmarks import measures
from fieldguide._cluster import Cluster
from fieldguide.collection import Collection
from fieldguide.datasets import load_specimens
from fieldguide.features import FeatureStack
from fieldguide.features.network import Network
from fieldguide.guide.journal import Journal
from fieldguide.guide.measure import deal_batches, measure_batch
from fieldguide.guide.row_measuring import DescribeShard, describe_pictures
from fieldguide.guide.shards import Lens, Sent, Shard, measure_shard
from fieldguide.guide.shelf import Shelf

N_IMAGES, SIZE_PX, N_TURNS, N_WARM = 384, 256, 3, 16
N_NAPS, NAP_S = 24, 0.4  # as long as eight pictures


@dataclass
class Turn:
    """What it took to look at all pictures twice."""

    seconds: float
    here_s: float  # of processor time of this machine's process
    there_s: float  # of the workers


def run(data: Path | None, *, tiny: bool) -> dict:
    try:
        import distributed  # noqa: F401
    except ImportError:
        return {"skipped": "distributed is not installed"}
    n_images, n_turns = (N_WARM, 1) if tiny else (N_IMAGES, N_TURNS)
    counts = (0, 1) if tiny else (0, 1, 2)
    with tempfile.TemporaryDirectory() as place, ExitStack() as opened:
        root = Path(place)
        draw(root / "images", n_images, 64 if tiny else SIZE_PX)
        looker = Looker(Collection.from_folder(root / "images"), root)
        clients = {n: opened.enter_context(start_workers(n, root)) for n in counts}
        for client in clients.values():
            looker.look(client)
        naps = {n: nap(client, tiny=tiny) for n, client in clients.items() if n}
        turns: dict[int, list[Turn]] = {n: [] for n in counts}
        loads = [os.getloadavg()[0]]
        for _ in range(n_turns):
            for n, client in clients.items():
                turns[n].append(looker.look(client))
            loads.append(os.getloadavg()[0])
    rows = {}
    for n, taken in turns.items():
        best = min(taken, key=lambda turn: turn.seconds)
        rows[str(n)] = {
            "images per second": n_images / best.seconds,
            "here, ms of processor time a picture": 1000 * least(taken, "here_s") / n_images,
            "there, ms of processor time a picture": 1000 * least(taken, "there_s") / n_images,
            "waiting, s": naps.get(n, 0.0),
            "turns, s": [turn.seconds for turn in taken],
        }
    return {
        "n_images": n_images,
        "cores": len(os.sched_getaffinity(0)),
        "load": [min(loads), max(loads)],
        "rows": rows,
    }


def nap(client: Any, *, tiny: bool) -> float:
    """Return the seconds that pieces of work take which only wait."""
    cluster, length = Cluster(client), 0.01 if tiny else NAP_S
    cluster.map_in_order(time.sleep, [0.0] * 4)
    began = time.perf_counter()
    cluster.map_in_order(time.sleep, [length] * N_NAPS)
    return time.perf_counter() - began


def least(turns: Sequence[Turn], name: str) -> float:
    return min(getattr(turn, name) for turn in turns)


def draw(folder: Path, n: int, size_px: int) -> None:
    """Write drawn specimens as JPEG files, in folders named after their kinds."""
    drawn = load_specimens(n_per_kind=-(-n // 32), size_px=size_px)
    for i, (image, kind) in enumerate(zip(drawn.images[:n], drawn.target, strict=False)):
        file = folder / drawn.target_names[kind] / f"{i:05d}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(file, quality=90)


@contextmanager
def start_workers(n: int, folder: Path) -> Iterator[Any]:
    """Give a client of ``n`` workers, their scheduler in a process of its own; None for none."""
    if not n:
        yield None
        return
    from distributed import Client, LocalCluster

    with ExitStack() as opened:
        if measures.OWN_PROCESS:
            file = folder / f"scheduler-{n}.json"
            opened.enter_context(_run("scheduler", file, "--port", "0"))
            while not file.exists():
                time.sleep(0.1)
            for k in range(n):
                place = ("--local-directory", str(folder / f"worker-{n}-{k}"))
                opened.enter_context(_run("worker", file, "--nthreads", "1", "--no-nanny", *place))
            given: dict[str, Any] = {"scheduler_file": str(file)}
        else:
            own = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
            threads = LocalCluster(n_workers=n, threads_per_worker=1, processes=False, **own)
            given = {"address": opened.enter_context(threads)}
        client = opened.enter_context(Client(**given, set_as_default=False))
        client.wait_for_workers(n)
        yield client


@contextmanager
def _run(what: str, file: Path, *options: str) -> Iterator[None]:
    """Run a scheduler or a worker."""
    command = [sys.executable, "-m", "dask", what, "--scheduler-file", str(file)]
    quiet = {"DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}
    command += ["--host", "127.0.0.1", "--no-dashboard", *options]
    process = subprocess.Popen(command, env=os.environ | quiet)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


class Looker:
    """Looks at all pictures twice, as a build does, into a folder that is new each time."""

    def __init__(self, collection: Collection, root: Path) -> None:
        self.collection, self.root, self.n_done = collection, root, 0
        self.network = Network()
        pictures = [collection.picture(i)[0].image for i in range(min(N_WARM, len(collection)))]
        self.stack = FeatureStack("looks", n_jobs=1).fit(pictures, network=self.network)
        self.batches = deal_batches(range(len(collection)), self.network)

    def look(self, client: Any) -> Turn:
        """Look at all pictures, by workers or in this thread."""
        self.n_done += 1
        out = self.root / str(self.n_done)
        out.mkdir()
        there = count_seconds(client)
        began, here = time.perf_counter(), time.process_time()
        with Journal(out, "benchmark") as journal, threadpool_limits(1, "blas"):
            shelf = Shelf(out, [out / "part"])
            if client is None:
                self._look_here(journal, shelf)
            else:
                self._look_there(Cluster(client), journal, shelf)
        took = time.perf_counter() - began, time.process_time() - here
        return Turn(*took, count_seconds(client) - there)

    def _look_here(self, journal: Journal, shelf: Shelf) -> None:
        kept = journal.kept("rows")
        for batch in self.batches:
            records = measure_batch(self.collection, batch, self.network, shelf)
            journal.write(records)
            pictures = [self.collection.picture(i, at_least_px=1024)[0] for i in batch]
            said = stack_outputs(records)
            rows = describe_pictures(self.stack, {}, pictures, *said, self.network)
            kept.write(zip(map(str, batch), rows, strict=True))

    def _look_there(self, cluster: Cluster, journal: Journal, shelf: Shelf) -> None:
        kept, lens = journal.kept("rows"), Lens.of(self.network, (), "cpu")
        parts = [self.collection.part(batch) for batch in self.batches]
        shards: list[Any] = [None] * len(parts)
        measured = cluster.map_as_done(Sent(measure_shard, lens), map(Shard, parts))
        for place, (records, pictures) in measured:
            for address, data in pictures.items():
                shelf.put(address, data)
            journal.write(records)
            shards[place] = Shard(parts[place], *stack_outputs(records))
        describe = Sent(DescribeShard(self.stack, {}), lens)
        for place, rows in cluster.map_as_done(describe, shards):
            kept.write(zip(map(str, self.batches[place]), rows, strict=True))


def stack_outputs(records: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return what the network says of the first looks."""
    return np.stack([r.embedding for r in records]), np.stack([r.logits for r in records])


def count_seconds(client: Any) -> float:
    """Return the processor time that all workers have taken."""
    return 0.0 if client is None else sum(client.run(time.process_time).values())


def table(result: dict) -> str:
    rows = result["rows"]
    names = [name for name in rows["1"] if name != "turns, s"]
    lines = [
        f"{result['n_images']} pictures, both looks; {result['cores']} cores, whose load was "
        f"{result['load'][0]:.1f} to {result['load'][1]:.1f}; the best of "
        f"{len(rows['1']['turns, s'])} turns. Waiting is {N_NAPS} pieces of work of {NAP_S} s.",
        "",
        f"| who measures | {' | '.join(names)} | × one worker | × one worker, waiting |",
        "|---" * (3 + len(names)) + "|",
    ]
    for n, row in rows.items():
        who = {"0": "one thread, no scheduler", "1": "1 worker"}.get(n, f"{n} workers")
        values = " | ".join(f"{row[name]:.1f}" for name in names)
        ratio = row[names[0]] / rows["1"][names[0]]
        waiting = rows["1"]["waiting, s"] / row["waiting, s"] if row["waiting, s"] else 0.0
        lines.append(f"| {who} | {values} | {ratio:.2f} | {waiting:.2f} |")
    return "\n".join(lines)

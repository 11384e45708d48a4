"""What the check of a guide costs when it is opened, by the number of its images."""

import random
import tempfile
import time
from pathlib import Path

from fieldguide.guide.catalogue import Catalogue, write_catalogue
from fieldguide.guide.views import Branch, Kind, Word

N_KINDS, N_WORDS, N_BRANCHES, N_SHOWN = 200, 300, 400, 25


def run(data: Path | None, *, tiny: bool) -> dict:
    seconds = {}
    for n in (300,) if tiny else (3_500, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "catalogue.sqlite"
            info = write_invented(path, n)
            taken = []
            for _ in range(3):
                catalogue = Catalogue(path)
                started = time.perf_counter()
                catalogue.check(info)
                taken.append(time.perf_counter() - started)
                catalogue.close()
            seconds[str(n)] = min(taken)
    return {"seconds": seconds}


def table(result: dict) -> str:
    lines = ["| images | seconds |", "|---|---|"]
    lines += [f"| {int(n):,} | {s:.3f} |" for n, s in result["seconds"].items()]
    return "\n".join(lines)


def write_invented(path: Path, n: int) -> dict:
    """Write the catalogue of a guide that nobody built; return its guide.json."""
    rng = random.Random(0)
    kinds = [f"kind {k:03d}" for k in range(N_KINDS)]
    parents: list[int | None] = [None]
    depths, way = [0], [0]
    for b in range(1, N_BRANCHES):
        while len(way) > 1 and rng.random() < 0.5:
            way.pop()
        parents.append(way[-1])
        depths.append(len(way))
        way.append(b)
    here = [len(range(b, n, N_BRANCHES)) for b in range(N_BRANCHES)]
    count = list(here)
    for b in range(N_BRANCHES - 1, 0, -1):
        count[parents[b] or 0] += count[b]
    few = tuple(range(12))
    branches = [
        Branch(
            *(b, parents[b], depths[b], (), (f"word {b}",) if b else (), False, count[b], here[b]),
            *(1.0, None, few, tuple((name, 1) for name in kinds[:20])),
        )
        for b in range(N_BRANCHES)
    ]
    words = tuple(Word(f"word {j}", 0.5, 0.1) for j in range(8))
    named = [
        Kind(
            *(name, f"kind-{k}", len(range(k, n, N_KINDS)), few, words, 0.5, ((kinds[0], 0.1),)),
            *(tuple((b, 1) for b in range(20)), name),
        )
        for k, name in enumerate(kinds)
    ]
    specimens = [
        (
            *(i, f"{kinds[i % N_KINDS]}/{i:06d}.jpg", f"{i}-0", f"{i:024x}", kinds[i % N_KINDS]),
            *(800, 600, 1, "[]", i % N_BRANCHES, kinds[i % N_KINDS], 0.9, 0.5),
        )
        for i in range(n)
    ]
    shows = ((i, j, 0.75) for i in range(n) for j in sorted(rng.sample(range(N_WORDS), N_SHOWN)))
    attributes = [(f"word {j}", "network") for j in range(N_WORDS)]
    write_catalogue(path, specimens, attributes, shows, branches, named, [])
    return {"n_specimens": n, "n_kinds": N_KINDS, "n_branches": N_BRANCHES - 1, "confusions": []}

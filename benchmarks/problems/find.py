"""How long a guide takes to find specimens: a catalogue of drawn words, without pictures.

Word k is shown by a share of the specimens that rises from 2 % to 60 %: the last ones are the worst
case, for a query reads the specimens of its own words. ``narrow`` counts every word and kind among
the finds; the first time, it reads which specimens show each word. All in one thread: CPU seconds
are those of an idle machine.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measures import spread
from fieldguide.guide.catalogue import Catalogue, write_catalogue
from fieldguide.guide.finding import Finder

N_WORDS, N_KINDS = 50, 200
QUERIES = {
    "one word": "word 49",
    "two words": "word 49, word 48",
    "four words": "word 49, word 48, word 47, word 3",
    "a word but not another": "word 49, -word 48",
    "a kind and a word": "kind 7, word 49",
    "a slip of the pen": "wrod 49",
    "a file": "IMG_000042",
    "any of the 50 words": "word",
}


def write_drawn(path: Path, n: int) -> int:
    """Write a catalogue of ``n`` specimens; return how many times a word is shown."""
    rng = np.random.default_rng(0)
    i, j = np.nonzero(rng.random((n, N_WORDS)) < np.linspace(0.02, 0.6, N_WORDS))
    scores = 0.5 + rng.random(len(i)) / 2
    specimens = (
        (k, f"{k % N_KINDS}/IMG_{k:06}.jpg", "", f"{k:064}", f"kind {k % N_KINDS}", 1, 1, 0, "[]",
         0, None, None, float(rng.random()))
        for k in range(n)
    )  # fmt: skip
    words = [(f"word {k}", "network") for k in range(N_WORDS)]
    shows = zip(i.tolist(), j.tolist(), scores.tolist(), strict=True)
    write_catalogue(path, specimens, words, shows, [], [], [])
    return len(i)


def run(data: Path | None, *, tiny: bool) -> dict:
    n = 300 if tiny else 100_000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalogue.sqlite"
        n_shown = write_drawn(path, n)
        kinds = [(f"kind {k}", n // N_KINDS) for k in range(N_KINDS)]
        for name, query in QUERIES.items():
            found, first, narrowed = [], [], []
            for _ in range(2 if tiny else 5):
                catalogue = Catalogue(path)
                finder = Finder(catalogue, catalogue.words(), kinds)  # keeps nothing yet
                seconds = [_time(lambda f=finder, q=query: f.find(q))]
                seconds += [_time(lambda f=finder, q=query: f.narrow(q)) for _ in range(2)]
                found.append(seconds[0])
                first.append(seconds[1])
                narrowed.append(seconds[2])
                total = finder.find(query).total
                catalogue.close()
            spent = {"find": spread(found), "first": spread(first), "narrow": spread(narrowed)}
            rows.append({"query": name, "total": total, **spent})
    return {"n": n, "shown": n_shown, "rows": rows}


def table(result: dict) -> str:
    lines = [
        f"{result['n']:,} specimens, {N_WORDS} words shown {result['shown']:,} times.",
        "",
        "| query | specimens | find, CPU ms | narrow for the first time | narrow |",
        "|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        spent = [f"{1000 * row[name]['median']:.0f}" for name in ("find", "first", "narrow")]
        lines.append(f"| {row['query']} | {row['total']:,} | {' | '.join(spent)} |")
    return "\n".join(lines)


def _time(call) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start

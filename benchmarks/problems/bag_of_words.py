"""Bags of 1,000 words: images per second from 160-px JPEG files, and largest resident memory.

The rate counts reading, descriptors, words and the pyramid, after the words are found. Memory is
that of a process that finds the words of n images and describes them, 100 at a time: the matrix
itself, 84 kB a row, would grow with n.
"""

import tempfile
import time
from pathlib import Path

from benchmarks.measures import run_alone, spread
from benchmarks.problems.deep_features import jpeg_files
from fieldguide.features import BagOfWords

MEASURE = """
import sys
from pathlib import Path
from benchmarks.measures import peak_mb
from fieldguide.features import BagOfWords
paths = Path(sys.argv[1]).read_text().split("\\n")
bag = BagOfWords({n_words}, n_iter=3).fit(paths)
for start in range(0, len(paths), 100):
    bag.transform(paths[start : start + 100])
print(peak_mb())
"""


def run(data: Path | None, *, tiny: bool) -> dict:
    n, n_words, n_repeats = (8, 50, 1) if tiny else (300, 1000, 5)
    sizes = (8, 16) if tiny else (200, 2000)
    with tempfile.TemporaryDirectory() as folder:
        paths = jpeg_files(data, Path(folder), max(n, sizes[-1]))
        started = time.perf_counter()
        bag = BagOfWords(n_words).fit(paths[: 4 * n])
        fit_s = time.perf_counter() - started
        rates: dict[str, list[float]] = {"all cores": [], "one core": []}
        for turn in range(n_repeats + 1):
            for name, n_jobs in (("all cores", -1), ("one core", 1)):
                started = time.perf_counter()
                bag.set_params(n_jobs=n_jobs).transform(paths[:n])
                if turn:
                    rates[name].append(n / (time.perf_counter() - started))
        peak_mb = {}
        for size in sizes:
            listing = Path(folder) / "paths.txt"
            listing.write_text("\n".join(str(path.resolve()) for path in paths[:size]))
            peak_mb[str(size)] = float(run_alone(MEASURE.format(n_words=n_words), str(listing)))
    return {
        "n_images": n,
        "n_words": n_words,
        "fit_s": fit_s,
        "images_per_s": {name: spread(values) for name, values in rates.items()},
        "peak_mb": peak_mb,
    }


def table(result: dict) -> str:
    lines = ["| threads | images/s (median) | least | largest |", "|---|---|---|---|"]
    for name, rate in result["images_per_s"].items():
        lines.append(
            f"| {name} | {rate['median']:.0f} | {rate['least']:.0f} | {rate['largest']:.0f} |"
        )
    lines += ["", "| images | peak resident MB |", "|---|---|"]
    lines += [f"| {n} | {mb:.0f} |" for n, mb in result["peak_mb"].items()]
    lines.append(f"\nFinding the words took {result['fit_s']:.0f} s.")
    return "\n".join(lines)

"""Largest resident memory while the deep features of many images are computed."""

import tempfile
from pathlib import Path

from benchmarks.measures import run_alone
from benchmarks.problems.deep_features import jpeg_files

MEASURE = """
import sys
from benchmarks.measures import peak_mb
from fieldguide.features import DeepFeatures
DeepFeatures().transform(open(sys.argv[1]).read().split("\\n"))
print(peak_mb())
"""


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = (16,) if tiny else (500, 5000)
    peak_mb = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            listing = Path(folder) / "paths.txt"
            paths = [path.resolve() for path in jpeg_files(data, Path(folder), n)]
            listing.write_text("\n".join(map(str, paths)))
            peak_mb[str(n)] = float(run_alone(MEASURE, str(listing)))
    return {"peak_mb": peak_mb}


def table(result: dict) -> str:
    lines = ["| images | peak resident MB |", "|---|---|"]
    lines += [f"| {n} | {mb:.0f} |" for n, mb in result["peak_mb"].items()]
    return "\n".join(lines)

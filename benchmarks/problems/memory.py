"""Largest resident memory while the deep features of many images are computed."""

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.problems.deep_features import jpeg_files

MEASURE = """
import resource, sys
from fieldguide.features import DeepFeatures
paths = open(sys.argv[1]).read().split("\\n")
DeepFeatures().transform(paths)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def run(data: Path | None, *, tiny: bool) -> dict:
    sizes = (16, 32) if tiny else (500, 5000)
    peak_mb = {}
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            listing = Path(folder) / "paths.txt"
            listing.write_text("\n".join(map(str, jpeg_files(data, Path(folder), n))))
            command = [sys.executable, "-c", MEASURE, str(listing)]
            found = subprocess.run(command, capture_output=True, text=True, check=True)
            peak_mb[str(n)] = float(found.stdout)
    return {"peak_mb": peak_mb}


def table(result: dict) -> str:
    lines = ["| images | peak resident MB |", "|---|---|"]
    lines += [f"| {n} | {mb:.0f} |" for n, mb in result["peak_mb"].items()]
    return "\n".join(lines)

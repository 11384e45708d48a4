"""What a user waits for after an upgrade: the first result with nothing compiled yet.

Each estimator in a process of its own, with an empty cache of compiled functions, one thread: the
seconds of the processor of a first fit and prediction on a toy problem, less those of a second.
Then the commands of a small guide of drawn specimens: ``--help``, and *identify* of one picture,
cold and warm, whole processes. A figure over its budget fails the run.

    python benchmarks/run.py --only cold_start
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from fieldguide.datasets import load_specimens
from fieldguide.guide import Guide

BUDGETS = {
    "OneVsAllClassifier": 2.0,
    "OneVsOneClassifier": 6.0,
    "DAGSVMClassifier": 6.0,
    "RelaxedHierarchyClassifier": 6.0,
    "NormalizedCutTreeClassifier": 6.0,
    "ConfusionTreeClassifier": 6.0,
    "AttentionTreeClassifier": 6.0,
    "AttributeTree": 8.0,
    "ConcertClassifier": 4.0,
    "AdditiveKernelSelector": 4.0,
}
COMMAND_BUDGETS = {"--help": 0.25, "identify, nothing compiled": 3.0, "identify": 1.2}
_CHILD = """
import json, sys, time
import numpy as np
import fieldguide.describe, fieldguide.identify, fieldguide.select

name = sys.argv[1]
rng = np.random.default_rng(0)
y = np.repeat(np.arange(6), 12)
X = np.abs(np.eye(12)[y] + rng.normal(0, 0.2, (72, 12)))
shown = (rng.random((60, 12)) < np.where(np.arange(60)[:, None] < 30, 0.2, 0.8)).astype(float)


def run():
    started = time.process_time()
    if name == "AttributeTree":
        fieldguide.describe.AttributeTree(n_iter=20).fit(shown)
    elif hasattr(fieldguide.identify, name):
        key = getattr(fieldguide.identify, name)().fit(X, y)
        key.predict(X)
    elif name == "ConcertClassifier":
        fieldguide.select.ConcertClassifier().fit(X, y % 2).predict(X)
    else:
        getattr(fieldguide.select, name)().fit(X, y % 2)
    return time.process_time() - started


first = run()
print(json.dumps(first - run()))
"""


def run(data: Path | None, *, tiny: bool) -> dict:
    names = ("OneVsAllClassifier",) if tiny else tuple(BUDGETS)
    rows = []
    for name in names:
        with tempfile.TemporaryDirectory() as cache:
            told = _start(["-c", _CHILD, name], cache)[1]
        rows.append({"name": name, "seconds": json.loads(told), "budget": BUDGETS[name]})
    if not tiny:
        rows += _time_commands()
    return {"rows": rows}


def _time_commands() -> list[dict[str, Any]]:
    """Return the seconds of whole commands."""
    with tempfile.TemporaryDirectory() as place:
        pictures, guide, cache = (Path(place) / name for name in ("pictures", "guide", "cache"))
        drawn = load_specimens(n_per_kind=6, size_px=128)
        for i, (image, kind) in enumerate(zip(drawn.images, drawn.target, strict=True)):
            file = pictures / drawn.target_names[kind] / f"{i:04d}.jpg"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(file, quality=90)
        Guide.build(pictures, guide)
        identify = ["-m", "fieldguide", "identify", str(guide), str(file)]
        seconds = {
            "identify, nothing compiled": _start(identify, cache)[0],
            "identify": _start(identify, cache)[0],
            "--help": _start(["-m", "fieldguide", "--help"], cache)[0],
        }
    return [
        {"name": f"fieldguide {name}", "seconds": seconds[name], "budget": budget}
        for name, budget in COMMAND_BUDGETS.items()
    ]


def _start(arguments: list[str], cache: str | Path) -> tuple[float, str]:
    """Run Python in a process with a cache of compiled functions; return its seconds and output."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    environment = {**os.environ, **threads, "NUMBA_CACHE_DIR": str(cache)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout


def table(result: dict) -> str:
    lines = ["| | seconds of the processor | budget |", "|---|---|---|"]
    for row in result["rows"]:
        over = " (over)" if row["seconds"] > row["budget"] else ""
        lines.append(f"| `{row['name']}` | {row['seconds']:.2f}{over} | {row['budget']:g} |")
    return "\n".join(lines)


def find_faults(result: dict) -> list[str]:
    """Return a sentence for each figure over its budget."""
    return [
        f"{row['name']} takes {row['seconds']:.2f} s at first and may take {row['budget']:g}"
        for row in result["rows"]
        if row["seconds"] > row["budget"]
    ]

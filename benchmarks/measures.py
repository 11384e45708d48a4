"""What every benchmark shares: alternating repeats, and a record of the machine."""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
OWN_PROCESS = True
PACKAGES = (
    *("fieldguide", "numpy", "scipy", "scikit-learn", "scikit-image", "onnxruntime", "Pillow"),
    *("numba", "opencv-python-headless"),
)


def alternate(contestants: dict[str, Callable[[], Any]], n_repeats: int) -> dict[str, list[float]]:
    """Time each contestant ``n_repeats`` times, taking turns; the first turn is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(n_repeats + 1):
        for name, work in contestants.items():
            started = time.perf_counter()
            work()
            if turn:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def spread(values: list[float]) -> dict[str, float]:
    """Return median, least and largest."""
    return {
        "median": statistics.median(values),
        "least": min(values),
        "largest": max(values),
    }


def machine() -> dict[str, Any]:
    """Return what a figure depends on besides the code."""
    import numpy as np  # noqa: F401  (loads the BLAS that threadpoolctl then finds)
    from threadpoolctl import threadpool_info

    cpu = "unknown"
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if "model name" in line), cpu)
    blas = [
        {key: pool.get(key) for key in ("internal_api", "version", "architecture", "num_threads")}
        for pool in threadpool_info()
    ]
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {package: _version(package) for package in PACKAGES},
        "blas": blas,
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def peak_mb() -> float:
    """Return the largest memory that this process has held.

    Linux hands the peak of the parent on in ru_maxrss; VmHWM is that of this process alone.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_alone(code: str, *arguments: str) -> str:
    """Run Python code in a process of its own, from the root of the checkout; return its output.

    A tiny run may do without (``OWN_PROCESS``): a process takes longer to start than its work.
    """
    if not OWN_PROCESS:
        before, sys.argv = sys.argv, ["-c", *arguments]
        try:
            with redirect_stdout(StringIO()) as printed:
                exec(compile(code, "run_alone", "exec"), {"__name__": "__main__"})
        finally:
            sys.argv = before
        return printed.getvalue()
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def save(path: Path, result: dict[str, Any]) -> None:
    """Write a result as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n")

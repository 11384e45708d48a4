"""Every benchmark runs at a tiny size, so that none rots."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_benchmarks_run(tmp_path):
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "run.py"),
        "--tiny",
        "--out",
        str(tmp_path),
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "words: skipped, it needs --data" in result.stdout
    tree = json.loads((tmp_path / "tree.json").read_text())
    assert tree["machine"]["blas"]
    for row in tree["rows"]:
        assert abs(row["sum of heights, ours over theirs"] - 1) < 0.1
    memory = json.loads((tmp_path / "memory.json").read_text())["peak_mb"]
    assert all(mb > 50 for mb in memory.values())

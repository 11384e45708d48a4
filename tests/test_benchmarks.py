"""Every benchmark runs at a tiny size, so that none rots."""

import json

import pytest
from benchmarks import measures
from benchmarks.run import PROBLEMS, main

OWN_PROCESS = ("memory", "attribute_tree")  # the others start none: they are as right in this one


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """Where what several benchmarks see of a collection is kept."""
    return tmp_path_factory.mktemp("benchmarks")


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_benchmark_runs(name, home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    monkeypatch.setattr(measures, "OWN_PROCESS", name in OWN_PROCESS)
    main(["--tiny", "--out", str(home), "--only", name])
    printed = capsys.readouterr().out
    if printed.startswith(f"\n## {name}: skipped, "):
        pytest.skip(printed.strip())
    assert f"## {name}\n\n" in printed
    result = json.loads((home / f"{name}.json").read_text())
    assert result["machine"]["blas"]
    if name == "tree":
        assert all(abs(row["sum of heights, ours over theirs"] - 1) < 0.1 for row in result["rows"])
    if name == "clip_pictures":
        assert (home / "out/bench/clips-tiny/pictures/clip_tubes.jpg").stat().st_size > 2000
    if name == "memory":
        assert all(mb > 50 for mb in result["peak_mb"].values())

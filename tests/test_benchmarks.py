"""Every benchmark runs at a tiny size, so that none rots."""

import json

import numpy as np
import pytest
from benchmarks import measures
from benchmarks.problems.network_words import WAYS, Shown, judge_words, list_words
from benchmarks.run import PROBLEMS, main

from fieldguide.features.vocabulary import class_names
from fieldguide.guide import tree_sampling

OWN_PROCESS = ("memory", "attribute_tree")  # the others start none: they are as right in this one


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """Where what several benchmarks see of a collection is kept."""
    return tmp_path_factory.mktemp("benchmarks")


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_benchmark_runs(name, home, monkeypatch, capsys):
    monkeypatch.chdir(home)
    monkeypatch.setattr(measures, "OWN_PROCESS", name in OWN_PROCESS)
    monkeypatch.setattr(tree_sampling, "N_SWEEPS", 40)  # of the tree of a guide
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


def test_words_are_right_below_and_above_what_is_shown():
    said = np.zeros((3, len(class_names())))
    said[[0, 1], class_names().index("junco")] = 1.0  # a finch, songbird, bird and animal
    said[2, class_names().index("great grey owl")] = 1.0
    shown = Shown(list_words([["songbird"], ["duck"], ["owl"]]), {"mostly red": np.ones(3, bool)})
    found = judge_words(np.eye(3), said, np.empty((3, 0)), shown, np.array([0, 0, 1]))
    expected = {"precision": 10 / 12, "half": 12.706 * 2 * (4 - 4 * 10 / 12) / 12, "said": 4.0}
    assert found[WAYS[0]] == pytest.approx(expected, abs=1e-4)
    assert WAYS[2] not in found

"""``fieldguide bench``: every table and figure of the documents, and its verdict."""

import re

import numpy as np
import pytest
from benchmarks.documents import DOCUMENTS, ITEMS, bench
from benchmarks.documents.additive import (
    judge_actions,
    judge_boxes,
    judge_crane,
    judge_crane_curve,
    judge_regions,
    judge_selectors,
)
from benchmarks.documents.attention import judge_growth, judge_tradeoff
from benchmarks.documents.concert import (
    judge_accuracy,
    judge_frames,
    judge_pools,
    judge_sensitivity,
)
from benchmarks.documents.item import Verdict, judge_parts, mean_interval
from benchmarks.documents.trees import judge_errors, judge_priors
from benchmarks.run import PROBLEMS

from fieldguide.cli import bench as command
from tests.cli.commands import call

# Figures and tables of each document, by their numbers as printed.
PRINTED = {
    "attention": {f"fig{n}" for n in range(1, 9)},
    "atp": {"fig1", "fig2", "fig3a", "fig3b", "fig4", "fig5a", "fig5b", "fig6", "table1"},
    "concert": {*(f"fig{n}" for n in range(1, 8)), "table1", "table2"},
    "hierarchy": {"fig1", "fig2", "fig3"},
    "additive": {*(f"fig{n}" for n in range(1, 9)), "table1", "table2"},
}


def test_every_table_and_figure_of_the_documents_is_listed():
    listed = {
        name: {i.split("/")[1] for i in ITEMS if i.startswith(name + "/")} for name in PRINTED
    }
    assert listed == PRINTED
    assert DOCUMENTS.keys() == PRINTED.keys()


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_is_measured_or_says_why_not(name):
    item = ITEMS[name]
    assert bool(item.problems) != bool(item.instead)
    assert set(item.problems) <= set(PROBLEMS)
    assert item.judge is None or item.problems


def test_the_command_lists_and_measures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = bench.VERDICTS.read_bytes() if bench.VERDICTS.exists() else None
    listed = call("bench", "--list")
    assert listed.exit_code == 0
    assert all(name in listed.output for name in ITEMS)
    measured = call("bench", "concert/fig4", "--size", "tiny")
    assert measured.exit_code == 0
    assert "a tiny run shows nothing but that it runs" in measured.output
    why = call("bench", "concert/fig1")
    assert "Not measured: an illustration." in why.output
    unknown = call("bench", "attention/fig9")
    assert unknown.exit_code == 2
    assert "there is 'attention/fig8'" in unknown.stderr
    assert (bench.VERDICTS.read_bytes() if bench.VERDICTS.exists() else None) == kept


def test_outside_of_the_source_there_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    told = call("bench", "--list")
    assert told.exit_code == 2
    assert "in the source of Fieldguide" in told.stderr


def test_a_full_run_is_saved_and_used_again(tmp_path, monkeypatch):
    calls = []

    class Problem:
        @staticmethod
        def run(data, *, tiny):
            calls.append(tiny)
            return {"cells": [{1: 2}]}

    found = [
        bench.find_result("x", Problem, None, tmp_path, tiny=False, again=again)
        for again in (False, False, True)
    ]
    assert calls == [False, False]
    assert found[0]["cells"] == found[1]["cells"] == [{"1": 2}]  # as JSON has it, each time
    assert "skipped" not in found[2]


def test_the_page_says_what_was_found(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "VERDICTS", tmp_path / "verdicts.json")
    assert "not judged yet" in bench.page_of_documents()
    bench.keep_verdict("attention/fig6", Verdict("holds", "power 0.2"))
    bench.keep_verdict("atp/table1", Verdict("fails", "far off"))
    bench.keep_verdict("atp/fig6", Verdict("in part", "0.2; not so: the rest"))
    page = bench.page_of_documents()
    assert "| `attention/fig6` |" in page
    assert "Of 3 claims that were measured 1 hold, 1 hold in part and 1 fail;" in page
    assert "[**holds**](../benchmarks/results/documents.md#attentionfig6)" in page
    assert "[**fails**](../benchmarks/results/documents.md#atptable1) |" in page
    assert "[**in part**](../benchmarks/results/documents.md#atpfig6); not so: the rest |" in page
    assert all(len(re.findall(rf"`{name}`", page)) == 1 for name in ITEMS)
    figures = bench.page_of_figures()
    assert "The claim **holds** ([tables](keys.md#keys-with-a-graph)).\n\n- power 0.2\n" in figures
    assert figures.count("\n## ") == 3


def test_figures_in_brackets_stay_together():
    because = "a (5; 6) 1.0; b 2.0 (document: 0.3; twice as much); not so: b"
    parts = ["a (5; 6) 1.0", "b 2.0", "the document: 0.3; twice as much", "not so: b"]
    assert bench.list_figures(because) == parts


def test_the_pages_are_those_of_the_verdicts():
    page = bench.VERDICTS.parents[2] / "docs" / "documents.md"
    assert page.read_text(encoding="utf-8") == bench.page_of_documents(), "run 'make pages'"
    assert bench.FIGURES.read_text(encoding="utf-8") == bench.page_of_figures(), "run 'make pages'"


def test_parts_make_a_verdict():
    assert judge_parts({"a": True, "b": True}, "x") == ("holds", "x")
    assert judge_parts({"a": True, "b": False}, "x") == ("in part", "x; not so: b")
    assert judge_parts({"a": False}, "x").said == "fails"
    mean, half = mean_interval([1.0, 2.0, 3.0])
    assert mean == 2
    assert half == pytest.approx(4.302652729749464 / np.sqrt(3))


def test_verdicts_follow_the_figures():
    grown = [
        {"key": key, "kinds": n, "split": 0, "evaluations": float(n) ** power}
        for key, power in (("attention, x", 0.2), ("relaxed, rho 0.7", 0.4), ("one-vs-all", 1.0))
        for n in (10, 100, 200)
    ]
    assert judge_growth({"growth": {"cells": grown}}).said == "holds"
    for cell in grown:
        if cell["key"] == "attention, x":
            cell["evaluations"] = cell["kinds"] ** 0.6
    assert judge_growth({"growth": {"cells": grown}}).said == "in part"

    cells = [
        {"data": "d", "key": key, "search": search, "accuracy": accuracy, "rc": rc} | {"split": 0}
        for key, search, accuracy, rc in (
            ("one-vs-all", "", 0.9, 1.0),
            ("attention, delta 0.5", "greedy", 0.88, 0.1),
            ("attention as printed, delta 0.5", "greedy", 0.88, 0.1),
            ("relaxed, rho 0.9", "greedy", 0.89, 0.2),
            ("relaxed, rho 0.9", "shortlist", 0.89, 0.05),
            ("cut, alpha 0.8", "greedy", 0.5, 0.01),
        )
    ]
    verdict = judge_tradeoff({"keys": {"cells": cells}}, data=("d",))
    assert verdict.said == "in part"
    assert "cut never" in verdict.because

    trees = {"AEE, flat": 1.0, "AEE, alive": 1.0, "AEE, fine": 1.0}
    worse = {name: 2.0 for name in trees}
    found = {
        "sampled": {"ATP": [trees, trees], "FBLM": [worse, worse]},
        "cuts": [trees, worse],
        "hypers": [{"a": 1, "b": n, "paper": 1.9, "trees": [trees]} for n in (5, 10)],
    }
    assert judge_errors({"attribute_tree_quality": found}).said == "holds"
    assert judge_priors({"attribute_tree_quality": found}).said == "holds"

    ways = {
        "Concert": 0.9, "Concert as printed, k = 50": 0.8, "linear SVM, C tuned": 0.7,
        "AdaBoost": 0.6, "FoBa": 0.75,
    }  # fmt: skip
    rows = [
        {
            "data": "c", "pool": pool, "n_per_class": 5, "n_frames": 1, "draw": 0,
            "methods": {m: {"accuracy": a * share, "train": 1.0, "fit_s": 1.0 - ("Con" in m) / 2}
                        for m, a in ways.items()},
        }
        for pool, share in (("I", 0.4), ("all", 1.0))
    ]  # fmt: skip
    assert judge_accuracy({"concert_accuracy": {"rows": rows}}).said == "holds"
    assert judge_pools({"concert_accuracy": {"rows": rows}}).said == "holds"
    shots = [row | {"data": "clips", "n_frames": n} for row in rows[:1] for n in (1, 10)]
    assert judge_frames({"concert_shots": {"rows": shots}}).said == "holds"
    plots = {"accuracy by k": {"10": 0.5, "50": 0.9, "60": 0.91}, "weights": [0.02] * 50}
    assert judge_sensitivity({"concert_plots": plots}).said == "holds"

    table = [
        {"problem": "p", "n_words": 100, "method": m, "AP": [ap, ap], "words": [words, words]}
        for m, ap, words in (
            ("linear SVM", 0.7, 100), ("χ² SVM", 0.8, 100), ("MKL-χ²", 0.8, 60),
            ("FS-linear", 0.75, 40), ("FS-χ²", 0.85, 70),
        )
    ]  # fmt: skip
    verdict = judge_selectors({"additive_table": {"rows": table}})
    assert verdict.said == "in part"
    assert "best rival χ² SVM 0.800" in verdict.because


def test_verdicts_on_clips_follow_the_figures():
    def cell(cut, method, figure, split):
        keys = ("AP 1/8", "AP .5", "right 1/8", "right .5")
        place = {"cut": cut, "parts": "movement", "action": "flying", "method": method}
        return place | dict.fromkeys(keys, figure) | {"split": split, "curve .5": [figure] * 21}

    regions = "region selection, chi2, "
    found = {
        "MILBoost": 0.2, "whole clip": 0.3, "CRANE": 0.62, "CRANE, printed": 0.5,
        "region selection, linear, cap 1/3": 0.55, f"{regions}printed": 0.4,
        f"{regions}cap 1/3": 0.6,
    }  # fmt: skip
    cells = [
        cell(cut, method, figure + 0.01 * split, split)
        for cut in ("voxels", "hierarchical")
        for method, figure in found.items()
        for split in range(2)
    ]
    results = {"clip_regions": {"cells": cells}}
    judges = (judge_boxes, judge_actions, judge_crane, judge_crane_curve)
    assert [judge(results).said for judge in judges] == ["holds"] * 4
    assert "χ² less linear 0.050 ± 0.000" in judge_actions(results).because
    for each in cells:
        if each["method"] in ("CRANE", "region selection, linear, cap 1/3"):
            each |= {"AP 1/8": 0.9, "AP .5": 0.9, "curve .5": [0.9] * 21}
    said = [judge(results).said for judge in judges]
    assert said == ["holds", "in part", "fails", "fails"]


def test_the_verdict_on_regions_is_of_photographs_where_there_are_some():
    found = {
        "MILBoost": 0.1, "MI-SVM, linear": 0.2, "region selection, linear, cap 1/3": 0.25,
        "region selection, chi2, cap 1/3": 0.3,
    }  # fmt: skip
    cells = [
        {"cut": "slic", "source": source, "method": method}
        | dict.fromkeys(("box 0.4", "box 0.5"), figure if source == "birds" else 1 - figure)
        for source in ("drawn", "birds")
        for method, figure in found.items()
    ]
    verdict = judge_regions({"region_selection": {"cells": cells}})
    assert verdict.said == "holds"
    assert "birds: χ² 0.300 and 0.300" in verdict.because
    drawn = [cell for cell in cells if cell["source"] == "drawn"]
    assert judge_regions({"region_selection": {"cells": drawn}}).said == "fails"

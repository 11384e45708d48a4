"""From measures to lines: copies and their labels, few and alike kinds, the order."""

import numpy as np
import pytest

from fieldguide.chapters.check.copies import Copies
from fieldguide.chapters.check.judging import (
    judge_copies,
    judge_files,
    judge_kinds,
    judge_labels,
    order_findings,
)
from fieldguide.chapters.check.labels import Doubts
from fieldguide.chapters.check.records import PROBLEMS, Finding, Report
from fieldguide.guide.views import Kind, Specimen, Unreadable


def make_specimens(kinds, answer=None):
    return [
        Specimen(i, f"{i}.jpg", kind, 200, 200, "s", "s", 0, answer, 0.9)
        for i, kind in enumerate(kinds)
    ]


def make_kind(name, n, recall=1.0):
    return Kind(name, name, n, (0,) if n else (), (), recall, (), (), name)


def make_copies(pairs, likeness, mirrored=()):
    turned = np.array([pair in mirrored for pair in pairs])
    return Copies(np.array(pairs), np.array(likeness), turned)


def test_a_group_of_copies():
    specimens = make_specimens(["wren", "wren", "robin", "wren", None])
    copies = make_copies([(0, 1), (1, 2), (3, 4)], [1.0, 0.9, 0.85], mirrored=[(1, 2)])
    found = judge_copies(specimens, copies, str.title)
    assert [(f.path, f.others) for f in found] == [
        ("1.jpg", (0, 2)),
        ("2.jpg", (0, 1)),
        ("4.jpg", (3,)),
    ]
    assert found[0].detail == "the same picture as 0.jpg"
    assert found[1].detail == (
        "nearly the same picture as 1.jpg, mirrored; labelled Robin here and Wren there, and one "
        "is wrong"
    )
    assert found[1].kinds == ("robin", "wren")
    assert [f.confidence for f in found] == [1.0, 0.9, 0.85]


def test_doubted_labels_say_who_doubts():
    specimens = make_specimens(["wren", "wren", "wren", None], answer="robin")
    doubts = Doubts(np.array([0.4, 0.9, 0.8, 0.9]), np.array([0, 0, 1, 0]))
    found = judge_labels(specimens, doubts, ["robin", "owl"], str)
    assert [(f.specimen, f.detail) for f in found] == [
        (1, "labelled wren; the key, which has not seen it, says robin"),
        (2, "labelled wren; the other specimens speak for owl"),
    ]


def test_few():
    kinds = [make_kind("wren", 1), make_kind("robin", 4), make_kind("owl", 5)]
    found = judge_kinds(kinds, [], str)
    assert [(f.path, f.problem) for f in found] == [("wren", "few"), ("robin", "few")]
    assert found[0].detail.startswith("wren has 1 specimen;")


@pytest.mark.parametrize(
    ("n", "n_wrong", "is_alike"),
    [(20, 10, True), (20, 8, True), (20, 3, False), (4, 2, False), (200, 70, True)],
)
def test_alike_needs_errors_and_evidence(n, n_wrong, is_alike):
    kinds = [make_kind(name, n, 1 - n_wrong / n) for name in ("robin", "wren")]
    kinds.append(make_kind("owl", 30))
    confusions = [("robin", "wren", n_wrong), ("wren", "robin", n_wrong), ("gone", "owl", 9)]
    found = [f for f in judge_kinds(kinds, confusions, str) if f.problem == "alike"]
    assert len(found) == is_alike
    for finding in found:
        assert finding.kinds == ("robin", "wren")
        assert f"{n_wrong} of {n} robin as wren" in finding.detail
        assert 0.9 <= finding.confidence <= 1


def test_one_kind_that_swallows_another_is_not_alike_by_itself():
    # Nine of ten wrens are named rightly; all of the few robins are called wrens.
    kinds = [make_kind("robin", 2, 0.0), make_kind("wren", 100, 1.0)]
    found = judge_kinds(kinds, [("robin", "wren", 2)], str)
    assert [f.problem for f in found] == ["few"]


def test_the_order_of_lines():
    findings = [
        *judge_files([Unreadable("bad.jpg", "it is damaged")]),
        Finding("b", "label", "", 0.7, 1),
        Finding("a", "label", "", 0.9, 0),
        Finding("y", "copy", "", 1.0, 9, others=(8,)),
        Finding("x", "copy", "", 0.8, 7, others=(2,)),
    ]
    report = Report(order_findings(findings))
    assert [f.path for f in report] == ["a", "b", "x", "y", "bad.jpg"]
    assert len(report) == 5
    assert {f.problem for f in report} <= set(PROBLEMS)
    assert report.to_rows()[-1] == ("bad.jpg", "unreadable", "it is damaged", 1.0)

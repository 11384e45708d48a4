"""``fieldguide check``: in the terminal, as a table, for a program."""

import csv
import json
import shutil

import pytest
from tests.cli.commands import call, check_refusal, list_commands

from fieldguide.chapters.check.chapter import FILE
from fieldguide.chapters.check.page import check_lines
from fieldguide.chapters.check.records import COLUMNS, PROBLEMS, Finding, Report


@pytest.fixture(scope="module")
def report(guide):
    """What needs a look in a real guide."""
    found = guide.check()
    assert found is not None
    return found


def test_check_is_a_command():
    assert "check" in list_commands()


def test_a_real_guide_is_checked(guide, report):
    assert {finding.problem for finding in report} <= set(PROBLEMS)
    paths = {specimen.path for specimen in guide.specimens(range(guide.n_specimens))}
    for finding in report:
        assert 0 <= finding.confidence <= 1
        if finding.specimen is not None and finding.problem not in ("few", "alike"):
            assert guide.specimen(finding.specimen).path == finding.path
            assert finding.path in paths
    # The drawings are all different, in focus and in daylight.
    assert not any(report.of(problem) for problem in ("copy", "blurred", "dark", "tiny"))


def test_the_table(guide, report, tmp_path):
    path = tmp_path / "look.csv"
    said = call("check", guide.folder, "--csv", path)
    assert said.exit_code == 0, said.output
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0] if rows else COLUMNS) == COLUMNS
    assert len(rows) == len(report)
    assert [row["path"] for row in rows] == [finding.path for finding in report]
    assert f"{len(report)} line" in said.stdout or not len(report)


def test_for_a_program(guide, report):
    told = json.loads(call("check", guide.folder, "--json").stdout)
    assert [each["path"] for each in told] == [finding.path for finding in report]
    assert all({*COLUMNS} <= each.keys() for each in told)


def test_lines_of_a_terminal():
    lines = list(check_lines(Report((Finding("=1.jpg", "dark", "no light", 0.5),))))
    assert lines == ["Dark (1)", "   50%  =1.jpg: no light"]
    assert list(check_lines(Report(()))) == ["Nothing needs a look."]


def test_a_guide_of_an_earlier_version(keyed_guide, tmp_path):
    copy = tmp_path / "guide"
    shutil.copytree(keyed_guide.folder, copy)
    (edition,) = (copy / "editions").iterdir()
    (edition / f"{FILE}.safetensors").unlink()
    check_refusal(["check", str(copy)], "it was built by an earlier version; run the same")
    (edition / f"{FILE}.safetensors").write_bytes(b"damaged")
    check_refusal(["check", str(copy)], "cannot be read")

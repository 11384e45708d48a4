"""``fieldguide check``: in the terminal, as a table, for a program."""

import csv
import json
import shutil

import numpy as np
import pytest
from PIL import Image
from tests.cli.commands import call, check_refusal, list_commands

from fieldguide.chapters.check import chapter
from fieldguide.chapters.check.chapter import FILE
from fieldguide.chapters.check.page import check_lines
from fieldguide.chapters.check.records import COLUMNS, PROBLEMS, Finding, Report
from fieldguide.guide import Guide


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


def test_pictures_that_are_known_are_not_read_again(blobs, tmp_path, monkeypatch):
    read = []
    whole = chapter.read_pictures

    def listen(root, names, **settings):
        read.append(names)
        return whole(root, names, **settings)

    monkeypatch.setattr(chapter, "read_pictures", listen)
    images, kinds = blobs

    def save(i, name):
        path = tmp_path / "pictures" / kinds[i] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[i]).save(path)

    def build():
        settings = {
            "features": "color",
            "key": "ova",
            "marks": False,
            "places": False,
            "tree": "agglomerative",
        }
        guide = Guide.build(tmp_path / "pictures", tmp_path / "guide", n_jobs=1, **settings)
        return guide, guide._models.part("check").small

    for i in (0, 1, 2, 8, 9, 10):
        save(i, f"b{i}.png")
    build()
    save(3, "a3.png")
    guide, small = build()
    assert [len(names) for names in read] == [6, 1]
    fresh = whole(guide.folder, [s.picture for s in guide.specimens(range(7))], n_jobs=1)
    for kept, new in zip(small, fresh, strict=True):
        assert np.array_equal(kept, new)

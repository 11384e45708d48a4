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
def report(untidy):
    """What needs a look in a real guide."""
    found = untidy.check()
    assert found is not None
    return found


def test_check_is_a_command():
    assert "check" in list_commands()


def test_a_real_guide_is_checked(untidy, report):
    assert {(finding.path, finding.problem) for finding in report} >= {
        ("disc/again.png", "copy"),
        ("square/night.png", "dark"),
        ("stripe/tiny.png", "tiny"),
        ("stripe/wrong.png", "label"),
        ("zebra", "few"),
    }
    assert {finding.problem for finding in report} <= set(PROBLEMS)
    for finding in report:
        assert 0 <= finding.confidence <= 1
        if finding.specimen is not None and finding.problem not in ("few", "alike"):
            assert untidy.specimen(finding.specimen).path == finding.path


def test_drawings_are_all_different_in_focus_and_in_daylight(guide):
    report = guide.check()
    assert report is not None
    assert not any(report.of(problem) for problem in ("copy", "blurred", "dark", "tiny"))


def test_the_table(untidy, report, tmp_path):
    path = tmp_path / "look.csv"
    said = call("check", untidy.folder, "--csv", path)
    assert said.exit_code == 0, said.output
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["path"] for row in rows] == [finding.path for finding in report]
    assert f"{len(report)} line" in said.stdout


def test_for_a_program(untidy, report):
    told = json.loads(call("check", untidy.folder, "--json").stdout)
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

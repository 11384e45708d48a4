"""``fieldguide identify`` of folders, and its table."""

import csv
import json

import pytest
from PIL import Image

from tests.cli.commands import call, check_refusal


@pytest.fixture(scope="module")
def photos(blobs, tmp_path_factory):
    root = tmp_path_factory.mktemp("photos")
    for i, image in enumerate(blobs[0][::8]):
        Image.fromarray(image).save(root / f"{i}.png")
    (root / "bad.jpg").write_bytes(b"\xff\xd8\xff and no more")
    return root


def test_a_folder_becomes_a_table(flat_guide, photos, tmp_path):
    target = tmp_path / "names.csv"
    told = call("identify", flat_guide.folder, photos, "--csv", target, "--jobs", 2)
    assert told.exit_code == 0, told.stderr
    assert "Looked at 3 pictures: " in told.stdout
    assert "1 file could not be read" in told.stdout
    assert "naming pictures: 4 of 4" in told.stderr
    rows = list(csv.DictReader(target.read_text(encoding="utf-8").splitlines()))
    assert [row["kind"] for row in rows] == ["disc", "stripe", "square", ""]
    before = target.read_bytes()
    assert call("identify", flat_guide.folder, photos, "--csv", target).exit_code == 0
    assert target.read_bytes() == before


def test_a_folder_without_a_table_is_told_picture_by_picture(flat_guide, photos):
    told = call("identify", flat_guide.folder, photos, "--json")
    assert told.exit_code == 2  # one cannot be read
    listed = json.loads(told.stdout)
    assert ["answer" in each for each in listed] == [True, True, True, False]


def test_what_cannot_be_a_table_is_refused(flat_guide, photos, tmp_path):
    own = tmp_path / "own.csv"
    own.write_text("my,table\n1,2\n")
    guide, folder = str(flat_guide.folder), str(photos)
    check_refusal(["identify", guide, folder, "--csv", str(own)], "did not write it")
    assert own.read_text() == "my,table\n1,2\n"
    check_refusal(["identify", guide, folder, "--csv", str(own), "--json"], "exclude each other")
    (tmp_path / "nothing").mkdir()
    target = str(tmp_path / "new.csv")
    empty = str(tmp_path / "nothing")
    check_refusal(["identify", guide, empty, "--csv", target], "There is no picture in")

"""``fieldguide locate``, and the places in what ``fieldguide identify`` says."""

import json

import pytest
from PIL import Image
from tests.cli.commands import call, list_commands
from typer.testing import CliRunner

from fieldguide.cli import app


@pytest.fixture
def image(blobs, tmp_path):
    path = tmp_path / "disc.png"
    Image.fromarray(blobs[0][0]).save(path)
    return path


def write_found(folder, target):
    return CliRunner().invoke(app, ["locate", str(folder), "--out", str(target)])


def test_locate_is_a_command():
    assert "locate" in list_commands()


def test_locate_tells_writes_and_compares(small_guide, image, tmp_path):
    found = tmp_path / "found.json"
    told = call("locate", small_guide.folder, image, "--out", found)
    assert told.exit_code == 0, told.stderr
    assert told.stdout.startswith(f"{image}: subject ")
    assert "; disc: what tells it from " in told.stdout.splitlines()[0]
    content = json.loads(found.read_text())
    assert content["images"][0]["file_name"] == str(image)
    assert [each["name"] for each in content["categories"]] == ["disc", "subject"]
    assert all("score" in each for each in content["annotations"])
    subjects = [each for each in content["annotations"] if each["category_id"] == 2]
    found.write_text(json.dumps(content | {"annotations": subjects}))
    same = call("locate", small_guide.folder, image, "--boxes", found)
    assert same.stdout.splitlines()[-1] == (
        "1 picture with boxes; AP at 0.5: 1.000, AP at 0.4: 1.000, CorLoc 1.000"
    )
    asked = call("locate", small_guide.folder, image, "--kind", "square", "--json")
    (record,) = json.loads(asked.stdout)
    assert record["places"]["kind"] == "square"
    stored = call("locate", small_guide.folder, "--out", found)
    assert "pictures are in" in stored.stdout
    assert len(json.loads(found.read_text())["images"]) > 6
    (found,) = json.loads(call("locate", small_guide.folder, image, "--json").stdout)
    (told,) = json.loads(call("identify", small_guide.folder, image, "--json").stdout)
    assert told["answer"]["places"] == found["places"]
    x0, y0, x1, y1 = found["places"]["places"][0]["box"]
    assert 0 <= x0 < x1 <= 1
    assert 0 <= y0 < y1 <= 1
    for wrong, message in (("--kind", "No kind of this"), ("--boxes", "There are no boxes")):
        refused = call("locate", small_guide.folder, image, wrong, "nothing")
        assert refused.exit_code == 2
        assert message in refused.stderr


def test_a_slip_in_the_order_of_photographs(small_guide, image, tmp_path):
    second = tmp_path / "b.png"
    second.write_bytes(image.read_bytes())
    before = image.read_bytes()
    command = ["locate", str(small_guide.folder), "--out", str(image), str(second)]
    assert CliRunner().invoke(app, command).exit_code == 2
    assert image.read_bytes() == before


def test_boxes_that_people_drew_are_kept(small_guide, tmp_path):
    truth, found = tmp_path / "truth.json", tmp_path / "found.json"
    assert write_found(small_guide.folder, found).exit_code == 0
    content = json.loads(found.read_bytes())
    for each in content["annotations"]:
        del each["score"]
    truth.write_text(json.dumps(content))
    assert write_found(small_guide.folder, truth).exit_code == 2
    for odd in (b"[]", b"7", b'{"images": 1', b"[" * 100_000, b"\xff\xd8\xff"):
        truth.write_bytes(odd)
        assert write_found("nowhere", truth).exit_code == 2

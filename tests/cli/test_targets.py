"""Files that commands write: the same command twice is fine, a file of the user's own is kept."""

import os

import pytest
from PIL import Image
from typer.testing import CliRunner

from fieldguide.cli import app
from tests.cli.commands import load_cases

WRITERS = {
    "key.svg": ("plot", "GUIDE", "key", "--out"),
    "moved.html": ("describe", "GUIDE", "--beside", "GUIDE", "--out"),
    "words.png": ("describe", "GUIDE", "--words", "--plate"),
    "pair.html": ("compare", "GUIDE", "disc", "stripe", "--out"),
}
# What a user may have under such a name.
OWN = {
    "key.svg": b'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="9"></svg>',
    "moved.html": b"<!doctype html>\n<title>Two trees</title>",
    "words.png": b"\x89PNG\r\n\x1a\n and so on",
    "pair.html": b"<!doctype html>\n<title>Two kinds</title>",
}
for chapter in load_cases():
    WRITERS |= chapter.WRITERS
    OWN |= chapter.OWN


def write(name, folder, target):
    command = [str(folder) if word == "GUIDE" else word for word in WRITERS[name]]
    return CliRunner().invoke(app, [*command, str(target)])


@pytest.mark.parametrize("name", WRITERS)
def test_twice_the_same_command(worded_guide, tmp_path, name):
    target = tmp_path / name
    assert write(name, worded_guide.folder, target).exit_code == 0
    first = target.read_bytes()
    again = write(name, worded_guide.folder, target)
    assert again.exit_code == 0, again.stderr
    assert target.read_bytes() == first
    assert os.listdir(tmp_path) == [name]
    target.write_bytes(b"")  # such as mktemp makes
    assert write(name, worded_guide.folder, target).exit_code == 0


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_the_users_own_is_kept(tmp_path, name):
    photograph, own = tmp_path / "a.jpg", tmp_path / name
    Image.new("RGB", (9, 9)).save(photograph)
    own.write_bytes(OWN[name])
    # There is no such guide: the target is looked at before the work is begun.
    for path in (photograph, own, *(tmp_path / f"{k}" for k in WRITERS if k != name)):
        if not path.exists():
            path.write_bytes(OWN[path.name])
        before = path.read_bytes()
        result = write(name, "nowhere", path)
        assert result.exit_code == 2
        assert "is there already, and this command did not write it" in result.stderr
        assert result.stderr.count("\n") == 1
        assert path.read_bytes() == before


@pytest.mark.parametrize("name", WRITERS)
def test_places_where_no_file_can_be(tmp_path, name):
    for target, message in (
        (tmp_path, "is a folder; give --"),
        (tmp_path / "no" / name, "There is no folder"),
        (os.devnull, "is a device or a pipe"),
    ):
        result = write(name, "nowhere", target)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_that_may_not_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    try:
        result = write("key.svg", "nowhere", tmp_path / "key.svg")
    finally:
        tmp_path.chmod(0o700)
    assert result.exit_code == 2
    assert "may not be written to" in result.stderr

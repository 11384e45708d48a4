"""``fieldguide export --format``: where it may write, and what it says."""

import pytest

from fieldguide.exports import FORMATS
from tests.cli.commands import call, check_refusal


def test_the_pages_are_the_default(small_guide, tmp_path):
    told = call("export", small_guide.folder, tmp_path / "site")
    assert told.exit_code == 0, told.stderr
    assert (tmp_path / "site" / "index.html").exists()


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.suffix])
def test_a_file_is_replaced_only_when_asked(flat_guide, tmp_path, name):
    target = tmp_path / f"own{FORMATS[name].suffix}"
    target.write_text("mine")
    arguments = ["export", str(flat_guide.folder), str(target), "--format", name]
    check_refusal(arguments, "is there already; add --overwrite")
    assert target.read_text() == "mine"
    if name == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    told = call(*arguments, "--overwrite")
    assert told.exit_code == 0, told.stderr
    assert f"Open {target}" in told.stdout
    assert target.read_bytes() != b"mine"
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_what_cannot_be_written_is_one_sentence(small_guide, tmp_path):
    guide = str(small_guide.folder)
    check_refusal(["export", guide, str(tmp_path), "--format", "csv"], "is a folder")
    check_refusal(["export", guide, str(tmp_path / "a" / "b"), "--format", "csv"], "no folder")
    inside = str(small_guide.folder / "table.csv")
    check_refusal(["export", guide, inside, "--format", "csv"], "the guide's own folder")
    check_refusal(["export", guide, str(tmp_path / "x"), "--format", "exe"], "must be one of site,")


def test_a_folder_of_another_format_is_not_written_over(small_guide, tmp_path):
    target = str(tmp_path / "out")
    assert call("export", small_guide.folder, target, "--format", "imagefolder").exit_code == 0
    check_refusal(["export", str(small_guide.folder), target], "not an earlier export")
    assert not (tmp_path / "out" / "index.html").exists()


def test_every_format_is_named_in_the_help():
    shown = " ".join(call("export", "--help").stdout.replace("│", " ").split())
    assert [name for name in FORMATS if f"'{name}'" not in shown] == []

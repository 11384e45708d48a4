"""``fieldguide compare``."""

import json

from typer.testing import CliRunner

from fieldguide.chapters import OPTIONAL
from fieldguide.cli import app
from fieldguide.site.phrases import word_confusion
from tests.cli.commands import check_refusal, list_commands


def compare(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def test_compare_is_a_command():
    assert "compare" in list_commands()


def test_two_kinds_in_lines_and_as_data(keyed_guide):
    first, second = (kind.name for kind in keyed_guide.kinds[:2])
    pair = keyed_guide.compare(first, second)
    lines = compare(keyed_guide.folder, first.upper(), second).stdout.splitlines()
    assert word_confusion(pair, keyed_guide.shown_name) in lines
    assert pair.border
    told = compare(keyed_guide.folder, first, second, "--json")
    assert told.exit_code == 0
    record = json.loads(told.stdout)
    assert (record["kind"], record["other"]) == (first, second)
    assert (record["n_taken"], record["of_kind"]) == (pair.n_taken, pair.of_kind)
    assert (record["n_other_taken"], record["of_other"]) == (pair.n_other_taken, pair.of_other)
    assert [each["id"] for each in record["border"]] == list(pair.border)
    for each in record["border"]:
        assert any(line.startswith(f"  {each['path']}: ") for line in lines)
    assert list(record)[-len(OPTIONAL) :] == list(OPTIONAL)


def test_a_page_of_one_file_is_written(keyed_guide, tmp_path):
    first, second = (kind.name for kind in keyed_guide.kinds[:2])
    page = tmp_path / "page.html"
    told = compare(keyed_guide.folder, first, second, "--out", page)
    assert told.exit_code == 0
    assert told.stdout.splitlines()[-1] == f"The page is in {page}"
    html = page.read_text(encoding="utf-8")
    assert "<title>Two kinds of " in html
    assert "<link" not in html
    both = compare(keyed_guide.folder, first, second, "--json", "--out", page)
    assert json.loads(both.stdout)["kind"] == first
    assert page.read_text(encoding="utf-8") == html


def test_what_cannot_be_compared_is_one_line(keyed_guide, tmp_path):
    folder, name = str(keyed_guide.folder), keyed_guide.kinds[0].name
    check_refusal(["compare", folder, name, name], "is one kind; give two to compare")
    check_refusal(["compare", folder, name, "dodo"], "No kind of this guide is called 'dodo'")
    check_refusal(["compare", str(tmp_path), "a", "b"], "is not a guide")

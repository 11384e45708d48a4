"""``fieldguide edit``."""

import json

from fieldguide.guide import Guide
from fieldguide.guide.edits import FILE_NAME
from tests.cli.commands import call, check_refusal


def test_an_edit_its_history_and_its_undo(folder):
    said = call("edit", folder, "kind", "disc/000000.png", "square", "--note", "corners").stdout
    assert said.splitlines() == [
        "Edit 1: disc/000000.png is “square”.",
        "1 edit waits for the next 'fieldguide build', which learns from it.",
    ]
    call("edit", folder, "note", "guide", "two\nlines ")
    assert call("edit", folder, "--undo", "1").stdout == "Edit 3: edit 1 is undone.\n"
    listed = call("edit", folder).stdout.splitlines()
    assert len(listed) == 1
    assert listed[0].endswith("note on the guide: two␊lines")
    history = call("edit", folder, "--history").stdout.splitlines()
    assert history[0].endswith("disc/000000.png is “square”  (corners)  (undone)")
    assert len(history) == 3
    plain = json.loads(call("edit", folder, "--history", "--json").stdout)
    assert [(e["verb"], e["undone"]) for e in plain["edits"]] == [
        ("kind", True),
        ("note", False),
        ("undo", False),
    ]
    assert (plain["waiting"], plain["faults"]) == ([], [])
    assert json.loads(call("edit", folder, "--undo", "--json").stdout)[0]["undoes"] == 2
    assert call("edit", folder).stdout == "The guide has no edits.\n"
    check_refusal(["edit", str(folder), "--undo"], "There is no edit to undo.")


def test_files_go_out_and_in(folder, tmp_path):
    call("edit", folder, "exclude", "3")
    for name in ("edits.csv", "edits.jsonl"):
        said = call("edit", folder, "--export", tmp_path / name).stdout
        assert said == f"1 edit is in {tmp_path / name}\n"
        call("edit", folder, "--export", tmp_path / name)  # over our own
        call("edit", folder, "--undo")
        assert Guide.open(folder).n_shown == 24
        assert call("edit", folder, "--import", tmp_path / name).stdout.startswith("Edit ")
        assert Guide.open(folder).n_shown == 23
    own = tmp_path / "own.csv"
    own.write_text("name,price\n")
    check_refusal(["edit", str(folder), "--export", str(own)], "this command did not write it")


def test_what_cannot_be_edited_is_one_line(folder, tmp_path):
    for arguments, message in [
        (["kind"], "An edit is a verb, what it is about"),
        (["praise", "guide"], "There is no edit 'praise'"),
        (["kind", "nowhere.png", "disc"], "No specimen is called 'nowhere.png'"),
        (["kind", "a\nb\x1b", "disc"], "No specimen is called"),
        (["--undo", "nine"], "--undo takes the number of one edit; got 'nine'"),
        (["--undo", "9"], "There is no edit 9 to undo"),
        (["--undo", "--history"], "does one thing at a time"),
        (["--import", str(tmp_path / "no.csv")], "cannot be read"),
    ]:
        check_refusal(["edit", str(folder), *arguments], message)
    assert Guide.open(folder).edits.history == ()


def test_a_damaged_line_is_told_of(folder):
    call("edit", folder, "exclude", "3")
    with open(folder / FILE_NAME, "a") as file:
        file.write('{"number": 2, "ver')
    said = call("edit", folder)
    assert said.stderr == (
        "fieldguide: Line 2 of edits.jsonl has no effect: it is damaged or torn.\n"
    )
    assert "excluded" in said.stdout
    assert call("edit", folder, "exclude", "4").exit_code == 0
    assert Guide.open(folder).n_shown == 22

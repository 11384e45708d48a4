"""Edits as files: what is exported can be imported, and bad files are refused in one sentence."""

import shutil

import pytest

from fieldguide.errors import EditError
from fieldguide.guide import Guide
from fieldguide.guide.edits import FILE_NAME


def state(guide):
    return (
        [(k.name, k.shown, k.count, k.exemplars) for k in guide.kinds],
        [(b.words, b.children, b.count) for b in guide.branches],
        guide.words,
        guide.overlay.excluded,
        [(e.verb, e.value, e.note, e.said) for e in guide.edits],
    )


@pytest.mark.parametrize("name", ["edits.csv", "edits.jsonl"])
def test_what_is_exported_can_be_imported(edited, flat_guide, tmp_path, name):
    edited.edits.add("kind", "disc/000000.png", "=1+1", note="-2")
    edited.edits.add("exclude", "disc/000001.png")
    edited.edits.add("pin", "disc/000002.png")
    edited.edits.undo()
    edited.edits.add("rename", "branch:upright lines", "ladders")
    edited.edits.add("merge", "kind:stripe", "square")
    edited.edits.add("note", "guide", 'two lines,\n"quoted"')
    edited.edits.add("wrong", "disc/000003.png", "square", said="disc")
    assert edited.edits.export_file(tmp_path / name) == 6
    shutil.copytree(flat_guide.folder, tmp_path / "other")
    other = Guide.open(tmp_path / "other")
    assert len(other.edits.import_file(tmp_path / name)) == 6
    assert state(other) == state(edited)


@pytest.mark.parametrize("name", ["edits.csv", "edits.jsonl"])
def test_a_line_may_be_about_what_an_earlier_one_makes(edited, flat_guide, tmp_path, name):
    edited.edits.add("kind", "disc/000000.png", "moon")
    edited.edits.add("rename", "kind:disc", "ring")
    edited.edits.add("note", "kind:ring", "once a disc")
    edited.edits.add("merge", "kind:moon", "ring")
    edited.edits.add("word", "disc/000001.png", "hollow")
    edited.edits.add("word", "disc/000002.png", "not hollow")
    edited.edits.export_file(tmp_path / name)
    shutil.copytree(flat_guide.folder, tmp_path / "other")
    other = Guide.open(tmp_path / "other")
    assert len(other.edits.import_file(tmp_path / name)) == 6
    assert state(other) == state(edited)


def test_what_no_line_makes_is_refused_after_others_too(edited, tmp_path):
    (tmp_path / "a.csv").write_text(
        "verb,target,value\nkind,0,moon\nnote,kind:moon,new\nnote,kind:sun,old\n"
    )
    with pytest.raises(EditError, match=r"Line 4 of .*'sun'"):
        edited.edits.import_file(tmp_path / "a.csv")
    assert len(edited.edits) == 0
    assert [kind.name for kind in edited.kinds] == ["disc", "square", "stripe"]


def test_a_file_written_by_hand(edited, tmp_path):
    (tmp_path / "a.csv").write_text(
        "\ufeffverb,target,value\nkind,disc/000000.png,square\n\nhide,branch:upright lines\n",
        encoding="utf-8",
    )
    (tmp_path / "b.jsonl").write_text(
        '{"verb": "rename", "target": "kind:disc", "value": "ring"}\n\n'
        '{"verb": "kind", "target": {"specimen": "disc/000001.png"}, "value": ""}\n'
    )
    edited.edits.import_file(tmp_path / "a.csv")
    edited.edits.import_file(tmp_path / "b.jsonl")
    assert [edit.verb for edit in edited.edits] == ["kind", "hide", "rename", "kind"]
    assert edited.specimen(1).kind is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "verb,value\n", "needs the columns verb and target"),
        ("a.csv", "verb,target\nkind,nowhere.jpg\n", "Line 2 of .*: no specimen is called"),
        ("a.csv", "verb,target\nhide,word:red,x,y\n", "has more than 2 fields"),
        ("a.csv", 'verb,target\nhide,"word\n', "is not a CSV file"),
        ("a.csv", "verb,target\n", "There is no edit in"),
        ("a.jsonl", "{}\nnot json\n", "Line 2 of .* is no JSON object"),
        ("a.jsonl", '{"verb": "praise", "target": "guide"}', "Line 1 of .*: there is no edit"),
        ("a.jsonl", '{"verb": "hide", "target": 3}', "Line 1 of .*: its target must have"),
        ("a.jsonl", '{"verb": "note", "target": "guide", "value": 3}', "its value must be a text"),
        ("a.jsonl", '{"verb": "undo", "undoes": 1}', "an undo cannot be imported"),
        ("a.jsonl", b"\xff\xfe\x00", "is not a text in UTF-8"),
        ("missing.csv", None, "cannot be read"),
    ],
)
def test_a_bad_file_is_refused_and_changes_nothing(edited, tmp_path, name, text, message):
    if text is not None:
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(EditError, match=message) as refusal:
        edited.edits.import_file(tmp_path / name)
    assert "\n" not in str(refusal.value)
    assert not (edited.folder / FILE_NAME).exists()


def test_one_bad_line_makes_no_edit(edited, tmp_path):
    (tmp_path / "a.csv").write_text("verb,target\nexclude,disc/000000.png\nexclude,nowhere\n")
    with pytest.raises(EditError, match="Line 3"):
        edited.edits.import_file(tmp_path / "a.csv")
    assert len(edited.edits) == 0


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (("praise", "guide"), "There is no edit 'praise'; there are kind, word"),
        (("kind", "disc/00000.png", "x"), "No specimen is called .* There is 'disc/00"),
        (("exclude", "99"), "No specimen is called '99'"),
        (("exclude", "0", "x"), "takes no value; got 'x'"),
        (("merge", "kind:disc", "disc"), "is one kind; give two to merge"),
        (("merge", "kind:disc", "nothing like it"), "No kind of this guide is called"),
        (("merge", "kind:disc"), "'merge' needs a value"),
        (("rename", "kind:disc", "square"), "There is a kind 'square' already; 'merge' makes"),
        (("rename", "disc", "x"), "Say what 'rename' is about: branch:… or kind:… or word:…"),
        (("rename", "branch:0", "x"), "not about the whole collection"),
        (("name", "branch:99", "x"), "No branch is called '99'"),
        (("hide", "kind:disc"), "'hide' is about a branch or word, not about a kind"),
        (("hide", "word:nonsense"), "The guide has no word 'nonsense'"),
        (("word", "0", "not nonsense"), "The guide has no word 'nonsense'"),
        (("kind", "0", "x" * 201), "Its value has 201 letters; at most 200"),
        (("kind", "0", "a\x1b[31mb"), "holds signs that cannot be shown"),
        (("kind", "0", "a\ud800"), "holds signs that cannot be shown"),
        (("right", "image:nowhere.png"), "The image 'nowhere.png' cannot be read"),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(edited, step, message):
    with pytest.raises(EditError, match=message) as refusal:
        edited.edits.add(*step)
    assert str(refusal.value).endswith(".")
    assert not (edited.folder / FILE_NAME).exists()


def test_the_name_of_a_merged_kind_is_taken(edited):
    edited.edits.add("merge", "kind:disc", "stripe")
    assert edited.edits.add("kind", "9", "disc").value == "stripe"


def test_an_opened_guide_sees_the_edits_of_another(edited):
    other = Guide.open(edited.folder)
    edited.edits.add("exclude", "0")
    assert not other.is_current()
    fresh = other.reopen()
    assert fresh.is_current()
    assert fresh.n_shown == 23
    assert fresh._models is other._models  # nothing is read again
    assert other.n_shown == 24  # it goes on to say what it said

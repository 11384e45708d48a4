"""The log of edits: whatever is done to it, what it says is what was written."""

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.children import SERVER

from fieldguide.errors import EditError, GuideError
from fieldguide.guide.edits import FILE_NAME, VERBS, Edit, EditLog, Target
from fieldguide.guide.edits import log as log_module

NAMES = st.text(
    st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=20
).map(lambda text: " ".join(text.split()) or "x")  # fmt: skip


@st.composite
def edits(draw):
    """Any edit that may stand in the log."""
    verb = draw(st.sampled_from(sorted(VERBS)))
    form = draw(st.sampled_from(VERBS[verb].forms))
    beginnings = st.lists(st.text("0123456789abcdef", min_size=12, max_size=12), max_size=3)
    target = Target(
        form,
        "" if form == "guide" else draw(NAMES),
        draw(st.sampled_from(["", "5f0c5f0c5f0c5f0c5f0c5f0c"])),
        *((7, tuple(draw(beginnings))) if form == "branch" else ()),
    )
    takes = VERBS[verb].value
    value = "" if takes == "none" or (takes == "may" and draw(st.booleans())) else draw(NAMES)
    value = "red" if verb == "word" and value.startswith("not") else value
    sides = {"yes": (), "no": ()}
    if verb == "teach":
        target = replace(target, name="red" if target.name.startswith("not") else target.name)
        names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
        n_yes = draw(st.integers(0, len(names)))
        told = [Target("specimen", name) for name in names]
        sides = {"yes": tuple(told[:n_yes]), "no": tuple(told[n_yes:])}
    return Edit(verb, target, value, draw(st.sampled_from(["", "because"])), **sides)


def holds(number, history):
    """Whether an edit holds, by the meaning of undo: no undo of it holds."""
    return not any(e.undoes == number and holds(e.number, history) for e in history)


@settings(max_examples=40)
@given(st.lists(st.one_of(edits(), st.integers(0, 12)), max_size=14))
def test_any_sequence_of_edits_and_undos_is_replayed(steps):
    with tempfile.TemporaryDirectory() as folder:
        log, written = EditLog(Path(folder)), []
        for step in steps:
            if isinstance(step, Edit):
                written += log.append([step])
                assert replace(written[-1], number=0, time="") == step
                continue
            known = {e.number for e in written}
            if step in known and holds(step, written):
                written += log.append([Edit("undo", undoes=step)])
            else:
                with pytest.raises(EditError):
                    log.append([Edit("undo", undoes=step)])
        read = EditLog(Path(folder)).read()
        assert read.edits == tuple(written)
        assert [e.number for e in read.edits] == list(range(1, len(written) + 1))
        assert read.faults == ()
        expected = [e for e in written if e.verb != "undo" and holds(e.number, written)]
        assert list(read.active) == expected


@given(st.lists(edits(), min_size=1, max_size=4), st.data())
def test_a_torn_last_line_costs_that_line_alone(made, data):
    with tempfile.TemporaryDirectory() as folder:
        log = EditLog(Path(folder))
        written = log.append(made)
        whole = log.path.read_bytes()
        start = whole[:-1].rfind(b"\n") + 1
        cut = data.draw(st.integers(start + 1, len(whole) - 2))
        log.path.write_bytes(whole[:cut])
        read = log.read()
        assert read.edits == tuple(written[:-1])
        assert read.faults == (
            f"Line {len(made)} of {FILE_NAME} has no effect: it is damaged or torn.",
        )
        (after,) = log.append([made[0]])
        assert log.read().edits == (*written[:-1], after)
        assert log.path.read_bytes().startswith(whole[:cut])
        assert len(log.read().faults) == 1


def test_a_line_without_a_break_at_the_end_is_a_line(tmp_path):
    log = EditLog(tmp_path)
    first = log.append([Edit("exclude", Target("specimen", "a.jpg"))])
    log.path.write_bytes(log.path.read_bytes().rstrip(b"\n"))
    second = log.append([Edit("exclude", Target("specimen", "b.jpg"))])
    assert log.read().edits == (*first, *second)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b"[1]", "it must be a JSON object"),
        (b'{"number": 2, "verb": "praise", "target": {"guide": ""}}', "there is no edit 'praise'"),
        (b'{"number": 2, "verb": "hide"}', "it has no target"),
        (b'{"number": 2, "verb": "hide", "target": {"kind": "a"}}', "'hide' is about a branch or"),
        (b'{"number": 2, "verb": "kind", "target": {"specimen": 7}}', "its target must have one"),
        (b'{"number": "2", "verb": "hide", "target": {"word": "a"}}', "its number must be a whole"),
        (b'{"number": 1, "verb": "hide", "target": {"word": "a"}}', "its number 1 does not follow"),
        (b'{"number": 2, "verb": "undo"}', "its undoes must be the number"),
        (b'{"number": 2, "verb": "note", "target": {"guide": ""}, "value": 3}', "its value must"),
        (b'{"number": 2, "verb": "word", "target": {"specimen": "a"}, "value": "not"}', "'word'"),
        (b"\xff\xfe", "it is damaged or torn"),
        (b"[" * 100_000, "it is damaged or torn"),
    ],
)
def test_a_damaged_line_is_told_of_and_kept(tmp_path, line, fault):
    log = EditLog(tmp_path)
    (first,) = log.append([Edit("exclude", Target("specimen", "a.jpg"))])
    with open(log.path, "ab") as file:
        file.write(line + b"\n")
    (after,) = log.append([Edit("pin", Target("specimen", "b.jpg"))])
    read = log.read()
    assert read.edits == (first, after)
    assert len(read.faults) == 1
    assert read.faults[0].startswith(f"Line 2 of {FILE_NAME} has no effect: {fault}")
    assert line in log.path.read_bytes()


def append_notes(folder, name):
    log = EditLog(folder)
    for k in range(60):
        log.append([Edit("note", Target("guide"), f"{name} {k} " + "x" * 1000)])


def test_two_processes_at_once_lose_nothing(tmp_path):
    editors = [
        SERVER.Process(target=append_notes, args=(tmp_path, name)) for name in ("one", "two")
    ]
    for editor in editors:
        editor.start()
    for editor in editors:
        editor.join(60)
    assert [editor.exitcode for editor in editors] == [0, 0]
    read = EditLog(tmp_path).read()
    assert read.faults == ()
    assert [e.number for e in read.edits] == list(range(1, 121))
    for name in ("one", "two"):
        own = [e.value.split()[1] for e in read.edits if e.value.startswith(name)]
        assert own == [str(k) for k in range(60)]


def test_a_write_that_fails_leaves_the_log_as_it_was(tmp_path, monkeypatch):
    log = EditLog(tmp_path)
    log.append([Edit("exclude", Target("specimen", "a.jpg"))])
    before = log.path.read_bytes()
    write = os.write

    def write_some(file, data):
        write(file, bytes(data)[:5])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(log_module.os, "write", write_some)
    with pytest.raises(GuideError, match="nothing was changed"):
        log.append([Edit("exclude", Target("specimen", "b.jpg"))])
    monkeypatch.undo()
    assert log.path.read_bytes() == before


def test_a_line_says_what_it_is_in_plain_json(tmp_path):
    log = EditLog(tmp_path)
    log.append([Edit("kind", Target("specimen", "robin/07.jpg", "5f0c"), "wren", "tail up")])
    line = json.loads(log.path.read_text(encoding="utf-8"))
    assert list(line) == ["number", "time", "verb", "target", "value", "note"]
    assert line["target"] == {"specimen": "robin/07.jpg", "digest": "5f0c"}

"""``fieldguide marks``, and the marks in what ``fieldguide identify`` says."""

import json

from PIL import Image
from tests.cli.commands import call, check_refusal, list_commands

from fieldguide.chapters.marks.sentences import NO_MARK
from fieldguide.collection import Collection
from fieldguide.guide import Guide


def test_marks_is_a_command():
    assert "marks" in list_commands()


def test_marks_of_a_kind(small_guide, blobs, tmp_path):
    told = call("marks", small_guide.folder, "Stripe").stdout.splitlines()
    record = json.loads(call("marks", small_guide.folder, "stripe", "--json").stdout)
    assert told[0] == f"stripe: {record['sentence']}"
    assert record["sentence"] not in ("", NO_MARK)
    assert record["marks"]
    own = told[told.index("From all other kinds") : told.index("From square")]
    for mark in record["marks"]:
        (line,) = (each for each in own if each.startswith(f"  {mark['text']}  "))
        assert f"in {mark['n_own']} of {mark['of_own']}; in {mark['n_other']} of" in line
    unknown = call("marks", small_guide.folder, "squares")
    assert unknown.exit_code == 2
    assert "No kind of this guide is called 'squares'. There is 'square'." in unknown.stderr
    assert unknown.stderr.count("\n") == 1
    image = tmp_path / "stripe.png"
    Image.fromarray(blobs[0][blobs[1].index("stripe")]).save(image)
    answer = json.loads(call("identify", small_guide.folder, image, "--json").stdout)[0]["answer"]
    lines = call("identify", small_guide.folder, image).stdout
    assert answer["marks"]["marks"]
    for mark in answer["marks"]["marks"]:
        assert mark["text"] in lines


def test_why_a_guide_has_no_marks(blobs, flat_guide, tmp_path):
    why = "build it again, without --no-marks"
    check_refusal(["marks", str(flat_guide.folder), "disc"], why)
    collection = Collection.from_arrays(blobs[0][:8], blobs[1][:8])
    Guide.build(collection, tmp_path / "guide", features="color", n_jobs=1)
    why = "it has one kind: add pictures of another"
    check_refusal(["marks", str(tmp_path / "guide"), "disc"], why)


def test_a_folder_that_is_no_guide(tmp_path):
    check_refusal(["marks", str(tmp_path), "robin"], "is not a guide")

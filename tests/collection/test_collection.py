import json
import os

import numpy as np
import pytest
from PIL import Image
from tests.clock import within_cpu_seconds

from fieldguide.collection import Collection
from fieldguide.errors import CollectionError


@pytest.fixture
def folder(tmp_path):
    for name in ("birds/owl/a.png", "birds/wren/b.png", "c.png"):
        path = tmp_path / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (10, 10), "teal").save(path)
    return tmp_path / "images"


def paths(collection):
    return [item.path for item in collection.items]


def test_kinds_come_from_the_folder_that_holds_the_image(folder):
    collection = Collection.from_folder(folder)
    assert paths(collection) == ["birds/owl/a.png", "birds/wren/b.png", "c.png"]
    assert [item.kind for item in collection.items] == ["owl", "wren", None]
    assert collection.name == "images"


@pytest.mark.parametrize(
    ("rule", "kinds"), [("top", ["birds", "birds", None]), ("none", [None, None, None])]
)
def test_other_rules_for_kinds(folder, rule, kinds):
    collection = Collection.from_folder(folder, kinds=rule)
    assert [item.kind for item in collection.items] == kinds


def test_a_wrong_rule_is_refused(folder):
    with pytest.raises(ValueError, match=r"kinds of Collection\.from_folder must be one of"):
        Collection.from_folder(folder, kinds="leaf")


def test_hidden_files_are_passed_over(folder):
    (folder / ".DS_Store").write_bytes(b"x")
    (folder / ".git").mkdir()
    (folder / ".git" / "a.png").write_bytes(b"x")
    (folder / "Thumbs.db").write_bytes(b"x")
    assert len(Collection.from_folder(folder)) == 3


def test_links_that_leave_the_folder_are_not_followed(folder, tmp_path):
    secret = tmp_path / "secret"
    secret.mkdir()
    Image.new("RGB", (5, 5)).save(secret / "s.png")
    (folder / "out.png").symlink_to(secret / "s.png")
    (folder / "outdir").symlink_to(secret)
    (folder / "loop").symlink_to(folder)
    (folder / "nothing.png").symlink_to(folder / "gone.png")
    (folder / "inside.png").symlink_to(folder / "c.png")
    collection = Collection.from_folder(folder)
    assert paths(collection) == ["birds/owl/a.png", "birds/wren/b.png", "c.png", "inside.png"]
    assert dict(collection.skipped) == {
        "loop": "a link to a folder that is read anyway",
        "nothing.png": "a link to nothing",
        "out.png": "a link that leaves the folder",
        "outdir": "a link that leaves the folder",
    }


def test_pipes_are_not_opened(folder):
    os.mkfifo(folder / "pipe.jpg")
    assert Collection.from_folder(folder).skipped == (("pipe.jpg", "not a regular file"),)


def test_names_that_are_not_utf8_are_listed(folder):
    path = os.path.join(os.fsencode(folder), b"caf\xe9.png")
    with open(path, "wb") as file:
        file.write(b"x")
    assert Collection.from_folder(folder).skipped[0][1] == "its name is not valid UTF-8; rename it"


def test_a_missing_folder_and_a_file_are_clear_errors(folder):
    with pytest.raises(CollectionError, match="There is no folder"):
        Collection.from_folder(folder / "nowhere")
    with pytest.raises(CollectionError, match="is a file; give the folder"):
        Collection.from_folder(folder / "c.png")


def test_the_stamp_changes_with_the_file(folder):
    before = Collection.from_folder(folder).items[2].stamp
    os.utime(folder / "c.png", ns=(1, 1))
    assert Collection.from_folder(folder).items[2].stamp != before


def test_sidecar(folder, tmp_path):
    sidecar = tmp_path / "table.csv"
    sidecar.write_text(
        "path,label,keywords,winged,size\n"
        "c.png,wren,River; reed,yes,\n"
        "birds/owl/a.png,,,no,0.5\n"
        "gone.png,owl,,,1\n"
    )
    collection = Collection.from_folder(folder, sidecar=sidecar)
    assert paths(collection) == ["birds/owl/a.png", "c.png"]
    assert [item.kind for item in collection.items] == [None, "wren"]
    assert collection.items[1].keywords == ("river", "reed")
    assert collection.attribute_names == ("winged", "size")
    np.testing.assert_array_equal(collection.attributes, [[0, 0.5], [1, np.nan]])
    assert collection.skipped == (("gone.png", "named in the sidecar, but there is no such file"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,label\na,b\n", "one column 'path'"),
        ("path,x\nc.png,maybe\n", "'x' in line 2 .* is 'maybe'"),
        ("path,x\nc.png,2\n", "is '2'"),
        ("path,x\nc.png\n", "Line 2 .* does not have 2 fields"),
        ("path\nc.png\nc.png\n", "names 'c.png' more than once"),
        ("", "it has none"),
    ],
)
def test_bad_sidecars_are_clear_errors(folder, tmp_path, text, message):
    sidecar = tmp_path / "table.csv"
    sidecar.write_text(text)
    with pytest.raises(CollectionError, match=message):
        Collection.from_folder(folder, sidecar=sidecar)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"path\nc\0.png\n", "line 2 holds a NUL"),
        (b"path,x\nc.png," + b"1" * 200_000, "field larger than field limit"),
        ("path,ärt\nc.png,1\n".encode("latin-1"), "can't decode byte 0xe4"),
        ("path\nc.png\n".encode("utf-16"), "can't decode byte 0xff"),
        (bytes(5_000), "line 1 holds a NUL"),
    ],
)
def test_a_sidecar_that_is_no_text_is_one_sentence(folder, tmp_path, data, reason):
    sidecar = tmp_path / "table.csv"
    sidecar.write_bytes(data)
    with pytest.raises(CollectionError, match=f"is not a CSV file in UTF-8: .*{reason}") as caught:
        Collection.from_folder(folder, sidecar=sidecar)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "text",
    [
        "path,x\nc.png," + "maybe" * 9_000,
        ",".join(f"column{i}" for i in range(9_000)) + "\n",
        "path\n" + "c" * 90_000 + "\n" + "c" * 90_000 + "\n",
    ],
)
def test_the_sentence_about_a_sidecar_is_short(folder, tmp_path, text):
    sidecar = tmp_path / "table.csv"
    sidecar.write_text(text)
    with pytest.raises(CollectionError) as caught:
        Collection.from_folder(folder, sidecar=sidecar)
    assert len(str(caught.value)) < 600


def test_lines_of_a_sidecar_are_those_of_an_editor(folder, tmp_path):
    sidecar = tmp_path / "table.csv"
    sidecar.write_text('path,keywords,x\nc.png,"two\nlines",1\n\n\nd.png,,maybe\n')
    with pytest.raises(CollectionError, match="'x' in line 6 "):
        Collection.from_folder(folder, sidecar=sidecar)


def test_arrays_of_every_allowed_form():
    images = [
        np.zeros((4, 5), np.uint8),
        np.ones((4, 5, 3)),
        np.zeros((4, 5, 4), np.uint8),
        Image.new("L", (5, 4)),
    ]
    arrays = list(Collection.from_arrays(images))
    assert [a.shape for a in arrays] == [(4, 5, 3)] * 4
    assert [a.max() for a in arrays] == [0, 255, 255, 0]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ([], "No images were given"),
        ([np.zeros((3, 3, 2), np.uint8)], r"shape \(3, 3, 2\)"),
        ([np.full((3, 3), 7.0)], r"outside \[0, 1\]"),
        ([np.full((3, 3), np.nan)], r"outside \[0, 1\]"),
        ([np.zeros((3, 3), int)], "has type int64"),
    ],
)
def test_bad_arrays_are_clear_errors(images, message):
    with pytest.raises(CollectionError, match=message):
        Collection.from_arrays(images)


def test_lengths_must_agree():
    image = np.zeros((3, 3), np.uint8)
    with pytest.raises(CollectionError, match="1 images but 2 labels"):
        Collection.from_arrays([image], ["a", "b"])
    with pytest.raises(CollectionError, match="one different name"):
        Collection.from_arrays([image, image], names=["a", "a"])
    with pytest.raises(CollectionError, match="attributes has shape"):
        Collection.from_arrays([image], attributes=np.zeros((1, 2)), attribute_names=["x"])
    with pytest.raises(CollectionError, match=r"attributes must lie in \[0, 1\]"):
        Collection.from_arrays([image], attributes=np.full((1, 1), 3.0), attribute_names=["x"])


def test_a_large_sidecar_is_read_in_seconds(tmp_path):
    """A search for the path that stands twice took minutes: each path was counted in all."""
    sidecar = tmp_path / "table.csv"
    rows = [f"{i:06d}.png,{i % 2}" for i in range(30_000)]
    sidecar.write_text("\n".join(["path,winged", *rows, rows[-1]]))
    repeated = r"names '029999\.png' more than once"
    with within_cpu_seconds(3), pytest.raises(CollectionError, match=repeated):
        Collection.from_folder(tmp_path, sidecar=sidecar)


def test_a_sidecar_that_is_a_pipe_is_refused(folder, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CollectionError, match="is not a file; give a CSV file"):
        Collection.from_folder(folder, sidecar=tmp_path / "pipe")


def test_a_folder_whose_name_is_no_text_has_a_name(tmp_path):
    try:
        folder = tmp_path / os.fsdecode(b"caf\xe9")
        folder.mkdir()
    except (OSError, UnicodeError):
        pytest.skip("this file system takes names in UTF-8 alone")
    assert Collection.from_folder(folder).name == "caf\ufffd"


def test_names_can_be_written(tmp_path):
    folder = tmp_path / "new\nline \x1b[31m 線"
    folder.mkdir()
    with open(os.path.join(os.fsencode(folder), b"caf\xe9.png"), "wb") as file:
        file.write(b"x")
    os.mkdir(os.path.join(os.fsencode(folder), b"d\xe9"))
    collection = Collection.from_folder(folder)
    assert collection.name == "new\ufffdline \ufffd[31m 線"
    reason = "its name is not valid UTF-8; rename it"
    assert collection.skipped == (("caf?.png", reason), ("d?", reason))
    json.dumps([collection.name, collection.skipped], ensure_ascii=False).encode()


@pytest.mark.parametrize("bad", ["a\0b", "\ud800"])
@pytest.mark.parametrize("what", ["labels", "names", "attribute_names", "name"])
def test_texts_that_no_file_can_hold_are_refused(what, bad):
    """A label with a zero byte was cut off in a saved key, which then knew another kind."""
    given = {
        "labels": ["a", bad],
        "names": ["a.png", bad],
        "attribute_names": [bad],
        "name": bad,
    }[what]
    images = [np.zeros((8, 8), np.uint8)] * 2
    attributes = np.zeros((2, 1)) if what == "attribute_names" else None
    with pytest.raises(CollectionError, match=f"{what} must be texts without zero bytes"):
        Collection.from_arrays(images, attributes=attributes, **{what: given})

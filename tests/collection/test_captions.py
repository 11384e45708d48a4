"""Captions: which files are one, which words they give, and what hostile ones cost."""

import json
import os

import pytest
from PIL import Image
from tests.clock import within_cpu_seconds

from fieldguide.collection import Collection
from fieldguide.collection.captions import (
    MAX_BYTES,
    MAX_KEYWORDS,
    Caption,
    caption_words,
    read_caption,
)
from fieldguide.collection.folder import is_candidate


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "photos"
    for name in ("a.jpg", "b.jpg", "owl/c.png"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (10, 10), "teal").save(root / name)
    return root


def keywords(folder, **options):
    items = Collection.from_folder(folder, **options).items
    return {item.path: item.keywords for item in items}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A grey heron standing in the reeds.", ("grey", "heron", "standing", "reeds")),
        ("Grey heron, reeds; Lake Constance", ("grey heron", "reeds", "lake constance")),
        ("heron\nreeds\n", ("heron", "reeds")),
        ("The heron's nest, seen from the boat", ("heron", "nest", "boat")),
        ("Photo of a blue-eyed cat", ("blue-eyed", "cat")),
        ("Graureiher im Schilf", ("graureiher", "schilf")),
        ("苍鹭 in the reeds", ("苍鹭", "reeds")),
        ("0 0.5 0.5 0.25 0.25\n1 0.1 0.1 0.2 0.2", ()),
        ("", ()),
        ("heron heron Heron", ("heron",)),
    ],
)
def test_a_caption_gives_its_content_words(text, words):
    assert caption_words(text) == words


@pytest.mark.parametrize("name", ["a.txt", "a.jpg.txt", "a.TXT"])
def test_a_text_beside_a_picture_gives_words(folder, name):
    (folder / name).write_text("A heron at dusk", encoding="utf-8")
    assert keywords(folder) == {"a.jpg": ("heron", "dusk"), "b.jpg": (), "owl/c.png": ()}


@pytest.mark.parametrize("name", ["c.json", "c.png.json"])
def test_json_beside_a_picture_gives_words(folder, name):
    record = {
        "Keywords": ["Owl", "night"],
        "tags": "wood, oak;  ",
        "caption": "A barn owl.",
        "description": ["Seen in May"],
        "url": "elsewhere",
        "title": "IMG_1.png",
    }
    (folder / "owl" / name).write_text(json.dumps(record), encoding="utf-8")
    assert keywords(folder)["owl/c.png"] == ("owl", "night", "wood", "oak", "barn")


def test_several_captions_and_the_sidecar_add_up(folder, tmp_path):
    (folder / "a.txt").write_text("A heron", encoding="utf-8")
    (folder / "a.jpg.json").write_text('{"tags": ["reeds", "heron"]}', encoding="utf-8")
    sidecar = tmp_path / "table.csv"
    sidecar.write_text("path,keywords\nb.jpg,coot\na.jpg,Dusk;heron\n", encoding="utf-8")
    assert keywords(folder)["a.jpg"] == ("reeds", "heron")
    assert keywords(folder, sidecar=sidecar) == {
        "a.jpg": ("dusk", "heron", "reeds"),
        "b.jpg": ("coot",),
    }


def test_captions_are_no_unreadable_pictures_and_other_files_are_counted(folder):
    (folder / "a.txt").write_text("A heron", encoding="utf-8")
    (folder / "b.txt").write_text("0 0.5 0.5 0.2 0.2", encoding="utf-8")  # a box
    for k in range(5):
        (folder / f"{k}.xml").write_text("<a/>", encoding="utf-8")
    (folder / "README").write_text("of the photos", encoding="utf-8")
    (folder / "movie.MPG").write_bytes(b"\0\0\1\xba")
    collection = Collection.from_folder(folder)
    assert [item.path for item in collection.items] == ["a.jpg", "b.jpg", "owl/c.png"]
    assert collection.skipped == ()
    assert collection.n_captions == 1
    assert collection.others == {".xml": 5, "": 1, ".mpg": 1, ".txt": 1}
    assert next(iter(collection.others)) == ".xml"


def test_a_picture_is_known_by_its_bytes_whatever_its_name(folder):
    Image.new("RGB", (5, 5)).save(folder / "noname", "PNG")
    Image.new("RGB", (5, 5)).save(folder / "d.dat", "BMP")
    Image.new("RGB", (5, 5)).save(folder / "e.xml", "WEBP")
    (folder / "broken.jpg").write_bytes(b"")
    (folder / "phone.HEIC").write_bytes(b"\0\0\0\x18ftypheic")
    (folder / "sound.dat").write_bytes(b"RIFF\0\0\0\0WAVEfmt ")
    (folder / "BMW.txt").write_text("BMW cars", encoding="utf-8")
    collection = Collection.from_folder(folder)
    found = {item.path for item in collection.items}
    assert found >= {"noname", "d.dat", "e.xml", "broken.jpg", "phone.HEIC"}
    assert collection.others == {".dat": 1, ".txt": 1}


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 500_000,
        b'{"caption":' * 100_000,
        b'{"keywords": "' + b"x," * 2_000_000 + b'"}',
        b"\xff\xfe\0",
        b"\x00\x01\x02",
        b'{"keywords": 7, "tags": {"a": 1}, "caption": null, "description": [[["x"]]]}',
        b"7",
        b'"a"',
        b"[1, 2]",
        b"1" * 10_000,
    ],
)
def test_what_is_no_caption_gives_no_words(tmp_path, data):
    path = tmp_path / "a.json"
    path.write_bytes(data)
    with within_cpu_seconds(2):
        assert read_caption(path).words == ()


def test_long_files_are_cut(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(
        " ".join(f"word{chr(97 + k % 26)}{chr(97 + k // 26)}" for k in range(600)) * 999
    )
    assert path.stat().st_size > MAX_BYTES
    assert len(read_caption(path).words) == MAX_KEYWORDS
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"tags": [f"tag {k}" for k in range(9999)]}), encoding="utf-8")
    assert len(read_caption(path).words) == MAX_KEYWORDS
    path.write_text(json.dumps({"tags": ["a"], "imageData": "A" * MAX_BYTES}), encoding="utf-8")
    assert read_caption(path).words == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_of_common_programs_are_read(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_text("Bläßhuhn", encoding=encoding)
    assert read_caption(path).words == ("bläßhuhn",)


def test_a_file_that_is_gone_is_no_caption(tmp_path):
    assert read_caption(tmp_path / "gone.txt").words == ()


@pytest.mark.parametrize(
    ("name", "text", "caption"),
    [
        ("a.txt", "A grey heron\nin the reeds.\n", "A grey heron in the reeds."),
        ("a.txt", "heron, reeds, lake", ""),
        ("a.txt", "0 0.5 0.5 0.1 0.1", ""),
        (
            "a.json",
            '{"tags": ["heron"], "caption": "In the reeds, at dawn."}',
            "In the reeds, at dawn.",
        ),
        ("a.json", '{"tags": ["heron"]}', ""),
    ],
)
def test_a_sentence_is_kept_as_it_is(tmp_path, name, text, caption):
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_caption(tmp_path / name).text == caption


def test_a_pipe_that_took_the_place_of_a_file_is_not_waited_for(tmp_path):
    """Between listing a folder and reading it, a file may have become anything."""
    for name in ("a.txt", "a.json", "b"):
        os.mkfifo(tmp_path / name)
    assert read_caption(tmp_path / "a.txt") == read_caption(tmp_path / "a.json") == Caption()
    assert not is_candidate(tmp_path, "b")

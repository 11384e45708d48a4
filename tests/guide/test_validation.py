"""A guide from a stranger, or from a failing disk, is opened whole or refused in one sentence."""

import json
import os
import re
import shutil
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from fieldguide import _files
from fieldguide.collection import Collection
from fieldguide.errors import EditError, FieldguideError, GuideError
from fieldguide.guide import Guide
from fieldguide.guide.shelf import open_file
from fieldguide.site.export import export_site
from fieldguide.site.render import Renderer


@pytest.fixture
def copied(small_guide, tmp_path) -> Path:
    """A guide to harm."""
    return Path(shutil.copytree(small_guide.folder, tmp_path / "copied"))


def edition(folder: Path) -> Path:
    return folder / "editions" / str(json.loads((folder / "guide.json").read_text())["edition"])


def refuse(folder: Path, match: str) -> None:
    """Opening says what is wrong in one sentence."""
    with pytest.raises(GuideError, match=match) as caught:
        Guide.open(folder)
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert len(text) < 600


BROKEN_TABLES = {
    "UPDATE branch SET parent = 2 WHERE id = 1": "branch 1 must be below a branch",
    "UPDATE branch SET parent = 1 WHERE id = 1": "branch 1 must be below a branch",
    "UPDATE branch SET parent = NULL, depth = 0 WHERE id = 1": "branch 1 must be below a branch",
    "UPDATE branch SET parent = 0 WHERE id = 0": "branch 0 must be below a branch",
    "DELETE FROM branch WHERE id = 1": "holds no branch 1",
    "DELETE FROM branch": "no branch",
    "UPDATE branch SET id = 1000000000 WHERE id = 3": "holds no branch 3",
    "UPDATE branch SET count = 1000000000 WHERE id = 1": "count of branch 1",
    "UPDATE branch SET count = 3 WHERE id = 1": "branch 1 must count 8",
    "UPDATE branch SET last = 1000000000 WHERE id = 1": "branch 1 must count 8",
    "UPDATE branch SET depth = 1000000000 WHERE id = 1": "depth of branch 1",
    "UPDATE branch SET words = '[]' WHERE id = 1": "branch 1 must have a name",
    "UPDATE branch SET words = '[1]' WHERE id = 1": "words.*of branch 1.* must be a text",
    "UPDATE branch SET words = '" + "[" * 30_000 + "' WHERE id = 1": "words of branch 1 is no list",
    "UPDATE branch SET exemplars = '[99]' WHERE id = 1": "exemplars of branch 1.0 must be a whole",
    "UPDATE branch SET kinds = '{}' WHERE id = 1": "kinds of branch 1 must be a list",
    "UPDATE branch SET truth = 'x' WHERE id = 1": "truth of branch 1",
    "UPDATE branch SET stability = 1e999 WHERE id = 1": "stability of branch 1",
    "UPDATE kind SET count = 1000000000": "count of kind 'disc'",
    "UPDATE kind SET count = 7": "'disc' counts other specimens",
    "UPDATE kind SET name = 'discs' WHERE name = 'disc'": "looks like 'disc', which is no kind",
    "UPDATE kind SET slug = '../../etc/passwd' WHERE name = 'disc'": "slug of kind 'disc'",
    "UPDATE kind SET look_alikes = '[[\"moon\", 0.5]]'": "'moon', which is no kind",
    "UPDATE kind SET branches = '[[77, 1]]'": "branches of kind 'disc'",
    "UPDATE kind SET recall = -1": "recall of kind 'disc'",
    "DELETE FROM kind WHERE name = 'disc'": "looks like 'disc', which is no kind",
    "DELETE FROM specimen WHERE id = 3": "must number 24 rows of 'specimen'",
    "UPDATE specimen SET id = 1000000000 WHERE id = 3": "must number 24 rows of 'specimen'",
    "UPDATE specimen SET branch = 1000000000 WHERE id = 3": "specimen.branch must be a whole",
    "UPDATE specimen SET branch = 'x' WHERE id = 3": "specimen.branch must be a whole",
    "UPDATE specimen SET branch = 2.5 WHERE id = 3": "specimen.branch must be a whole",
    "UPDATE specimen SET branch = 0 WHERE id = 3": "branch 0 counts other specimens",
    "UPDATE specimen SET digest = '../../secret' WHERE id = 3": "specimen.digest must be 24 hex",
    "UPDATE specimen SET digest = x'00ff' WHERE id = 3": "specimen.digest must be 24 hex",
    "UPDATE specimen SET path = 'a' || char(0) || 'b' WHERE id = 3": "specimen.path must be a name",
    "UPDATE specimen SET path = x'41' WHERE id = 3": "specimen.path must be a name",
    "UPDATE specimen SET kind = 'moon' WHERE id = 3": "the kind 'moon', which is no kind",
    "UPDATE specimen SET answer = 'moon' WHERE id = 3": "the answer 'moon', which is no kind",
    "UPDATE specimen SET width = 0 WHERE id = 3": "specimen.width must be a size",
    "UPDATE specimen SET height = 1e300 WHERE id = 3": "specimen.height must be a size",
    "UPDATE specimen SET sure = 'very' WHERE id = 3": "specimen.sure must be a probability",
    "UPDATE specimen SET typical = 1e999 WHERE id = 3": "specimen.typical must be a number",
    "UPDATE specimen SET keywords = '[' WHERE id = 3": "specimen.keywords must be a list",
    "UPDATE specimen SET has_large = 9 WHERE id = 3": "specimen.has_large must be 0 or 1",
    "UPDATE shows SET specimen = 1000000000 WHERE specimen = 3": "table 'shows' must hold",
    "UPDATE shows SET score = 'high' WHERE specimen = 3": "table 'shows' must hold",
    "UPDATE attribute SET id = 1000000000 WHERE id = 3": "rows of 'attribute'",
    "UPDATE attribute SET name = x'ff' WHERE id = 3": "attribute.name must be a text",
    "UPDATE taken SET specimen = -1 WHERE specimen = 3": "taken.specimen must be a whole",
    "UPDATE taken SET latitude = 1000 WHERE specimen = 3": "taken.latitude must be -90 to 90",
    "UPDATE taken SET latitude = 10 WHERE specimen = 3": "taken.longitude must be",
    "UPDATE taken SET date = 'disc' WHERE specimen = 3": "taken.date must be a date",
    "UPDATE taken SET date = '2021-13-01' WHERE specimen = 3": "taken.date must be a date",
    "UPDATE kind SET exemplars = '[]'": "kind 'disc' must have exemplars",
    "UPDATE branch SET exemplars = '[]' WHERE id = 1": "branch 1 must have exemplars",
    "INSERT INTO owner VALUES (3, 'a', 'no list')": "owner.words must be a list",
    "INSERT INTO owner VALUES (99, 'a', '[]')": "owner.specimen must be a whole",
    "ALTER TABLE taken RENAME TO was; CREATE VIEW taken AS SELECT * FROM was": "no version writes",
    "DROP TABLE kind": "no such table",
    "CREATE TRIGGER t AFTER INSERT ON kind BEGIN SELECT 1; END": "holds a trigger 't'",
    "ALTER TABLE kind ADD COLUMN more AS (zeroblob(9))": "has other columns",
    "CREATE INDEX more ON kind (count + 1)": "holds a index 'more'",
}


@pytest.mark.parametrize("statement", BROKEN_TABLES)
def test_a_catalogue_that_no_version_writes_is_refused(copied, statement):
    db = sqlite3.connect(edition(copied) / "catalogue.sqlite")
    db.executescript(statement)
    db.close()
    refuse(copied, BROKEN_TABLES[statement])


def test_a_view_that_never_ends_is_not_asked(copied):
    db = sqlite3.connect(edition(copied) / "catalogue.sqlite")
    db.executescript(
        "ALTER TABLE specimen RENAME TO was; CREATE VIEW specimen AS WITH RECURSIVE n(i) AS "
        "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n"
    )
    db.close()
    refuse(copied, "holds a (view 'specimen'|table 'was')")


def test_an_index_that_is_not_that_of_its_table_is_refused(copied):
    """A covering index is read in place of its table."""
    db = sqlite3.connect(edition(copied) / "catalogue.sqlite")
    db.executescript(
        "CREATE INDEX other ON specimen (branch, typical);"
        "UPDATE specimen SET typical = 0.25 WHERE id = 3; PRAGMA writable_schema = ON;"
        "DELETE FROM sqlite_master WHERE name = 'specimen_branch';"
    )
    db.close()
    db = sqlite3.connect(edition(copied) / "catalogue.sqlite")
    db.execute("UPDATE specimen SET typical = 0.75 WHERE id = 3")  # one index follows, one is lost
    db.commit()
    db.close()
    refuse(copied, "specimen_branch|other")


BROKEN_INFO = [
    ("title", 3, "title must be a text"),
    ("title", None, "title must be a text"),
    ("title", "\ud800", "is damaged"),
    ("n_specimens", 10**9, "must number 1000000000 rows of 'specimen'"),
    ("n_specimens", 24.0, "n_specimens must be a whole number"),
    ("n_specimens", True, "n_specimens must be a whole number"),
    ("n_kinds", 2, "holds 3 kinds and guide.json says 2"),
    ("n_branches", 10**9, "holds 3 branches"),
    ("features", "rows", "features must be a list"),
    ("features", ["../../secret"], "features.0 must be of the form"),
    ("settings", [], "settings must be an object"),
    ("settings", {"embedder": 3}, "settings.embedder must be a text"),
    ("accuracy", "high", "accuracy must be a number"),
    ("confusions", [["disc", "moon", 3]], "confuses 'moon'"),
    ("confusions", [["disc"]], "confusions.0 must be a list of 3"),
    ("kinds_from", "elsewhere", "kinds_from must be one of"),
    ("kind_branches", {"disc": 99}, "kind_branches.disc must be a whole number"),
    ("key", {"point": {"share": 0}}, "key.point"),
    ("key", {"tried": [3]}, "key.tried.0 must be an object"),
    ("tree", {"n_words": -1}, "tree.n_words must be a whole number"),
    ("update", {"measured": 1}, "update.kept is missing"),
    ("created", 7, "created must be a text"),
    ("versions", {}, "versions.fieldguide is missing"),
    ("edition", 0, "edition must be a whole number"),
    ("edition", "1/../1", "edition must be a whole number"),
    ("seconds", 10**400, "is damaged"),
]


@pytest.mark.parametrize(("name", "value", "match"), BROKEN_INFO)
def test_a_guide_json_that_no_version_writes_is_refused(copied, name, value, match):
    info = json.loads((copied / "guide.json").read_text())
    (copied / "guide.json").write_text(json.dumps(info | {name: value}))
    refuse(copied, match)


def test_whatever_is_missing_is_told_of_or_not_needed(copied):
    info = json.loads((copied / "guide.json").read_text())
    missing = set()
    for name in info:
        rest = {key: value for key, value in info.items() if key != name}
        (copied / "guide.json").write_text(json.dumps(rest))
        try:
            guide = Guide.open(copied)
        except GuideError:
            missing.add(name)
        else:
            assert guide.verdict
            assert guide.check() is not None
            assert Renderer(guide, live=True).page("about.html")
    assert missing >= {"title", "n_specimens", "confusions", "settings", "features", "edition"}
    assert len(missing) < len(info) / 2


def test_numbers_that_are_none_and_nesting_without_end_are_refused(copied):
    text = (copied / "guide.json").read_text()
    for bad in ("NaN", "Infinity", "1e999", "[" * 100_000):
        (copied / "guide.json").write_text(re.sub(r'"seconds": [^,]*', f'"seconds": {bad}', text))
        refuse(copied, "guide.json of .* is damaged")


@pytest.mark.parametrize(
    "name", ["guide.json", "editions", "pictures", "models/key.json", "features"]
)
def test_no_link_inside_a_guide_is_followed(copied, tmp_path, name):
    place = copied / name if (copied / name).exists() else edition(copied) / name
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    refuse(copied, f"{name.split('/')[-1]}' is a link, and no link inside a guide is followed")


@pytest.mark.parametrize(
    "name", ["guide.json", "edits.jsonl", "catalogue.sqlite", "models/key.json"]
)
def test_a_pipe_in_place_of_a_file_is_not_waited_for(copied, name):
    place = copied / name if name in ("guide.json", "edits.jsonl") else edition(copied) / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    refuse(copied, "is neither a plain file nor a folder")


def test_a_guide_of_a_stranger_publishes_none_of_our_files(copied, tmp_path, worded_guide):
    """The finding: ``pictures`` as a link, and an address in visual_words.json."""
    private = tmp_path / "private"
    private.mkdir()
    (private / "letter.png").write_bytes(b"dear diary")
    guide = Guide.open(copied)
    address = guide.specimen(0).thumbnail
    (copied / address).unlink()
    (copied / address).symlink_to(private / "letter.png")
    assert open_file(copied, address) is None
    with pytest.raises(FieldguideError, match="a picture that is a link"):
        export_site(guide, tmp_path / "site")
    assert not (tmp_path / "site").exists()

    words = Path(shutil.copytree(worded_guide.folder, tmp_path / "words"))
    (words / "pictures" / "more").mkdir()
    (words / "pictures" / "more" / "letter.png").symlink_to(private / "letter.png")
    listed = edition(words) / "models" / "visual_words.json"
    said = json.loads(listed.read_text())
    said["words"][0]["picture"] = "pictures/more/letter.png"
    listed.write_text(json.dumps(said))
    with pytest.raises(GuideError, match=r"words.0.picture must be of the form pictures/words/"):
        Guide.open(words).visual_words  # noqa: B018


def test_a_build_writes_through_no_link(copied, tmp_path, blobs):
    """The finding: two digits of the digests as a link, through which pictures were written."""
    private = tmp_path / "private"
    private.mkdir()
    for folder in list((copied / "pictures").iterdir()):
        shutil.rmtree(folder)
        folder.symlink_to(private)
    with pytest.raises(GuideError, match=r"A guide cannot be written to .* is a link"):
        Guide.build(Collection.from_arrays(*blobs), copied)
    assert not list(private.iterdir())
    refuse(copied, "is a link, and no link inside a guide is followed")


@pytest.mark.parametrize("name", ["-wal", "-shm", "-journal"])
def test_no_link_beside_the_journal_is_followed(copied, tmp_path, name):
    (copied / f"build.journal{name}").symlink_to(tmp_path / "letter")
    refuse(copied, f"build.journal{name}' is a link")


@pytest.mark.parametrize(
    "name", ["guide.json", "edits.jsonl", "models/key.json", "models/key.safetensors"]
)
def test_a_file_of_holes_fills_no_memory(copied, name):
    """The finding: it was read whole, whatever size it claims to have."""
    place = copied / name if "/" not in name else edition(copied) / name
    with open(place, "ab") as file:
        file.truncate(2**42)
    refuse(copied, r"its models claim 4,398.\d GB|edits.jsonl' cannot be read: it claims")


def test_a_small_file_of_many_values_fills_no_memory(copied, monkeypatch):
    """Two bytes of JSON may stand for three hundred of memory."""
    monkeypatch.setattr(_files, "half_of_memory", lambda: 3_000_000)
    many = b'{"made_by": [' + b"[]," * 10_000 + b"1]}"
    with pytest.raises(ValueError, match="more values than fit in the memory"):
        _files.parse_json(many)
    (copied / "guide.json").write_bytes(many)
    refuse(copied, "guide.json of .* is damaged")


def test_a_link_that_is_put_there_meanwhile_is_not_followed(copied, tmp_path):
    """Between a look at a path and opening it there must be no time to change what it means."""
    address = Guide.open(copied).specimen(0).thumbnail
    folder, away = (copied / address).parent, tmp_path / "away"
    private = tmp_path / "private"
    private.mkdir()
    (private / Path(address).name).write_bytes(b"dear diary")
    stop, seen = threading.Event(), set()

    def swap() -> None:
        while not stop.is_set():
            folder.rename(away)
            folder.symlink_to(private)
            folder.unlink()
            away.rename(folder)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(3000):
            file = open_file(copied, address)
            if file is not None:
                with file:
                    seen.add(file.read(4))
    finally:
        stop.set()
        swapping.join()
    assert b"dear" not in seen


def test_an_edit_is_not_written_through_a_link(copied, tmp_path, blobs):
    guide = Guide.open(copied)
    victim = tmp_path / "profile"
    victim.write_text("mine\n")
    (copied / "edits.jsonl").symlink_to(victim)
    with pytest.raises((GuideError, EditError), match="it is a link, which is not followed"):
        guide.edits.add("rename", "kind:disc", "moon")
    assert victim.read_text() == "mine\n"
    with pytest.raises(GuideError, match=r"A guide cannot be written to .* is a link"):
        Guide.build(Collection.from_arrays(*blobs), copied)


def test_the_models_of_another_version_are_said_to_be_so(copied):
    """A guide from before a part of its features was known is not damaged, but of its time."""
    place = edition(copied) / "models" / "stack.json"
    record = json.loads(place.read_text())
    del record["model"]["fitted"]["basis_"]
    place.write_text(json.dumps(record))
    with pytest.raises(GuideError, match=r"was written by another version \(basis_ of") as caught:
        Guide.open(copied).stack  # noqa: B018
    assert "run the same 'fieldguide build' again: the images are not" in str(caught.value)


HARMED_MODELS = {
    "marks": ("kinds", lambda said: said[0].update(kind="moon"), "marks .* speaks of 'moon'"),
    "words": ("same", None, "words .* cannot be read|were stored by another version"),
    "key": ("model", lambda said: said["fitted"].update(classes_={"str9": ["a", "b", "moon"]}),
            "The key .* speaks of 'a'"),
    "check": ("model", lambda said: said["kinds"].__setitem__(0, [1]), "its kinds are no texts"),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMED_MODELS)
def test_a_model_that_speaks_of_something_else_is_refused(copied, name):
    part, harm, match = HARMED_MODELS[name]
    place = edition(copied) / "models" / f"{name}.json"
    said = json.loads(place.read_text())
    if harm is None:
        said[part] = 3
    else:
        harm(said[part])
    place.write_text(json.dumps(said))
    models = Guide.open(copied)._models
    with pytest.raises(FieldguideError, match=match) as caught:
        models.word_model if name == "words" else models.key if name == "key" else models.part(name)
    assert "\n" not in str(caught.value)


def test_measures_that_are_no_numbers_are_refused(copied):
    place = edition(copied) / "models" / "marks.safetensors"
    arrays = load_file(place)
    arrays["measures"] = arrays["measures"].astype("u8")
    save_file(arrays, place)
    with pytest.raises(GuideError, match="measures"):
        Guide.open(copied)._models.part("marks")


@pytest.mark.parametrize(
    ("name", "harm", "ask"),
    [
        ("rows", lambda array: array[:, :-1], lambda models: models.key),
        ("subjects", lambda array: array[:, :-1], lambda models: models.subjects),
        ("subjects", lambda array: array * np.nan, lambda models: models.subjects),
        ("maps", lambda array: array[:, :9], lambda models: models.maps),
        ("attributes", lambda array: array[:, :1], lambda models: models.attributes),
        ("attributes", lambda array: array[:-1], lambda models: models.attributes),
        ("attributes", lambda array: array.astype("f8"), lambda models: models.attributes),
    ],
)
def test_a_matrix_of_another_form_is_refused(copied, name, harm, ask):
    place = edition(copied) / "features" / f"{name}.npy"
    np.save(place, harm(np.load(place)))
    models = Guide.open(copied)._models
    with pytest.raises(GuideError, match=r"does not fit|hold NaN"):
        ask(models)


def test_a_schema_that_is_no_text_is_refused(copied):
    place = edition(copied) / "catalogue.sqlite"
    place.write_bytes(place.read_bytes().replace(b"CREATE TABLE kind", b"CREATE \xff\xff\xff kind"))
    refuse(copied, "catalogue .* cannot be read")


def test_an_edit_costs_no_second_check_of_the_catalogue(copied, monkeypatch):
    from fieldguide.guide.catalogue import Catalogue

    asked = []
    check = Catalogue.check
    monkeypatch.setattr(Catalogue, "check", lambda self, info: asked.append(check(self, info)))
    guide = Guide.open(copied)
    assert len(asked) == 1
    assert guide.reopen().n_specimens == 24
    assert len(asked) == 1

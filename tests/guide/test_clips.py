"""Clips and pictures in one guide: what is kept of a clip, what identify says of one."""

import json
import os
import shutil
import signal
import sqlite3

import numpy as np
import pytest
from PIL import Image
from tests.clips import draw_blob_clip, write_clip
from tests.guide.contents import contents
from tests.guide.killed_build import check_killed_build

from fieldguide.collection import Collection, read_picture_or_clip
from fieldguide.errors import GuideError
from fieldguide.features import pool_rows
from fieldguide.guide import Guide, measure, specimens
from fieldguide.guide.survey import list_shots, survey


def test_a_clip_is_a_specimen_with_frames(clip_guide, clip_folder):
    listed = {each.path: each for each in clip_guide.specimens(range(clip_guide.n_specimens))}
    assert len(listed) == 10
    assert listed["disc/still.png"].clip is None
    clip = listed["disc/0.mp4"].clip
    read = read_picture_or_clip(clip_folder / "disc/0.mp4")
    assert clip.seconds == read.clip.seconds == pytest.approx(0.4)
    assert [frame.at_s for frame in clip.frames] == [at_s for at_s, _ in read.clip.timed]
    for frame, image in zip(clip.frames, read.images, strict=True):
        kept = Image.open(clip_guide.folder / frame.picture)
        assert np.abs(np.asarray(kept).astype(int) - np.asarray(image)).mean() < 6
    (refused,) = clip_guide.unreadable
    assert refused.path == "disc/notes.mp4"
    assert "not a video in a format that we read" in refused.reason


def test_identify_sees_a_clip_as_the_build_did(clip_guide, clip_folder):
    paths = [each.path for each in clip_guide.specimens(range(clip_guide.n_specimens))]
    edition = clip_guide.folder / "editions" / str(clip_guide.about["edition"]) / "features"
    kept = {name: np.load(edition / f"{name}.npy") for name in ("rows", "seen", "maps", "said")}
    for path in ("disc/1.avi", "square/3.gif", "square/still.png"):
        i = paths.index(path)
        for source in (clip_folder / path, (clip_folder / path).read_bytes()):
            seen = clip_guide.look(source)
            np.testing.assert_allclose(seen.row[0], kept["rows"][i], atol=1e-5)
            np.testing.assert_allclose(seen.seen[0], kept["seen"][i], atol=1e-4)
            np.testing.assert_allclose(seen.map[0], kept["maps"][i], atol=1e-4)
            np.testing.assert_allclose(seen._said[0], kept["said"][i], atol=1e-3)
        (answer,) = clip_guide.identify([seen])
        assert answer.kinds[0].name == path.split("/")[0]


def test_a_row_is_the_mean_of_the_rows_of_frames(clip_guide, clip_folder):
    clip = clip_guide.look(clip_folder / "disc/0.mp4")
    rows = [clip_guide.look(image).row[0] for image in clip.picture.images]
    parts = clip_guide.stack.split_columns(len(rows[0]))
    deep = parts.pop("deep")
    found, wanted = clip.row[0], pool_rows(np.stack(rows))
    for own in parts.values():
        cosine = found[own] @ wanted[own] / np.linalg.norm(found[own]) / np.linalg.norm(wanted[own])
        assert cosine > 0.99999
    assert found[deep] @ wanted[deep] > 0
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)


def test_a_table_of_clips(clip_guide, clip_folder, tmp_path):
    rows = survey(clip_guide, list_shots([clip_folder / "disc"]), tmp_path / "out.csv")
    said = {os.path.basename(row.file): row for row in rows}
    assert said["0.mp4"].kind == "disc"
    assert said["notes.mp4"].error.startswith("not a video")


def test_the_next_build_measures_nothing_again_and_follows_files(clip_folder, tmp_path):
    photos, out = tmp_path / "films", tmp_path / "guide"
    shutil.copytree(clip_folder, photos)
    settings = {"features": "deep", "marks": False, "places": False, "key": "ova", "n_jobs": 1}
    Guide.build(photos, out, **settings)
    first = contents(out)
    again = Guide.build(photos, out, **settings)
    assert again.about["update"] == {"measured": 0, "kept": 10, "moved": 0, "gone": 0}
    assert contents(out) == first
    (photos / "disc/0.mp4").rename(photos / "disc/7.mp4")
    os.utime(photos / "disc/7.mp4")
    moved = Guide.build(photos, out, **settings)
    assert moved.about["update"]["moved"] == 1
    assert moved.about["update"]["measured"] == 0
    clips = [each.clip for each in moved.specimens(range(10)) if each.path == "disc/7.mp4"]
    assert len(clips[0].frames) == 4
    lost = clips[0].frames[1].picture
    (out / lost).unlink()
    Guide.build(photos, out, **settings)
    assert (out / lost).stat().st_size > 0


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_build_of_clips_ends_in_the_same_bytes(clip_folder, tmp_path, monkeypatch):
    for module in (measure, specimens):
        monkeypatch.setattr(module, "BATCH_SIZE", 1)
    few = tmp_path / "few"
    few.mkdir()
    for name in ("disc/0.mp4", "disc/3.gif", "disc/still.png", "square/1.avi"):
        shutil.copy(clip_folder / name, few / name.replace("/", "-"))
    settings = {"features": "looks", "marks": False, "places": False}
    whole = Guide.build(few, tmp_path / "whole", n_jobs=1, **settings)
    for step in ("reading images", "looking closer"):
        check_killed_build(few, whole, tmp_path / step, step, 2, step, **settings)


def test_a_gif_of_an_earlier_version_is_seen_again(clip_folder, tmp_path):
    out = tmp_path / "guide"
    settings = {"features": "deep", "marks": False, "places": False, "key": "ova", "n_jobs": 1}
    Guide.build(clip_folder, out, **settings)
    with sqlite3.connect(out / "editions/1/catalogue.sqlite") as db:
        db.execute("DROP TABLE clip")
    db.close()
    opened = Guide.open(out)
    assert all(each.clip is None for each in opened.specimens(range(10)))
    again = Guide.build(clip_folder, out, **settings)
    assert again.about["update"]["measured"] == 0  # the content is known, and it was measured
    gifs = [each for each in again.specimens(range(10)) if each.path.endswith(".gif")]
    assert [each.clip is not None for each in gifs] == [True, True]


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        ('[[0, "pictures/../guide.json"]]', "of the form"),
        ('[[-1, "pictures/frames/' + "0" * 32 + '.jpg"]]', "a number from 0"),
        ("[]", "must hold a frame"),
        ("{", "must be a list"),
        ("[" * 9000, "must be a list"),
        (json.dumps([[0, "pictures/frames/" + "0" * 32 + ".jpg"]] * 65), "at most 64"),
    ],
)
def test_a_stranger_s_clip_is_checked(frames, why, clip_guide, tmp_path):
    shutil.copytree(clip_guide.folder, tmp_path / "guide")
    edition = tmp_path / "guide/editions" / str(clip_guide.about["edition"])
    with sqlite3.connect(edition / "catalogue.sqlite") as db:
        db.execute("UPDATE clip SET frames = ?", [frames])
    db.close()
    with pytest.raises(GuideError, match=why):
        Guide.open(tmp_path / "guide")


def test_specimens_are_added_as_clips(clip_guide, clip_folder, tmp_path):
    shutil.copytree(clip_guide.folder, tmp_path / "guide")
    (tmp_path / "more/disc").mkdir(parents=True)
    write_clip(tmp_path / "more/disc/new.mp4", draw_blob_clip("disc", 33, 4))
    grown = Guide.open(tmp_path / "guide").add(tmp_path / "more", n_jobs=1)
    clips = {each.path: each.clip for each in grown.specimens(range(11))}
    assert len(clips["disc/new.mp4"].frames) == 4
    assert len(clips["disc/0.mp4"].frames) == 4


def test_a_collection_lists_clips(clip_folder):
    collection = Collection.from_folder(clip_folder)
    assert len(collection) == 11
    assert collection.others == {}
    assert collection.taken([i.path for i in collection.items].index("disc/0.mp4")) is None

"""Many pictures named at once: one table, whatever stops it and however many threads there are."""

import csv
import os
import shutil

import pytest
from PIL import Image

from fieldguide.collection import read_picture
from fieldguide.errors import (
    CollectionError,
    FieldguideError,
    InvalidArgument,
    UnreadableImageError,
)
from fieldguide.guide import Guide, workspace
from fieldguide.guide.survey import COLUMNS, list_shots, survey


@pytest.fixture(scope="module")
def photos(blobs, tmp_path_factory):
    """Seven pictures, one of which is damaged, in a folder and one below it."""
    root = tmp_path_factory.mktemp("photos")
    (root / "below").mkdir()
    for i, image in enumerate(blobs[0][::4]):
        exif = Image.Exif()
        if i == 0:
            exif.get_ifd(0x8769)[0x9003] = "2021:05:03 14:07:09"
        Image.fromarray(image).save(root / "below" / f"{i}.jpg", exif=exif)
    shutil.copy(root / "below" / "1.jpg", root / "=1+1.jpg")
    (root / "bad.jpg").write_bytes(b"\xff\xd8\xff and no more")
    (root / "notes.txt").write_text("no picture")
    return root


@pytest.fixture(scope="module")
def whole(flat_guide, photos, tmp_path_factory):
    """The table that nothing stopped."""
    target = tmp_path_factory.mktemp("whole") / "out.csv"
    survey(flat_guide, list_shots([photos]), target)
    assert [path.name for path in target.parent.iterdir()] == ["out.csv"]
    return target.read_bytes()


def read_rows(content):
    return list(csv.DictReader(content.decode().splitlines()))


def test_a_row_says_what_identify_says(flat_guide, photos, whole):
    rows = read_rows(whole)
    assert tuple(rows[0]) == COLUMNS
    assert [row["file"] for row in rows] == [shot.file for shot in list_shots([photos])]
    assert [os.path.relpath(row["file"], photos) for row in rows][:3] == [
        "=1+1.jpg",
        "bad.jpg",
        "below/0.jpg",
    ]
    for row in rows:
        if row["file"].endswith("bad.jpg"):
            with pytest.raises(UnreadableImageError) as refused:
                read_picture(row["file"])
            assert row["error"] == str(refused.value)
            assert {row[name] for name in COLUMNS[1:-1]} == {""}
            continue
        (said,) = flat_guide.identify([row["file"]])
        assert row["kind"] == said.kinds[0].name
        assert float(row["confidence"]) == round(said.kinds[0].probability, 4)
        assert row["group"] == "; ".join(said.group)
        assert row["none_of_these"] == str(said.none_of_these).lower()
        assert row["empty"] == str(said.nothing_to_see).lower()
        assert row["branch"] == said.branch.sentence
        assert row["error"] == ""
    dates = {os.path.basename(row["file"]): row["date"] for row in rows}
    assert dates["0.jpg"] == "2021-05-03T14:07:09"
    assert dates["2.jpg"] == ""


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_survey_that_was_stopped_ends_in_the_same_table(
    flat_guide, photos, whole, tmp_path, after, n_jobs
):
    target, shots, calls = tmp_path / "out.csv", list_shots([photos]), []

    def stop(step, done, total):
        calls.append(done)
        if len(calls) > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey(flat_guide, shots, target, progress=stop)
    assert not target.exists()
    resumed = []
    survey(
        flat_guide, shots, target, n_jobs=n_jobs, progress=lambda _, done, n: resumed.append(done)
    )
    assert resumed[0] == calls[-1]
    assert resumed[-1] == len(shots)
    assert target.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


def test_a_line_that_was_cut_off_is_made_again(flat_guide, photos, whole, tmp_path):
    target, shots, kept = tmp_path / "out.csv", list_shots([photos]), []

    def keep(step, done, total):
        kept.append((tmp_path / "out.csv.part").read_bytes())

    survey(flat_guide, shots, target, progress=keep)
    lines = kept[-1].splitlines(keepends=True)
    assert len(lines) == 1 + len(shots)
    for cut in (3, len(lines[0]), len(lines[0]) + 9, len(kept[-1]) - 1):
        (tmp_path / "out.csv.part").write_bytes(kept[-1][:cut])
        if cut == 3:  # nothing says that it is ours
            with pytest.raises(FieldguideError, match="no survey that was stopped"):
                survey(flat_guide, shots, target)
            continue
        survey(flat_guide, shots, target)
        assert target.read_bytes() == whole


def test_a_line_of_nesting_without_end_is_made_again(flat_guide, photos, whole, tmp_path):
    target, shots, kept = tmp_path / "out.csv", list_shots([photos]), []
    part = tmp_path / "out.csv.part"
    survey(flat_guide, shots, target, progress=lambda *_: kept.append(part.read_bytes()))
    part.write_bytes(kept[-1] + b"[" * 100_000 + b"\n")
    survey(flat_guide, shots, target)
    assert target.read_bytes() == whole


def test_what_changed_or_is_of_another_guide_is_looked_at_again(
    flat_guide, small_guide, photos, tmp_path
):
    own, target = tmp_path / "own", tmp_path / "out.csv"
    shutil.copytree(photos, own)
    done = []

    def stop(step, n_done, total):
        done.append(n_done)
        if n_done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        survey(flat_guide, list_shots([own]), target, progress=stop)
    shutil.copy(own / "below" / "5.jpg", own / "below" / "0.jpg")
    os.utime(own / "below" / "0.jpg", ns=(1, 1))
    with pytest.raises(KeyboardInterrupt):
        survey(flat_guide, list_shots([own]), target, progress=stop)
    assert done[-2] == len(list_shots([own])) - 1
    with pytest.raises(KeyboardInterrupt):
        survey(small_guide, list_shots([own]), target, progress=stop)
    assert 0 in done[-4:]


def test_files_and_folders_are_listed_once(photos, tmp_path):
    one = photos / "below" / "1.jpg"
    shots = list_shots([one, photos])
    assert shots[0].file == str(one)
    assert len(shots) == len({shot.file for shot in shots}) == len(list_shots([photos]))
    missing = list_shots([tmp_path / "none.jpg"])
    assert missing[0].stamp == ""
    with pytest.raises(CollectionError, match="There is no picture in"):
        list_shots([tmp_path])


def test_pictures_that_a_device_is_shown_together_are_named_alike(
    flat_guide, photos, whole, tmp_path, monkeypatch
):
    guide = Guide.open(flat_guide.folder)
    shown, see = [], guide.network.see

    def count(images, *args, **kwargs):
        shown.append(len(images))
        return see(images, *args, **kwargs)

    monkeypatch.setattr(guide.network, "n_at_once", 4)
    monkeypatch.setattr(guide.network, "see", count)
    monkeypatch.setattr(workspace, "count_shares", lambda n_bytes: 1)
    survey(guide, list_shots([photos]), tmp_path / "out.csv")
    assert max(shown) > 1
    rows = read_rows((tmp_path / "out.csv").read_bytes())
    for row, one in zip(rows, read_rows(whole), strict=True):
        assert float(row.pop("confidence") or 0) == pytest.approx(float(one.pop("confidence") or 0))
        assert row == one


def test_zero_cores_are_refused(flat_guide, photos, tmp_path):
    with pytest.raises(InvalidArgument, match="must be 1 or more, or -1"):
        survey(flat_guide, list_shots([photos]), tmp_path / "out.csv", n_jobs=0)
    with pytest.raises(InvalidArgument, match="must be 1 or more, or -1"):
        Guide.build(photos, tmp_path / "guide", n_jobs=0)
    assert not list(tmp_path.iterdir())

"""YouTube-Objects on a tiny tree of the same layout."""

import numpy as np
import pytest
from PIL import Image

from fieldguide.datasets import load_youtube_objects
from fieldguide.errors import CollectionError, FieldguideError

SHOTS = {  # frames of each shot
    "boat/data/0002/shots/001": 3,
    "aeroplane/data/0001/shots/001": 2,
    "aeroplane/data/0001/shots/002": 5,
    "aeroplane/data/0002/shots/001": 1,
}


@pytest.fixture
def videos(tmp_path):
    for shade, (shot, n_frames) in enumerate(SHOTS.items()):
        (tmp_path / shot).mkdir(parents=True)
        for i in range(n_frames):
            picture = Image.new("RGB", (8, 6), (50 * shade + 10,) * 3)
            picture.save(tmp_path / shot / f"frame{i + 1:04d}.jpg")
    (tmp_path / "readme.txt").write_text("beside the folders")
    Image.new("RGB", (8, 6)).save(tmp_path / "boat" / "cover.jpg")
    return tmp_path


def test_frames_know_their_class_and_shot(videos):
    bunch = load_youtube_objects(videos)
    assert bunch.target_names == ["aeroplane", "boat"]
    assert bunch.group_names == [
        "aeroplane/0001/001",
        "aeroplane/0001/002",
        "aeroplane/0002/001",
        "boat/0002/001",
    ]
    assert bunch.groups.tolist() == [0] * 2 + [1] * 5 + [2] + [3] * 3
    assert bunch.target.tolist() == [0] * 8 + [1] * 3
    assert [item.kind for item in bunch.images.items] == ["aeroplane"] * 8 + ["boat"] * 3
    assert bunch.images.items[2].path == "aeroplane/data/0001/shots/002/frame0001.jpg"
    shades = [int(image.mean()) for image in bunch.images]
    np.testing.assert_allclose(shades, [60] * 2 + [110] * 5 + [160] + [10] * 3, atol=3)
    assert ("boat/cover.jpg", "not a frame of YouTube-Objects") in bunch.images.skipped
    assert "11 frames of 4 shots in 2 classes, all of each shot" in bunch.DESCR


def test_some_frames_of_every_shot(videos):
    bunch = load_youtube_objects(videos, every=2)
    assert bunch.groups.tolist() == [0, 1, 1, 1, 2, 3, 3]
    assert [item.path[-8:-4] for item in bunch.images.items][1:4] == ["0001", "0003", "0005"]
    assert "one in 2 of each shot" in bunch.DESCR


def test_shots_directly_in_the_class(tmp_path):
    for path in ("cat/b/1.png", "cat/a/1.png", "cat/a/2.png", "car/a/1.png"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / path)
    bunch = load_youtube_objects(tmp_path)
    assert bunch.group_names == ["car/a", "cat/a", "cat/b"]
    assert bunch.groups.tolist() == [0, 1, 1, 2]


def test_a_split_is_a_list_of_videos_and_shots(videos):
    (videos / "train.txt").write_text("aeroplane/0001/002\nboat/0002\n")
    (videos / "test.txt").write_text("aeroplane/0001/001\naeroplane/0002/001\n")
    train = load_youtube_objects(videos, split="train")
    assert train.group_names == ["aeroplane/0001/002", "boat/0002/001"]
    assert len(train.images) == 8
    test = load_youtube_objects(videos, split="test")
    assert test.target_names == ["aeroplane"]
    assert not set(train.group_names) & set(test.group_names)
    (videos / "test.txt").write_text("aeroplane/0009\n")
    with pytest.raises(CollectionError, match=r"names 'aeroplane/0009', which is no video or shot"):
        load_youtube_objects(videos, split="test")
    (videos / "test.txt").unlink()
    with pytest.raises(CollectionError, match=r"There is no test.txt in"):
        load_youtube_objects(videos, split="test")
    with pytest.raises(FieldguideError, match=r"split of load_youtube_objects must be one of"):
        load_youtube_objects(videos, split="val")


def test_the_split_of_the_release_is_in_each_class(videos):
    for path, names in (
        ("aeroplane/sets/train.txt", "0001\n"),
        ("aeroplane/sets/test.txt", "0002\n"),
        ("boat/sets/train.txt", "0002\n"),
        ("boat/sets/test.txt", ""),
    ):
        (videos / path).parent.mkdir(exist_ok=True)
        (videos / path).write_text(names)
    names = {
        split: load_youtube_objects(videos, split=split).group_names for split in ("train", "test")
    }
    assert names["train"] == ["aeroplane/0001/001", "aeroplane/0001/002", "boat/0002/001"]
    assert names["test"] == ["aeroplane/0002/001"]
    (videos / "boat/sets/test.txt").write_text("0009\n")
    with pytest.raises(CollectionError, match=r"names 'boat/0009', which is no video or shot"):
        load_youtube_objects(videos, split="test")
    (videos / "test.txt").write_text("boat/0002/001\n")  # one's own goes before it
    assert load_youtube_objects(videos, split="test").group_names == ["boat/0002/001"]


def test_masks_as_they_are_downloaded(tmp_path, videos):
    shot = tmp_path / "masks/aeroplane/data/0001/shots/002"
    for name, shade in (
        ("images/frame0001.jpg", 90),
        ("images/frame0003.jpg", 90),
        ("labels/00003.jpg", 255),
    ):
        (shot / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 6), (shade,) * 3).save(shot / name)
    bunch = load_youtube_objects(videos, segments=tmp_path / "masks")
    assert [bunch.images.items[i].path for i in bunch.masked] == [
        "aeroplane/data/0001/shots/002/frame0003.jpg"
    ]
    assert bunch.masks.items[0].path == "aeroplane/data/0001/shots/002/labels/00003.jpg"
    alone = load_youtube_objects(tmp_path / "masks", segments=tmp_path / "masks")
    assert (alone.group_names, len(alone.images)) == (["aeroplane/0001/002"], 2)
    assert alone.masked.tolist() == [1]
    assert [int(mask.min()) for mask in alone.masks] == [255]


def test_masks_of_some_frames(videos, tmp_path_factory):
    segments = tmp_path_factory.mktemp("segments")
    for frame in ("boat/data/0002/shots/001/frame0003", "aeroplane/data/0001/shots/002/frame0001"):
        mask = np.zeros((6, 8), np.uint8)
        mask[2:4, 1:5] = 255 if frame.startswith("boat") else 0
        (segments / frame).parent.mkdir(parents=True)
        Image.fromarray(mask).save((segments / frame).with_suffix(".png"))
    bunch = load_youtube_objects(videos, segments=segments)
    frames = [bunch.images.items[i].path for i in bunch.masked]
    assert frames == [
        "aeroplane/data/0001/shots/002/frame0001.jpg",
        "boat/data/0002/shots/001/frame0003.jpg",
    ]
    assert [item.kind for item in bunch.masks.items] == ["aeroplane", "boat"]
    assert [int((mask[..., 0] > 127).sum()) for mask in bunch.masks] == [0, 8]
    assert "masks" not in load_youtube_objects(videos)
    with pytest.raises(CollectionError, match=r"holds no mask of these frames.*frame0001.png"):
        load_youtube_objects(videos, every=1, segments=videos / "boat")


def test_another_layout_is_refused(videos, tmp_path):
    with pytest.raises(CollectionError, match=r"There is no folder .*unpacked YouTube-Objects"):
        load_youtube_objects(tmp_path / "nowhere")
    with pytest.raises(CollectionError, match=r"is not YouTube-Objects: it holds no frame like"):
        load_youtube_objects(videos / "aeroplane/data/0001/shots/001")
    with pytest.raises(FieldguideError, match="every of load_youtube_objects must be a whole"):
        load_youtube_objects(videos, every=0)

"""SUN397 on a tiny tree of the same layout."""

import numpy as np
import pytest
from PIL import Image

from fieldguide.datasets import load_sun397
from fieldguide.errors import CollectionError, FieldguideError, UnreadableImageError

CLASSES = ["a/abbey", "c/church/indoor", "c/church/outdoor", "c/church_x"]
TRAIN = ["c/church_x/sun_b.jpg", "a/abbey/sun_b.jpg", "c/church/indoor/sun_a.jpg"]
TEST = ["c/church/outdoor/sun_b.jpg", "a/abbey/sun_a.jpg"]


def write_list(path, lines, end="\n"):
    path.write_bytes("".join(f"/{line}{end}" for line in lines).encode())


@pytest.fixture
def sun(tmp_path):
    root = tmp_path / "SUN397"
    for k, name in enumerate(CLASSES):
        for i, letter in enumerate("ba"):
            path = root / name / f"sun_{letter}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 10), (20 + 50 * k + 10 * i,) * 3).save(path)
    write_list(root / "ClassName.txt", CLASSES)
    (root / "README.txt").write_text("beside the folders")
    (root / "a" / "abbey" / "notes.txt").write_text("no image")
    (root / "Partitions").mkdir()
    write_list(root / "Partitions" / "Training_01.txt", TRAIN)
    write_list(root / "Partitions" / "Testing_01.txt", TEST, end="\r\n")
    write_list(root / "Partitions" / "Training_10.txt", TEST)
    return root


def paths(bunch):
    return [item.path for item in bunch.images.items]


def test_all_images_class_by_class(sun):
    bunch = load_sun397(sun)
    assert bunch.target_names == ["abbey", "church/indoor", "church/outdoor", "church_x"]
    assert bunch.target.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert np.issubdtype(bunch.target.dtype, np.integer)
    assert paths(bunch) == [f"{name}/sun_{letter}.jpg" for name in CLASSES for letter in "ab"]
    assert "8 pictures of 4 classes: all" in bunch.DESCR


def test_classes_are_numbered_as_listed_and_not_as_sorted(sun):
    write_list(sun / "ClassName.txt", CLASSES[::-1])
    bunch = load_sun397(sun)
    assert bunch.target_names[0] == "church_x"
    assert bunch.target.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert paths(bunch)[0] == "c/church_x/sun_a.jpg"


@pytest.mark.parametrize(
    ("split", "part", "expected", "target"),
    [(1, "train", TRAIN, [3, 0, 1]), (1, "test", TEST, [2, 0]), (10, "train", TEST, [2, 0])],
)
def test_a_partition_keeps_its_order(sun, split, part, expected, target):
    bunch = load_sun397(sun, split=split, part=part)
    assert paths(bunch) == expected
    assert bunch.target.tolist() == target
    assert [item.kind for item in bunch.images.items] == [bunch.target_names[k] for k in target]
    assert len(bunch.target_names) == 4
    assert f"partition {split}, {part}" in bunch.DESCR


def test_pictures_are_those_of_the_targets(sun):
    bunch = load_sun397(sun, split=1)
    shades = [int(image.mean()) for image in bunch.images]
    np.testing.assert_allclose(shades, [170, 20, 80], atol=3)


@pytest.mark.parametrize("home", ["", "..", "../Partitions"])
def test_the_outer_folder_and_partitions_elsewhere(sun, home):
    (sun / home).mkdir(exist_ok=True)
    for path in list((sun / "Partitions").iterdir()):
        path.rename(sun / home / path.name)
    if home == "..":  # the archive of partitions holds the list of classes as well
        write_list(sun.parent / "ClassName.txt", CLASSES)
    bunch = load_sun397(sun.parent, split=1)
    assert paths(bunch) == TRAIN
    assert bunch.images.folder == sun


def test_nothing_is_decoded_until_asked(sun):
    (sun / TRAIN[0]).write_bytes(b"no image at all")
    bunch = load_sun397(sun, split=1)
    with pytest.raises(UnreadableImageError):
        bunch.images.picture(0)
    assert bunch.images.picture(1)[0].height == 10


def test_a_missing_image_of_a_partition_is_an_error(sun):
    (sun / TRAIN[1]).unlink()
    with pytest.raises(
        CollectionError, match=r"Training_01.txt names 1 of 3 images .*'a/abbey/sun_b.jpg'"
    ):
        load_sun397(sun, split=1)
    assert len(load_sun397(sun, split=1, part="test").images) == 2


def test_a_partition_of_another_release_is_an_error(sun):
    write_list(sun / "Partitions" / "Training_02.txt", ["z/zoo/sun_a.jpg"])
    with pytest.raises(CollectionError, match=r"'z/zoo/sun_a.jpg', of no class in ClassName"):
        load_sun397(sun, split=2)
    write_list(sun / "Partitions" / "Training_03.txt", [])
    with pytest.raises(CollectionError, match=r"Training_03.txt' is empty"):
        load_sun397(sun, split=3)


def test_another_layout_is_refused(sun, tmp_path):
    with pytest.raises(CollectionError, match=r"There is no folder .*unpacked SUN397"):
        load_sun397(tmp_path / "nowhere")
    with pytest.raises(CollectionError, match=r"is not SUN397: .* holds ClassName.txt"):
        load_sun397(sun / "a")
    with pytest.raises(CollectionError, match=r"There is no Testing_07.txt in"):
        load_sun397(sun, split=7, part="test")
    write_list(sun / "ClassName.txt", ["z/zoo"])
    with pytest.raises(CollectionError, match=r"no image in the folders that ClassName.txt"):
        load_sun397(sun)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": 0}, "split of load_sun397 must be a whole number"),
        ({"split": 11}, "split of load_sun397 must be a whole number"),
        ({"split": 1, "part": "both"}, "part of load_sun397 must be one of"),
        ({"part": "test"}, "part of load_sun397 is 'test' but split is None"),
    ],
)
def test_bad_arguments_are_refused(sun, arguments, message):
    with pytest.raises(FieldguideError, match=message):
        load_sun397(sun, **arguments)

"""Caltech-101 and Caltech-256 on tiny trees of the same layout."""

import numpy as np
import pytest
from PIL import Image

from fieldguide.datasets import load_caltech
from fieldguide.errors import CollectionError, FieldguideError, UnreadableImageError

SHADE = {"ant": 40, "Faces": 90, "Faces_easy": 140, "BACKGROUND_Google": 200}


def save(path, shade):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (12, 9), (shade, shade, shade)).save(path)


@pytest.fixture
def caltech101(tmp_path):
    classes = tmp_path / "101_ObjectCategories"
    for name, shade in SHADE.items():
        for i in (2, 1):
            save(classes / name / f"image_{i:04d}.jpg", shade + i)
    (classes / "BACKGROUND_Google" / "tmp").write_text("of the release, and no image")
    return tmp_path


@pytest.fixture
def caltech256(tmp_path):
    classes = tmp_path / "256_ObjectCategories"
    for k, name in ((1, "ak47"), (2, "american-flag"), (56, "dog"), (257, "clutter")):
        for i in (1, 2, 3):
            save(classes / f"{k:03d}.{name}" / f"{k:03d}_{i:04d}.jpg", k % 200)
    save(classes / "056.dog" / "greg" / "056_0001.jpg", 0)
    (classes / "002.american-flag" / "RENAME2").write_text("of the release, and no image")
    return tmp_path


def paths(bunch):
    return [item.path for item in bunch.images.items]


@pytest.mark.parametrize("inner", ["", "101_ObjectCategories"])
def test_caltech101_from_either_folder(caltech101, inner):
    bunch = load_caltech(caltech101 / inner)
    assert bunch.target_names == ["Faces", "Faces_easy", "ant"]
    assert bunch.target.tolist() == [0, 0, 1, 1, 2, 2]
    assert np.issubdtype(bunch.target.dtype, np.integer)
    assert paths(bunch)[:3] == [
        "Faces/image_0001.jpg",
        "Faces/image_0002.jpg",
        "Faces_easy/image_0001.jpg",
    ]
    assert bunch.images.name == "Caltech-101"
    assert "6 pictures of 3 classes, the background left out" in bunch.DESCR


def test_pictures_are_those_of_the_targets(caltech101):
    bunch = load_caltech(caltech101, background=True)
    for image, item, k in zip(bunch.images, bunch.images.items, bunch.target, strict=True):
        name = bunch.target_names[k]
        assert item.kind == name == item.path.split("/")[0]
        assert abs(int(image.mean()) - SHADE[name]) <= 4
        assert image.shape == (9, 12, 3)


def test_the_background_comes_last_and_renumbers_nothing(caltech101):
    without, bunch = load_caltech(caltech101), load_caltech(caltech101, background=True)
    assert bunch.target_names == [*without.target_names, "BACKGROUND_Google"]
    assert bunch.target.tolist() == [*without.target, 3, 3]
    assert paths(bunch)[:-2] == paths(without)
    assert "background included" in bunch.DESCR


@pytest.mark.parametrize("inner", ["", "256_ObjectCategories"])
def test_caltech256_from_either_folder(caltech256, inner):
    bunch = load_caltech(caltech256 / inner)
    assert bunch.target_names == ["ak47", "american-flag", "dog"]
    assert bunch.target.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert paths(bunch)[0] == "001.ak47/001_0001.jpg"
    assert bunch.images.name == "Caltech-256"
    everything = load_caltech(caltech256 / inner, background=True)
    assert everything.target_names[-1] == "clutter"
    assert len(everything.images) == 12


def test_other_files_of_the_release_are_named_as_skipped_or_counted(caltech101, caltech256):
    images = load_caltech(caltech256 / "256_ObjectCategories").images
    why = "not named as an image of Caltech-256"
    assert images.skipped == (("056.dog/greg/056_0001.jpg", why),)
    assert images.others == {"": 1}  # RENAME2
    images = load_caltech(caltech101 / "101_ObjectCategories").images
    assert (images.skipped, images.others) == ((), {"": 1})


def test_nothing_is_decoded_until_asked(caltech101):
    broken = caltech101 / "101_ObjectCategories" / "Faces" / "image_0001.jpg"
    broken.write_bytes(b"no image at all")
    bunch = load_caltech(caltech101)
    assert len(bunch.images) == 6
    with pytest.raises(UnreadableImageError):
        bunch.images.picture(0)
    assert bunch.images.picture(1)[0].width == 12


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(CollectionError, match=r"There is no folder .*unpacked Caltech-101 or"):
        load_caltech(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(CollectionError, match="is a file; give the folder"):
        load_caltech(tmp_path / "file")


@pytest.mark.parametrize("path", ["a.jpg", "001.Albatross/Albatross_0001_7.jpg", "ant/1.jpg"])
def test_another_layout_is_refused(tmp_path, path):
    save(tmp_path / path, 7)
    with pytest.raises(CollectionError, match=r"neither files like 'ant/image_0001.jpg' nor"):
        load_caltech(tmp_path)


def test_both_releases_in_one_folder_are_refused(caltech101, caltech256):
    assert caltech101 == caltech256
    with pytest.raises(CollectionError, match="holds both 101_ObjectCategories and 256_"):
        load_caltech(caltech101)


def test_background_alone_is_refused(tmp_path):
    save(tmp_path / "BACKGROUND_Google" / "image_0001.jpg", 7)
    with pytest.raises(CollectionError, match="no class of Caltech-101 but the background"):
        load_caltech(tmp_path)


def test_a_bad_argument_is_refused(caltech101):
    with pytest.raises(FieldguideError, match="background of load_caltech must be one of"):
        load_caltech(caltech101, background="yes")

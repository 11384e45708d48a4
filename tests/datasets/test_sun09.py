"""SUN09 on tiny files of the same layout."""

import numpy as np
import pytest
from PIL import Image
from scipy.io import savemat

from fieldguide.datasets import load_sun09
from fieldguide.errors import CollectionError, FieldguideError

NAMES = ["bed", "car", "sky", "swivel chair"]
TRAIN = [("sun_c.jpg", ["sky", "car", "car", "kite"]), ("sun_a.jpg", ["bed"]), ("sun_d.jpg", [])]
TEST = [("sun_b.jpg", ["swivel chair", "bed"])]


def scene(name, objects):
    polygon = {"x": np.array([1, 2, 3.0]), "y": np.array([1, 2, 2.0])}
    outlined = [
        {"name": each, "id": float(i), "polygon": polygon} for i, each in enumerate(objects)
    ]
    image_size = {"nrows": 6.0, "ncols": 8.0}
    annotation = {"filename": name, "folder": "static_sun09_database", "imagesize": image_size}
    # MATLAB's struct arrays; an annotation without objects has an empty one.
    fields = [("name", object), ("id", object), ("polygon", object)]
    annotation["object"] = np.array([tuple(o.values()) for o in outlined], dtype=fields)
    return {"annotation": annotation}


def save_scenes(path, **splits):
    arrays = {}
    for name, scenes in splits.items():
        rows = [(scene(*each)["annotation"],) for each in scenes]
        arrays[name] = np.array(rows, dtype=[("annotation", object)])
    savemat(path, arrays)


@pytest.fixture
def sun(tmp_path):
    (tmp_path / "dataset").mkdir()
    save_scenes(tmp_path / "dataset/sun09_groundTruth.mat", Dtraining=TRAIN, Dtest=TEST)
    names = np.array(NAMES, dtype=object)
    savemat(tmp_path / "dataset/sun09_objectCategories.mat", {"names": names})
    return tmp_path


def add_pictures(root):
    home = root / "Images" / "static_sun09_database"
    home.mkdir(parents=True)
    for i, (name, _) in enumerate([*TRAIN, *TEST]):
        Image.new("RGB", (8, 6), (60 * i,) * 3).save(home / name)
    return home


@pytest.mark.parametrize("inner", [False, True])
def test_objects_are_attributes(sun, inner):
    bunch = load_sun09(sun / "dataset" if inner else sun)
    assert bunch.attribute_names == NAMES
    assert bunch.attributes.tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert bunch.attributes.dtype == np.uint8
    assert bunch.data is bunch.attributes
    assert bunch.paths == [f"static_sun09_database/{name}" for name, _ in TRAIN]
    assert "images" not in bunch
    assert "3 scenes, those for training, with 4 kinds of objects" in bunch.DESCR
    assert "Pictures: not there" in bunch.DESCR


def test_the_other_split_of_a_single_scene(sun):
    bunch = load_sun09(sun, split="test")
    assert bunch.attributes.tolist() == [[1, 0, 0, 1]]
    assert bunch.paths == ["static_sun09_database/sun_b.jpg"]


def test_pictures_where_there_are_any(sun):
    home = add_pictures(sun)
    bunch = load_sun09(sun)
    assert [item.path for item in bunch.images.items] == bunch.paths
    assert {item.kind for item in bunch.images.items} == {None}
    np.testing.assert_allclose([image.mean() for image in bunch.images], [0, 60, 120], atol=3)
    (home / "sun_a.jpg").unlink()
    with pytest.raises(CollectionError, match=r"names 1 of 3 images .*sun_a.jpg"):
        load_sun09(sun)


def test_another_layout_is_refused(sun):
    truth = sun / "dataset/sun09_groundTruth.mat"
    with pytest.raises(CollectionError, match=r"There is no folder .*unpacked SUN09"):
        load_sun09(sun / "nowhere")
    with pytest.raises(FieldguideError, match="split of load_sun09 must be one of"):
        load_sun09(sun, split="both")
    save_scenes(truth, Dtraining=TRAIN)
    with pytest.raises(CollectionError, match=r"groundTruth.mat' holds no Dtest"):
        load_sun09(sun, split="test")
    savemat(truth, {"Dtraining": np.arange(3)})
    with pytest.raises(
        CollectionError, match=r"Dtraining in .* must hold annotations with a folder"
    ):
        load_sun09(sun)
    truth.write_bytes(b"MATLAB 5.0, but cut short")
    with pytest.raises(CollectionError, match=r"groundTruth.mat' cannot be read"):
        load_sun09(sun)
    savemat(sun / "dataset/sun09_objectCategories.mat", {"names": np.array(["a", "a"], object)})
    with pytest.raises(CollectionError, match="names of different objects"):
        load_sun09(sun)
    (sun / "dataset/sun09_objectCategories.mat").unlink()
    with pytest.raises(CollectionError, match=r"There is no sun09_objectCategories.mat in"):
        load_sun09(sun)
    truth.unlink()
    with pytest.raises(CollectionError, match=r"is not SUN09: .* holds sun09_groundTruth.mat"):
        load_sun09(sun)

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


def save_scores(path, **splits):
    """Detections of each scene: name and confidence."""
    arrays = {}
    for name, scenes in splits.items():
        rows = []
        for found in scenes:
            objects = np.array(found, dtype=[("name", object), ("confidence", object)])
            rows.append(({"object": objects},))
        arrays[name] = np.array(rows, dtype=[("annotation", object)])
    savemat(path, arrays)


def test_scores_of_detectors_are_the_best_of_each_name(sun):
    path = sun / "dataset/sun09_detectorOutputs.mat"
    scenes = [[("car", 0.25), ("car", -0.5), ("kite", 3.0)], [("sky", -1.5)], []]
    save_scores(path, DdetectorTraining=scenes, DdetectorTest=[[("bed", 2.0)]])
    bunch = load_sun09(sun)
    expected = np.full((3, 4), np.nan)
    expected[0, 1], expected[1, 2] = 0.25, -1.5
    np.testing.assert_array_equal(bunch.scores, expected)
    assert bunch.scores.dtype == np.float32
    assert "Detector scores: one for each object" in bunch.DESCR
    assert load_sun09(sun, split="test").scores[0].tolist()[:1] == [2.0]
    save_scores(path, DdetectorTraining=scenes[:2])
    with pytest.raises(CollectionError, match=r"an annotation for each of the 3 scenes"):
        load_sun09(sun)
    savemat(path, {"DdetectorTraining": np.arange(3)})
    with pytest.raises(CollectionError, match=r"whose objects have a name and a confidence"):
        load_sun09(sun)


@pytest.mark.parametrize("home", [".", "dataset"])
def test_indoor_and_outdoor_come_from_a_list_of_ones_own(sun, home):
    assert "target" not in load_sun09(sun)
    lines = [f"static_sun09_database/sun_{which}.jpg" for which in "abcd"]
    kinds = ["indoor", "indoor", "outdoor", "indoor"]
    path = sun / home / "indoor_outdoor.txt"
    path.write_text("\n".join(map(" ".join, zip(lines, kinds, strict=True))))
    bunch = load_sun09(sun)
    assert bunch.target_names == ["indoor", "outdoor"]
    assert bunch.target.tolist() == [1, 0, 0]
    path.write_text(f"{lines[0]} indoor")
    with pytest.raises(CollectionError, match=r"names 1 of the 3 scenes; add the others, .*sun_c"):
        load_sun09(sun)
    path.write_text(f"{lines[0]} garden")
    with pytest.raises(CollectionError, match=r"'indoor' or 'outdoor' in each line; got .*garden"):
        load_sun09(sun)


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

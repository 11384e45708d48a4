"""aPascal, Animals with Attributes and the zoo, on tiny files of the same layout."""

import numpy as np
import pytest
from scipy.io import savemat

from fieldguide.datasets import load_apascal, load_awa, load_zoo
from fieldguide.datasets.apascal import PASCAL_CLASSES, TAXONOMIES
from fieldguide.errors import CollectionError, FieldguideError

WORDS = ["2D Boxy", "Tail", "Wheel"]
OBJECTS = [
    "2008_000008.jpg horse 54 87 471 419 0 1 0",
    "2008_000008.jpg person 158 44 289 166 0 0 0",
    "2008_000015.jpg cat 270 1 377 175 1 1 0",
    "2008_000019.jpg car 1 2 3 4 1 0 1",
]


@pytest.fixture
def apascal(tmp_path):
    (tmp_path / "attribute_names.txt").write_text("\n".join(WORDS))
    (tmp_path / "apascal_train.txt").write_text("\n".join(OBJECTS))
    (tmp_path / "ayahoo_test.txt").write_text("donkey_1.jpg donkey 14 21 54 72 0 1 0\n")
    return tmp_path


def test_apascal_rows_and_boxes(apascal):
    found = load_apascal(apascal, extra=False)
    assert found.attributes.tolist() == [[0, 1, 0], [0, 0, 0], [1, 1, 0], [1, 0, 1]]
    assert found.attributes.dtype == np.uint8
    assert found.attribute_names == WORDS
    kinds = [found.target_names[k] for k in found.target]
    assert kinds == ["horse", "person", "cat", "car"]
    assert found.boxes[0].tolist() == [54, 87, 471, 419]
    assert found.paths[2] == "2008_000015.jpg"


def test_the_extra_columns_follow_from_the_class(apascal):
    found = load_apascal(apascal)
    assert found.attributes.shape == (4, 3 + 24)
    column = {name: found.attributes[:, j].tolist() for j, name in enumerate(found.attribute_names)}
    assert column["pet"] == [0, 0, 1, 0]
    assert column["vehicle"] == [0, 0, 0, 1]
    assert column["alive"] == [1, 1, 1, 0]
    assert column["animal"] == [1, 0, 1, 0]
    assert column["person"] == [0, 1, 0, 0]
    assert found.attributes[:, -20:].sum(axis=1).tolist() == [1, 1, 1, 1]
    assert len(set(found.attribute_names)) == 27


def test_every_reading_of_the_taxonomy_holds_every_class():
    assert len(PASCAL_CLASSES) == 20
    for taxonomy in TAXONOMIES.values():
        assert set(taxonomy) == set(PASCAL_CLASSES)


def test_yahoo_has_classes_of_its_own_and_no_taxonomy(apascal):
    found = load_apascal(apascal, split="yahoo")
    assert found.target_names == ["donkey"]
    assert "taxonomy" not in found
    assert found.attributes[0, -20:].sum() == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.jpg horse 1 2 3 4 0 1", "3 attributes in each line"),
        ("a.jpg horse 1 2 3 4 0 1 2", "attributes of 0 or 1"),
        ("a.jpg horse 1 2 3 4 0 1 0.5", "attributes of 0 or 1"),
        ("a.jpg horse 1 2 3 x 0 1 0", "7 numbers in each row"),
        ("a.jpg unicorn 1 2 3 4 0 1 0", "names the class 'unicorn'"),
    ],
)
def test_damaged_apascal_is_refused(apascal, line, message):
    (apascal / "apascal_train.txt").write_text(line)
    with pytest.raises(CollectionError, match=message):
        load_apascal(apascal)


def test_features_are_rows_beside_the_list(apascal):
    n = len(load_apascal(apascal).target)
    rows = np.arange(3.0 * n).reshape(n, 3)
    np.save(apascal / "rows.npy", rows)
    others = {"note": "by hand", "labels": np.ones((n + 1, 2))}
    savemat(apascal / "rows.mat", {"feat": rows, **others})
    for name in ("rows.npy", "rows.mat"):
        found = load_apascal(apascal, features=apascal / name)
        assert found.features.dtype == np.float32
        np.testing.assert_array_equal(found.features, rows)
    assert "features" not in load_apascal(apascal)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((9, 2)), "one table of numbers with .* rows, .* it holds 0"),
        (np.array([[None]]), r"cannot be read as a \.npy or \.mat file"),
        (None, "There is no file"),
    ],
)
def test_other_features_are_refused(apascal, array, message):
    if array is not None:
        np.save(apascal / "rows.npy", array)
    with pytest.raises(CollectionError, match=message):
        load_apascal(apascal, features=apascal / "rows.npy")


def test_apascal_without_files_is_refused(apascal):
    with pytest.raises(CollectionError, match=r"apascal_test\.txt"):
        load_apascal(apascal, split="test")
    with pytest.raises(FieldguideError, match="split of load_apascal must be one of 'train'"):
        load_apascal(apascal, split="all")


@pytest.fixture
def awa(tmp_path):
    (tmp_path / "classes.txt").write_text("     1\tantelope\n     2\tgrizzly+bear\n")
    (tmp_path / "predicates.txt").write_text("     1\tblack\n     2\tfurry\n     3\tbig\n")
    (tmp_path / "predicate-matrix-binary.txt").write_text("0 1 1\n1 1 0\n")
    return tmp_path


def test_awa_is_a_row_for_each_kind(awa):
    found = load_awa(awa)
    assert found.attributes.tolist() == [[0, 1, 1], [1, 1, 0]]
    assert found.target_names == ["antelope", "grizzly bear"]
    assert found.attribute_names == ["black", "furry", "big"]
    assert found.target.tolist() == [0, 1]


@pytest.mark.parametrize("table", ["0 1 1\n", "0 1 1\n1 2 0\n", "0 1\n1 1\n"])
def test_damaged_awa_is_refused(awa, table):
    (awa / "predicate-matrix-binary.txt").write_text(table)
    with pytest.raises(CollectionError, match="unpack the release again"):
        load_awa(awa)


def test_awa_names_must_differ(awa):
    (awa / "predicates.txt").write_text("1 black\n2 black\n3 big\n")
    with pytest.raises(CollectionError, match="a name of its own"):
        load_awa(awa)


HEADER = (
    "animal_name,hair,feathers,eggs,milk,airborne,aquatic,predator,toothed,backbone,breathes,"
    "venomous,fins,legs,tail,domestic,catsize,type"
)
ANIMALS = ["aardvark,1,0,0,1,0,0,1,1,1,1,0,0,4,0,0,1,1", "bass,0,0,1,0,0,1,1,1,1,0,0,1,0,1,0,0,4"]


@pytest.mark.parametrize("lines", [ANIMALS, [HEADER, *ANIMALS]], ids=["original", "with names"])
def test_zoo_turns_legs_into_attributes(tmp_path, lines):
    (tmp_path / "zoo.data").write_text("\n".join(lines))
    found = load_zoo(tmp_path)
    assert found.names == ["aardvark", "bass"]
    assert [found.target_names[k] for k in found.target] == ["mammal", "fish"]
    shown = [
        {name for name, is_on in zip(found.attribute_names, row, strict=True) if is_on}
        for row in found.attributes
    ]
    assert shown[0] == {
        *("hair", "milk", "predator", "toothed", "backbone", "breathes", "catsize", "4 legs")
    }
    assert {"fins", "no legs", "tail"} <= shown[1]
    assert found.attributes.shape == (2, 21)


@pytest.mark.parametrize("bad", ["4,0,0,1,8", "3,0,0,1,1", "4,2,0,1,1", "4,0,0,1"])
def test_a_damaged_zoo_is_refused(tmp_path, bad):
    (tmp_path / "zoo.data").write_text(f"aardvark,1,0,0,1,0,0,1,1,1,1,0,0,{bad}")
    with pytest.raises(CollectionError, match=r"zoo\.data"):
        load_zoo(tmp_path)

"""CUB-200-2011 on tiny trees: the original release and the smaller copy."""

import numpy as np
import pytest
from PIL import Image

from fieldguide.datasets import load_cub200
from fieldguide.errors import CollectionError, FieldguideError, UnreadableImageError

CLASSES = ["001.Black_footed_Albatross", "002.Sooty_Albatross", "003.Cardinal"]
NAMES = ["Black_footed_Albatross", "Sooty_Albatross", "Cardinal"]
WORDS = ["has_bill_shape::curved_(up_or_down)", "has_size::large_(16_-_32_in)"]
PERCENT = [[0.0, 100.0], [12.5, 50.0], [75.0, 0.25]]
# path, class, for training, x, y, width, height; not in the order of the names
IMAGES = [
    (f"{CLASSES[0]}/b.jpg", 0, 1, 1.0, 2.0, 3.0, 4.0),
    (f"{CLASSES[0]}/a.jpg", 0, 0, 0.0, 0.5, 10.25, 6.0),
    (f"{CLASSES[2]}/c.jpg", 2, 1, 5.0, 5.0, 1.0, 2.0),
    (f"{CLASSES[1]}/d.jpg", 1, 0, 2.0, 3.0, 7.0, 5.0),
]


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def numbered(values, start=1):
    return [f"{i} {value}" for i, value in enumerate(values, start)]


def save_pictures(root):
    for i, (path, *_) in enumerate(IMAGES):
        file = root / "images" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (14, 11), (30 + 50 * i,) * 3).save(file)


@pytest.fixture
def original(tmp_path):
    root = tmp_path / "release" / "CUB_200_2011"
    save_pictures(root)
    write(root / "classes.txt", numbered(CLASSES))
    write(root / "images.txt", numbered(row[0] for row in IMAGES))
    # the lists are joined by number, not by line
    labels = numbered(row[1] + 1 for row in IMAGES)
    write(root / "image_class_labels.txt", labels[::-1])
    write(root / "train_test_split.txt", numbered(row[2] for row in IMAGES))
    write(root / "bounding_boxes.txt", numbered(" ".join(map(str, row[3:])) for row in IMAGES))
    rows = [" ".join(map(str, row)) for row in PERCENT]
    write(root / "attributes" / "class_attribute_labels_continuous.txt", rows)
    write(root.parent / "attributes.txt", numbered(WORDS))
    return root


@pytest.fixture
def smaller(tmp_path):
    root = tmp_path / "smaller"
    save_pictures(root)
    write(root / "classes.txt", numbered(CLASSES))
    rows = [
        ",".join([path, "train" if is_train else "test", *map(str, box)])
        for path, _, is_train, *box in IMAGES
    ]
    write(root / "images.csv", ["path,split,x,y,width,height", *rows])
    write(root / "attributes.txt", WORDS)
    write(root / "class_attributes_percent.csv", [",".join(map(str, row)) for row in PERCENT])
    return root


@pytest.fixture(params=["original", "smaller"])
def folder(request):
    return request.getfixturevalue(request.param)


def paths(bunch):
    return [item.path for item in bunch.images.items]


def test_all_images_in_the_order_of_the_release(folder):
    bunch = load_cub200(folder)
    assert paths(bunch) == [row[0] for row in IMAGES]
    assert bunch.target.tolist() == [0, 0, 2, 1]
    assert np.issubdtype(bunch.target.dtype, np.integer)
    assert bunch.target_names == NAMES
    assert [item.kind for item in bunch.images.items] == [NAMES[k] for k in bunch.target]
    shades = [int(image.mean()) for image in bunch.images]
    np.testing.assert_allclose(shades, [30, 80, 130, 180], atol=3)
    assert "4 pictures of 3 species, all" in bunch.DESCR


@pytest.mark.parametrize(("split", "rows"), [("train", [0, 2]), ("test", [1, 3])])
def test_splits_take_the_same_rows_of_everything(folder, split, rows):
    bunch, everything = load_cub200(folder, split=split), load_cub200(folder)
    assert paths(bunch) == [IMAGES[i][0] for i in rows]
    for column in ("target", "boxes", "attributes"):
        np.testing.assert_array_equal(bunch[column], everything[column][rows])
    np.testing.assert_array_equal(bunch.class_attributes, everything.class_attributes)
    assert bunch.target_names == NAMES


def test_boxes_are_two_corners_in_pixels(folder):
    boxes = load_cub200(folder).boxes
    expected = [[1, 2, 4, 6], [0, 0.5, 10.25, 6.5], [5, 5, 6, 7], [2, 3, 9, 8]]
    np.testing.assert_array_equal(boxes, np.float32(expected))
    assert boxes.dtype == np.float32


def test_attributes_are_shares_of_the_votes_for_the_species(folder):
    bunch = load_cub200(folder)
    assert bunch.attribute_names == WORDS
    np.testing.assert_allclose(bunch.class_attributes, np.array(PERCENT) / 100, rtol=1e-6)
    np.testing.assert_array_equal(bunch.attributes, bunch.class_attributes[[0, 0, 2, 1]])
    assert bunch.attributes.dtype == np.float32


def test_the_taxonomy_is_the_last_word(folder):
    assert load_cub200(folder).taxonomy == {
        "Black_footed_Albatross": ("albatross",),
        "Sooty_Albatross": ("albatross",),
        "Cardinal": ("cardinal",),
    }


@pytest.mark.parametrize("home", ["attributes/attributes.txt", "attributes.txt"])
def test_the_outer_folder_and_every_home_of_the_words(original, home):
    (original.parent / "attributes.txt").rename(original / home)
    bunch = load_cub200(original.parent)
    assert bunch.attribute_names == WORDS
    assert len(bunch.images) == 4


@pytest.mark.parametrize("kept", ["words", "table"])
def test_without_attributes_their_names_are_left_out(original, kept):
    if kept == "words":
        (original / "attributes" / "class_attribute_labels_continuous.txt").unlink()
    else:
        (original.parent / "attributes.txt").unlink()
    bunch = load_cub200(original)
    assert not {"attributes", "class_attributes", "attribute_names"} & set(bunch)
    assert len(bunch.boxes) == 4


def test_words_beside_the_smaller_copy_are_not_its_own(smaller):
    (smaller / "attributes.txt").rename(smaller.parent / "attributes.txt")
    assert "attributes" not in load_cub200(smaller)


def test_the_original_wins_where_both_lists_are(original):
    write(original / "images.csv", ["anything"])
    assert len(load_cub200(original).images) == 4


def test_nothing_is_decoded_until_asked(folder):
    (folder / "images" / IMAGES[0][0]).write_bytes(b"no image at all")
    bunch = load_cub200(folder)
    with pytest.raises(UnreadableImageError):
        bunch.images.picture(0)
    assert bunch.images.picture(1)[0].width == 14


def test_a_missing_image_is_an_error(folder):
    (folder / "images" / IMAGES[1][0]).unlink()
    with pytest.raises(CollectionError, match=r"names 1 of 4 images .*Albatross/a.jpg"):
        load_cub200(folder)
    assert len(load_cub200(folder, split="train").images) == 2


def test_another_layout_is_refused(folder, tmp_path):
    with pytest.raises(CollectionError, match=r"There is no folder .*unpacked CUB-200-2011"):
        load_cub200(tmp_path / "nowhere")
    with pytest.raises(CollectionError, match=r"holds images.txt or images.csv; give"):
        load_cub200(folder / "images")
    (folder / "images").rename(folder / "pictures")
    with pytest.raises(CollectionError, match="There is no folder"):
        load_cub200(folder)


@pytest.mark.parametrize(
    "name",
    ["classes.txt", "image_class_labels.txt", "train_test_split.txt", "bounding_boxes.txt"],
)
def test_a_missing_list_is_named(original, name):
    (original / name).unlink()
    with pytest.raises(CollectionError, match=f"There is no {name} in"):
        load_cub200(original)


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("classes.txt", [], "lines of a number of their own and a value"),
        ("images.txt", ["1 a.jpg", "1 b.jpg"], "lines of a number of their own and a value"),
        ("images.txt", ["1"], "lines of a number of their own and a value"),
        ("image_class_labels.txt", numbered([1, 1, 4, 2]), "names the class '4'"),
        ("image_class_labels.txt", numbered([1, 1, 2]), "number different images"),
        ("bounding_boxes.txt", numbered(["1 2 3 4"] * 3 + ["1 2 3"]), "4 numbers in each row"),
        ("bounding_boxes.txt", numbered(["1 2 3 nan"] * 4), "4 numbers in each row"),
        ("bounding_boxes.txt", numbered(["1 2"] * 4), "4 numbers in each row"),
        ("attributes/class_attribute_labels_continuous.txt", ["1 2"] * 2, "each of 3 classes"),
        ("attributes/class_attribute_labels_continuous.txt", ["1 101"] * 3, "each of 3 classes"),
        ("attributes/class_attribute_labels_continuous.txt", ["1"] * 3, "2 numbers in each row"),
    ],
)
def test_a_damaged_list_is_refused(original, name, lines, message):
    write(original / name, lines)
    with pytest.raises(CollectionError, match=message):
        load_cub200(original)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "must have the columns path, split"),
        (["path,x"], "must have the columns path, split"),
        (["path,split,x,y,width,height"], "a row for each image"),
        (["path,split,x,y,width,height", "a/b.jpg,dev,1,2,3,4"], "with split train or test"),
        (["path,split,x,y,width,height", "a/b.jpg,train,1,2,3"], "a row for each image"),
        (["path,split,x,y,width,height", "a/b.jpg,train,1,2,3,4"], "names the class 'a'"),
        (
            ["path,split,x,y,width,height", f"{IMAGES[0][0]},train,1,2,3,four"],
            "4 numbers in each row",
        ),
    ],
)
def test_a_damaged_table_is_refused(smaller, lines, message):
    write(smaller / "images.csv", lines)
    with pytest.raises(CollectionError, match=message):
        load_cub200(smaller)


def test_bad_and_empty_splits_are_refused(original):
    with pytest.raises(FieldguideError, match="split of load_cub200 must be one of None, 'train'"):
        load_cub200(original, split="validation")
    write(original / "train_test_split.txt", numbered([1] * 4))
    with pytest.raises(CollectionError, match="lists no image for 'test'"):
        load_cub200(original, split="test")

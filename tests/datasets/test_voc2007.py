"""PASCAL VOC 2007 on tiny files of the same layout."""

import numpy as np
import pytest
from PIL import Image

from fieldguide.datasets import load_voc2007
from fieldguide.errors import CollectionError, FieldguideError

PICTURES = {
    "000007": [("car", (141, 50, 500, 330), 0)],
    "000009": [("horse", (69, 172, 270, 330), 0), ("person", (150, 141, 229, 284), 0)],
    "000012": [("person", (1, 1, 10, 10), 1), ("horse", (5, 5, 20, 20), 0)],
}


def annotation(number, objects):
    parts = "".join(
        f"<object><name>{name}</name><difficult>{hard}</difficult><bndbox><xmin>{box[0]}</xmin>"
        f"<ymin>{box[1]}</ymin><xmax>{box[2]}</xmax><ymax>{box[3]}</ymax></bndbox></object>"
        for name, box, hard in objects
    )
    return f"<annotation><filename>{number}.jpg</filename>{parts}</annotation>"


@pytest.fixture
def release(tmp_path):
    root = tmp_path / "VOCdevkit" / "VOC2007"
    for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (root / name).mkdir(parents=True)
    for i, (number, objects) in enumerate(PICTURES.items()):
        Image.new("RGB", (8, 6), (60 * i,) * 3).save(root / "JPEGImages" / f"{number}.jpg")
        (root / "Annotations" / f"{number}.xml").write_text(annotation(number, objects))
    (root / "ImageSets/Main/trainval.txt").write_text("000012\n000007\n")
    (root / "ImageSets/Main/test.txt").write_text("000009\n")
    return root


@pytest.mark.parametrize("up", [0, 1, 2])
def test_pictures_with_objects_and_boxes(release, up):
    voc = load_voc2007([release, *release.parents][up])
    assert [item.path for item in voc.images.items] == ["000012.jpg", "000007.jpg"]
    assert [item.kind for item in voc.images.items] == [None, None]
    np.testing.assert_allclose([image.mean() for image in voc.images], [120, 0], atol=3)
    assert [boxes.tolist() for boxes in voc.boxes] == [
        [[0, 0, 10, 10], [4, 4, 20, 20]],
        [[140, 49, 500, 330]],
    ]
    names = voc.target_names
    assert [[names[k] for k in target] for target in voc.box_targets] == [
        ["person", "horse"],
        ["car"],
    ]
    assert [hard.tolist() for hard in voc.is_difficult] == [[True, False], [False]]
    present = [[names[k] for k in np.flatnonzero(row)] for row in voc.attributes]
    assert present == [["horse"], ["car"]]  # the difficult person does not count
    assert voc.attributes.shape == (2, 20)
    assert "2 pictures, those of trainval, with 3 objects" in voc.DESCR


def test_the_other_split(release):
    voc = load_voc2007(release, split="test")
    assert voc.attributes.sum() == 2
    with pytest.raises(FieldguideError, match="split of load_voc2007 must be one of"):
        load_voc2007(release, split="all")


def test_other_layouts_are_refused(release, tmp_path):
    with pytest.raises(CollectionError, match="There is no folder"):
        load_voc2007(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CollectionError, match=r"neither it nor VOCdevkit/VOC2007"):
        load_voc2007(tmp_path / "empty")
    with pytest.raises(CollectionError, match=r"There is no val.txt"):
        load_voc2007(release, split="val")
    (release / "Annotations/000009.xml").write_text(
        annotation("000009", [("dragon", (1, 1, 2, 2), 0)])
    )
    with pytest.raises(CollectionError, match="'dragon'"):
        load_voc2007(release, split="test")
    (release / "JPEGImages/000007.jpg").unlink()
    with pytest.raises(CollectionError, match=r"names 1 of 2 images .*000007.jpg"):
        load_voc2007(release)

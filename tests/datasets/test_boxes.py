"""Boxes read from small files of each form, written and read again, and hostile ones refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.datasets import (
    read_coco_boxes,
    read_voc_boxes,
    read_yolo_boxes,
    write_coco_boxes,
)
from fieldguide.datasets.boxes import Objects
from fieldguide.errors import CollectionError, FieldguideError

VOC = """<annotation><folder>VOC2007</folder><filename>000012.jpg</filename>
<size><width>500</width><height>333</height><depth>3</depth></size>
<object><name>car</name><difficult>0</difficult>
  <bndbox><xmin>156</xmin><ymin>97</ymin><xmax>351</xmax><ymax>270</ymax></bndbox></object>
<object><name>dog</name><difficult>1</difficult>
  <part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox>
  </part><bndbox><xmin>1.5</xmin><ymin>1</ymin><xmax>500</xmax><ymax>333</ymax></bndbox></object>
</annotation>"""


def test_voc_counts_from_one_and_includes_the_last(tmp_path):
    (tmp_path / "a.xml").write_text(VOC)
    found = read_voc_boxes(tmp_path / "a.xml")
    assert found.path == "000012.jpg"
    assert found.size == (500, 333)
    assert found.names == ["car", "dog"]  # parts are not objects
    assert found.boxes.tolist() == [[155, 96, 351, 270], [0.5, 0, 500, 333]]
    assert found.is_difficult.tolist() == [False, True]


def test_voc_without_objects(tmp_path):
    (tmp_path / "a.xml").write_text("<annotation><filename>x.jpg</filename></annotation>")
    found = read_voc_boxes(tmp_path / "a.xml")
    assert found.boxes.shape == (0, 4)
    assert found.size is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<annotation>", "cannot be read as boxes"),
        (VOC.replace("<name>car</name>", ""), "objects with a name"),
        (VOC.replace("156", "wide"), "a bndbox of four numbers"),
        (VOC.replace("156", "nan"), "not four numbers"),
        (VOC.replace("<xmin>156", "<xmin>400"), "corners in order"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>' + VOC, "document type or an entity"),
        ("<!doctype a SYSTEM 'file:///etc/passwd'>" + VOC, "document type or an entity"),
    ],
)
def test_bad_voc_is_one_sentence(tmp_path, text, message):
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(CollectionError, match=message) as caught:
        read_voc_boxes(tmp_path / "a.xml")
    assert "\n" not in str(caught.value)


def test_files_that_are_missing_or_not_text(tmp_path):
    (tmp_path / "a.xml").write_bytes(b"\xff\xfe\x00")
    for name in ("a.xml", "missing.xml"):
        with pytest.raises(CollectionError, match="cannot be read as boxes"):
            read_voc_boxes(tmp_path / name)
    with pytest.raises(CollectionError, match="cannot be read as boxes"):
        read_coco_boxes(tmp_path / "missing.json")


COCO = {
    "images": [
        {"id": 7, "file_name": "b.jpg", "width": 20, "height": 10},
        {"id": 3, "file_name": "a.jpg"},
    ],
    "categories": [{"id": 18, "name": "dog"}, {"id": 1, "name": "cat"}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 1, "bbox": [1, 2, 3, 4.5], "iscrowd": 1},
        {"id": 2, "image_id": 7, "category_id": 18, "bbox": [0, 0, 20, 10]},
    ],
}


def test_coco(tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(COCO))
    (first, second), names = read_coco_boxes(tmp_path / "c.json")
    assert names == ["dog", "cat"]
    assert (first.path, first.size, first.names) == ("b.jpg", (20, 10), ["cat", "dog"])
    assert first.boxes.tolist() == [[1, 2, 4, 6.5], [0, 0, 20, 10]]
    assert first.is_difficult.tolist() == [True, False]
    assert (second.path, second.size, second.names) == ("a.jpg", None, [])
    assert second.boxes.shape == (0, 4)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("images"),
        lambda c: c["annotations"][0].update(image_id=99),
        lambda c: c["annotations"][0].update(category_id=99),
        lambda c: c["annotations"][0].update(bbox=[1, 2, 3]),
        lambda c: c["annotations"][0].update(bbox=[1, 2, -3, 4]),
        lambda c: c["annotations"][0].update(bbox="no"),
        lambda c: c.update(images=5),
    ],
)
def test_bad_coco_is_one_sentence(tmp_path, change):
    content = json.loads(json.dumps(COCO))
    change(content)
    (tmp_path / "c.json").write_text(json.dumps(content))
    with pytest.raises(CollectionError) as caught:
        read_coco_boxes(tmp_path / "c.json")
    assert "\n" not in str(caught.value)


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 90), st.integers(0, 90), st.integers(0, 9), st.integers(0, 9)),
            max_size=4,
        ),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_written_is_read_again(tmp_path_factory, pictures):
    path = tmp_path_factory.mktemp("coco") / "found.json"
    objects = [
        Objects(
            f"{i}.jpg",
            (100, 100) if i % 2 else None,
            ["owl" if k % 2 else "häher" for k in range(len(boxes))],
            np.array([[x, y, x + w, y + h] for x, y, w, h in boxes], dtype=float).reshape(-1, 4),
            np.arange(len(boxes)) % 3 == 0,
        )
        for i, boxes in enumerate(pictures)
    ]
    scores = [np.arange(len(boxes)) / 7 for boxes in pictures]
    write_coco_boxes(path, objects, names=["owl", "häher"], scores=scores)
    again, names = read_coco_boxes(path)
    assert names == ["owl", "häher"]
    for a, b in zip(objects, again, strict=True):
        assert (a.path, a.size, a.names) == (b.path, b.size, b.names)
        np.testing.assert_array_equal(a.boxes, b.boxes)
        np.testing.assert_array_equal(a.is_difficult, b.is_difficult)
    written = json.loads(path.read_text())["annotations"]
    assert [a["score"] for a in written] == [s for each in scores for s in each]


def test_bad_writing(tmp_path):
    one = Objects("a.jpg", None, ["owl"], np.array([[0, 0, 1, 1]]), np.zeros(1, bool))
    with pytest.raises(FieldguideError, match="'owl' is missing"):
        write_coco_boxes(tmp_path / "a.json", [one], names=["wren"])
    with pytest.raises(FieldguideError, match="a number for each box"):
        write_coco_boxes(tmp_path / "a.json", [one], scores=[[]])
    assert not (tmp_path / "a.json").exists()


def test_yolo(tmp_path):
    (tmp_path / "a.txt").write_text("1 0.5 0.5 0.5 1.0\n\n0 0.25 0.1 0.1 0.2 0.87\n")
    found = read_yolo_boxes(tmp_path / "a.txt", (200, 100), ["owl", "wren"])
    assert found.names == ["wren", "owl"]
    np.testing.assert_allclose(found.boxes, [[50, 0, 150, 100], [40, 0, 60, 20]], atol=1e-4)
    (tmp_path / "b.txt").write_text("")
    assert read_yolo_boxes(tmp_path / "b.txt", (200, 100), ["owl"]).boxes.shape == (0, 4)
    for bad in ("2 .5 .5 .1 .1", "-1 .5 .5 .1 .1", "0 .5 .5 .1", "0 5 5 1 1", "owl .5 .5 .1 .1"):
        (tmp_path / "c.txt").write_text(bad)
        with pytest.raises(CollectionError, match="a class number below 2 and four shares"):
            read_yolo_boxes(tmp_path / "c.txt", (200, 100), ["owl", "wren"])

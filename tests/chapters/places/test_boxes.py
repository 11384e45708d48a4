import numpy as np
import pytest
from PIL import Image

from fieldguide.chapters.places.boxes import FoundInPicture, compare_boxes, read_boxes
from fieldguide.chapters.places.records import Located, Place
from fieldguide.datasets.boxes import Objects, write_coco_boxes
from fieldguide.errors import CollectionError, FieldguideError
from fieldguide.guide.views import FoundSubject

VOC = """<annotation><filename>a.jpg</filename><object><name>owl</name><bndbox><xmin>11</xmin>
<ymin>21</ymin><xmax>50</xmax><ymax>60</ymax></bndbox></object></annotation>"""


def find(path, kind, *boxes):
    places = tuple(Place(box, (), 1.0 - k) for k, box in enumerate(boxes))
    return FoundInPicture(path, (100, 200), Located(kind, "other", 1.0, 0.1, places), None)


def objects(path, names, boxes):
    return Objects(path, (100, 200), names, np.array(boxes, float), np.zeros(len(names), bool))


def test_places_become_boxes_in_pixels():
    made = find("a.jpg", "owl", (0.1, 0.1, 0.5, 0.3), (0, 0, 1, 1)).to_objects()
    assert made.names == ["owl", "owl"]
    np.testing.assert_allclose(made.boxes, [[10, 20, 50, 60], [0, 0, 100, 200]], atol=1e-4)


def test_subjects_are_boxes_too_and_what_is_compared():
    subject = FoundSubject((0.5, 0.5, 1, 1), 0.4, 1)
    found = find("a.jpg", "owl", (0.1, 0.1, 0.5, 0.3))._replace(subject=subject)
    assert found.to_objects().names == ["owl", "subject"]
    assert found.scores == [1.0, 0.4]
    truth = [objects("a.jpg", ["owl"], [[50, 100, 100, 200]])]
    assert compare_boxes([found], truth).corloc == 1
    alone = FoundInPicture("a.jpg", (100, 200), None, subject)
    assert alone.to_objects().names == ["subject"]
    assert compare_boxes([alone], truth).corloc == 1
    nothing = FoundInPicture("a.jpg", (100, 200), None, None)
    assert nothing.to_objects().boxes.shape == (0, 4)


def test_forms_of_boxes_say_the_same(tmp_path):
    (tmp_path / "voc").mkdir()
    (tmp_path / "voc/a.xml").write_text(VOC)
    coco = tmp_path / "truth.json"
    write_coco_boxes(coco, [objects("a.jpg", ["owl"], [[10, 20, 50, 60]])])
    yolo = tmp_path / "yolo"
    yolo.mkdir()
    (yolo / "classes.txt").write_text("owl\nbat\n")
    (yolo / "a.txt").write_text("0 0.3 0.2 0.4 0.2\n")
    Image.new("RGB", (100, 200)).save(yolo / "a.png")
    for given in (tmp_path / "voc", tmp_path / "voc/a.xml", coco, yolo):
        (each,) = read_boxes(given)
        assert each.names == ["owl"]
        np.testing.assert_allclose(each.boxes, [[10, 20, 50, 60]], atol=1e-4)
        compared = compare_boxes([find("sub/a.jpg", "owl", (0.1, 0.1, 0.5, 0.3))], [each])
        assert compared == (1, {0.5: 1.0, 0.4: 1.0}, 1.0)


def test_names_count_where_they_are_kinds():
    truth = [objects("x/a.jpg", ["owl", "bat"], [[0, 0, 50, 100], [50, 100, 100, 200]])]
    right, wrong = (0, 0, 0.5, 0.5), (0.5, 0.5, 1, 1)
    assert compare_boxes([find("x/a.jpg", "owl", right)], truth).corloc == 1
    assert compare_boxes([find("x/a.jpg", "owl", wrong)], truth).corloc == 0
    # none of the names is a kind: any box will do
    assert compare_boxes([find("x/a.jpg", "barn owl", wrong)], truth).corloc == 1


def test_what_a_guide_wrote_itself_is_compared_by_its_subjects():
    subject = FoundSubject((0.5, 0.5, 1, 1), 0.4, 1)
    found = find("a.jpg", "owl", (0.1, 0.1, 0.5, 0.3))._replace(subject=subject)
    assert compare_boxes([found], [found.to_objects()]) == (1, {0.5: 1.0, 0.4: 1.0}, 1.0)


def test_pictures_are_matched_by_path_before_name():
    truth = [objects(f"{d}/a.jpg", ["owl"], [[k, k, 50, 100]]) for k, d in enumerate("xy")]
    found = [find("y/a.jpg", "owl", (0.01, 0.005, 0.5, 0.5)), find("z/a.jpg", "owl", (0, 0, 1, 1))]
    assert compare_boxes(found, truth).n_pictures == 1
    with pytest.raises(FieldguideError, match="None of the 1 pictures has a box"):
        compare_boxes([find("b.jpg", "owl", (0, 0, 1, 1))], truth)


def test_what_is_no_box_file_is_one_sentence(tmp_path):
    with pytest.raises(CollectionError, match="There are no boxes"):
        read_boxes(tmp_path / "none")
    with pytest.raises(CollectionError, match="holds neither VOC XML files nor YOLO"):
        read_boxes(tmp_path)
    (tmp_path / "classes.txt").write_text("owl\n")
    (tmp_path / "a.txt").write_text("0 .5 .5 .1 .1\n")
    with pytest.raises(CollectionError, match="no picture beside"):
        read_boxes(tmp_path)

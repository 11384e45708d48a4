"""PittCar on a tiny tree of the layout that the loader asks for."""

import pytest
from PIL import Image

from fieldguide.datasets import load_pittcar
from fieldguide.errors import CollectionError


@pytest.fixture
def release(tmp_path):
    for name in ("positive/b.jpg", "positive/a.jpg", "positive/c.jpg", "negative/a.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (40, 30), (90, 90, 90)).save(tmp_path / name)
    (tmp_path / "boxes.txt").write_text("b.jpg 1 2 30 20\npositive/a.jpg, 4, 5, 6, 7\n")
    return tmp_path


def test_pictures_and_boxes(release):
    bunch = load_pittcar(release)
    assert [item.path for item in bunch.images.items] == [
        *("positive/a.jpg", "positive/b.jpg", "positive/c.jpg", "negative/a.jpg"),
    ]
    assert bunch.target.tolist() == [1, 1, 1, 0]
    assert [bunch.target_names[k] for k in bunch.target[2:]] == ["positive", "negative"]
    assert [boxes.tolist() for boxes in bunch.boxes] == [[[4, 5, 10, 12]], [[1, 2, 31, 22]], [], []]
    assert all(boxes.shape[1] == 4 for boxes in bunch.boxes)
    assert [image.shape for image in bunch.images] == [(30, 40, 3)] * 4
    assert "4 pictures, 3 of them with a car" in bunch.DESCR


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z.jpg, 1, 2, 3, 4", "names 'positive/z.jpg', which is not there"),
        ("a.jpg, 1, 2, 0, 4", "holds an empty box"),
        ("a.jpg, 1, 2, 3", "4 numbers in each row"),
    ],
)
def test_another_layout_is_one_sentence(release, text, message):
    (release / "boxes.txt").write_text(text)
    with pytest.raises(CollectionError, match=message) as caught:
        load_pittcar(release)
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_said(release):
    (release / "boxes.txt").unlink()
    with pytest.raises(CollectionError, match=r"There is no boxes\.txt"):
        load_pittcar(release)
    (release / "negative" / "a.jpg").unlink()
    with pytest.raises(CollectionError, match="no picture in a folder 'negative'"):
        load_pittcar(release)

"""MSR Action Dataset II on a tiny tree of the same layout."""

import pytest

from fieldguide.datasets import load_msr_action2
from fieldguide.errors import CollectionError

LIST = """video, label, X, width, Y, height, T, length
10.avi, 1, 100, 60, 40, 120, 0, 50
2.avi, 3, 20, 30, 10, 90, 25, 40
10.avi, 2, 5, 10, 6, 20, 60, 30
"""


@pytest.fixture
def release(tmp_path):
    (tmp_path / "videos").mkdir()
    for name in ("2.avi", "10.avi", "7.avi"):
        (tmp_path / "videos" / name).touch()
    (tmp_path / "groundtruth.txt").write_text(LIST)
    return tmp_path


def test_actions_know_their_video_box_and_frames(release):
    bunch = load_msr_action2(release)
    assert bunch.target_names == ["hand clapping", "hand waving", "boxing"]
    assert bunch.target.tolist() == [0, 2, 1]
    assert bunch.boxes.tolist() == [[100, 40, 160, 160], [20, 10, 50, 100], [5, 6, 15, 26]]
    assert bunch.frames.tolist() == [[0, 50], [25, 65], [60, 90]]
    assert bunch.group_names == ["2", "10"]
    assert bunch.groups.tolist() == [1, 0, 1]
    assert bunch.paths[1] == str(release / "videos" / "2.avi")
    assert "3 actions of 3 classes in 2 videos" in bunch.DESCR


def test_blanks_and_names_without_ending(release):
    (release / "groundtruth.txt").write_text("% a comment\n2 3 20 30 10 90 25 40\n")
    bunch = load_msr_action2(release)
    assert bunch.boxes.tolist() == [[20, 10, 50, 100]]
    assert bunch.group_names == ["2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LIST + "99.avi, 1, 1, 2, 3, 4, 5, 6\n", "names 1 videos that are not in .* '99.avi'"),
        (LIST + "2.avi, 1, 1, 2\n", "a video, a label and six numbers"),
        ("2.avi, 4, 1, 2, 3, 4, 5, 6\n", "labels from 1 to 3"),
        ("2.avi, 1, 1, 2, -3, 4, 5, 6\n", "not negative"),
        ("2.avi, 1, 1, 2, x, 4, 5, 6\n", "7 numbers in each row"),
        ("nothing here\n", "has no row like"),
    ],
)
def test_another_layout_is_one_sentence(release, text, message):
    (release / "groundtruth.txt").write_text(text)
    with pytest.raises(CollectionError, match=message) as caught:
        load_msr_action2(release)
    assert "\n" not in str(caught.value)


def test_no_release(tmp_path):
    with pytest.raises(CollectionError, match=r"holds no groundtruth\.txt"):
        load_msr_action2(tmp_path)
    with pytest.raises(CollectionError, match="There is no folder"):
        load_msr_action2(tmp_path / "none")

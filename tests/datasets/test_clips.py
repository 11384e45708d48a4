"""The clips: smooth, boxed in every frame, and the same for a seed."""

import numpy as np
import pytest

from fieldguide.datasets import load_msr_action2, load_specimen_clips
from fieldguide.datasets.clips import ACTIONS
from fieldguide.datasets.specimens.kinds import KINDS
from fieldguide.errors import CollectionError, FieldguideError


@pytest.fixture(scope="module")
def clips():
    return load_specimen_clips(n_per_action=3, n_frames=10, size_px=64)


def test_shapes_and_types(clips):
    n = 3 * len(ACTIONS)
    assert clips.clips.shape == (n, 10, 64, 64, 3)
    assert clips.clips.dtype == np.uint8
    assert clips.boxes.shape == (n, 10, 4)
    assert clips.boxes.dtype == np.float32
    assert len(clips.target_names) >= 3
    assert clips.target.tolist() == list(range(len(ACTIONS))) * 3
    assert set(clips.kinds) <= {kind.name for kind in KINDS}


def test_the_default_has_sixty_clips_or_more():
    import inspect

    default = inspect.signature(load_specimen_clips).parameters["n_per_action"].default
    assert default * len(ACTIONS) >= 60


def test_same_seed_same_bytes_whatever_n_jobs_and_n_per_action(clips):
    fewer = load_specimen_clips(n_per_action=1, n_frames=10, size_px=64, n_jobs=2)
    np.testing.assert_array_equal(fewer.clips, clips.clips[: len(ACTIONS)])
    np.testing.assert_array_equal(fewer.boxes, clips.boxes[: len(ACTIONS)])
    assert fewer.kinds == clips.kinds[: len(ACTIONS)]
    other = load_specimen_clips(n_per_action=1, n_frames=2, size_px=64, random_state=1)
    assert not np.array_equal(other.clips[0, 0], clips.clips[0, 0])


def test_boxes_lie_inside_the_frame(clips):
    assert clips.boxes.min() >= 0
    assert clips.boxes.max() <= 64
    assert (clips.boxes[..., 2:] > clips.boxes[..., :2] + 4).all()


def test_every_clip_moves_and_moves_smoothly():
    clips = load_specimen_clips(n_per_action=2, n_frames=24, size_px=64, random_state=3)
    centre = (clips.boxes[..., :2] + clips.boxes[..., 2:]) / 2
    step = np.linalg.norm(np.diff(centre, axis=1), axis=-1)
    assert (step.max(axis=1) > 0.1).all()
    assert step.max() < 0.2 * 64
    change = np.abs(np.diff(clips.clips.astype(int), axis=1)).mean(axis=(2, 3, 4))
    assert (change.max(axis=1) > 0.3).all()


def test_each_action_has_its_own_families(clips):
    family_of = {kind.name: kind.family for kind in KINDS}
    for target, kind in zip(clips.target, clips.kinds, strict=True):
        assert family_of[kind] in ACTIONS[target].cast


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)
def test_every_cast_names_families_that_exist(action):
    assert set(action.cast) <= {kind.family for kind in KINDS}


@pytest.mark.parametrize("argument", ["n_per_action", "n_frames", "size_px"])
def test_bad_arguments_are_refused_in_one_sentence(argument):
    with pytest.raises(FieldguideError, match=f"{argument} of load_specimen_clips must be"):
        load_specimen_clips(**{argument: 0})


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

"""The clips: smooth, boxed in every frame, and the same for a seed."""

import numpy as np
import pytest

from fieldguide.datasets import load_specimen_clips
from fieldguide.datasets.clips import ACTIONS
from fieldguide.datasets.specimens.kinds import KINDS
from fieldguide.errors import FieldguideError


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

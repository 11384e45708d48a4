"""Patterns of movement: mirror images are one, and blocks move as their pixels do."""

import numpy as np
import pytest
from tests.video.test_clips import draw_clip

from fieldguide.errors import InvalidArgument
from fieldguide.video import Blocks, SpaceTimeWords, group_words, measure_blocks, optical_flow
from fieldguide.video.patterns import measure_moving, mirror_words
from fieldguide.video.space_time_words import WIDTH, describe_blocks

ONE_SIZE = {"sizes": ((12, 4),), "step_px": 6, "step_frames": 2}


def test_a_mirrored_word_is_the_word_of_the_mirrored_block():
    frames = draw_clip(seed=1)[:, :36, :36]
    flow = optical_flow(frames, steady=False)
    there = describe_blocks(frames, flow, **ONE_SIZE)
    back = describe_blocks(frames[:, :, ::-1], flow[:, :, ::-1] * np.float32([-1, 1]), **ONE_SIZE)
    place = {tuple(middle): i for i, middle in enumerate(back.middles.tolist())}
    across = [place[t, y, 35 - x] for t, y, x in there.middles.tolist()]
    np.testing.assert_allclose(mirror_words(there.descriptors), back.descriptors[across], atol=2e-3)
    np.testing.assert_array_equal(mirror_words(mirror_words(there.descriptors)), there.descriptors)


def test_blocks_move_as_their_pixels_do(seed):
    rng = np.random.default_rng(seed)
    flow = (rng.normal(size=(6, 20, 24, 2)) * (rng.random((6, 20, 24, 1)) < 0.6)).astype("f4")
    frames = rng.integers(0, 256, (6, 20, 24, 3)).astype(np.uint8)
    blocks = describe_blocks(frames, flow, sizes=((8, 3), (9, 4)), step_px=5, step_frames=2)
    found = measure_blocks(flow, blocks)
    for i, (middle, (side, length)) in enumerate(zip(blocks.middles, blocks.sizes, strict=True)):
        t, y, x = np.rint(middle - (np.array([length, side, side]) - 1) / 2).astype(int)
        own = flow[t : t + length, y : y + side, x : x + side].reshape(-1, 2).astype(float)
        moving = own[np.hypot(*own.T) >= 0.4]
        np.testing.assert_allclose(found.step[i], moving.mean(axis=0), atol=1e-6)
        ways = [np.abs(moving[:, 0]), -np.minimum(moving[:, 1], 0), np.maximum(moving[:, 1], 0)]
        np.testing.assert_allclose(found.ways[i], np.mean(ways, axis=1), atol=1e-6)
        np.testing.assert_allclose(found.speed[i], np.hypot(*moving.T).mean(), atol=1e-6)
        np.testing.assert_allclose(found.share[i], len(moving) / len(own), atol=1e-6)


def test_blocks_that_stand_still_have_no_speed():
    still = Blocks(np.zeros((1, WIDTH)), np.array([[0.5, 3.5, 3.5]]), np.array([[8, 2]]))
    found = measure_blocks(np.zeros((2, 8, 8, 2), np.float32), still)
    assert [part.tolist() for part in found] == [[[0.0, 0.0]], [[0.0] * 3], [0.0], [0.0]]
    with pytest.raises(InvalidArgument, match="flow of measure_blocks must be finite"):
        measure_blocks(np.zeros((2, 8, 8)), still)


def fit_by_hand(flows):
    """Words without edges whose every cell moves as told: shares of 8 directions and standing."""
    words = np.zeros((len(flows) + 1, WIDTH), np.float32)
    for word, flow in zip(words, flows, strict=False):
        word[-18 * 9 :] = np.sqrt(np.tile(np.array(flow, float) / sum(flow) / 18, 18))
    fitted = SpaceTimeWords(len(words))
    fitted.words_ = words
    fitted.frequency_ = np.full(len(words), 1 / len(words), np.float32)
    return fitted


def test_what_goes_left_and_what_goes_right_are_one_pattern():
    right, left = [9, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 9, 0, 0, 0, 1]
    up, nearly_up = [0, 0, 0, 0, 0, 0, 9, 0, 1], [0, 0, 0, 0, 0, 1, 8, 0, 1]
    still = [1, 0, 0, 0, 0, 0, 0, 0, 9]
    words = fit_by_hand([right, up, left, still, nearly_up])
    np.testing.assert_allclose(measure_moving(words.words_), [0.9, 0.9, 0.9, 0.1, 0.9, 0], 1e-5)
    assert group_words(words, least_words=2).astype(int).tolist() == [
        [1, 0, 1, 0, 0, 0],
        [0, 1, 0, 0, 1, 0],
        [1, 1, 1, 0, 1, 0],
    ]
    assert len(group_words(words, least_words=1)) == 7  # each word alone, then what joins them
    assert group_words(words, least_words=5).shape == (0, 6)

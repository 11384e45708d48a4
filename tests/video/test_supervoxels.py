"""Regions of clips: records beside loops, clips that are flat, noisy or tiny, their descriptors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from scipy import ndimage
from tests.locate.regions import check_record, share_mixed
from tests.reference.slow_clips import boxes_and_pairs
from tests.video.test_clips import draw_clip

from fieldguide.errors import FieldguideError, UnreadableImageError
from fieldguide.features import ColorHistogram, LocalBinaryPatterns
from fieldguide.locate.superpixels import merge_regions
from fieldguide.video import (
    SpaceTimeWords,
    optical_flow,
    supervoxel_features,
    supervoxels,
    to_supervoxels,
)
from fieldguide.video.descriptors import place_words
from fieldguide.video.supervoxels import METHODS, cut_grid

SIDES = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5))


def draw_mover(n_frames=8, height=40, width=60):
    """A yellow square that moves to the right before a blue and a green part."""
    clip = np.full((n_frames, height, width, 3), (40, 60, 160), dtype=np.uint8)
    clip[:, height // 2 :] = (30, 120, 40)
    for t in range(n_frames):
        clip[t, 12:26, 10 + 3 * t : 24 + 3 * t] = (240, 210, 30)
    return clip


@given(arrays(np.int64, SIDES, elements=st.integers(0, 4)))
@settings(max_examples=50)
def test_the_record_is_that_of_loops(labels):
    check_record(to_supervoxels(labels), labels, boxes_and_pairs)


@pytest.mark.parametrize("method", ["slic", "hierarchical"])
def test_the_parts_of_a_clip_are_told_apart(method):
    clip = draw_mover()
    found = supervoxels(clip, method, n_regions=24)
    assert share_mixed(found, clip) < 0.05
    assert 4 <= found.n_regions <= 40
    assert found.areas.sum() == found.labels.size


def test_merging_follows_boundaries_in_space_and_time():
    labels = np.zeros((4, 3, 4), int)
    labels[2:] = 2
    labels[:, :, 2:] += 1  # 0 | 1 in the first frames, 2 | 3 in the last
    strength = np.full((4, 3, 4), 1.0)
    strength[1:3, :, :2] = 5.0  # between 0 and 2: strong; 1 and 3 lie in calm
    merged = to_supervoxels(merge_regions(labels, strength, 3))
    whole = [[2, 0, 4, 3]] * 4
    assert whole in merged.boxes.tolist()
    assert sorted(merged.areas.tolist()) == [12, 12, 24]


@pytest.mark.parametrize("method", METHODS)
def test_a_region_hangs_together(method):
    found = supervoxels(draw_mover(), method, n_regions=20)
    for k in range(found.n_regions):
        assert ndimage.label(found.labels == k)[1] == 1


@pytest.mark.parametrize(
    ("shape", "n", "frame_px", "counts"),
    [
        ((10, 20, 20), 8, 2.0, (2, 2, 2)),
        ((10, 20, 20), 1, 2.0, (1, 1, 1)),
        ((1, 30, 60), 8, 2.0, (1, 2, 4)),
        ((60, 2, 2), 5, 1.0, (5, 1, 1)),
        ((2, 2, 2), 100, 1.0, (2, 2, 2)),
    ],
)
def test_the_regular_grid(shape, n, frame_px, counts):
    labels = cut_grid(shape, n, frame_px)
    assert labels.shape == shape
    assert len(np.unique(labels)) == np.prod(counts)
    for axis, count in enumerate(counts):
        edge = np.moveaxis(labels, axis, 0)[:, 0, 0]
        assert len(np.unique(edge)) == count


ODD = {
    "flat": np.full((6, 30, 40, 3), 90, np.uint8),
    "one frame": draw_mover(1),
    "flat frame": np.zeros((1, 20, 20, 3), np.uint8),
    "two frames": draw_mover(2),
    "one pixel": np.full((1, 1, 1, 3), 7, np.uint8),
    "a pixel that lasts": np.full((9, 1, 1, 3), 7, np.uint8),
    "long": np.random.default_rng(0).integers(0, 255, (3, 2, 500, 3), dtype=np.uint8),
    "noise": np.random.default_rng(0).integers(0, 255, (6, 30, 40, 3), dtype=np.uint8),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("what", ODD)
def test_odd_clips(what, method):
    clip = ODD[what]
    found = supervoxels(clip, method, n_regions=12)
    assert found.labels.shape == clip.shape[:3]
    assert 1 <= found.n_regions <= 24
    assert found.areas.min() >= 1
    rows = supervoxel_features(clip, found)
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-5)
    if what in ("flat", "noise"):
        assert found.n_regions >= 6


def test_large_frames_are_cut_small_and_the_regions_enlarged():
    clip = np.kron(draw_mover(), np.ones((1, 3, 3, 1), np.uint8))
    found = supervoxels(clip, "voxels", n_regions=16, max_side_px=60)
    small = supervoxels(draw_mover(), "voxels", n_regions=16, max_side_px=60)
    np.testing.assert_array_equal(found.labels[:, ::3, ::3], small.labels)
    assert found.labels.shape == (8, 120, 180)


def test_bad_input_is_one_sentence():
    clip = draw_mover(3)
    for arguments, message in (
        ({"method": "watershed"}, "method of supervoxels must be one of"),
        ({"n_regions": 0}, "n_regions of supervoxels"),
        ({"flow_weight": -1}, "flow_weight of supervoxels"),
        ({"flow": np.zeros((2, 2, 2, 2))}, "find it by optical_flow"),
    ):
        with pytest.raises(FieldguideError, match=message):
            supervoxels(clip, **arguments)
    with pytest.raises(UnreadableImageError, match="has no frame"):
        supervoxels([])
    with pytest.raises(FieldguideError, match="labels of to_supervoxels"):
        to_supervoxels(np.zeros((3, 3), int))
    regions = supervoxels(clip, "voxels")
    with pytest.raises(FieldguideError, match="cut the same clip"):
        supervoxel_features(draw_mover(4), regions)
    for parts in ((), ("smell",), ("words",)):
        with pytest.raises(FieldguideError, match="parts of supervoxel_features"):
            supervoxel_features(clip, regions, parts=parts)


def test_frames_of_variable_size_are_cut_at_that_of_the_first():
    clip = draw_mover(3)
    mixed = [clip[0], np.kron(clip[1], np.ones((2, 2, 1), np.uint8)), clip[2]]
    found = supervoxels(mixed, n_regions=8)
    assert found.labels.shape == (3, 40, 60)
    assert supervoxel_features(mixed, found).shape == (found.n_regions, 65 + 59 + 17)


def test_histograms_are_those_of_the_pixels_of_a_region():
    """Two bricks beside each other: what the image transformers say of each half alone."""
    rng = np.random.default_rng(0)
    clip = rng.integers(0, 255, (2, 16, 32, 3), dtype=np.uint8)
    labels = np.zeros((2, 16, 32), int)
    labels[:, :, 16:] = 1
    rows = supervoxel_features(clip, to_supervoxels(labels), parts=("color", "texture"))
    for k in range(2):
        halves = clip[:, :, 16 * k : 16 * k + 16]
        colours = ColorHistogram(levels=(1,), max_side_px=32).fit_transform(halves).mean(axis=0)
        np.testing.assert_allclose(rows[k, :65] * 2, colours, atol=1e-5)
    texture = LocalBinaryPatterns(rings=((8, 1),), levels=(1,)).fit_transform(clip).mean(axis=0)
    np.testing.assert_allclose(rows[:, 65:].sum(axis=0), texture, atol=1e-5)


def test_histograms_of_movement():
    labels = np.zeros((1, 4, 8), int)
    labels[:, :, 4:] = 1
    clip = np.zeros((1, 4, 8, 3), np.uint8)
    flow = np.zeros((1, 4, 8, 2), np.float32)
    flow[:, :, 4:] = (0, 2)  # down, half-way between slow and fast
    flow[:, 0, 4:] = (-5, 0)
    rows = supervoxel_features(clip, to_supervoxels(labels), parts=("flow",), flow=flow)
    expected = np.zeros((2, 17))
    expected[0, 16] = 1
    expected[1, [2, 10]] = 0.375
    expected[1, 12] = 0.25
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_words_go_to_the_region_of_their_middle():
    clip = draw_clip(8)
    flow = optical_flow(clip)
    words = SpaceTimeWords(12, sizes=((12, 4),), step_px=6, n_iter=3).fit([clip, draw_clip(8)])
    regions = supervoxels(clip, "voxels", n_regions=6, flow=flow)
    rows = supervoxel_features(clip, regions, words, parts=("words",), flow=flow)
    word, middles = words.assign(clip, flow)
    for k in range(regions.n_regions):
        mine = [
            w
            for w, (t, y, x) in zip(word, middles, strict=True)
            if regions.labels[int(t + 0.5), int(y + 0.5), int(x + 0.5)] == k
        ]
        expected = np.bincount(mine if mine else word, minlength=12)
        np.testing.assert_allclose(rows[k], expected / expected.sum(), atol=1e-6)
    assert supervoxel_features(clip, regions, words, flow=flow).shape == (6, 12 + 141)


def test_words_look_at_a_large_clip_at_their_own_size():
    clip = draw_clip(8, 48, 64)
    words = SpaceTimeWords(12, sizes=((12, 4),), step_px=4, n_iter=3, max_side_px=64).fit([clip])
    large = np.stack(
        [np.asarray(Image.fromarray(frame).resize((192, 144), Image.BICUBIC)) for frame in clip]
    )
    flow = np.full((8, 48, 64, 2), (0.7, -0.2), np.float32)
    word, middles = words.assign(clip, flow)
    found, places = place_words(words, large, np.full((8, 144, 192, 2), (2.1, -0.6), np.float32))
    np.testing.assert_allclose(places[:, 0], middles[:, 0])
    np.testing.assert_allclose(places[:, 1:] + 0.5, (middles[:, 1:] + 0.5) * 3, rtol=1e-5)
    assert (found == word).mean() > 0.9
    seen = {}
    words.assign = lambda frames, flow: (seen.update(flow=flow), middles)
    place_words(words, large, np.full((8, 144, 192, 2), (2.1, -0.6), np.float32))
    np.testing.assert_allclose(seen["flow"], flow, rtol=1e-5)  # in its own pixels

"""Regions of pictures: records beside loops, and pictures that are flat, noisy or tiny."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from tests.features.contract import odd_images
from tests.locate.regions import check_record, share_mixed
from tests.reference.slow_regions import boxes_and_pairs

from fieldguide.errors import InvalidArgument
from fieldguide.locate import superpixels, to_regions
from fieldguide.locate.superpixels import METHODS, merge_regions


def draw_parts():
    """A picture of four parts."""
    picture = np.full((60, 90, 3), (200, 180, 90), dtype=np.uint8)
    picture[10:30, 10:40] = (30, 90, 200)
    picture[35:55, 50:80] = (10, 120, 20)
    picture[:, 84:] = (250, 250, 250)
    return picture


SIDES = st.tuples(st.integers(1, 7), st.integers(1, 7))


@given(arrays(np.int64, SIDES, elements=st.integers(0, 4)))
def test_the_record_is_that_of_loops(labels):
    check_record(to_regions(labels), labels, boxes_and_pairs)


@pytest.mark.parametrize("method", METHODS)
def test_parts_are_told_apart(method):
    """No region lies half in one part of the picture and half in another."""
    picture = draw_parts()
    found = superpixels(picture, method, n_regions=24, scale=50)
    assert share_mixed(found, picture) < 0.05
    assert found.n_regions >= 4
    assert found.areas.sum() == picture.shape[0] * picture.shape[1]


@pytest.mark.parametrize("method", ["slic", "hierarchical"])
def test_a_region_hangs_together(method):
    found = superpixels(draw_parts(), method, n_regions=20)
    for k in range(found.n_regions):
        assert ndimage.label(found.labels == k)[1] == 1


def test_merging_keeps_the_strongest_boundary_to_the_last():
    picture = np.zeros((40, 60, 3), dtype=np.uint8)
    picture[:, 20:40] = 60
    picture[:, 40:] = 250
    for n, boxes in (
        (3, [[0, 0, 20, 40], [20, 0, 40, 40], [40, 0, 60, 40]]),
        (2, [[0, 0, 40, 40], [40, 0, 60, 40]]),
        (1, [[0, 0, 60, 40]]),
    ):
        found = superpixels(picture, "hierarchical", n_regions=n, smoothing_px=0.5)
        assert sorted(found.boxes.tolist()) == boxes


def test_merging_follows_the_edge_map_and_not_the_order_of_names():
    labels = np.array([[0, 1, 2, 3]] * 4)
    strength = np.array([[5.0, 5, 1, 1]] * 4)  # weakest between 2 and 3
    merged = merge_regions(labels, strength, 3)
    assert to_regions(merged).boxes.tolist() == [[0, 0, 1, 4], [1, 0, 2, 4], [2, 0, 4, 4]]
    swapped = merge_regions(3 - labels, strength, 3)
    assert sorted(to_regions(swapped).areas.tolist()) == [4, 4, 8]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("what", "pixels"), odd_images(), ids=lambda value: str(value)[:8])
def test_odd_pictures(method, what, pixels):
    found = superpixels(pixels, method, n_regions=10)
    assert found.labels.shape == pixels.shape[:2]
    assert found.areas.min() >= 1
    assert 1 <= found.n_regions <= max(60, 2 * pixels.shape[0] * pixels.shape[1] // 100)


def test_a_flat_picture_and_a_noisy_one():
    flat = np.full((80, 100, 3), 90, dtype=np.uint8)
    assert superpixels(flat, "felzenszwalb").n_regions == 1
    assert superpixels(flat, "hierarchical", n_regions=7).n_regions == 7
    noise = np.random.default_rng(0).integers(0, 255, (80, 100, 3), dtype=np.uint8)
    assert superpixels(noise, "felzenszwalb").n_regions <= 200
    for method in ("slic", "hierarchical"):
        assert 10 <= superpixels(noise, method, n_regions=20).n_regions <= 30


def test_bad_arguments_are_one_sentence():
    picture = draw_parts()
    for arguments in (
        {"method": "watershed"},
        {"n_regions": 0},
        {"n_regions": 2.5},
        {"scale": -1},
        {"smoothing_px": -1},
    ):
        with pytest.raises(InvalidArgument, match="of superpixels must be"):
            superpixels(picture, **arguments)
    for bad in (np.zeros((3, 3)), np.zeros((0, 3), int), np.zeros(4, int)):
        with pytest.raises(InvalidArgument, match="labels of to_regions must be"):
            to_regions(bad)


def test_a_large_picture_is_cut_at_a_smaller_size():
    picture = np.kron(draw_parts(), np.ones((8, 8, 1), dtype=np.uint8))
    found = superpixels(picture, "hierarchical", n_regions=4, max_side_px=90)
    small = superpixels(draw_parts(), "hierarchical", n_regions=4)
    assert found.labels.shape == (480, 720)
    np.testing.assert_allclose(found.boxes, 8 * small.boxes, atol=16)

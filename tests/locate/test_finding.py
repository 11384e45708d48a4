"""Masks and boxes from the scores of regions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

from fieldguide.errors import InvalidArgument
from fieldguide.locate import find_objects, to_regions

GRID = np.kron(np.arange(12).reshape(3, 4), np.ones((5, 5), int))  # 12 squares of 5 px


@given(arrays(np.float64, 12, elements=st.floats(-3, 3, width=16)))
def test_boxes_are_those_of_the_pieces_of_the_mask(scores):
    found = find_objects(to_regions(GRID), scores)
    mask = (scores > 0)[GRID]
    if not (scores > 0).any():
        mask = np.arange(12)[GRID] == scores.argmax()
    np.testing.assert_array_equal(found.mask, mask)
    pieces = ndimage.find_objects(ndimage.label(mask)[0])  # squares that share a side
    boxes = sorted([x.start, y.start, x.stop, y.stop] for y, x in pieces)
    assert sorted(found.boxes.tolist()) == boxes
    assert (np.diff(found.box_scores) <= 0).all()


def test_scores_of_boxes_and_of_the_picture():
    scores = np.full(12, -1.0)
    scores[[0, 1]] = 3, 1  # weights 3/4 and 1/4
    scores[11] = 2
    found = find_objects(to_regions(GRID), scores)
    assert found.boxes.tolist() == [[0, 0, 10, 5], [15, 10, 20, 15]]
    assert found.box_scores.tolist() == [2.5, 2.0]
    assert found.score == pytest.approx((9 + 1 + 4) / 6)


def test_nothing_above_the_threshold():
    scores = -np.arange(1.0, 13)
    found = find_objects(to_regions(GRID), scores)
    assert found.boxes.tolist() == [[0, 0, 5, 5]]
    assert found.score == found.box_scores[0] == -1
    none = find_objects(to_regions(GRID), scores, at_least_one=False)
    assert none.boxes.shape == (0, 4)
    assert not none.mask.any()
    assert none.score == -1


@given(
    arrays(np.float64, 12, elements=st.floats(-3, 3, width=16)),
    arrays(np.float64, 12, elements=st.floats(0, 1, width=16)),
    st.sampled_from([0.3, 0.6, 1.0]),
)
def test_what_scores_high_and_stands_out_is_found(scores, contrast, cut_off):
    regions = to_regions(GRID)
    found = find_objects(regions, scores, contrast=contrast, cut_off=cut_off)
    standing = (scores - scores.min()) * (contrast + 0.2)
    chosen = np.flatnonzero(standing >= cut_off * standing.max())
    assert sorted(np.concatenate(found.pieces).tolist()) == chosen.tolist()
    np.testing.assert_array_equal(found.mask, np.isin(GRID, chosen))
    assert found.score == find_objects(regions, scores).score  # the contrast is no score
    for box, score, piece in zip(found.boxes, found.box_scores, found.pieces, strict=True):
        y, x = np.nonzero(np.isin(GRID, piece))
        assert box.tolist() == [x.min(), y.min(), x.max() + 1, y.max() + 1]
        alone = np.where(np.isin(np.arange(12), piece), scores, -9)
        assert score == pytest.approx(find_objects(regions, alone).score)


def test_a_single_region():
    found = find_objects(to_regions(np.zeros((4, 6), int)), np.array([0.5]))
    assert found.boxes.tolist() == [[0, 0, 6, 4]]


def test_one_score_for_each_region():
    with pytest.raises(InvalidArgument, match=r"each of the 12 regions; got shape \(3,\)"):
        find_objects(to_regions(GRID), np.zeros(3))
    with pytest.raises(
        InvalidArgument, match=r"contrast .* each of the 12 regions; got shape \(3,"
    ):
        find_objects(to_regions(GRID), np.zeros(12), contrast=np.zeros(3))

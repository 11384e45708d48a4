"""Overlap, precision against recall and CorLoc, beside loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from tests.reference.slow_clips import tube_overlap
from tests.reference.slow_regions import curve_of_boxes

from fieldguide.errors import InvalidArgument
from fieldguide.metrics import corloc, localization_curve
from fieldguide.metrics.localization import overlaps


def draw_boxes(rng, n):
    corner = rng.integers(0, 15, (n, 2))
    return np.concatenate([corner, corner + rng.integers(1, 12, (n, 2))], axis=1)


def draw_pictures(seed, n=6):
    rng = np.random.default_rng(seed)
    truth = [draw_boxes(rng, int(rng.integers(0, 4))) for _ in range(n - 1)]
    truth.append(draw_boxes(rng, 1))
    found = [
        np.concatenate([boxes[: int(rng.integers(0, 3))], draw_boxes(rng, int(rng.integers(0, 3)))])
        for boxes in truth
    ]
    scores = [rng.permutation(100)[: len(boxes)] / 100 + i / 1e4 for i, boxes in enumerate(found)]
    return truth, found, scores


def as_masks(boxes):
    masks = np.zeros((len(boxes), 30, 30), bool)
    for mask, (x0, y0, x1, y1) in zip(masks, boxes, strict=True):
        mask[y0:y1, x0:x1] = True
    return masks


@given(st.integers(0, 10_000), st.sampled_from([0.125, 0.4, 0.5, 1.0]))
def test_average_precision_is_that_of_loops(draw, overlap):
    truth, found, scores = draw_pictures(draw)
    curve = localization_curve(truth, found, scores, overlap=overlap)
    assert curve.average_precision == pytest.approx(curve_of_boxes(truth, found, scores, overlap))
    assert ((curve.precision >= 0) & (curve.precision <= 1)).all()
    assert (np.diff(curve.recall) >= 0).all()
    assert (np.diff(curve.thresholds) < 0).all()


@given(st.integers(0, 10_000))
def test_boxes_on_whole_pixels_are_their_masks(draw):
    truth, found, scores = draw_pictures(draw)
    by_box = localization_curve(truth, found, scores)
    for pair in (
        (truth, [as_masks(boxes) for boxes in found]),
        ([as_masks(boxes) for boxes in truth], [as_masks(boxes) for boxes in found]),
    ):
        by_mask = localization_curve(*pair, scores)
        np.testing.assert_allclose(by_mask.precision, by_box.precision)
        assert by_mask.average_precision == pytest.approx(by_box.average_precision)


def test_one_find_in_every_picture_is_plain_average_precision():
    rng = np.random.default_rng(0)
    scores, is_right = rng.normal(size=40).round(1), rng.random(40) < 0.4
    box, elsewhere = [[0, 0, 4, 4]], [[9, 9, 12, 12]]
    truth = [box if right else [] for right in is_right]
    curve = localization_curve(truth, [box] * 40, scores[:, None])
    assert curve.average_precision == pytest.approx(average_precision_score(is_right, scores))
    # objects that are missed lower recall, not precision
    missed = localization_curve([box] * 2, [box, elsewhere], [[1.0], [0.5]])
    assert missed.recall.tolist() == [0.5, 0.5]
    assert missed.average_precision == 0.5


def test_an_object_is_taken_once():
    box = [0, 0, 10, 10]
    curve = localization_curve([[box]], [[box, box]], [[0.9, 0.8]])
    assert curve.precision.tolist() == [1.0, 0.5]
    assert curve.average_precision == 1.0


def test_the_overlap_asked_for_is_reached_by_equality():
    half = [[0, 0, 10, 5]]
    assert localization_curve([[[0, 0, 10, 10]]], [half], [[1]]).average_precision == 1
    assert localization_curve([[[0, 0, 10, 10]]], [half], [[1]], overlap=0.51).recall[-1] == 0


def test_golden_overlaps():
    found = np.array([[0.0, 0, 4, 4], [1, 1, 3, 3], [4, 0, 5, 1], [2, 2, 2, 2]])
    truth = np.array([[0.0, 0, 4, 4], [2, 2, 6, 6]])
    expected = [[1, 4 / 28], [1 / 4, 1 / 19], [0, 0], [0, 0]]
    np.testing.assert_allclose(overlaps(found, truth), expected)


def test_nothing_found():
    curve = localization_curve([[[0, 0, 1, 1]]], [[]], [[]])
    assert curve.average_precision == 0
    assert len(curve.precision) == 0


def test_corloc_looks_at_the_first_find_of_pictures_with_an_object():
    box, other = [0, 0, 10, 10], [20, 20, 30, 30]
    truth = [[box], [box, other], [], [box]]
    assert corloc(truth, [[box, other], [other], [box], [other, box]]) == pytest.approx(2 / 3)
    assert corloc(truth, [[box], [], [], []]) == pytest.approx(1 / 3)
    masks = [as_masks([box])] * 2
    assert corloc([[box]] * 2, masks, overlap=1.0) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[[0, 0, 1, 1]]], [], []), "must be as many"),
        (([], [], []), "must be as many"),
        (([[]], [[[0, 0, 1, 1]]], [[1]]), "must hold an object"),
        (([[[0, 0, 1]]], [[[0, 0, 1, 1]]], [[1]]), "truth must hold boxes of four numbers"),
        (([[[0, 0, 1, 1]]], [[[0, 0, 1, np.nan]]], [[1]]), "found must hold boxes"),
        (([[[0, 0, 1, 1]]], [[[0, 0, 1, 1]]], [[1, 2]]), "1 finds and 2 scores"),
        (([[[0, 0, 1, 1]]], [[[0, 0, 1, 1]]], [[np.nan]]), "or NaN"),
    ],
)
def test_bad_input_is_one_sentence(arguments, message):
    with pytest.raises(InvalidArgument, match=message):
        localization_curve(*arguments)
    with pytest.raises(InvalidArgument, match="overlap of localization_curve must be"):
        localization_curve([[[0, 0, 1, 1]]], [[]], [[]], overlap=0)


BOX = st.tuples(*[st.integers(0, 6)] * 4).map(
    lambda v: (min(v[0], v[2]), min(v[1], v[3]), max(v[0], v[2]), max(v[1], v[3]))
)
TUBE = st.lists(BOX, min_size=3, max_size=3)


@given(TUBE, TUBE)
def test_the_overlap_of_tubes_is_that_of_their_voxels(a, b):
    found, truth = np.array([a], float), np.array([b], float)
    expected = tube_overlap(a, b)
    assert overlaps(found, truth)[0, 0] == pytest.approx(expected)
    mask = np.zeros((1, 3, 6, 6), bool)
    for t, (x0, y0, x1, y1) in enumerate(b):
        mask[0, t, y0:y1, x0:x1] = True
    assert overlaps(found, mask)[0, 0] == pytest.approx(expected)
    assert overlaps(mask, found)[0, 0] == pytest.approx(expected)


def test_the_curve_of_tubes():
    """A find of half the frames of an object overlaps by half; NaN is a frame without it."""
    truth = [[[[0, 0, 4, 4]] * 4], []]
    half = [[0, 0, 4, 4], [0, 0, 4, 4], [np.nan] * 4, [0, 0, 0, 0]]
    found, scores = [[half], [half]], [[0.4], [0.9]]
    for overlap, precision in ((1 / 8, [0.0, 0.5]), (0.5, [0.0, 0.5]), (0.6, [0.0, 0.0])):
        curve = localization_curve(truth, found, scores, overlap=overlap)
        assert curve.precision.tolist() == precision
        assert curve.average_precision == precision[-1]
    assert corloc(truth[:1], found[:1], overlap=0.5) == 1
    with pytest.raises(InvalidArgument, match="tubes of as many frames"):
        localization_curve([[[[0, 0, 4, 4]] * 3]], found[:1], scores[:1])
    with pytest.raises(InvalidArgument, match="as many as the frames of a mask"):
        localization_curve([np.ones((1, 3, 4, 4), bool)], found[:1], scores[:1])
    with pytest.raises(InvalidArgument, match="tubes of a box in each frame"):
        localization_curve([np.full((1, 3, 4), np.inf)], found[:1], scores[:1])

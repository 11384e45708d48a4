"""Masks and boxes from the scores of regions."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage
from skimage.color import rgb2lab

from fieldguide.errors import InvalidArgument
from fieldguide.locate import border_contrast, find_objects, superpixels, to_regions
from fieldguide.locate.contrast import STEP

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


def naive_contrast(image, labels):
    """The same by a plain search over the pixels' label map."""
    m = labels.max() + 1
    colour = np.array([rgb2lab(image[labels == r].mean(axis=0) / 255) for r in range(m)])
    height, width = labels.shape
    around = {r: set() for r in range(m)}
    for y in range(height):
        for x in range(width):
            for v, u in ((y + 1, x), (y, x + 1)):
                if v < height and u < width and labels[y, x] != labels[v, u]:
                    around[labels[y, x]].add(labels[v, u])
                    around[labels[v, u]].add(labels[y, x])
    best = dict.fromkeys(range(m), np.inf)
    heap = [(0.0, int(r)) for r in {*labels[0], *labels[-1], *labels[:, 0], *labels[:, -1]}]
    while heap:
        cost, r = heapq.heappop(heap)
        if cost < best[r]:
            best[r] = cost
            for other in around[r]:
                step = max(np.linalg.norm(colour[r] - colour[other]) - STEP, 0)
                heapq.heappush(heap, (cost + step, int(other)))
    values = np.array([best[r] for r in range(m)])
    return values / max(values.max(), 1e-6)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000))
def test_it_is_the_cheapest_way_to_the_border(seed):
    rng = np.random.default_rng(seed)
    labels = np.kron(np.arange(30).reshape(5, 6), np.ones((3, 4), int))
    image = np.kron(rng.integers(0, 256, (5, 6, 3)), np.ones((3, 4, 1), int)).astype(np.uint8)
    found = border_contrast(image, to_regions(labels))
    np.testing.assert_allclose(found, naive_contrast(image, labels), atol=1e-6)
    assert found[[0, 5, 24, 29]].tolist() == [0, 0, 0, 0]


def test_a_slow_change_is_no_step():
    shade = np.linspace(100, 140, 90).astype(np.uint8)
    image = np.broadcast_to(shade[:, None, None], (90, 90, 3)).copy()
    image[35:55, 35:55] = (200, 30, 30)
    regions = superpixels(image, n_regions=25)
    contrast = border_contrast(image, regions)
    inside = np.unique(regions.labels[38:52, 38:52])
    assert contrast[inside].min() > 0.5
    assert np.delete(contrast, np.unique(regions.labels[33:57, 33:57])).max() < 0.1


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (40, 40)])
def test_a_flat_picture_has_none(shape):
    image = np.full((*shape, 3), 90, np.uint8)
    assert not border_contrast(image, superpixels(image, n_regions=9)).any()

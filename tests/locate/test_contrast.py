import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.color import rgb2lab

from fieldguide.locate import border_contrast, superpixels, to_regions
from fieldguide.locate.contrast import STEP


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

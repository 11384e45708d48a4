import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from scipy import ndimage

from fieldguide.errors import InvalidArgument
from fieldguide.locate import trace_outlines
from fieldguide.locate.outlines import ring_area


def fill(rings, shape) -> np.ndarray:
    """Return the pixels inside an odd number of rings, drawn by Pillow."""
    inside = np.zeros(shape, bool)
    for ring in rings:
        image = Image.new("1", shape[::-1])
        points = [(x * shape[1] - 0.5, y * shape[0] - 0.5) for x, y in ring]
        ImageDraw.Draw(image).polygon(points, fill=1)
        inside ^= np.asarray(image)
    return inside


def test_a_disc_becomes_one_ring_around_it():
    y, x = np.mgrid[:120, :160]
    mask = np.hypot(x - 60, y - 50) < 30
    (ring,) = trace_outlines(mask)
    assert 8 < len(ring) < 60
    radius = np.hypot(*(np.array(ring) * (160, 120) - (60.5, 50.5)).T)
    assert abs(radius - 30).max() < 1.5


def test_a_hole_is_a_second_ring():
    mask = np.zeros((100, 100), bool)
    mask[20:80, 20:80] = True
    mask[40:60, 40:60] = False
    outer, inner = trace_outlines(mask)
    assert ring_area(np.array(outer)) == pytest.approx(0.36, abs=0.02)
    assert ring_area(np.array(inner)) == pytest.approx(0.04, abs=0.01)
    assert (fill((outer, inner), mask.shape) != mask).mean() < 0.02


def test_what_touches_the_border_ends_there():
    mask = np.zeros((50, 90), bool)
    mask[:, 60:] = True
    (ring,) = trace_outlines(mask)
    xs, ys = np.array(ring).T
    assert (ys.min(), ys.max(), xs.max()) == (0, 1, 1)
    assert xs.min() == pytest.approx(2 / 3, abs=0.01)


def test_a_single_pixel_and_a_whole_picture():
    mask = np.zeros((40, 30), bool)
    assert trace_outlines(mask) == ()
    mask[7, 11] = True
    (ring,) = trace_outlines(mask)
    assert np.array(ring).mean(axis=0) == pytest.approx((11.5 / 30, 7.5 / 40), abs=0.01)
    (whole,) = trace_outlines(np.ones((40, 30), bool))
    assert ring_area(np.array(whole)) == pytest.approx(1, abs=0.01)
    assert trace_outlines(np.ones((1, 1), bool))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000))
def test_the_rings_hold_what_the_mask_holds(seed):
    rng = np.random.default_rng(seed)
    height, width = rng.integers(40, 120, 2)
    noise = ndimage.gaussian_filter(rng.normal(size=(height, width)), 9)
    mask = noise > np.quantile(noise, 0.7)
    rings = trace_outlines(mask)
    points = np.array([point for ring in rings for point in ring])
    assert points.min() >= 0
    assert points.max() <= 1
    assert (fill(rings, mask.shape) != mask).mean() < 0.05


def test_bad_masks_are_one_sentence():
    with pytest.raises(InvalidArgument, match="must be bool of shape"):
        trace_outlines(np.ones((3, 4)))

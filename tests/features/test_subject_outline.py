"""The pixels of a subject are found by colour where cells are coarse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from fieldguide.datasets import load_specimens
from fieldguide.features import outline_colours


def overlap(found, true):
    return (found & true).sum() / (found | true).sum()


def to_cells(mask, n_cells):
    cells = Image.fromarray(mask.astype(np.float32)).resize((n_cells,) * 2, Image.Resampling.BOX)
    return np.asarray(cells)


def test_a_bird_is_cut_out_of_a_plain_sky():
    y, x = np.mgrid[:90, :90]
    bird = np.abs(y - 45) + np.abs(x - 40) / 3 < 9  # slender: cells hold more sky than bird
    image = np.where(bird[..., None], (60, 40, 30), (120, 160, 220)).astype(np.uint8)
    cells = to_cells(bird, 9)
    coarse = np.kron(cells >= 0.3 * cells.max(), np.ones((10, 10))) > 0
    assert overlap(coarse, bird) < 0.7
    assert overlap(outline_colours(image, cells) > 0.5, bird) > 0.9


def test_a_part_that_the_cells_missed_is_found_by_its_colour():
    image = np.full((90, 90, 3), 240, np.uint8)
    image[20:70, 30:60] = (150, 40, 40)
    scores = np.zeros((9, 9), np.float32)
    scores[2:5, 3:6] = 1
    true = np.zeros((90, 90), bool)
    true[20:70, 30:60] = True
    assert overlap(outline_colours(image, scores) > 0.5, true) > 0.95


def test_another_thing_of_the_same_colour_is_not_the_subject():
    image = np.full((90, 90, 3), 240, np.uint8)
    image[30:60, 10:40] = image[30:60, 60:85] = (150, 40, 40)
    scores = np.zeros((9, 9), np.float32)
    scores[3:6, 1:4] = 1
    found = outline_colours(image, scores) > 0.5
    assert found[30:60, 10:40].mean() > 0.95
    assert not found[30:60, 60:85].any()


def test_outlines_of_drawn_specimens_follow_their_pixels():
    """With cells as coarse as a network's, made from the truth."""
    drawn = load_specimens(n_per_kind=1, size_px=96)
    coarse, fine = [], []
    for image, mask in zip(drawn.images, drawn.masks, strict=True):
        true = np.asarray(Image.fromarray(mask).resize((96, 96)))
        cells = to_cells(mask, 12)
        coarse.append(overlap(np.kron(cells >= 0.3 * cells.max(), np.ones((8, 8))) > 0, true))
        fine.append(overlap(outline_colours(image, cells) > 0.5, true))
    assert np.mean(fine) > np.mean(coarse) + 0.05


@settings(deadline=None, max_examples=40)
@given(
    arrays(np.uint8, st.tuples(st.integers(1, 30), st.integers(1, 30), st.just(3))),
    arrays(
        np.float32,
        st.tuples(st.integers(1, 8), st.integers(1, 8)),
        elements=st.floats(0, 5, width=32),
    ),
)
def test_any_picture_has_probabilities(image, scores):
    found = outline_colours(image, scores)
    assert found.shape == image.shape[:2]
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("colour", [0, 128, 255])
def test_one_colour_is_told_by_the_cells_alone(colour):
    scores = np.zeros((6, 6), np.float32)
    scores[2:4, 2:4] = 1
    found = outline_colours(np.full((60, 60, 3), colour, np.uint8), scores)
    assert found[25:35, 25:35].min() > found[:8].max()

"""Looks: parts of a row that are sums over cells, exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fieldguide.features import FeatureStack, Look, look_closer, picture_cells, sum_shares
from fieldguide.features.looks import crop_square, find_closer_square
from fieldguide.features.network import Network, fit_grid

WHOLE = (0.0, 0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def network():
    return Network()


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    made = []
    for i in range(6):
        image = rng.integers(80, 140, (90 + 10 * i, 130, 3)).astype(np.uint8)
        image[30:60, 40 + 5 * i : 70 + 5 * i] = (200, 30, 40)
        made.append(Image.fromarray(image))
    return made


@pytest.fixture(scope="module")
def stack(pictures, network):
    return FeatureStack("looks", n_jobs=1).fit(pictures, network=network)


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 8)),
    seed=st.integers(0, 999),
    is_largest=st.booleans(),
)
def test_shares_sum_to_the_score_of_the_part(shape, seed, is_largest):
    rng = np.random.default_rng(seed)
    cells = np.maximum(rng.normal(size=shape), 0).astype(np.float32)
    weights = rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape[:2]).astype(np.float32)
    look = Look("part", cells, None if is_largest else weights, WHOLE)
    coef = rng.normal(size=shape[2])
    flat = cells.reshape(-1, shape[2])
    pooled = flat.max(axis=0) if is_largest else weights.ravel() @ flat
    np.testing.assert_allclose(look.pool(), pooled, rtol=1e-5)
    length = max(np.linalg.norm(pooled), 1e-12)
    shares = look.share_out(coef)
    assert shares.shape == shape[:2]
    np.testing.assert_allclose(shares.sum(), coef @ pooled / length, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    corners=st.tuples(*(st.floats(-0.5, 1.4),) * 2, *(st.floats(0.05, 1.5),) * 2),
    grid=st.tuples(st.integers(1, 8), st.integers(1, 8)),
    shape=st.tuples(st.integers(2, 40), st.integers(2, 40)),
)
def test_a_field_keeps_the_sum_of_its_grids(corners, grid, shape):
    x, y, width, height = corners
    values = np.random.default_rng(0).normal(size=grid)
    field = sum_shares([((x, y, x + width, y + height), values), (WHOLE, values)], shape)
    assert field.shape == shape
    np.testing.assert_allclose(field.sum(), 2 * values.sum(), atol=1e-9)


def test_a_field_lies_where_its_cells_do():
    grid = np.zeros((2, 2))
    grid[0, 1] = 3
    field = sum_shares([((0.5, 0.0, 1.0, 0.5), grid)], (8, 8))
    assert field[:2, 6:].sum() == pytest.approx(3)


def test_rows_of_both_looks_are_what_the_network_pools(stack, pictures, network):
    rows = stack.transform(pictures)
    assert rows.shape == (6, 4 * 1280)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    columns = stack.split_columns(rows.shape[1])
    assert list(columns) == ["deep", "closer", "peaks", "subject"]
    cells = picture_cells(pictures[0], network)
    peaks = cells.reshape(-1, 1280).max(axis=0)
    np.testing.assert_allclose(
        rows[0, columns["peaks"]] * 2, peaks / np.linalg.norm(peaks), atol=1e-5
    )
    scores = stack.finder_.score_cells(cells)
    mean = np.tensordot(scores / scores.sum(), cells, 2)
    np.testing.assert_allclose(
        rows[0, columns["subject"]] * 2, mean / np.linalg.norm(mean), atol=1e-5
    )
    names = stack.get_feature_names_out()
    assert names[columns["closer"].start] == "closer 0"


def test_parts_alone_and_with_others(pictures, network):
    alone = FeatureStack("closer+color", n_jobs=1, n_landmarks=6).fit(pictures, network=network)
    rows = alone.transform(pictures)
    assert list(alone.split_columns(rows.shape[1])) == ["closer", "color"]
    assert alone.split_columns(rows.shape[1])["closer"] == slice(0, 1280)


@pytest.mark.parametrize("size", [(1, 200), (200, 1), (1, 1), (2000, 30), (64, 64)])
def test_pictures_of_any_shape(stack, network, size):
    image = Image.new("RGB", size, (90, 120, 30))
    looks = look_closer(image, network, stack.finder_)
    assert looks.cells.shape[:2] == fit_grid(size, 12)
    row = stack.describe([image], network.run(network.crop(image)[None]).embedding, [looks])
    assert np.isfinite(row).all()


def test_a_picture_of_one_colour_has_no_subject(stack, network):
    plain = look_closer(Image.new("RGB", (90, 60), (40, 90, 200)), network, stack.finder_)
    assert plain.subject.confidence == 0
    assert plain.subject.box == (0, 0, 1, 1)


def test_the_square_stays_in_the_picture_where_it_can():
    assert find_closer_square((0.0, 0.0, 0.2, 0.4), (100, 100)) == (0, 0, 40)
    assert find_closer_square((0.8, 0.0, 1.0, 0.4), (100, 100)) == (60, 0, 40)
    left, top, side = find_closer_square((0.0, 0.0, 1.0, 1.0), (200, 100))
    assert (left, top, side) == (0, -50, 200)


def test_a_square_beyond_the_picture_is_black_there():
    pixels = crop_square(Image.new("RGB", (20, 10), (255, 255, 255)), 0, -5, 20, 40)
    assert pixels.shape == (40, 40, 3)
    assert (pixels[:10] == 0).all()
    assert (pixels[12:28] == 255).all()
    assert (pixels[30:] == 0).all()


def test_cells_do_not_depend_on_what_else_is_asked_for(network):
    pixels = np.random.default_rng(0).integers(0, 255, (2, 224, 224, 3), dtype=np.uint8)
    plain, seen = network.run(pixels), network.run(pixels, cells=True)
    np.testing.assert_array_equal(plain.embedding, seen.embedding)
    np.testing.assert_allclose(seen.cells.mean(axis=(1, 2)), seen.embedding, atol=1e-5)
    np.testing.assert_allclose(network.map(pixels), seen.cells, atol=1e-5)

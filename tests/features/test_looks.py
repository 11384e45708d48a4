"""Looks: parts of a row that are sums over cells, exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from fieldguide.features import (
    FeatureStack,
    Look,
    look_closer,
    picture_cells,
    say_of_both,
    sum_shares,
)
from fieldguide.features.looks import (
    SURENESS,
    crop_square,
    find_closer_square,
    find_directions,
    weigh_quarters,
)
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
    n_means=st.integers(0, 4),
    n_directions=st.integers(0, 3),
)
def test_shares_sum_to_the_score_of_the_part(shape, seed, n_means, n_directions):
    rng = np.random.default_rng(seed)
    cells = np.maximum(rng.normal(size=shape), 0).astype(np.float32)
    n_cells, n_channels = shape[0] * shape[1], shape[2]
    weights = rng.dirichlet(np.ones(n_cells), n_means).reshape(n_means, *shape[:2])
    basis = rng.normal(size=(n_channels, n_directions)) if n_directions else None
    look = Look("part", cells, weights if n_means else None, WHOLE, basis)
    flat = cells.reshape(-1, n_channels)
    if n_means:
        means = [np.average(flat, axis=0, weights=each.ravel()) for each in weights]
        pooled = np.concatenate([mean if basis is None else basis.T @ mean for mean in means])
    else:
        pooled = flat.max(axis=0)
    coef = rng.normal(size=len(pooled))
    np.testing.assert_allclose(look.pool(), pooled, rtol=1e-5, atol=1e-6)
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
    assert rows.shape == (6, 4 * 1280 + 4 * 256)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    columns = stack.split_columns(rows.shape[1])
    assert list(columns) == ["deep", "closer", "peaks", "subject", "quarters"]
    scale = np.sqrt(4 + 0.5**2)
    cells = picture_cells(pictures[0], network)
    peaks = cells.reshape(-1, 1280).max(axis=0)
    np.testing.assert_allclose(
        rows[0, columns["peaks"]] * scale, peaks / np.linalg.norm(peaks), atol=1e-5
    )
    scores = stack.finder_.score_cells(cells)
    mean = np.tensordot(scores / scores.sum(), cells, 2)
    np.testing.assert_allclose(
        rows[0, columns["subject"]] * scale, mean / np.linalg.norm(mean), atol=1e-5
    )
    n_rows, n_columns = cells.shape[:2]
    up, down = cells[: -(-n_rows // 2)], cells[n_rows // 2 :]
    middle = -(-n_columns // 2), n_columns // 2
    means = [
        part.mean(axis=(0, 1)) @ stack.basis_
        for half in (up, down)
        for part in (half[:, : middle[0]], half[:, middle[1] :])
    ]
    quarters = np.concatenate(means)
    np.testing.assert_allclose(
        rows[0, columns["quarters"]] * scale / 0.5,
        quarters / np.linalg.norm(quarters),
        atol=1e-5,
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
    looks = stack.look_closer(image, network)
    assert looks.cells.shape[:2] == fit_grid(size, 12)
    row = stack.describe([image], network.see([image]).embedding, [looks])
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


def test_directions_are_those_in_which_cells_differ_most():
    rng = np.random.default_rng(0)
    maps = [rng.normal(size=(3, 4, 6)) * [1, 9, 2, 5, 1, 1] + 7 for _ in range(60)]
    found = find_directions(maps, 2)
    np.testing.assert_allclose(found.T @ found, np.eye(2), atol=1e-5)
    assert np.abs(found).argmax(axis=0).tolist() == [1, 3]
    assert (found[[1, 3], [0, 1]] > 0.95).all()


@given(st.integers(1, 9), st.integers(1, 9))
def test_quarters_cover_a_map(n_rows, n_columns):
    weights = weigh_quarters(n_rows, n_columns)
    np.testing.assert_allclose(weights.sum(axis=(1, 2)), 1, rtol=1e-5)
    assert (weights.sum(axis=0) > 0).all()
    np.testing.assert_array_equal(weights[0], weights[3][::-1, ::-1])


def test_words_are_read_from_both_looks(stack, pictures, network):
    looks = stack.look_closer(pictures[0], network)
    logits = network.see([pictures[0]]).logits[0]
    weight, bias = network.head
    said = (SURENESS * (looks.as_parts()["subject"].pool() @ weight + bias), logits)
    expected = np.mean([np.exp(x - x.max()) / np.exp(x - x.max()).sum() for x in said], axis=0)
    np.testing.assert_allclose(np.exp(say_of_both(logits, looks, network)), expected, atol=1e-6)


def test_the_head_of_the_network_leads_from_embedding_to_logits(network):
    pixels = np.random.default_rng(3).integers(0, 255, (2, 224, 224, 3), dtype=np.uint8)
    outputs = network.run(pixels)
    weight, bias = network.head
    np.testing.assert_allclose(outputs.embedding @ weight + bias, outputs.logits, atol=1e-4)

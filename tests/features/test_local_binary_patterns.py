import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.feature import local_binary_pattern
from tests.features.contract import check_image_transformer, odd_images, pictures

from fieldguide.datasets import load_specimens
from fieldguide.errors import InvalidArgument
from fieldguide.features.local_binary_patterns import (
    LocalBinaryPatterns,
    compare_rings,
    count_cells,
    label_patterns,
    n_bins,
)
from fieldguide.features.transformer import to_grey

quick = settings(deadline=None, max_examples=25)


def noise(height: int, width: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random((height, width)).astype(np.float32)


@pytest.mark.parametrize(("n_points", "radius"), [(8, 1), (16, 2), (12, 1.5), (8, 3)])
def test_labels_are_those_of_scikit_image_under_other_numbers(n_points, radius):
    drawn = load_specimens(n_per_kind=1, size_px=96).images[5]
    for grey in (noise(40, 50), to_grey(drawn) + noise(96, 96) / 1000):
        whole = np.rint(grey / grey.max() * 5000).astype(np.uint16)
        ours = label_patterns(whole.astype(np.float32) / 5000, n_points, radius)
        margin = int(np.ceil(radius))
        padded = np.pad(whole, margin, mode="symmetric")
        theirs = local_binary_pattern(padded, n_points, radius, "nri_uniform").astype(int)
        theirs = theirs[margin:-margin, margin:-margin]
        pairs = np.zeros((n_bins(n_points), n_bins(n_points)), dtype=int)
        np.add.at(pairs, (ours, theirs), 1)
        partner = pairs.argmax(axis=1)
        used = pairs.sum(axis=1) > 0
        assert len(set(partner[used])) == used.sum()
        assert pairs.max(axis=1).sum() >= 0.999 * ours.size  # but for a tie by rounding
        simple = local_binary_pattern(padded, n_points, radius, "uniform")
        simple = simple[margin:-margin, margin:-margin]
        n_light = np.select(
            [ours == 0, ours == n_bins(n_points) - 2, ours == n_bins(n_points) - 1],
            [0, n_points, n_points + 1],
            (ours - 1) // n_points + 1,
        )
        assert (n_light == simple).mean() >= 0.999


def naive_label(grey: np.ndarray, y: int, x: int) -> int:
    """The bin of 8 points at radius 1, from the definition."""
    light = []
    for p in range(8):
        at_y, at_x = y - np.sin(np.pi * p / 4), x + np.cos(np.pi * p / 4)
        i, j = int(np.floor(at_y + 1e-9)), int(np.floor(at_x + 1e-9))
        v, u = at_y - i, at_x - j
        corners = grey[i : i + 2, j : j + 2]
        value = np.array([1 - v, v])[: len(corners)] @ corners
        value = value @ np.array([1 - u, u])[: len(value)]
        light.append(value >= grey[y, x] - 1e-6)
    starts = [p for p in range(8) if light[p] and not light[p - 1]]
    if sum(light) in (0, 8):
        return 57 if light[0] else 0
    return 1 + (sum(light) - 1) * 8 + starts[0] if len(starts) == 1 else 58


def test_labels_are_those_of_the_definition():
    grey = np.round(noise(12, 14, seed=4) * 6) / 6  # with ties
    found = label_patterns(grey.astype(np.float32), 8, 1)
    expected = [[naive_label(grey, y, x) for x in range(1, 12)] for y in range(1, 10)]
    np.testing.assert_array_equal(found[1:10, 1:12], expected)


def test_names_tell_the_side_of_an_edge():
    image = np.zeros((40, 40))
    image[:, 20:] = 1  # lighter on the right
    texture = LocalBinaryPatterns(rings=((8, 1),), levels=(1,))
    row = dict(zip(texture.get_feature_names_out(), texture.transform([image])[0], strict=True))
    # the dark column before the edge is flat: nothing about it is darker
    assert row["flat or a dark spot at 1 px"] == pytest.approx(39 / 40)
    assert row["lighter at 5 of 8 points at 1 px, about 0°"] == pytest.approx(1 / 40)
    turned = texture.transform([np.rot90(image)])[0]
    found = dict(zip(texture.get_feature_names_out(), turned, strict=True))
    assert found["lighter at 5 of 8 points at 1 px, about 90°"] == pytest.approx(1 / 40)


def test_cells_are_where_the_texture_is():
    image = np.full((64, 64), 0.5)
    image[40:60, 8:24] = noise(20, 16)
    texture = LocalBinaryPatterns(rings=((8, 1),), levels=(2,))
    names, windows = texture.get_feature_names_out(), texture.get_feature_windows_out()
    row = texture.transform([image])[0]
    mixed = [i for i, name in enumerate(names) if name.startswith("mixed")]
    best = max(mixed, key=lambda i: row[i])
    assert names[best] == "mixed at 1 px, in row 2, column 1 of 2×2"
    assert windows[best].tolist() == [0, 0.5, 0.5, 1]
    assert sum(row[i] for i in mixed) == pytest.approx(row[best])


@quick
@given(pictures)
def test_rows_are_histograms_whose_levels_agree(image):
    row = LocalBinaryPatterns(rings=((8, 1), (8, 3)), levels=(1, 2)).transform([image])[0]
    assert (row >= 0).all()
    assert row.sum() == pytest.approx(1, abs=1e-5)
    for ring in row.reshape(2, 5, 59):
        np.testing.assert_allclose(ring[1:].sum(axis=0), ring[0], atol=1e-6)


@quick
@given(
    arrays(
        np.uint8,
        st.tuples(st.integers(1, 20), st.integers(1, 20)),
        elements=st.integers(0, 100),
    )
)
def test_more_light_changes_nothing(grey):
    texture = LocalBinaryPatterns(rings=((8, 1),), levels=(1,))
    np.testing.assert_array_equal(texture.transform([grey]), texture.transform([2 * grey + 50]))


@quick
@given(pictures)
def test_a_quarter_turn_moves_the_start_of_every_arc(image):
    texture = LocalBinaryPatterns(rings=((8, 1),), levels=(1,))
    straight = texture.transform([image])[0]
    turned = texture.transform([np.ascontiguousarray(np.rot90(image))])[0]
    arcs = straight[1:57].reshape(7, 8)
    np.testing.assert_allclose(turned[1:57].reshape(7, 8), np.roll(arcs, 2, axis=1), atol=2e-3)


def test_golden_values_for_every_type_of_pixel():
    image = np.random.default_rng(7).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    texture = LocalBinaryPatterns(rings=((8, 1),), levels=(1,))
    expected = texture.transform([image])[0]
    counts = [round(600 * expected[i]) for i in (0, 1, 20, 40, 57, 58)]
    assert counts == [90, 20, 2, 3, 108, 147]
    for kind in (np.float32, np.float64):
        same = texture.transform([(image / 255).astype(kind)])[0]
        np.testing.assert_allclose(same, expected, atol=1e-5)


def test_compiled_loops_equal_their_python():
    grey = noise(6, 7)
    turns = 2 * np.pi * np.arange(4) / 4
    bins = np.arange(16, dtype=np.int32)[::-1].copy()
    results = []
    for compare, count in (
        (compare_rings, count_cells),
        (compare_rings.py_func, count_cells.py_func),
    ):
        patterns = np.zeros((4, 5), dtype=np.int32)
        compare(grey, 1, -np.sin(turns).round(6), np.cos(turns).round(6), bins, patterns)
        counts = np.zeros((2, 2, 16))
        count(patterns, counts)
        results.append(counts)
    np.testing.assert_array_equal(*results)
    assert results[0].sum() == 20


def test_contract_of_an_estimator_over_images(blobs, tmp_path):
    check_image_transformer(LocalBinaryPatterns(), blobs[0][:5], tmp_path)


@pytest.mark.parametrize(("what", "image"), odd_images(), ids=[name for name, _ in odd_images()])
def test_odd_pictures(what, image):
    texture = LocalBinaryPatterns(levels=(1,))
    row = texture.transform([image])[0]
    assert row.sum() == pytest.approx(1, abs=1e-5)
    if what in ("constant", "black", "one pixel"):
        flat = [name.startswith("flat") for name in texture.get_feature_names_out()]
        assert row[flat].sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"levels": ()},
        {"levels": 2},
        {"levels": (1, 1)},
        {"levels": (0,)},
        {"rings": ()},
        {"rings": (8, 1)},
        {"rings": ((8, 1), (8, 1))},
        {"rings": ((24, 3),)},
        {"rings": ((8, 0.5),)},
        {"max_side_px": 2},
    ],
)
def test_refuses_arguments_that_make_no_sense(arguments):
    (name,) = arguments
    with pytest.raises(InvalidArgument, match=rf"{name}( \(\w+\))? of LocalBinaryPatterns must"):
        LocalBinaryPatterns(**arguments).fit()

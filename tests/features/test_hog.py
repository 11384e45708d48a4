import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage.feature import hog as skimage_hog
from tests.features.contract import check_image_transformer, odd_images, pictures

from fieldguide.datasets import load_specimens
from fieldguide.errors import CollectionError, InvalidArgument
from fieldguide.features.hog import (
    CLIP,
    EPSILON,
    SpatialHOG,
    fill_cells,
    find_gradients,
    hog,
    normalize_blocks,
    tabulate_gradients,
)

quick = settings(deadline=None, max_examples=25)


@pytest.fixture(scope="module")
def drawn():
    return list(load_specimens(n_per_kind=1, size_px=96).images[::4])


def ramp(turn: float, side: int = 64) -> np.ndarray:
    """A picture that gets lighter in the direction ``turn``, in degrees as seen."""
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    along = x * np.cos(np.radians(turn)) - y * np.sin(np.radians(turn))
    return (0.5 + along / (2 * side)).clip(0, 1)


def naive_cells(rgb: np.ndarray, n_rows: int, n_columns: int, n_orientations: int, signed: bool):
    """The module's formula in float64, one tent per axis over whole arrays."""
    height, width = rgb.shape[:2]
    values = rgb.astype(np.float64) / 255
    dy, dx = np.zeros_like(values), np.zeros_like(values)
    dx[:, 1:-1] = values[:, 2:] - values[:, :-2]
    dy[1:-1] = values[:-2] - values[2:]
    for d in (dx, dy):
        d[[0, -1]] = 0
        d[:, [0, -1]] = 0
    strongest = np.rint(255**2 * (dx**2 + dy**2)).argmax(axis=2)[..., None]
    dx, dy = (np.take_along_axis(d, strongest, axis=2)[..., 0] for d in (dx, dy))
    magnitude = np.hypot(dx, dy)
    period = 360 if signed else 180
    angle = np.degrees(np.arctan2(dy, dx)) % period * n_orientations / period

    def tent(distance: np.ndarray) -> np.ndarray:
        return np.maximum(0, 1 - abs(distance))

    y = (np.arange(height) + 0.5) / height * n_rows - 0.5
    x = (np.arange(width) + 0.5) / width * n_columns - 0.5
    rows = tent(y[:, None] - np.arange(n_rows))
    columns = tent(x[:, None] - np.arange(n_columns))
    away = abs(angle[..., None] - np.arange(n_orientations)) % n_orientations
    bins = tent(np.minimum(away, n_orientations - away))
    cells = np.einsum("yx,yr,xq,yxo->rqo", magnitude, rows, columns, bins)
    return cells * n_rows * n_columns / (height * width)


def naive_blocks(cells: np.ndarray) -> np.ndarray:
    blocks = []
    for row in range(len(cells) - 1):
        for column in range(cells.shape[1] - 1):
            block = cells[row : row + 2, column : column + 2].ravel()
            size = np.linalg.norm(block)
            block = np.minimum(block / size, CLIP)
            blocks.append(block / np.linalg.norm(block) * size / np.hypot(size, EPSILON))
    return np.concatenate(blocks)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("n_cells", [(8, 8), (3, 5)])
def test_equals_the_formula(drawn, n_cells, signed):
    for image in drawn[:3]:
        size = (n_cells[1] * 8, n_cells[0] * 8)
        resized = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR))
        found = hog(resized, n_cells=n_cells, n_orientations=9, signed=signed)
        expected = naive_blocks(naive_cells(resized, *n_cells, 9, signed))
        np.testing.assert_allclose(found, expected, atol=2e-6)


def test_agrees_with_scikit_image_in_the_orientations_of_each_cell(drawn):
    """scikit-image has hard bins: 36 of them, added up with our tents, are nearly ours."""
    for image in drawn:
        grey = np.asarray(Image.fromarray(image).convert("L").resize((64, 64)))
        theirs = skimage_hog(
            grey, 36, (64, 64), (1, 1), block_norm="L2", feature_vector=False
        ).ravel()
        at = (np.arange(36) + 0.5) / 4  # in our bins of 20°; their angles run clockwise
        away = abs(-at[:, None] - np.arange(9)) % 9
        expected = theirs @ np.maximum(0, 1 - np.minimum(away, 9 - away))
        magnitude, angle = np.zeros((2, 64, 64), np.float32)
        table = tabulate_gradients(9, False)
        find_gradients(np.repeat(grey[..., None], 3, axis=2), table, magnitude, angle)
        ours = np.array([(magnitude * tents).sum() for tents in orientation_tents(angle, 9)])
        cosine = ours @ expected / np.linalg.norm(ours) / np.linalg.norm(expected)
        assert cosine > 0.995


def orientation_tents(angle: np.ndarray, n: int) -> list[np.ndarray]:
    away = [abs(angle - o) % n for o in range(n)]
    return [np.maximum(0, 1 - np.minimum(a, n - a)) for a in away]


@pytest.mark.parametrize("turn", [0, 45, 90, 135, 180, 225, 270, 315])
def test_names_tell_the_direction_of_a_ramp(turn):
    image = ramp(turn)
    shapes = SpatialHOG(levels=(2,), n_orientations=8, normalization="l1")
    best = shapes.transform([image])[0].argmax()
    name = shapes.get_feature_names_out()[best]
    assert name.startswith(f"edges lighter towards {turn}° ")
    lines = SpatialHOG(levels=(1,), n_orientations=8, signed=False)
    best = lines.transform([image])[0].argmax()
    assert lines.get_feature_names_out()[best] == f"edges at {(turn + 90) % 180}° anywhere"


def test_windows_are_where_the_edge_is():
    image = np.full((96, 96), 0.2)
    image[57:63, 33:39] = 0.9  # in the middle of row 3, column 2 of 4×4
    for normalization in ("l1", "l2-hys"):
        shapes = SpatialHOG(levels=(4,), normalization=normalization)
        row = shapes.transform([image])[0]
        is_there = (shapes.get_feature_windows_out() == [0.25, 0.5, 0.5, 0.75]).all(axis=1)
        assert row[is_there].sum() > 0.6
        for name in shapes.get_feature_names_out()[is_there]:
            assert "in row 3, column 2 of 4×4" in name


def test_block_names_are_those_of_the_cells_in_them():
    shapes = SpatialHOG(levels=(4,), n_orientations=4)
    names, windows = shapes.get_feature_names_out(), shapes.get_feature_windows_out()
    cells = np.arange(16, dtype=float).reshape(4, 4, 1).repeat(4, axis=2) + 1
    blocks = normalize_blocks(cells).reshape(9, 4, 4)[:, :, 0]
    for b, block in enumerate(blocks):
        top, left = divmod(b, 3)
        for k in range(4):
            row, column = top + k // 2, left + k % 2
            assert names[(b * 4 + k) * 4] == (
                f"edges lighter towards 0° in row {row + 1}, column {column + 1} of 4×4 "
                f"against rows {top + 1}–{top + 2}, columns {left + 1}–{left + 2}"
            )
            assert windows[(b * 4 + k) * 4].tolist() == [
                column / 4,
                row / 4,
                (column + 1) / 4,
                (row + 1) / 4,
            ]
        assert (np.diff(block) >= 0).all()  # cells in reading order


def test_golden_values_for_every_type_of_pixel():
    rng = np.random.default_rng(7)
    image = rng.integers(0, 256, (50, 70, 3), dtype=np.uint8)
    expected = hog(image, n_cells=(4, 4))
    golden = [0.116733, 0.162833, 0.211373, 0.14808, 0.088286, 0.196197]
    np.testing.assert_allclose(expected[::60], golden, atol=1e-5)
    for kind in (np.float32, np.float64):
        np.testing.assert_allclose(
            hog((image / 255).astype(kind), n_cells=(4, 4)), expected, atol=1e-5
        )


@quick
@given(pictures)
def test_rows_are_histograms(image):
    for normalization in ("l1", "l2-hys"):
        row = SpatialHOG(normalization=normalization, levels=(1, 2, 4)).transform([image])[0]
        assert (row >= 0).all()
        total = row.sum(dtype=np.float64)
        assert total == pytest.approx(1, abs=1e-5) or not row.any()


@quick
@given(pictures)
def test_a_mirror_image_mirrors_the_columns(image):
    n, n_orientations = 4, 8
    straight = SpatialHOG(
        (n,), n_orientations=n_orientations, normalization="l1", side_px=32
    ).transform([image])
    mirrored = SpatialHOG(
        (n,), n_orientations=n_orientations, normalization="l1", side_px=32
    ).transform([np.ascontiguousarray(image[:, ::-1])])
    turned = (n_orientations // 2 - np.arange(n_orientations)) % n_orientations
    expected = straight.reshape(n, n, n_orientations)[:, ::-1][..., turned]
    np.testing.assert_allclose(mirrored.reshape(n, n, n_orientations), expected, atol=2e-3)


@quick
@given(pictures, st.integers(1, 6), st.integers(1, 6), st.integers(1, 12), st.booleans())
def test_any_window_gives_the_same_length(image, n_rows, n_columns, n_orientations, signed):
    row = hog(image, n_cells=(n_rows, n_columns), n_orientations=n_orientations, signed=signed)
    n_blocks = max(1, n_rows - 1) * max(1, n_columns - 1)
    assert row.shape == (n_blocks * min(2, n_rows) * min(2, n_columns) * n_orientations,)
    assert row.dtype == np.float32
    assert ((row >= 0) & (row <= 1)).all()


def test_contrast_hardly_matters_but_noise_is_not_an_edge():
    image = ramp(30)
    strong, weak = hog(image), hog(0.25 + image / 2)
    assert strong @ weak / np.linalg.norm(strong) / np.linalg.norm(weak) > 0.99
    almost_flat = np.full((64, 64), 127, np.uint8)
    almost_flat[::7, ::5] += 1
    assert hog(almost_flat).max() < 0.5 * strong.max()


def test_compiled_loops_equal_their_python():
    rng = np.random.default_rng(3)
    rgb = rng.integers(0, 256, (9, 11, 3), dtype=np.uint8)
    results = []
    for gradients, cells in (
        (find_gradients, fill_cells),
        (find_gradients.py_func, fill_cells.py_func),
    ):
        magnitude, angle = np.zeros((2, 9, 11), np.float32)
        gradients(rgb, tabulate_gradients(6, True), magnitude, angle)
        histogram = np.zeros((3, 2, 6))
        cells(magnitude, angle, histogram)
        results.append(histogram)
    np.testing.assert_allclose(*results, atol=1e-6)


def test_contract_of_an_estimator_over_images(blobs, tmp_path):
    check_image_transformer(SpatialHOG(), blobs[0][:5], tmp_path)


@pytest.mark.parametrize("normalization", ["l1", "l2-hys"])
@pytest.mark.parametrize(("what", "image"), odd_images(), ids=[name for name, _ in odd_images()])
def test_odd_pictures(what, image, normalization):
    row = SpatialHOG(normalization=normalization).transform([image])[0]
    assert np.isfinite(row).all()
    is_flat = what in ("constant", "black", "one pixel")
    assert row.sum() == pytest.approx(0 if is_flat else 1, abs=1e-5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"levels": ()},
        {"levels": 4},
        {"levels": (2, 2)},
        {"levels": (0,)},
        {"levels": (1, 2.5)},
        {"n_orientations": 0},
        {"signed": "yes"},
        {"normalization": "l3"},
        {"side_px": 8},
    ],
)
def test_refuses_arguments_that_make_no_sense(arguments):
    (name,) = arguments
    with pytest.raises(InvalidArgument, match=f"{name} of SpatialHOG must"):
        SpatialHOG(**arguments).fit()


def test_hog_refuses_what_is_no_picture_or_grid():
    with pytest.raises(InvalidArgument, match="n_cells of hog must"):
        hog(np.zeros((8, 8)), n_cells=8)
    with pytest.raises(InvalidArgument, match="n_cells of hog must"):
        hog(np.zeros((8, 8)), n_cells=(0, 8))
    for bad, why in (
        (np.zeros((0, 4, 3), np.uint8), "has shape"),
        (np.full((4, 4), np.nan), "has values outside"),
        (np.zeros((4, 4), int), "has type int"),
    ):
        with pytest.raises(CollectionError, match=why):
            hog(bad)

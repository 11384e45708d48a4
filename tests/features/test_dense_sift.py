import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.features.contract import check_image_transformer, odd_images

from fieldguide.datasets import load_specimens
from fieldguide.errors import InvalidArgument
from fieldguide.features._sift_loops import pool_cells, write_planes
from fieldguide.features.dense_sift import (
    DIRECTIONS,
    DenseSIFT,
    blur,
    cell_taps,
    dense_sift,
    grid_centres,
)
from fieldguide.features.transformer import to_grey


@pytest.fixture(scope="module")
def drawings():
    return load_specimens(n_per_kind=1, size_px=96).images[:12]


def naive_descriptor(grey, x, y, bin_px):
    """Return one descriptor by the formula of the module's text, pixel by pixel."""
    height, width = grey.shape
    found = np.zeros((4, 4, 8))
    for row in range(1, height - 1):
        for column in range(1, width - 1):
            dx = float(grey[row, column + 1]) - float(grey[row, column - 1])
            dy = float(grey[row - 1, column]) - float(grey[row + 1, column])
            turn = np.arctan2(dy, dx) * 4 / np.pi % 8
            u, v = (column - x) / bin_px, (row - y) / bin_px
            weight = np.hypot(dx, dy) * np.exp(-(u * u + v * v) / 8)
            for i in range(4):
                for j in range(4):
                    near = max(0, 1 - abs(v - i + 1.5)) * max(0, 1 - abs(u - j + 1.5))
                    for k in range(8):
                        apart = min((turn - k) % 8, (k - turn) % 8)
                        found[i, j, k] += weight * near * max(0, 1 - apart)
    found = found.ravel() / np.linalg.norm(found)
    found = np.minimum(found, 0.2)
    return found / np.linalg.norm(found)


@pytest.mark.parametrize("bin_px", [3, 4, 2.5])
def test_descriptors_are_those_of_the_definition(bin_px, seed):
    grey = np.random.default_rng(seed).random((21, 22)).astype(np.float32)
    found, frames = dense_sift(grey, step_px=7, bin_sizes_px=(bin_px,), smoothing_px=0)
    for row, (x, y, side) in zip(found, frames, strict=True):
        assert side == 4 * bin_px
        np.testing.assert_allclose(row, naive_descriptor(grey, x, y, bin_px), atol=2e-5)


def opencv_descriptors(grey_8, frames):
    """Return OpenCV's descriptors at the same windows; its cells are 1.5 keypoint sizes wide."""
    points = [cv2.KeyPoint(float(x), float(y), float(s / 6), 0.0) for x, y, s in frames]
    kept, rows = cv2.SIFT_create().compute(grey_8, points)
    assert len(kept) == len(points)
    return rows.astype(np.float64)


def correlations(a, b):
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return (a * b).sum(axis=1) / np.maximum(scale, 1e-12)


def compare_with_opencv(images, **options):
    """Return the correlation of each descriptor with contrast with OpenCV's."""
    parts = []
    for image in images:
        grey_8 = np.round(to_grey(image) * 255).astype(np.uint8)
        found, frames = dense_sift(grey_8 / np.float32(255), step_px=6, **options)
        is_clear = found.any(axis=1)
        parts.append(correlations(found, opencv_descriptors(grey_8, frames))[is_clear])
    return np.concatenate(parts)


@pytest.mark.parametrize("bin_px", [4, 6, 8])
def test_is_opencvs_at_the_same_blur(drawings, bin_px):
    # OpenCV takes the picture for one of blur 0.5 px and brings it to 1.6.
    same_blur = np.sqrt(1.6**2 - 0.5**2)
    found = compare_with_opencv(drawings, bin_sizes_px=(bin_px,), smoothing_px=float(same_blur))
    assert len(found) > 500
    assert found.min() > 0.99
    assert found.mean() > 0.999


def test_agrees_with_opencv_at_the_defaults(drawings):
    found = compare_with_opencv(drawings)
    assert len(found) > 2000
    assert found.mean() > 0.95
    assert np.mean(found > 0.9) > 0.9


def test_blur_is_that_of_opencv(drawings):
    grey = to_grey(drawings[0])
    for sigma in (0.7, 1.6, 2.5):
        expected = cv2.GaussianBlur(grey, (0, 0), sigma, borderType=cv2.BORDER_REFLECT_101)
        np.testing.assert_allclose(blur(grey, sigma), expected, atol=2e-3)
    np.testing.assert_array_equal(blur(grey, 0), grey)
    flat = np.full((5, 1), 0.5, np.float32)
    np.testing.assert_allclose(blur(flat, 3.0), flat, atol=1e-6)  # taps far beyond the picture


def test_kernels_agree_with_their_plain_twins(seed):
    grey = np.random.default_rng(seed).random((12, 11)).astype(np.float32)
    planes, twin = np.empty((12, 88), np.float32), np.empty((12, 88), np.float32)
    write_planes(grey, planes)
    write_planes.py_func(grey, twin)
    np.testing.assert_allclose(planes, twin, atol=1e-6)
    xs, ys, taps = np.array([1, 5, 9]), np.array([0, 6]), cell_taps(2)
    found, expected = np.empty((2, 3, 4, 4, 8), np.float32), np.empty((2, 3, 4, 4, 8), np.float32)
    pool_cells(planes, xs, ys, taps, found)
    pool_cells.py_func(planes, xs, ys, taps, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40))),
    st.integers(1, 9),
    st.sampled_from([(2,), (3, 5), (1.5, 4)]),
)
def test_rows_have_length_one_or_are_zero(pixels, step_px, bin_sizes_px):
    grey = pixels / np.float32(255)
    found, frames = dense_sift(grey, step_px=step_px, bin_sizes_px=bin_sizes_px)
    lengths = np.linalg.norm(found, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-4) | (lengths == 0))
    assert found.min() >= 0
    height, width = pixels.shape
    assert len(found) == len(frames) >= len(bin_sizes_px)
    assert (frames[:, 0] >= 0).all()
    assert (frames[:, 0] <= width - 1).all()
    assert (frames[:, 1] <= height - 1).all()
    for bin_px in bin_sizes_px:
        of_size = frames[frames[:, 2] == 4 * bin_px]
        assert len(of_size) == len(np.unique(of_size, axis=0))
        if width >= 4 * bin_px:  # then no window leaves the picture
            assert (of_size[:, 0] + 0.5 - 2 * bin_px >= -0.5).all()
            assert (of_size[:, 0] + 0.5 + 2 * bin_px <= width + 0.5).all()


def test_mirrored_picture_has_mirrored_descriptors(drawings):
    grey = to_grey(drawings[1])[:, :-1]  # an odd width has the middle pixel in the middle
    options = {"step_px": 6, "bin_sizes_px": (4,)}
    found, frames = dense_sift(grey, **options)
    other, others = dense_sift(np.ascontiguousarray(grey[:, ::-1]), **options)
    place = {(x, y): r for r, (x, y, _) in enumerate(others)}
    pairs = [
        (r, place[grey.shape[1] - 1 - x, y])
        for r, (x, y, _) in enumerate(frames)
        if (grey.shape[1] - 1 - x, y) in place
    ]
    assert len(pairs) > 50
    mirrored_turns = (4 - np.arange(8)) % 8
    for r, q in pairs:
        cells = other[q].reshape(4, 4, 8)[:, ::-1, mirrored_turns]
        np.testing.assert_allclose(found[r], cells.ravel(), atol=1e-4)


def test_contrast_and_brightness_do_not_matter_but_noise_is_no_pattern(drawings, seed):
    grey = to_grey(drawings[2])
    options = {"step_px": 8, "bin_sizes_px": (4, 8), "least_contrast": 0}
    found = dense_sift(grey, **options)[0]
    np.testing.assert_allclose(dense_sift(0.2 + 0.5 * grey, **options)[0], found, atol=2e-3)
    noise = 0.5 + np.random.default_rng(seed).normal(0, 0.001, (64, 64))
    assert not dense_sift(noise)[0].any()
    assert dense_sift(noise, least_contrast=0)[0].any()


def test_a_ramp_points_to_its_brighter_side():
    y, x = np.mgrid[:33, :33] / 40
    ramps = (x, x - y, -y, -x - y, -x, y - x, y, x + y)
    for k, ramp in enumerate(ramps):
        row = dense_sift(ramp, bin_sizes_px=(4,), step_px=40)[0][0].reshape(16, 8)
        assert row.sum(axis=0).argmax() == k, DIRECTIONS[k]
        assert row.sum(axis=0)[k] > 0.99 * row.sum()


GOLDEN = [0.052826, 0.089068, 0.157113, 0.08044, 0.058439, 0.099577]


def test_golden_values_for_every_type_of_pixel():
    image = np.random.default_rng(7).integers(0, 256, (50, 70, 3), dtype=np.uint8)
    sift = DenseSIFT(size_px=48, step_px=16)
    expected = sift.fit([image]).transform([image])[0]
    np.testing.assert_allclose(expected[::100], GOLDEN, atol=1e-5)
    for kind in (np.float32, np.float64):
        same = sift.transform([(image / 255).astype(kind)])[0]
        np.testing.assert_allclose(same, expected, atol=1e-5)


def test_grid_lies_in_the_middle():
    assert grid_centres(16, 4, 4).tolist() == [8]
    assert grid_centres(15, 4, 4).tolist() == [7]
    assert grid_centres(24, 4, 4).tolist() == [8, 12, 16]
    assert grid_centres(27, 4, 4).tolist() == [9, 13, 17]
    assert grid_centres(1, 4, 4).tolist() == [0]


def test_contract(blobs, tmp_path):
    check_image_transformer(DenseSIFT(size_px=48, step_px=12), blobs[0][:4], tmp_path)


def test_contract_of_windows_larger_than_the_picture(blobs, tmp_path):
    sift = DenseSIFT(size_px=16, step_px=8, bin_sizes_px=(2, 9))
    check_image_transformer(sift, blobs[0][:3], tmp_path)


@pytest.mark.parametrize(("what", "pixels"), odd_images())
def test_odd_pictures(what, pixels):
    row = DenseSIFT(n_jobs=1).transform([pixels])
    assert np.isfinite(row).all()
    assert row.any() == (what in ("grey", "long", "tall"))
    found, frames = DenseSIFT().descriptors(pixels)
    assert np.isfinite(found).all()
    assert len(frames) == len(found) > 0


def test_frames_are_in_pixels_of_the_picture_given():
    picture = np.zeros((200, 400, 3), np.uint8)
    picture[90:110, 290:310] = 255
    found, frames = DenseSIFT(size_px=100, step_px=2, bin_sizes_px=(4,)).descriptors(picture)
    assert frames[:, 2] == pytest.approx(64)
    strongest = frames[found.any(axis=1)]
    np.testing.assert_allclose(strongest[:, :2].mean(axis=0), [299.5, 99.5], atol=8)


def test_columns_look_where_they_say():
    sift = DenseSIFT(size_px=64, step_px=16, smoothing_px=0, least_contrast=0)
    names, windows = sift.get_feature_names_out(), sift.get_feature_windows_out()
    dark = np.zeros((64, 64, 3), np.uint8)
    for x, y in ((20, 20), (50, 12), (30, 45)):
        picture = dark.copy()
        picture[y, x] = 255
        row = sift.transform([picture])[0]
        x0, y0, x1, y1 = windows[row.argmax()] * 64
        # a cell reaches half its size beyond its box, a gradient one pixel
        assert x0 - 5 <= x <= x1 + 5
        assert y0 - 5 <= y <= y1 + 5
    assert names[0] == "brighter to the right, cell 1,1 of window 1,1 of 3×3"
    several = DenseSIFT(size_px=64, step_px=16, bin_sizes_px=(4, 8)).get_feature_names_out()
    assert several[-1] == "brighter to the lower right, cell 4,4 of window 3,3 of 3×3, 32 px"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"step_px": 0}, "step_px of DenseSIFT must be a whole number in"),
        ({"bin_sizes_px": ()}, "bin_sizes_px of DenseSIFT must be a tuple of numbers"),
        ({"bin_sizes_px": (4, 4)}, "must hold each size once"),
        ({"bin_sizes_px": (0.5,)}, r"each of bin_sizes_px of DenseSIFT must be a number in \[1"),
        ({"size_px": 2.5}, "size_px of DenseSIFT must be a whole number"),
        ({"smoothing_px": -1}, "smoothing_px of DenseSIFT must be a number in"),
        ({"least_contrast": "no"}, "least_contrast of DenseSIFT must be a number"),
    ],
)
def test_bad_arguments(arguments, sentence):
    with pytest.raises(InvalidArgument, match=sentence):
        DenseSIFT(**arguments).fit()


def test_grey_must_be_a_plane():
    with pytest.raises(InvalidArgument, match=r"shape \(height, width\).*got \(2, 2, 3\)"):
        dense_sift(np.zeros((2, 2, 3)))
    with pytest.raises(InvalidArgument, match="NaN or infinity"):
        dense_sift(np.full((20, 20), np.nan))

import numpy as np
import pytest
from hypothesis import given, settings
from PIL import Image
from scipy import ndimage
from tests.features.contract import check_image_transformer, odd_images, pictures

from fieldguide.datasets import load_specimens
from fieldguide.errors import InvalidArgument
from fieldguide.features.gist import (
    HIGHEST_FREQUENCY,
    SCALE_RATIO,
    Gist,
    even_out,
    filter_values,
    make_bank,
    mean_energies,
)

quick = settings(deadline=None, max_examples=15)


@pytest.fixture(scope="module")
def drawn():
    return list(load_specimens(n_per_kind=1, size_px=96).images[::6])


def waves(turn: float, n_per_picture: float, side: int = 96) -> np.ndarray:
    """Stripes that run in the direction ``turn``, in degrees as seen."""
    y, x = np.mgrid[:side, :side] / side
    across = x * np.sin(np.radians(turn)) + y * np.cos(np.radians(turn))
    return 0.5 + 0.2 * np.sin(2 * np.pi * n_per_picture * across)


def spatial_energies(picture: np.ndarray, scale: int, k: int, n_cells: int) -> np.ndarray:
    """One filter by direct convolution with its kernel in space, around the sides."""
    n = len(picture)
    frequencies = np.fft.fftfreq(n)
    y, x = np.mgrid[:n, :n]
    values = filter_values(n, scale, k, 8)
    rows = np.exp(2j * np.pi * np.outer(np.arange(n), frequencies))
    kernel = rows @ values @ rows.T / n**2  # the sum of its waves
    filtered = np.zeros((n, n), dtype=complex)
    for i, j in zip(y.ravel(), x.ravel(), strict=True):
        filtered += kernel[i, j] * np.roll(picture, (i, j), axis=(0, 1))
    margin = n // 10
    energy = abs(filtered)[margin:-margin, margin:-margin]
    side = len(energy) // n_cells
    return energy.reshape(n_cells, side, n_cells, side).mean(axis=(1, 3)).ravel()


@pytest.mark.parametrize(("scale", "k"), [(0, 0), (0, 3), (1, 2), (2, 5), (3, 7)])
def test_a_filter_is_a_convolution(scale, k):
    rng = np.random.default_rng(scale)
    picture = ndimage.gaussian_filter(rng.normal(size=(80, 80)), 1, mode="wrap")
    band = make_bank(80, 4, 8)[scale * 8 + k]
    found = mean_energies(np.fft.fft2(picture).ravel(), band, 4)
    expected = spatial_energies(picture, scale, k, 4)
    np.testing.assert_allclose(found, expected, rtol=0.03)  # for what is cut off its spectrum
    assert np.corrcoef(found, expected)[0, 1] > 0.995


def test_little_of_a_filter_is_cut_off():
    for band, (scale, k) in zip(make_bank(120, 4, 8), np.ndindex(4, 8), strict=True):
        whole = filter_values(120, scale, k, 8)
        assert (abs(band.values) ** 2).sum() > 0.995 * (whole**2).sum()
        assert band.values.size <= 0.6 * whole.size
        np.testing.assert_allclose(abs(band.values), whole.ravel()[band.places], rtol=1e-6)


def test_a_filter_peaks_at_its_frequency_and_direction():
    n = 160
    for scale, k in np.ndindex(4, 8):
        y, x = np.unravel_index(filter_values(n, scale, k, 8).argmax(), (n, n))
        y, x = -np.fft.fftfreq(n)[y], np.fft.fftfreq(n)[x]
        assert np.hypot(x, y) == pytest.approx(HIGHEST_FREQUENCY / SCALE_RATIO**scale, abs=1 / n)
        away = (np.degrees(np.arctan2(y, x)) - 22.5 * k + 180) % 360 - 180
        assert abs(away) < 8


@pytest.mark.parametrize("turn", [0, 22.5, 45, 67.5, 90, 112.5, 135, 157.5])
@pytest.mark.parametrize("scale", [0, 1, 2])
def test_stripes_are_found_under_their_name(turn, scale):
    n_per_picture = HIGHEST_FREQUENCY / SCALE_RATIO**scale * 96
    layout = Gist(n_cells=1)
    row = layout.transform([waves(turn, n_per_picture)])[0]
    name = layout.get_feature_names_out()[row.argmax()]
    assert name.startswith(f"stripes at {turn:g}°, {n_per_picture:.0f} per picture, ")


def test_a_quarter_turn_moves_energy_between_orientations_and_cells(drawn):
    for image in drawn:
        straight, turned = Gist().transform([image, np.rot90(image)])
        straight = straight.reshape(4, 8, 4, 4)
        expected = np.rot90(np.roll(straight, 4, axis=1), axes=(2, 3))
        found = turned.reshape(4, 8, 4, 4)
        np.testing.assert_allclose(found, expected, atol=0.03 * found.max())


def test_stripes_in_one_corner_are_found_there():
    image = np.full((96, 96), 0.5)
    image[48:, :48] = waves(90, 20)[48:, :48]
    layout = Gist(n_cells=2)
    row = layout.transform([image])[0]
    best = row.argmax()
    assert "stripes at 90°" in layout.get_feature_names_out()[best]
    assert layout.get_feature_windows_out()[best].tolist() == [0, 0.5, 0.5, 1]


def test_evening_out_is_that_of_windows_in_space():
    """A Gaussian in the spectrum is one in space: σ = n·√(2 ln 2)/(2π·4) px for half at 4."""
    rng = np.random.default_rng(0)
    grey = ndimage.gaussian_filter(rng.random((80, 80)) * 255, 2, mode="wrap")
    sigma = 80 * np.sqrt(2 * np.log(2)) / (2 * np.pi * 4)
    log = np.log(1 + grey)
    centred = log - ndimage.gaussian_filter(log, sigma, mode="wrap", truncate=8)
    deviation = np.sqrt(ndimage.gaussian_filter(centred**2, sigma, mode="wrap", truncate=8))
    np.testing.assert_allclose(even_out(grey), centred / (0.2 + deviation), atol=1e-4)


def test_contrast_hardly_matters(drawn):
    picture = np.asarray(Image.fromarray(drawn[0]).convert("L")) / 255
    strong, weak = Gist().transform([0.1 + 0.8 * picture, 0.4 + 0.3 * picture])
    assert np.corrcoef(strong, weak)[0, 1] > 0.97
    assert weak.mean() > 0.4 * strong.mean()


@quick
@given(pictures)
def test_energies_of_any_picture(image):
    row = Gist(side_px=64).transform([image])[0]
    assert row.shape == (512,)
    assert np.isfinite(row).all()
    assert (row >= 0).all()


def test_golden_values_for_every_type_of_pixel():
    image = np.random.default_rng(7).integers(0, 256, (50, 70, 3), dtype=np.uint8)
    expected = Gist().transform([image])[0]
    np.testing.assert_allclose(
        expected[::100], [0.113693, 0.087527, 0.110259, 0.065258, 0.02988, 0.019168], atol=1e-5
    )
    for kind in (np.float32, np.float64):
        same = Gist().transform([(image / 255).astype(kind)])[0]
        np.testing.assert_allclose(same, expected, atol=1e-5)


def test_contract_of_an_estimator_over_images(blobs, tmp_path):
    check_image_transformer(Gist(), blobs[0][:5], tmp_path)


@pytest.mark.parametrize(("what", "image"), odd_images(), ids=[name for name, _ in odd_images()])
def test_odd_pictures(what, image):
    row = Gist().transform([image])[0]
    assert np.isfinite(row).all()
    is_flat = what in ("constant", "black", "one pixel")
    assert (row.max() < 1e-4) == is_flat


@pytest.mark.parametrize(
    "arguments",
    [
        {"n_scales": 0},
        {"n_orientations": 2.5},
        {"n_cells": 0},
        {"side_px": 100},
        {"side_px": 32},
    ],
)
def test_refuses_arguments_that_make_no_sense(arguments):
    (name,) = arguments
    with pytest.raises(InvalidArgument, match=f"{name} of Gist must"):
        Gist(**arguments).fit()

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage.color import lab2lch, rgb2lab
from tests.features.contract import check_image_transformer, odd_images, pictures

from fieldguide.errors import InvalidArgument
from fieldguide.features.color_histogram import (
    CHROMAS,
    COLOUR_NAMES,
    EVERYDAY,
    GREYS,
    HUES,
    LIGHTNESSES,
    ColorHistogram,
    count_colours,
    share_colours,
    to_lab,
)

quick = settings(deadline=None, max_examples=25)
NAMED = {
    "black": (0, 0, 0), "dark grey": (70, 70, 70), "grey": (128, 128, 128),
    "light grey": (190, 190, 190), "white": (255, 255, 255), "vivid red": (210, 20, 30),
    "light vivid orange": (250, 140, 20), "brown": (110, 75, 50),
    "light vivid yellow": (250, 230, 40), "light vivid yellow-green": (154, 205, 50),
    "vivid green": (50, 160, 60), "light vivid turquoise": (0, 220, 210),
    "light dull sky blue": (135, 206, 235), "dark vivid blue": (0, 0, 200),
    "dark vivid purple": (120, 30, 140), "light vivid pink": (255, 120, 190),
    "beige": (230, 195, 170),
}  # fmt: skip


def tent(value: float, centres: list[float], i: int, *, around: float = 0) -> float:
    """The share of centre i by the definition, one number at a time."""
    if around:
        gaps = [(value - c + around / 2) % around - around / 2 for c in centres]
        gap = gaps[i]
        neighbour = centres[(i + (1 if gap > 0 else -1)) % len(centres)]
        width = abs((neighbour - centres[i] + around / 2) % around - around / 2)
        return max(0.0, 1 - abs(gap) / width)
    value = min(max(value, centres[0]), centres[-1])
    if value == centres[i]:
        return 1.0
    j = i + (1 if value > centres[i] else -1)
    return max(0.0, 1 - (value - centres[i]) / (centres[j] - centres[i]))


def naive_shares(rgb: np.ndarray) -> np.ndarray:
    """Shares of the named colours of one colour in [0, 1], with scikit-image's Lab."""
    light, chroma, hue = lab2lch(rgb2lab(rgb[None, None]))[0, 0]
    hue = np.degrees(hue)
    chromas = [tent(chroma, list(CHROMAS.values()), i) for i in range(3)]
    lights = [tent(light, list(LIGHTNESSES.values()), i) for i in range(3)]
    hues = [tent(hue, list(HUES.values()), i, around=360) for i in range(len(HUES))]
    shares = [chromas[0] * tent(light, list(GREYS.values()), i) for i in range(len(GREYS))]
    shares += [c * v * h for c in chromas[1:] for v in lights for h in hues]
    return np.array(shares)


def test_lab_is_that_of_scikit_image():
    rgb = np.random.default_rng(0).random((500, 3))
    np.testing.assert_allclose(to_lab(rgb), rgb2lab(rgb), atol=0.01)  # their white is rounded


def test_shares_are_those_of_the_definition():
    rgb = np.random.default_rng(1).random((300, 3))
    found = share_colours(to_lab(rgb))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found, [naive_shares(colour) for colour in rgb], atol=1e-3)


def test_a_row_is_the_sum_over_its_pixels():
    image = np.random.default_rng(2).integers(0, 256, (10, 13, 3), dtype=np.uint8)
    row = ColorHistogram(levels=(1, 3)).transform([image])[0]
    expected = np.zeros((10, len(COLOUR_NAMES)))
    for y in range(10):
        for x in range(13):
            colour = (image[y, x] // 8 * 8 + 3.5) / 255
            shares = naive_shares(colour)
            expected[0] += shares
            expected[1 + y * 3 // 10 * 3 + x * 3 // 13] += shares
    np.testing.assert_allclose(row, (expected / (2 * 130)).ravel(), atol=1e-5)


@pytest.mark.parametrize(("name", "colour"), NAMED.items())
def test_colours_have_their_names(name, colour):
    colours = ColorHistogram(levels=(1,))
    row = colours.transform([np.full((8, 8, 3), colour, np.uint8)])[0]
    assert colours.get_feature_names_out()[row.argmax()] == name


def test_names_tell_the_place():
    image = np.full((60, 90, 3), 255, np.uint8)
    image[:30, :45] = NAMED["vivid red"]
    colours = ColorHistogram(levels=(1, 2, 3))
    row = dict(zip(colours.get_feature_names_out(), colours.transform([image])[0], strict=True))
    assert row["white in the bottom left"] == pytest.approx(1 / 12, rel=1e-5)
    assert row["white in the top left"] == 0
    red = {name: share for name, share in row.items() if name.startswith("vivid red in")}
    assert max(red, key=red.get) == "vivid red in the top left"
    assert red["vivid red in the bottom right"] == 0
    assert red["vivid red in row 1, column 2 of 3×3"] > 0
    windows = dict(
        zip(colours.get_feature_names_out(), colours.get_feature_windows_out(), strict=True)
    )
    assert windows["vivid red in the bottom left"].tolist() == [0, 0.5, 0.5, 1]
    assert windows["vivid red in row 3, column 1 of 3×3"].tolist() == [0, 2 / 3, 1 / 3, 1]


def test_every_everyday_name_is_in_use():
    assert set(EVERYDAY.values()) <= set(COLOUR_NAMES)
    assert not set(EVERYDAY) & set(COLOUR_NAMES)
    assert len(set(COLOUR_NAMES)) == len(COLOUR_NAMES) == 65


@quick
@given(pictures)
def test_rows_are_histograms_whose_levels_agree(image):
    row = ColorHistogram().transform([image])[0]
    assert (row >= 0).all()
    assert row.sum() == pytest.approx(1, abs=1e-5)
    whole, quarters, sixteenths = np.split(row, [65, 65 * 5])
    np.testing.assert_allclose(quarters.reshape(4, 65).sum(axis=0), whole, atol=1e-6)
    np.testing.assert_allclose(sixteenths.reshape(16, 65).sum(axis=0), whole, atol=1e-6)


@quick
@given(pictures, st.integers(1, 3))
def test_large_pixels_change_nothing(image, times):
    larger = image.repeat(times, axis=0).repeat(times, axis=1)
    colours = ColorHistogram(levels=(1,))
    np.testing.assert_allclose(colours.transform([larger]), colours.transform([image]), atol=1e-6)


@given(st.tuples(*[st.integers(0, 255)] * 3), st.sampled_from([0, 1, 2]))
def test_a_small_change_of_colour_is_a_small_change_of_shares(colour, channel):
    other = np.array(colour)
    other[channel] = min(255, other[channel] + 1)
    shares = share_colours(to_lab(np.array([colour, other]) / 255))
    # hue turns fast near grey, where its bins have no share
    assert abs(shares[0] - shares[1]).sum() < 0.25


def test_golden_values_for_every_type_of_pixel():
    image = np.random.default_rng(7).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    expected = ColorHistogram(levels=(1,)).transform([image])[0]
    np.testing.assert_allclose(
        expected[[0, 4, 10, 30, 50]], [0.0025, 0.005665, 0.007468, 0.022163, 0.007817], atol=1e-5
    )
    for kind in (np.float32, np.float64):
        same = ColorHistogram(levels=(1,)).transform([(image / 255).astype(kind)])[0]
        np.testing.assert_allclose(same, expected, atol=1e-5)


def test_compiled_loop_equals_its_python():
    rng = np.random.default_rng(3)
    rgb = rng.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    bins = rng.integers(0, 4, (32768, 2)).astype(np.int32)
    shares = rng.random((32768, 2))
    results = []
    for count in (count_colours, count_colours.py_func):
        counts = np.zeros((2, 3, 4))
        count(rgb, bins, shares, counts)
        results.append(counts)
    np.testing.assert_allclose(*results)


def test_contract_of_an_estimator_over_images(blobs, tmp_path):
    check_image_transformer(ColorHistogram(), blobs[0][:5], tmp_path)


@pytest.mark.parametrize(("what", "image"), odd_images(), ids=[name for name, _ in odd_images()])
def test_odd_pictures(what, image):
    row = ColorHistogram().transform([image])[0]
    assert row.sum() == pytest.approx(1, abs=1e-5)
    if what in ("constant", "black", "one pixel", "grey"):
        greys = row[: len(GREYS)].sum()
        assert greys == pytest.approx(1 / 3, abs=1e-3)


@pytest.mark.parametrize(
    "arguments",
    [{"levels": ()}, {"levels": 2}, {"levels": (1, 1)}, {"levels": (0,)}, {"max_side_px": 2}],
)
def test_refuses_arguments_that_make_no_sense(arguments):
    (name,) = arguments
    with pytest.raises(InvalidArgument, match=f"{name} of ColorHistogram must"):
        ColorHistogram(**arguments).fit()

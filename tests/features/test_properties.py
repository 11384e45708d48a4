import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fieldguide.errors import InvalidArgument
from fieldguide.features.properties import (
    COLOURS,
    LONGEST_SIDE_PX,
    PROPERTIES,
    PROPERTY_NAMES,
    measure_properties,
)

quick = settings(deadline=None, max_examples=30)
WHITE, BLACK, GREY = (255, 255, 255), (0, 0, 0), (128, 128, 128)
SOLID = {
    "black": BLACK, "grey": GREY, "white": WHITE, "red": (210, 20, 30), "orange": (250, 140, 20),
    "brown": (120, 75, 35), "yellow": (250, 230, 40), "green": (50, 160, 60),
    "blue": (40, 80, 200), "purple": (130, 50, 180), "pink": (255, 150, 180),
}  # fmt: skip
images = arrays(
    np.uint8,
    st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3)),
    elements=st.integers(0, 255),
)


def said(image: np.ndarray, size: tuple[int, int] | None = None) -> set[str]:
    scores = measure_properties(image, size)
    return {name for name, score in zip(PROPERTY_NAMES, scores, strict=True) if score >= 0.5}


def paint(colour: tuple[int, int, int], height: int = 90, width: int = 90) -> np.ndarray:
    return np.full((height, width, 3), colour, np.uint8)


def put_disc(image: np.ndarray, radius: int, colour: tuple[int, int, int]) -> np.ndarray:
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    inside = (y - image.shape[0] / 2) ** 2 + (x - image.shape[1] / 2) ** 2 < radius**2
    image[inside] = colour
    return image


@quick
@given(images)
def test_scores_are_probabilities_for_any_picture(image):
    scores = measure_properties(image)
    assert scores.shape == (len(PROPERTY_NAMES),)
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()


@quick
@given(images)
def test_a_mirror_image_has_the_same_properties(image):
    mirrored = np.ascontiguousarray(image[:, ::-1])
    np.testing.assert_allclose(measure_properties(mirrored), measure_properties(image), atol=1e-3)


@pytest.mark.parametrize("colour", COLOURS)
def test_a_solid_colour_is_named(colour):
    words = said(paint(SOLID[colour]))
    assert [w for w in words if w.startswith("mostly")] == [f"mostly {colour}"]
    assert {"plain background", "smooth", "square picture"} <= words
    assert ("black and white" in words) == (colour in ("black", "grey", "white"))


def test_names_and_thresholds():
    assert len(set(PROPERTY_NAMES)) == len(PROPERTY_NAMES)
    assert all(p.width != 0 and p.measure for p in PROPERTIES)


def test_small_dark_disc_on_white():
    words = said(put_disc(paint(WHITE), 14, BLACK))
    assert {"white background", "mostly white", "small subject", "symmetric", "bright"} <= words
    assert not {"dark", "busy", "colourful", "light on dark"} & words


def test_large_discs_against_the_ground():
    assert "dark on light" in said(put_disc(paint(WHITE), 36, BLACK))
    assert {"light on dark", "black background"} <= said(put_disc(paint(BLACK), 36, WHITE))


def test_lines_and_detail():
    stripes = np.repeat(np.arange(90) // 3 % 2 * 255, 3).reshape(90, 3).astype(np.uint8)
    level = np.repeat(stripes[:, None], 90, axis=1)
    assert {"level lines", "busy", "strong contrast"} <= said(level)
    assert "upright lines" in said(np.ascontiguousarray(level.swapaxes(0, 1)))


def test_sky_over_sand():
    scene = paint((220, 190, 130))
    scene[:45] = (110, 160, 230)
    words = said(scene)
    assert "sky above" in words
    assert "sky above" not in said(np.ascontiguousarray(scene[::-1]))


def test_only_the_bottom_is_not_symmetric_by_itself():
    scene = paint((220, 220, 220))
    scene[45:] = 40
    assert "symmetric" not in said(scene)


@pytest.mark.parametrize(
    ("size", "word"),
    [((60, 90), "tall picture"), ((90, 60), "wide picture"), ((90, 92), "square picture")],
)
def test_format_comes_from_the_original_size(size, word):
    formats = {"tall picture", "wide picture", "square picture"}
    assert said(paint(GREY, 64, 64), size) & formats == {word}
    assert said(paint(GREY, size[1], size[0])) & formats == {word}


def test_the_words_do_not_depend_on_the_size_of_the_file():
    small = put_disc(paint(WHITE, LONGEST_SIDE_PX, LONGEST_SIDE_PX), 30, (200, 30, 30))
    large = small.repeat(5, axis=0).repeat(5, axis=1)
    np.testing.assert_allclose(measure_properties(large), measure_properties(small), atol=1e-4)


@pytest.mark.parametrize(
    "bad",
    [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)],
    ids=["grey", "float", "empty"],
)
def test_refuses_what_is_no_picture(bad):
    with pytest.raises(InvalidArgument, match="image must be a uint8 array"):
        measure_properties(bad)

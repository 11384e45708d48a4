"""Colours have the names that people give them."""

import numpy as np
import pytest

from fieldguide.features.colour_names import (
    COLOURS,
    NO_NAME,
    name_colours,
    name_grounds,
)

SEEN = {
    "black": [(0, 0, 0), (35, 32, 30), (20, 25, 35), (38, 42, 70)],
    "grey": [(128, 128, 128), (90, 92, 95), (150, 148, 142)],
    "white": [(255, 255, 255), (225, 225, 228), (240, 235, 215)],
    "red": [(200, 20, 30), (150, 25, 25), (230, 50, 40)],
    "orange": [(240, 130, 20), (230, 110, 40), (250, 160, 60)],
    "brown": [(110, 70, 40), (80, 55, 40), (150, 110, 75), (160, 100, 50)],
    "yellow": [(240, 215, 40), (255, 255, 0), (220, 190, 60), (200, 205, 40), (255, 255, 190)],
    "green": [(60, 150, 60), (30, 80, 40), (120, 180, 60), (100, 160, 130)],
    "blue": [
        (40, 80, 190),
        (90, 150, 210),
        (20, 30, 90),
        (110, 140, 180),
        (0, 0, 255),
        (40, 40, 200),
    ],
    "purple": [(120, 50, 160), (90, 40, 110), (150, 110, 190)],
    "pink": [(245, 150, 180), (255, 190, 205), (240, 120, 160), (235, 50, 120)],
}


@pytest.mark.parametrize("name", COLOURS)
def test_well_known_colours_have_their_names(name):
    pixels = np.array([SEEN[name]], np.uint8)
    assert [COLOURS[k] for k in name_colours(pixels)[0]] == [name] * len(SEEN[name])


def test_olive_has_no_basic_name():
    assert name_colours(np.array([[(100, 98, 65)]], np.uint8))[0, 0] == NO_NAME


def test_a_pale_sky_is_blue_and_shaded_paper_is_not_white():
    sky, shade, sand = (190, 205, 220), (185, 185, 185), (214, 190, 150)
    pixels = np.array([[sky, shade, sand]], np.uint8)
    assert name_grounds(pixels)[0].tolist() == [
        COLOURS.index("blue"),
        COLOURS.index("grey"),
        NO_NAME,
    ]
    named = [COLOURS[k] for k in name_colours(pixels)[0]]
    assert named == ["white", "white", "brown"]

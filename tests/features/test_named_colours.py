"""The colours that names speak of, and how much of subjects has them."""

import numpy as np
import pytest

from fieldguide.features import COLOURS, map_subject, measure_named
from fieldguide.features.colour_names import name_colours
from fieldguide.features.named_colours import read_colours
from fieldguide.features.subject_words import SeenSubject

RED, WHITE, BLUE = (200, 20, 30), (250, 250, 250), (30, 60, 200)


@pytest.mark.parametrize(
    ("name", "colours", "part"),
    [
        ("mostly red", ("red",), ""),
        ("Red crown", ("red",), "above"),
        ("has_belly_color::buff", ("orange", "brown", "yellow"), "below"),
        ("white upper and under parts", ("white",), ""),  # two parts: the whole
        ("dark mask", ("black",), ""),
        ("dark red", ("red",), ""),
        ("gray-headed", ("grey",), ""),
        ("redstart", (), ""),
        ("back pattern: solid", (), ""),
        ("", (), ""),
    ],
)
def test_names_are_read(name, colours, part):
    assert read_colours(name) == (colours, part)


def test_shares_are_measured_where_the_name_says():
    """A subject that is red above and white below, on blue."""
    image, is_subject = np.full((60, 60, 3), BLUE, dtype=np.uint8), np.zeros((60, 60), dtype=bool)
    image[10:30, 10:50], image[30:50, 10:50] = RED, WHITE
    is_subject[10:50, 10:50] = True
    seen = map_subject(SeenSubject(image, name_colours(image), is_subject))
    maps = np.stack([seen, np.full_like(seen, np.nan)])
    names = ["red", "red crown", "red belly", "white or red", "blue", "striped"]
    measured = measure_named(maps, names)
    np.testing.assert_allclose(measured[0, :4], [0.5, 1, 0, 1], atol=0.03)
    assert measured[0, 4] < 0  # all of it is around the subject
    assert np.isnan(measured[0, 5])
    assert np.isnan(measured[1]).all()
    assert set(COLOURS) >= {c for name in names for c in read_colours(name)[0]}

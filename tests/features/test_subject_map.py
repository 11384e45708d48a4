"""The map of a subject, and the words and measures that are read from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.features import (
    COLOURS,
    MAP_SIZE,
    MAP_WORDS,
    MEASURES,
    SubjectMap,
    around_maps,
    map_subject,
    measure_maps,
    score_maps,
)
from fieldguide.features.colour_names import NO_NAME, name_colours
from fieldguide.features.subject_map import N_CELLS, OUTSIDE
from fieldguide.features.subject_words import SeenSubject

RED, BLACK, YELLOW, GREEN = (200, 20, 30), (10, 10, 10), (240, 215, 40), (60, 150, 60)
NAMES = [word.name for word in MAP_WORDS]
MORE = [measure.more for measure in MEASURES]


def see(image, mask):
    return SeenSubject(image, name_colours(image), mask)


def paint(height=60, width=60, ground=GREEN):
    return np.full((height, width, 3), ground, np.uint8), np.zeros((height, width), bool)


def draw_bird():
    """Return a subject, black above and yellow below, on green."""
    image, mask = paint()
    mask[20:40, 10:50] = True
    image[20:30, 10:50], image[30:40, 10:50] = BLACK, YELLOW
    return see(image, mask)


def list_words(row):
    return {
        name for name, score in zip(NAMES, score_maps(row[None])[0], strict=True) if score >= 0.5
    }


def test_the_words_are_those_of_the_drawing():
    words = list_words(map_subject(draw_bird()))
    assert {"mostly black", "mostly yellow", "black above", "yellow below"} <= words
    assert "black and yellow" in words
    assert "much wider than tall" in words
    said = {"green", "red", "blue"}
    assert not any(said & set(word.split()) for word in words)


def test_a_rim_is_at_the_edge_and_a_core_in_the_middle():
    image, mask = paint()
    mask[10:50, 10:50] = True
    image[10:50, 10:50] = BLACK
    image[20:40, 20:40] = RED
    words = list_words(map_subject(see(image, mask)))
    assert {"red in the middle", "black at the edge"} <= words
    assert not {"red at the edge", "black in the middle", "red above"} & words


def test_the_map_is_that_of_the_subject_wherever_it_is():
    one = draw_bird()
    image, mask = paint(90, 120)
    mask[55:75, 70:110] = True
    image[55:75, 70:110] = one.image[20:40, 10:50]
    first, second = (SubjectMap.from_row(map_subject(s)) for s in (one, see(image, mask)))
    np.testing.assert_array_equal(first.cells, second.cells)
    assert first.aspect == second.aspect == 2
    assert second.box == pytest.approx((70 / 120, 55 / 90, 110 / 120, 75 / 90))
    assert list_words(first.to_row()) == list_words(second.to_row())


@given(st.integers(0, 2**32 - 1))
def test_a_row_is_the_map(seed):
    rng = np.random.default_rng(seed)
    image = rng.integers(0, 256, (24, 31, 3), dtype=np.uint8)
    mask = rng.random((24, 31)) < rng.uniform(0.02, 1)
    if not mask.any():
        mask[0, 0] = True
    row = map_subject(see(image, mask))
    assert row.shape == (MAP_SIZE,)
    found = SubjectMap.from_row(row)
    np.testing.assert_array_equal(found.to_row(), row)
    assert set(np.unique(found.cells)) <= {*range(NO_NAME + 1), OUTSIDE}
    x0, y0, x1, y1 = found.box
    rows, columns = np.nonzero(mask)
    assert (round(31 * x0), round(24 * y0)) == (columns.min(), rows.min())
    assert (round(31 * x1), round(24 * y1)) == (columns.max() + 1, rows.max() + 1)
    scores = score_maps(row[None])
    assert ((scores >= 0) & (scores <= 1)).all()
    for word in MAP_WORDS:
        a, b, c, d = found.find_box(word.colours, word.part)
        assert x0 - 1e-6 <= a < c <= x1 + 1e-6
        assert y0 - 1e-6 <= b < d <= y1 + 1e-6


def test_cells_are_a_naive_majority():
    rng = np.random.default_rng(4)
    image = rng.integers(0, 256, (2 * N_CELLS, 3 * N_CELLS, 3), dtype=np.uint8)
    mask = rng.random(image.shape[:2]) < 0.7
    mask[[0, -1], :] = mask[:, [0, -1]] = True
    seen = see(image, mask)
    cells = SubjectMap.from_row(map_subject(seen)).cells
    for r in range(N_CELLS):
        for c in range(N_CELLS):
            where = np.s_[2 * r : 2 * r + 2, 3 * c : 3 * c + 3]
            names = seen.names[where][mask[where]]
            if len(names) < 3:
                assert cells[r, c] == OUTSIDE
            else:
                assert cells[r, c] == np.bincount(names).argmax()


def test_measures_are_of_the_pixels():
    seen = draw_bird()
    row = measure_maps(map_subject(seen)[None])[0]
    value = dict(zip(MORE, row.tolist(), strict=True))
    assert value["more black"] == pytest.approx(0.5)
    assert value["more black above"] == pytest.approx(1)
    assert value["more yellow below"] == pytest.approx(1)
    assert value["more green"] == pytest.approx(-1)  # all surroundings are green
    assert value["paler below"] > value["paler"] > value["paler above"]
    assert value["more vivid below"] > value["more vivid above"]
    assert value["wider for its height"] == pytest.approx(1)
    assert value["fuller in outline"] == pytest.approx(1)
    around = around_maps(map_subject(seen)[None])[0]
    assert around[COLOURS.index("green")] == 1


def test_stripes_are_more_patterned_than_one_colour():
    image, mask = paint()
    mask[10:50, 10:50] = True
    image[10:50, 10:50] = BLACK
    plain = map_subject(see(image.copy(), mask))
    image[10:50:4, 10:50] = (250, 250, 250)
    striped = map_subject(see(image, mask))
    column = MORE.index("more patterned")
    one, other = measure_maps(np.stack([plain, striped]))[:, column]
    assert one == 0
    assert other > 10


def test_without_a_subject_nothing_is_known():
    row = map_subject(None)
    assert np.isnan(row).all()
    assert SubjectMap.from_row(row) is None
    both = np.stack([row, map_subject(draw_bird())])
    assert np.isnan(score_maps(both)).all(axis=1).tolist() == [True, False]
    assert np.isnan(measure_maps(both)).all(axis=1).tolist() == [True, False]


def test_the_box_of_a_word_is_where_it_is():
    found = SubjectMap.from_row(map_subject(draw_bird()))
    x0, y0, x1, y1 = found.box
    assert found.find_box(("black",), "") == pytest.approx((x0, y0, x1, (y0 + y1) / 2))
    assert found.find_box(("yellow",), "below")[1] >= (y0 + y1) / 2 - 1e-9
    assert found.find_box((), "") == pytest.approx(found.box)
    assert found.find_box(("pink",), "") == pytest.approx(found.box)

"""The pen and its outlines: curves through their points, truth that follows what is seen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fieldguide.datasets.specimens.canvas import BODY, TRUTH_PX, Pen
from fieldguide.datasets.specimens.outlines import closed, curve, ellipse, mix, moved, path, taper
from fieldguide.datasets.specimens.plate import read_truth

SQUARE = np.array([(0.25, 0.25), (0.75, 0.25), (0.75, 0.75), (0.25, 0.75)])
points = st.integers(3, 9).flatmap(
    lambda n: arrays(float, (n, 2), elements=st.floats(-2, 2, width=32))
)


@pytest.fixture
def pen():
    return Pen(64, np.random.default_rng(0))


@given(points)
def test_a_spline_goes_through_its_control_points(control):
    np.testing.assert_allclose(closed(control, 5)[::5], control, atol=1e-12)
    np.testing.assert_allclose(curve(control, 5)[::5], control, atol=1e-12)


@given(points, st.floats(-1, 1), st.floats(-1, 1))
def test_moving_the_points_moves_the_outline(control, dx, dy):
    np.testing.assert_allclose(
        closed(moved(control, dx, dy)), moved(closed(control), dx, dy), atol=1e-9
    )


def test_a_stroke_has_the_width_asked_for():
    outline = taper(np.array([(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)]), 0.2, 0.4)
    np.testing.assert_allclose(np.abs(outline[:, 1]), [0.1, 0.15, 0.2, 0.2, 0.15, 0.1])


def test_path_reads_thousandths_and_cannot_be_changed():
    assert path("100,-250 80,0").tolist() == [[0.1, -0.25], [0.08, 0.0]]
    points = path("100,-250 80,0")
    with pytest.raises(ValueError, match="read-only"):
        points[0, 0] = 1


def test_mix_stays_between_its_colours():
    assert mix((0, 0, 0), (100, 200, 50), 0.5) == (50, 100, 25)


def test_truth_is_of_what_can_be_seen(pen):
    pen.fill(SQUARE, (200, 0, 0))
    pen.fill(ellipse(0.5, 0.5, 0.1), (0, 0, 200), mark="spot")
    box, marks, hidden = read_truth(pen, None)
    np.testing.assert_allclose(box, [0.25, 0.25, 0.75, 0.75], atol=2 / TRUTH_PX)
    (name, *edges), *rest = marks
    assert (name, rest, hidden) == ("spot", [], 0.0)
    np.testing.assert_allclose(edges, [0.4, 0.4, 0.6, 0.6], atol=2 / TRUTH_PX)
    pen.fill(SQUARE, (0, 200, 0))
    assert read_truth(pen, None)[1] == []


def test_clutter_hides_marks_and_shrinks_the_box(pen):
    pen.fill(SQUARE, (200, 0, 0))
    pen.fill(ellipse(0.35, 0.5, 0.08), (0, 0, 200), mark="spot")
    front = Pen(64, np.random.default_rng(0))
    front.fill([(0, 0), (0.5, 0), (0.5, 1), (0, 1)], (0, 90, 0))
    box, marks, hidden = read_truth(front=front, pen=pen)
    assert marks == []
    assert box[0] == pytest.approx(0.5, abs=2 / TRUTH_PX)
    assert hidden == pytest.approx(0.5, abs=0.03)


def test_a_clipped_mark_stays_inside(pen):
    pen.fill(SQUARE, (200, 0, 0))
    pen.fill([(0, 0.4), (1, 0.4), (1, 0.6), (0, 0.6)], (0, 0, 0), clip=SQUARE, mark="bar")
    (_, x0, _, x1, _) = read_truth(pen, None)[1][0]
    assert x0 >= 0.24
    assert x1 <= 0.77


def test_a_new_mark_of_the_same_name_is_another_mark(pen):
    assert pen.new_mark("eye spot") != pen.new_mark("eye spot")
    assert pen.mark("cap") == pen.mark("cap")


def test_placing_is_undone_afterwards(pen):
    with pen.placed(0.5, 0.5, 1.0, 0.3, 0.2), pen.placed(0.1, 0.1):
        pass
    assert pen.scale == 1.0
    np.testing.assert_array_equal(pen.to_picture(SQUARE), SQUARE)


def test_erasing_takes_away_colour_and_truth(pen):
    pen.fill(SQUARE, (200, 0, 0))
    pen.erase([(0, 0.5), (1, 0.5), (1, 1), (0, 1)])
    assert read_truth(pen, None)[0][3] == pytest.approx(0.5, abs=2 / TRUTH_PX)
    assert np.asarray(pen.cover)[150, 96] == 0
    assert np.asarray(pen.truth).max() == BODY


@pytest.mark.parametrize("shape", [SQUARE + 5, SQUARE - 5])
def test_shapes_outside_the_picture_are_harmless(pen, shape):
    pen.fill(shape, [(1, 2, 3), (4, 5, 6)], soft=0.02, mark="far")
    pen.fill(shape, (1, 2, 3), clip=SQUARE, mark="away")
    assert read_truth(pen, None)[1] == []

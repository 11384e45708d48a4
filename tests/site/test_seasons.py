"""When and where, drawn: every bar and dot in its place, on any part of the globe."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.guide.views import Specimen
from fieldguide.site.seasons import draw_months, draw_places
from fieldguide.site.times import word_date, word_place

_ONE = Specimen(0, "a.jpg", "disc", 9, 9, "a.s.jpg", "a.l.jpg", 0, None, None)


def _at(*places):
    return [replace(_ONE, id=i, latitude=y, longitude=x) for i, (y, x) in enumerate(places)]


def _dots(chart):
    svg = ElementTree.fromstring(f"<svg>{chart.markup}</svg>")
    return [(float(dot.get("cx")), float(dot.get("cy"))) for dot in svg.iter("circle")]


def test_nothing_is_drawn_of_what_is_not_known():
    assert draw_months([_ONE]) is None
    assert draw_places([_ONE]) is None


def test_months_are_counted_over_the_years():
    dates = ("2019-05-01", "2021-05-30T10:00:00", "2020-12-24T18:00:00+01:00", None)
    chart = draw_months([replace(_ONE, date=date) for date in dates])
    assert re.findall("<title>(.*?)</title>", chart.markup) == [
        "May: 2 specimens",
        "December: 1 specimen",
    ]
    assert chart.sentence == (
        "Of 4 specimens, 3 have a date, from May 2019 to May 2021; most were taken in May (2)."
    )


def test_north_is_up_and_the_date_line_no_border():
    (x0, y0), (x1, y1) = _dots(draw_places(_at((10.0, 179.9), (12.0, -179.9))))
    assert x0 < x1
    assert y0 > y1
    assert x1 - x0 < 100  # side by side, not at both ends


@given(
    st.lists(
        st.tuples(st.floats(-90, 90, width=32), st.floats(-180, 180, width=32)),
        min_size=1,
        max_size=20,
    )
)
def test_every_dot_lies_within_the_drawing(places):
    chart = draw_places(_at(*places))
    dots = _dots(chart)
    assert len(dots) == len(places)
    assert 100 <= chart.height <= 440
    for x, y in dots:
        assert 0 <= x <= chart.width
        assert 0 <= y <= chart.height


def test_names_of_files_are_text():
    (hostile,) = _at((1.0, 2.0))
    chart = draw_places([replace(hostile, path="<script>&.jpg")])
    assert "<script>" not in chart.markup


@pytest.mark.parametrize(
    ("iso", "text"),
    [
        ("2021-05-03T14:07:09+02:00", "3 May 2021, 14:07 (UTC+02:00)"),
        ("2021-05-03T14:07:09", "3 May 2021, 14:07"),
        ("2021-05-03", "3 May 2021"),
        ("soon", "soon"),
    ],
)
def test_dates_are_written_as_people_write_them(iso, text):
    assert word_date(iso) == text


def test_places_are_written_with_their_sides():
    assert word_place(-33.5, -70.25) == "33.5000° S, 70.2500° W"

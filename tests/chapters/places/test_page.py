"""Outlines of marks on plates, in answers, and in words."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.chapters.places.corners import locate_corner

from fieldguide.chapters.places.page import (
    draw_outline,
    draw_outlines,
    draw_path,
    word_located,
    word_subject,
)
from fieldguide.chapters.places.records import Located, Place
from fieldguide.guide.views import FoundSubject
from fieldguide.site.pairs import show_pair
from fieldguide.site.pictures import PictureBook
from fieldguide.site.render import Renderer


def at(*boxes, share=0.23):
    return Located(
        "k", "j", 1.0, share, tuple(Place(box, (((0, 0), (1, 0), (1, 1)),), 1.0) for box in boxes)
    )


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ((0, 0, 0.2, 0.2), "at the upper left"),
        ((0.4, 0, 0.6, 0.2), "at the top"),
        ((0.4, 0.4, 0.6, 0.6), "in the middle"),
        ((0.8, 0.4, 1, 0.6), "on the right"),
        ((0.7, 0.8, 0.9, 1), "at the lower right"),
        ((0.3, 0.8, 0.7, 1), "at the bottom"),
    ],
)
def test_a_place_in_words(box, words):
    assert word_located(at(box)) == f"what tells it from j, {words}"


def test_several_places_and_the_whole_picture_in_words():
    two = at((0, 0, 0.2, 0.2), (0.8, 0.4, 1, 0.6), (0, 0, 0.1, 0.1))
    assert word_located(two) == ("what tells it from j, at the upper left and on the right")
    assert word_located(at((0, 0, 1, 1), share=0.9)) == ("what tells it from j, all over")
    assert word_located(at()) == "what tells it from j, in no one place"
    of_plate = replace(at((0, 0, 0.2, 0.2)), against=None)
    assert word_located(of_plate) == "what tells it from all others, at the upper left"


@pytest.mark.parametrize(
    ("box", "confidence", "n_pieces", "words"),
    [
        ((0.1, 0.2, 0.4, 0.7), 0.5, 1, "subject on the left, 15% of the picture"),
        (
            (0.4, 0.4, 0.6, 0.6),
            0.5,
            2,
            "subject in the middle, 4% of the picture (2 may be subjects)",
        ),
        ((0, 0, 1, 1), 0.0, 0, "no clear subject"),
    ],
)
def test_a_subject_in_words(box, confidence, n_pieces, words):
    assert word_subject(FoundSubject(box, confidence, n_pieces)) == words


def test_a_path_closes_every_ring():
    assert draw_path(at((0, 0, 1, 1)), 200, 100) == "M0,0 200,0 200,100Z"
    drawn = draw_outline(locate_corner("crocodile_head"), (20, 10))
    assert (drawn.width, drawn.height) == (1000, 500)
    assert drawn.path == "M0,0 250,0 250,150 0,150Z"
    assert drawn.words == "what tells it from teal, at the upper left"


def test_a_plate_outlines_what_was_located(located_guide):
    kind = located_guide.kind("robin")
    shown = [i for i in kind.exemplars[:7] if located_guide.located(i)]
    assert 0 < len(shown) < 7
    renderer = Renderer(located_guide, live=False)
    page = renderer.page(renderer.book.kind("robin"))
    assert page.count('<svg class="outline"') == len(shown)
    assert page.count("what tells it from teal, at the upper left</span>") == len(shown)
    assert page.count('aria-label="Outlined: what tells it from teal, at the upper left') == len(
        shown
    )
    assert '<label for="outlines">' in page
    HTMLParser().feed(page)


def test_beside_another_kind_only_what_tells_them_apart_is_outlined(located_guide):
    ids = list(located_guide.kind("robin").exemplars)
    assert draw_outlines(located_guide, ids, "teal") == draw_outlines(located_guide, ids)
    assert draw_outlines(located_guide, ids, "robin") == {}
    for other in located_guide.kinds:
        if other.name == "robin":
            continue
        pair = located_guide.compare("robin", other.name)
        pictures = PictureBook(located_guide, Renderer(located_guide, live=False).book)
        shown = show_pair(located_guide, pair, pictures, address=str)
        assert bool(shown.outlines) == (other.name == "teal")


def test_drawings_have_the_proportions_of_their_pictures(located_guide):
    ids = list(located_guide.kind("robin").exemplars)
    assert draw_outlines(located_guide, ids)
    for i, outline in draw_outlines(located_guide, ids).items():
        specimen = located_guide.specimen(i)
        assert outline.width / outline.height == pytest.approx(
            specimen.width / specimen.height, rel=0.01
        )


def test_plates_without_places_have_no_switch(plain_guide, make_stand_in):
    guide = make_stand_in([("only", (), (160, 160), f"{i}.jpg") for i in range(3)])
    guide.located = lambda i, against=None: None
    page = Renderer(guide, live=False).page("kind/only.html")
    assert "outline" not in re.sub(r"<head>.*</head>", "", page, flags=re.DOTALL)

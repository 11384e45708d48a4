"""Two kinds side by side: what is counted, and which specimens are on the border."""

from dataclasses import replace

import pytest

from fieldguide.errors import GuideError
from fieldguide.guide.pairs import N_BORDER, find_border
from fieldguide.guide.views import Specimen


def make_specimens(kind, answers, first=0):
    return [
        Specimen(first + i, f"{kind}/{i}.jpg", kind, 9, 9, "", "", 0, answer, sure)
        for i, (answer, sure) in enumerate(answers)
    ]


def test_the_border_is_what_is_taken_for_the_other_then_what_is_in_doubt():
    wrens = make_specimens(
        "wren", [("wren", 0.99), ("robin", 0.6), ("wren", 0.5), ("jay", 0.4), (None, None)]
    )
    robins = make_specimens("robin", [("wren", 0.9), ("robin", 0.45), ("jay", 0.97)], first=5)
    sides = [(wrens, "robin"), (robins, "wren")]
    assert find_border(sides) == (5, 1, 6, 2)  # what is taken for a jay is elsewhere
    assert set(find_border(sides[::-1])) == set(find_border(sides))


def test_a_key_that_is_certain_leaves_no_border():
    wrens = make_specimens("wren", [("wren", 0.95), ("wren", 1.0), (None, None)])
    assert find_border([(wrens, "robin"), ([], "wren")]) == ()


def test_a_long_border_is_cut():
    wrens = make_specimens("wren", [("robin", 0.5 + i / 100) for i in range(20)])
    assert find_border([(wrens, "robin")]) == tuple(range(19, 19 - N_BORDER, -1))


def test_confusions_are_counted_both_ways(make_stand_in):
    places = [("ab"[i % 2], ("bird",), (30, 20), f"{i}.jpg") for i in range(40)]
    guide = make_stand_in(places)
    pair = guide.compare("a", "b")
    shown = guide.specimens(range(40))
    assert pair.n_taken == sum(s.kind == "a" and s.answer == "b" for s in shown) > 0
    assert pair.n_other_taken == sum(s.kind == "b" and s.answer == "a" for s in shown) > 0
    assert (pair.of_kind, pair.of_other) == (20, 20)
    taken = [i for i in pair.border if shown[i].answer != shown[i].kind]
    assert len(taken) == pair.n_taken + pair.n_other_taken
    turned = guide.compare("b", "a")
    assert (turned.kind, turned.n_taken, turned.of_other) == ("b", pair.n_other_taken, 20)
    assert sorted(turned.border) == sorted(pair.border)


def test_specimens_that_the_key_was_not_asked_about_are_not_counted(make_stand_in):
    guide = make_stand_in([("ab"[i % 2], (), (30, 20), f"{i}.jpg") for i in range(6)])
    guide._specimens = [replace(s, answer=None, confidence=None) for s in guide._specimens]
    pair = guide.compare("a", "b")
    assert (pair.of_kind, pair.of_other, pair.border) == (0, 0, ())


def test_a_guide_compares_kinds_as_people_write_them(small_guide):
    pair = small_guide.compare("Disc", "STRIPE")
    assert (pair.kind, pair.other) == ("disc", "stripe")
    assert (pair.of_kind, pair.of_other) == (8, 8)
    assert set(pair.border) <= set(small_guide.members(kind="disc")) | set(
        small_guide.members(kind="stripe")
    )
    with pytest.raises(GuideError, match="is one kind; give two"):
        small_guide.compare("disc", "Disc")
    with pytest.raises(GuideError, match="No kind of this guide is called 'discs'"):
        small_guide.compare("discs", "stripe")
    with pytest.raises(GuideError, match=r"'xyz'. It has 'disc', 'square', 'stripe'."):
        small_guide.compare("xyz", "stripe")

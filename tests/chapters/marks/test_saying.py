"""Which marks are said, and how."""

import numpy as np

from fieldguide.chapters.marks.pool import Column
from fieldguide.chapters.marks.records import ImageMark, Mark, PairDifferences, PairMarks
from fieldguide.chapters.marks.saying import count_enough, drop_repeats, repeats_colours
from fieldguide.chapters.marks.sentences import (
    NO_DIFFERENCE,
    say_differences,
    say_kind,
    say_marks,
    say_numbers,
    say_shown,
)
from fieldguide.guide.apart import Passed

COLUMNS = (
    Column("crested", "owner"),
    Column("animal", "network"),
    Column("insect", "network"),
    Column("butterfly", "network"),
    Column("mostly red", "subject", ("red",)),
    Column("with red", "subject", ("red",)),
    Column("with blue", "subject", ("blue",)),
    Column("with brown", "subject", ("brown",)),
    Column("mostly orange", "subject", ("orange",)),
    Column("black and red", "subject", ("black", "red")),
    Column("red above", "subject", ("red",), "above"),
    Column("of one colour", "subject"),
    Column("on green", "surroundings"),
    Column("on white", "surroundings"),
    Column("dark", "picture"),
    Column("plumed", "owner", same_as="crested"),
    Column("mostly yellow", "subject", ("yellow",)),
)


def keep(*texts, kind="robin"):
    place = {column.text: j for j, column in enumerate(COLUMNS)}
    passed = [Passed(place[text], 20 - i, 20, 0, 20) for i, text in enumerate(texts)]
    return [COLUMNS[each.column].text for each in drop_repeats(passed, COLUMNS, kind)]


def test_a_narrow_word_leaves_out_those_above_it():
    assert keep("animal", "insect") == ["insect"]
    assert keep("animal") == ["animal"]


def test_the_name_of_the_kind_is_no_mark_and_implies_nothing():
    assert keep("animal", "insect", "butterfly", kind="Butterflys") == ["insect"]
    assert keep("insect", "butterfly", kind="painted butterfly") == ["insect"]


def test_of_attributes_that_the_same_specimens_show_one_is_said():
    assert keep("plumed", "crested", "insect") == ["crested", "insect"]


def test_a_colour_is_said_once():
    assert keep("with red", "mostly red", "red above") == ["mostly red"]
    assert keep("red above", "with red") == ["red above"]
    assert keep("with red", "black and red", "with blue") == ["black and red", "with blue"]


def test_nothing_is_mostly_of_two_colours():
    assert keep("mostly yellow", "mostly orange", "with blue") == ["mostly yellow", "with blue"]


def test_a_shade_of_a_colour_is_not_another():
    assert keep("mostly orange", "with brown", "with red") == ["mostly orange", "with red"]
    assert keep("with brown") == ["with brown"]
    assert repeats_colours(("grey",), {"white"})
    assert not repeats_colours(("red",), {"brown"})
    assert not repeats_colours((), {"brown"})


def test_the_owner_comes_first_and_the_picture_only_alone():
    listed = keep("dark", "on green", "with red", "insect", "crested", "on white")
    assert listed == ["crested", "insect", "with red", "on green"]
    assert keep("dark") == ["dark"]


def test_as_many_marks_are_enough_as_the_selection_needs():
    """One that tells all apart is enough; two that tell half each are both needed."""
    rng = np.random.default_rng(0)
    own, other = np.arange(20), np.arange(20, 220)
    shows = rng.random((220, 3)) < 0.05
    shows[own, 0] = True
    shows[other, 0] = False
    shows[:10, 1] = shows[10:20, 2] = True
    passed = [Passed(j, int(shows[own, j].sum()), 20, int(shows[other, j].sum()), 200)
              for j in range(3)]  # fmt: skip
    assert count_enough(passed, shows, own, other, 0) == 1
    assert count_enough(passed[1:], shows, own, other, 0) == 2
    assert count_enough(passed[:1], shows, own, other, 0) == 1
    assert count_enough([], shows, own, other, 0) == 0


def make(text, source="subject", n_own=21, n_other=3, **fields):
    return Mark(text, source, fields.pop("negated", False), n_own, 24, n_other, 24, **fields)


def test_a_sentence_reads_as_a_person_writes():
    marks = [make("water bird", "network"), make("mostly white"), make("on blue", "surroundings")]
    assert say_marks(marks) == "water bird, mostly white; often on blue"
    dark, busy, lines = (make(t, "picture") for t in ("dark", "busy", "upright lines"))
    assert say_marks([dark]) == "in pictures that are dark"
    assert say_marks([lines]) == "in pictures with upright lines"
    said = "in pictures that are dark and busy, with upright lines"
    assert say_marks([dark, busy, lines]) == said
    assert say_numbers(marks[0], "robins") == "in 21 of 24; in 3 of 24 robins"


def test_what_pictures_are_like_is_a_sentence():
    def say(*words):
        return say_marks([make(word, "picture") for word in words])

    assert say("plain background") == "in pictures with a plain background"
    assert say("dark", "some red") == "in pictures that are dark, with some red"
    assert say("small subject", "level lines") == "in pictures with a small subject and level lines"
    assert say("strong contrast") == "in pictures with strong contrast"


def test_what_a_kind_lacks():
    assert make("red above", colours=("red",), negated=True).words == "no red above"
    assert make("mostly red", colours=("red",), negated=True).words == "not mostly red"
    assert make("crested", "owner", negated=True).words == "not crested"
    assert make("eye spots", "owner", negated=True).words == "no eye spots"
    assert make("seen from above", "owner", negated=True).words == "not seen from above"
    assert make("mostly of one colour", negated=True).words == "not mostly of one colour"
    both = make("white and orange", colours=("white", "orange"), negated=True, is_little=True)
    assert both.words == "not white and orange"
    little = make("yellow", colours=("yellow",), negated=True, is_little=True)
    assert little.words == "less yellow"


def test_look_alikes_are_told_by_what_was_not_said_yet():
    said = [make("mostly red")]
    apart = [
        PairMarks("b", "Cardinal", 0.1, (make("mostly red"), make("darker"))),
        PairMarks("c", "Wren", 0.0, (make("mostly red"),)),
        PairMarks("d", "Jay", 0.0, ()),
        PairMarks("e", "Tit", 0.0, (make("black", negated=True, colours=("black",)),)),
    ]
    assert say_kind(said, apart) == "Mostly red. Unlike Cardinal: darker. Unlike Tit: no black."
    assert say_kind([], apart[2:3]) == ""


def test_two_kinds_side_by_side():
    found = PairDifferences((make("darker"),), (make("paler"), make("with white")))
    said = say_differences(found, ("Jay", "Tit"))
    assert said == "Jay: darker. Tit: paler, with white."
    assert say_differences(PairDifferences((), ()), ("Jay", "Tit")) == NO_DIFFERENCE


def test_only_what_is_shown_is_said_of_a_picture():
    marks = [
        ImageMark(text, "subject", is_shown, 1, 1, 0, 1, None)
        for text, is_shown in (("darker", True), ("plainer", False), ("with red", True))
    ]
    assert say_shown(marks) == "darker, with red"

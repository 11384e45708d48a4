"""The characters that a person is asked about, against plain counts."""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.chapters.walk.characters import APART, part_pairs, read_characters

pytest.importorskip("fieldguide.chapters.marks")

from fieldguide.chapters.marks.model import Marks
from fieldguide.chapters.marks.pool import Column, Pool
from fieldguide.guide.apart import deal_folds

N_EACH = 10


class Drawn(NamedTuple):
    """A column, and how many of ten specimens of each kind show it."""

    text: str
    source: str
    counts: tuple[int, ...]


def make_marks(*drawn: Drawn, kinds: tuple[str, ...] = ("crow", "gull", "wren")) -> Marks:
    """Marks of ten specimens of each kind, the first of which show a column."""
    index = np.repeat(np.arange(len(kinds), dtype=np.int32), N_EACH)
    place = np.tile(np.arange(N_EACH), len(kinds))
    shows = np.array([place < np.array(each.counts)[index] for each in drawn]).T
    columns = tuple(Column(each.text, each.source) for each in drawn)
    return Marks(kinds, index, deal_folds(index, 0), Pool(columns, shows, None), ())


def texts(marks: Marks) -> list[str]:
    return [character.text for character in read_characters(marks).characters]


def test_shares_are_counts_with_one_specimen_more():
    found = read_characters(make_marks(Drawn("dark", "subject", (10, 6, 0))))
    assert found.kinds == ("crow", "gull", "wren")
    assert found.n.tolist() == [10, 10, 10]
    np.testing.assert_allclose(found.shares[:, 0], [10.5 / 11, 6.5 / 11, 0.5 / 11])
    assert found.columns.tolist() == [0]


def test_what_all_kinds_show_about_as_often_is_left_out():
    assert texts(make_marks(Drawn("dark", "subject", (7, 5, 4)))) == []


def test_the_same_twice_and_the_contrary_are_left_out():
    marks = make_marks(
        Drawn("dark", "subject", (10, 6, 0)),
        Drawn("black", "subject", (10, 6, 0)),
        Drawn("dark", "picture", (10, 0, 6)),
        Drawn("small", "subject", (0, 6, 10)),
    )
    flipped = marks.pool.shows.copy()
    flipped[:, 3] = ~flipped[:, 0]
    marks = Marks(
        marks.kinds, marks.index, marks.folds, Pool(marks.pool.columns, flipped, None), ()
    )
    assert texts(marks) == ["dark"]


def test_rare_characters_are_not_the_same():
    kinds = tuple(f"kind {k}" for k in range(60))
    one, other = ([10 * (k == own) for k in range(60)] for own in (3, 4))
    marks = make_marks(
        Drawn("horned", "subject", tuple(one)),
        Drawn("crested", "subject", tuple(other)),
        kinds=kinds,
    )
    assert texts(marks) == ["horned", "crested"]


def test_the_owner_s_characters_stand_alone_where_they_suffice():
    own = [Drawn("hooked bill", "owner", (10, 0, 0)), Drawn("long tail", "owner", (0, 10, 0))]
    others = [Drawn("bird", "network", (10, 0, 0)), Drawn("mostly black", "subject", (10, 2, 3))]
    assert texts(make_marks(*own, *others)) == ["hooked bill", "long tail"]
    assert texts(make_marks(own[0], *others)) == ["hooked bill", "mostly black"]


def test_a_subject_s_character_is_added_to_the_owner_s_where_it_parts_more():
    kinds = tuple(f"kind {k}" for k in range(8))
    # Seven of eight kinds have a character of their own; the last two share none.
    own = [Drawn(f"owner's {j}", "owner", tuple(10 * (k == j) for k in range(8))) for j in range(6)]
    useful = Drawn("mostly red", "subject", (0, 0, 0, 0, 0, 0, 10, 1))
    useless = Drawn("mostly blue", "subject", (10, 0, 0, 0, 0, 0, 1, 1))
    assert texts(make_marks(*own, useless, useful, kinds=kinds)) == [
        *(f"owner's {j}" for j in range(6)),
        "mostly red",
    ]


def test_the_picture_is_asked_about_only_where_there_is_nothing_else():
    around = Drawn("on green", "surroundings", (10, 0, 5))
    assert texts(make_marks(around)) == ["on green"]
    assert texts(make_marks(Drawn("mostly red", "subject", (0, 9, 1)), around)) == ["mostly red"]


def test_the_name_of_a_kind_is_no_question():
    found = texts(
        make_marks(
            Drawn("Wren", "network", (0, 0, 10)),
            Drawn("songbird", "network", (1, 0, 8)),
            kinds=("crow", "gull", "wren"),
        )
    )
    assert found == ["songbird"]


@given(st.integers(2, 6), st.integers(0, 4), st.randoms(use_true_random=False))
def test_pairs_are_those_that_some_column_parts(n_kinds, n_columns, rng):
    shares = np.array([[rng.random() for _ in range(n_columns)] for _ in range(n_kinds)])
    parted = part_pairs(shares.reshape(n_kinds, n_columns))
    for a, b in combinations(range(n_kinds), 2):
        expected = any(abs(shares[a, j] - shares[b, j]) >= APART for j in range(n_columns))
        assert parted[a, b] == parted[b, a] == expected
    assert not parted.diagonal().any()

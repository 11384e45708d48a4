"""Couplets are worded by what most kinds of one side show, on specimens that did not choose it."""

import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from fieldguide.chapters.marks.couplets import (
    LEAST_SIDE,
    MOST_KINDS,
    MOST_LEFT,
    N_WORDS,
    choose_words,
    find_words,
    keep_few,
    list_exceptions,
    share_by_fold,
)
from fieldguide.chapters.marks.model import Marks, Said
from fieldguide.chapters.marks.pool import Column, Pool
from fieldguide.collection import Collection
from fieldguide.guide import Guide
from fieldguide.guide.apart import CHANCE, N_FOLDS, count_shows, deal_folds
from fieldguide.guide.views import CoupletWords
from fieldguide.site.phrases import word_step
from fieldguide.terminal.answer_lines import answer_lines

KINDS = ("ant", "bee", "cat", "dog")
COLUMNS = (
    Column("winged", "owner"),
    Column("mostly red", "owner"),
    Column("furry", "owner"),
    Column("with red", "subject", ("red",)),
    Column("on green", "surroundings"),
    Column("dark", "picture"),
    Column("animal", "network"),
)
# Of ten specimens each, how many show each column.
SHOWN = {
    "ant": (9, 0, 0, 0, 10, 10, 10),
    "bee": (10, 0, 1, 1, 10, 10, 10),
    "cat": (0, 9, 10, 10, 0, 0, 10),
    "dog": (1, 9, 4, 10, 0, 0, 10),
}


def make_marks(shown=SHOWN, n=10):
    rows = [[i < m for m in numbers] for numbers in shown.values() for i in range(n)]
    index = np.repeat(np.arange(len(shown), dtype=np.int32), n)
    # Those that show a column come first: fold by fold, so that every fold has its share.
    folds = np.tile(np.arange(n) % N_FOLDS, len(shown))
    pool = Pool(COLUMNS, np.array(rows), None)
    return Marks(tuple(shown), index, folds, pool, (Said((), 0, (), ()),) * len(shown))


def test_sides_are_worded_by_what_was_counted():
    minus, plus = make_marks().word_sides(("ant", "bee"), ("cat", "dog"))
    # Not "furry", which 4 of 10 dogs are; not "with red", which says "mostly red" again; not the
    # surroundings nor the picture.
    assert [tuple(vars(word).values()) for word in minus.words] == [("winged", 0.95, 0.05)]
    assert [(word.name, word.share, word.elsewhere) for word in plus.words] == [
        ("mostly red", pytest.approx(0.9), 0.0)
    ]
    assert minus.exceptions == plus.exceptions == ()


def test_what_is_true_of_one_kind_is_not_said_of_two():
    shown = {**SHOWN, "ant": (10, 0, 0, 0, 0, 0, 0), "bee": (4, 0, 0, 0, 0, 0, 0)}
    minus, plus = make_marks(shown).word_sides(("ant", "bee"), ("cat", "dog"))
    assert np.mean([1.0, 0.4]) >= LEAST_SIDE
    assert minus.words == ()
    assert plus.words[0].name == "mostly red"


def test_a_kind_of_which_the_words_are_not_true_is_named():
    winged = (10, 0, 0, 0, 0, 0, 0)
    shown = {name: winged for name in "abcd"} | {"e": (1, 0, 0, 0, 0, 0, 0)}
    shown |= {name: (0, 0, 0, 0, 0, 0, 0) for name in "vwxy"} | {"z": (9, 0, 0, 0, 0, 0, 0)}
    minus, plus = make_marks(shown).word_sides(tuple("abcde"), tuple("vwxyz"))
    assert [word.name for word in minus.words] == ["winged"]
    assert plus.words == ()
    assert (minus.exceptions, plus.exceptions) == (("e",), ("z",))
    nobody = make_marks(shown).word_sides(("a", "v"), ("b", "w"))
    assert nobody == CoupletWords()
    assert not nobody.is_worded


def test_two_kinds_are_worded_by_what_sets_them_apart():
    marks = make_marks()
    minus, plus = marks.word_sides(("ant",), ("cat",))
    assert [word.name for word in minus.words] == ["winged"]
    assert [word.name for word in plus.words] == ["furry", "mostly red"]
    apart = {mark.words: mark for mark in marks.set_apart(0, 2)}
    assert minus.words[0].share == apart["winged"].n_own / apart["winged"].of_own


def test_kinds_without_specimens_are_passed_over():
    marks = make_marks()
    assert marks.word_sides(("ant", "bee", "elk"), ("cat", "dog")) == marks.word_sides(
        ("ant", "bee"), ("cat", "dog")
    )
    assert marks.word_sides(("elk",), ("cat",)) == CoupletWords()


def find_naively(shows, index, folds, own, others):
    """The rule as it is written, one column, fold and kind at a time."""
    found = []
    for j in range(shows.shape[1]):

        def passes(where, j=j):
            sides = []
            for side in (own, others):
                known = [shows[(index == k) & where, j] for k in side]
                sides.append([rows.mean() for rows in known if len(rows)])
            if not all(sides):
                return False
            x, y = sides
            most = sum(share > 0.5 for share in x) / len(x)
            few = sum(share < 0.5 for share in y) / len(y)
            return (
                sum(x) / len(x) >= LEAST_SIDE - 1e-12
                and sum(y) / len(y) <= MOST_LEFT + 1e-12
                and min(most, few) >= MOST_KINDS
            )

        everywhere = np.ones(len(index), bool)
        if not all(passes(folds != f) for f in range(N_FOLDS)) or not passes(everywhere):
            continue
        a, b = (shows[np.isin(index, side), j] for side in (own, others))
        table = [[a.sum(), (~a).sum()], [b.sum(), (~b).sum()]]
        if fisher_exact(table, "greater")[1] <= CHANCE:
            found.append((j, a.sum(), len(a), b.sum(), len(b)))
    return found


@given(st.integers(0, 2**32 - 1))
def test_words_are_those_of_the_rule(seed):
    rng = np.random.default_rng(seed)
    index = rng.integers(0, 6, 97)
    index[:6] = np.arange(6)
    rates = rng.choice([0.05, 0.6, 0.95], (6, 14))
    shows = rng.random((97, 14)) < rates[index]
    folds = deal_folds(index, seed)
    counts = count_shows(shows, index, folds)
    shares = share_by_fold(counts)
    for own, others in (([0, 1], [2]), ([3], [4, 5, 0]), ([5, 1, 2], [4])):
        expected = find_naively(shows, index, folds, own, others)
        assert [tuple(p) for p in find_words(counts, shares, own, others)] == expected


@given(st.integers(0, 2**32 - 1))
def test_exceptions_have_no_majority_of_words(seed):
    rng = np.random.default_rng(seed)
    shares = rng.random((8, 6))
    said, denied = [0, 4], [2]
    expected = [
        k for k in range(8) if sum([*(shares[k, said] > 0.5), *(shares[k, denied] <= 0.5)]) * 2 <= 3
    ]
    assert list_exceptions(shares, said, denied) == expected
    assert list_exceptions(shares, [], []) == []


def test_few_words_are_said_and_no_colour_twice():
    owner = [Column(text, "owner") for text in ("mostly red", "winged", "crested", "tailed")]
    assert keep_few(owner) == owner[:N_WORDS]
    colours = [Column("with red", "subject", ("red",)), Column("with blue", "subject", ("blue",))]
    assert keep_few([owner[0], *colours]) == [owner[0], colours[1]]
    assert choose_words([], COLUMNS, "") == []


@pytest.fixture(scope="module")
def shapes(blobs, tmp_path_factory):
    """A guide with a key that has a graph, whose owner has noted what is round and what striped."""
    images, kinds = blobs
    noted = np.array([[kind == "disc", kind == "stripe"] for kind in kinds], float)
    collection = Collection.from_arrays(
        images, kinds, attributes=noted, attribute_names=("round", "striped"), name="shapes"
    )
    settings = {"features": "words+color", "key": "relaxed", "tree": "agglomerative", "n_jobs": 1}
    return Guide.build(collection, tmp_path_factory.mktemp("shapes") / "guide", **settings)


def test_a_picture_is_told_the_words_of_its_couplets(shapes, blobs):
    couplets = [shapes.describe_couplet(couplet.number) for couplet in shapes.couplets]
    said = {word.name for couplet in couplets for side in couplet for word in side.words}
    assert {"round", "striped"} & said
    answer = shapes.identify([blobs[0][0]])[0]
    for step in answer.path.steps:
        minus, plus = couplets[step.couplet - 1]
        assert step.minus_words == tuple(word.name for word in minus.words)
        assert step.plus_words == tuple(word.name for word in plus.words)
    for step, told in zip(answer.path.steps, answer.to_plain()["path"]["steps"], strict=True):
        assert told["minus_words"] == list(step.minus_words)
        assert told["plus_words"] == list(step.plus_words)
    worded = [step for step in answer.path.steps if step.minus_words or step.plus_words]
    lines = answer_lines(shapes, answer)
    assert worded
    for step in worded:
        sign = "+" if step.side == "plus" else "−"
        assert any(f"{step.couplet} {sign} {word_step(step)}: like " in line for line in lines)


def test_a_guide_without_marks_words_nothing(shapes, tmp_path, blobs):
    bare = Guide.open(shutil.copytree(shapes.folder, tmp_path / "bare"))
    for file in bare.edition.glob("models/marks.*"):
        file.unlink()
    assert {bare.describe_couplet(c.number) for c in bare.couplets} == {CoupletWords()}
    assert bare.identify([blobs[0][0]])[0].path.steps[0].minus_words == ()

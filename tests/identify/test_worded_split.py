"""Of splits that are about as good, the one that a word tells apart best."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from fieldguide.errors import FieldguideError
from fieldguide.identify import RelaxedHierarchyClassifier, choose_key
from fieldguide.identify.relaxed_hierarchy import Painter
from fieldguide.identify.worded_split import color_by_words, measure_apart
from fieldguide.svm import Problems

SHARES = arrays_of.arrays(
    np.float64,
    st.tuples(st.integers(2, 9), st.integers(1, 5)),
    elements=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]),
)


def draw_square(seed=0):
    """Four classes at the corners of a square: left or right, and low or high, part them alike."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(4), 12)
    corners = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    return corners[y] + rng.normal(0, 0.2, (len(y), 2)), y


def draw_many(seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(9), 8)
    return rng.normal(0, 1, (9, 12))[y] + rng.normal(0, 0.5, (len(y), 12)), y


@given(SHARES)
def test_groups_of_a_word_are_those_that_show_it(words):
    n, n_words = words.shape
    found = color_by_words(words, 2)
    apart = {}  # of each even pair of groups, by plain sums: the best of its words
    for j in range(n_words):
        shown, missing = ([k for k in range(n) if s * (words[k, j] - 0.5) > 0] for s in (1, -1))
        if min(len(shown), len(missing)) >= max(1, n / 4):
            difference = np.mean(words[shown, j]) - np.mean(words[missing, j])
            groups = frozenset((frozenset(shown), frozenset(missing)))
            apart[groups] = max(difference, apart.get(groups, 0))
    groups = [frozenset(frozenset(np.flatnonzero(c == s)) for s in (1, -1)) for c in found]
    assert len(set(groups)) == len(groups) == min(2, len(apart))
    best = sorted(apart.values(), reverse=True)[: len(groups)]
    np.testing.assert_allclose([apart[each] for each in groups], best)


@given(SHARES, st.randoms(use_true_random=False))
def test_sides_are_apart_by_their_best_word(words, random):
    n, n_words = words.shape
    colors = np.array([1, -1, *(random.choice((-1, 0, 1)) for _ in range(n - 2))])
    expected = 0.0
    for j in range(n_words):
        right, left = ([words[k, j] for k in range(n) if colors[k] == s] for s in (1, -1))
        expected = max(expected, abs(sum(right) / len(right) - sum(left) / len(left)))
    assert measure_apart(words, colors) == pytest.approx(expected)


@pytest.mark.parametrize("shows", [(0, 0, 1, 1), (0, 1, 0, 1)])
def test_a_word_decides_between_equal_splits(shows):
    X, y = draw_square()
    words = np.column_stack([shows, [0.5] * 4])
    for key in (
        RelaxedHierarchyClassifier(words=words).fit(X, y),
        RelaxedHierarchyClassifier(words=1 - words).fit(X, y),
    ):
        root = key.graph_.colors[0]
        assert abs(np.sum(root * np.where(shows, 1, -1))) == 4
        assert (key.predict(X) == y).all()


def test_words_that_say_nothing_change_nothing():
    X, y = draw_many()
    plain = RelaxedHierarchyClassifier().fit(X, y)
    same = RelaxedHierarchyClassifier(words=np.full((9, 2), 0.7)).fit(X, y)
    np.testing.assert_array_equal(plain.graph_.colors, same.graph_.colors)
    np.testing.assert_array_equal(plain.predict_proba(X), same.predict_proba(X))


def test_the_split_is_told_apart_as_well_as_the_best_one(seed):
    X, y = draw_many(seed)
    words = np.random.default_rng(seed).random((9, 6)).round(1)
    problems, classes = Problems(X, loss="hinge", tol=1e-2), tuple(range(9))
    painter = Painter(problems, y, 9, 1.0, 1.2, None, words=words)
    starts = [*painter._starts(classes, 3), *color_by_words(words, 2)]
    best = min((painter.paint(classes, start) for start in starts), key=lambda p: p.objective)
    chosen = painter.split(classes, 3).colors
    assert measure_apart(words, chosen) >= measure_apart(words, best.colors)
    assert abs(int(chosen.sum())) <= 1


def test_an_automatic_key_hands_words_on():
    X, y = draw_many()
    words = np.random.default_rng(0).random((9, 6)).round()
    key = choose_key(X, y, words=words).key
    alone = RelaxedHierarchyClassifier(rho=key.rho, search=key.search, words=words).fit(X, y)
    np.testing.assert_array_equal(key.predict_proba(X), alone.predict_proba(X))


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (np.zeros((3, 2)), r"of shape \(4, n_words\).*np.unique\(y\); got shape \(3, 2\)"),
        (np.zeros(4), r"of shape \(n_classes, n_words\)"),
        (np.zeros((4, 0)), r"got shape \(4, 0\)"),
        ([["red"], ["blue"], ["red"], ["red"]], "must be numbers"),
        (np.full((4, 1), np.nan), "shares from 0 to 1"),
        (np.full((4, 1), 2), "shares from 0 to 1"),
    ],
)
def test_bad_words_are_one_sentence(words, match):
    with pytest.raises(FieldguideError, match=match) as error:
        RelaxedHierarchyClassifier(words=words).fit(*draw_square())
    assert "\n" not in str(error.value)


def test_a_key_that_was_saved_before_there_were_words_opens():
    X, y = draw_square()
    key = RelaxedHierarchyClassifier().fit(X, y)
    arrays, record = key.to_state()
    for name in ("loss", "words"):
        del record["model"]["parameters"][name]
    again = RelaxedHierarchyClassifier.from_state(arrays, record)
    assert again.words is None
    np.testing.assert_array_equal(again.predict_proba(X), key.predict_proba(X))

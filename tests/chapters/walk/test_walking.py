"""Walks: undo, correcting, couplets, the end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.chapters.walk.belief import ENOUGH, LEAST_GAIN, to_levels
from fieldguide.chapters.walk.questions import COUPLET, Question, Questions, share_ways
from fieldguide.chapters.walk.walking import HELD, Walk, temper
from fieldguide.guide.views import Couplet

KINDS = ("crow", "gull", "heron", "wren")
SHARES = np.array(
    [  # black, long legs, small, white
        [0.97, 0.03, 0.03, 0.03],
        [0.03, 0.03, 0.03, 0.97],
        [0.03, 0.97, 0.03, 0.03],
        [0.03, 0.03, 0.97, 0.03],
    ]
)
TEXTS = ("black", "long legs", "small", "white")


def make_couplet(number, minus, plus, to=(None, None), both=()):
    ends = [() if t else s for t, s in zip(to, (minus, plus), strict=True)]
    return Couplet(number, number - 1, number - 1, minus, both, plus, *to, *ends)


COUPLETS = (
    make_couplet(1, ("crow", "gull"), ("heron", "wren"), to=(2, 3)),
    make_couplet(2, ("crow",), ("gull",)),
    make_couplet(3, ("heron",), ("wren",)),
)


def make_questions(couplets=COUPLETS, shares=SHARES):
    asked = [Question(text, "owner") for text in TEXTS[: shares.shape[1]]]
    levels = np.hstack([to_levels(shares), to_levels(share_ways(couplets, KINDS))])
    ways = [Question("", COUPLET, couplet) for couplet in couplets]
    return Questions(KINDS, (*asked, *ways), levels, len(asked))


def likeliest(walk):
    return KINDS[int(walk.belief.argmax())]


@given(
    st.lists(st.tuples(st.integers(0, 6), st.sampled_from([True, False, None])), max_size=12),
    st.integers(0, 12),
)
def test_undo_restores_what_was(said, n_kept):
    kept, walk = Walk(make_questions()), Walk(make_questions())
    for j, answer in said[:n_kept]:
        kept.answer(j, answer)
    for j, answer in said:
        walk.answer(j, answer)
    for _ in said[n_kept:]:
        assert walk.undo()
    assert walk.answers == kept.answers
    np.testing.assert_array_equal(walk.belief, kept.belief)
    while walk.undo():
        pass
    np.testing.assert_array_equal(walk.belief, np.full(4, 0.25))


@given(st.permutations(range(7)), st.data())
def test_no_question_is_asked_twice(order, data):
    walk = Walk(make_questions())
    for _ in order:
        asked = walk.next_question(by_couplets=data.draw(st.booleans()))
        if asked is None:
            break
        assert asked not in walk.answers
        walk.answer(asked, data.draw(st.sampled_from([True, False, None])))


@pytest.mark.parametrize("by_couplets", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_true_answers_lead_to_the_kind(kind, by_couplets):
    walk = Walk(make_questions())
    k = KINDS.index(kind)
    while not walk.is_decided:
        asked = walk.next_question(by_couplets=by_couplets)
        if asked is None:
            break
        walk.answer(asked, bool(walk.questions.levels[k, asked] > 31))
    assert likeliest(walk) == kind
    # Two couplets, each right nine times in ten, are sure of a kind at about .9 * .9.
    assert walk.belief.max() >= (0.75 if by_couplets else ENOUGH)


def test_a_wrong_answer_is_survived():
    walk = Walk(make_questions())
    walk.answer(0, True)  # black: wrong, it is a heron
    assert likeliest(walk) == "crow"
    for j, said in ((1, True), (2, False), (3, False), (4, True), (6, False)):
        walk.answer(j, said)
    assert likeliest(walk) == "heron"
    assert walk.is_decided


def test_an_answer_can_be_changed():
    walk, right = Walk(make_questions()), Walk(make_questions())
    for j, said in ((0, True), (1, True), (0, False)):
        walk.answer(j, said)
    for j, said in ((0, False), (1, True)):
        right.answer(j, said)
    np.testing.assert_array_equal(walk.belief, right.belief)


def test_couplets_follow_the_key():
    walk = Walk(make_questions())
    first = walk.questions.couplets.start
    assert walk.next_couplet() == first
    walk.answer(first, True)
    assert walk.next_couplet() == first + 2
    walk.answer(first + 2, False)
    assert walk.next_couplet() is None
    assert likeliest(walk) == "heron"
    walk.undo()
    walk.undo()
    walk.answer(1, True)  # long legs
    walk.answer(first, None)
    assert walk.next_couplet() == first + 2  # where the heron is


def test_couplets_that_are_not_listed_end_a_way():
    walk = Walk(make_questions(couplets=COUPLETS[:2]))
    walk.answer(walk.questions.couplets.start, True)
    assert walk.next_couplet() is None


def test_kinds_that_go_both_ways_are_not_parted():
    both = make_couplet(1, ("crow",), ("gull",), both=("heron",))
    shares = share_ways([both], KINDS)[:, 0]
    np.testing.assert_allclose(shares, [0.02, 0.98, 0.5, 0.5])


def test_the_best_questions_come_first_and_useless_ones_not_at_all():
    shares = np.array([[0.9, 0.5, 0.9], [0.9, 0.5, 0.1], [0.1, 0.5, 0.1], [0.1, 0.5, 0.1]])
    walk = Walk(make_questions(couplets=(), shares=shares))
    best = walk.list_best(walk.questions.characters)
    assert [j for j, _ in best] == [0, 2]
    assert all(gain >= LEAST_GAIN for _, gain in best)


def test_what_remains_holds_nearly_all_of_the_belief():
    walk = Walk(make_questions())
    walk.answer(2, True)
    remaining = walk.list_remaining()
    assert remaining[0][0] == "wren"
    held = sum(p for _, p in remaining)
    assert held >= HELD > held - remaining[-1][1]


def test_the_machine_s_start_is_tempered():
    start = temper(KINDS, {"crow": 0.81, "gull": 0.09})
    np.testing.assert_allclose(start[0] / start[1], 3, rtol=0.1)
    assert start[2] == start[3] > 0
    sure = temper(KINDS, {"crow": 1.0})
    assert (sure > 0).all()
    walk = Walk(make_questions(), sure)
    for j, said in ((1, True), (0, False), (4, True), (6, False)):
        walk.answer(j, said)
    assert likeliest(walk) == "heron"

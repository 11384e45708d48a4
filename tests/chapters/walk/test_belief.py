"""The belief of a walk, against sums over every kind and every answer."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.chapters.walk.belief import (
    LETTERS,
    N_LEVELS,
    WRONG,
    believe,
    entropy_bits,
    expect_yes,
    from_levels,
    gain_bits,
    to_levels,
    write_levels,
)

SAID = st.sampled_from([True, False, None])


@st.composite
def tables(draw, most_questions=5):
    """Shares of some kinds and questions, and a prior."""
    n_kinds, n_questions = draw(st.integers(2, 5)), draw(st.integers(1, most_questions))
    levels = draw(
        st.lists(
            st.lists(st.integers(0, N_LEVELS - 1), min_size=n_questions, max_size=n_questions),
            min_size=n_kinds,
            max_size=n_kinds,
        )
    )
    prior = draw(st.lists(st.floats(0.01, 1), min_size=n_kinds, max_size=n_kinds))
    return from_levels(np.array(levels)), np.array(prior)


def bayes(shares, answers, prior):
    """Multiply out what :func:`believe` computes, kind by kind, in plain Python."""
    weights = []
    for k, weight in enumerate(prior):
        for j, said in answers.items():
            if said is not None:
                right = shares[k][j] if said else 1 - shares[k][j]
                weight *= (1 - WRONG) * right + WRONG * (1 - right)
        weights.append(weight)
    return [weight / sum(weights) for weight in weights]


@given(tables(), st.dictionaries(st.integers(0, 4), SAID))
def test_belief_is_bayes_rule(table, answers):
    shares, prior = table
    answers = {j: said for j, said in answers.items() if j < shares.shape[1]}
    belief = believe(expect_yes(shares), answers, prior)
    np.testing.assert_allclose(belief, bayes(shares, answers, prior), rtol=1e-9)
    assert belief.sum() == pytest.approx(1)
    assert (belief > 0).all()


@given(tables(), st.dictionaries(st.integers(0, 4), SAID, min_size=2), st.randoms())
def test_the_order_of_the_answers_changes_no_bit(table, answers, rng):
    shares, prior = table
    given_answers = [(j, said) for j, said in answers.items() if j < shares.shape[1]]
    shuffled = rng.sample(given_answers, len(given_answers))
    yes = expect_yes(shares)
    first, second = (believe(yes, dict(each), prior) for each in (given_answers, shuffled))
    np.testing.assert_array_equal(first, second)


@given(tables(), st.dictionaries(st.integers(0, 4), SAID))
def test_cannot_tell_changes_nothing(table, answers):
    shares, prior = table
    told = {j: said for j, said in answers.items() if j < shares.shape[1] and said is not None}
    open_questions = {j: None for j in range(shares.shape[1]) if j not in told}
    yes = expect_yes(shares)
    np.testing.assert_array_equal(
        believe(yes, told, prior), believe(yes, told | open_questions, prior)
    )


@given(tables(most_questions=3))
def test_the_gain_is_the_mutual_information(table):
    """H(kind) − Σ p(answer) H(kind | answer), each belief computed on its own."""
    shares, prior = table
    yes = expect_yes(shares)
    belief = believe(yes, {}, prior)
    for j, gain in enumerate(gain_bits(yes, belief)):
        chance = sum(b * y for b, y in zip(belief, yes[:, j], strict=True))
        after = chance * uncertainty(believe(yes, {j: True}, prior))
        after += (1 - chance) * uncertainty(believe(yes, {j: False}, prior))
        assert gain == pytest.approx(uncertainty(belief) - after, abs=1e-9)


@given(tables(most_questions=3))
def test_the_belief_is_expected_to_stay(table):
    """Over all answers to all questions, each as likely as it is, the mean belief is the prior."""
    shares, prior = table
    prior = prior / prior.sum()
    yes = expect_yes(shares)
    mean = np.zeros(len(prior))
    for said in itertools.product([True, False], repeat=shares.shape[1]):
        likely = np.prod([yes[:, j] if a else 1 - yes[:, j] for j, a in enumerate(said)], axis=0)
        mean += (prior @ likely) * believe(yes, dict(enumerate(said)), prior)
    np.testing.assert_allclose(mean, prior, rtol=1e-9)


def uncertainty(p):
    return -sum(value * math.log2(value) for value in p if value > 0)


def test_levels_are_shares_to_within_one_step():
    shares = np.linspace(0, 1, 301)
    again = from_levels(to_levels(shares))
    assert np.abs(again - shares).max() <= 0.5 / N_LEVELS + 1e-12
    assert 0 < again.min() < again.max() < 1
    assert from_levels(to_levels(0.5)) == 0.5
    assert from_levels(to_levels(0.02)) == pytest.approx(1 - from_levels(to_levels(0.98)))


def test_levels_are_written_one_letter_each():
    assert len(set(LETTERS)) == len(LETTERS) == N_LEVELS
    assert write_levels(np.array([0, 25, 62])) == "AZ-"


def test_entropy_is_largest_at_a_half():
    assert entropy_bits(np.array([0.5]))[0] == 1
    assert entropy_bits(np.array([0.11]))[0] == pytest.approx(uncertainty([0.11, 0.89]))

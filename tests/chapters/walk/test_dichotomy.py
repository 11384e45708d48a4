"""A dichotomous key: its splits, its size, and whether it leads to the truth."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.chapters.walk.characters import estimate_shares
from fieldguide.chapters.walk.dichotomy import (
    LEAST_GAIN,
    MOST_BOTH,
    MOSTLY,
    N_CONFIRMING,
    STEPS_OF_KIND,
    choose_split,
    follow_key,
    grow_key,
    judge_key,
    list_ends,
)
from fieldguide.datasets import load_specimens

SEEDS = st.integers(0, 2**32 - 1)


def draw_shares(seed, n_kinds=6, n_characters=8):
    rng = np.random.default_rng(seed)
    return rng.choice([0.03, 0.1, 0.3, 0.6, 0.85, 0.97], (n_kinds, n_characters))


def tell_information(shares):
    """The mutual information of kind and answer, summed over their joint distribution."""
    total = 0.0
    for yes in (True, False):
        joint = (shares if yes else 1 - shares) / len(shares)
        total += (joint * np.log2(joint / (joint.sum() / len(shares)))).sum()
    return total


def find_naively(shares, ranks, kinds):
    """The character that parts kinds best, by the rule as it is written."""
    best = None
    for j in range(shares.shape[1]):
        s = shares[list(kinds), j]
        n_both = sum(1 - MOSTLY < share < MOSTLY for share in s)
        parts = any(s >= MOSTLY) and any(s <= 1 - MOSTLY) and n_both <= MOST_BOTH * len(s)
        gain = tell_information(s)
        if parts and gain >= LEAST_GAIN and (best is None or (ranks[j], -gain) < best[:2]):
            best = (ranks[j], -gain, j)
    return None if best is None else best[2]


@given(SEEDS, st.integers(2, 6))
def test_the_most_telling_character_parts_the_kinds(seed, n):
    shares = draw_shares(seed)
    ranks = np.random.default_rng(seed).integers(0, 2, 8)
    kinds = range(n)
    split = choose_split(shares, ranks, kinds)
    best = find_naively(shares, ranks, kinds)
    if best is None:
        assert split is None
        return
    gains = {j: tell_information(shares[:n, j]) for j in (best, split.shown[0])}
    assert ranks[split.shown[0]] == ranks[best]
    assert gains[split.shown[0]] == pytest.approx(gains[best])
    assert sorted((*split.first, *split.both, *split.second)) == list(kinds)
    assert split.first
    assert split.second
    assert len({*split.shown, *split.opposite}) == len(split.shown) + len(split.opposite)
    assert len(split.shown) + len(split.opposite) <= 1 + N_CONFIRMING
    for j in split.shown:
        assert all(shares[list(split.first), j] >= MOSTLY)
        assert all(shares[list(split.second), j] <= 1 - MOSTLY)
    for j in split.opposite:
        assert all(shares[list(split.second), j] >= MOSTLY)
        assert all(shares[list(split.first), j] <= 1 - MOSTLY)


@given(SEEDS)
def test_every_way_ends_where_it_should(seed):
    shares = draw_shares(seed, n_kinds=7, n_characters=5)
    steps = grow_key(shares)
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert len(steps) <= STEPS_OF_KIND * 7
    if not steps:
        assert choose_split(shares, np.zeros(5, int), range(7)) is None
        return
    assert tuple(sorted((*steps[0].kinds_first, *steps[0].split.second))) == tuple(range(7))
    for step in steps:
        sides = ((step.kinds_first, step.to_first), (step.kinds_second, step.to_second))
        for kinds, to in sides:
            if to is not None:
                split = steps[to - 1].split
                assert tuple(sorted((*split.first, *split.both, *split.second))) == kinds
            elif len(kinds) > 1:  # no character parts them
                assert choose_split(shares, np.zeros(5, int), kinds) is None
    # Whatever a specimen shows, it ends somewhere, and only there.
    ends = list_ends(steps)
    for shows in itertools.product([False, True], repeat=5):
        assert follow_key(steps, np.array(shows)) in ends


@given(SEEDS, st.integers(2, 9))
def test_kinds_that_differ_for_certain_are_all_named_alone(seed, n_kinds):
    shows = np.random.default_rng(seed).random((n_kinds, 6)) < 0.5
    steps = grow_key(np.where(shows, 0.98, 0.02))
    rows = [tuple(row) for row in shows]
    for k, row in enumerate(rows):
        same = tuple(j for j in range(n_kinds) if rows[j] == row)
        found = follow_key(steps, shows[k]) if steps else tuple(range(n_kinds))
        assert found == same
    # Each step parts kinds that the others do not part: one less than there are ends.
    assert len(steps) == len(set(rows)) - 1


def test_the_first_lead_is_followed_to_its_end_before_the_second():
    shares = np.array([[0.9, 0.9, 0.1], [0.9, 0.1, 0.1], [0.1, 0.1, 0.9], [0.1, 0.1, 0.1]])
    steps = grow_key(shares)
    assert [(step.to_first, step.to_second) for step in steps] == [
        (2, 3),
        (None, None),
        (None, None),
    ]
    assert steps[1].kinds_first == (0,)
    assert steps[2].kinds_first == (2,)


def test_characters_of_a_better_source_come_first():
    shares = np.array([[0.9, 0.98], [0.15, 0.02]])
    assert choose_split(shares, np.array([0, 0]), (0, 1)).shown == (1, 0)
    assert choose_split(shares, np.array([0, 1]), (0, 1)).shown == (0, 1)


def test_a_kind_that_varies_takes_both_leads():
    shares = np.array([[0.95, 0.1, 0.1], [0.95, 0.9, 0.1], [0.05, 0.1, 0.1], [0.05, 0.1, 0.9],
                       [0.5, 0.1, 0.5]])  # fmt: skip
    first = grow_key(shares)[0]
    assert first.split.both == (4,)
    assert 4 in first.kinds_first
    assert 4 in first.kinds_second


def test_the_divided_follow_the_first_character():
    steps = grow_key(np.array([[0.98, 0.95], [0.02, 0.05]]))
    assert steps[0].split.shown == (0, 1)
    assert follow_key(steps, np.array([True, False])) == (0,)
    assert follow_key(steps, np.array([False, True])) == (1,)


def test_specimens_come_to_their_kind_through_the_true_characters():
    """Half of the drawn specimens make the key, the other half walk through it."""
    drawn = load_specimens(n_per_kind=16, size_px=64)
    shows, kinds = drawn.attributes.astype(bool), drawn.target
    half = np.arange(len(kinds)) // len(drawn.target_names) % 2 == 0
    counts = np.zeros((len(drawn.target_names), shows.shape[1]))
    np.add.at(counts, kinds[half], shows[half])
    steps = grow_key(estimate_shares(counts, np.bincount(kinds[half])))
    assert len(steps) <= 40
    assert len(list_ends(steps)) >= 32
    ended = [
        follow_key(steps, row) == (k,) for row, k in zip(shows[~half], kinds[~half], strict=True)
    ]
    assert np.mean(ended) >= 0.97
    walked = judge_key(shows, kinds, np.arange(len(kinds)) % 5, np.zeros(shows.shape[1], int))
    assert walked.n == len(kinds)
    assert walked.n_alone >= 0.97 * walked.n
    assert walked.n_alone <= walked.n_within <= walked.n


def test_a_key_is_judged_by_specimens_that_did_not_grow_it():
    rng = np.random.default_rng(0)
    shows, index = rng.random((200, 6)) < 0.5, np.repeat(np.arange(4), 50)
    walked = judge_key(shows, index, np.arange(200) % 5, [0] * 6)
    assert walked == (200, 0, 200)  # chance parts nothing: all kinds are left together

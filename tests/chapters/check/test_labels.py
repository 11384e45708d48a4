"""Doubt of labels: what is wrong is found, and names and order do not matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.chapters.check.labels import (
    HeldOutAnswers,
    count_votes,
    doubt_labels,
    find_posterior,
)


def draw_case(seed, n=60, n_kinds=5, n_wrong=4, n_unasked=0):
    """Labels some of which are wrong, what a good key says of them, and neighbours."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % n_kinds
    label = true.copy()
    wrong = rng.permutation(n)[:n_wrong]
    label[wrong] = (true[wrong] + rng.integers(1, n_kinds, n_wrong)) % n_kinds
    probability = rng.dirichlet(np.full(n_kinds, 0.3), n) * 0.05
    probability[np.arange(n), true] += 0.95
    near = np.array([rng.permutation(np.flatnonzero(true == k))[:9] for k in true])
    answer = probability.argmax(axis=1)
    answer[rng.permutation(n)[:n_unasked]] = -1
    own = probability[np.arange(n), label]
    said = HeldOutAnswers(answer, probability.max(axis=1), own)
    return label, said, near, wrong, true


@pytest.mark.parametrize("n_unasked", [0, 20])
def test_wrong_labels_are_listed(seed, n_unasked):
    label, said, near, wrong, true = draw_case(seed, n_unasked=n_unasked)
    doubts = doubt_labels(label, said, near, 5)
    is_asked = said.answer[wrong] >= 0
    assert set(wrong[is_asked]) <= set(np.flatnonzero(doubts.is_listed)) <= set(wrong)
    assert (doubts.other[wrong] == true[wrong]).all()
    assert doubts.doubt[wrong].min() > np.delete(doubts.doubt, wrong).max()


def test_nothing_is_listed_where_all_agree():
    label, said, near, _, _ = draw_case(1, n_wrong=0)
    assert not doubt_labels(label, said, near, 5).is_listed.any()


@given(st.integers(0, 10_000), st.integers(0, 8), st.integers(0, 30))
def test_order_and_names_do_not_matter(seed, n_wrong, n_unasked):
    label, said, near, _, _ = draw_case(seed, n_wrong=n_wrong, n_unasked=n_unasked)
    rng = np.random.default_rng(seed)
    doubts = doubt_labels(label, said, near, 5)
    assert ((doubts.doubt >= 0) & (doubts.doubt <= 1)).all()
    names = rng.permutation(5)
    renamed = doubt_labels(
        names[label], said._replace(answer=np.where(said.answer < 0, -1, names[said.answer])),
        near, 5,
    )  # fmt: skip
    np.testing.assert_allclose(renamed.doubt, doubts.doubt, rtol=1e-5)
    order = rng.permutation(len(label))
    place = np.argsort(order)
    moved = doubt_labels(
        label[order], HeldOutAnswers(*(part[order] for part in said)), place[near[order]], 5
    )
    np.testing.assert_allclose(moved.doubt, doubts.doubt[order], rtol=1e-5)


@given(st.integers(0, 10_000))
def test_votes_are_counted(seed):
    rng = np.random.default_rng(seed)
    n, k, n_kinds = 12, 5, 4
    label, answer = rng.integers(-1, n_kinds, n), rng.integers(-1, n_kinds, n)
    near = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)])
    own, other, favourite = count_votes(label, near, n_kinds, answer)
    for i in range(n):
        votes = [label[j] for j in near[i]]
        others = [v for v in votes if v >= 0 and v != label[i]]
        most = max((others.count(v) for v in others), default=0)
        assert own[i] == pytest.approx((votes.count(label[i]) + 2 / n_kinds) / (k + 2))
        if most:
            assert others.count(favourite[i]) == most
        else:
            assert favourite[i] == -1
        counted = votes.count(answer[i]) if answer[i] >= 0 and answer[i] != label[i] else most
        assert other[i] == pytest.approx((counted + 2 / n_kinds) / (k + 2))


def test_specimens_without_a_label_are_not_doubted():
    label, said, near, wrong, _ = draw_case(3)
    label[wrong[0]] = -1
    doubts = doubt_labels(label, said, near, 5)
    assert doubts.doubt[wrong[0]] == 0
    assert doubts.other[wrong[0]] == -1
    assert not doubt_labels(np.zeros_like(label), said, near, 1).is_listed.any()


def test_the_only_specimen_of_a_kind_is_not_doubted():
    label, said, near, wrong, _ = draw_case(4)
    label[wrong[0]] = 5
    assert doubt_labels(label, said, near, 6).doubt[wrong[0]] == 0


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=40), st.integers(2, 200))
def test_the_share_of_wrong_labels_is_that_of_the_doubts(evidence, n_kinds):
    doubt = find_posterior(np.array(evidence), n_kinds)
    assert ((doubt >= 0) & (doubt <= 1)).all()
    order = np.argsort(evidence, kind="stable")
    assert (np.diff(doubt[order]) >= 0).all()
    share = np.clip(doubt.mean(), 1e-4, 0.5)
    odds = np.exp(np.array(evidence)) * share / ((1 - share) * (n_kinds - 1))
    np.testing.assert_allclose(doubt, odds / (1 + odds), atol=2e-3)

"""Names that are true of too few: what does not fit leaves, and a name below its floor is none."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.describe import DescribedTree
from fieldguide.guide.tree_evidence import Evidence
from fieldguide.guide.tree_truth import (
    MIN_SEEN_TRUTH,
    MIN_TRUTH,
    find_doubtful,
    join_alike,
    tighten,
)


def make_evidence(scores, *, is_seen=False):
    """Evidence of one word, "red", after one that is true of all, "thing"."""
    alone = np.column_stack([np.ones(len(scores)), scores])
    return Evidence(("thing", "red"), alone, alone, np.array([False, is_seen]), True, False)


def make_tree(labels):
    words = ((), ("thing",), ("red",))
    return DescribedTree(np.array([-1, 0, 1]), words, np.ones(3), np.array(labels))


def test_the_kinds_that_least_fit_a_name_go_one_up_and_no_more_than_needed():
    scores = np.repeat([0.95, 0.9, 0.5, 0.7], 10)
    kinds = [f"{i // 10}" for i in range(40)]
    found = tighten(make_tree([2] * 40), make_evidence(scores), kinds, 3)
    assert found.labels.tolist() == [2] * 20 + [1] * 10 + [2] * 10
    np.testing.assert_allclose(found.truth, [1, 1, 0.85])


def test_what_shows_a_name_less_often_than_not_leaves():
    scores = np.repeat([0.95, 0.3, 0.6], (20, 3, 1))
    kinds = ["a"] * 20 + ["b"] * 3 + ["c"]
    evidence, tree = make_evidence(scores), make_tree([2] * 24)
    for units in (kinds, [None] * 24):
        assert tighten(tree, evidence, units, 3).labels.tolist() == [2] * 20 + [1] * 3 + [2]


def test_colours_must_be_truer():
    scores = np.repeat([0.95, 0.9, 0.7], 10)
    kinds = [f"{i // 10}" for i in range(30)]
    tree = make_tree([2] * 30)
    assert tighten(tree, make_evidence(scores), kinds, 3).labels.tolist() == [2] * 30
    found = tighten(tree, make_evidence(scores, is_seen=True), kinds, 3)
    assert found.labels.tolist() == [2] * 20 + [1] * 10


def test_a_name_that_most_would_have_to_leave_is_not_shown():
    scores = np.repeat([0.95, 0.3], (5, 25))
    tree, evidence = make_tree([2] * 30), make_evidence(scores)
    found = tighten(tree, evidence, [None] * 30, 3)
    assert found.labels.tolist() == [2] * 30
    assert find_doubtful(found, evidence).tolist() == [False, False, True]


def test_what_looks_like_a_branch_goes_there_as_long_as_its_name_stays_true():
    scores = np.array([0.9] * 10 + [0.4, 0.0, 0.3, 0.3])
    near = np.tile(np.arange(5), (14, 1))
    near[12] = [0, 1, 11, 11, 11]  # most of it looks like something else
    near[13] = -1  # it has a kind, and that has its place
    found = join_alike(make_tree([2] * 10 + [1] * 4), make_evidence(scores), near)
    assert found.labels.tolist() == [2] * 11 + [1] * 3
    np.testing.assert_allclose(found.truth[2], 9.4 / 11)
    tree = make_tree([2] * 10 + [0] * 4)  # from the root on, two levels down
    assert join_alike(tree, make_evidence(scores), near).labels.tolist() == [2] * 11 + [1, 0, 0]
    none = np.zeros((14, 0), dtype=int)
    assert join_alike(tree, make_evidence(scores), none).labels.tolist() == tree.labels.tolist()


def test_what_is_not_known_stays_where_it_is():
    scores = np.array([0.9] * 10 + [np.nan] * 5 + [0.1] * 3)
    found = tighten(make_tree([2] * 18), make_evidence(scores), [None] * 18, 3)
    assert found.labels.tolist() == [2] * 15 + [1] * 3


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    is_seen=st.booleans(),
    n_kinds=st.integers(0, 6),
)
def test_after_it_a_name_is_true_enough_or_as_it_was(seed, is_seen, n_kinds):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    evidence = make_evidence(rng.random(n) ** 0.3, is_seen=is_seen)
    tree = make_tree(rng.integers(0, 3, n))
    kinds = [f"{k}" if k else None for k in rng.integers(0, n_kinds + 1, n)]
    found = tighten(tree, evidence, kinds, 3)
    floor = MIN_SEEN_TRUTH if is_seen else MIN_TRUTH
    stayed = found.labels == tree.labels
    assert (found.labels[~stayed] == 1).all()
    assert stayed.all() or found.truth[2] >= floor - 1e-9
    for kind in {kind for kind in kinds if kind}:
        own = evidence.alone[(tree.labels == 2) & (np.array(kinds) == kind), 1]
        gone = found.labels[(tree.labels == 2) & (np.array(kinds) == kind)] == 1
        assert gone.all() or not gone.any()
        assert stayed.all() or gone.all() or own.mean() >= 0.5
    assert 2 * (found.labels == 2).sum() >= (tree.labels == 2).sum()

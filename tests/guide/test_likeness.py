"""Branches of likeness: kinds that sit together, names of what they hold, nothing invented."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.describe import DescribedTree
from fieldguide.features import find_close
from fieldguide.guide.likeness import (
    N_BRANCHES,
    Likeness,
    Names,
    add_likeness,
    find_coherence,
    gather_kinds,
)
from fieldguide.guide.naming import LIKE, listed

quick = settings(max_examples=30, deadline=None)
seeds = st.integers(0, 2**32 - 1)


def make_rows(n_groups, n_each, seed=0):
    """Rows of length 1 in well separated groups."""
    rng = np.random.default_rng(seed)
    middles = np.eye(max(n_groups, 2) + 2)[:n_groups]
    X = np.repeat(middles, n_each, axis=0) + rng.normal(0, 0.05, (n_groups * n_each, n_groups + 2))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def divide(X, kinds, least=3):
    """Divide a collection that no word divides."""
    root = DescribedTree(np.array([-1]), ((),), np.ones(1), np.zeros(len(X), dtype=np.int64))
    shown = {kind: kind.upper() for kind in kinds if kind}
    names = Names(kinds, shown, [f"IMG_{i}" for i in range(len(X))])
    return add_likeness(root, Likeness(X, find_close(X, 10), names), least, 0)


def test_kinds_that_look_alike_share_a_branch_that_lists_them():
    X = make_rows(3, 16)
    kinds = [
        ("ketch", "schooner")[i % 2] if i < 16 else ("owl", "rose")[i // 32] for i in range(48)
    ]
    tree, is_like = divide(X, kinds)
    names = [words[0] for words in tree.words[1:]]
    assert "KETCH and SCHOONER" in names
    assert is_like[1:].all()
    assert not is_like[0]
    assert (tree.labels > 0).all()
    for kind in set(kinds):
        assert len(set(tree.labels[[k == kind for k in kinds]])) == 1
    assert (tree.truth == 1).all()


def test_many_alike_kinds_are_named_by_two_and_divided_again():
    X = make_rows(3, 80)
    kinds = [f"kind {i // 8}" for i in range(240)]  # ten that look the same, three times
    tree, _ = divide(X, kinds)
    likes = [w[0] for w in tree.words[1:] if w[0].startswith(LIKE)]
    assert len(likes) >= 3
    assert all(" and " in name for name in likes)
    assert set(Counter(tree.labels)) <= {v for v in range(len(tree.parent)) if v}
    assert max(Counter(tree.parent[1:].tolist()).values()) <= N_BRANCHES


def test_pictures_without_a_kind_are_named_by_the_most_typical_one():
    X = make_rows(3, 20)
    tree, is_like = divide(X, [None] * 60)
    assert is_like.sum() >= 3
    assert (tree.labels > 0).all()
    for v in range(1, len(tree.parent)):
        rows = np.flatnonzero(tree.labels == v)
        assert len(set(rows // 20)) == 1
        typical = rows[(X[rows] @ X[rows].mean(axis=0)).argmax()]
        assert tree.words[v] == (f"like IMG_{typical}",)
        assert tree.truth[v] > 0.7


def test_what_is_not_alike_is_no_branch():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 40)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    tree, is_like = divide(X, [None] * 80)
    assert all(tree.truth[is_like] >= 0.75)
    assert is_like.sum() <= 1


def test_a_branch_of_one_kind_is_not_divided_again():
    words = DescribedTree(np.array([-1, 0]), ((), ("bird",)), np.ones(2), np.ones(30, np.int64))
    X = make_rows(2, 15)
    names = Names(["owl"] * 30, {}, ["x"] * 30)
    tree, _ = add_likeness(words, Likeness(X, find_close(X, 10), names), 3, 0)
    assert tree.parent.tolist() == [-1, 0]


@quick
@given(seeds, st.integers(2, 40))
def test_every_specimen_stays_below_its_branch_in_words(seed, n):
    rng = np.random.default_rng(seed)
    parent = np.array([-1, 0, 1, 0])
    labels = rng.integers(0, 4, n)
    words = DescribedTree(parent, ((), ("a",), ("b",), ("c",)), np.ones(4), labels)
    X = rng.normal(size=(n, 6)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    kinds = [rng.choice(["p", "q", "r", None]) for _ in range(n)]
    names = Names(kinds, {}, [str(i) for i in range(n)])
    tree, is_like = add_likeness(words, Likeness(X, find_close(X, 10), names), 3, 0)
    for i in range(n):
        node = int(tree.labels[i])
        while is_like[node]:
            node = int(tree.parent[node])
        assert tree.words[node] == words.words[labels[i]]
    assert [w for w, like in zip(tree.words, is_like, strict=True) if not like] == list(words.words)


def test_strays_go_home_and_a_kind_that_a_word_divides_stays_divided():
    parent = np.array([-1, 0, 0, 2])  # 1: a, 2: b, 3: b > c
    kinds = ["owl"] * 10 + ["wren"] * 10 + [None] * 2
    labels = np.array([1] * 8 + [0, 2] + [2] * 4 + [3] * 4 + [1, 0] + [0, 3])
    found = gather_kinds(parent, labels, kinds)
    assert found[:10].tolist() == [1] * 10
    assert found[10:18].tolist() == labels[10:18].tolist()
    assert found[18:20].tolist() == [2, 2]
    assert found[20:].tolist() == [0, 3]


def test_coherence_is_the_share_with_most_neighbours_inside():
    near = np.array([[1, 2], [0, 2], [0, 3], [4, 5], [3, 5], [3, 4]])
    everyone = np.arange(6)
    assert find_coherence(np.array([0, 1, 2]), near, everyone) == pytest.approx(2 / 3)
    assert find_coherence(np.array([0, 3]), near, everyone) == 0
    assert find_coherence(np.array([0, 1]), np.empty((2, 0), int), everyone[:2]) == 1


def test_nearest_ones_that_a_word_put_elsewhere_do_not_count():
    near = np.array([[1, 2, 6, 7], [0, 2, 6, 7], [0, 1, 6, 7], [4, 5, 6, 7]])
    own, others = np.array([0, 1, 2]), np.array([6, 7])
    assert find_coherence(own, near, own) == 1
    assert find_coherence(own, near, np.append(own, others)) == 1
    assert find_coherence(np.array([0, 1]), near, np.append(own, others)) == 0
    assert find_coherence(np.array([0, 3]), near, np.arange(4)) == 0


def test_a_branch_that_is_not_like_what_it_would_be_named_after_is_none():
    X = make_rows(20, 12)  # at right angles to each other: no kind is like another
    kinds = [f"kind {i // 12}" for i in range(240)]
    tree, is_like = divide(X, kinds)
    assert is_like[1:].all()
    assert not any(words[0].startswith(LIKE) for words in tree.words[1:])
    for kind in set(kinds):
        assert len(set(tree.labels[[k == kind for k in kinds]])) == 1


def test_a_kind_of_all_sorts_names_no_branch():
    rng = np.random.default_rng(0)
    alike = np.zeros((60, 8)) + np.eye(8)[0] + rng.normal(0, 0.08, (60, 8))
    sorts = np.eye(8)[0] * 0.8 + rng.normal(0, 0.4, (30, 8))
    X = np.concatenate([alike, sorts]).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    kinds = [f"kind {i // 12}" for i in range(60)] + ["sorts"] * 30
    tree, _ = divide(X, kinds)
    assert [words[0] for words in tree.words[1:] if words[0].startswith(LIKE)] == []


def test_names_are_listed_as_people_do():
    assert [listed(list("abc")[:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


def test_near_ones_are_the_nearest():
    X = make_rows(4, 10)
    near = find_close(X, 5)
    likeness = X @ X.T
    np.fill_diagonal(likeness, -9)
    for i in range(40):
        assert set(near[i]) == set(np.argsort(-likeness[i])[:5])
    assert find_close(X[:1], 5).shape == (1, 0)


def test_one_group_that_is_most_of_its_branch_is_not_said_again():
    rng = np.random.default_rng(4)
    alike = np.eye(40)[0] + rng.normal(0, 0.02, (40, 40))
    X = np.concatenate([alike, rng.normal(size=(16, 40))]).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    words = DescribedTree(np.array([-1, 0]), ((), ("bird",)), np.ones(2), np.ones(56, np.int64))
    names = Names([None] * 56, {}, [f"IMG_{i}" for i in range(56)])
    tree, _ = add_likeness(words, Likeness(X, find_close(X, 10), names), 3, 0)
    assert tree.parent.tolist() == [-1, 0]

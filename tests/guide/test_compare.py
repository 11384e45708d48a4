"""Two trees of the same specimens: pairs of branches, and what moved."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.collection import Collection
from fieldguide.errors import GuideError
from fieldguide.guide import Guide
from fieldguide.guide.compare import (
    LEAST_LIKENESS,
    compare_guides,
    compare_trees,
    describe_comparison,
    share_specimens,
)


@st.composite
def trees(draw, n_rows):
    n_nodes = draw(st.integers(1, 7))
    parent = [-1]
    path = [0]
    for node in range(1, n_nodes):  # pre-order: a child of any node on the path to the last
        above = draw(st.integers(0, len(path) - 1))
        parent.append(path[above])
        path = [*path[: above + 1], node]
    labels = draw(st.lists(st.integers(0, n_nodes - 1), min_size=n_rows, max_size=n_rows))
    return parent, labels


def holds(parent, labels, node):
    def is_inside(v):
        while v not in (node, -1):
            v = parent[v]
        return v == node

    return {row for row, v in enumerate(labels) if is_inside(v)}


def test_a_renamed_tree_is_the_same_tree():
    parent, labels = [-1, 0, 1, 0], [1, 2, 2, 3, 3, 0]
    pairs, moves = compare_trees(parent, labels, [-1, 0, 0, 2], [2, 3, 3, 1, 1, 0])
    assert moves == []
    assert {(p.first, p.second) for p in pairs} == {(0, 0), (1, 2), (2, 3), (3, 1)}
    assert all(p.n_first == p.n_second == p.n_both for p in pairs)


def test_one_specimen_that_changes_its_branch():
    parent = [-1, 0, 0]
    first, second = [1, 1, 1, 2, 2, 2], [1, 1, 2, 2, 2, 2]
    pairs, moves = compare_trees(parent, first, parent, second)
    assert [(m.first, m.second, m.rows) for m in moves] == [(1, 2, (2,))]
    assert [(p.n_first, p.n_second, p.n_both) for p in pairs] == [(6, 6, 6), (3, 2, 2), (3, 4, 3)]


def test_a_finer_tree_moves_nobody():
    pairs, moves = compare_trees(
        [-1, 0], [1] * 6 + [0] * 2, [-1, 0, 1, 1], [2] * 3 + [3] * 3 + [0] * 2
    )
    assert moves == []
    assert [p.second for p in pairs if p.first is None] == [2, 3]


@given(st.data())
def test_what_always_holds(data):
    n = data.draw(st.integers(1, 12))
    (parent_1, labels_1), (parent_2, labels_2) = data.draw(trees(n)), data.draw(trees(n))
    pairs, moves = compare_trees(parent_1, labels_1, parent_2, labels_2)
    assert sum(len(m.rows) for m in moves) <= n
    rows = [row for m in moves for row in m.rows]
    assert len(rows) == len(set(rows))
    assert all((labels_1[r], labels_2[r]) == (m.first, m.second) for m in moves for r in m.rows)
    assert sorted(p.first for p in pairs if p.first is not None) == list(range(len(parent_1)))
    assert sorted(p.second for p in pairs if p.second is not None) == list(range(len(parent_2)))
    total = 0.0
    for pair in pairs:
        if None not in (pair.first, pair.second):
            one, other = (
                holds(parent_1, labels_1, pair.first),
                holds(parent_2, labels_2, pair.second),
            )
            assert (pair.n_first, pair.n_second, pair.n_both) == (
                len(one), len(other), len(one & other),
            )  # fmt: skip
            if pair.first:
                likeness = len(one & other) / max(len(one | other), 1)
                assert likeness >= LEAST_LIKENESS
                total += likeness
    # No other pairing of the branches is better: by trying all of them, where there are few.
    small, large = sorted((len(parent_1) - 1, len(parent_2) - 1))
    if large <= 4:
        swap = len(parent_1) > len(parent_2)
        sides = [(parent_2, labels_2), (parent_1, labels_1)] if swap else [
            (parent_1, labels_1), (parent_2, labels_2)]  # fmt: skip
        best = 0.0
        for chosen in itertools.permutations(range(1, large + 1), small):
            likenesses = []
            for a, b in enumerate(chosen, start=1):
                one, other = holds(*sides[0], a), holds(*sides[1], b)
                likenesses.append(len(one & other) / max(len(one | other), 1))
            best = max(best, sum(likenesses))
        kept = total + LEAST_LIKENESS * small  # pairs that are too unlike are dropped afterwards
        assert total <= best + 1e-9
        assert best <= kept + 1e-9


def test_specimens_are_the_same_by_their_digest():
    assert share_specimens(list("abca"), list("xaac")) == [(0, 1), (2, 3), (3, 2)]
    assert share_specimens(["a"], ["b"]) == []


def test_two_guides_of_one_collection(small_guide, worded_guide):
    comparison = compare_guides(small_guide, worded_guide)
    assert len(comparison.shared) == 24
    for i, j in comparison.shared:
        assert small_guide.digests[i] == worded_guide.digests[j]
    # The tree is grown from words, which both have, and not from the features that differ.
    assert comparison.n_moved == 0
    assert "24 specimens in common" in describe_comparison(small_guide, worded_guide, comparison)
    assert "0 specimens (0%) moved" in describe_comparison(small_guide, worded_guide, comparison)


def test_guides_without_a_common_image_are_refused(small_guide, tmp_path):
    grey = [np.full((40, 40, 3), v, dtype=np.uint8) for v in (90, 120)]
    other = Guide.build(
        Collection.from_arrays(grey), tmp_path / "other", n_jobs=1, marks=False, places=False
    )
    with pytest.raises(GuideError, match="have no image in common"):
        compare_guides(small_guide, other)

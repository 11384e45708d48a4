"""Branches are found again in another tree by the specimens that they hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.guide.edits.branches import LEAST_SHARED, SAMPLE, TreeIndex
from fieldguide.guide.edits.hand import BEGINNING


def make_digests(n, seed=0):
    rng = np.random.default_rng(seed)
    return ["".join(f"{b:02x}" for b in rng.bytes(12)) for _ in range(n)]


@st.composite
def trees(draw, n):
    """A tree in pre-order, and a place for each specimen."""
    parents = [None]
    path = [0]
    for v in range(1, draw(st.integers(2, 7))):
        path = path[: draw(st.integers(1, len(path)))]
        parents.append(path[-1])
        path.append(v)
    places = draw(st.lists(st.integers(0, len(parents) - 1), min_size=n, max_size=n))
    return parents, places


def members(parents, places, branch):
    """The specimens at a branch and below, the slow way."""

    def is_below(v):
        return v == branch or (parents[v] is not None and is_below(parents[v]))

    return {i for i, place in enumerate(places) if is_below(place)}


N = 12


@given(trees(N), trees(N))
def test_the_branch_that_shares_most_is_found(one, two):
    digests = make_digests(N)
    old = TreeIndex(one[0], [f"old {v}" for v in range(len(one[0]))], one[1], digests)
    new = TreeIndex(two[0], [f"new {v}" for v in range(len(two[0]))], two[1], digests)
    for branch in range(1, len(one[0])):
        own = members(*one, branch)
        target = old.describe(branch)
        assert target.count == len(own)
        assert set(target.specimens) == {digests[i][:BEGINNING] for i in own}
        if not own:
            continue
        shared = {
            v: len(own & held) / len(own | held)
            for v in range(1, len(two[0]))
            for held in [members(*two, v)]
        }
        found = new.find(target)
        if max(shared.values()) >= LEAST_SHARED:
            assert shared[found] == max(shared.values())
        else:
            assert found is None


def test_of_a_large_branch_a_sample_is_enough():
    n = 4000
    digests = make_digests(n)
    places = [1 + (i % 3) for i in range(n)]
    old = TreeIndex([None, 0, 0, 0], ["", "a", "b", "c"], places, digests)
    target = old.describe(2)
    assert len(target.specimens) == SAMPLE < target.count
    moved = [3 if place == 2 and i % 10 else place for i, place in enumerate(places)]
    moved = [2 if place == 3 and i % 3 == 2 else place for i, place in enumerate(moved)]
    new = TreeIndex([None, 0, 0, 0], ["", "x", "y", "z"], moved, digests)
    assert new.find(target) == 3  # nine in ten of its specimens are there
    assert len(old.describe(2, is_whole=True).specimens) == target.count


@pytest.mark.parametrize(("name", "found"), [("b", 2), ("nothing", None)])
def test_a_branch_that_lost_most_is_known_by_its_words(name, found):
    digests = make_digests(30)
    old = TreeIndex([None, 0], ["", name], [1] * 10 + [0] * 20, digests)
    places = [2] * 3 + [1] * 3 + [3] * 4 + [1] * 10 + [3] * 10  # in three, none with half of it
    new = TreeIndex([None, 0, 0, 0], ["", "a", "b", "c"], places, digests)
    assert new.find(old.describe(1)) == found

"""One tree of many: it is what most say, and nothing that none says."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.describe import DescribedTree
from fieldguide.guide.tree_consensus import find_consensus, find_ways


def make_tree(parent, words, labels):
    named = tuple((word,) if word else () for word in words)
    return DescribedTree(np.array(parent), named, np.ones(len(parent)), np.array(labels))


def test_of_equal_trees_it_is_the_tree():
    tree = make_tree([-1, 0, 1, 0], ["", "animal", "bird", "car"], [1, 1, 1, 2, 2, 3, 3, 0])
    found = find_consensus([tree, tree, tree], 2)
    assert find_ways(found) == find_ways(tree)
    assert found.labels.tolist() == tree.labels.tolist()


def test_a_specimen_goes_where_most_put_it_whatever_the_numbers_of_branches_are():
    one = make_tree([-1, 0, 0], ["", "animal", "car"], [1, 1, 1, 2, 2, 2])
    two = make_tree([-1, 0, 0], ["", "car", "animal"], [2, 2, 2, 1, 1, 2])
    three = make_tree([-1, 0], ["", "animal"], [1, 1, 1, 0, 0, 1])
    found = find_consensus([one, two, three], 2)
    ways = find_ways(found)
    assert [ways[v] for v in found.labels] == [("animal",)] * 3 + [("car",)] * 2 + [("animal",)]


def test_what_most_leave_where_it_is_stays_and_a_small_branch_is_none():
    one = make_tree([-1, 0, 1], ["", "animal", "bird"], [1, 2, 2, 2, 0])
    two = make_tree([-1, 0, 1], ["", "animal", "bird"], [1, 1, 2, 2, 0])
    three = make_tree([-1, 0, 1], ["", "animal", "owl"], [1, 1, 2, 1, 0])
    found = find_consensus([one, two, three], 2)
    assert find_ways(found) == [(), ("animal",), ("animal", "bird")]
    assert found.labels.tolist() == [1, 1, 2, 2, 0]
    assert find_ways(find_consensus([one, two, three], 3)) == [(), ("animal",)]


def test_a_branch_has_the_words_that_most_give_it():
    names = [("bird", "small"), ("bird",), ("bird", "small")]
    trees = [
        DescribedTree(np.array([-1, 0]), ((), name), np.ones(2), np.array([1, 1, 0]))
        for name in names
    ]
    assert find_consensus(trees, 1).words == ((), ("bird", "small"))


def test_what_looks_alike_goes_together_where_samples_do_not_agree():
    one = make_tree([-1, 0, 0], ["", "animal", "car"], [1, 1, 1, 2, 2, 2, 0])
    two = make_tree([-1, 0, 0], ["", "animal", "car"], [1, 1, 2, 2, 2, 2, 0])
    near = np.array([[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4], [-1, -1]])
    assert tell_first([two, two, one], None) == ["animal"] * 2 + ["car"] * 4 + [""]
    assert tell_first([two, two, one], near) == ["animal"] * 3 + ["car"] * 3 + [""]
    near[6] = [0, 1]  # and what no sample has a word for goes with what it looks like
    assert tell_first([two, two, one], near) == ["animal"] * 3 + ["car"] * 3 + ["animal"]


def tell_first(trees, near):
    found = find_consensus(trees, 2, near)
    return ["".join(found.words[v]) for v in found.labels]


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_trees=st.integers(1, 5), least=st.integers(1, 4))
def test_every_specimen_is_where_some_tree_has_it_or_what_looks_like_it(seed, n_trees, least):
    rng = np.random.default_rng(seed)
    n = 12
    trees = []
    for _ in range(n_trees):
        parent, words = [-1], [""]
        for v in range(1, int(rng.integers(1, 7))):
            parent.append(int(rng.integers(0, v)))
            words.append("abc"[int(rng.integers(0, 3))] + str(v))
        labels = rng.integers(0, len(parent), n)
        trees.append(make_tree(parent, words, labels))
    near = rng.integers(-1, n, (n, 3)) if seed % 2 else np.full((n, 0), -1)
    found = find_consensus(trees, least, near)
    ways = find_ways(found)
    assert len(set(ways)) == len(ways)
    assert (found.parent < np.arange(len(ways))).all()
    for i in range(n):
        mine = ways[found.labels[i]]
        alike = [i, *near[i][near[i] >= 0]]
        assert any(find_ways(t)[t.labels[j]][: len(mine)] == mine for t in trees for j in alike)
    for v in range(1, len(ways)):
        below = [k for k, way in enumerate(ways) if way[: len(ways[v])] == ways[v]]
        assert np.isin(found.labels, below).sum() >= least

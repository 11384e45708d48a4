"""Plans of graphs, splits of classes, and two groups by normalised cuts."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fieldguide.identify.bipartition import bipartition
from fieldguide.identify.growing import Split, ask_node, children, grow
from fieldguide.identify.normalized_cut_tree import decide_classes
from fieldguide.svm import Problems


def normalised_cut(A, second):
    cut = A[np.ix_(second, ~second)].sum()
    return cut / A[second].sum() + cut / A[~second].sum()


@pytest.mark.parametrize("n", [2, 3, 30, 450])
def test_two_blocks_are_found(n, seed):
    rng = np.random.default_rng(seed)
    block = np.arange(n) % 2 == 0
    A = np.where(block[:, None] == block, 1.0, 0.05) * rng.uniform(0.5, 1, (n, n))
    A = (A + A.T) / 2
    found = bipartition(A)
    assert (found == block).all() or (found != block).all()


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 8))
def test_cuts_are_near_the_best(seed, n):
    """The spectral cut against every cut; the relaxation is not exact, but never far off."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    distance = ((points[:, None] - points) ** 2).sum(axis=-1)
    A = np.exp(-distance)
    found = bipartition(A)
    assert 0 < found.sum() < n
    every = (
        np.array(choice)
        for choice in itertools.product([False, True], repeat=n)
        if 0 < sum(choice) < n
    )
    assert normalised_cut(A, found) <= 1.5 * min(normalised_cut(A, cut) for cut in every) + 1e-9


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 30))
def test_the_smaller_group_can_be_asked_for(seed, n):
    A = np.random.default_rng(seed).random((n, n)) ** 8
    second = bipartition(A + A.T, 0.3)
    assert min(second.sum(), n - second.sum()) >= max(1, int(0.3 * n))


def random_split(rng):
    def split(classes):
        colors = rng.integers(-1, 2, len(classes)).astype(np.int8)
        a, b = rng.choice(len(classes), 2, replace=False)
        colors[a], colors[b] = -1, 1
        return Split(colors)

    return split


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 9))
def test_every_class_is_reached_along_its_own_sides(seed, n):
    rng = np.random.default_rng(seed)
    plan, _ = grow(n, random_split(rng), random_split(rng), max_nodes=10**6)
    assert len(set(plan.sets)) == len(plan.sets)
    colors = plan.colors()
    for c in range(n):
        front = [0] if n > 1 else []
        while front:
            node = front.pop()
            assert colors[node, c] in (-1, 0, 1)
            sides = {-1: [plan.left], 1: [plan.right], 0: [plan.left, plan.right]}
            for side in sides[int(colors[node, c])]:
                child = int(side[node])
                if child >= 0:
                    assert child > node
                    assert c in plan.sets[child]
                    front.append(child)
                else:
                    assert plan.leaves[-1 - child] == (c,)
    for node, (classes, split) in enumerate(zip(plan.sets, plan.splits, strict=True)):
        for child, end in zip(
            children(classes, split), (plan.left[node], plan.right[node]), strict=True
        ):
            assert (plan.sets[end] if end >= 0 else (-1 - end,)) == child


def random_halves(rng):
    def halves(classes):
        colors = np.where(rng.random(len(classes)) < 0.5, -1, 1).astype(np.int8)
        colors[0], colors[-1] = -1, 1
        return Split(colors)

    return halves


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 14), max_nodes=st.integers(1, 120))
def test_there_are_never_more_nodes_than_the_cap(seed, n, max_nodes):
    rng = np.random.default_rng(seed)
    free, _ = grow(n, random_split(np.random.default_rng(seed)), random_split(rng), max_nodes=10**6)
    plan, is_capped = grow(
        n, random_split(np.random.default_rng(seed)), random_halves(rng), max_nodes=max_nodes
    )
    assert len(plan.sets) <= max(max_nodes, n - 1)
    assert {c for leaf in plan.leaves for c in leaf} == set(range(n))
    assert all(len(leaf) == 1 for leaf in plan.leaves)
    if not is_capped:
        assert plan.sets == free.sets


def test_the_cap_is_used_from_the_root_on():
    def relaxed(classes):
        colors = np.zeros(len(classes), dtype=np.int8)
        colors[0], colors[-1] = -1, 1
        return Split(colors)

    halves = random_halves(np.random.default_rng(0))
    plan, is_capped = grow(12, relaxed, halves, max_nodes=66)
    assert len(plan.sets) == 66
    assert not is_capped
    plan, is_capped = grow(12, relaxed, halves, max_nodes=21)
    assert is_capped
    assert (plan.colors()[0] == 0).sum() == 10  # 1 node, and two sets of 11 classes with 10 each
    assert (plan.colors()[1:] != 0).all()


def test_a_depth_ends_the_growth_in_sets():
    def halves(classes):
        return Split(np.where(np.arange(len(classes)) < len(classes) // 2, -1, 1).astype(np.int8))

    plan, _ = grow(10, halves, halves, max_nodes=100, max_depth=2)
    assert plan.leaves == [(0, 1), (2, 3, 4), (5, 6), (7, 8, 9)]
    assert len(plan.sets) == 3
    plan, _ = grow(3, halves, halves, max_nodes=100, max_depth=9)
    assert plan.leaves == [(0,), (1,), (2,)]


def test_threads_change_nothing():
    def split(classes):
        return random_split(np.random.default_rng(sum(classes)))(classes)

    one, two = (grow(9, split, split, max_nodes=10**6, n_jobs=n)[0] for n in (1, 2))
    assert one.sets == two.sets
    np.testing.assert_array_equal(one.colors(), two.colors())


def test_a_question_holds_the_decided_rows():
    question = ask_node(np.array([-1, 0, 1, 2]), np.array([0, 1, 2, 3, 2]))
    assert question.rows.tolist() == [0, 2, 4]
    assert question.sign.tolist() == [-1, 1, 1]


@pytest.mark.parametrize(
    ("share", "alpha", "expected"),
    [
        ([0.0, 1.0, 0.5], 0.5, [-1, 1, 0]),
        ([0.0, 1.0, 0.7], 1.0, [-1, 1, 1]),
        ([0.2, 0.9, 0.5], 0.1, [-1, 1, 0]),
        ([0.6, 0.7, 0.9], 1.0, [-1, 1, 1]),
        ([0.5, 0.5, 0.5], 0.5, [-1, 0, 1]),
    ],
)
def test_classes_are_decided_by_their_shares(share, alpha, expected):
    assert decide_classes(np.array(share), alpha).colors.tolist() == expected


def test_mean_products_and_affinities_are_those_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    X, index = rng.normal(size=(20, 3)), np.arange(20) % 3
    means = np.stack([X[index == c].mean(axis=0) for c in range(3)])
    expected = means @ means.T
    np.testing.assert_allclose(Problems(X).mean_products(index, 3), expected, atol=1e-9)
    gram = Problems(X @ X.T, "precomputed")
    np.testing.assert_allclose(gram.mean_products(index, 3), expected, atol=1e-9)
    distance = ((X[:5, None] - X[:5]) ** 2).sum(axis=-1)
    for problems in (Problems(X), gram):
        found = problems.affinity(np.arange(5))
        np.testing.assert_allclose(found, np.exp(-distance / distance.mean()), atol=1e-9)

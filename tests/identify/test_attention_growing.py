"""The growing of attention trees, against a slow version and by what must always hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.identify.test_boosting import to_binned
from tests.reference import slow_attention_tree

from fieldguide.errors import InvalidArgument
from fieldguide.identify.attention_growing import (
    CAPPED,
    DEEP,
    FEW,
    PURE,
    STALLED,
    UNPARTED,
    grow_attention_tree,
    route,
)
from fieldguide.identify.binning import bin_features
from fieldguide.svm import Problems

SETTINGS = {"n_rounds": 4, "gamma": 0.48}
SETTINGS |= {"max_depth": 6, "min_samples": 2, "max_kept": 0.9}


def draw_kinds(seed, n_classes, per_class=6, d=5, noise=0.6):
    rng = np.random.default_rng(seed)
    index = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    centres = rng.normal(size=(n_classes, d))
    return centres[index] + rng.normal(0, noise, (len(index), d)), index


def draw_crossing_points(n=3000, n_lines=24, seed=0):
    """The picture of the paper's Figure 2: a far group of class 0, and a crowd of both.

    Class 1 is a band through the crowd. Features are the position and the signed distance to
    lines in all directions.
    """
    rng = np.random.default_rng(seed)
    far = rng.normal([6.0, 0.0], 0.6, (n // 3, 2))
    crowd = rng.normal(0, 1.2, (n - n // 3, 2))
    points = np.concatenate([far, crowd])
    is_band = np.abs(points[:, 1] - 0.5 * np.sin(2 * points[:, 0])) < 1.4
    index = (is_band & (np.arange(n) >= n // 3)).astype(int)
    angle = np.pi * np.arange(n_lines) / n_lines
    normals = np.stack([np.cos(angle), np.sin(angle)])
    offsets = rng.uniform(-1, 1, n_lines)
    return points, np.hstack([points, points @ normals - offsets]), index


def assert_same(first, second):
    for name in first._fields:
        ours, theirs = getattr(first, name), getattr(second, name)
        if name == "leaf_counts":
            ours, theirs = ours.toarray(), theirs.toarray()
        np.testing.assert_array_equal(ours, theirs, name)


def assert_agrees(tree, number, slow, n_classes, classes):
    """Compare a node of a tree, and all below it, with one of the slow version."""
    assert tree.rows_of(number).tolist() == slow["rows"]
    if number < 0:
        assert "left" not in slow
        assert tree.leaf_depth[-1 - number] == slow["depth"]
        count = np.bincount(classes[slow["rows"]], weights=slow["raw"], minlength=n_classes)
        np.testing.assert_allclose(tree.leaf_counts[[-1 - number]].toarray()[0], count, rtol=1e-14)
        return 1
    own = slice(tree.start[number], tree.start[number + 1])
    assert tree.depth[number] == slow["depth"]
    assert tree.labels[own].tolist() == slow["labels"]
    np.testing.assert_allclose(tree.weights[own], slow["weights"], rtol=1e-14)
    return 1 + sum(
        assert_agrees(tree, int(child), slow[side], n_classes, classes)
        for child, side in ((tree.left[number], "left"), (tree.right[number], "right"))
    )


def assert_sound(tree, index, n_classes, delta):
    """What must hold for every tree."""
    n = len(index)
    assert set(tree.rows_of(0 if tree.n_nodes else -1).tolist()) == set(range(n))
    assert set(tree.leaf_rows.tolist()) == set(range(n))  # every row reaches a leaf
    numbers = sorted([*tree.left.tolist(), *tree.right.tolist()])
    inner = list(range(1, tree.n_nodes))
    assert numbers == [*range(-tree.n_leaves, 0), *inner] or not tree.n_nodes
    for node in range(tree.n_nodes):
        rows, (decided, sides, _), hard = (
            *(tree.rows_of(node), tree.question(node)),
            tree.hard_rows(node),
        )
        assert len(set(rows.tolist())) == len(rows)
        assert set(decided.tolist()).isdisjoint(hard.tolist())
        assert len(decided) + len(hard) == len(rows)
        assert set(sides.tolist()) == {-1.0, 1.0}
        assert min(tree.left[node], tree.right[node]) < 0 or tree.left[node] > node
        for child, side in ((tree.left[node], -1), (tree.right[node], 1)):
            goes = np.concatenate([decided[sides == side], hard])
            assert sorted(tree.rows_of(int(child)).tolist()) == sorted(goes.tolist())
        weights = tree.weights[tree.start[node] : tree.start[node + 1]]
        assert weights.sum() == pytest.approx(1)
        assert (weights > 0).all()
        assert delta > 0.5 or not len(hard)
    for leaf in range(tree.n_leaves):
        is_pure = len(np.unique(index[tree.rows_of(-1 - leaf)])) == 1
        assert is_pure == (tree.leaf_cause[leaf] == PURE)
        assert (tree.leaf_counts[[leaf]].toarray()[0] > 0).sum() == len(
            np.unique(index[tree.rows_of(-1 - leaf)])
        )
    assert tree.leaf_counts.shape == (tree.n_leaves, n_classes)


# ---- against the slow version ----


@pytest.mark.parametrize("delta", [0.5, 0.6, 0.8])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_every_node_is_that_of_the_slow_version(n_classes, delta):
    X, index = draw_kinds(n_classes, n_classes, per_class=40 // n_classes, noise=2.0)
    binned = bin_features(X)
    settings = {**SETTINGS, "delta": delta, "n_rounds": 8, "max_kept": 1.0}
    tree = grow_attention_tree(binned, index, n_classes, **settings)
    slow = slow_attention_tree.grow(binned.levels.tolist(), index.tolist(), n_classes, **settings)
    n_compared = assert_agrees(tree, 0, slow, n_classes, index)
    assert n_compared == tree.n_nodes + tree.n_leaves
    assert tree.n_nodes >= 3
    assert (delta > 0.5) == (0 in tree.labels)


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12
    ),
    st.sampled_from([0.5, 0.55, 0.7, 0.9]),
    st.sampled_from([2, 4]),
)
def test_small_trees_with_equal_rows_and_rare_classes(rows, delta, n_classes):
    table = np.array(rows)
    levels, index = table[:, :2], table[:, 2] % n_classes
    settings = {**SETTINGS, "delta": delta}
    tree = grow_attention_tree(to_binned(levels), index, n_classes, **settings)
    assert_sound(tree, index, n_classes, delta)
    slow = slow_attention_tree.grow(levels.tolist(), index.tolist(), n_classes, **settings)
    assert_agrees(tree, 0 if tree.n_nodes else -1, slow, n_classes, index)


# ---- routes ----


def test_route_labels_and_weights():
    routed = route(np.array([0.0, 0.39, 0.41, 0.5, 0.6, 0.61, 1.0]), 0.6)
    assert routed.labels.tolist() == [-1, -1, 0, 0, 0, 1, 1]
    np.testing.assert_allclose(routed.left, [1, 1, 0.59, 0.5, 0.4, 0, 0])
    np.testing.assert_allclose(routed.right, [0, 0, 0.41, 0.5, 0.6, 1, 1])


@given(st.lists(st.floats(0, 1), min_size=1), st.floats(0.5, 1))
def test_route_of_any_probability(p, delta):
    p = np.array(p)
    labels, left, right = route(p, delta)
    np.testing.assert_array_equal(labels[p > delta], 1)
    np.testing.assert_array_equal(labels[1 - p > delta], -1)
    if delta == 0.5:
        np.testing.assert_array_equal(labels, np.where(p >= 0.5, 1, -1))
    np.testing.assert_array_equal(left[labels > 0], 0)
    np.testing.assert_array_equal(right[labels < 0], 0)
    np.testing.assert_allclose(left + right, 1)


def test_everyone_goes_both_ways_as_delta_nears_1():
    p = np.random.default_rng(0).uniform(0.01, 0.99, 200)
    n_hard = [np.count_nonzero(route(p, delta).labels == 0) for delta in (0.5, 0.7, 0.9, 0.995)]
    assert n_hard[0] == 0
    assert n_hard == sorted(n_hard)
    assert n_hard[-1] == 200


def test_children_may_receive_rows_as_the_svm_says(seed):
    X, index = draw_kinds(seed, 5, per_class=12, noise=0.9)
    problems = Problems(X)
    asked = []

    def decide(question, rows):
        asked.append((question, rows))
        trained = problems.solve([question], C=1.0)
        return 1 / (1 + np.exp(-4 * problems.evaluate(trained, rows)[:, 0]))

    tree = grow_attention_tree(bin_features(X), index, 5, delta=0.6, decide=decide, max_depth=4)
    assert tree.n_nodes > 3
    n_other = 0
    for question, rows in list(asked):
        node = next((j for j in range(tree.n_nodes) if np.array_equal(tree.rows_of(j), rows)), None)
        if node is None:
            continue
        np.testing.assert_array_equal(tree.question(node).rows, question.rows)
        np.testing.assert_array_equal(tree.question(node).sign, question.sign)
        labels = route(decide(question, rows), 0.6).labels
        for child, goes in ((tree.left[node], labels <= 0), (tree.right[node], labels >= 0)):
            np.testing.assert_array_equal(tree.rows_of(int(child)), rows[goes])
        n_other += np.count_nonzero(labels != tree.labels[tree.start[node] : tree.start[node + 1]])
    assert n_other > 0  # else nothing was shown


# ---- ends ----


def test_one_class_is_one_leaf():
    tree = grow_attention_tree(to_binned([[0], [1], [2]]), np.zeros(3, int), 1)
    assert (tree.n_nodes, tree.leaf_cause.tolist(), tree.leaf_depth.tolist()) == (0, [PURE], [1])
    assert tree.leaf_counts.toarray().tolist() == [[3.0]]


def test_equal_rows_of_two_classes_are_one_leaf():
    tree = grow_attention_tree(to_binned(np.full((4, 2), 3)), np.array([0, 1, 2, 2]), 3)
    assert tree.leaf_cause.tolist() == [UNPARTED]
    assert tree.leaf_counts.toarray().tolist() == [[1.0, 1.0, 2.0]]
    for n_classes in (2, 3):
        tree = grow_attention_tree(to_binned([[0, 1]] * 4), np.array([0, 1, 1, 0]), n_classes)
        assert tree.leaf_cause.tolist() == [UNPARTED]


def test_classes_of_one_row_and_more_classes_than_rows():
    levels = np.arange(7)[:, None] * np.array([[1, 2]])
    index = np.array([11, 3, 5, 0, 9, 2, 8])
    tree = grow_attention_tree(to_binned(levels), index, 12, min_samples=1)
    assert tree.n_leaves == 7
    assert (tree.leaf_cause == PURE).all()
    assert sorted(tree.leaf_counts.indices.tolist()) == sorted(index.tolist())


def test_exclusive_or_has_no_stump():
    binned = to_binned([[0, 0], [0, 1], [1, 0], [1, 1]])
    tree = grow_attention_tree(binned, np.array([0, 1, 1, 0]), 2)
    assert tree.leaf_cause.tolist() == [UNPARTED]


def test_depth_and_sizes_end_the_growing():
    X, index = draw_kinds(1, 8, per_class=10)
    binned = bin_features(X)
    for max_depth in (0, 1, 2):
        tree = grow_attention_tree(binned, index, 8, max_depth=max_depth)
        assert tree.leaf_depth.max() == max_depth + 1
        assert DEEP in tree.leaf_cause
        assert not tree.is_capped
    tree = grow_attention_tree(binned, index, 8, min_samples=15, delta=0.7)
    sizes = np.diff(tree.leaf_start)
    assert FEW in tree.leaf_cause
    assert (sizes[tree.leaf_cause == FEW] < 15).all()
    assert (np.diff(tree.start) >= 15).all()


def test_the_cap_on_nodes_says_so():
    X, index = draw_kinds(2, 8, per_class=10)
    binned = bin_features(X)
    whole = grow_attention_tree(binned, index, 8, delta=0.7)
    assert not whole.is_capped
    for max_nodes in (0, 1, 3, 5):
        tree = grow_attention_tree(binned, index, 8, delta=0.7, max_nodes=max_nodes)
        assert tree.is_capped
        assert CAPPED in tree.leaf_cause
        assert tree.n_nodes == max_nodes
        # A smaller tree is the beginning of the larger one.
        np.testing.assert_array_equal(tree.rows, whole.rows[: len(tree.rows)])
    exact = grow_attention_tree(binned, index, 8, delta=0.7, max_nodes=whole.n_nodes)
    assert_same(exact, whole)


def test_a_tree_that_fits_is_the_one_without_a_cap():
    """Its 17 classes need more than three nodes each, but no more than the cap allows."""
    X, index = draw_kinds(2, 17, per_class=20, noise=1.0)
    binned = bin_features(X)
    free = grow_attention_tree(binned, index, 17, delta=0.7, max_nodes=10**6)
    assert free.n_nodes > 3 * 17
    exact = grow_attention_tree(binned, index, 17, delta=0.7, max_nodes=free.n_nodes)
    assert_same(exact, free)
    assert not free.is_capped
    tree = grow_attention_tree(binned, index, 17, delta=0.7, max_nodes=free.n_nodes - 1)
    assert tree.is_capped
    assert 0.8 * free.n_nodes < tree.n_nodes < free.n_nodes
    assert (tree.labels == 0).any()


def test_every_class_has_a_leaf_where_the_cap_allows_it():
    X, index = draw_kinds(2, 20, per_class=20, noise=1.0)
    binned = bin_features(X)
    strict = grow_attention_tree(binned, index, 20, delta=0.5)
    tree, two = (
        grow_attention_tree(binned, index, 20, delta=0.8, max_nodes=60, n_jobs=n) for n in (1, 2)
    )
    assert strict.n_nodes > 60 == tree.n_nodes
    assert CAPPED in tree.leaf_cause
    assert_sound(tree, index, 20, 0.5)
    assert len(np.unique(tree.leaf_counts.toarray().argmax(axis=1))) == 20
    assert_same(tree, two)


def test_before_the_cap_rows_stop_going_both_ways():
    X, index = draw_kinds(2, 20, per_class=20, noise=1.0)
    binned = bin_features(X)
    free = grow_attention_tree(binned, index, 20, delta=0.8)
    tree, two = (
        grow_attention_tree(binned, index, 20, delta=0.8, max_nodes=200, n_jobs=n) for n in (1, 2)
    )
    strict = grow_attention_tree(binned, index, 20, delta=0.5)
    assert strict.n_nodes < tree.n_nodes <= 200 < free.n_nodes
    assert tree.is_capped
    assert CAPPED not in tree.leaf_cause
    n_hard = np.array([len(tree.hard_rows(node)) for node in range(tree.n_nodes)])
    assert n_hard[0] == len(free.hard_rows(0)) > 0
    assert not n_hard[tree.depth > 4].any()
    assert_same(tree, two)


def test_nearly_equal_children_end_the_growing():
    X, index = draw_kinds(3, 6, per_class=20, noise=1.5)
    binned = bin_features(X)
    stalled = grow_attention_tree(binned, index, 6, delta=0.9, max_kept=0.6)
    assert STALLED in stalled.leaf_cause
    for node in range(stalled.n_nodes):
        children = [len(stalled.rows_of(int(c[node]))) for c in (stalled.left, stalled.right)]
        assert min(children) <= 0.6 * len(stalled.rows_of(node))


def test_sample_weights_stay_with_their_rows():
    X, index = draw_kinds(4, 4, per_class=8, noise=1.0)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(index))
    binned = bin_features(X)
    tree = grow_attention_tree(binned, index, 4, weight, delta=0.5)
    np.testing.assert_allclose(tree.leaf_counts.sum(), weight.sum())
    for node in range(tree.n_nodes):
        rows = tree.rows_of(node)
        own = tree.weights[tree.start[node] : tree.start[node + 1]]
        np.testing.assert_allclose(own, weight[rows] / weight[rows].sum())
    scaled = grow_attention_tree(binned, index, 4, 4 * weight, delta=0.5)
    np.testing.assert_array_equal(scaled.rows, tree.rows)


# ---- what the method is for ----


def test_rows_of_one_class_end_at_different_depths():
    points, X, index = draw_crossing_points()
    tree = grow_attention_tree(
        bin_features(X), index, 2, delta=0.6, n_rounds=20, min_samples=10, max_depth=12
    )
    assert_sound(tree, index, 2, 0.6)
    depth = np.full(len(index), 99)
    np.minimum.at(
        depth, tree.leaf_rows, np.repeat(tree.leaf_depth, np.diff(tree.leaf_start)).astype(int)
    )
    is_far = points[:, 0] > 4
    for k in (0, 1):
        assert len(np.unique(depth[index == k])) >= 5
    assert np.median(depth[is_far]) == depth.min()  # the far group is done with first
    assert np.median(depth[index == 1]) > depth.min() + 3
    assert len(tree.hard_rows(0)) > 0
    assert is_far[tree.hard_rows(0)].mean() < 0.05  # what is hard lies in the crowd


@pytest.mark.parametrize("delta", [0.5, 0.7])
def test_threads_change_nothing(delta, monkeypatch):
    monkeypatch.setattr("fieldguide.identify.boosting._WORTH_THREADS", 0)
    X, index = draw_kinds(5, 9, per_class=8, d=150, noise=1.2)
    binned = bin_features(X)
    trees = [
        grow_attention_tree(binned, index, 9, delta=delta, n_rounds=10, n_jobs=n_jobs)
        for n_jobs in (1, 2, 3)
    ]
    assert trees[0].n_nodes > 5
    assert_same(trees[0], trees[1])
    assert_same(trees[0], trees[2])


def test_names_of_classes_do_not_matter():
    """With other numbers for the classes, the same rows part at every node."""
    X, index = draw_kinds(6, 6, per_class=10)
    binned = bin_features(X)
    names = np.random.default_rng(0).permutation(6)
    one, two = (grow_attention_tree(binned, labels, 6) for labels in (index, names[index]))
    np.testing.assert_array_equal(one.left, two.left)
    for node in range(one.n_nodes):
        assert set(one.rows_of(node).tolist()) == set(two.rows_of(node).tolist())


@pytest.mark.parametrize(
    ("name", "value"),
    [("delta", 0.4), ("delta", 1.1), ("max_depth", -1), ("min_samples", 0), ("n_rounds", 0)],
)
def test_arguments_are_checked(name, value):
    with pytest.raises(InvalidArgument, match=f"{name} of .* must be"):
        grow_attention_tree(to_binned([[0], [1]]), np.array([0, 1]), 2, **{name: value})


@pytest.mark.parametrize("index", [[0], [0, 3], [-1, 0]])
def test_classes_must_fit_the_rows(index):
    with pytest.raises(InvalidArgument, match="a class from 0 to 2 for each of 2 rows"):
        grow_attention_tree(to_binned([[0], [1]]), np.array(index), 3)

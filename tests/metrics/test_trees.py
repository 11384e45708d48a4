"""Measures from counts, against sums over all pairs of rows."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fieldguide.describe import Tree
from fieldguide.errors import FieldguideError
from fieldguide.metrics import average_edge_error, locality, purity

TAXONOMY = {"owl": ("animal", "bird"), "wren": ("animal", "bird"), "cat": ("animal",), "car": ()}


def path_to_root(parent, k):
    path = [k]
    while parent[path[-1]] >= 0:
        path.append(parent[path[-1]])
    return path


def edges(one, other):
    """Edges between the ends of two paths to one root."""
    return len(set(one) ^ set(other))


def kind_path(kind):
    groups = TAXONOMY[kind]
    return [groups[:i] for i in range(len(groups) + 1)] + [(*groups, kind)]


@st.composite
def labelled_trees(draw):
    n_nodes = draw(st.integers(1, 8))
    parent = [-1] + [draw(st.integers(0, k - 1)) for k in range(1, n_nodes)]
    n = draw(st.integers(2, 12))
    labels = draw(st.lists(st.integers(0, n_nodes - 1), min_size=n, max_size=n))
    y = draw(st.lists(st.sampled_from(sorted(TAXONOMY)), min_size=n, max_size=n))
    return parent, labels, y


@given(labelled_trees())
def test_edge_error_is_the_mean_over_pairs(drawn):
    parent, labels, y = drawn
    errors = [
        abs(
            edges(path_to_root(parent, labels[i]), path_to_root(parent, labels[j]))
            - edges(kind_path(y[i]), kind_path(y[j]))
        )
        for i, j in combinations(range(len(y)), 2)
    ]
    assert average_edge_error(parent, labels, y, TAXONOMY) == pytest.approx(np.mean(errors))


@given(labelled_trees())
def test_locality_is_the_mean_over_pairs_of_a_kind(drawn):
    parent, labels, y = drawn
    total = 0.0
    for kind in set(y):
        rows = [i for i in range(len(y)) if y[i] == kind]
        distances = [
            edges(path_to_root(parent, labels[i]), path_to_root(parent, labels[j]))
            for i, j in combinations(rows, 2)
        ]
        total -= len(rows) * np.mean(distances) if distances else 0
    assert locality(parent, labels, y) == pytest.approx(total / len(y))


@given(labelled_trees())
def test_purity_counts_the_most_frequent_kind(drawn):
    _, labels, y = drawn
    right = 0
    for node in set(labels):
        here = [kind for kind, label in zip(y, labels, strict=True) if label == node]
        right += max(here.count(kind) for kind in here)
    assert purity(labels, y) == right / len(y)


@given(labelled_trees(), st.randoms())
def test_the_order_of_rows_does_not_matter(drawn, random):
    parent, labels, y = drawn
    rows = list(range(len(y)))
    random.shuffle(rows)
    mixed, kinds = [labels[i] for i in rows], [y[i] for i in rows]
    assert purity(mixed, kinds) == purity(labels, y)
    assert locality(parent, mixed, kinds) == pytest.approx(locality(parent, labels, y))
    error = average_edge_error(parent, labels, y, TAXONOMY)
    assert average_edge_error(parent, mixed, kinds, TAXONOMY) == pytest.approx(error)


def test_known_values_on_a_tree():
    tree = Tree(np.array([-1, 0, 1, 1, 0]), np.zeros(5))
    labels = [2, 3, 4]
    # owl and wren are 2 edges apart in both; car is 4 from either in the taxonomy, 3 in the tree
    assert average_edge_error(tree, labels, ["owl", "wren", "car"], TAXONOMY) == pytest.approx(
        2 / 3
    )
    assert locality(tree, [2, 3, 4], ["owl"] * 3) == pytest.approx(-(2 + 3 + 3) / 3)


def test_groups_of_one_name_in_different_groups_differ():
    taxonomy = {"a": ("x", "small"), "b": ("y", "small")}
    assert average_edge_error([-1, 0], [0, 0], ["a", "b"], taxonomy) == 6


def test_many_rows_are_no_trouble():
    rng = np.random.default_rng(0)
    labels, y = rng.integers(0, 5, 200_000), rng.choice(sorted(TAXONOMY), 200_000)
    assert 0 < average_edge_error([-1, 0, 0, 1, 1], labels, y, TAXONOMY) < 5


def test_bad_input_is_refused():
    with pytest.raises(FieldguideError, match="lacks 'dog'; give every kind"):
        average_edge_error([-1], [0, 0], ["dog", "cat"], TAXONOMY)
    with pytest.raises(FieldguideError, match="two lists of the same length"):
        purity([0, 1], ["a"])
    with pytest.raises(FieldguideError, match="nodes of the tree, 0 to 1"):
        locality([-1, 0], [0, 2], ["a", "b"])

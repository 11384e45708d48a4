"""The way of a row through a key, against a plain walk in Python."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from tests.identify.graphs import draw_graph, draw_rows

from fieldguide.errors import InvalidArgument
from fieldguide.identify import (
    ConfusionTreeClassifier,
    DAGSVMClassifier,
    NormalizedCutTreeClassifier,
    OneVsAllClassifier,
    OneVsOneClassifier,
    RelaxedHierarchyClassifier,
    trace_path,
)


def with_graph(graph):
    key = DAGSVMClassifier()
    key.graph_ = graph
    return key


def plain_margin(functions, kernel, j, x):
    """Function j at x, summed number by number."""
    if kernel == "linear":
        return sum(float(w) * float(v) for w, v in zip(functions.coef[j], x, strict=True)) + float(
            functions.intercept[j]
        )
    total = float(functions.intercept[j])
    weights = functions.coef[[j]]
    for s, beta in zip(weights.indices, weights.data, strict=True):
        if kernel == "precomputed":
            value = float(x[functions.support[s]])
        else:
            value = math.exp(
                -functions.gamma
                * sum((a - b) ** 2 for a, b in zip(x, functions.pool[s], strict=True))
            )
        total += float(beta) * value
    return total


def plain_walk(graph, kernel, x):
    """(node, margin, child) from the root to a leaf."""
    node, steps = 0 if graph.n_nodes else -1, []
    while node >= 0:
        margin = plain_margin(graph.functions, kernel, node, x)
        child = int(graph.right[node] if margin > 0 else graph.left[node])
        steps.append((node, margin, child))
        node = child
    return steps


@given(st.integers(0, 10_000), st.sampled_from(["linear", "rbf", "precomputed"]))
def test_a_path_is_a_plain_walk(seed, kernel):
    graph = draw_graph(seed, kernel=kernel)
    for x in draw_rows(np.random.default_rng(seed), 3, kernel):
        steps = trace_path(with_graph(graph), x)
        walked = plain_walk(graph, kernel, x)
        assert [(s.node, s.child) for s in steps] == [(node, child) for node, _, child in walked]
        for step, (node, margin, child) in zip(steps, walked, strict=True):
            assert step.margin == pytest.approx(margin, rel=1e-6, abs=1e-9)
            assert step.side == (1 if child == graph.right[node] and margin > 0 else -1)
            odds = min(float(graph.scale[node]) * abs(margin), 700.0)
            assert step.probability == pytest.approx(1 / (1 + math.exp(-odds)), abs=1e-6)
            assert step.probability >= 0.5
            colors = graph.colors[node].tolist()
            for way, classes in ((-1, step.left), (0, step.both), (1, step.right)):
                assert classes == tuple(k for k, color in enumerate(colors) if color == way)


def blobs(n=120, k=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return (rng.normal(size=(n, 5)) + 1.5 * rng.normal(size=(k, 5))[y]).astype(np.float32), y


@pytest.mark.parametrize(
    "key",
    [
        RelaxedHierarchyClassifier(search="greedy"),
        NormalizedCutTreeClassifier(search="greedy"),
        DAGSVMClassifier(search="greedy"),
        ConfusionTreeClassifier(levels=2),
    ],
    ids=lambda key: type(key).__name__,
)
def test_a_path_is_what_a_greedy_search_evaluates(key):
    X, y = blobs()
    key.fit(X, y)
    used = key.decision_path(X).toarray()[:, : key.graph_.n_nodes]
    answers = key.predict(X)
    for x, nodes, answer in zip(X, used, answers, strict=True):
        steps = trace_path(key, x)
        assert sorted(step.node for step in steps) == np.flatnonzero(nodes).tolist()
        leaf = -1 - steps[-1].child
        assert answer in key.classes_[key.graph_.leaf_counts[[leaf]].indices]
        for step, following in itertools.pairwise(steps):
            kept = step.left if step.side < 0 else step.right
            below = {*following.left, *following.both, *following.right}
            assert below == {*kept, *step.both}


def test_a_row_may_be_flat_dense_or_sparse():
    X, y = blobs()
    key = RelaxedHierarchyClassifier().fit(X, y)
    steps = trace_path(key, X[0])
    assert trace_path(key, X[:1]) == steps
    assert [s.node for s in trace_path(key, csr_array(X[:1]))] == [s.node for s in steps]
    assert trace_path(key, X[0].tolist())[0].node == 0


@pytest.mark.parametrize("key", [OneVsAllClassifier(), OneVsOneClassifier()])
def test_flat_keys_have_no_path(key):
    X, y = blobs()
    assert trace_path(key.fit(X, y), X[0]) == []


def test_a_graph_of_one_leaf_has_no_step():
    graph = next(g for g in map(draw_graph, range(1000)) if not g.n_nodes)
    assert trace_path(with_graph(graph), np.zeros(3)) == []


def test_what_is_not_one_row_is_refused():
    X, y = blobs()
    key = RelaxedHierarchyClassifier().fit(X, y)
    with pytest.raises(InvalidArgument, match="one row of 5 columns; got 2 of 5"):
        trace_path(key, X[:2])
    with pytest.raises(InvalidArgument, match="got 1 of 4"):
        trace_path(key, X[0, :4])
    with pytest.raises(ValueError, match="NaN"):
        trace_path(key, np.full(5, np.nan))
    with pytest.raises(NotFittedError):
        trace_path(RelaxedHierarchyClassifier(), X[0])

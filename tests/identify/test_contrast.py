"""The linear function that decides between two classes is the one that the key uses."""

import numpy as np
import pytest

from fieldguide.errors import FieldguideError
from fieldguide.identify import (
    AttentionTreeClassifier,
    ConfusionTreeClassifier,
    DAGSVMClassifier,
    NormalizedCutTreeClassifier,
    OneVsAllClassifier,
    OneVsOneClassifier,
    RelaxedHierarchyClassifier,
    Shortlist,
    contrast_classes,
    contrast_others,
    contrast_steps,
    trace_path,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    centres = 2 * rng.normal(size=(6, 8))
    y = np.repeat(np.arange(6), 12)
    return (centres[y] + rng.normal(size=(72, 8))).astype(np.float32), y


def test_one_vs_all_is_a_difference_of_scores(rows):
    X, y = rows
    key = OneVsAllClassifier().fit(X, y)
    for x in X[::7]:
        scores = key.decision_function(x[None])[0]
        order = np.argsort(-scores)
        found = contrast_classes(key, x)
        assert (found.winner, found.rival) == tuple(order[:2])
        assert found.evaluate(x) == pytest.approx(scores[order[0]] - scores[order[1]], abs=1e-4)
        other = contrast_classes(key, x, winner=3, rival=1)
        assert other.evaluate(x) == pytest.approx(scores[3] - scores[1], abs=1e-4)


def test_two_classes_are_one_function(rows):
    X, y = rows
    few = y < 2
    for make in (OneVsAllClassifier, OneVsOneClassifier):
        key = make().fit(X[few], y[few])
        for x in X[few][::5]:
            found = contrast_classes(key, x)
            assert found.winner == key.predict(x[None])[0]
            assert found.evaluate(x) > 0


def test_one_vs_one_is_the_function_of_the_pair(rows):
    X, y = rows
    key = OneVsOneClassifier().fit(X, y)
    for x in X[::7]:
        for winner, rival in ((0, 4), (4, 0), (2, 3)):
            pair = OneVsOneClassifier().fit(*_only(X, y, winner, rival))
            found = contrast_classes(key, x, winner=winner, rival=rival)
            expected = pair.decision_function(x[None])
            sign = np.sign(found.evaluate(x))
            assert (sign > 0) == (pair.predict(x[None])[0] == winner), expected


def _only(X, y, a, b):
    chosen = (y == a) | (y == b)
    return X[chosen], y[chosen]


@pytest.mark.parametrize(
    "make",
    [
        AttentionTreeClassifier,
        RelaxedHierarchyClassifier,
        NormalizedCutTreeClassifier,
        ConfusionTreeClassifier,
        DAGSVMClassifier,
    ],
)
def test_in_a_graph_it_is_the_node_that_leaves_the_rival_behind(rows, make):
    X, y = rows
    key = make(random_state=0)
    if "search" in key.get_params():
        key.set_params(search="greedy")
    key.fit(X, y)
    n_found = 0
    for x in X:
        found = contrast_classes(key, x)
        if found is None:
            continue
        n_found += 1
        steps = {step.node: step for step in trace_path(key, x)}
        step = steps[found.node]
        assert found.evaluate(x) == pytest.approx(abs(step.margin), abs=1e-4)
        steps_told = [each.evaluate(x) for each in contrast_steps(key, x)]
        assert steps_told == pytest.approx([abs(s.margin) for s in trace_path(key, x)], abs=1e-4)
        assert found.rival in (step.left if step.side > 0 else step.right)
        assert found.winner not in (step.left if step.side > 0 else step.right)
    assert n_found > 0.4 * len(X)


def test_on_a_shortlist_it_is_the_difference_of_the_functions_that_decided(rows):
    X, y = rows
    key = RelaxedHierarchyClassifier(search=Shortlist(5.0)).fit(X, y)
    flat = key.graph_.functions.evaluate(X)[:, key.graph_.n_nodes :]
    n_found = 0
    for x, scores in zip(X, flat, strict=True):
        found = contrast_classes(key, x)
        if found is not None and found.node is None:
            n_found += 1
            told = scores[found.winner] - scores[found.rival]
            assert found.evaluate(x) == pytest.approx(told, abs=1e-4)
            assert told > 0
        asked = contrast_classes(key, x, winner=int(scores.argmin()))  # no kind of the walk
        assert asked is not None
    assert n_found > 0.2 * len(X)


def test_a_class_against_all_others_is_its_own_score(rows):
    X, y = rows
    key = OneVsAllClassifier().fit(X, y)
    scores = key.decision_function(X)
    tree = RelaxedHierarchyClassifier(search=Shortlist(5.0)).fit(X, y)
    listed = tree.graph_.functions.evaluate(X)[:, tree.graph_.n_nodes :]
    for k in range(6):
        found, of_tree = contrast_others(key, k), contrast_others(tree, k)
        assert (found.winner, found.rival) == (k, None)
        assert [found.evaluate(x) for x in X] == pytest.approx(scores[:, k], abs=1e-4)
        assert [of_tree.evaluate(x) for x in X] == pytest.approx(listed[:, k], abs=1e-4)


def test_keys_without_such_a_function_have_none(rows):
    X, y = rows
    greedy = RelaxedHierarchyClassifier(search="greedy")
    for key in (OneVsOneClassifier(), OneVsAllClassifier(kernel="rbf"), greedy):
        assert contrast_others(key.fit(X, y), 1) is None
    few = y < 2
    assert contrast_others(OneVsAllClassifier().fit(X[few], y[few]), 1) is None


def test_kernels_have_none(rows):
    X, y = rows
    key = OneVsAllClassifier(kernel="rbf").fit(X, y)
    assert contrast_classes(key, X[0]) is None
    assert contrast_steps(key, X[0]) == []
    tree = RelaxedHierarchyClassifier(kernel="rbf").fit(X, y)
    assert contrast_classes(tree, X[0]) is None
    assert contrast_steps(tree, X[0]) == []


@pytest.mark.parametrize(("winner", "rival"), [(1, 1), (6, 0), (-1, 2)])
def test_bad_classes_are_one_sentence(rows, winner, rival):
    X, y = rows
    key = OneVsAllClassifier().fit(X, y)
    with pytest.raises(FieldguideError, match="two different places among 6 classes"):
        contrast_classes(key, X[0], winner=winner, rival=rival)
    with pytest.raises(FieldguideError, match="takes one row"):
        contrast_classes(key, X[:2], winner=0, rival=1)
    with pytest.raises(FieldguideError, match=r"winner must be a place among 6 classes; got 6"):
        contrast_others(key, 6)

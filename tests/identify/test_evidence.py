"""Evidence of margins, groups of classes, and several trees: against plain Python twins."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from tests.identify.graphs import draw_graph, draw_rows

from fieldguide._saving import pack, unpack
from fieldguide.errors import FieldguideWarning, InvalidArgument, ModelError
from fieldguide.identify import (
    DAGSVMClassifier,
    NormalizedCutTreeClassifier,
    RelaxedHierarchyClassifier,
    Shortlist,
    generalization_bound,
    relative_complexity,
)
from fieldguide.identify.back_off import choose_groups, find_chains, find_doubts, find_threshold
from fieldguide.identify.evidence import fit_evidence, fit_weights, weigh_evidence
from fieldguide.identify.graph import ABSENT, GRAPH, make_graph
from fieldguide.identify.search import REACH, best_first, shortlist, walk
from fieldguide.identify.serving import FastShortlist, FastWalker
from fieldguide.svm import LinearFunctions

seeds = st.integers(0, 2**31)


def plant_graphs(seed, n_trees):
    """Several drawn graphs of the same classes as one with several roots, and each alone."""
    rng = np.random.default_rng(seed)
    drawn = [draw_graph(int(s)) for s in rng.integers(0, 2**31, n_trees)]
    n_classes = max(graph.n_classes for graph in drawn)
    coef, intercept, left, right, scale, leaf_class, roots = [], [], [], [], [], [], []
    n_nodes = n_leaves = 0
    for graph in drawn:
        coef.append(graph.functions.coef[: graph.n_nodes])
        intercept.append(graph.functions.intercept[: graph.n_nodes])
        for links, own in ((left, graph.left), (right, graph.right), (roots, graph.roots)):
            links.append(np.where(own >= 0, own + n_nodes, own - n_leaves))
        scale.append(graph.scale)
        leaf_class.append(graph.leaf_class)
        n_nodes, n_leaves = n_nodes + graph.n_nodes, n_leaves + graph.n_leaves
    flat = rng.integers(-2, 3, (n_classes, 3)).astype(np.float32)
    functions = type(drawn[0].functions)(
        np.concatenate([*coef, flat]), np.concatenate([*intercept, np.zeros(n_classes)])
    )
    together = make_graph(
        functions,
        *(np.concatenate(part) for part in (left, right, leaf_class)),
        n_classes,
        scale=np.concatenate(scale),
        roots=np.concatenate(roots),
    )
    return together, drawn


def know_classes(graph, rng):
    """The graph with made-up evidence."""
    return graph._replace(
        class_logits=rng.integers(-3, 4, (graph.n_nodes, graph.n_classes)).astype(np.float32),
        precision=rng.choice([0.25, 0.5, 1.0], graph.n_nodes).astype(np.float32),
        leaf_bonus=float(rng.choice([0.0, 0.5, 2.0])),
    )


def follow_ways(graph, margins):
    """Return the log-probability of the likeliest way to each node, and to a leaf, plainly."""
    z = margins[: graph.n_nodes].astype(np.float64) * graph.scale
    log_p, leaf = np.full(graph.n_nodes, -np.inf), -np.inf
    ways = [(int(graph.roots[0]), 0.0)]
    while ways:
        node, own = ways.pop()
        if node < 0:
            leaf = max(leaf, own)
        else:
            log_p[node] = max(log_p[node], own)
            ways.append((int(graph.left[node]), own - np.logaddexp(0, z[node])))
            ways.append((int(graph.right[node]), own - np.logaddexp(0, -z[node])))
    return log_p, leaf


@given(seed=seeds, tolerance=st.sampled_from([0.0, 0.5, 2.0, np.inf]), most=st.integers(1, 6))
@example(seed=188, tolerance=0.0, most=1)  # a node that is reached again, as likely as another
@example(seed=37832, tolerance=0.0, most=1)  # two leaves as likely as each other
@example(seed=476745142, tolerance=0.0, most=3)  # a leaf as likely as a node of another way
@example(seed=137, tolerance=np.inf, most=6)  # a listed class that is far below the first
@settings(max_examples=150, deadline=None)
def test_lists_by_evidence_against_plain_python(seed, tolerance, most):
    rng = np.random.default_rng(seed)
    graph = know_classes(draw_graph(seed), rng)
    if not graph.n_nodes:
        return
    X = draw_rows(rng, 4)
    found = shortlist(graph, X, tolerance=tolerance, max_classes=most, paths=True)
    reached = shortlist(
        graph._replace(precision=np.empty(0, np.float32)),
        X,
        tolerance=REACH * tolerance,
        max_classes=graph.n_classes,
        paths=True,
    )
    greedy = walk(graph, X)
    margins = graph.functions.evaluate(X)
    for i in range(len(X)):
        log_p, leaf = follow_ways(graph, margins[i])
        near = log_p > leaf - REACH * tolerance + 1e-5  # of equals, a search takes its own
        assert found.used.toarray()[i][near].all()
    for i in range(len(X)):
        score = np.full(graph.n_classes, -np.inf)
        for k in np.unique(graph.leaf_class):
            terms = [
                graph.precision[j] * (np.clip(margins[i, j] * graph.scale[j], -100, 100)
                                      - graph.class_logits[j, k]) ** 2
                for j in found.used[[i]].indices
            ]  # fmt: skip
            is_reached = k in reached.mass[[i]].indices or greedy.answer[i] == k
            score[k] = graph.leaf_bonus * is_reached - sum(terms)
        near = np.sort(score[np.isfinite(score) & (score >= score.max() - tolerance)])[::-1][:most]
        listed = found.margins[[i]].indices
        if not found.n_flat[i]:
            listed = found.answer[[i]]
        assert len(listed) == len(near)
        np.testing.assert_allclose(np.sort(score[listed])[::-1], near, rtol=1e-4)
        flat = margins[i, graph.n_nodes :][listed]
        assert found.answer[i] == listed[flat.argmax()]
        weight = np.exp(score - score.max())
        np.testing.assert_allclose(found.mass[[i]].toarray()[0], weight / weight.sum(), atol=0.02)
        assert found.mass[[i]].sum() + found.rest[i] == pytest.approx(1, abs=1e-9)
    fast = FastShortlist(graph, tolerance=tolerance, max_classes=most)
    np.testing.assert_array_equal(fast.predict(X), found.answer)
    np.testing.assert_array_equal([fast.best(x) for x in X], found.answer)


@given(
    seed=seeds,
    n_trees=st.integers(1, 3),
    width=st.sampled_from([1, 5, 33, 130]),
    tolerance=st.sampled_from([0.0, 0.7, 3.0, np.inf]),
    most=st.integers(1, 6),
    budget=st.one_of(st.none(), st.integers(1, 10)),
)
@settings(max_examples=150, deadline=None)
def test_serving_answers_as_the_checked_path_does(seed, n_trees, width, tolerance, most, budget):
    """On rows of any width, one by one and together, wherever in memory they begin."""
    rng = np.random.default_rng(seed)
    graph, _ = plant_graphs(seed, n_trees)
    coef = rng.normal(size=(len(graph.functions.intercept), width)).astype(np.float32)
    graph = graph._replace(functions=graph.functions._replace(coef=coef))
    X = rng.normal(size=9 * width + 1).astype(np.float32)[1:].reshape(9, width)
    limits = {"tolerance": tolerance, "max_classes": most, "budget": budget}
    for known in (graph, know_classes(graph, rng)):
        answers = shortlist(known, X, **limits).answer
        fast = FastShortlist(known, **limits)
        np.testing.assert_array_equal(fast.predict(X), answers)
        np.testing.assert_array_equal([fast.best(x) for x in X], answers)
        np.testing.assert_array_equal([fast.predict(X[[i]])[0] for i in range(9)], answers)
        assert fast.predict(X[:0]).shape == (0,)
    if n_trees == 1:
        walker, answers = FastWalker(graph), walk(graph, X).answer
        np.testing.assert_array_equal(walker.predict(X), answers)
        np.testing.assert_array_equal([walker.best(x) for x in X], answers)


@given(seed=seeds, n_trees=st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_several_trees_are_their_average(seed, n_trees):
    together, alone = plant_graphs(seed, n_trees)
    X = draw_rows(np.random.default_rng(seed), 5)
    votes = np.zeros((5, together.n_classes))
    mass = np.zeros_like(votes)
    n_asked = 0
    for graph in alone:
        walked = walk(graph, X)
        votes[np.arange(5), walked.answer] += 1 / n_trees
        n_asked = n_asked + walked.n_nodes
        margins = graph.functions.evaluate(X)
        for i in range(5):
            mass[i] += follow_all(graph, margins[i], together.n_classes) / n_trees
    walked = walk(together, X, paths=True)
    np.testing.assert_allclose(walked.mass.toarray(), votes)
    np.testing.assert_array_equal(votes[np.arange(5), walked.answer], votes.max(axis=1))
    np.testing.assert_array_equal(walked.n_nodes, n_asked)
    np.testing.assert_array_equal(np.diff(walked.used.indptr), n_asked)
    best = best_first(together, X).answer
    np.testing.assert_allclose(mass[np.arange(5), best], mass.max(axis=1), atol=1e-9)
    if n_trees > 1:
        with pytest.raises(InvalidArgument, match="one root"):
            FastWalker(together)


def follow_all(graph, margins, n_classes):
    """Return the mass of every class, following every path."""
    mass = np.zeros(n_classes)

    def go(node, p):
        if node < 0:
            mass[graph.leaf_class[-1 - node]] += p
            return
        with np.errstate(over="ignore"):
            right = 1 / (1 + np.exp(-np.float64(margins[node]) * graph.scale[node]))
        go(graph.left[node], p * (1 - right))
        go(graph.right[node], p * right)

    go(int(graph.roots[0]), 1.0)
    return mass


def test_evidence_ranks_classes_as_discriminant_analysis_does(seed):
    """With one node, known classes and no temperature, it is LDA with equal priors."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(4), 400)
    logits = rng.normal(size=(1600, 1)) + np.array([-3.0, -1.0, 1.0, 4.0])[labels][:, None]
    colors = np.array([[-1, -1, 1, 1]], dtype=np.int8)
    means, precision = fit_evidence(logits, labels, colors)
    np.testing.assert_allclose(means[0], [-3, -1, 1, 4], atol=0.2)
    np.testing.assert_allclose(precision, 0.5, rtol=0.1)
    scores = weigh_evidence(logits, np.ones((1600, 1), dtype=bool), means, precision)
    peer = LinearDiscriminantAnalysis(priors=[0.25] * 4).fit(logits, labels)
    assert (scores.argmax(axis=1) == peer.predict(logits)).mean() > 0.99
    temperature, _ = fit_weights(scores, np.zeros_like(scores), labels)
    assert temperature == pytest.approx(1, abs=0.15)
    copied = weigh_evidence(
        np.repeat(logits, 3, axis=1), np.ones((1600, 3), dtype=bool), np.repeat(means, 3, axis=0),
        np.repeat(precision, 3),
    )  # fmt: skip
    assert fit_weights(copied, np.zeros_like(scores), labels)[0] == pytest.approx(3, rel=0.15)


def test_a_class_without_rows_is_taken_for_its_neighbours():
    colors = np.array([[-1, 1, 1, ABSENT]], dtype=np.int8)
    means, _ = fit_evidence(
        np.array([[-2.0], [-2.0], [3.0], [3.0]]), np.array([0, 0, 1, 1]), colors
    )
    assert means[0, 2] == means[0, 1] == 3.0


def test_a_leaf_counts_for_what_it_is_worth(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, 1500)
    reached = np.zeros((1500, 5))
    reached[np.arange(1500), np.where(rng.random(1500) < 0.7, labels, (labels + 1) % 5)] = 1
    _, bonus = fit_weights(np.zeros((1500, 5)), reached, labels)
    assert bonus == pytest.approx(np.log(0.7 / (0.3 / 4)), abs=0.3)


# -- groups -----------------------------------------------------------------------------------


def test_chains_and_groups_of_a_small_tree():
    functions = LinearFunctions(np.zeros((3, 1)), np.zeros(3))
    graph = make_graph(functions, [1, -1, -3], [2, -2, -4], [0, 1, 2, 3], 4)
    assert [chain.tolist() for chain in find_chains(graph)] == [[0, 1], [0, 1], [0, 2], [0, 2]]
    probability = np.array([[0.6, 0.3, 0.1, 0], [0.4, 0.2, 0.4, 0], [0.97, 0.01, 0.01, 0.01]])
    answer = np.array([0, 0, 0])
    groups = choose_groups(graph, probability, answer, 0.8)
    assert groups.node.tolist() == [1, 0, -1]
    assert groups.members.tolist() == [[True, True, False, False], [True] * 4, [True] + [False] * 3]
    doubts = find_doubts(graph, probability, answer, np.array([1, 2, 0]))
    np.testing.assert_allclose(doubts, [0, 0.6, 0.6], rtol=1e-6)
    assert find_threshold(doubts, 0.999) == np.inf


@given(seed=seeds, confidence=st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_groups_hold_on_the_rows_that_set_the_threshold(seed, confidence):
    rng = np.random.default_rng(seed)
    graph = draw_graph(seed)
    n = 200
    probability = rng.dirichlet(np.ones(graph.n_classes), n)
    answer, labels = probability.argmax(axis=1), rng.integers(0, graph.n_classes, n)
    threshold = find_threshold(find_doubts(graph, probability, answer, labels), confidence)
    groups = choose_groups(graph, probability, answer, threshold)
    assert groups.members[np.arange(n), answer].all()
    has_leaf = np.isin(labels, graph.leaf_class)
    if graph.n_nodes and has_leaf.all():
        assert groups.members[np.arange(n), labels].mean() >= confidence
    surer = choose_groups(graph, probability, answer, threshold / 2)
    assert (surer.members <= groups.members).all()


def test_groups_hold_for_rows_never_seen():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))
    key = RelaxedHierarchyClassifier(C=1e-3).fit(X[rows[:300]], y[rows[:300]])
    for confidence in (0.8, 0.95, 0.99):
        groups = key.predict_groups(X[rows[300:]], confidence)
        is_in = groups.members[np.arange(len(rows) - 300), y[rows[300:]]]
        assert is_in.mean() >= confidence - 0.02
    assert key.predict_groups(X[rows[300:]], 0.9).members.sum(axis=1).mean() < 2
    with pytest.raises(InvalidArgument, match="confidence of RelaxedHierarchyClassifier"):
        key.predict_groups(X, 1.5)
    few = RelaxedHierarchyClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(InvalidArgument, match="too few rows"):
        few.predict_groups([[0.0]])


# -- keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key_type", [DAGSVMClassifier, NormalizedCutTreeClassifier, RelaxedHierarchyClassifier]
)
@pytest.mark.parametrize("search", ["greedy", "best_first", "shortlist"])
def test_trees_of_one_key_differ_and_agree_with_themselves(key_type, search):
    X, y = load_digits(return_X_y=True)
    key = key_type(C=1e-3, search=search, n_trees=3).fit(X[:300], y[:300])
    assert len(key.graph_.roots) == 3
    first = key.graph_.colors[key.graph_.roots]
    assert len(np.unique(np.abs(first[:, :, None] - first[:, None, :]), axis=0)) > 1
    answers = key.predict(X[300:])
    np.testing.assert_array_equal(key.fast_predict(X[300:].astype(np.float32)), answers)
    arrays, state = key.to_state()
    np.testing.assert_array_equal(key_type.from_state(arrays, state).predict(X[300:]), answers)
    again = key_type(C=1e-3, search=search, n_trees=3, n_jobs=2).fit(X[:300], y[:300])
    np.testing.assert_array_equal(again.predict(X[300:]), answers)
    alone = key_type(C=1e-3, search=search).fit(X[:300], y[:300])
    if search == "greedy":
        n_nodes = key.evaluations(X[300:]).mean() / alone.evaluations(X[300:]).mean()
        assert 2 < n_nodes < 4
        assert (answers == y[300:]).mean() > (alone.predict(X[300:]) == y[300:]).mean()
    with pytest.raises(InvalidArgument, match="n_trees=1"):
        generalization_bound(key, X[:300], y[:300])


def test_the_tolerance_follows_what_is_wanted():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:400], rows[400:]

    def fit(**wanted):
        key = RelaxedHierarchyClassifier(C=1e-3, search=Shortlist(**wanted))
        return key.fit(X[train], y[train])

    cheap, dear = fit(max_cost=0.42), fit(max_cost=0.8)
    assert relative_complexity(cheap, X[test]).mean() < 0.44
    assert relative_complexity(dear, X[test]).mean() < 0.84
    assert cheap.tolerance_ < dear.tolerance_
    assert fit(max_loss=0.1).tolerance_ <= fit(max_loss=0.0).tolerance_
    with pytest.warns(FieldguideWarning, match="cannot be met: the nodes alone cost"):
        assert fit(max_cost=0.01).tolerance_ == 0


def test_hostile_evidence_is_refused():
    graph = know_classes(draw_graph(5), np.random.default_rng(0))
    arrays, record = pack(GRAPH, graph)
    unpack(GRAPH, arrays, record, "graph")
    harms = {
        "precision": (np.full_like(graph.precision, -1), "precision of graph must be above 0"),
        "class_logits": (np.full_like(graph.class_logits, np.nan), "class_logits of graph holds"),
        "roots": (np.array([10**6], dtype=np.int32), "roots of graph must lie in"),
    }
    harms["roots "] = np.empty(0, dtype=np.int32), "needs a root"
    if graph.n_nodes > 1:
        harms["roots  "] = np.array([0, 1], dtype=np.int32), "must not be a child"
    for name, (harm, message) in harms.items():
        with pytest.raises(ModelError, match=message):
            unpack(GRAPH, arrays | {name.strip(): harm}, record, "graph")
    for bonus in (-1.0, float("nan"), "3", None):
        harmed = {**record, "model": record["model"] | {"leaf_bonus": bonus}}
        with pytest.raises(ModelError, match="leaf_bonus of graph"):
            unpack(GRAPH, arrays, harmed, "graph")

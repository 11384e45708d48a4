"""Keys with a decision graph: what each builds, and what must hold of all of them."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from fieldguide.errors import FieldguideWarning, InvalidArgument, ModelError
from fieldguide.identify import (
    AttentionTreeClassifier,
    BestFirst,
    ConfusionTreeClassifier,
    DAGSVMClassifier,
    NormalizedCutTreeClassifier,
    OneVsAllClassifier,
    OneVsOneClassifier,
    RelaxedHierarchyClassifier,
    Shortlist,
    generalization_bound,
    relative_complexity,
    relaxed_hierarchy,
)
from fieldguide.identify.coloring import color_classes
from fieldguide.identify.confidence import fit_node_scales
from fieldguide.identify.growing import ask_node
from fieldguide.identify.relaxed_hierarchy import Painter
from fieldguide.svm import KernelSVM, Problems, Question

KEYS = (
    AttentionTreeClassifier,
    ConfusionTreeClassifier,
    DAGSVMClassifier,
    NormalizedCutTreeClassifier,
    RelaxedHierarchyClassifier,
)
SEARCHES = ("greedy", "best_first", "shortlist")
NAMES = np.array(["ant", "bee", "cod", "doe", "eel", "fly"])


def blobs(seed, n=90, d=5, k=6):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return np.abs(rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(k, d))[y]), y


def make_all(kernel="linear", **options):
    """Every key with every search."""
    for key_type in KEYS:
        if key_type is ConfusionTreeClassifier:
            yield key_type(levels=2, kernel=kernel, **options)
            continue
        if key_type is AttentionTreeClassifier and kernel == "precomputed":
            continue  # it grows on columns
        for search in SEARCHES:
            yield key_type(kernel=kernel, search=search, **options)


@pytest.mark.parametrize("kernel", ["linear", "intersection", "precomputed"])
def test_what_always_holds(kernel, seed):
    X, y = blobs(seed)
    X = X.astype(np.float32)
    rows = X @ X.T if kernel == "precomputed" else X
    for key in make_all(kernel):
        key.fit(rows, NAMES[y])
        answers, probability = key.predict(rows), key.predict_proba(rows)
        assert (answers == NAMES[y]).mean() > 0.5
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        np.testing.assert_array_equal(key.classes_[probability.argmax(axis=1)], answers)
        np.testing.assert_array_equal(key.fast_predict(rows), answers)
        alone = np.concatenate([key.predict(rows[[i]]) for i in range(0, 90, 9)])
        np.testing.assert_array_equal(alone, answers[::9])
        used = key.decision_path(rows)
        cost = key.evaluations(rows)
        assert used.shape == (90, key.graph_.n_nodes + 6)
        if kernel == "linear":
            np.testing.assert_array_equal(np.diff(used.indptr), cost)
        else:
            coef = key.graph_.functions.coef
            for i in range(0, 90, 30):
                functions = used[[i]].indices
                assert len(np.unique(coef[functions].indices)) == cost[i]
        arrays, state = key.to_state()
        again = type(key).from_state(arrays, json.loads(json.dumps(state)))
        np.testing.assert_array_equal(again.predict_proba(rows), probability)
        assert key.held_out_.accuracy > 0.3


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", None])
@pytest.mark.parametrize("key_type", KEYS)
def test_nodes_and_classes_have_the_loss_that_was_asked_for(key_type, loss, seed):
    X, y = blobs(seed)
    key = key_type(C=0.7, loss=loss, tol=1e-7).fit(X, y)
    graph = key.graph_
    peer = LinearSVC(
        C=0.7, loss=loss or "squared_hinge", dual=True, tol=1e-9, max_iter=10**6, random_state=0
    )
    if key_type is AttentionTreeClassifier:  # its rows are sent one way, not its classes
        rows, sides, _ = key._grown[2].ask(0)
    else:
        rows = np.flatnonzero(np.abs(graph.colors[0][y]) == 1)
        sides = graph.colors[0][y[rows]]
    for place, (problem, signs) in enumerate(
        [(rows, sides), *((slice(None), y == k) for k in (0, 5))]
    ):
        peer.fit(X[problem], signs)
        ours = (0, graph.n_nodes, graph.n_nodes + 5)[place]
        np.testing.assert_allclose(graph.functions.coef[ours], peer.coef_[0], atol=2e-3)
        np.testing.assert_allclose(graph.functions.intercept[ours], peer.intercept_[0], atol=2e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_kernel_nodes_have_the_loss_that_was_asked_for(loss):
    X, y = blobs(0)
    key = DAGSVMClassifier(kernel="intersection", loss=loss, search="greedy").fit(X, y)
    rows, sides, _ = ask_node(key.graph_.colors[0], y)
    alone = KernelSVM(kernel="intersection", loss=loss).fit(X[rows], sides)
    ours = key.graph_.functions.evaluate(X)[:, 0]
    np.testing.assert_allclose(ours, alone.decision_function(X), atol=0.02)


def test_keys_of_earlier_files_have_the_usual_loss():
    X, y = blobs(0)
    key = AttentionTreeClassifier().fit(X, y)
    arrays, state = key.to_state()
    for name in ("loss", "max_kept"):
        del state["model"]["parameters"][name]
    again = AttentionTreeClassifier.from_state(arrays, state)
    assert again.get_params() == key.get_params()
    del state["model"]["parameters"]["delta"]
    with pytest.raises(ModelError, match=r"delta of .* is missing"):
        AttentionTreeClassifier.from_state(arrays, state)


@pytest.mark.parametrize("key_type", KEYS)
def test_threads_and_names_change_nothing(key_type, seed):
    X, y = blobs(seed)
    one, two = (key_type(n_jobs=n).fit(X, NAMES[y]) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    renamed = key_type().fit(X, np.char.add("z", NAMES[y]))
    np.testing.assert_array_equal(renamed.predict(X), np.char.add("z", one.predict(X)))


@pytest.mark.parametrize(
    "key_type",
    [
        AttentionTreeClassifier,
        DAGSVMClassifier,
        NormalizedCutTreeClassifier,
        RelaxedHierarchyClassifier,
    ],
)
def test_greedy_follows_the_signs(key_type, seed):
    X, y = blobs(seed)
    key = key_type(search="greedy").fit(X, y)
    graph = key.graph_
    margins = graph.functions.evaluate(X.astype(np.float32))
    for i in range(90):
        node, n_asked = 0, 0
        while node >= 0:
            node = (graph.right if margins[i, node] > 0 else graph.left)[node]
            n_asked += 1
        assert graph.leaf_class[-1 - node] == key.predict(X[[i]])[0]
        assert n_asked == key.evaluations(X[[i]])[0]


def test_dagsvm_takes_classes_off_a_list(seed):
    """Against plain elimination with the functions of one-vs-one."""
    X, y = blobs(seed)
    pairs = OneVsOneClassifier(tol=1e-8, probability=False).fit(X, y)
    key = DAGSVMClassifier(tol=1e-8, search="greedy").fit(X, y)
    margins = pairs.functions_at(X)
    number = {pair: p for p, pair in enumerate(zip(*np.triu_indices(6, k=1), strict=True))}
    expected = []
    for row in margins:
        left = list(range(6))
        while len(left) > 1:
            left.pop(0 if row[number[left[0], left[-1]]] > 0 else -1)
        expected.append(left[0])
    assert (key.predict(X) == expected).mean() > 0.98
    assert (key.evaluations(X) == 5).all()


def test_the_objective_of_a_node_never_rises(seed):
    """Both steps of the alternation, at tight tolerance, from every start."""
    X, index = blobs(seed)
    problems = Problems(X, loss="hinge", tol=1e-9, max_iter=10**5)
    painter = Painter(problems, index, 6, C=1.0, rho=0.6, balance=1)
    classes = tuple(range(6))
    for colors in painter._starts(classes, 3):
        # The start may be uneven; from the first colouring step on all are feasible.
        last = np.inf
        for _ in range(8):
            side = colors[index]
            question = Question(np.flatnonzero(side), side[side != 0].astype(float))
            trained = problems.solve([question], C=1.0)
            f = problems.evaluate(trained, np.arange(90))[:, 0]
            penalty = 0.5 * (trained.coef[0] @ trained.coef[0] + trained.intercept[0] ** 2)
            costs = painter._costs(f, index, 6)
            value = penalty + costs[0][colors < 0].sum() + costs[1][colors > 0].sum()
            if np.isfinite(last):
                assert value <= last + 1e-4
            colors = color_classes(*costs, 1)
            last = penalty + costs[0][colors < 0].sum() + costs[1][colors > 0].sum()
        best = painter.paint(classes, painter._starts(classes, 1)[0])
        assert (best.colors < 0).any()
        assert (best.colors > 0).any()
        assert abs(int(best.colors.sum())) <= 1


def test_printed_colours_make_a_key_too(monkeypatch):
    """Where the printed procedure ends allowed its colours are taken, elsewhere the exact ones."""
    X, y = blobs(0, n=180, d=3)
    printed = RelaxedHierarchyClassifier(0.6, coloring="printed").fit(X, y)
    exact = RelaxedHierarchyClassifier(0.6).fit(X, y)
    assert abs(printed.score(X, y) - exact.score(X, y)) < 0.1
    with monkeypatch.context() as patched:
        patched.setattr(
            relaxed_hierarchy, "color_as_printed", lambda m, p, b: np.ones(len(m), np.int8)
        )
        broken = RelaxedHierarchyClassifier(0.6, coloring="printed").fit(X, y)
    assert np.array_equal(broken.predict_proba(X), exact.predict_proba(X))
    with pytest.raises(InvalidArgument, match=r"balance .* must be a whole number in \[1, "):
        RelaxedHierarchyClassifier(coloring="printed", balance=0).fit(X, y)
    with pytest.raises(InvalidArgument, match=r"coloring .* must be one of 'exact', 'printed'"):
        RelaxedHierarchyClassifier(coloring="quick").fit(X, y)


def test_small_rho_lets_classes_go_both_ways():
    X, y = blobs(0, n=180, d=3)
    sizes = [
        RelaxedHierarchyClassifier(rho=rho, search="greedy").fit(X, y).graph_.n_nodes
        for rho in (2.0, 0.5)
    ]
    assert sizes[0] < sizes[1]
    with pytest.warns(FieldguideWarning, match="max_nodes was reached"):
        RelaxedHierarchyClassifier(rho=0.2, max_nodes=3).fit(X, y)


def test_confusion_tree_ends_in_sets_of_classes():
    X, y = load_digits(return_X_y=True)
    X, is_new = X / 16, np.arange(len(y)) % 3 == 0
    flat = OneVsAllClassifier(probability=False).fit(X[~is_new], y[~is_new])
    one = ConfusionTreeClassifier(levels=1).fit(X[~is_new], y[~is_new])
    deep = ConfusionTreeClassifier(levels=9).fit(X[~is_new], y[~is_new])
    assert one.graph_.n_nodes == 1
    assert deep.graph_.n_leaves == 10
    assert one.score(X[is_new], y[is_new]) > flat.score(X[is_new], y[is_new]) - 0.08
    sizes = np.diff(one.graph_.leaf_counts.indptr)
    assert sorted(sizes)[0] >= 3
    assert set(one.evaluations(X[is_new])) == {1 + size for size in sizes}
    assert deep.evaluations(X[is_new]).max() <= 9


@pytest.mark.parametrize(
    "key_type",
    [AttentionTreeClassifier, NormalizedCutTreeClassifier, RelaxedHierarchyClassifier],
)
def test_shortlists_come_near_one_vs_all_on_digits(key_type):
    X, y = load_digits(return_X_y=True)
    X, is_new = X / 16, np.arange(len(y)) % 3 == 0
    flat = OneVsAllClassifier(probability=False).fit(X[~is_new], y[~is_new])
    key = key_type().fit(X[~is_new], y[~is_new])
    assert key.score(X[is_new], y[is_new]) > flat.score(X[is_new], y[is_new]) - 0.03
    assert key.evaluations(X[is_new]).mean() < 10
    sure = key.predict_proba(X[is_new]).max(axis=1)
    assert abs(sure.mean() - key.score(X[is_new], y[is_new])) < 0.06


def test_node_scales_are_the_most_likely_ones(seed):
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=(2000, 3))
    true = np.array([1.0, 3.0, 9.0])
    side = np.where(rng.random((2000, 3)) < 1 / (1 + np.exp(-true * margins)), 1, -1)
    np.testing.assert_allclose(fit_node_scales(margins, side), true, rtol=0.25)
    side[10:, 2] = 0  # ten rows say little: the node leans on the others
    scales = fit_node_scales(margins, side)
    assert scales[0] < scales[2] < 6
    np.testing.assert_array_equal(fit_node_scales(margins, 0 * side), np.ones(3))


def test_two_classes_and_a_class_of_one_row():
    X = np.array([[0.0, 1], [0, 1], [1, 0], [1, 0], [3, 3]])
    for labels in (["a", "a", "b", "b", "b"], ["a", "a", "b", "b", "c"]):
        for key in make_all(C=100.0):
            if key.search == "best_first":
                continue  # five rows say nothing about a scale, and b has more paths than others
            key.fit(X, labels)
            np.testing.assert_array_equal(key.predict(X), labels)


def test_bad_arguments_are_one_sentence():
    X, y = blobs(0)
    for key, message in (
        (RelaxedHierarchyClassifier(rho=-1), "rho of RelaxedHierarchyClassifier must be"),
        (RelaxedHierarchyClassifier(search="deep"), "search of RelaxedHierarchyClassifier must be"),
        (NormalizedCutTreeClassifier(alpha=0), "alpha of NormalizedCutTreeClassifier must be"),
        (ConfusionTreeClassifier(levels=0), "levels of ConfusionTreeClassifier must be"),
        (DAGSVMClassifier(search=Shortlist("wide")), 'must be a number or "auto"'),
        (DAGSVMClassifier(search=BestFirst(budget=0)), "budget of BestFirst must be"),
        (DAGSVMClassifier(search=3), "search of DAGSVMClassifier must be a Search"),
    ):
        with pytest.raises(ValueError, match=message):
            key.fit(X, y)
    with pytest.raises(ValueError, match="needs at least 2 classes"):
        DAGSVMClassifier().fit([[0.0], [1.0]], ["a", "a"])


def test_relative_complexity_is_cost_over_that_of_one_vs_all(seed):
    X, y = blobs(seed)
    flat = OneVsAllClassifier().fit(X, y)
    assert (relative_complexity(flat, X) == 1).all()
    assert (relative_complexity(OneVsOneClassifier().fit(X, y), X) == 2.5).all()
    tree = RelaxedHierarchyClassifier(search="greedy").fit(X, y)
    np.testing.assert_allclose(relative_complexity(tree, X), tree.evaluations(X) / 6)
    kernel = RelaxedHierarchyClassifier(kernel="rbf", tol=1e-6).fit(X, y)
    peer = OneVsAllClassifier(kernel="rbf", tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        relative_complexity(kernel, X), relative_complexity(kernel, X, peer), rtol=0.05
    )
    pairs = OneVsOneClassifier(kernel="rbf").fit(X, y)
    with pytest.raises(ValueError, match="needs a reference"):
        relative_complexity(pairs, X)
    assert relative_complexity(pairs, X, peer).shape == (90,)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_bounds_of_a_key_use_its_margins(kernel):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 8)
    X = 4 * np.eye(3)[y] + rng.normal(0, 0.1, (24, 3))
    key = DAGSVMClassifier(C=100.0, kernel=kernel, tol=1e-6).fit(X, y)
    bound = generalization_bound(key, X, y)
    assert bound.is_valid
    margins = key.graph_.functions.evaluate(X)[:, :3]
    if kernel == "linear":
        norms = np.linalg.norm(key.graph_.functions.coef[:3], axis=1)
        for node in range(3):
            decided = np.abs(key.graph_.colors[node, y]) == 1
            least = np.abs(margins[decided, node]).min() / norms[node]
            assert bound.node_margins[node] == pytest.approx(least, rel=1e-4)
    assert (bound.node_margins > 0).all()
    with pytest.raises(ValueError, match="decision graph"):
        generalization_bound(OneVsAllClassifier().fit(X, y), X, y)

"""Searches through decision graphs, against plain Python and against every path there is."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.identify.graphs import draw_graph, draw_rows, make_dagsvm
from tests.reference import slow_search

from fieldguide.errors import InvalidArgument
from fieldguide.identify import search as search_module
from fieldguide.identify.graph import make_graph
from fieldguide.identify.search import (
    best_first,
    count_costs,
    shortlist,
    walk,
)
from fieldguide.identify.serving import FastShortlist, FastWalker
from fieldguide.svm import LinearFunctions
from fieldguide.svm.functions import KernelFunctions

seeds = st.integers(0, 10**6)
budgets = st.one_of(st.none(), st.integers(1, 10))
tolerances = st.sampled_from([0.0, 0.3, 1.0, 2.0, 10.0, math.inf])
N_ROWS = 6


def draw(seed, **options):
    """A graph, rows, and the margins of its nodes and classes, exact in single precision."""
    graph = draw_graph(seed, **options)
    X = draw_rows(np.random.default_rng(seed + 1), N_ROWS, options.get("kernel", "linear"))
    margins = graph.functions.evaluate(X)
    return graph, X, margins[:, : graph.n_nodes], margins[:, graph.n_nodes :]


def marked(matrix, i):
    return matrix[[i]].indices.tolist()


def by_class(masses, n_classes):
    return [masses.get(k, 0.0) for k in range(n_classes)]


def same(a, b):
    """Tell whether two answers agree in every field."""
    for name, mine, other in zip(a._fields, a, b, strict=True):
        if isinstance(mine, csr_array):
            mine, other = mine.toarray(), other.toarray()
        np.testing.assert_array_equal(mine, other, err_msg=name)


def three_searches(graph, X, **options):
    yield walk(graph, X, paths=True, **options)
    yield best_first(graph, X, paths=True, **options)
    yield shortlist(graph, X, tolerance=1.0, max_classes=3, paths=True, **options)


@given(seed=seeds)
def test_walk_is_its_twin(seed):
    graph, X, margins, _ = draw(seed)
    found = walk(graph, X, paths=True)
    for i in range(N_ROWS):
        answer, leaf, asked = slow_search.walk_row(graph, margins[i])
        assert (found.answer[i], found.leaf[i], found.n_nodes[i]) == (answer, leaf, len(asked))
        assert marked(found.used, i) == asked
    np.testing.assert_array_equal(found.mass.toarray().argmax(axis=1), found.answer)
    assert (found.rest == 0).all()
    assert found.used_flat.nnz == found.n_flat.sum() == 0


@given(seed=seeds, budget=budgets)
def test_best_first_is_its_twin(seed, budget):
    graph, X, margins, _ = draw(seed)
    found = best_first(graph, X, budget=budget, paths=True)
    for i in range(N_ROWS):
        answer, leaf, asked, masses, rest = slow_search.best_first_row(graph, margins[i], budget)
        assert (found.answer[i], found.leaf[i], found.n_nodes[i]) == (answer, leaf, len(asked))
        assert marked(found.used, i) == sorted(asked)
        assert marked(found.mass, i) == sorted(masses)
        expected = by_class(masses, graph.n_classes)
        np.testing.assert_allclose(found.mass[[i]].toarray()[0], expected, atol=1e-14)
        assert found.rest[i] == pytest.approx(rest, abs=1e-14)


@given(seed=seeds, budget=budgets, tolerance=tolerances, max_classes=st.integers(1, 6))
def test_shortlist_is_its_twin(seed, budget, tolerance, max_classes):
    graph, X, margins, flat = draw(seed)
    limits = {"tolerance": tolerance, "max_classes": max_classes, "budget": budget}
    found = shortlist(graph, X, paths=True, **limits)
    for i in range(N_ROWS):
        answer, leaf, asked, masses, rest, listed = slow_search.shortlist_row(
            graph, margins[i], flat[i], **limits
        )
        assert (found.answer[i], found.leaf[i], found.n_nodes[i]) == (answer, leaf, len(asked))
        assert marked(found.used, i) == sorted(asked)
        assert marked(found.used_flat, i) == marked(found.margins, i) == listed
        assert found.n_flat[i] == len(listed)
        np.testing.assert_array_equal(found.margins[[i]].data, flat[i][listed])
        expected = by_class(masses, graph.n_classes)
        np.testing.assert_allclose(found.mass[[i]].toarray()[0], expected, atol=1e-14)
        assert found.rest[i] == pytest.approx(rest, abs=1e-14)


@given(seed=seeds)
@settings(max_examples=200)
def test_best_first_finds_the_class_with_most_mass_of_all_paths(seed):
    graph, X, margins, _ = draw(seed)
    found = best_first(graph, X)
    for i in range(N_ROWS):
        mass = np.array(slow_search.enumerate_masses(graph, margins[i]))
        assert mass[found.answer[i]] >= mass.max() - 1e-12
        lower = found.mass[[i]].toarray()[0]
        assert (lower <= mass + 1e-12).all()
        assert lower.sum() + found.rest[i] == pytest.approx(1)
        assert lower[found.answer[i]] == lower.max()


@given(seed=seeds, tolerance=st.sampled_from([0.3, 1.0, 2.0, math.inf]))
@settings(max_examples=200)
def test_shortlist_holds_the_classes_of_all_leaves_that_are_near(seed, tolerance):
    graph, X, margins, flat = draw(seed)
    found = shortlist(graph, X, tolerance=tolerance, max_classes=99)
    for i in range(N_ROWS):
        log_p = np.array(slow_search.leaf_log_chances(graph, margins[i]))
        below = log_p.max() - log_p
        if (abs(below - tolerance) < 1e-9).any():
            continue  # on the border, rounding decides
        near = np.unique(graph.leaf_class[below < tolerance])
        assert marked(found.mass, i) == near.tolist()
        assert found.answer[i] == near[flat[i][near].argmax()]
        assert found.n_flat[i] == (len(near) if len(near) > 1 else 0)


@given(seed=seeds)
def test_without_limits_the_shortlist_is_one_vs_all_and_with_none_the_first_leaf(seed):
    graph, X, margins, flat = draw(seed)
    every = shortlist(graph, X, tolerance=math.inf, max_classes=graph.n_classes)
    named = np.unique(graph.leaf_class)
    np.testing.assert_array_equal(every.answer, named[flat[:, named].argmax(axis=1)])
    for first in (
        shortlist(graph, X, tolerance=0),
        shortlist(graph, X, tolerance=9, max_classes=1),
    ):
        assert (first.n_flat == 0).all()
        for i in range(N_ROWS):
            log_p = np.array(slow_search.leaf_log_chances(graph, margins[i]))
            assert log_p[first.leaf[i]] == pytest.approx(log_p.max())


@given(seed=seeds)
def test_with_an_endless_scale_best_first_and_the_first_leaf_are_greedy(seed):
    graph, X, _, _ = draw(seed)
    graph = graph._replace(scale=np.full_like(graph.scale, 1e30))
    X = X[(graph.functions.evaluate(X)[:, : graph.n_nodes] != 0).all(axis=1)]  # 0 stays even
    greedy = walk(graph, X)
    for found in (best_first(graph, X), shortlist(graph, X, tolerance=0)):
        np.testing.assert_array_equal(found.leaf, greedy.leaf)
        np.testing.assert_array_equal(found.n_nodes, greedy.n_nodes)


@given(seed=seeds, budget=st.integers(1, 12))
def test_a_budget_is_kept_where_a_leaf_was_reached(seed, budget):
    graph, X, _, _ = draw(seed, max_nodes=20)
    free = best_first(graph, X, paths=True)
    limited = best_first(graph, X, budget=budget, paths=True)
    longest = graph.leaf_depths()[1].max()
    assert (limited.n_nodes <= budget + longest).all()
    reached_two = np.diff(limited.mass.indptr) > 1  # not by going down at the end
    assert (limited.n_nodes[reached_two] <= budget).all()
    same_cost = free.n_nodes <= budget
    np.testing.assert_array_equal(limited.answer[same_cost], free.answer[same_cost])
    np.testing.assert_array_equal(limited.n_nodes[same_cost], free.n_nodes[same_cost])
    assert (limited.n_nodes >= np.minimum(free.n_nodes, budget)).all()
    nearby = shortlist(graph, X, tolerance=2.0, budget=budget)
    assert (nearby.n_nodes <= budget + longest).all()


def test_a_budget_of_one_is_the_greedy_walk():
    graph, X, _, _ = draw(11, max_nodes=20)
    greedy, limited = walk(graph, X), best_first(graph, X, budget=1)
    assert greedy.n_nodes.min() > 1
    np.testing.assert_array_equal(limited.leaf, greedy.leaf)
    np.testing.assert_array_equal(limited.n_nodes, greedy.n_nodes)


@given(seed=seeds, data=st.data())
@settings(max_examples=40)
def test_rows_threads_and_blocks_do_not_matter(seed, data):
    graph = draw_graph(seed)
    X = np.random.default_rng(seed).normal(size=(9, 3)).astype(np.float32)
    order = np.array(data.draw(st.permutations(range(9))))
    for name, found in zip(("walk", "best_first", "shortlist"), three_searches(graph, X),
                           strict=True):  # fmt: skip
        search = getattr(search_module, name)
        options = {"tolerance": 1.0, "max_classes": 3} if name == "shortlist" else {}
        permuted = search(graph, X[order], paths=True, **options)
        same(permuted, type(found)(*(None if a is None else a[order] for a in found)))
        for i in (0, 8):
            one = search(graph, X[[i]], paths=True, **options)
            same(one, type(found)(*(None if a is None else a[[i]] for a in found)))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search_module, "_ROWS_PER_BLOCK", data.draw(st.integers(1, 4)))
            n_jobs = data.draw(st.sampled_from([1, 2]))
            same(search(graph, X, n_jobs=n_jobs, paths=True, **options), found)


@pytest.mark.parametrize("kernel", ["rbf", "intersection", "precomputed"])
@given(seed=seeds)
@settings(max_examples=25)
def test_kernel_graphs_are_searched_by_their_margins(kernel, seed):
    graph, X, margins, flat = draw(seed, kernel=kernel)
    walked, best, listed = three_searches(graph, X)
    for i in range(N_ROWS):
        assert walked.leaf[i] == slow_search.walk_row(graph, margins[i])[1]
        assert best.answer[i] == slow_search.best_first_row(graph, margins[i])[0]
        expected = slow_search.shortlist_row(graph, margins[i], flat[i], 1.0, 3)
        assert (listed.answer[i], listed.n_nodes[i]) == (expected[0], len(expected[2]))
    # distinct kernel values, by sets
    pools = [set(marked(graph.functions.coef, j)) for j in range(len(graph.functions.intercept))]
    for found in (walked, best, listed):
        costs = count_costs(graph, None, found)
        for i in range(N_ROWS):
            used = marked(found.used, i) + [graph.n_nodes + k for k in marked(found.used_flat, i)]
            assert costs[i] == len(set().union(*(pools[j] for j in used)))


@given(seed=seeds)
@settings(max_examples=25)
def test_functions_of_classes_may_be_their_own_object(seed):
    for kernel in ("linear", "rbf"):
        graph, X, _, _ = draw(seed, kernel=kernel)
        functions, n = graph.functions, graph.n_nodes
        nodes, flat = (
            functions._replace(coef=functions.coef[part], intercept=functions.intercept[part])
            for part in (slice(n), slice(n, None))
        )
        if isinstance(flat, KernelFunctions):  # a pool of its own, over the same training rows
            kept = np.unique(flat.coef.indices)
            coef = csr_array(flat.coef.toarray()[:, kept])
            flat = flat._replace(pool=flat.pool[kept], support=flat.support[kept], coef=coef)
        apart = graph._replace(functions=nodes)
        together = shortlist(graph, X, tolerance=1.0, paths=True)
        found = shortlist(apart, X, flat, tolerance=1.0, paths=True)
        np.testing.assert_array_equal(found.answer, together.answer)
        np.testing.assert_array_equal(found.used.toarray(), together.used.toarray())
        np.testing.assert_allclose(found.margins.toarray(), together.margins.toarray(), atol=1e-9)
        np.testing.assert_array_equal(
            count_costs(apart, flat, found), count_costs(graph, None, together)
        )
        if kernel == "linear":
            expected = together.n_nodes + together.n_flat
            np.testing.assert_array_equal(count_costs(graph, None, together), expected)


@given(seed=seeds)
@settings(max_examples=25)
def test_sparse_rows_are_dense_rows(seed):
    graph, X, _, _ = draw(seed)
    for dense, sparse in zip(
        three_searches(graph, X), three_searches(graph, csr_array(X)), strict=True
    ):
        same(dense, sparse)


@pytest.mark.parametrize("n_classes", [8, 60])
def test_exponentially_many_paths_open_each_node_once(n_classes):
    """A graph where all paths meet, at a row that every node is in doubt about."""
    rng = np.random.default_rng(0)
    n_nodes = n_classes * (n_classes - 1) // 2
    graph = make_dagsvm(rng.integers(-1, 2, (n_nodes, 3)), n_classes)
    X = np.vstack([np.zeros((1, 3)), rng.normal(size=(9, 3)) / 10]).astype(np.float32)
    found = best_first(graph, X)
    assert (found.n_nodes <= n_nodes).all()  # each once, however many paths lead to it
    # masses exactly, level by level: a child has a larger number than its parents
    for i, margins in enumerate(graph.functions.evaluate(X)):
        mass = np.zeros(n_nodes + n_classes)
        mass[0] = 1
        for j, p in enumerate(1 / (1 + np.exp(-margins.astype(float)))):
            mass[graph.left[j]] += mass[j] * (1 - p)
            mass[graph.right[j]] += mass[j] * p
        leaves = mass[: n_nodes - 1 : -1]
        assert leaves[found.answer[i]] >= leaves.max() - 1e-12
    binomial = [math.comb(n_classes - 1, k) / 2.0 ** (n_classes - 1) for k in range(n_classes)]
    np.testing.assert_allclose(leaves.sum(), 1)
    if found.rest[0] == 0:
        np.testing.assert_allclose(found.mass[[0]].toarray()[0], binomial, atol=1e-12)


def test_long_chains_do_not_underflow():
    """The first leaf of a path with 3,000 even choices has a probability of 2⁻³⁰⁰⁰."""
    n_nodes = 3000
    functions = LinearFunctions(np.zeros((n_nodes, 1)), np.zeros(n_nodes))
    right = np.append(np.arange(1, n_nodes), -2)
    graph = make_graph(functions, np.full(n_nodes, -1), right, [0, 1], 2)
    X = np.zeros((1, 1), np.float32)
    assert best_first(graph, X).answer[0] == 0
    found = shortlist(
        graph, X, LinearFunctions(np.ones((2, 1)), np.arange(2.0)), tolerance=math.inf
    )
    assert (found.answer[0], found.n_nodes[0], found.n_flat[0]) == (1, n_nodes, 2)


def test_a_graph_of_one_leaf_asks_nothing():
    functions = LinearFunctions(np.ones((3, 2)), np.zeros(3))
    graph = make_graph(functions, [], [], [2], 3)
    X = np.ones((4, 2), np.float32)
    for found in three_searches(graph, X):
        assert (found.answer == 2).all()
        assert found.n_nodes.sum() == found.n_flat.sum() == found.rest.sum() == 0
        assert found.used.shape == (4, 0)
        assert (count_costs(graph, None, found) == 0).all()
    assert FastWalker(graph).best(X[0]) == 2
    assert FastWalker(graph).predict(X).tolist() == [2] * 4


def test_no_rows_give_no_answers():
    for kernel in ("linear", "rbf"):
        graph, X, _, _ = draw(5, kernel=kernel)
        for found in three_searches(graph, X[:0]):
            assert found.answer.shape == (0,)
            assert found.mass.shape == (0, graph.n_classes)
            assert found.used.shape == (0, graph.n_nodes)


def test_leaves_of_one_class_alone_leave_no_doubt():
    functions = LinearFunctions(np.ones((5, 1)), np.zeros(5))
    graph = make_graph(functions, [1, -1, -3], [2, -2, -4], [1, 1, 1, 1], 2)
    found = shortlist(graph, np.zeros((1, 1), np.float32), tolerance=math.inf)
    assert (found.answer[0], found.n_flat[0], found.n_nodes[0]) == (1, 0, 3)
    best = best_first(graph, np.zeros((1, 1), np.float32))
    assert best.mass.toarray()[0].tolist() == [0, 0.75]  # 0.75 is ahead of what is left


def test_a_row_with_products_that_overflow_still_ends():
    graph, X, _, _ = draw(7)
    assert graph.n_nodes
    X = np.full((3, 3), 3e38, np.float32) * np.array([[1], [-1], [1]], np.float32)
    for found in three_searches(graph, X):
        assert ((found.answer >= 0) & (found.answer < graph.n_classes)).all()


@given(seed=seeds)
@settings(max_examples=30)
def test_fast_walks_are_walks(seed):
    graph = draw_graph(seed)
    X = np.random.default_rng(seed).normal(size=(7, 3)).astype(np.float32)
    names = np.array(list("abcde"))[: graph.n_classes]
    walker, answers = FastWalker(graph, names), walk(graph, X).answer
    assert [walker.best(x) for x in X] == answers.tolist()
    assert (
        [walker.predict_one(x) for x in X] == walker.predict(X).tolist() == names[answers].tolist()
    )


@given(seed=seeds, budget=budgets, tolerance=tolerances, max_classes=st.integers(1, 6))
@settings(max_examples=40)
def test_fast_shortlists_are_shortlists(seed, budget, tolerance, max_classes):
    graph, X, _, _ = draw(seed)
    limits = {"tolerance": tolerance, "max_classes": max_classes, "budget": budget}
    names = np.array(list("abcde"))[: graph.n_classes]
    fast, answers = FastShortlist(graph, classes=names, **limits), shortlist(graph, X, **limits)
    assert [fast.best(x) for x in X] == answers.answer.tolist()
    assert fast.predict_one(X[0]) == names[answers.answer[0]]
    assert fast.predict(X).tolist() == names[answers.answer].tolist()


def test_other_types_and_memory_orders_are_read():
    graph, X, _, _ = draw(3)
    frozen = X.copy()
    frozen.flags.writeable = False
    for rows in (X.astype(float), np.asfortranarray(X), X.astype(int), X.tolist(), frozen):
        same(walk(graph, rows), walk(graph, X))


def test_bad_input_is_clear():
    graph, X, _, _ = draw(3)
    alone = graph._replace(functions=LinearFunctions(*(a[: graph.n_nodes] for a in graph[0])))
    for search in (walk, best_first):
        with pytest.raises(InvalidArgument, match="rows of 3 columns"):
            search(graph, X[:, :2])
        with pytest.raises(InvalidArgument, match="rows of 3 columns"):
            search(graph, X[0])
    for budget in (0, 1.5, True):
        with pytest.raises(InvalidArgument, match="budget of best_first must be a whole number"):
            best_first(graph, X, budget=budget)
    with pytest.raises(InvalidArgument, match="tolerance of shortlist"):
        shortlist(graph, X, tolerance=-1)
    with pytest.raises(InvalidArgument, match="tolerance of shortlist"):
        shortlist(graph, X, tolerance=math.nan)
    with pytest.raises(InvalidArgument, match="max_classes of shortlist"):
        shortlist(graph, X, tolerance=1, max_classes=0)
    with pytest.raises(InvalidArgument, match="give shortlist the functions of the classes"):
        shortlist(alone, X, tolerance=1)
    with pytest.raises(InvalidArgument, match="functions, one for each class"):
        shortlist(alone, X, LinearFunctions(np.ones((9, 3)), np.zeros(9)), tolerance=1)
    narrow = LinearFunctions(np.ones((graph.n_classes, 2)), np.zeros(graph.n_classes))
    with pytest.raises(InvalidArgument, match="must take 3 columns"):
        shortlist(alone, X, narrow, tolerance=1)
    kernel, rows, _, _ = draw(3, kernel="rbf")
    with pytest.raises(InvalidArgument, match="search with paths=True"):
        count_costs(kernel, None, walk(kernel, rows))
    with pytest.raises(InvalidArgument, match="graphs of linear functions"):
        FastWalker(kernel)
    with pytest.raises(InvalidArgument, match="takes linear functions"):
        FastShortlist(kernel, tolerance=1)
    with pytest.raises(InvalidArgument, match="tolerance of FastShortlist"):
        FastShortlist(graph, tolerance=-1)

"""The decision graph: what it says of itself, saving and opening, and files that lie."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from tests.identify.graphs import draw_graph, draw_rows, make_dagsvm

from fieldguide._saving import pack, unpack
from fieldguide.errors import InvalidArgument, ModelError
from fieldguide.identify.graph import GRAPH, make_graph
from fieldguide.identify.search import best_first, shortlist, walk
from fieldguide.svm import LinearFunctions

seeds = st.integers(0, 10**6)


def read_graph(arrays, record):
    return unpack(GRAPH, arrays, record, "DecisionGraph")


def follow(graph, node):
    """Every path below a node, as (leaf, number of decisions)."""
    if node < 0:
        return [(-1 - node, 0)]
    children = int(graph.left[node]), int(graph.right[node])
    return [(leaf, steps + 1) for child in children for leaf, steps in follow(graph, child)]


def small_graph():
    """Three nodes, four leaves, three classes, with functions of the classes."""
    functions = LinearFunctions(np.arange(12.0).reshape(6, 2), np.zeros(6))
    return make_graph(functions, [1, -1, -3], [2, -2, -4], [0, 1, 2, 1], 3)


@given(seed=seeds)
def test_depths_classes_and_colors_are_those_of_all_paths(seed):
    graph = draw_graph(seed)
    paths = follow(graph, 0 if graph.n_nodes else -1)
    least, most = graph.leaf_depths()
    for leaf in range(graph.n_leaves):
        steps = [n for end, n in paths if end == leaf]
        assert (least[leaf], most[leaf]) == (min(steps), max(steps))
    leaf_class = graph.leaf_class.tolist()
    for node in range(-graph.n_leaves, graph.n_nodes):
        expected = sorted({leaf_class[leaf] for leaf, _ in follow(graph, node)})
        assert graph.classes_below(node).tolist() == expected
    for node in range(graph.n_nodes):
        sides = [set(graph.classes_below(int(a[node])).tolist()) for a in (graph.left, graph.right)]
        for k, color in enumerate(graph.colors[node].tolist()):
            is_left, is_right = (k in side for side in sides)
            expected = {(1, 0): -1, (0, 1): 1, (1, 1): 0, (0, 0): 2}[is_left, is_right]
            assert color == expected
    counts = [leaf_class.count(k) for k in range(graph.n_classes)]
    assert graph.count_leaves().tolist() == counts


def test_golden_depths_of_a_dagsvm():
    graph = make_dagsvm(np.ones((10, 2), np.float32), 5)
    assert graph.n_nodes == 10
    np.testing.assert_array_equal(graph.leaf_depths(), np.full((2, 5), 4))
    np.testing.assert_array_equal(graph.colors[0], [-1, 0, 0, 0, 1])


@given(
    seed=seeds,
    kernel=st.sampled_from(["linear", "rbf", "intersection", "precomputed"]),
    is_sparse=st.booleans(),
)
@settings(max_examples=40)
def test_saved_and_opened_it_is_the_same(seed, kernel, is_sparse):
    graph = draw_graph(seed, kernel=kernel, is_sparse=is_sparse and kernel != "precomputed")
    arrays, state = pack(GRAPH, graph)
    again = read_graph(arrays, json.loads(json.dumps(state)))
    other, same = pack(GRAPH, again)
    assert state == same
    assert arrays.keys() == other.keys()
    for name, values in arrays.items():
        np.testing.assert_array_equal(values, other[name])
        assert values.dtype == other[name].dtype
    X = draw_rows(np.random.default_rng(seed), 5, kernel)
    for search in (walk, best_first):
        before, after = search(graph, X), search(again, X)
        np.testing.assert_array_equal(before.leaf, after.leaf)
        np.testing.assert_array_equal(before.mass.toarray(), after.mass.toarray())


def test_leaf_counts_are_kept():
    functions = LinearFunctions(np.ones((1, 2)), np.zeros(1))
    counts = np.array([[3.0, 0.5], [0.0, 2.0]])
    graph = make_graph(functions, [-1], [-2], [0, 1], 2, leaf_counts=counts)
    np.testing.assert_array_equal(read_graph(*pack(GRAPH, graph)).leaf_counts.toarray(), counts)
    assert issparse(graph.leaf_counts)


def test_a_graph_of_one_leaf():
    functions = LinearFunctions(np.empty((0, 2)), np.empty(0))
    graph = read_graph(*pack(GRAPH, make_graph(functions, [], [], [1], 3)))
    assert (graph.n_nodes, graph.n_leaves) == (0, 1)
    assert graph.leaf_depths()[1].tolist() == [0]
    assert graph.classes_below(-1).tolist() == [1]
    with pytest.raises(ValueError, match="node must lie in -1 to -1"):
        graph.classes_below(0)


def put(place, value):
    def change(values):
        values[place] = value
        return values

    return change


DAMAGE = [
    ("left", put(0, 0), "larger number"),  # a circle
    ("left", put(2, 1), "larger number"),
    ("right", put(1, 3), "right of DecisionGraph must lie in -4 to 2; got 3"),
    ("right", put(1, -5), "must lie in -4 to 2; got -5"),
    ("right", put(1, -(2**31)), "must lie in -4 to 2"),
    ("right", put(1, 2**31 - 1), "must lie in -4 to 2"),
    ("left", put(0, 2), "reachable"),  # node 1 hangs from nothing
    ("left", put(1, -2), "reachable"),  # nor does leaf 0
    ("left", lambda a: a[:-1], "right of DecisionGraph must have the shape"),
    ("right", lambda a: a[None], "right of DecisionGraph must have the shape"),
    ("left", lambda a: a.astype(np.int64), "array of int32; got int64"),
    ("left", lambda a: a.astype(np.float32), "array of int32"),
    ("left", lambda a: a.astype(">i4"), "array of int32"),
    ("leaf_class", put(0, 3), "leaf_class of DecisionGraph must lie in 0 to 2"),
    ("leaf_class", put(0, -1), "leaf_class of DecisionGraph must lie in 0 to 2"),
    ("leaf_class", lambda a: a[:-1], "must have the shape"),
    ("leaf_class", lambda a: a[:0], "must have the shape"),
    ("leaf_class", lambda a: np.append(a, a[:1]), "must have the shape"),
    ("leaf_class", lambda a: a.reshape(2, 2), "must have the shape"),
    ("scale", put(0, np.nan), "NaN or infinity"),
    ("scale", put(0, np.inf), "NaN or infinity"),
    ("scale", put(0, 0), "above 0"),
    ("scale", put(0, -1), "above 0"),
    ("scale", lambda a: a[:-1], "must have the shape"),
    ("colors", put((0, 0), 3), "at most 2; got 3"),
    ("colors", put((0, 0), -2), "at least -1"),
    ("colors", lambda a: a[:, :-1], "must have the shape"),
    ("colors", lambda a: a[:-1], "must have the shape"),
    ("colors", lambda a: a.astype(np.int16), "array of int8"),
    ("leaf_counts.data", put(0, -1), "at least 0"),
    ("leaf_counts.data", put(0, np.nan), "NaN"),
    ("leaf_counts.data", lambda a: a.astype(int), "array of float64"),
    ("leaf_counts.data", lambda a: a[:-1], "must have the shape"),
    ("leaf_counts.indices", put(0, 3), "must lie in 0 to 2"),
    ("leaf_counts.indices", put(0, -1), "must lie in 0 to 2"),
    ("leaf_counts.indices", lambda a: a.astype(float), "array of int"),
    ("leaf_counts.indptr", put(1, 1000), "must rise from 0"),
    ("leaf_counts.indptr", lambda a: np.array([0, 9, 5, 4, 4], np.uint64), "array of int"),
    ("leaf_counts.indptr", lambda a: a[:-1], "must have the shape"),
    ("leaf_counts.indptr", lambda a: a[:0], "must have the shape"),
    ("functions.coef", lambda a: a[:-1], "functions.intercept of DecisionGraph must have"),
    ("functions.coef", lambda a: a[:, :0], "take no columns"),
    ("functions.coef", put((0, 0), np.nan), "functions.coef of DecisionGraph holds NaN"),
    ("functions.coef", lambda a: a.ravel(), "must have the shape"),
    ("functions.intercept", lambda a: a[:-1], "must have the shape"),
    ("functions.intercept", put(0, np.inf), "holds NaN or infinity"),
]


@pytest.mark.parametrize(("name", "change", "message"), DAMAGE)
def test_damage_is_refused(name, change, message):
    arrays, state = pack(GRAPH, small_graph())
    read_graph(arrays, state)
    with pytest.raises(ModelError, match=message):
        read_graph({**arrays, name: change(arrays[name].copy())}, state)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_kernel_functions_whose_ends_go_backwards_are_refused(dtype):
    arrays, record = pack(GRAPH, draw_graph(3, kernel="rbf"))
    ends = arrays["functions.coef.indptr"].astype(dtype)
    ends[1] = 10**6
    with pytest.raises(ModelError, match=r"functions.coef.indptr of"):
        read_graph({**arrays, "functions.coef.indptr": ends}, record)


def test_functions_that_do_not_fit_the_nodes_are_refused():
    arrays, record = pack(GRAPH, small_graph())
    names = ("functions.coef", "functions.intercept")
    for n in (0, 2, 4, 5):
        with pytest.raises(ModelError, match="must have 3 functions, or 6"):
            read_graph({**arrays, **{name: arrays[name][:n] for name in names}}, record)
    nodes_alone = {name: arrays[name][:3] for name in names}
    assert not read_graph({**arrays, **nodes_alone}, record).has_flat


@pytest.mark.parametrize("value", [0, -1, 2.0, "3", True, None, 2**31, 4])
def test_wrong_numbers_of_classes_are_refused(value):
    arrays, record = pack(GRAPH, small_graph())
    record["model"]["n_classes"] = value
    with pytest.raises(ModelError, match="n_classes of DecisionGraph"):
        read_graph(arrays, record)


@given(seed=seeds, kernel=st.sampled_from(["linear", "rbf"]), data=st.data())
@settings(max_examples=150)
def test_a_file_with_random_damage_is_refused_or_can_be_searched(seed, kernel, data):
    graph = draw_graph(seed % 50, 6, kernel=kernel)
    arrays, state = pack(GRAPH, graph)
    name = data.draw(st.sampled_from(sorted(arrays)))
    values = arrays[name].copy()
    kind = data.draw(st.sampled_from(["bytes", "shorter", "longer", "turned", "type"]))
    if kind == "bytes" and values.nbytes:
        raw = bytearray(values.tobytes())
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
        values = np.frombuffer(bytes(raw), values.dtype).reshape(values.shape)
    elif kind == "shorter":
        values = values[1:]
    elif kind == "longer":
        values = np.concatenate([values, values[:1]])
    elif kind == "turned":
        values = values[::-1]
    elif kind == "type":
        wanted = data.draw(st.sampled_from(["i1", "u4", "u8", "i8", "f2", "f8"]))
        values = np.nan_to_num(values, posinf=0, neginf=0).astype(wanted)
    try:
        graph = read_graph({**arrays, name: values}, state)
    except ModelError:
        return
    X = np.ones((2, graph.functions.n_features), np.float32)
    with np.errstate(all="ignore"):
        for found in (walk(graph, X), best_first(graph, X), shortlist(graph, X, tolerance=1.0)):
            assert ((found.answer >= 0) & (found.answer < graph.n_classes)).all()
            assert (found.n_nodes <= graph.n_nodes).all()


def test_growers_hear_what_is_wrong():
    functions = LinearFunctions(np.ones((1, 2)), np.zeros(1))
    with pytest.raises(InvalidArgument, match="whole numbers"):
        make_graph(functions, [-1.0], [-2], [0, 1], 2)
    with pytest.raises(InvalidArgument, match="too large"):
        make_graph(functions, [-1], [2**40], [0, 1], 2)
    with pytest.raises(InvalidArgument, match="at least one leaf"):
        make_graph(LinearFunctions(np.ones((0, 2)), np.zeros(0)), [], [], [], 2)
    with pytest.raises(InvalidArgument, match="reachable from a root"):
        make_graph(LinearFunctions(np.ones((0, 2)), np.zeros(0)), [], [], [0, 1], 2)
    with pytest.raises(InvalidArgument, match="leaf counts"):
        make_graph(functions, [-1], [-2], [0, 1], 2, leaf_counts=csr_array((2, 3)))
    frozen = np.ones((1, 2), np.float32)
    frozen.flags.writeable = False
    graph = make_graph(LinearFunctions(frozen, np.zeros(1)), [-1], [-2], [0, 1], 2)
    assert graph.functions.coef.flags.writeable

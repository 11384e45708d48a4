"""A key as ONNX operators: from rows to probabilities, with its decision graph inside.

One-vs-all is a product and a softmax. A tree key with a shortlist is a search, and becomes sums
and maxima over its graph (:mod:`fieldguide.identify.search`). With D(v) the log-probability of the
most probable path to v, and D* that of the best leaf,

    asked(v)   = v is on the greedy way, or D(v) > D* − reach, or v is the best leaf
    score(k)   = b [a leaf of k was reached] − Σ_{v asked} v_v (z_v − m_vk)²
    listed(k)  = score(k) ≥ max score − tolerance, and among the best ``max_classes``
    answer     = the listed class with the largest one-vs-all function

D is found by as many rounds of D(child) = max over parents of D(parent) + log p(side) as the graph
has levels. The search opens entries in the order of D, so that it asks the same nodes.
"""

from typing import Any

import numpy as np

from fieldguide.errors import FieldguideError
from fieldguide.exports.onnx_operators import Operators
from fieldguide.identify import OneVsAllClassifier, Shortlist
from fieldguide.identify.graph import MOST_LOGIT, DecisionGraph
from fieldguide.identify.search import find_reach
from fieldguide.svm import LinearFunctions

_NEAR, _FAINT = 1e-9, 12.0  # as confidence.py and _walks.py have them
_MOST_PLACES = 2**22  # children × parents of a graph


def add_key(to: Operators, key: Any, rows: str) -> tuple[str, str]:
    """Add a key; return the names of probabilities (n, n_classes) and of answers (n,).

    Raises
    ------
    FieldguideError
        For a key that has no such form: one with a kernel, one-vs-one, several trees, or a search
        other than a shortlist by evidence.
    """
    functions = key.functions_ if key.graph_ is None else key.graph_.functions
    if not isinstance(functions, LinearFunctions):
        raise _refuse(key, "its functions are not linear")
    if key.graph_ is None:
        if not isinstance(key, OneVsAllClassifier):
            raise _refuse(key, "it votes")
        return _add_flat(to, key, rows)
    search = key.search_
    if not isinstance(search, Shortlist) or search.budget is not None or not key.graph_.has_flat:
        raise _refuse(key, "its search is none that ends in a shortlist without a budget")
    if not key.graph_.has_evidence or len(key.graph_.roots) != 1 or not key.graph_.n_nodes:
        raise _refuse(key, "it has several trees, no couplet, or too few specimens for evidence")
    return _add_shortlist(to, key, search, rows)


def _refuse(key: Any, because: str) -> FieldguideError:
    return FieldguideError(
        f"The key of this guide ({type(key).__name__}) has no form in ONNX: {because}; build the "
        "guide with `key=ova`, relaxed or attention."
    )


def _add_functions(to: Operators, functions: LinearFunctions, rows: str) -> str:
    coef = to.constant(functions.coef, np.float32)
    return to.cast(
        to.add("Gemm", rows, coef, to.constant(functions.intercept, np.float32), transB=1)
    )


def _add_flat(to: Operators, key: Any, rows: str) -> tuple[str, str]:
    scores = _add_functions(to, key.functions_, rows)
    if len(key.functions_.intercept) == 1:
        scores = to.add("Concat", to.add("Neg", scores), scores, axis=1)
    shares = to.add("Softmax", to.add("Mul", scores, to.constant(key.inverse_temperature_)), axis=1)
    answer = to.add("ArgMax", scores, axis=1, keepdims=0)
    return _add_confidence(to, key, shares, answer), answer


def _add_shortlist(to: Operators, key: Any, search: Shortlist, rows: str) -> tuple[str, str]:
    graph, n_classes, tolerance = key.graph_, len(key.classes_), float(search.tolerance)
    margins = _add_functions(to, graph.functions, rows)
    logits = to.add(
        "Mul", to.columns(margins, 0, graph.n_nodes), to.constant(graph.scale.astype(np.float64))
    )
    asked, reached = _add_search(to, graph, find_reach(graph, tolerance), logits)
    score = _add_evidence(to, graph, logits, asked, reached)
    top = to.largest(score)
    behind = to.add("Sub", score, top)
    listed = to.add("GreaterOrEqual", behind, to.constant(-tolerance))
    if search.max_classes < n_classes:
        listed = to.add("And", listed, _add_best(to, score, search.max_classes, n_classes))
    nothing, zero = to.constant(-np.inf), to.constant(0.0)
    flat = to.columns(margins, graph.n_nodes, graph.n_nodes + n_classes)
    answer = to.add("ArgMax", to.add("Where", listed, flat, nothing), axis=1, keepdims=0)
    scaled = to.add("Mul", flat, to.constant(key.inverse_temperature_))
    shares = to.add("Softmax", to.add("Where", listed, scaled, nothing), axis=1)
    # What evidence gives to the classes on the list is shared out by their functions.
    is_likely = to.add("Greater", behind, to.constant(-_FAINT))
    weight = to.add("Exp", behind)
    total = to.sum(to.add("Where", is_likely, weight, zero))
    kept = to.add("Where", to.add("Or", is_likely, listed), weight, zero)
    mass = to.add("Div", kept, total)
    on_list = to.add("Where", listed, mass, zero)
    mixed = to.add("Add", to.add("Sub", mass, on_list), to.add("Mul", shares, to.sum(on_list)))
    one = to.constant(1.0)
    missing = to.add("Max", to.add("Sub", one, to.sum(mixed)), zero)
    probability = to.add("Add", mixed, to.add("Div", missing, to.constant(float(n_classes))))
    own = _add_one_hot(to, answer, n_classes)
    least = to.add("Mul", to.largest(probability), to.constant(1 + _NEAR))
    lifted = to.add("Max", probability, to.add("Mul", own, least))
    return _add_confidence(to, key, to.add("Div", lifted, to.sum(lifted)), answer), answer


def _add_search(to: Operators, graph: DecisionGraph, reach: float, logits: str) -> tuple[str, str]:
    """Return which nodes are asked, (n, n_nodes), and which leaves reached, as 0 and 1."""
    n_nodes, n_entries = graph.n_nodes, graph.n_nodes + graph.n_leaves
    size = to.add("Abs", logits)
    lost = to.add("Log", to.add("Add", to.constant(1.0), to.add("Exp", to.add("Neg", size))))
    likely, unlikely = to.add("Neg", lost), to.add("Neg", to.add("Add", lost, size))
    is_right = to.add("Greater", logits, to.constant(0.0))
    sides = [
        to.add("Where", is_right, unlikely, likely),
        to.add("Where", is_right, likely, unlikely),
    ]
    right = to.cast(is_right)
    taken = [to.add("Sub", to.constant(1.0), right), right]
    parents, edges = _list_parents(graph)
    column = to.columns(logits, 0, 1)
    # The last column stands for a parent that is not there.
    none = to.add("Add", to.add("Mul", column, to.constant(0.0)), to.constant(-np.inf))
    zero = to.add("Mul", column, to.constant(0.0))
    losses = _gather(to, to.add("Concat", *sides, none, axis=1), edges)
    ways = _gather(to, to.add("Concat", *taken, zero, axis=1), edges)
    is_root = np.arange(n_entries + 1)[None] == graph.roots[0]
    first = to.add("Add", zero, to.constant(np.where(is_root, 0.0, -np.inf)))
    start = to.add("Add", zero, to.constant(is_root.astype(float)))
    best, greedy = first, start
    for _ in range(int(graph.leaf_depths()[1].max())):
        ranks = to.add("Add", _gather(to, best, parents), losses)
        found = to.add("ReduceMax", ranks, axes=[2], keepdims=0)
        best = to.add("Max", to.add("Concat", found, none, axis=1), first)
        steps = to.add("Mul", _gather(to, greedy, parents), ways)
        found = to.add("ReduceMax", steps, axes=[2], keepdims=0)
        greedy = to.add("Max", to.add("Concat", found, zero, axis=1), start)
    leaves = to.columns(best, n_nodes, n_entries)
    on_way = to.columns(greedy, 0, n_nodes)
    of_way = to.add("Neg", to.sum(to.add("Mul", on_way, lost)))
    top = to.add("Max", to.largest(leaves), of_way)
    least = to.add("Sub", top, to.constant(reach))

    def within(start: int, end: int) -> str:
        own = to.columns(best, start, end)
        # The best leaf is reached even where the search follows nothing beside it.
        is_near = to.add("Or", to.add("Greater", own, least), to.add("GreaterOrEqual", own, top))
        return to.add("Max", to.cast(is_near), to.columns(greedy, start, end))

    return within(0, n_nodes), within(n_nodes, n_entries)


def _gather(to: Operators, x: str, places: np.ndarray) -> str:
    return to.add("Gather", x, to.constant(places, np.int64), axis=1)


def _list_parents(graph: DecisionGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return the parents of every entry, and by which edge each leads there.

    Entries are nodes, then leaves; edges are the left sides of all nodes, then the right ones. The
    number after the last stands for none.
    """
    n_nodes, n_entries = graph.n_nodes, graph.n_nodes + graph.n_leaves
    listed: list[list[tuple[int, int]]] = [[] for _ in range(n_entries)]
    for side, children in enumerate((graph.left, graph.right)):
        for node, child in enumerate(children.tolist()):
            entry = child if child >= 0 else n_nodes - 1 - child
            listed[entry].append((node, side * n_nodes + node))
    most = max(map(len, listed))
    if most * n_entries > _MOST_PLACES:
        raise FieldguideError(
            f"The key of this guide is too large for ONNX: {n_entries:,} couplets and ends with "
            f"up to {most:,} ways to each; build it with `key=ova`."
        )
    padded = [each + [(n_entries, 2 * n_nodes)] * (most - len(each)) for each in listed]
    table = np.array(padded)
    return table[..., 0], table[..., 1]


def _add_evidence(
    to: Operators, graph: DecisionGraph, logits: str, asked: str, reached: str
) -> str:
    """Return the score of each class, but for a constant of the row."""
    has_leaf = graph.count_leaves() > 0
    of_class = np.arange(graph.n_classes) == graph.leaf_class[:, None]
    centre = graph.class_logits.astype(np.float64)
    clipped = to.add("Clip", logits, to.constant(-MOST_LOGIT), to.constant(MOST_LOGIT))
    weight = to.add("Mul", asked, to.constant(graph.precision.astype(np.float64)))
    weighted = to.add("Mul", to.add("Mul", weight, clipped), to.constant(2.0))
    pulls = to.add("MatMul", weighted, to.constant(centre))
    lengths = to.add("MatMul", weight, to.constant(centre**2))
    hits = to.add("MatMul", reached, to.constant(of_class.astype(float)))
    is_hit = to.add("Greater", hits, to.constant(0.0))
    bonus = to.add("Where", is_hit, to.constant(graph.leaf_bonus), to.constant(0.0))
    base = to.constant(np.where(has_leaf, 0.0, -np.inf)[None])
    return to.add("Add", to.add("Add", to.add("Sub", pulls, lengths), bonus), base)


def _add_best(to: Operators, score: str, n_best: int, n_classes: int) -> str:
    """Return which classes are among the best by their score."""
    from onnx import helper

    names = ["fieldguide_best", "fieldguide_places"]
    size = to.constant([n_best], np.int64)
    to.nodes.append(helper.make_node("TopK", [score, size], names, axis=1))
    ones = _add_one_hot(to, names[1], n_classes)
    among = to.add("ReduceSum", ones, to.constant([1], np.int64), keepdims=0)
    return to.add("Greater", among, to.constant(0.0))


def _add_one_hot(to: Operators, places: str, n: int) -> str:
    depth, values = to.constant([n], np.int64), to.constant([0.0, 1.0], np.float32)
    return to.cast(to.add("OneHot", places, depth, values, axis=-1))  # not there for doubles


def _add_confidence(to: Operators, key: Any, shares: str, answer: str) -> str:
    """Return probabilities of which the answers are as sure as they should be."""
    confidence = getattr(key, "calibration_", None)
    if confidence is None:
        return shares
    one = to.constant(1.0)
    own = _add_one_hot(to, answer, len(key.classes_))
    told = to.sum(to.add("Mul", shares, own))
    others = to.add("Mul", shares, to.add("Sub", one, own))
    others = to.add("Div", others, to.add("Max", to.sum(others), to.constant(_NEAR)))
    clipped = to.add("Clip", told, to.constant(_NEAR), to.constant(1 - _NEAR))
    odds = to.add("Log", to.add("Div", clipped, to.add("Sub", one, clipped)))
    line = to.add("Mul", odds, to.constant(confidence.slope))
    margin = to.add("Add", line, to.constant(confidence.offset))
    sure = to.add("Sigmoid", margin)
    second = to.largest(others)
    least = to.add("Div", second, to.add("Add", one, second))
    sure = to.add("Max", sure, to.add("Mul", least, to.constant(1 + _NEAR)))
    left = to.add("Mul", others, to.add("Sub", one, sure))
    mixed = to.add("Add", left, to.add("Mul", own, sure))
    return to.add("Div", mixed, to.sum(mixed))

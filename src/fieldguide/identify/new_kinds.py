"""New kinds for a fitted attention tree: where their rows go, and what the graph becomes.

New rows go down every tree to their leaves, and only these grow. Old functions stay as they are;
those of the new nodes and kinds join them, with scales and evidence fitted to held-out rows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack
from sklearn.utils.validation import column_or_1d

from fieldguide._check import check_classes
from fieldguide._random import deal_folds
from fieldguide.errors import InvalidArgument
from fieldguide.identify import search as searches
from fieldguide.identify.attention_growing import AttentionTree
from fieldguide.identify.confidence import fit_node_scales
from fieldguide.identify.evidence import fit_evidence
from fieldguide.identify.graph import MOST_LOGIT, MOST_PRECISION, DecisionGraph, make_graph
from fieldguide.identify.routed_plan import RoutedPlan, graft
from fieldguide.identify.tree_key import N_FOLDS
from fieldguide.svm import Functions, LinearFunctions, Problems, Trained
from fieldguide.svm.functions import pool_functions


def read_new_labels(owner: str, known: np.ndarray, X: Any, y: Any) -> np.ndarray:
    """Return the labels of rows of kinds that a key does not know yet; refuse any others."""
    labels: np.ndarray = column_or_1d(y)
    check_classes(labels)
    if len(labels) != X.shape[0]:
        raise InvalidArgument(
            f"add_kind of {owner} needs a label for each row; got {len(labels)} labels and "
            f"{X.shape[0]} rows."
        )
    if (known.dtype.kind in "US") != (labels.dtype.kind in "US"):
        raise InvalidArgument(
            f"Labels of add_kind must be of the type of the known kinds, such as "
            f"{known[0]!r}; got {labels[0]!r}."
        )
    both = np.intersect1d(labels, known)
    if len(both):
        raise InvalidArgument(
            f"add_kind of {owner} takes kinds that it does not know yet; it knows "
            f"{both[0]!r}: leave it out, or fit the key again with all rows."
        )
    return labels


def graft_rows(
    plan: RoutedPlan,
    graph: DecisionGraph,
    X: Any,
    grow_leaf: Callable[[np.ndarray, int], AttentionTree],
    n_jobs: int | None,
) -> RoutedPlan:
    """Send the last rows of a plan, which are new, down every tree; grow the leaves they come to.

    ``grow_leaf`` makes a tree of rows below a leaf of some depth.
    """
    first = len(plan.class_of) - X.shape[0]
    steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    trees: dict[int, AttentionTree] = {}
    depths = graph.leaf_depths()[0]
    margins = graph.functions.evaluate(X, n_jobs)
    for root in graph.roots:
        found = searches.walk(
            graph._replace(roots=np.array([root], dtype=np.int32)), X, n_jobs, paths=True
        )
        assert found.used is not None
        own = np.repeat(np.arange(X.shape[0]), np.diff(found.used.indptr))
        nodes = found.used.indices
        side = np.where(margins[own, nodes] > 0, 1, -1).astype(np.int8)
        steps.append((nodes, first + own, side))
        for leaf in np.unique(found.leaf).tolist():
            part = np.concatenate(
                [plan.rows_of_leaf(leaf), first + np.flatnonzero(found.leaf == leaf)]
            )
            trees[leaf] = grow_leaf(part, int(depths[leaf]))
    way = tuple(np.concatenate(parts) for parts in zip(*steps, strict=True))
    return graft(plan, (way[0], way[1], way[2]), trees)


def widen_graph(
    graph: DecisionGraph,
    plan: RoutedPlan,
    functions: Functions,
    margins: np.ndarray,
    X: Any,
    place: np.ndarray,
    n_jobs: int | None,
) -> DecisionGraph:
    """Return the graph with the new nodes and classes; ``margins`` are of the new nodes."""
    n_old = graph.n_nodes
    index, colors = plan.class_of, plan.colors()
    sides = plan.sides(index, np.arange(len(index)))[:, n_old:]
    scale = np.concatenate([graph.scale, fit_node_scales(margins, sides)]).astype(np.float32)
    class_logits = precision = None
    if graph.has_evidence:
        new_index = index[-X.shape[0] :]
        seen = functions.evaluate(X, n_jobs)[:, :n_old] * graph.scale
        means, own = find_spread(seen, new_index)
        class_logits = np.zeros((plan.n_nodes, plan.n_classes), dtype=np.float32)
        class_logits[:n_old, place] = graph.class_logits
        class_logits[:n_old, np.unique(new_index)] = means.T
        class_logits[n_old:], raw = fit_evidence(margins * scale[n_old:], index, colors[n_old:])
        # Each node's spread is that of all rows now; new nodes trust themselves no more than
        # others do, since the temperature is only known of these.
        share = len(new_index) / len(index)
        spread = (1 - share) * 0.5 / graph.precision + share * own
        usual = np.minimum(raw, np.median(graph.precision))
        precision = np.concatenate([np.minimum(0.5 / spread, MOST_PRECISION), usual])
    return make_graph(
        functions,
        plan.left,
        plan.right,
        np.asarray(plan.counts.argmax(axis=1)),
        plan.n_classes,
        scale=scale,
        leaf_counts=plan.counts,
        colors=colors,
        roots=plan.roots,
        class_logits=class_logits,
        precision=precision,
        leaf_bonus=graph.leaf_bonus,
    )


def is_plan_of(plan: RoutedPlan, graph: DecisionGraph, X: Any) -> bool:
    """Whether a plan of some rows is that of a graph."""
    n, functions = X.shape[0], graph.functions
    fits = (
        np.array_equal(plan.left, graph.left)
        and np.array_equal(plan.right, graph.right)
        and np.array_equal(plan.roots, graph.roots)
        and np.array_equal(plan.counts.toarray(), graph.leaf_counts.toarray())
        and (len(plan.start), len(plan.leaf_start)) == (graph.n_nodes + 1, graph.n_leaves + 1)
        and max(plan.rows.max(initial=-1), plan.leaf_rows.max(initial=-1)) < n
    )
    if not fits or isinstance(functions, LinearFunctions):
        return bool(fits)
    if functions.support.max(initial=-1) >= n:
        return False
    rows, pool = X[functions.support], functions.pool
    return not (rows != pool).sum() if issparse(pool) else np.array_equal(rows, pool)


def find_spread(logits: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean log-odds of each kind, (n_kinds, n_nodes), and the variance within kinds."""
    logits = np.clip(logits, -MOST_LOGIT, MOST_LOGIT).astype(np.float64)
    kinds, own = np.unique(labels, return_inverse=True)
    means = np.stack([logits[own == kind].mean(axis=0) for kind in range(len(kinds))])
    n_free = max(len(labels) - len(kinds), 1)
    return means, ((logits - means[own]) ** 2).sum(axis=0) / n_free


def stack_rows(first: Any, second: Any) -> Any:
    """Return the rows of both, of the type of the first."""
    if issparse(first):
        return csr_array(vstack([first, csr_array(second)]), dtype=first.dtype)
    second = second.toarray() if issparse(second) else second
    return np.concatenate([first, second.astype(first.dtype)])


def join_functions(
    functions: Functions,
    problems: Problems,
    trained: Trained,
    n_old: int,
    n_new: int,
    order: np.ndarray,
) -> Functions:
    """Return old nodes, new nodes, and the classes in their new ``order``.

    ``trained`` are the new nodes, then the new classes.
    """
    n_functions = len(functions.intercept)
    total = n_functions + len(trained.intercept)
    news = np.arange(n_functions, total)
    flat = np.concatenate([np.arange(n_old, n_functions), news[n_new:]])[order]
    places = np.concatenate([np.arange(n_old), news[:n_new], flat])
    if isinstance(functions, LinearFunctions):
        new = problems.functions(trained)
        assert isinstance(new, LinearFunctions)
        coef = np.concatenate([functions.coef, new.coef])
        return LinearFunctions(
            coef[places], np.concatenate([functions.intercept, new.intercept])[places]
        )
    old = functions.coef
    beta = csr_array(
        (old.data, functions.support[old.indices], old.indptr), shape=(n_functions, problems.n)
    )
    return pool_functions(
        functions.kernel,
        functions.gamma,
        problems.X,
        csr_array(vstack([beta, trained.beta]))[places],
        np.concatenate([functions.intercept, trained.intercept])[places],
    )


def hold_out_margins(problems: Problems, plan: RoutedPlan, first: int, C: float) -> np.ndarray:
    """Return the margins of all rows at the nodes from ``first`` on, their fold left out."""
    fold = deal_folds(plan.class_of, N_FOLDS, problems.seed)
    margins = np.empty((len(fold), plan.n_nodes - first))
    for k in range(N_FOLDS):
        weight = (fold != k).astype(np.float64)
        questions = [plan.ask(node, weight) for node in range(first, plan.n_nodes)]
        held = np.flatnonzero(fold == k)
        margins[held] = problems.evaluate(problems.solve(questions, C=C), held)
    return margins

"""Three ways through a decision graph: greedy, best-first, and best-first with a shortlist.

    P(path | x) = Π_j p_j(side taken | x)         mass of a class = Σ of its paths' probabilities

- :func:`walk` takes the more probable side of every node: the rule of the papers.
- :func:`best_first` opens what has most mass until no other class can catch up: the answer is the
  class with most mass, as if every path had been followed. Each node is asked at most once.
- :func:`shortlist` goes on past the first leaf, lists the classes that are at most a ``tolerance``
  (in log-probability) less probable than the first, and lets their one-vs-all functions decide:
  the graph then needs recall, not a verdict.

Who is on the list is decided by all margins m that the search has seen, where the graph knows what
margins rows of each class have (``class_logits``), and by the leaves that it reached elsewhere:

    log P(k | m) = −Σ_{j asked} v_j (s_j f_j − m_jk)² + b [a leaf of k was reached] + const

A margin tells more than a side: of the classes on the right, those that lie far to the right
usually are the likelier ones after a large margin, and classes that an early mistake has cut off
come back once later margins look like theirs.

Every row takes the same compiled loop, so that answers depend neither on the number of rows nor
on ``n_jobs``. Linear functions of dense rows are evaluated where the search asks for them, in
single precision. Kernel functions, and functions of sparse rows, are evaluated for a whole block
of rows first, and the same loop reads them from that matrix: kernel values of one row and of many
may differ in their last digits. So may margins where a process that names a few pictures and ends
runs the loop as plain Python (``light_loops_plain``). The *counts* are those of a search that
evaluates only what it asks for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from fieldguide._check import check_number
from fieldguide._parallel import map_in_order
from fieldguide.errors import InvalidArgument
from fieldguide.identify import _walks
from fieldguide.identify._margins import Links, Rows, Source
from fieldguide.identify.graph import DecisionGraph
from fieldguide.svm import Functions, KernelFunctions, LinearFunctions

REACH = 0.2  # of the tolerance: how far evidence is gathered; benchmarks/results/keys_cells.md
_ROWS_PER_BLOCK = 1024
_MARGINS_PER_BLOCK = 2**22
_NO_COEF, _NO_INTERCEPT = np.empty((0, 0), np.float32), np.empty(0, np.float32)


class SearchResult(NamedTuple):
    """What a search says of each row, and what it spent.

    Examples
    --------
    >>> from fieldguide.identify.graph import make_graph
    >>> functions = LinearFunctions(np.array([[1.0], [1.0]]), np.array([0.0, -2.0]))
    >>> graph = make_graph(functions, [-1, -2], [1, -3], [0, 1, 2], 3)
    >>> found = walk(graph, np.array([[-1.0], [3.0]]))
    >>> found.answer.tolist(), found.n_nodes.tolist()  # class 0 took one node, class 2 two
    ([0, 2], [1, 2])
    """

    answer: np.ndarray  # (n,) int32: the class
    leaf: np.ndarray  # (n,) int32: a leaf of that class, the first that the search reached
    n_nodes: np.ndarray  # (n,) int32: nodes asked
    n_flat: np.ndarray  # (n,) int32: functions of classes asked
    mass: csr_array  # (n, n_classes): of the paths followed; greedy: share of the trees; shortlist
    # with evidence: probability before the functions of classes are asked
    rest: np.ndarray  # (n,): 1 − Σ mass
    margins: csr_array | None = None  # (n, n_classes): of the functions of classes asked
    used: csr_array | None = None  # (n, n_nodes) bool: nodes asked, with paths=True
    used_flat: csr_array | None = None  # (n, n_classes) bool: functions of classes, the same


def walk(
    graph: DecisionGraph, X: Any, n_jobs: int | None = None, *, paths: bool = False
) -> SearchResult:
    """Take the more probable side of every node, down to a leaf.

    Parameters
    ----------
    graph : DecisionGraph
    X : array of shape (n, n_features)
        Float32 and C-contiguous is read in place; or a CSR matrix; or what the functions of a
        kernel graph take.
    n_jobs : int, optional
        Threads.
    paths : bool
        Say which nodes were asked, in ``used`` of the answer.

    Examples
    --------
    >>> from fieldguide.identify.graph import make_graph
    >>> functions = LinearFunctions(np.array([[1.0], [1.0]]), np.array([0.0, -2.0]))
    >>> graph = make_graph(functions, [-1, -2], [1, -3], [0, 1, 2], 3)
    >>> walk(graph, np.array([[-1.0], [1.0], [3.0]])).answer.tolist()
    [0, 1, 2]
    """
    functions, links = node_functions(graph), read_links(graph)

    def search(rows: Any) -> tuple[np.ndarray, ...]:
        n = rows.shape[0]
        leaves, n_asked = np.empty((2, len(graph.roots), n), dtype=np.int32)
        used = csr_array((n, graph.n_nodes), dtype=bool)
        rows, source = look(functions, rows, n_jobs)
        for t, root in enumerate(graph.roots):
            _walks.walk_rows(rows, source, links, root, leaves[t], n_asked[t])
            if paths:
                ends = np.concatenate([[0], np.cumsum(n_asked[t], dtype=np.int64)])
                nodes = np.empty(ends[-1], dtype=np.int32)
                _walks.list_paths(rows, source, links, root, ends, nodes)
                used = csr_array(used + _mark(n_asked[t], nodes, graph.n_nodes))
        return leaves.T, n_asked.sum(axis=0, dtype=np.int32), np.diff(used.indptr), used.indices

    X = _check_rows(graph, X)
    leaves, n_asked, n_used, nodes = _search_blocks(search, X, functions, None, n_jobs)
    n, n_roots = leaves.shape
    answers = graph.leaf_class[leaves]
    votes = csr_array(
        (np.full(answers.size, 1 / n_roots), (np.arange(n).repeat(n_roots), answers.ravel())),
        shape=(n, graph.n_classes),
    )
    # The class with most votes; of equals, that of the earliest tree.
    first = np.argmax((answers[:, :, None] == answers[:, None, :]).sum(axis=2), axis=1)
    answer, leaf = (a[np.arange(n), first] for a in (answers, leaves))
    used = _mark(n_used, nodes, graph.n_nodes) if paths else None
    no_flat = csr_array((n, graph.n_classes), dtype=bool) if paths else None
    zeros = np.zeros(n, dtype=np.int32)
    return SearchResult(answer, leaf, n_asked, zeros, votes, np.zeros(n), None, used, no_flat)


def best_first(
    graph: DecisionGraph,
    X: Any,
    *,
    budget: int | None = None,
    n_jobs: int | None = None,
    paths: bool = False,
) -> SearchResult:
    """Find the class with most mass, opening the most probable entries first.

    The search ends when the leading class is ahead of the next by more than the mass that is not
    yet at a leaf. Of classes with equal mass the one reached first wins; of entries with equal
    mass the one on the side of the last margin's sign is opened first.

    Parameters
    ----------
    graph, X, n_jobs, paths
        As of :func:`walk`.
    budget : int, optional
        The most nodes to ask for a row; the class with most mass so far is the answer. A row that
        has not come to any leaf by then takes the greedy way down from its most probable entry,
        and that way alone may exceed the budget.

    Examples
    --------
    Two leaves of class 1 together have more mass than the leaf of class 0:

    >>> from fieldguide.identify.graph import make_graph
    >>> functions = LinearFunctions(np.array([[1.0], [0.0]]), np.array([0.0, 0.0]))
    >>> graph = make_graph(functions, [1, -1], [-2, -3], [1, 0, 1], 2)
    >>> found = best_first(graph, np.array([[-0.5]], dtype=np.float32))
    >>> int(found.answer[0]), found.mass.toarray().round(2).tolist()
    (1, [[0.38, 0.62]])
    """
    limit = _check_budget("best_first", budget)
    functions, links = node_functions(graph), read_links(graph)

    def search(rows: Any) -> tuple[np.ndarray, ...]:
        n = rows.shape[0]
        leaf, n_asked = np.empty((2, n), dtype=np.int32)
        ends, node_ends = np.empty((2, n + 1), dtype=np.int64)
        rest = np.empty(n)
        rows, source = look(functions, rows, n_jobs)
        classes, masses, nodes = _walks.best_first_rows(
            rows, source, links, limit, paths, leaf, n_asked, rest, ends, node_ends
        )
        lists = np.diff(ends), classes[: ends[-1]], masses[: ends[-1]]
        return leaf, n_asked, rest, *lists, nodes[: node_ends[-1]]

    X = _check_rows(graph, X)
    leaf, n_asked, rest, lengths, classes, masses, nodes = _search_blocks(
        search, X, functions, None, n_jobs
    )
    n = X.shape[0]
    mass = _gather(lengths, classes, masses, graph.n_classes)
    used = _mark(n_asked, nodes, graph.n_nodes) if paths else None
    no_flat = csr_array((n, graph.n_classes), dtype=bool) if paths else None
    zeros = np.zeros(n, dtype=np.int32)
    answer = graph.leaf_class[leaf]
    return SearchResult(answer, leaf, n_asked, zeros, mass, rest, None, used, no_flat)


def shortlist(
    graph: DecisionGraph,
    X: Any,
    flat: Functions | None = None,
    *,
    tolerance: float,
    max_classes: int = 16,
    budget: int | None = None,
    n_jobs: int | None = None,
    paths: bool = False,
) -> SearchResult:
    """Let one-vs-all functions decide among the most probable classes.

    With evidence of the classes' margins, the greedy way is followed, and others to leaves within
    :data:`REACH` times the tolerance of the most probable; every class is weighed by the margins
    met there. Without, a leaf counts by its most probable path, and ``mass`` holds those paths
    alone. When one class is left, nothing more is asked. Of equal margins the class with the
    smaller number wins, as it does for one-vs-all.

    Parameters
    ----------
    graph, X, n_jobs, paths
        As of :func:`walk`.
    flat : LinearFunctions or KernelFunctions, optional
        One function for each class; by default those that the graph holds after its nodes'.
    tolerance : float
        Classes are listed whose log-probability is at most this below that of the first. 0 stops
        at the first leaf; infinity follows all.
    max_classes : int
        The most classes on the list.
    budget : int, optional
        The most nodes to ask for a row, as of :func:`best_first`.
    """
    most, limit = check_limits("shortlist", graph, tolerance, max_classes, budget)
    reach, tolerance = find_reach(graph, tolerance), float(tolerance)
    links = read_links(graph)
    functions, flat = class_functions(graph, flat)

    def search(rows: Any) -> tuple[np.ndarray, ...]:
        n = rows.shape[0]
        leaf, n_asked, n_flat = np.empty((3, n), dtype=np.int32)
        ends, node_ends = np.empty((2, n + 1), dtype=np.int64)
        rest = np.empty(n)
        at_nodes, source = look(functions, rows, n_jobs)
        if flat is None:
            own = np.ascontiguousarray(at_nodes.margins[:, graph.n_nodes :])
            at_classes, flat_source = at_nodes._replace(margins=own), source
        else:
            at_classes, flat_source = look(flat, rows, n_jobs)
        classes, masses, margins, nodes = _walks.shortlist_rows(
            *(at_nodes, source, links, at_classes, flat_source),
            *(reach, tolerance, most, limit, paths),
            *(leaf, n_asked, n_flat, rest, ends, node_ends),
        )
        end = ends[-1]
        lists = np.diff(ends), classes[:end], masses[:end], margins[:end]
        return leaf, n_asked, n_flat, rest, *lists, nodes[: node_ends[-1]]

    X = _check_rows(graph, X)
    leaf, n_asked, n_flat, rest, lengths, classes, masses, values, nodes = _search_blocks(
        search, X, functions, flat, n_jobs
    )
    place = np.arange(len(classes)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    is_asked = place < np.repeat(n_flat, lengths)
    margins = _gather(n_flat, classes[is_asked], values[is_asked], graph.n_classes)
    return SearchResult(
        graph.leaf_class[leaf],
        leaf,
        n_asked,
        n_flat,
        _gather(lengths, classes, masses, graph.n_classes),
        rest,
        margins,
        _mark(n_asked, nodes, graph.n_nodes) if paths else None,
        _mark(n_flat, classes[is_asked], graph.n_classes) if paths else None,
    )


def count_costs(graph: DecisionGraph, flat: Functions | None, found: SearchResult) -> np.ndarray:
    """Return what each row cost: functions if linear, else distinct kernel values, (n,).

    Parameters
    ----------
    graph, flat
        As the search took them. Kernel functions of a ``flat`` of its own must number the same
        training rows in ``support`` as those of the graph: a row that both use counts once.
    found : SearchResult
        Of a search with ``paths=True``, where the functions are of a kernel.
    """
    if isinstance(graph.functions, LinearFunctions) and not isinstance(flat, KernelFunctions):
        n_functions: np.ndarray = found.n_nodes + found.n_flat
        return n_functions
    if found.used is None or found.used_flat is None:
        raise InvalidArgument("count_costs needs the nodes asked; search with paths=True.")
    own = graph.functions
    if flat is None or flat is own:
        n_columns = len(own.intercept)
        return own.count_evaluations(_side_by_side(found.used, found.used_flat, n_columns))
    if isinstance(own, LinearFunctions) or isinstance(flat, LinearFunctions):
        nodes = own.count_evaluations(_side_by_side(found.used, None, len(own.intercept)))
        n_kernel_values: np.ndarray = nodes + flat.count_evaluations(found.used_flat)
        return n_kernel_values
    # Two pools over the same training rows: as one, with those rows as columns.
    rows, columns = np.unique(np.concatenate([own.support, flat.support]), return_inverse=True)
    parts = []
    for part, places in ((own, columns[: len(own.support)]), (flat, columns[len(own.support) :])):
        ones = np.ones(part.coef.nnz, dtype=np.int64)
        support = csr_array(
            (ones, places[part.coef.indices], part.coef.indptr),
            shape=(part.coef.shape[0], len(rows)),
        )
        parts.append(support)
    used, used_flat = (a.astype(np.int64) for a in (found.used, found.used_flat))
    return np.diff((used @ parts[0][: graph.n_nodes] + used_flat @ parts[1]).indptr)


def _check_rows(graph: DecisionGraph, X: Any) -> Any:
    """Return rows with the columns that the functions take; their values are not looked at."""
    X = X if issparse(X) else np.asarray(X)
    n_features = graph.functions.n_features
    if X.ndim != 2 or X.shape[1] != n_features:
        raise InvalidArgument(
            f"X must have rows of {n_features} columns, as the functions of the graph take; "
            f"got shape {X.shape}."
        )
    if issparse(X):
        return X.tocsr()
    return X if X.flags.c_contiguous else np.ascontiguousarray(X)


def _check_budget(owner: str, budget: int | None) -> int:
    """Return the most nodes to ask, −1 for any number."""
    if budget is None:
        return -1
    check_number(owner, "budget", budget, 1, 2**31 - 1, integer=True)
    return budget


def check_limits(
    owner: str, graph: DecisionGraph, tolerance: float, max_classes: int, budget: int | None
) -> tuple[int, int]:
    """Return the most classes to list and the most nodes to ask."""
    check_number(owner, "tolerance", tolerance, 0, np.inf)
    check_number(owner, "max_classes", max_classes, 1, 2**31 - 1, integer=True)
    # Once every class that has a leaf is on the list, no further node can matter.
    n_named = int(np.count_nonzero(graph.count_leaves()))
    return min(max_classes, n_named), _check_budget(owner, budget)


def find_reach(graph: DecisionGraph, tolerance: float) -> float:
    """Return within how much of the first leaf a shortlist follows leaves."""
    return float(tolerance) * (REACH if graph.has_evidence else 1.0)


def read_links(graph: DecisionGraph) -> Links:
    """Return the graph as the compiled loops read it."""
    class_leaf = np.full(graph.n_classes, -1, dtype=np.int32)
    numbers = np.arange(graph.n_leaves, dtype=np.int32)[::-1]
    class_leaf[graph.leaf_class[numbers]] = numbers
    return Links(
        *(graph.left, graph.right, graph.scale, graph.leaf_class, graph.n_classes),
        *(graph.roots, graph.class_logits, graph.precision, graph.leaf_bonus, class_leaf),
    )


def node_functions(graph: DecisionGraph) -> Any:
    """Return the functions of the nodes alone, with the part of a pool that they use."""
    functions, n = graph.functions, graph.n_nodes
    if not graph.has_flat:
        return functions
    if isinstance(functions, LinearFunctions):
        return LinearFunctions(functions.coef[:n], functions.intercept[:n])
    coef = functions.coef[:n]
    kept, columns = np.unique(coef.indices, return_inverse=True)
    return functions._replace(
        pool=None if functions.pool is None else functions.pool[kept],
        support=functions.support[kept],
        coef=csr_array((coef.data, columns, coef.indptr), shape=(n, len(kept))),
        intercept=functions.intercept[:n],
    )


def class_functions(graph: DecisionGraph, flat: Functions | None) -> tuple[Any, Any]:
    """Return functions of the nodes and of the classes; one object and None for a shared pool."""
    if flat is not None and flat is not graph.functions:
        if len(flat.intercept) != graph.n_classes:
            raise InvalidArgument(
                f"flat of shortlist must have {graph.n_classes} functions, one for each class; "
                f"got {len(flat.intercept)}."
            )
        if flat.n_features != graph.functions.n_features:
            raise InvalidArgument(
                f"flat of shortlist must take {graph.functions.n_features} columns, as the graph "
                f"does; it takes {flat.n_features}."
            )
        return node_functions(graph), flat
    if not graph.has_flat:
        raise InvalidArgument(
            "The graph holds functions of its nodes alone; give shortlist the functions of the "
            "classes as flat."
        )
    functions, n = graph.functions, graph.n_nodes
    if isinstance(functions, LinearFunctions):
        own = LinearFunctions(functions.coef[n:], functions.intercept[n:])
        return node_functions(graph), own
    return functions, None


def look(functions: Functions, rows: Any, n_jobs: int | None) -> tuple[Rows, Source]:
    """Return what the compiled loops read: the rows and functions, or margins of all functions."""
    n = rows.shape[0]
    if _is_direct(functions, rows):
        coef, intercept = (np.ascontiguousarray(a, dtype=np.float32) for a in functions[:2])
        values = np.ascontiguousarray(rows, dtype=np.float32)
        known = Rows(values, np.empty((n, 0)))
        return known, Source(functions.n_features, coef, intercept)
    margins = np.ascontiguousarray(functions.evaluate(rows, n_jobs), dtype=np.float64)
    known = Rows(np.empty((n, 0), np.float32), margins)
    return known, Source(0, _NO_COEF, _NO_INTERCEPT)


def _is_direct(functions: Functions | None, X: Any) -> bool:
    return isinstance(functions, LinearFunctions) and not issparse(X)


def _search_blocks(
    search: Callable[[Any], tuple[np.ndarray, ...]],
    X: Any,
    functions: Functions,
    flat: Functions | None,
    n_jobs: int | None,
) -> list[np.ndarray]:
    """Return the answers of ``search`` for all rows, block by block."""
    parts = [part for part in (functions, flat) if part is not None]
    is_direct = all(_is_direct(part, X) for part in parts)
    height = _ROWS_PER_BLOCK
    if not is_direct:
        n_margins = sum(len(part.intercept) for part in parts)
        height = max(1, min(height, _MARGINS_PER_BLOCK // max(n_margins, 1)))
    n = X.shape[0]
    if n <= height:
        return list(search(X))
    blocks = (X[start : start + height] for start in range(0, n, height))
    # Kernel values have threads of their own.
    found = list(map_in_order(search, blocks, n_jobs=n_jobs if is_direct else 1))
    return [np.concatenate(column) for column in zip(*found, strict=True)]


def _gather(lengths: np.ndarray, columns: np.ndarray, values: Any, width: int) -> csr_array:
    """Return the lists of all rows as one matrix."""
    ends = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    matrix = csr_array((values, columns, ends), shape=(len(lengths), width))
    matrix.sort_indices()
    return matrix


def _mark(lengths: np.ndarray, columns: np.ndarray, width: int) -> csr_array:
    return _gather(lengths, columns, np.ones(len(columns), dtype=bool), width)


def _side_by_side(used: csr_array, used_flat: csr_array | None, n_columns: int) -> csr_array:
    """Return which functions of one object each row used: nodes, then classes, (n, n_columns)."""
    rows = np.repeat(np.arange(used.shape[0]), np.diff(used.indptr))
    columns = used.indices
    if used_flat is not None and used.shape[1] < n_columns:
        flat_rows = np.repeat(np.arange(used.shape[0]), np.diff(used_flat.indptr))
        rows = np.concatenate([rows, flat_rows])
        columns = np.concatenate([columns, used.shape[1] + used_flat.indices])
    marks = np.ones(len(rows), dtype=bool)
    return csr_array((marks, (rows, columns)), shape=(used.shape[0], n_columns))

"""Random decision graphs: trees, and graphs where paths meet, with small whole numbers."""

import numpy as np
from scipy.sparse import csr_array

from fieldguide.identify.graph import DecisionGraph, make_graph
from fieldguide.svm import LinearFunctions
from fieldguide.svm.functions import pool_functions


def draw_links(rng: np.random.Generator, n_nodes: int, *, is_tree: bool):
    """Children of each node; every node and leaf has a parent. Returns left, right, n_leaves."""
    links = np.zeros((n_nodes, 2), dtype=int)
    free: list[tuple[int, int]] = []
    for j in range(n_nodes):
        if j:  # hang node j from a free side of an earlier node
            links[free.pop(rng.integers(len(free)))] = j
        free += [(j, 0), (j, 1)]
    n_leaves = 0
    for owner, side in free:
        later = np.arange(owner + 1, n_nodes)
        if not is_tree and len(later) and rng.random() < 0.6:
            links[owner, side] = rng.choice(later)
        elif not is_tree and n_leaves and rng.random() < 0.4:
            links[owner, side] = -1 - rng.integers(n_leaves)
        else:
            links[owner, side] = -1 - n_leaves
            n_leaves += 1
    return links[:, 0], links[:, 1], max(n_leaves, 1)


def draw_graph(
    seed: int, max_nodes: int = 12, *, kernel: str = "linear", is_sparse: bool = False
) -> DecisionGraph:
    """A graph of 3 columns with functions of its classes after its nodes'; margins tie often."""
    rng = np.random.default_rng(seed)
    n_nodes, n_classes = int(rng.integers(0, max_nodes + 1)), int(rng.integers(1, 6))
    left, right, n_leaves = draw_links(rng, n_nodes, is_tree=rng.random() < 0.4)
    n_functions = n_nodes + n_classes
    if kernel == "linear":
        functions = LinearFunctions(
            rng.integers(-2, 3, (n_functions, 3)).astype(np.float32),
            rng.integers(-1, 2, n_functions).astype(np.float32),
        )
    else:
        rows = draw_rows(rng, 20, kernel)
        if is_sparse:
            rows = csr_array(rows)
        beta = rng.normal(size=(n_functions, 20)) * (rng.random((n_functions, 20)) < 0.2)
        gamma = 1.0 if kernel == "rbf" else None
        functions = pool_functions(kernel, gamma, rows, beta, rng.normal(size=n_functions) / 5)
    return make_graph(
        functions,
        left,
        right,
        rng.integers(0, n_classes, n_leaves),
        n_classes,
        scale=rng.choice([0.25, 0.5, 1.0, 3.0, 1e4], n_nodes),
    )


def draw_rows(rng: np.random.Generator, n: int, kernel: str = "linear") -> np.ndarray:
    """Rows for a graph of :func:`draw_graph`; a precomputed kernel has 20 training rows."""
    if kernel == "linear":
        return rng.integers(-2, 3, (n, 3)).astype(np.float32)
    return rng.random((n, 20 if kernel == "precomputed" else 3))


def make_dagsvm(coef: np.ndarray, n_classes: int) -> DecisionGraph:
    """One node for each pair of first and last class left, none of them wrong yet."""
    spans = [(i, i + size - 1) for size in range(n_classes, 1, -1) for i in
             range(n_classes - size + 1)]  # fmt: skip
    number = {span: node for node, span in enumerate(spans)} | {
        (i, i): -1 - i for i in range(n_classes)
    }
    left = [number[i, j - 1] for i, j in spans]
    right = [number[i + 1, j] for i, j in spans]
    functions = LinearFunctions(coef[: len(spans)], np.zeros(len(spans)))
    return make_graph(functions, left, right, np.arange(n_classes), n_classes)

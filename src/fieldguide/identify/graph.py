"""A decision graph: the one data structure of every key that does not ask all its functions.

    p(right at node j | x) = 1 / (1 + exp(−s_j f_j(x)))

A graph of two-way decisions without cycles. Node j asks function j; f_j(x) > 0 goes right,
anything else left. The probability has a scale and no offset, so that the more probable side is
the side of the margin's sign. Several paths may lead to one node or leaf, and several leaves may
name one class. A graph with several roots is several trees, all of which are asked.

| symbol | meaning |
|---|---|
| j, l, k | inner node, leaf, class |
| f_j, s_j | function of node j, and the scale of its margin |
| left, right | the number of a child, larger than the parent's, or −1 − l for leaf l |
| m_jk, v_j | mean of s_j f_j(x) over rows of class k, and the precision of s_j f_j(x) about it |
| b | log-odds that a leaf counts for: how much likelier a class is whose leaf a search reaches |
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from fieldguide._saving import Array, Number, Part, Rows, Size
from fieldguide.errors import InvalidArgument
from fieldguide.svm import Functions, LinearFunctions
from fieldguide.svm.functions import functions_field

LEFT, BOTH, RIGHT, ABSENT = -1, 0, 1, 2
MOST_LOGIT, MOST_PRECISION = 100.0, 1e6  # so that sums over nodes stay in single precision


class DecisionGraph(NamedTuple):
    """Inner nodes, leaves and their functions; made and checked by :func:`make_graph`.

    ``functions`` holds one function for each node, in their order, and may hold one more for each
    class: the one-vs-all functions that decide a shortlist. Kernel functions of both kinds then
    share one pool, and a kernel value is counted once.

    Examples
    --------
    >>> functions = LinearFunctions(np.array([[1.0], [1.0]]), np.array([0.0, -2.0]))
    >>> graph = make_graph(functions, [-1, -2], [1, -3], [0, 1, 2], 3)
    >>> graph.n_nodes, graph.leaf_class.tolist()
    (2, [0, 1, 2])
    """

    functions: Functions
    left: np.ndarray  # (n_nodes,) int32
    right: np.ndarray  # (n_nodes,) int32
    scale: np.ndarray  # (n_nodes,) float32, above 0
    leaf_class: np.ndarray  # (n_leaves,) int32
    leaf_counts: csr_array  # (n_leaves, n_classes) weight of the training rows of each class
    colors: np.ndarray  # (n_nodes, n_classes) int8: LEFT, RIGHT, BOTH or ABSENT
    n_classes: int
    roots: np.ndarray  # (n_trees,) int32: numbers as of children
    class_logits: np.ndarray  # (n_nodes, n_classes) float32, m_jk; (0, n_classes): not known
    precision: np.ndarray  # (n_nodes,) float32, v_j; (0,): not known
    leaf_bonus: float  # b

    @property
    def n_nodes(self) -> int:
        """Inner nodes; 0 where the graph is one leaf."""
        return len(self.left)

    @property
    def n_leaves(self) -> int:
        """Leaves; at least one."""
        return len(self.leaf_class)

    @property
    def has_flat(self) -> bool:
        """Whether one function for each class follows those of the nodes."""
        return len(self.functions.intercept) > self.n_nodes

    @property
    def has_evidence(self) -> bool:
        """Whether it is known what the margins of every class look like at every node."""
        return len(self.precision) > 0

    def leaf_depths(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of decisions on the shortest and on the longest path to each leaf."""
        n = self.n_nodes
        # Leaf l has the place −1 − l, from the end, which is how arrays read negative numbers.
        least = np.full(n + self.n_leaves, np.iinfo(np.int64).max)
        most = np.zeros(n + self.n_leaves, dtype=np.int64)
        least[self.roots] = 0
        for j, children in enumerate(zip(self.left.tolist(), self.right.tolist(), strict=True)):
            for child in children:
                least[child] = min(least[child], least[j] + 1)
                most[child] = max(most[child], most[j] + 1)
        return least[n:][::-1].copy(), most[n:][::-1].copy()

    def count_leaves(self) -> np.ndarray:
        """Return the number of leaves of each class, (n_classes,)."""
        return np.bincount(self.leaf_class, minlength=self.n_classes)

    def classes_below(self, node: int) -> np.ndarray:
        """Return the classes of all leaves below a node, ascending; −1 − l means leaf l itself."""
        if not -self.n_leaves <= node < self.n_nodes:
            raise InvalidArgument(
                f"node must lie in {-self.n_leaves} to {self.n_nodes - 1}; got {node}."
            )
        is_seen = np.zeros(self.n_nodes + self.n_leaves, dtype=bool)
        front = np.array([node])
        while len(front):
            is_seen[front] = True
            inner = front[front >= 0]
            front = np.unique(np.concatenate([self.left[inner], self.right[inner]]))
            front = front[~is_seen[front]]
        return np.unique(self.leaf_class[is_seen[self.n_nodes :][::-1]])


def make_graph(
    functions: Functions,
    left: Any,
    right: Any,
    leaf_class: Any,
    n_classes: int,
    *,
    scale: Any = None,
    leaf_counts: Any = None,
    colors: Any = None,
    roots: Any = None,
    class_logits: Any = None,
    precision: Any = None,
    leaf_bonus: float = 0.0,
) -> DecisionGraph:
    """Return a graph whose parts are known to fit together.

    Parameters
    ----------
    functions : LinearFunctions or KernelFunctions
        One for each inner node, then none or one for each class.
    left, right : array of shape (n_nodes,)
        A child's number, larger than the node's own, or −1 − leaf.
    leaf_class : array of shape (n_leaves,)
    n_classes : int
    scale : array of shape (n_nodes,), optional
        Of the margins; 1 by default.
    leaf_counts : array or CSR matrix of shape (n_leaves, n_classes), optional
        Weight of the training rows of each class at each leaf; 1 for its own class by default.
    colors : array of shape (n_nodes, n_classes), optional
        −1 where a class goes left, +1 right, 0 both ways, 2 not at this node; by default from
        the classes of the leaves below.
    roots : array of shape (n_trees,), optional
        Where each tree begins, numbered as children are; by default node 0, or the only leaf.
    class_logits, precision : arrays of shape (n_nodes, n_classes) and (n_nodes,), optional
        What log-odds rows of each class have at each node: mean, and weight of the squared
        distance from it.
    leaf_bonus : float
        What a leaf that a search reaches adds to the log-probability of its class.

    Examples
    --------
    >>> functions = LinearFunctions(np.array([[1.0], [1.0]]), np.array([0.0, -2.0]))
    >>> graph = make_graph(functions, [-1, -2], [1, -3], [0, 1, 2], 3)
    >>> graph.leaf_depths()[1].tolist()
    [1, 2, 2]
    >>> graph.classes_below(1).tolist()
    [1, 2]
    """
    if isinstance(functions, LinearFunctions):
        functions = LinearFunctions(
            _own(functions.coef, np.float32), _own(functions.intercept, np.float32)
        )
    left, right = _own(left, np.int32), _own(right, np.int32)
    leaf_class = _own(leaf_class, np.int32)
    if leaf_counts is None:
        leaf_counts = csr_array(
            (np.ones(len(leaf_class)), leaf_class, np.arange(len(leaf_class) + 1)),
            shape=(len(leaf_class), n_classes),
        )
    elif not issparse(leaf_counts):
        leaf_counts = csr_array(np.asarray(leaf_counts, dtype=np.float64))
    graph = DecisionGraph(
        functions,
        left,
        right,
        np.ones(len(left), np.float32) if scale is None else _own(scale, np.float32),
        leaf_class,
        csr_array(leaf_counts),
        np.empty((0, 0), np.int8) if colors is None else _own(colors, np.int8),
        n_classes,
        _own([0 if len(left) else -1] if roots is None else roots, np.int32),
        _own(np.empty((0, n_classes)) if class_logits is None else class_logits, np.float32),
        _own(np.empty(0) if precision is None else precision, np.float32),
        leaf_bonus,
    )
    _check_links(graph)
    if colors is None:
        graph = graph._replace(colors=_color_by_leaves(graph))
    _check_values(graph)
    return graph


def _require(is_sound: Any, what: str) -> None:
    if not is_sound:
        raise InvalidArgument(f"The decision graph is damaged: {what}; make or save it again.")


def _own(values: Any, dtype: Any) -> np.ndarray:
    """Return values in the order, the type and the kind of memory that compiled loops are for."""
    values = np.asarray(values)
    if np.issubdtype(dtype, np.integer) and values.size:
        _require(np.issubdtype(values.dtype, np.integer), "its links must be whole numbers")
        limits = np.iinfo(dtype)
        _require(
            limits.min <= values.min() <= values.max() <= limits.max, "a whole number is too large"
        )
    return np.require(values, dtype, ["C", "W"])


def _check_links(graph: DecisionGraph) -> None:
    n_nodes, n_leaves = graph.n_nodes, graph.n_leaves
    _require(
        graph.left.ndim == graph.leaf_class.ndim == 1 and graph.right.shape == graph.left.shape,
        "'left', 'right' and 'leaf_class' must be flat, and the first two of one length",
    )
    _require(n_leaves >= 1, "it needs at least one leaf")
    roots = graph.roots
    _require(
        roots.ndim == 1 and len(roots) and -n_leaves <= roots.min() <= roots.max() < n_nodes,
        f"it needs a root, and roots must lie in {-n_leaves} to {n_nodes - 1}",
    )
    _require(len(np.unique(roots)) == len(roots), "a root must not stand twice")
    children = np.stack([graph.left, graph.right], axis=1).astype(np.int64)
    is_inner = children >= 0
    # With larger numbers only, no walk can turn in a circle, and whatever has a parent hangs
    # from a root.
    _require(
        (~is_inner | (children > np.arange(n_nodes)[:, None])).all(),
        "a child must have a larger number than its parent",
    )
    _require(
        (children < n_nodes).all() and (children >= -n_leaves).all(),
        f"children must lie in {-n_leaves} to {n_nodes - 1}",
    )
    has_parent = np.zeros(n_nodes + n_leaves, dtype=bool)
    has_parent[children.ravel()] = True
    _require(not has_parent[roots].any(), "a root must not be a child")
    has_parent[roots] = True
    _require(has_parent.all(), "every node and every leaf must be reachable from a root")
    _require(
        0 <= graph.leaf_class.min() <= graph.leaf_class.max() < graph.n_classes,
        f"classes of leaves must lie in 0 to {graph.n_classes - 1}",
    )
    _require(graph.functions.n_features >= 1, "its functions take no columns")
    n_functions = len(graph.functions.intercept)
    _require(
        n_functions in (n_nodes, n_nodes + graph.n_classes),
        f"it must have {n_nodes} functions, or {n_nodes + graph.n_classes} with one for each "
        f"class, and has {n_functions}",
    )


def _check_values(graph: DecisionGraph) -> None:
    n_nodes, n_leaves, n_classes = graph.n_nodes, graph.n_leaves, graph.n_classes
    _require(
        graph.scale.shape == (n_nodes,) and (np.isfinite(graph.scale) & (graph.scale > 0)).all(),
        "scales must be finite and above 0, one for each node",
    )
    _require(
        graph.colors.shape == (n_nodes, n_classes)
        and (not graph.colors.size or LEFT <= graph.colors.min() <= graph.colors.max() <= ABSENT),
        f"colors must be -1, 0, 1 or 2 for each of {n_nodes} nodes and {n_classes} classes",
    )
    _require(
        len(graph.precision) in (0, n_nodes)
        and graph.class_logits.shape == (len(graph.precision), n_classes)
        and graph.precision.ndim == 1
        and (np.abs(graph.class_logits) <= MOST_LOGIT).all()
        and ((graph.precision > 0) & (graph.precision <= MOST_PRECISION)).all(),
        f"class_logits must be at most {MOST_LOGIT:g} in size, and precision above 0 and at most "
        f"{MOST_PRECISION:g}, for each of {n_nodes} nodes, or both be empty",
    )
    bonus = graph.leaf_bonus
    _require(
        isinstance(bonus, float) and 0 <= bonus <= MOST_LOGIT,
        f"leaf_bonus must be a number from 0 to {MOST_LOGIT:g}, not {bonus!r}",
    )
    counts = graph.leaf_counts
    _require(
        counts.shape == (n_leaves, n_classes)
        and np.issubdtype(counts.dtype, np.floating)
        and (np.isfinite(counts.data) & (counts.data >= 0)).all(),
        f"leaf counts must be finite and not negative for each of {n_leaves} leaves and "
        f"{n_classes} classes",
    )


def _color_by_leaves(graph: DecisionGraph) -> np.ndarray:
    """Return where the leaves of each class lie, seen from each node, (n_nodes, n_classes)."""
    n = graph.n_nodes
    is_below = np.zeros((n, graph.n_classes), dtype=bool)
    colors = np.empty((n, graph.n_classes), dtype=np.int8)
    leaf_class = graph.leaf_class

    def below(child: int) -> np.ndarray:
        if child >= 0:
            row: np.ndarray = is_below[child]
            return row
        alone = np.zeros(graph.n_classes, dtype=bool)
        alone[leaf_class[-1 - child]] = True
        return alone

    for j in range(n - 1, -1, -1):
        on_left, on_right = below(int(graph.left[j])), below(int(graph.right[j]))
        is_below[j] = on_left | on_right
        colors[j] = np.where(is_below[j], on_right.astype(np.int8) - on_left, ABSENT)
    return colors


_CHILDREN = Array("int32", "n_nodes", within=("-n_leaves", "n_nodes"))
GRAPH = Part(
    DecisionGraph,
    {
        "functions": functions_field(),
        "left": _CHILDREN,
        "right": _CHILDREN,
        "scale": Array("float32", "n_nodes", above=0),
        "leaf_class": Array("int32", "n_leaves", within=(0, "n_classes")),
        "leaf_counts": Rows("n_leaves", "n_classes", always_sparse=True, low=0),
        "colors": Array("int8", "n_nodes", "n_classes", low=LEFT, high=ABSENT),
        "n_classes": Size("n_classes"),
        "roots": Array("int32", "n_roots", within=("-n_leaves", "n_nodes")),
        "class_logits": Array(
            "float32", "n_weighed", "n_classes", low=-MOST_LOGIT, high=MOST_LOGIT
        ),
        "precision": Array("float32", "n_weighed", above=0, high=MOST_PRECISION),
        "leaf_bonus": Number(0, MOST_LOGIT),
    },
    make_graph,
)

"""DAGSVM: a list of classes, and each test of its two ends takes one of them off.

A node is an interval [a, b] of the classes; its function tells a from b. All functions are those
of one-vs-one, and a row sees K − 1 of the K(K − 1)/2.

Reference: J. Platt, N. Cristianini, J. Shawe-Taylor, "Large margin DAGs for multiclass
classification", NIPS (1999).
"""

import numpy as np

from fieldguide.identify.growing import Plan, Split, grow
from fieldguide.identify.tree_key import TreeKey
from fieldguide.svm import Problems


class DAGSVMClassifier(TreeKey):
    """A decision graph of the functions of each pair of classes.

    Parameters
    ----------
    C, kernel, gamma, loss, tol, search, node_classifier, n_trees, n_jobs, random_state
        As of every tree key; see :class:`TreeKey`.

    Examples
    --------
    >>> from fieldguide.identify import DAGSVMClassifier
    >>> X = [[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]]
    >>> key = DAGSVMClassifier(C=10.0, search="greedy").fit(X, ["a", "a", "b", "b", "c", "c"])
    >>> key.predict([[1.05], [1.9]]).tolist(), key.evaluations([[1.05]]).tolist()
    (['b', 'c'], [2])
    """

    def _plan(self, problems: Problems, index: np.ndarray, C: float, tree: int) -> Plan:
        n_classes = len(self.classes_)
        place = np.arange(n_classes)  # in the list; other trees have other lists
        if tree:
            np.random.default_rng([problems.seed, tree]).shuffle(place)

        def split(classes: tuple[int, ...]) -> Split:
            order = place[list(classes)]
            colors = np.zeros(len(classes), dtype=np.int8)
            colors[order.argmin()], colors[order.argmax()] = -1, 1
            return Split(colors)

        return grow(n_classes, split, split, max_nodes=n_classes**2)[0]

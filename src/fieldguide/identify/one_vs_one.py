"""One-vs-one: a function for each pair of classes, each a vote; the class with most votes wins.

Equal votes are decided by the sum of the margins for the class:

    score_k = votes_k + s_k / (3 (|s_k| + 1)),    s_k = Σ of the margins in favour of k

The second term is below 1/3, so it never outweighs a vote. The functions, K(K−1)/2 of them, are
trained on the rows of their two classes alone.
"""

import numpy as np

from fieldguide._jit import jit
from fieldguide.identify.flat import FlatKey
from fieldguide.svm import list_pairs
from fieldguide.svm.c_path import Train


class OneVsOneClassifier(FlatKey):
    """Linear or kernel SVMs, one for each pair of classes.

    Parameters
    ----------
    C, kernel, gamma, loss, class_weight, tol, probability, n_jobs, random_state
        As of :class:`~fieldguide.identify.OneVsAllClassifier`; "balanced" gives the two classes of
        a pair the same weight.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    functions_ : LinearFunctions or KernelFunctions
        One for each pair (a, b) with a < b, in order; positive for b.
    C_, inverse_temperature_, held_out_, duality_gap_, graph_
        As of :class:`~fieldguide.identify.OneVsAllClassifier`.

    Examples
    --------
    >>> from fieldguide.identify import OneVsOneClassifier
    >>> X = [[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]]
    >>> key = OneVsOneClassifier(C=10.0).fit(X, ["a", "a", "b", "b", "c", "c"])
    >>> key.predict([[1.05], [1.9]]).tolist()
    ['b', 'c']
    """

    @staticmethod
    def _count_functions(n_classes: int) -> int:
        return n_classes * (n_classes - 1) // 2

    def _trainer(self, index: np.ndarray) -> Train:
        return lambda problems, C, weight, start: problems.one_vs_one(
            index, len(self.classes_), C=C, weight=weight, start=start
        )

    def _score(self, margins: np.ndarray) -> np.ndarray:
        n_classes = len(self.classes_)
        votes = np.zeros((len(margins), n_classes))
        sums = np.zeros((len(margins), n_classes))
        pairs = list_pairs(n_classes)
        count_votes(np.ascontiguousarray(margins, dtype=np.float64), pairs, votes, sums)
        scores: np.ndarray = votes + sums / (3 * (np.abs(sums) + 1))
        return scores


@jit
def count_votes(
    margins: np.ndarray, pairs: np.ndarray, votes: np.ndarray, sums: np.ndarray
) -> None:
    """Add each pair's vote and margin to its two classes; margins is (n, n_pairs)."""
    for i in range(margins.shape[0]):
        for p in range(pairs.shape[0]):
            a, b = pairs[p, 0], pairs[p, 1]
            margin = margins[i, p]
            votes[i, b if margin > 0 else a] += 1
            sums[i, a] -= margin
            sums[i, b] += margin

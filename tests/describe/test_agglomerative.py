from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import adjusted_rand_score

from fieldguide.describe import AgglomerativeTree, Tree
from fieldguide.describe.agglomerative import _chain, join_nearest


def scipy_heights(rows, method):
    """Heights of scipy's dendrogram, in our units: squared distances."""
    if method == "average":
        return linkage(pdist(rows, "sqeuclidean"), "average")[:, 2]
    return linkage(rows, "ward")[:, 2] ** 2 / 2


@pytest.mark.parametrize("method", ["average", "ward"])
@pytest.mark.parametrize("n", [2, 3, 10, 120])
def test_the_dendrogram_is_scipys(method, n, seed):
    rows = np.random.default_rng([seed, n]).random((n, 7))
    merges, heights = join_nearest(rows, np.ones(n), method)
    np.testing.assert_allclose(heights, scipy_heights(rows, method), atol=1e-10)
    if method == "average":
        expected = linkage(pdist(rows, "sqeuclidean"), "average")[:, :2]
    else:
        expected = linkage(rows, "ward")[:, :2]
    np.testing.assert_array_equal(merges, np.sort(expected, axis=1))


def test_average_linkage_of_attributes_is_that_of_hamming_distance(seed):
    """With ties a dendrogram is not unique: each merge must be of a nearest pair at its time."""
    A = (np.random.default_rng(seed).random((40, 9)) < 0.4).astype(float)
    rows = np.unique(A, axis=0)
    n = len(rows)
    hamming = squareform(pdist(rows, "hamming") * 9)
    merges, heights = join_nearest(rows, np.ones(n), "average")
    clusters = {i: [i] for i in range(n)}
    for k, (a, b) in enumerate(merges):
        between = {
            (p, q): hamming[np.ix_(clusters[p], clusters[q])].mean()
            for p, q in combinations(sorted(clusters), 2)
        }
        assert between[a, b] == pytest.approx(heights[k])
        assert between[a, b] == pytest.approx(min(between.values()))
        clusters[n + k] = clusters.pop(a) + clusters.pop(b)


def test_the_compiled_kernel_and_its_plain_twin_agree(seed):
    rows = np.random.default_rng(seed).random((9, 3))
    results = []
    for kernel in (_chain, _chain.py_func):
        pairs, heights = np.empty((8, 2), dtype=np.int64), np.empty(8)
        kernel(rows.copy(), (rows**2).sum(axis=1), np.ones(9), True, pairs, heights)
        results.append((pairs, heights))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-12)


@pytest.mark.parametrize("method", ["average", "ward"])
def test_a_doubled_row_is_a_doubled_weight(method, seed):
    rows = np.random.default_rng(seed).random((15, 4))
    twice = np.concatenate([rows, rows[:5]])
    weight = np.ones(15)
    weight[:5] = 2
    _, heights = join_nearest(rows, weight, method)
    np.testing.assert_allclose(
        np.sort(scipy_heights(twice, method))[5:], np.sort(heights), atol=1e-10
    )


attribute_matrices = arrays(
    np.float64,
    st.tuples(st.integers(2, 25), st.integers(1, 5)),
    elements=st.sampled_from([0.0, 1.0, 0.25]),
)


@settings(deadline=None, max_examples=80)
@given(A=attribute_matrices, n_leaves=st.integers(1, 8), data=st.data())
def test_what_always_holds(A, n_leaves, data):
    for method in ("average", "ward"):
        fitted = AgglomerativeTree(method, n_leaves=n_leaves).fit(A)
        leaves = np.setdiff1d(np.arange(len(fitted.tree_)), fitted.tree_.parent)
        n_different = len(np.unique(A, axis=0))
        assert len(leaves) == min(n_leaves, n_different)
        assert set(fitted.labels_) == set(leaves)
        assert (
            np.diff(join_nearest(np.unique(A, axis=0), np.ones(n_different), method)[1]) >= 0
        ).all()
        order = data.draw(st.permutations(range(len(A))))
        shuffled = AgglomerativeTree(method, n_leaves=n_leaves).fit(A[order])
        assert adjusted_rand_score(fitted.labels_[order], shuffled.labels_) == 1


def test_missing_attributes_count_as_the_mean():
    A = np.array([[0, 0], [0, np.nan], [1, 1], [1, np.nan]], dtype=float)
    filled = np.array([[0, 0], [0, 0.5], [1, 1], [1, 0.5]])
    fitted = AgglomerativeTree(n_leaves=2).fit(A)
    np.testing.assert_array_equal(fitted.labels_, AgglomerativeTree(n_leaves=2).fit(filled).labels_)
    np.testing.assert_array_equal(fitted.predict(A), fitted.labels_)


def test_edge_cases():
    assert len(AgglomerativeTree().fit([[1.0, 2.0]]).tree_) == 1
    assert len(AgglomerativeTree(n_leaves=5).fit(np.ones((6, 2))).tree_) == 1
    assert len(AgglomerativeTree(threshold=1e9).fit(np.eye(5)).tree_) == 1
    assert len(AgglomerativeTree(threshold=0.0).fit(np.eye(3)).tree_) == 5


def test_bad_arguments_are_clear():
    with pytest.raises(ValueError, match="linkage of AgglomerativeTree must be one of"):
        AgglomerativeTree("single").fit(np.eye(3))
    with pytest.raises(ValueError, match="n_leaves or threshold, not both"):
        AgglomerativeTree(n_leaves=2, threshold=1.0).fit(np.eye(3))
    with pytest.raises(ValueError, match="pre-order"):
        Tree(np.array([-1, 2, 0]), np.zeros(3))


def test_nodes_have_words_and_paths():
    A = np.repeat([[1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]], 5, axis=0)
    tree = AgglomerativeTree(n_leaves=3).fit(A)
    described = tree.describe(["animal", "winged", "finned", "vehicle"])
    assert {described.sentence(v) for v in tree.labels_} == {
        "animal › winged",
        "animal › finned",
        "vehicle",
    }
    assert described.sentence(0) == ""
    assert described.truth.min() == 1
    with pytest.raises(ValueError, match="must name each of 4 attributes"):
        tree.describe(["animal"])

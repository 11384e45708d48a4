"""Compiled loops and their plain-Python twins agree on tiny inputs."""

import math

import numpy as np
import pytest
from scipy import sparse

from fieldguide.kernels import _compiled
from fieldguide.kernels._rows import compress
from tests.kernels.histograms import draw

OPS = range(4)


def both(function, *arguments):
    """Run the compiled function and its twin on copies; return what each left in the last one."""
    results = []
    for run in (function, function.py_func):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        run(*copies)
        results.append(copies[-1])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-15)
    return results[0]


@pytest.fixture
def rows(seed):
    return draw(seed, 6, 5, 0.6)


@pytest.mark.parametrize("op", OPS)
def test_sums(rows, op):
    indptr, indices, data = compress(rows)
    starts, places = np.zeros(6, dtype=np.int64), np.empty(len(data), dtype=np.int64)
    members, values = np.empty(len(data), dtype=np.int32), np.empty(len(data))
    both(_compiled.index_columns, indptr, indices, data, starts, members, values, places)
    _compiled.index_columns(indptr, indices, data, starts, members, values, places)
    columns = sparse.csc_array(rows)
    np.testing.assert_array_equal(members, columns.indices)
    np.testing.assert_array_equal(values, columns.data)
    np.testing.assert_array_equal(values[places], data)
    index = (starts[indices], starts[1:], members, values, np.log2(values))
    sums = both(
        _compiled.sum_sparse,
        1,
        indptr,
        indices,
        data,
        np.log2(data),
        *index,
        op,
        0,
        np.zeros((4, 6)),
    )
    if op != _compiled.DOT:
        logs = np.log2(rows, out=np.zeros_like(rows), where=rows > 0)
        tile = (np.ascontiguousarray(rows.T), np.ascontiguousarray(logs.T))
        wide = both(_compiled.sum_dense, rows[1:5], logs[1:5], *tile, op, 0, np.zeros((4, 6)))
        np.testing.assert_array_equal(sums, wide)


def test_small_loops(rows):
    indptr, indices, data = compress(rows)
    weights = both(_compiled.weigh_sparse, indptr, data, False, np.empty(6))
    np.testing.assert_array_equal(both(_compiled.weigh_dense, rows, np.empty(6)), weights)
    squares = both(_compiled.weigh_sparse, indptr, data, True, np.empty(6))
    np.testing.assert_allclose(squares, (rows**2).sum(axis=1))
    left, right = np.array([0, 1, 5]), np.array([1, 1, 2])
    pairs = (left, right, np.empty(3))
    thin = both(_compiled.chi2_distances_sparse, indptr, indices, data, weights, *pairs)
    np.testing.assert_array_equal(both(_compiled.chi2_distances_dense, rows, weights, *pairs), thin)
    assert thin[1] == 0
    sums = np.arange(6.0).reshape(2, 3)
    for run in (_compiled.to_distances, _compiled.to_distances.py_func):
        result = sums.copy()
        run(result, np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0]), 2.0)
        np.testing.assert_array_equal(result, [[4, 3, 2], [0, 0, 0]])


def test_close_pairs_are_summed_anew():
    X, Y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.5], [9.0, 9.0]])
    arguments = (X, Y, np.array([5.0, 25.0]), np.array([7.25, 162.0]), 0.1)
    redone = both(_compiled.redo_close, *arguments, np.array([[0.2, 100.0], [5.0, 0.0]]))
    np.testing.assert_array_equal(redone, [[0.25, 100], [5, 61]])


@pytest.mark.parametrize("n", [1, 5, 130])
def test_the_mirror(n):
    K = np.arange(n * n, dtype=float).reshape(n, n)
    expected = np.triu(K) + np.triu(K, k=1).T
    for run in (_compiled.mirror, _compiled.mirror.py_func):
        result = K.copy()
        run(result)
        np.testing.assert_array_equal(result, expected)


def test_terms_are_exact_and_symmetric(seed):
    rng = np.random.default_rng(seed)
    chi2, js = _compiled.chi2_term, _compiled.jensen_shannon_term
    for x, z in 10.0 ** rng.uniform(-9, 9, (300, 2)):
        assert chi2(x, z) == chi2(z, x)
        assert chi2(x, x) == x / 2
        assert chi2(x, z) == pytest.approx(x * z / (x + z), rel=1e-15)
        assert chi2(x, z) == chi2.py_func(x, z)
        logs = math.log2(x), math.log2(z)
        expected = x * math.log1p(z / x) + z * math.log1p(x / z)
        assert js(x, z, *logs) == pytest.approx(expected / math.log(2), rel=2e-14)
        assert js(x, z, *logs) == js(z, x, *logs[::-1])
        assert js(x, x, logs[0], logs[0]) == pytest.approx(2 * x, rel=1e-15)
    assert chi2(1e-200, 1e-200) == 5e-201  # the product of the two would be 0
    assert js(1.0, 0.0, 0.0, 0.0) == 0

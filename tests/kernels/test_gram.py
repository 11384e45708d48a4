"""Exact kernel matrices, against plain definitions and scikit-learn's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import pairwise

from fieldguide.kernels import KERNELS, default_gamma
from fieldguide.kernels._pairs import (
    DEFINITIONS,
    DensePairs,
    ProductPairs,
    SparsePairs,
    choose_pairs,
)
from fieldguide.kernels.blocks import _mean_distance
from tests.kernels.histograms import draw

ADDITIVE = ("chi2", "intersection", "jensen_shannon", "hellinger")
EXPONENTIAL = ("exponential_chi2", "rbf")
GAMMA = 0.7


def term(name, x, z):
    """The definition of one bin, as it is printed."""
    if name == "chi2":
        return 2 * x * z / (x + z) if x + z > 0 else 0.0
    if name == "intersection":
        return min(x, z)
    if name == "hellinger":
        return math.sqrt(x * z)
    if name == "exponential_chi2":
        return (x - z) ** 2 / (x + z) if x + z > 0 else 0.0
    if name == "rbf":
        return (x - z) ** 2
    left = x / 2 * math.log2((x + z) / x) if x > 0 else 0.0
    right = z / 2 * math.log2((x + z) / z) if z > 0 else 0.0
    return left + right


def brute_force(name, X, Y, gamma=GAMMA):
    def one(a, b):
        return math.fsum(term(name, x, z) for x, z in zip(a.tolist(), b.tolist(), strict=True))

    K = [[one(a, b) for b in Y] for a in X]
    return np.exp(-gamma * np.array(K)) if name in EXPONENTIAL else np.array(K)


def call(name, *rows, **options):
    if name in EXPONENTIAL:
        options.setdefault("gamma", GAMMA)
    return KERNELS[name](*rows, **options)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("density", [0.1, 0.6, 1.0])
def test_the_printed_definition(name, density, seed):
    X, Y = draw([seed, 0], 12, 30, density), draw([seed, 1], 9, 30, density)
    X[3] = Y[4] = 0
    expected = brute_force(name, X, Y)
    np.testing.assert_allclose(call(name, X, Y), expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(call(name, X), brute_force(name, X, X), rtol=1e-12, atol=1e-13)
    for other in (sparse.csr_array(Y), sparse.coo_array(Y), sparse.csc_matrix(Y)):
        K = call(name, sparse.csr_array(X), other)
        np.testing.assert_allclose(K, expected, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(call(name, X, sparse.csr_array(Y)), expected, rtol=1e-12, atol=1e-13)


def test_scikit_learns_kernels_are_related(seed):
    X, Y = draw([seed, 0], 40, 25, 0.4), draw([seed, 1], 30, 25, 0.4)
    additive = pairwise.additive_chi2_kernel(X, Y)  # −Σ (x−z)²/(x+z)
    total = X.sum(axis=1)[:, None] + Y.sum(axis=1)
    np.testing.assert_allclose(call("chi2", X, Y), (total + additive) / 2, atol=1e-12)
    np.testing.assert_allclose(
        call("exponential_chi2", X, Y), pairwise.chi2_kernel(X, Y, gamma=GAMMA), atol=1e-14
    )
    np.testing.assert_allclose(
        call("rbf", X - 1, Y - 1), pairwise.rbf_kernel(X, Y, gamma=GAMMA), atol=1e-14
    )


@pytest.mark.parametrize("name", KERNELS)
def test_every_way_to_sum_agrees(name, seed):
    """Additive sums and χ² distances run in one order whatever the way: equal to the last bit."""
    X, Y = draw([seed, 0], 200, 40, 0.5), draw([seed, 1], 150, 40, 0.5)
    definition = DEFINITIONS[name]
    wide = ProductPairs if name in ("hellinger", "rbf") else DensePairs
    for rows, others, is_half in ((X, Y, False), (X, X, False), (X, X, True)):
        ways = [way(rows, others, definition, is_half) for way in (SparsePairs, wide)]
        a, b = (np.triu(way.values(50, 110, GAMMA)) for way in ways)
        if wide is DensePairs:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_the_cheapest_way_is_chosen():
    chi2, rbf = DEFINITIONS["chi2"], DEFINITIONS["rbf"]
    thin, full = draw(0, 100, 50, 0.07), draw(0, 100, 50, 1.0)
    assert isinstance(choose_pairs(thin, thin, chi2, is_half=True), SparsePairs)
    assert isinstance(choose_pairs(full, full, chi2, is_half=True), DensePairs)
    assert isinstance(choose_pairs(full, full, rbf, is_half=True), ProductPairs)
    compressed = sparse.csr_array(full)
    assert isinstance(choose_pairs(compressed, compressed, chi2, is_half=True), DensePairs)
    few = full * (np.arange(50) < 5)  # thin, but with every entry in common
    assert isinstance(choose_pairs(few, few, chi2, is_half=True), DensePairs)
    few = sparse.csr_array(few)
    assert isinstance(choose_pairs(few, few, chi2, is_half=True), SparsePairs)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("density", [0.1, 1.0])
def test_types_of_numbers(name, density, seed):
    X = draw(seed, 20, 30, density, np.float32)
    exact = call(name, X.astype(np.float64))
    assert exact.dtype == np.float64
    narrow = call(name, X)
    assert narrow.dtype == np.float32
    # The sums run in float64, so that float32 loses only its last rounding.
    np.testing.assert_array_equal(narrow, exact.astype(np.float32))
    np.testing.assert_array_equal(call(name, X, dtype=np.float64), exact)
    assert call(name, X, X.astype(np.float64)).dtype == np.float64
    counts = np.round(X).astype(int)
    np.testing.assert_array_equal(call(name, counts), call(name, counts.astype(float)))
    assert call(name, X.astype(np.float16)).dtype == np.float32


def test_the_input_is_left_alone(seed):
    messy = sparse.csr_array(
        (np.array([1.0, 2.0, 0.0, 3.0]), np.array([2, 0, 1, 0]), np.array([0, 2, 4])), shape=(2, 3)
    )
    before = messy.data.copy(), messy.indices.copy()
    np.testing.assert_array_equal(call("intersection", messy), [[3, 2], [2, 3]])
    np.testing.assert_array_equal(messy.data, before[0])
    np.testing.assert_array_equal(messy.indices, before[1])


@pytest.mark.parametrize("name", EXPONENTIAL)
def test_gamma_is_one_over_the_mean_distance(name, seed):
    X, Y = draw([seed, 0], 40, 20, 0.3), draw([seed, 1], 25, 20, 0.3)
    distance = -np.log(brute_force(name, X, X, gamma=1.0))
    expected = 1 / distance[np.triu_indices(40, k=1)].mean()
    for rows in (X, sparse.csr_array(X)):
        assert default_gamma(rows, name) == pytest.approx(expected)
        np.testing.assert_allclose(KERNELS[name](rows), KERNELS[name](X, gamma=expected))
        np.testing.assert_allclose(KERNELS[name](Y, rows), KERNELS[name](Y, X, gamma=expected))
    assert default_gamma(X[:1], name) == 1
    assert default_gamma(np.ones((5, 3)), name) == 1


@pytest.mark.parametrize("density", [0.1, 1.0])
def test_gamma_from_drawn_pairs(density, seed):
    X = draw(seed, 300, 40, density)
    exact = default_gamma(X, n_pairs=None)
    assert 1 / exact == pytest.approx(_mean_distance(X, "exponential_chi2"))
    drawn = default_gamma(X, n_pairs=20_000)
    assert drawn == pytest.approx(exact, rel=0.02)
    assert drawn != exact
    assert drawn == pytest.approx(default_gamma(sparse.csr_array(X), n_pairs=20_000), rel=1e-12)
    assert drawn != default_gamma(X, n_pairs=20_000, random_state=1)


def test_a_huge_gamma_is_the_identity():
    X = np.array([[1.0, 0.0], [1e30, 3.0]])
    for name in EXPONENTIAL:
        np.testing.assert_array_equal(KERNELS[name](X, gamma=1e300), np.eye(2))


def test_far_off_vectors_keep_their_distances():
    X = np.array([[1e6, 1e6], [1e6 + 1e-3, 1e6], [1e6, 1e6 + 1]])
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    for rows in ((X,), (X, X.copy())):
        K = call("rbf", *rows, gamma=1.0)
        np.testing.assert_allclose(-np.log(K), squared, rtol=1e-6)
        assert (np.diag(K) == 1).all()


histograms = arrays(
    np.float64,
    st.tuples(st.integers(1, 8), st.integers(1, 6)),
    elements=st.sampled_from([0.0, 0.0, 1e-6, 0.25, 1 / 3, 1.0, 7.5, 1e3]),
)


@settings(max_examples=40)
@given(X=histograms, scale=st.sampled_from([1e-30, 0.1, 3.0, 1e20]), data=st.data())
def test_what_always_holds(X, scale, data):
    order = data.draw(st.permutations(range(X.shape[1])))
    rows = data.draw(st.permutations(range(len(X))))
    for name in KERNELS:
        K = call(name, X)
        size = max(np.abs(K).max(), 1e-300)
        if name == "rbf":  # squared norms of 1e6 and more, and their rounding, meet γ = 0.7
            size += 1e-3 * (X**2).sum()
        np.testing.assert_array_equal(K, K.T)
        assert np.linalg.eigvalsh(K).min() >= -1e-12 * size * len(K)
        np.testing.assert_allclose(call(name, X[:, order]), K, rtol=1e-12, atol=1e-12 * size)
        np.testing.assert_allclose(call(name, X[rows]), K[np.ix_(rows, rows)], atol=1e-12 * size)
        np.testing.assert_allclose(call(name, X, X.copy()), K, rtol=1e-12, atol=1e-12 * size)
        if name in ADDITIVE:
            np.testing.assert_allclose(np.diag(K), X.sum(axis=1), rtol=1e-12)
            np.testing.assert_allclose(call(name, X * scale), K * scale, rtol=1e-11)
            assert (K[(X == 0).all(axis=1)] == 0).all()
            mean = (X.sum(axis=1)[:, None] + X.sum(axis=1)) / 2
            assert (mean + 1e-12 * size >= K).all()
        else:
            assert (K >= 0).all()
            assert (K <= 1).all()
            assert (np.diag(K) == 1).all()
            gentle = call(name, X, gamma=1e-8)
            assert (gentle > 0).all()


@pytest.mark.parametrize("name", KERNELS)
def test_edge_sizes(name):
    assert call(name, np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)
    assert call(name, np.ones((2, 3)), np.empty((0, 3))).shape == (2, 0)
    assert call(name, np.empty((0, 3))).shape == (0, 0)
    empty = call(name, sparse.csr_array((3, 5)))
    np.testing.assert_array_equal(empty, np.full((3, 3), float(name in EXPONENTIAL)))
    assert call(name, [[2.0]]).shape == (1, 1)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_bad_values_are_clear(form):
    good = np.ones((2, 3))
    for bad, match in (
        (np.nan, r"X of chi2_kernel holds nan at row 1, column 2; every value must be a finite"),
        (np.inf, r"X of chi2_kernel holds inf at row 1, column 2; every value must be a finite"),
        (-0.5, r"X of chi2_kernel holds -0.5 at row 1, column 2; histograms have no negative"),
    ):
        X = good.copy()
        X[1, 2] = bad
        with pytest.raises(ValueError, match=match) as caught:
            KERNELS["chi2"](form(X))
        assert str(caught.value).count(". ") == 0
        with pytest.raises(ValueError, match=match.replace("X of", "Y of")):
            KERNELS["chi2"](form(good), form(X))
        if bad == -0.5:
            assert KERNELS["rbf"](form(X)).shape == (2, 2)


def test_bad_arguments_are_clear():
    X = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"must be a matrix of rows × columns; got shape \(3,\)"):
        KERNELS["chi2"](np.ones(3))
    with pytest.raises(ValueError, match="rows have different lengths"):
        KERNELS["chi2"]([[1, 2], [3]])
    with pytest.raises(ValueError, match="at least one column"):
        KERNELS["chi2"](np.empty((2, 0)))
    with pytest.raises(ValueError, match="must hold real numbers; got type complex128"):
        KERNELS["chi2"](X + 1j)
    with pytest.raises(ValueError, match="must hold real numbers; got type object"):
        KERNELS["chi2"](np.array([["a", {}]], dtype=object))
    with pytest.raises(ValueError, match="same number of columns; got 3 and 2"):
        KERNELS["chi2"](X, np.ones((2, 2)))
    with pytest.raises(ValueError, match="gamma of rbf_kernel must be a number in"):
        KERNELS["rbf"](X, gamma=-1.0)
    with pytest.raises(ValueError, match="dtype of chi2_kernel must be float32 or float64"):
        KERNELS["chi2"](X, dtype=np.int32)
    with pytest.raises(ValueError, match="dtype of chi2_kernel must be float32 or float64"):
        KERNELS["chi2"](X, dtype="nonsense")
    with pytest.raises(ValueError, match="kernel of default_gamma must be one of"):
        default_gamma(X, "chi2")
    with pytest.raises(ValueError, match="n_pairs of default_gamma must be a whole number"):
        default_gamma(X, n_pairs=0)

"""The explicit maps: their stated error, their columns, and that no better weights exist."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.kernel_approximation import AdditiveChi2Sampler
from sklearn.utils.estimator_checks import parametrize_with_checks

from fieldguide.kernels import KERNELS, AdditiveKernelMap, additive_map
from fieldguide.kernels.additive_map import FITTED, spectrum
from tests.kernels.histograms import draw

# Largest error in per cent of the mean of the two values, as the module states it.
STATED = {
    "chi2": (17.2, 2.21, 0.842, 0.292, 0.136, 0.062, 0.033),
    "intersection": (25.0, 9.35, 6.50, 4.82, 3.95, 3.36, 2.94),
    "jensen_shannon": (11.0, 0.793, 0.333, 0.086, 0.040, 0.016, 0.0081),
}
# ``test_the_table_of_the_module`` keeps the two tables one.
CASES = [(kernel, order) for kernel in STATED for order in range(7)]
OMEGA = np.concatenate([np.linspace(0, 2, 201), np.linspace(2.05, 26, 480)])


def largest_error(mapping, kernel):
    """Errors of pairs (1, z) are those of all pairs: both kernels are homogeneous."""
    z = np.exp(np.linspace(0, 26, 20_001))[:, None]
    exact = KERNELS[kernel](z, [[1.0]])
    approximate = mapping.fit_transform(z) @ mapping.transform([[1.0]]).T
    return (abs(approximate - exact) / ((1 + z) / 2)).max()


@pytest.mark.parametrize(("kernel", "order"), CASES)
def test_the_stated_error(kernel, order):
    error = 100 * largest_error(AdditiveKernelMap(kernel, order), kernel)
    assert STATED[kernel][order] * 0.97 <= error <= STATED[kernel][order] + 1e-9


def test_the_table_of_the_module():
    for kernel, errors in STATED.items():
        (line,) = re.findall(rf"^    {kernel} +([\d. ]+)$", additive_map.__doc__, re.MULTILINE)
        assert tuple(map(float, line.split())) == errors


@pytest.mark.parametrize(("kernel", "order"), [(k, m) for k, m in CASES if m in (1, 2, 4)])
def test_no_weights_are_better(kernel, order):
    """Solve the linear programme at the default step and beside it."""
    shape = np.exp(-OMEGA / 2) * 2 / (1 + np.exp(-OMEGA))  # √(xz) over the mean of x and z
    exact = KERNELS[kernel](np.exp(OMEGA)[:, None], [[1.0]]).ravel() / np.exp(OMEGA / 2)
    step, weights = FITTED[kernel][order]
    least = []
    for tried in (step, step - 0.03, step + 0.03):
        waves = [2 * np.cos(j * tried * OMEGA) for j in range(1, order + 1)]
        A = np.column_stack([np.ones_like(OMEGA), *waves]) * shape[:, None]
        slack = -np.ones((len(OMEGA), 1))
        found = linprog(
            [0.0] * (order + 1) + [1.0],
            A_ub=np.block([[A, slack], [-A, slack]]),
            b_ub=np.concatenate([exact * shape, -exact * shape]),
            bounds=[(0, None)] * (order + 2),
        )
        least.append(found.fun)
        if tried == step:
            np.testing.assert_allclose(weights, found.x[:-1], atol=5e-4)
    assert least[0] * 100 == pytest.approx(STATED[kernel][order], rel=0.02)
    assert least[0] <= min(least[1:])


def test_fewer_columns_than_scikit_learns_for_less_error():
    for samples, theirs in ((1, 20.0), (2, 10.1), (3, 5.0)):
        sampler = AdditiveChi2Sampler(sample_steps=samples)
        assert 100 * largest_error(sampler, "chi2") == pytest.approx(theirs, rel=0.01)
        assert STATED["chi2"][samples - 1] < theirs * 0.9
    assert STATED["chi2"][1] < 5.0 / 2


def test_a_given_step_samples_the_spectrum(seed):
    X = draw(seed, 20, 6, 0.7)
    ours = AdditiveKernelMap("chi2", order=2, step=0.4).fit_transform(X)
    theirs = AdditiveChi2Sampler(sample_steps=3, sample_interval=0.4).fit_transform(X)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-12)
    for kernel in STATED:
        fine = AdditiveKernelMap(kernel, order=6, step=0.25).fit_transform(X)
        assert abs(fine @ fine.T - KERNELS[kernel](X)).max() < 0.2 * X.sum(axis=1).max()
        # The samples of a fine spectrum sum to K(0) = 1.
        frequency = np.arange(-40_000, 40_001) * 0.01
        assert (spectrum(kernel, abs(frequency)) * 0.01).sum() == pytest.approx(1, abs=2e-3)


@pytest.mark.parametrize("kernel", STATED)
def test_whole_histograms(kernel, seed):
    X = draw(seed, 60, 40, 0.3) + 1e-9
    X /= X.sum(axis=1, keepdims=True)
    for order in range(4):
        Z = AdditiveKernelMap(kernel, order).fit_transform(X)
        worst = 100 * abs(Z @ Z.T - KERNELS[kernel](X)).max()
        assert worst <= STATED[kernel][order] + 1e-9


@settings(max_examples=40)
@given(
    kernel=st.sampled_from(sorted(STATED)),
    order=st.integers(0, 6),
    scale=st.floats(1e-3, 1e3),
    seed=st.integers(0, 99),
)
def test_what_always_holds(kernel, order, scale, seed):
    X = draw(seed, 7, 4, 0.5)
    mapping = AdditiveKernelMap(kernel, order).fit(X)
    Z = mapping.transform(X)
    width = 2 * order + 1
    assert Z.shape == (7, 4 * width)
    blocks = Z.reshape(7, 4, width)
    # Scaling histograms scales the kernel; every bin depends on itself alone; 0 stays 0.
    scaled = mapping.transform(X * scale)
    np.testing.assert_allclose(scaled @ scaled.T, scale * (Z @ Z.T), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal((blocks != 0).any(axis=2), X != 0)
    np.testing.assert_array_equal(mapping.transform(X[:, ::-1]), blocks[:, ::-1].reshape(7, -1))
    np.testing.assert_array_equal(mapping.bin_of_column_, np.repeat(np.arange(4), width))


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_sparse_in_sparse_out(form, seed):
    X = draw(seed, 30, 12, 0.1)
    mapping = AdditiveKernelMap(order=2).fit(X)
    Z = mapping.transform(form(X))
    assert sparse.issparse(Z)
    assert isinstance(Z, sparse.spmatrix) == isinstance(form(X), sparse.spmatrix)
    np.testing.assert_array_equal(Z.toarray(), mapping.transform(X))
    assert Z.nnz <= 5 * np.count_nonzero(X)
    assert Z.has_canonical_format
    assert Z.indices.dtype == np.int32  # what liblinear can read


def test_entries_of_one_place_are_one_value():
    twice = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2)
    )
    mapping = AdditiveKernelMap().fit(twice)
    np.testing.assert_array_equal(
        mapping.transform(twice).toarray(), mapping.transform(np.array([[4.0, 3.0]]))
    )
    assert twice.nnz == 3


def test_float32_stays(seed):
    X = draw(seed, 30, 12, 0.5)
    mapping = AdditiveKernelMap(order=2).fit(X)
    narrow = mapping.transform(X.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, mapping.transform(X), rtol=1e-5, atol=1e-5)
    assert mapping.transform(sparse.csr_array(X.astype(np.float32))).dtype == np.float32


def test_names_lead_back_to_the_bins(seed):
    X = draw(seed, 5, 2, 0.9)
    mapping = AdditiveKernelMap(order=1).fit(X)
    assert list(mapping.get_feature_names_out()) == [
        "x0", "x0_cos1", "x0_sin1", "x1", "x1_cos1", "x1_sin1",
    ]  # fmt: skip
    names = mapping.get_feature_names_out(["wing", "tail"])
    for name, place in zip(names, mapping.bin_of_column_, strict=True):
        assert name.split("_")[0] == ("wing", "tail")[place]
    framed = AdditiveKernelMap(order=0).fit(X)
    framed.feature_names_in_ = np.array(["wing", "tail"], dtype=object)  # as a table leaves it
    assert list(framed.get_feature_names_out()) == ["wing", "tail"]
    with pytest.raises(ValueError, match="length equal to number of features, 2; got 1"):
        mapping.get_feature_names_out(["wing"])
    with pytest.raises(ValueError, match="is not equal to feature_names_in_"):
        framed.get_feature_names_out(["tail", "wing"])


def test_bad_arguments_are_clear():
    X = np.ones((2, 3))
    with pytest.raises(ValueError, match="kernel of AdditiveKernelMap must be one of 'chi2', "):
        AdditiveKernelMap("rbf").fit(X)
    with pytest.raises(ValueError, match=r"order of AdditiveKernelMap must be a whole number in"):
        AdditiveKernelMap(order=7).fit(X)
    with pytest.raises(ValueError, match="step of AdditiveKernelMap must be a number in"):
        AdditiveKernelMap(step=0.0).fit(X)
    for form in (np.array, sparse.csr_array):
        with pytest.raises(ValueError, match=r"Negative values in data .* \(least -1\); histogr"):
            AdditiveKernelMap().fit(form(-X))
        fitted = AdditiveKernelMap().fit(form(X))
        with pytest.raises(ValueError, match="Negative values"):
            fitted.transform(form(-X))
        with pytest.raises(ValueError, match="NaN"):
            fitted.transform(form(X * np.nan))


@parametrize_with_checks([AdditiveKernelMap(), AdditiveKernelMap("intersection", 2, step=0.5)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from tests.reference.convex_mkl import bin_kernel, bin_spread, optimum

from fieldguide.errors import FieldguideWarning
from fieldguide.select import AdditiveKernelSelector
from fieldguide.select._additive_bins import apply_bins, price_bins
from fieldguide.select._multiple_weights import solve_weights
from fieldguide.select.additive_pricing import (
    _Chosen,
    measure_spreads,
    plain_gram,
    select_bins,
    store_columns,
    weigh_rows,
)
from fieldguide.svm import LinearSVM, solve_kernel

KERNELS = ("chi2", "intersection", "linear")


def draw(n=60, n_bins=40, n_relevant=4, seed=0, ratio=4.0):
    """Histograms whose first bins differ between the sides; a third of the values are 0."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.gamma(1.0, size=(n, n_bins)) * (rng.random((n, n_bins)) < 0.67)
    X[:, :n_relevant] *= ratio ** (0.5 * y[:, None])
    return X / np.maximum(X.sum(axis=1, keepdims=True), 1e-12), y


def solve(kernel, X, y, C=1.0, normalize=True, **settings):
    columns = store_columns(kernel, X)
    spreads = measure_spreads(columns, y)
    if not normalize:
        spreads = np.where(np.isfinite(spreads), 1.0, np.inf)
    return select_bins(kernel, X, columns, spreads, y, C, **settings), spreads


def list_kernels(kernel, X, spreads):
    """κ_k/a_k of every bin that is not flat."""
    return [
        bin_kernel(kernel, X[:, k], X[:, k]) / spreads[k]
        for k in np.flatnonzero(np.isfinite(spreads))
    ]


@pytest.mark.parametrize("kernel", KERNELS)
@given(data=st.data())
@settings(max_examples=25)
def test_sums_over_bins_are_those_of_the_kernel_matrices(kernel, data):
    n = data.draw(st.integers(1, 7))
    levels = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 3.0])
    X = np.array(
        data.draw(st.lists(st.lists(levels, min_size=3, max_size=3), min_size=n, max_size=n))
    )
    beta = np.array(
        data.draw(st.lists(st.sampled_from([-2.0, 0.0, 0.5, 1.0]), min_size=n, max_size=n))
    )
    columns = store_columns(kernel, X)
    bins = np.arange(3)
    matrices = [bin_kernel(kernel, x, x) for x in X.T]
    np.testing.assert_allclose(columns.apply(bins, beta), [K @ beta for K in matrices], atol=1e-12)
    expected = [beta @ K @ beta for K in matrices]
    np.testing.assert_allclose(columns.price(bins, beta), expected, atol=1e-12)
    layout = (columns.op, columns.starts, columns.rows, columns.values, bins, beta)
    prices, images = np.empty(3), np.empty((3, n))
    price_bins.py_func(*layout, prices)
    apply_bins.py_func(*layout, images)
    np.testing.assert_allclose(prices, expected, atol=1e-12)
    np.testing.assert_allclose(images, [K @ beta for K in matrices], atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_spreads_are_mean_distances_within_the_sides(kernel):
    X, y = draw(n=11, n_bins=6)
    spreads = measure_spreads(store_columns(kernel, X), y)
    np.testing.assert_allclose(spreads, [bin_spread(kernel, x, y) for x in X.T], rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_weighted_kernel_is_the_plain_kernel_of_weighted_rows(kernel):
    X, _ = draw(n=9, n_bins=5)
    p = np.array([0.1, 2.0, 0.0, 1.0, 3.0])
    expected = sum(p[k] * bin_kernel(kernel, X[:, k], X[:, k]) for k in range(5))
    np.testing.assert_allclose(plain_gram(kernel, weigh_rows(kernel, X, p)), expected, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gradient_is_that_of_finite_differences(kernel):
    X, y = draw(n=30, n_bins=6)
    upper = np.full(30, 5.0)
    p = np.full(6, 20.0)

    def objective(p):
        K = plain_gram(kernel, weigh_rows(kernel, X, p))
        return solve_kernel(K, y, upper, tol=1e-10)

    prices = store_columns(kernel, X).price(np.arange(6), objective(p).beta)
    for k in range(6):
        step = 1e-3 * np.eye(6)[k] * p[k]
        rise = objective(p + step).primal - objective(p - step).primal
        assert rise / (2 * step[k]) == pytest.approx(-0.5 * prices[k], rel=1e-3)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_optimum_is_that_of_a_convex_solver(kernel, C, normalize):
    X, y = draw(n=16, n_bins=7)
    C = C if normalize else 20 * C  # kernels of raw bins are small
    found, spreads = solve(kernel, X, y, C, normalize, tol=1e-5)
    best = optimum(list_kernels(kernel, X, spreads), y, C)
    assert found.gap <= 1e-5
    assert found.objective == pytest.approx(best, rel=2e-5)
    used = found.p > 0
    assert (spreads[used] * found.p[used]).sum() == pytest.approx(1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_gap_is_true_and_reaches_small_values(kernel):
    X, y = draw(n=60, n_bins=200)
    exact, _ = solve(kernel, X, y, tol=1e-6)
    floor = exact.objective * (1 - exact.gap)
    for tol in (1e-1, 1e-2, 1e-4):
        found, _ = solve(kernel, X, y, tol=tol)
        assert found.gap <= tol
        assert floor <= found.objective + 1e-9
        assert found.objective * (1 - found.gap) <= exact.objective * (1 + 1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_interior_point_method_is_right_where_kernels_have_low_rank(kernel):
    X, y = draw(n=40, n_bins=3)
    columns = store_columns(kernel, X)
    spreads = measure_spreads(columns, y)
    chosen = _Chosen(kernel, columns, np.arange(3), spreads, X)
    for C in (1e-3, 1.0, 1e3):
        found = solve_weights(chosen, y, np.full(40, C), np.full(3, 1 / 3), tol=1e-7)
        assert found.gap <= 1e-5  # where rounding ends it for the largest C
        assert found.n_steps <= 40
        assert abs(found.beta.sum()) <= 1e-9 * C
        assert (y * found.beta > 0).all()
        assert (y * found.beta < C).all()


def test_permuted_bins_permute_the_weights():
    X, y = draw()
    order = np.random.default_rng(1).permutation(X.shape[1])
    found, _ = solve("chi2", X, y, tol=1e-6)
    permuted, _ = solve("chi2", X[:, order], y, tol=1e-6)
    np.testing.assert_allclose(permuted.p, found.p[order], rtol=1e-2, atol=1e-3 * found.p.max())


def test_duplicated_bins_share_a_weight():
    X, y = draw(n_bins=12)
    found, _ = solve("chi2", X, y, tol=1e-6)
    best = int(found.p.argmax())
    twice, _ = solve("chi2", np.column_stack([X, X[:, best]]), y, tol=1e-6)
    assert twice.objective == pytest.approx(found.objective, rel=1e-5)
    assert twice.p[best] + twice.p[-1] == pytest.approx(found.p[best], rel=1e-2)
    np.testing.assert_allclose(np.delete(twice.p[:-1], best), np.delete(found.p, best), atol=0.05)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("mode", ["exact", "large"])
def test_empty_and_constant_bins_are_left_out(kernel, mode):
    X, y = draw(n_bins=10)
    X = np.column_stack([np.zeros(len(X)), X, np.full(len(X), 0.3)])
    selector = AdditiveKernelSelector(kernel, mode=mode).fit(X, y)
    assert np.isinf(selector.spreads_[[0, -1]]).all()
    assert (selector.weights_[[0, -1]] == 0).all()
    assert np.isfinite(selector.spreads_[1:-1]).all()


def test_doubled_rows_are_a_doubled_C():
    X, y = draw()
    once = AdditiveKernelSelector(C=1.0, tol=1e-6).fit(X, y)
    twice = AdditiveKernelSelector(C=0.5, tol=1e-6).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_allclose(twice.spreads_, once.spreads_, rtol=1e-10)
    assert twice.objective_ == pytest.approx(once.objective_, rel=1e-5)
    np.testing.assert_allclose(twice.weights_, once.weights_, atol=1e-3 * once.weights_.max())


@pytest.mark.parametrize("mode", ["exact", "large"])
def test_a_bin_that_separates_without_any_spread_wins(mode):
    X, y = draw(n_bins=10, n_relevant=0)
    X[:, 3] = np.where(y > 0, 0.4, 0.1)
    selector = AdditiveKernelSelector(mode=mode, C=0.1).fit(X, y)
    assert selector.weights_[3] * selector.spreads_[3] > 0.9
    assert (selector.predict(X) == y).all()


@pytest.mark.parametrize("mode", ["exact", "large"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_relevant_bins_are_found(kernel, mode):
    X, y = draw(n=300, n_bins=60, n_relevant=5, ratio=6.0)
    selector = AdditiveKernelSelector(kernel, C=0.05, mode=mode).fit(X, y)
    ranks = np.argsort(-selector.weights_ * selector.spreads_)[:5]
    assert set(ranks) == set(range(5))
    X_new, y_new = draw(n=200, n_bins=60, n_relevant=5, ratio=6.0, seed=1)
    assert selector.score(X_new, y_new) > 0.75


def test_both_modes_agree_where_they_can():
    X, y = draw(n=200, n_bins=30)
    exact = AdditiveKernelSelector(C=0.3, tol=1e-3, mode="exact").fit(X, y)
    large = AdditiveKernelSelector(C=0.3, tol=1e-3, mode="large").fit(X, y)
    assert (exact.mode_, large.mode_) == ("exact", "large")
    np.testing.assert_allclose(large.spreads_, exact.spreads_, rtol=0.1)
    shares = [s.weights_ * s.spreads_ for s in (exact, large)]
    assert np.abs(shares[0] - shares[1]).sum() < 0.5
    assert (exact.predict(X) == large.predict(X)).mean() > 0.95


def test_auto_is_large_for_many_rows():
    X, y = draw(n=1002, n_bins=6)
    assert AdditiveKernelSelector(C=0.01).fit(X[:1000], y[:1000]).mode_ == "exact"
    assert AdditiveKernelSelector(C=0.01).fit(X, y).mode_ == "large"


def test_three_classes_are_three_problems_of_two():
    X, _ = draw(n=90, n_bins=15)
    kinds = np.array(["a", "b", "c"])[np.arange(90) % 3]
    for k, kind in enumerate("abc"):
        X[kinds == kind, k] *= 5
    selector = AdditiveKernelSelector().fit(X, kinds)
    threads = AdditiveKernelSelector(n_jobs=2).fit(X, kinds)
    assert selector.weights_.shape == (3, 15)
    assert selector.decision_function(X).shape == (90, 3)
    for k, kind in enumerate("abc"):
        alone = AdditiveKernelSelector().fit(X, kinds == kind)
        np.testing.assert_array_equal(selector.weights_[k], alone.weights_)
        np.testing.assert_array_equal(
            selector.decision_function(X)[:, k], alone.decision_function(X)
        )
    np.testing.assert_array_equal(threads.weights_, selector.weights_)
    assert selector.get_support().sum() == selector.n_selected_
    assert (selector.get_support() == (selector.weights_ > 0).any(axis=0)).all()


@pytest.mark.parametrize("mode", ["exact", "large"])
def test_sparse_rows_give_what_dense_rows_give(mode):
    X, y = draw()
    dense = AdditiveKernelSelector(mode=mode).fit(X, y)
    thin = AdditiveKernelSelector(mode=mode).fit(csr_array(X), y)
    np.testing.assert_array_equal(thin.weights_, dense.weights_)
    np.testing.assert_allclose(
        thin.decision_function(csr_array(X)), dense.decision_function(X), atol=1e-9
    )
    assert thin.transform(csr_array(X)).shape == dense.transform(X).shape


def test_it_selects_in_a_pipeline():
    X, y = draw()
    model = make_pipeline(AdditiveKernelSelector(C=0.1), LinearSVM(C=100.0)).fit(X, y)
    support = model[0].get_support()
    assert 0 < support.sum() < X.shape[1]
    np.testing.assert_array_equal(model[0].transform(X), X[:, support])
    assert model[1].n_features_in_ == support.sum()


@pytest.mark.parametrize("mode", ["exact", "large"])
def test_a_path_is_what_single_problems_give(mode):
    X, y = draw()
    selector = AdditiveKernelSelector(mode=mode, tol=1e-4)
    values = [1.0, 0.1, 0.3]
    points = selector.path(X, y, values)
    assert [point.C for point in points] == sorted(values)
    assert not hasattr(selector, "weights_")
    for point in points:
        alone = AdditiveKernelSelector(mode=mode, C=point.C, tol=1e-4).fit(X, y)
        assert point.gap <= 1e-4
        assert point.objective == pytest.approx(alone.objective_, rel=3e-4)
        assert point.n_selected == (point.weights > 0).sum()
    assert points[0].n_selected < points[-1].n_selected
    assert len(selector.path(X, y)) == 10


def test_C_is_chosen_by_cross_validation():
    X, y = draw(n=80, ratio=8.0)
    selector = AdditiveKernelSelector(C="cv").fit(X, y)
    again = AdditiveKernelSelector(C="cv").fit(X, y)
    assert selector.C_ == again.C_
    X_new, y_new = draw(n=200, ratio=8.0, seed=1)
    assert selector.score(X_new, y_new) > 0.85


def test_rows_without_difference_and_single_rows():
    with pytest.raises(ValueError, match="no column that varies"):
        AdditiveKernelSelector().fit(np.ones((6, 3)), [0, 1] * 3)
    selector = AdditiveKernelSelector().fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    assert selector.predict([[0.1, 0.9], [0.9, 0.1]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("mode", ["exact", "large"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_same_rows_on_both_sides_are_no_error(kernel, mode):
    X, _ = draw(n=10)
    both = np.vstack([X, X]), np.repeat([0, 1], 10)
    same = AdditiveKernelSelector(kernel, mode=mode).fit(*both)
    assert np.isfinite(same.decision_function(X)).all()
    assert same.n_selected_ >= 1


@pytest.mark.parametrize("mode", ["exact", "large"])
def test_the_smallest_C_still_selects_a_bin(mode):
    X, y = draw()
    selector = AdditiveKernelSelector(C=1e-8, mode=mode).fit(X, y)
    assert 1 <= selector.n_selected_ < X.shape[1]
    assert np.isfinite(selector.weights_).all()


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"kernel": "rbf"}, "kernel of AdditiveKernelSelector must be one of"),
        ({"C": "best"}, 'must be a number or "cv"'),
        ({"C": 0.0}, "C of AdditiveKernelSelector must be a number in"),
        ({"mode": "fast"}, "mode of AdditiveKernelSelector must be one of"),
        ({"n_rounds": 0}, "n_rounds of AdditiveKernelSelector must be a whole number"),
        ({"tol": 2.0}, "tol of AdditiveKernelSelector must be a number in"),
        ({"max_iter": 0}, "max_iter of AdditiveKernelSelector must be a whole number"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(settings, match):
    X, y = draw()
    with pytest.raises(ValueError, match=match):
        AdditiveKernelSelector(**settings).fit(X, y)


def test_wrong_rows_are_refused_with_a_sentence():
    X, y = draw()
    with pytest.raises(ValueError, match="Negative values in data"):
        AdditiveKernelSelector().fit(-X, y)
    with pytest.raises(ValueError, match="at least 2 classes"):
        AdditiveKernelSelector().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match=r"C of AdditiveKernelSelector\.path"):
        AdditiveKernelSelector().path(X, y, [0.0])
    AdditiveKernelSelector("linear").fit(-X, y)


@pytest.mark.parametrize("mode", ["exact", "large"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_second_round_selects_among_the_bins_that_the_first_left(kernel, mode):
    X, y = draw(n=60, n_bins=80)
    settings = {"kernel": kernel, "mode": mode, "C": 0.3}
    first = AdditiveKernelSelector(**settings).fit(X, y)
    left = np.flatnonzero(first.weights_ == 0)
    second = AdditiveKernelSelector(**settings).fit(X[:, left], y)
    both = AdditiveKernelSelector(**settings, n_rounds=2).fit(X, y)
    expected = first.weights_ / 2
    expected[left] += second.weights_ / 2
    np.testing.assert_allclose(both.weights_, expected, rtol=1e-9, atol=1e-12)
    assert both.n_selected_ == first.n_selected_ + second.n_selected_
    assert both.weights_ @ both.spreads_ == pytest.approx(1)
    assert both.objective_ == pytest.approx(first.objective_ + second.objective_)
    assert both.gap_ == pytest.approx(max(first.gap_, second.gap_))
    K = sum(p * bin_kernel(kernel, x, x) for p, x in zip(both.weights_, X.T, strict=True))
    svm = solve_kernel(K, y, np.full(60, 0.3), tol=1e-6)
    np.testing.assert_allclose(both.decision_function(X), K @ svm.beta + svm.intercept, atol=0.02)


@pytest.mark.parametrize("mode", ["exact", "large"])
def test_rounds_end_when_no_bin_is_left(mode):
    X, y = draw(n=30, n_bins=6)
    X[:, 5] = 0.5
    selector = AdditiveKernelSelector(mode=mode, C=3.0, n_rounds=50).fit(X, y)
    assert selector.get_support().tolist() == [True] * 5 + [False]
    assert np.isfinite(selector.decision_function(X)).all()


def test_rounds_are_those_of_the_path_and_of_the_choice_of_C():
    X, y = draw(n=60, n_bins=80)
    selector = AdditiveKernelSelector(C=1.0, n_rounds=3)
    points = selector.path(X, y, [0.1, 1.0])
    assert points[1].n_selected == pytest.approx(selector.fit(X, y).n_selected_, abs=6)
    assert points[1].n_selected > AdditiveKernelSelector(C=1.0).fit(X, y).n_selected_
    chosen = AdditiveKernelSelector(C="cv", n_rounds=3).fit(X, y)
    again = AdditiveKernelSelector(C=chosen.C_, n_rounds=3).fit(X, y)
    np.testing.assert_array_equal(chosen.weights_, again.weights_)


@pytest.mark.parametrize("mode", ["exact", "large"])
def test_an_open_gap_is_said(mode):
    X, y = draw(n=60, n_bins=200)
    with pytest.warns(FieldguideWarning, match="raise max_iter"):
        AdditiveKernelSelector(mode=mode, C=100.0, tol=1e-6, max_iter=1).fit(X, y)

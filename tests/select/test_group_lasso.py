import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference.convex_mkl import optimum

from fieldguide.kernels import chi2_kernel, intersection_kernel
from fieldguide.select._steps import descend_groups, move_intercept
from fieldguide.select.group_lasso import (
    CORNER,
    map_bins,
    measure_mapped_spreads,
    rounded_hinge,
    solve_groups,
    weigh,
)

KERNELS = ("chi2", "intersection", "linear")


def draw(n=60, n_bins=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.gamma(1.0, size=(n, n_bins))
    X[:, :3] *= 3 ** (0.5 * y[:, None])
    return X, y


def margins(mapped, found):
    return np.einsum("kj,kjn->n", found.W, mapped.Z) + found.intercept


def test_products_of_the_map_are_the_kernel():
    X, _ = draw(n=20)
    for kernel, exact, error in (
        ("chi2", chi2_kernel(X), 0.03),
        ("intersection", intersection_kernel(X), 0.1),
        ("linear", X @ X.T, 1e-6),
    ):
        for rows in (X, csr_array(X)):
            Z = map_bins(kernel, rows).Z
            products = np.einsum("kjm,kjn->mn", Z, Z)
            assert np.abs(products - exact).max() < error * exact.max()


def test_curvatures_are_the_largest_eigenvalues():
    mapped = map_bins("chi2", draw(n=30)[0])
    for z, curvature in zip(mapped.Z, mapped.curvatures, strict=True):
        assert curvature == pytest.approx(np.linalg.norm(z, 2) ** 2, rel=1e-5)


@pytest.mark.parametrize("kernel", KERNELS)
def test_spreads_are_mean_distances_within_the_sides(kernel):
    X, y = draw(n=15)
    mapped = map_bins(kernel, X)
    spreads = measure_mapped_spreads(mapped, y)
    for z, spread in zip(mapped.Z.astype(float), spreads, strict=True):
        distances = ((z[:, :, None] - z[:, None]) ** 2).sum(axis=0)
        assert spread == pytest.approx(distances[y[:, None] == y].mean(), rel=1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("C", [0.05, 0.5, 5.0])
def test_the_optimum_is_that_of_a_convex_solver(kernel, C):
    X, y = draw(n=16, n_bins=6)
    mapped = map_bins(kernel, X)
    spreads = measure_mapped_spreads(mapped, y)
    found = solve_groups(mapped, spreads, y, C, tol=1e-5, max_epochs=50_000)
    kernels = [z.T @ z / a for z, a in zip(mapped.Z.astype(float), spreads, strict=True)]
    assert found.gap <= 1e-5
    assert found.objective == pytest.approx(optimum(kernels, y, C, CORNER / C), rel=2e-5)
    f = margins(mapped, found)
    t = np.sqrt(spreads) @ np.linalg.norm(found.W, axis=1)
    assert found.t == pytest.approx(t, rel=1e-9)
    assert found.objective == pytest.approx(0.5 * t**2 + C * rounded_hinge(y, f), rel=1e-5)


def test_it_is_a_group_lasso_with_lambda_t_over_C():
    X, y = draw()
    mapped = map_bins("chi2", X)
    spreads = measure_mapped_spreads(mapped, y)
    found = solve_groups(mapped, spreads, y, 0.2, tol=1e-6, max_epochs=50_000)
    penalty = found.t / 0.2
    f = margins(mapped, found)
    pull = y * np.clip((1 - y * f) / CORNER, 0, 1)  # minus the slope of the loss
    norms = np.linalg.norm(mapped.Z @ pull, axis=1)
    used = found.W.any(axis=1)
    assert 0 < used.sum() < len(used)
    np.testing.assert_allclose(norms[used], penalty * np.sqrt(spreads[used]), rtol=1e-2)
    assert (norms[~used] <= 1.001 * penalty * np.sqrt(spreads[~used])).all()
    shares = found.shares(spreads)
    assert shares.sum() == pytest.approx(1)
    assert ((shares > 0) == used).all()


def test_the_rounded_hinge_is_between_the_hinge_and_half_a_corner_below():
    f = np.linspace(-3, 3, 61)
    for i in range(len(f)):
        loss, hinge = rounded_hinge(np.ones(1), f[[i]]), max(0.0, 1 - f[i])
        assert hinge - CORNER / 2 - 1e-12 <= loss <= hinge + 1e-12


def test_a_start_changes_the_way_and_not_the_end():
    X, y = draw()
    mapped = map_bins("chi2", X)
    spreads = measure_mapped_spreads(mapped, y)
    cold = solve_groups(mapped, spreads, y, 0.3, tol=1e-5, max_epochs=50_000)
    first = solve_groups(mapped, spreads, y, 0.2, tol=1e-5, max_epochs=50_000)
    before = first.W.copy()
    warm = solve_groups(mapped, spreads, y, 0.3, start=first, tol=1e-5, max_epochs=50_000)
    assert warm.objective == pytest.approx(cold.objective, rel=2e-5)
    np.testing.assert_array_equal(first.W, before)


def test_every_visit_lowers_the_objective():
    X, y = draw()
    mapped = map_bins("chi2", X)
    spreads = measure_mapped_spreads(mapped, y)
    roots, C = np.sqrt(spreads), 1.0
    W, state, f = np.zeros(mapped.Z.shape[:2]), np.zeros(2), np.zeros(len(y))
    twin = (W.copy(), state.copy(), f.copy())
    last = C * rounded_hinge(y, f)
    for _ in range(3):
        for visit, (V, s, g) in ((descend_groups, (W, state, f)), (descend_groups.py_func, twin)):
            groups, pull = np.arange(len(W)), np.empty(len(y))
            visit(mapped.Z, groups, y, C, CORNER, roots, mapped.curvatures, V, s, g, pull)
        now = 0.5 * state[0] ** 2 + C * rounded_hinge(y, f)
        assert now < last
        last = now
    np.testing.assert_allclose(twin[0], W, atol=1e-5)
    np.testing.assert_allclose(f, np.einsum("kj,kjn->n", W, mapped.Z) + state[1], atol=1e-4)


def test_the_intercept_is_the_best():
    rng = np.random.default_rng(0)
    for shift in (-50.0, 0.0, 3.0):
        f = rng.normal(size=31) + shift
        y = np.where(rng.random(31) < 0.3, 1.0, -1.0)
        moved = f.copy()
        b = move_intercept(y, CORNER, moved)
        np.testing.assert_allclose(moved, f + b)
        here = rounded_hinge(y, moved)
        grid = [rounded_hinge(y, f + s) for s in np.linspace(-60, 60, 4001)]
        assert here <= min(grid) + 1e-9


def test_no_row_inside_its_margin_bounds_nothing():
    X, y = draw()
    mapped = map_bins("chi2", X)
    roots, usable = np.ones(len(mapped.Z)), np.ones(len(mapped.Z), dtype=bool)
    objective, bound, norms = weigh(mapped.Z, y, 2.0, roots, usable, 3.0, 5 * y)
    assert (objective, bound) == (4.5, 0.0)
    assert not norms.any()

"""Compiled draws and tables against scipy; rows as lists against the matrix; diagnostics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special, stats

from fieldguide.describe import _draws
from fieldguide.describe._attribute_steps import interpolate, log_beta_line
from fieldguide.describe._node_parameters import (
    ATTRIBUTE,
    BERNOULLI,
    Columns,
    fill_scores,
    make_nodes,
)
from fieldguide.describe._node_proposals import (
    log_beta_at,
    make_room,
    propose_node,
    rough_log,
    sum_children,
)
from fieldguide.describe.attribute_model import log_beta_table
from fieldguide.describe.diagnostics import effective_sample_size, r_hat
from fieldguide.describe.packed_rows import base_rates, pack_rows

N = 20_000


@pytest.fixture
def words(seed):
    return _draws.seed_words(np.random.default_rng(seed))


def check(draws, distribution):
    assert stats.kstest(draws, distribution.cdf).pvalue > 1e-3


def test_uniform_and_normal(words):
    draws = np.array([_draws.uniform(words) for _ in range(N)])
    check(draws, stats.uniform)
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 0.03
    check([_draws.normal(words) for _ in range(N)], stats.norm)


def test_the_stream_is_that_of_its_inventors():
    # first outputs of xoshiro256++ from the state 1, 2, 3, 4, after its published source
    words = np.array([1, 2, 3, 4], dtype=np.uint64)
    expected = [41943041, 58720359, 3588806011781223, 3591011842654386]
    found = [_draws.uniform(words) for _ in range(4)]
    np.testing.assert_allclose(found, [((x >> 12) + 0.5) / 2**52 for x in expected], rtol=1e-15)


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 3.5, 400.0])
def test_gamma(words, shape):
    draws = [_draws.log_gamma_variate(words, shape) for _ in range(N)]
    assert stats.kstest(draws, lambda x: special.gammainc(shape, np.exp(x))).pvalue > 1e-3


@pytest.mark.parametrize(("a", "b"), [(1.0, 0.3), (2.5, 4.0), (0.2, 30.0), (50.0, 1.0)])
def test_beta(words, a, b):
    check([_draws.beta(words, a, b) for _ in range(N)], stats.beta(a, b))
    if a == 1:
        check([_draws.beta_from_one(words, b) for _ in range(N)], stats.beta(1, b))


@pytest.mark.parametrize(
    ("a", "b"), [(0.02, 20.0), (80.0, 0.1), (0.5, 0.4), (5.0, 7.0), (0.9, 1.5), (1e-12, 3.0)]
)
@pytest.mark.parametrize("floor", [1e-3, 0.05])
def test_truncated_beta(words, a, b, floor):
    draws = np.array([_draws.truncated_beta(words, a, b, floor) for _ in range(N)])
    assert floor <= draws.min() <= draws.max() <= 1 - floor
    x = np.linspace(np.log(floor / (1 - floor)), np.log((1 - floor) / floor), 20_001)
    t = special.expit(x)
    density = np.exp(a * np.log(t) + b * np.log1p(-t))
    cdf = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    assert stats.kstest(draws, lambda u: np.interp(u, t, cdf / cdf[-1])).pvalue > 1e-3


@pytest.mark.parametrize("floor", [1e-3, 1e-5, 0.05])
def test_the_table_is_the_normalizer(floor):
    table = log_beta_table(floor, 20.0, 100.0)
    rng = np.random.default_rng(0)
    line = np.empty(table.values.shape[1])
    for c in (20.0, 100.0, *rng.uniform(20, 100, 10)):
        log_beta_line(table.values, table.log_c_low, table.c_step, c, line)
        for x in (-table.x_edge, table.x_edge, *rng.uniform(-table.x_edge, table.x_edge, 30)):
            a, b = c * special.expit(x), c * special.expit(-x)
            part = special.betainc(a, b, 1 - floor) - special.betainc(a, b, floor)
            exact = special.betaln(a, b) + np.log(part)
            step = 2 * table.x_edge / (len(line) - 1)
            assert interpolate(line, (x + table.x_edge) / step) == pytest.approx(exact, abs=2e-5)
            shape = (table.values, table.log_c_low, table.c_step, table.x_edge)
            assert log_beta_at(*shape, c, x) == pytest.approx(exact, abs=2e-5)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 6), st.integers(1, 5)),
        elements=st.sampled_from([0.0, 1.0, 0.25, 0.9, np.nan]),
    )
)
def test_lists_say_what_the_matrix_says(A):
    rates = base_rates(A)
    rows = pack_rows(A, rates)
    d = A.shape[1]
    back = np.zeros_like(A)
    for i in range(len(A)):
        for e in rows.entries[rows.start[i] : rows.stop[i]]:
            if e < d:
                back[i, e] = 1
            else:
                back[i, e - d] = np.nan
        for j in range(rows.soft_start[i], rows.soft_start[i + 1]):
            at = rows.soft[j]
            back[i, at] = special.expit(rows.evidence[j] + special.logit(rates[at]))
        room = rows.start[i + 1] if i + 1 < len(A) else len(rows.entries)
        assert room - rows.start[i] == (np.nan_to_num(A[i], nan=1) > 0).sum()
    np.testing.assert_allclose(back, A)


def test_diagnostics_of_chains_that_are_known():
    rng = np.random.default_rng(0)
    n, rho = 20_000, 0.9
    values = np.zeros((4, n))
    noise = rng.normal(size=(4, n))
    for i in range(1, n):
        values[:, i] = rho * values[:, i - 1] + noise[:, i]
    assert effective_sample_size(values) == pytest.approx(4 * n * (1 - rho) / (1 + rho), rel=0.15)
    assert effective_sample_size(noise) == pytest.approx(4 * n, rel=0.15)
    assert r_hat(values) == pytest.approx(1, abs=0.01)
    assert r_hat(values + 5 * np.arange(4)[:, None]) > 2
    assert r_hat(values + np.linspace(0, 20, n)) > 1.5
    assert r_hat(np.ones((2, 10))) == 1
    assert np.isnan(r_hat(np.ones((2, 3))))


def test_the_rough_logarithm():
    x = np.concatenate([np.geomspace(1e-12, 1e12, 2000), np.linspace(0.5, 2, 2000)])
    np.testing.assert_allclose([rough_log(v) for v in x], np.log(x), atol=2e-6)


def log_conditional(columns, x, above, children, rest, n1, n0, floor):
    """Return the log-density of a node's parameter from its definition, but for a constant."""
    c = columns.spread[0]
    if columns.kind == BERNOULLI:
        total = stats.norm.logpdf(x, above, c)
        total += sum(stats.norm.logpdf(child, x, c) for child in children)
        return total + n1 * np.log(special.expit(x)) + n0 * np.log(special.expit(-x))
    t = special.expit(x)
    total = c * above * np.log(t) + c * (1 - above) * np.log1p(-t)
    for child in children:
        part = special.betainc(c * t, c * (1 - t), 1 - floor)
        part -= special.betainc(c * t, c * (1 - t), floor)
        total += stats.beta.logpdf(child, c * t, c * (1 - t)) - np.log(part)
    absent = columns.noise[0] + (1 - 2 * columns.noise[0]) * (1 - t) * rest
    return total + n1 * np.log1p(-absent) + n0 * np.log(absent)


@pytest.mark.parametrize("kind", [ATTRIBUTE, BERNOULLI])
@pytest.mark.parametrize("n_children", [0, 2])
@pytest.mark.parametrize(("n1", "n0"), [(0.0, 0.0), (3.0, 1.0), (0.0, 400.0), (2000.0, 30.0)])
def test_proposals_for_a_node_have_the_density_that_they_state(words, kind, n_children, n1, n0):
    table = log_beta_table(1e-3, 20.0, 100.0)
    shape = (table.values, table.log_c_low, table.c_step, table.x_edge)
    columns = Columns(
        kind, 1e-3, 9, np.array([0.1]), np.array([30.0 if kind == ATTRIBUTE else 0.5]), np.ones(3)
    )
    nodes = make_nodes(3, 1)
    nodes.n_used[0] = 3
    nodes.theta[:, 0] = (0.2, 0.4, 0.6) if kind == ATTRIBUTE else (-1.0, -0.5, 0.3)
    fill_scores(nodes, columns, 0)
    children = np.arange(1, 1 + n_children)
    room = make_room(0, 1, 1, shape[0].shape[1])
    sum_children(columns, nodes, children, n_children, room.sums)
    room.rest[0], room.n1[0], room.n0[0] = nodes.quiet[0], n1, n0
    given = (columns, shape, room, nodes.theta[0], n_children, 1)
    theta = np.empty(1)
    draws, stated = [], []
    for _ in range(4000):
        stated.append(propose_node(words, *given, theta, False))
        draws.append(theta[0])
    draws = np.array(draws)
    x = special.logit(draws) if kind == ATTRIBUTE else draws
    again = [propose_node(words, *given, np.array([t]), True) for t in draws[:50]]
    np.testing.assert_allclose(again, stated[:50], atol=1e-9)
    edge = table.x_edge if kind == ATTRIBUTE else 12.0
    grid = np.linspace(-edge, edge, 8001)[1:-1]
    step = grid[1] - grid[0]
    line = special.expit(grid) if kind == ATTRIBUTE else grid
    density = np.exp([propose_node(words, *given, np.array([t]), True) for t in line])
    cdf = np.cumsum(density) * step
    assert cdf[-1] == pytest.approx(1, abs=0.02)
    assert stats.kstest(x, lambda u: np.interp(u, grid, cdf / cdf[-1])).pvalue > 1e-3
    # and it is close to the conditional that it stands for
    below = nodes.theta[children, 0]
    exact = log_conditional(
        columns, grid, nodes.theta[0, 0], below, nodes.quiet[0, 0], n1, n0, 1e-3
    )
    exact = np.exp(exact - special.logsumexp(exact)) / step
    assert np.abs(density - exact).sum() * step / 2 < 0.1


def test_a_parameter_out_of_reach_cannot_have_been_proposed(words):
    columns = Columns(BERNOULLI, 0.0, 9, np.zeros(1), np.full(1, 0.5), np.ones(3))
    shape = (np.zeros((1, 1)), 0.0, 1.0, 1.0)
    given = (columns, shape, make_room(0, 1, 1, 1), np.zeros(1), 0, 0)
    assert propose_node(words, *given, np.array([12.5]), True) == -np.inf
    assert propose_node(words, *given, np.array([11.5]), True) > -np.inf

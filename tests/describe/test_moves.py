"""Each move of nodes, alone, leaves the joint law of trees and rows as it is.

A tree, its parameters and rows drawn from the model are moved; means over many such draws must not
change. As each draw is compared with itself, a small error in an acceptance ratio shows.
"""

import numpy as np
import pytest
from tests.describe.samplers import make_chain, make_likelihood, unbounded_prior
from tests.describe.test_geweke import N_ATTRIBUTES, N_ROWS, draw_prior, redraw_attributes

from fieldguide.describe.stick_breaking import StickPrior, log_tree

N_DRAWS = 3000
ALONE = {"birth and death": (4, 0, 0), "graft": (0, 4, 0), "gather and release": (0, 0, 4)}


def summarize_branches(chain, sample):
    """Return numbers that would betray a wrong acceptance ratio."""
    depth = sample.depth()
    n_here, n_all = sample.counts()
    line = sample.theta
    if chain.likelihood.floor > 0:
        line = np.log(line / (1 - line))
    step = line[1:] - line[sample.parent[1:]]
    n1, n0 = chain._count(sample, n_here)
    n_children = np.bincount(sample.parent[1:], minlength=len(depth))
    return [
        len(depth),
        (n_here == 0).sum(),
        depth.max(),
        depth[sample.labels].mean(),
        (n_here**2).sum(),
        (n_children**2).sum(),
        (n_all * depth).sum(),
        *line[1:].sum(axis=0),
        *np.abs(step).sum(axis=0),
        *(step**2).sum(axis=0),
        *(step * (n_here[1:, None] > 0)).sum(axis=0),
        np.clip(chain.likelihood.log_density(sample, n1, n0), -60, None),
        log_tree(sample, chain.prior),
    ]


@pytest.mark.parametrize("kind", ["attribute", "bernoulli"])
@pytest.mark.parametrize("move", ALONE)
def test_a_move_alone_changes_no_law(kind, move, seed):
    prior = unbounded_prior()
    rng = np.random.default_rng(seed + 200)
    A = np.ones((N_ROWS, N_ATTRIBUTES))
    chain = make_chain(kind, A, prior, seed, ALONE[move])
    words = chain.state.words
    changes = []
    for _ in range(N_DRAWS):
        sample = draw_prior(kind, rng, prior)
        redraw_attributes(chain, rng, sample)
        before = summarize_branches(chain, sample)
        after = summarize_branches(chain, chain._move_nodes(words, sample))
        changes.append(np.subtract(after, before))
    changes = np.array(changes)
    error = changes.std(axis=0) / np.sqrt(N_DRAWS)
    assert np.abs(changes.mean(axis=0) / np.maximum(error, 1e-9)).max() < 4
    tried, accepted = chain.n_moved.sum(axis=0)
    assert tried == 4 * N_DRAWS
    assert accepted > tried / 50


def test_no_move_goes_below_the_largest_depth():
    A = np.random.default_rng(0).random((12, N_ATTRIBUTES)) < 0.5
    for max_depth in (0, 1, 2):
        prior = StickPrior(max_depth, (5.0, 50.0), (0.8, 1.0), (1.0, 10.0))
        chain = make_chain("attribute", A, prior, 0, 8)
        for _ in range(150):
            chain.sweep()
            assert chain.sample.depth().max() <= max_depth
            n_here, n_all = chain.sample.counts()
            assert n_all.min() > 0
            assert n_here.sum() == n_all[0] == 12


@pytest.mark.parametrize("kind", ["attribute", "bernoulli"])
def test_a_refused_move_leaves_everything_in_place(kind):
    """The parameters of a node are drawn anew in each try, so a trace of one would stay."""
    rng = np.random.default_rng(1)
    A = rng.random((30, 6)) < 0.5
    chain = make_chain(kind, A, unbounded_prior(), 1, 3)
    likelihood = make_likelihood(kind)
    for _ in range(40):
        chain.sweep()
        old = chain.sample
        accepted = chain.n_moved[:, 1].sum()
        new = chain._move_nodes(chain.state.words.copy(), old)
        if chain.n_moved[:, 1].sum() == accepted:
            np.testing.assert_array_equal(new.parent, old.parent)
            np.testing.assert_array_equal(new.labels, old.labels)
            np.testing.assert_array_equal(new.theta, old.theta)
            scores = chain._nodes.score[: len(old.parent), :6]
            rates = likelihood.rates(old)
            if len(old.parent) == chain._nodes.n_used[0]:
                np.testing.assert_allclose(1 / (1 + np.exp(-scores)), rates, rtol=1e-9)

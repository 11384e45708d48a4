"""The sampled trees of three rows have the frequencies of the posterior, tree by tree."""

from collections import Counter

import numpy as np
import pytest
from tests.describe.samplers import (
    FIXED,
    HYPER,
    SETTINGS,
    errors_in_sigmas,
    make_chain,
    make_likelihood,
)
from tests.reference.enumerated_tree import as_tree, exact_posterior, list_trees

from fieldguide.describe.packed_rows import base_rates
from fieldguide.describe.stick_breaking import StickPrior, subtree_sizes

PLAIN = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
PARTLY_KNOWN = np.array([[1.0, 0.1], [0.9, 1.0], [np.nan, 1.0]])
N_SWEEPS = 5000


def what_is_known(A):
    """Return p(value | shown), p(value | not shown) of each attribute, but for a factor."""
    rates = base_rates(A)
    known = []
    for column, rate in zip(A.T, rates, strict=True):
        known.append(
            [(1.0, 1.0) if np.isnan(s) else (s / rate, (1 - s) / (1 - rate)) for s in column]
        )
    return known


def test_the_list_of_trees_is_complete():
    assert len(list(list_trees(range(2), 0, 1))) == 5
    assert len(set(list_trees(range(3), 0, 2))) == len(list(list_trees(range(3), 0, 2))) == 87


@pytest.mark.parametrize("kind", ["attribute", "bernoulli"])
@pytest.mark.parametrize("A", [PLAIN, PARTLY_KNOWN], ids=["plain", "partly known"])
@pytest.mark.parametrize("n_moves", [0, 2])
def test_frequencies_are_those_of_the_posterior(kind, A, n_moves, seed):
    check_frequencies(kind, A, n_moves, seed)


def test_noise_over_a_half_is_drawn_as_exactly(seed):
    values = check_frequencies("printed noise", PLAIN, 2, seed)
    assert (np.array(values)[:, 2:4] > 0.5).mean() > 0.1


def check_frequencies(kind, A, n_moves, seed):
    settings, family = {**SETTINGS[kind]}, "bernoulli"
    if kind != "bernoulli":
        settings["root"], family = make_likelihood(kind).root_prior(2), "attribute"
    exact, means = exact_posterior(family, what_is_known(A), HYPER, 2, settings)
    chain = make_chain(kind, A, StickPrior(2, *FIXED), seed, n_moves)
    counts, values = Counter(), []
    for _ in range(N_SWEEPS):
        chain.sweep()
        sample = chain.sample
        counts[as_tree(sample.parent, sample.labels)] += 1
        values.append(np.concatenate([sample.theta[0], sample.noise, sample.spread]))
    assert set(counts) <= set(exact)
    p = np.array(list(exact.values()))
    found = np.array([counts[tree] for tree in exact]) / N_SWEEPS
    # half the sum of deviations of N_SWEEPS independent draws has this mean; chains are stickier
    by_chance = 0.5 * np.sqrt(2 / np.pi * p * (1 - p) / N_SWEEPS).sum()
    assert 0.5 * np.abs(found - p).sum() < 1.35 * by_chance
    assert np.abs(errors_in_sigmas(values, means.T.ravel())).max() < 4
    return values


@pytest.mark.parametrize("kind", ["attribute", "bernoulli"])
def test_moves_of_nodes_alone_reach_the_posterior(kind, seed):
    """Without the sweep over rows, which would hide a small bias of the moves."""
    settings = {**SETTINGS[kind]}
    if kind == "attribute":
        settings["root"] = make_likelihood(kind).root_prior(2)
    exact, _ = exact_posterior(kind, what_is_known(PLAIN), HYPER, 2, settings)
    trees = list(exact)
    chain = make_chain(kind, PLAIN, StickPrior(2, *FIXED), seed, n_moves=10)
    words, sample = chain.state.words, chain.sample
    found = np.zeros((N_SWEEPS, len(trees)))
    for i in range(N_SWEEPS):
        sample = chain._move_nodes(words, sample)
        n1, n0 = chain._count(sample, sample.counts()[0])
        chain.likelihood.draw(words, sample, subtree_sizes(sample.parent), n1, n0)
        found[i, trees.index(as_tree(sample.parent, sample.labels))] = 1
    p = np.array(list(exact.values()))
    likely = p > 0.008
    assert np.abs(errors_in_sigmas(found, p)[likely]).max() < 4
    depth_one = np.array([len(tree[1]) for tree in trees])
    empty_root = np.array([not tree[0] for tree in trees])
    for statistic in (depth_one == 1, depth_one == 2, depth_one == 3, empty_root):
        assert abs(errors_in_sigmas(found @ statistic[:, None], p @ statistic)[0]) < 4
    # every kind of move happens
    assert (chain.n_moved[:, 1] > N_SWEEPS / 50).all()

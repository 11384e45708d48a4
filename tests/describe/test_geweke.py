"""Geweke's joint test: sweeps that alternate with new data walk through the prior.

J. Geweke, "Getting it right: joint distribution tests of posterior simulators", 2004.
"""

import numpy as np
import pytest
from tests.describe.samplers import (
    SETTINGS,
    errors_in_sigmas,
    make_chain,
    make_likelihood,
    summarize,
    unbounded_prior,
)
from tests.reference.simulated_tree import (
    draw_attribute_theta,
    draw_bernoulli_theta,
    draw_labels,
)

from fieldguide.describe.stick_breaking import Sample

N_ROWS, N_ATTRIBUTES = 5, 2


def draw_prior(kind, rng, prior):
    hyper = np.array([rng.uniform(*bounds) for bounds in prior.bounds()])
    parent, labels = draw_labels(rng, N_ROWS, hyper, prior.max_depth)
    settings = SETTINGS[kind]
    if kind == "attribute":
        spread = rng.uniform(*settings["c_bounds"], N_ATTRIBUTES)
        noise = rng.beta(*settings["noise_prior"], N_ATTRIBUTES)
        while (noise > 0.5).any():
            noise = rng.beta(*settings["noise_prior"], N_ATTRIBUTES)
        root = make_likelihood(kind).root_prior(N_ATTRIBUTES)
        theta = draw_attribute_theta(rng, parent, spread, root, settings["floor"])
    else:
        spread = rng.uniform(*settings["sigma_bounds"], N_ATTRIBUTES)
        noise = np.zeros(N_ATTRIBUTES)
        theta = draw_bernoulli_theta(rng, parent, spread)
    return Sample(parent, labels, theta, noise, spread, hyper)


def redraw_attributes(chain, rng, sample):
    """Draw every row anew from its node; rows have room for all attributes."""
    rates = chain.likelihood.rates(sample)
    for i, k in enumerate(sample.labels):
        shown = np.flatnonzero(rng.random(N_ATTRIBUTES) < rates[k])
        begin = chain.rows.start[i]
        chain.rows.entries[begin : begin + len(shown)] = shown
        chain.rows.stop[i] = begin + len(shown)


@pytest.mark.parametrize("kind", ["attribute", "bernoulli"])
def test_joint_distribution(kind, seed):
    prior = unbounded_prior()
    rng = np.random.default_rng(seed + 100)
    chain = make_chain(kind, np.ones((N_ROWS, N_ATTRIBUTES)), prior, seed, n_moves=2)
    walked = []
    for _ in range(6000):
        chain.sweep()
        redraw_attributes(chain, rng, chain.sample)
        walked.append(summarize(chain.sample, chain.likelihood))
    direct = np.array(
        [summarize(draw_prior(kind, rng, prior), chain.likelihood) for _ in range(4000)]
    )
    error = direct.std(axis=0) / np.sqrt(len(direct))
    assert np.abs(errors_in_sigmas(walked, direct.mean(axis=0), error)).max() < 4


def test_a_flat_likelihood_leaves_the_prior(seed):
    prior = unbounded_prior(4)
    chain = make_chain("attribute", np.full((N_ROWS, N_ATTRIBUTES), np.nan), prior, seed, n_moves=1)
    walked = []
    for _ in range(4000):
        chain.sweep()
        walked.append(summarize(chain.sample, chain.likelihood))
    rng = np.random.default_rng(seed)
    draws = [draw_prior("attribute", rng, prior) for _ in range(4000)]
    direct = np.array([summarize(draw, chain.likelihood) for draw in draws])
    error = direct.std(axis=0) / np.sqrt(len(direct))
    assert np.abs(errors_in_sigmas(walked, direct.mean(axis=0), error)).max() < 4

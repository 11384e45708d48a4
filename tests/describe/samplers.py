"""Small models that mix fast, and what is compared in the tests of the samplers."""

import numpy as np

from fieldguide.describe.attribute_model import AttributeLikelihood
from fieldguide.describe.bernoulli_model import BernoulliLikelihood
from fieldguide.describe.packed_rows import base_rates, pack_rows
from fieldguide.describe.stick_breaking import Chain, Sample, StickPrior

HYPER = (2.0, 0.5, 1.3)
FIXED = [(value, value) for value in HYPER]
SETTINGS = {
    "attribute": {"floor": 0.05, "c_bounds": (3.0, 8.0), "noise_prior": (2.0, 6.0)},
    # as the paper has it: more annotations may be wrong than right
    "printed noise": {
        **{"floor": 0.05, "c_bounds": (3.0, 8.0)},
        **{"noise_prior": (2.0, 3.0), "most_noise": 1.0},
    },
    "bernoulli": {"sigma_bounds": (0.5, 2.0)},
}


def make_likelihood(kind):
    if kind != "bernoulli":
        return AttributeLikelihood(a=2.0, b=3.0, **SETTINGS[kind])
    return BernoulliLikelihood(**SETTINGS[kind])


def make_chain(kind, A, prior, seed=0, n_moves=None):
    A = np.asarray(A, dtype=float)
    rows = pack_rows(A, base_rates(A))
    generator = np.random.default_rng(seed)
    return Chain.begin(rows, make_likelihood(kind), prior, generator, n_moves)


def summarize(sample: Sample, likelihood) -> np.ndarray:
    """Return numbers that would betray a wrong conditional."""
    depth = sample.depth()
    n_here, _ = sample.counts()
    first = likelihood.rates(sample)[sample.labels[0]]
    return np.concatenate(
        [
            sample.theta[0],
            sample.theta[0] ** 2,
            [sample.theta[0].prod()],
            sample.theta[sample.labels[0]] ** 2,
            first,
            sample.noise,
            sample.noise**2,
            sample.spread,
            sample.spread**2,
            sample.hyper,
            sample.hyper**2,
            [len(sample.parent), (n_here > 0).sum(), (n_here * (n_here - 1)).sum()],
            [depth[sample.labels].mean(), (depth[sample.labels] == 0).mean(), depth.max()],
        ]
    )


def errors_in_sigmas(chain_values, exact_values, exact_error=0.0) -> np.ndarray:
    """Return the deviation of the chain's means, in standard errors by 40 batches."""
    values = np.asarray(chain_values)
    values = values[len(values) % 40 :]
    batches = values.reshape(40, -1, values.shape[1]).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 40 + exact_error**2)
    gap = values.mean(axis=0) - exact_values
    is_fixed = error < 1e-12
    return np.where(
        is_fixed, np.where(np.abs(gap) < 1e-9, 0, np.inf), gap / np.maximum(error, 1e-12)
    )


def unbounded_prior(max_depth=3):
    return StickPrior(max_depth, (1.0, 4.0), (0.2, 0.9), (0.5, 3.0))

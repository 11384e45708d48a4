"""The factored Bernoulli likelihood: each node has a logit for each attribute, near its parent's.

    theta_root ~ N(0, sigma_d^2),   theta_k ~ N(theta_parent, sigma_d^2),   sigma_d ~ U[0.01, 1]
    p(row at k shows d) = 1 / (1 + exp(-theta_k))

Reference: R. Adams, Z. Ghahramani, M. Jordan, "Tree-structured stick breaking for hierarchical
data", NIPS 2010.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from fieldguide.describe import _bernoulli_steps as steps
from fieldguide.describe._node_parameters import BERNOULLI
from fieldguide.describe.stick_breaking import Likelihood, Sample
from fieldguide.describe.tree import Tree


@dataclass(frozen=True)
class BernoulliLikelihood(Likelihood):
    """``spread`` is sigma; ``noise`` is not used."""

    sigma_bounds: tuple[float, float] = (0.01, 1.0)
    kind = BERNOULLI

    def start(self, n_attributes: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Return a root at even odds."""
        return {
            "theta": np.zeros((1, n_attributes)),
            "noise": np.zeros(n_attributes),
            "spread": np.clip(np.full(n_attributes, 0.1), *self.sigma_bounds),
        }

    def fit_nodes(self, parent: np.ndarray, n_shown: np.ndarray, n_here: np.ndarray) -> np.ndarray:
        """Return the logits of the shares at or below each node."""
        tree = Tree(parent, np.zeros(len(parent)))
        n_shown, n_all = tree.sum_up(n_shown), tree.sum_up(n_here)[:, None]
        logits: np.ndarray = logit((n_shown + 0.1) / (n_all + 0.2))
        return logits

    def draw(
        self, words: np.ndarray, sample: Sample, size: np.ndarray, n1: np.ndarray, n0: np.ndarray
    ) -> None:
        """Draw theta and sigma."""
        theta = np.ascontiguousarray(sample.theta.T)
        n_nodes = theta.shape[1]
        room = np.empty(n_nodes), np.empty(n_nodes, dtype=np.int64)
        steps.draw_logits(words, sample.parent, theta, sample.spread, n1, n0, *room)
        bounds = np.array(self.sigma_bounds, dtype=float)
        steps.draw_steps(words, sample.spread, bounds, sample.parent, theta)
        sample.theta[:] = theta.T

    def table(self) -> tuple[np.ndarray, float, float, float]:
        """Return nothing of use: the normalizer is a Gaussian's."""
        return np.zeros((1, 1)), 0.0, 1.0, 1.0

    def log_density(self, sample: Sample, n1: np.ndarray, n0: np.ndarray) -> float:
        """Return the log-density of the attributes and of theta."""
        theta = sample.theta.T
        total = -(n1 * np.logaddexp(0, -theta) + n0 * np.logaddexp(0, theta)).sum()
        drift = sample.theta.copy()
        drift[1:] -= sample.theta[sample.parent[1:]]
        z = drift / sample.spread
        return float(total - (0.5 * z**2 + np.log(sample.spread * np.sqrt(2 * np.pi))).sum())

    def rates(self, sample: Sample) -> np.ndarray:
        """Return the logistic function of theta."""
        rates: np.ndarray = expit(sample.theta)
        return rates

    def stated_rates(self, sample: Sample) -> np.ndarray:
        """Return the same."""
        return self.rates(sample)

    def unborn_rates(self, sample: Sample) -> np.ndarray:
        """Return the mean of the logistic function over a step, by quadrature."""
        x, weight = np.polynomial.hermite_e.hermegauss(32)
        reached = sample.theta[:, :, None] + sample.spread[:, None] * x
        means: np.ndarray = expit(reached) @ (weight / weight.sum())
        return means

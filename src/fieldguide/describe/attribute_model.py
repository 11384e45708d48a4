"""The likelihood of the Attribute Tree Process.

An attribute is added by any node on the path from the root, and the annotation is flipped with
probability omega:

    q_k = product over the path of 1 - theta_j
    p(row at k does not show d) = omega_d + (1 - 2 omega_d) q_k
    theta_root ~ Beta(a / D, b (D - 1) / D),   theta_k ~ Beta(c theta_parent, c (1 - theta_parent))
    c_d ~ U[20, 100],   omega_d ~ Beta(5, 20) below 1/2

An omega over 1/2 would turn an attribute into its opposite: few rows can tip it there, and the tree
would then be described by what it lacks. The reference has no such bound: its omega may be up to 1.

All Betas of theta are truncated to [floor, 1 - floor]: the floor is part of the model. A Beta with
a parameter c theta near 0 has most of its mass at numbers too small for any computer, and a tree
without a floor, or with a lower one, grows more nodes. The truncated normalizer

    B(t, c) = integral from floor to 1 - floor of u^(ct - 1) (1 - u)^(c(1 - t) - 1) du

enters the conditionals of theta (through the children) and of c; it is tabulated once.

===========  ==========================
symbol       name
===========  ==========================
theta, q     ``theta``, ``quiet``
omega, c     ``noise``, ``spread``
1/2          ``most_noise``
===========  ==========================

Reference: R. Mittelman, M. Sun, B. Kuipers, S. Savarese, "Learning hierarchical linguistic
descriptions of visual datasets", 2013.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import logit, logsumexp

from fieldguide.describe import _attribute_steps as steps
from fieldguide.describe._node_parameters import ATTRIBUTE
from fieldguide.describe.stick_breaking import Likelihood, Sample

_N_X, _N_C = 512, 64
_MOST_LOGIT = 30.0  # of omega, either way


@dataclass(frozen=True)
class AttributeLikelihood(Likelihood):
    """Prior parameters as in the module's formulas."""

    a: float = 10.0
    b: float = 5.0
    c_bounds: tuple[float, float] = (20.0, 100.0)
    noise_prior: tuple[float, float] = (5.0, 20.0)
    floor: float = 1e-3
    most_noise: float = 0.5
    kind = ATTRIBUTE

    def start(self, n_attributes: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Return an empty root."""
        low, high = self.c_bounds
        return {
            "theta": np.full((1, n_attributes), min(max(0.05, 2 * self.floor), 0.5)),
            "noise": np.full(
                n_attributes,
                min(self.noise_prior[0] / sum(self.noise_prior), 0.99 * self.most_noise),
            ),
            "spread": generator.uniform(low, high, n_attributes),
        }

    def fit_nodes(self, parent: np.ndarray, n_shown: np.ndarray, n_here: np.ndarray) -> np.ndarray:
        """Return theta; a share can only rise on the way down, so each node has at most its
        children's."""
        share = np.where(n_here[:, None] > 0, (n_shown + 0.05) / (n_here[:, None] + 0.1), 1.0)
        for v in range(len(parent) - 1, 0, -1):
            share[parent[v]] = np.minimum(share[parent[v]], share[v])
        theta = share.copy()
        theta[1:] = 1 - (1 - share[1:]) / np.maximum(1 - share[parent[1:]], 1e-9)
        return np.clip(theta, 2 * self.floor, 1 - 2 * self.floor)

    def root_prior(self, n_attributes: int) -> np.ndarray:
        """Return both parameters of the root's Beta."""
        return np.array([self.a, self.b * (n_attributes - 1)]) / n_attributes

    def draw(
        self, words: np.ndarray, sample: Sample, size: np.ndarray, n1: np.ndarray, n0: np.ndarray
    ) -> None:
        """Draw theta, omega and c."""
        theta = np.ascontiguousarray(sample.theta.T)
        table = log_beta_table(self.floor, *self.c_bounds)
        shape = (table.values, table.log_c_low, table.c_step, table.x_edge)
        n_nodes = theta.shape[1]
        n_children = count_children(sample.parent)
        room = np.empty(_N_X), np.empty((9, n_nodes)), np.empty(n_nodes, dtype=np.int64)
        steps.draw_thetas(
            words,
            sample.parent,
            n_children,
            size,
            theta,
            sample.noise,
            sample.spread,
            self.root_prior(len(theta)),
            n1,
            n0,
            *shape,
            *room,
        )
        sample.theta[:] = theta.T
        quiet = np.ascontiguousarray(path_products(sample.parent, sample.theta).T)
        steps.draw_noise(
            words,
            sample.noise,
            np.array(self.noise_prior, dtype=float),
            min(float(logit(self.most_noise)), _MOST_LOGIT),
            quiet,
            n1,
            n0,
        )
        bounds = np.array(self.c_bounds, dtype=float)
        steps.draw_spreads(
            words, sample.spread, bounds, sample.parent, n_children, theta, *shape,
            np.empty(n_nodes),
        )  # fmt: skip

    def table(self) -> tuple[np.ndarray, float, float, float]:
        """Return log B with the least log c, the step of log c, and the largest logit."""
        table = log_beta_table(self.floor, *self.c_bounds)
        return table.values, table.log_c_low, table.c_step, table.x_edge

    def log_density(self, sample: Sample, n1: np.ndarray, n0: np.ndarray) -> float:
        """Return the log-density of the attributes and of logit theta and logit omega.

        The logits are the coordinates of the sampler: in theta itself the density is dominated by
        the many attributes that a node does not add, where it is largest at the floor.
        """
        theta = np.ascontiguousarray(sample.theta.T)
        table = log_beta_table(self.floor, *self.c_bounds)
        quiet = np.ascontiguousarray(path_products(sample.parent, sample.theta).T)
        root_a, root_b = self.root_prior(len(theta))
        root = theta[:, 0]
        total = steps.log_rows(quiet, sample.noise, n1, n0)
        total += (root_a * np.log(root) + root_b * np.log1p(-root)).sum()
        total += (np.log(sample.noise) * self.noise_prior[0]).sum()
        total += (np.log1p(-sample.noise) * self.noise_prior[1]).sum()
        return float(
            total
            + steps.log_thetas(
                sample.parent,
                count_children(sample.parent),
                theta,
                sample.spread,
                table.values,
                table.log_c_low,
                table.c_step,
                table.x_edge,
                np.empty(theta.shape[1]),
            )
        )

    def rates(self, sample: Sample) -> np.ndarray:
        """Return 1 - p(not shown)."""
        quiet = path_products(sample.parent, sample.theta)
        rates: np.ndarray = 1 - (sample.noise + (1 - 2 * sample.noise) * quiet)
        return rates

    def stated_rates(self, sample: Sample) -> np.ndarray:
        """Return 1 - q."""
        return 1 - path_products(sample.parent, sample.theta)

    def unborn_rates(self, sample: Sample) -> np.ndarray:
        """Return the rates with the mean of the truncated Beta for theta."""
        t = np.clip(sample.theta, self.floor, 1 - self.floor)
        x, weight = _quadrature(self.floor)
        a, b = sample.spread * t, sample.spread * (1 - t)
        log_u, log_rest = -np.logaddexp(0, -x), -np.logaddexp(0, x)
        mean = np.empty_like(t)
        for k in range(len(t)):
            log_p = a[k][:, None] * log_u + b[k][:, None] * log_rest + np.log(weight)
            p = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
            mean[k] = p @ np.exp(log_u)
        quiet = path_products(sample.parent, sample.theta) * (1 - mean)
        rates: np.ndarray = 1 - (sample.noise + (1 - 2 * sample.noise) * quiet)
        return rates


def count_children(parent: np.ndarray) -> np.ndarray:
    """Return the number of children of each node."""
    return np.bincount(parent[1:], minlength=len(parent))


def path_products(parent: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return, for each node, the product of 1 - theta over its path from the root."""
    quiet = 1 - theta
    for k in range(1, len(parent)):
        quiet[k] *= quiet[parent[k]]
    return quiet


@dataclass(frozen=True)
class LogBetaTable:
    """log B on a grid, even in log c and in logit t; a cubic in between is right to 1e-6."""

    values: np.ndarray  # (n_c, n_x)
    log_c_low: float
    c_step: float
    x_edge: float


@lru_cache(maxsize=16)
def log_beta_table(floor: float, c_low: float, c_high: float) -> LogBetaTable:
    """Tabulate the normalizer of a truncated Beta."""
    x_edge = float(np.log1p(-floor) - np.log(floor))
    log_c, step = np.linspace(np.log(c_low), np.log(c_high) + 1e-9, _N_C, retstep=True)
    t = 1 / (1 + np.exp(-np.linspace(-x_edge, x_edge, _N_X)))
    x, weight = _quadrature(floor)
    log_u, log_rest = -np.logaddexp(0, -x), -np.logaddexp(0, x)
    values = np.empty((_N_C, _N_X))
    for i, c in enumerate(np.exp(log_c)):
        # dB = u^a (1 - u)^b dx in the logit x of u
        exponent = c * (np.outer(t, log_u) + np.outer(1 - t, log_rest))
        values[i] = logsumexp(exponent, axis=1, b=weight)
    return LogBetaTable(values, float(log_c[0]), float(step), x_edge)


@lru_cache(maxsize=16)
def _quadrature(floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Return places and weights of Gauss and Legendre on the logits of [floor, 1 - floor]."""
    x_edge = np.log1p(-floor) - np.log(floor)
    x, weight = np.polynomial.legendre.leggauss(400)
    return x * x_edge, weight * x_edge

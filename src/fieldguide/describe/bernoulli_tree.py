"""The factored Bernoulli likelihood model as an estimator, for comparison with AttributeTree.

The model is in :mod:`fieldguide.describe.bernoulli_model`, the sampler in
:mod:`fieldguide.describe.stick_breaking`.
"""

from typing import Any

import numpy as np

from fieldguide.describe.bernoulli_model import BernoulliLikelihood
from fieldguide.describe.sampled_tree import SampledTree, check_bounds


class BernoulliTree(SampledTree):
    """Learn a tree whose nodes drift from their parents: children need not add attributes.

    Parameters
    ----------
    n_iter : int
        Sweeps of each chain.
    n_chains : int
    sigma_bounds : pair of float
        Bounds of the step of an attribute's logit from a parent to a child; the step is learned.
    alpha_bounds, lambda_bounds, gamma_bounds : pair of float
        Of the stick-breaking prior, as in :class:`AttributeTree`.
    max_depth : int
    n_jobs : int, optional
        Chains at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed; None is another one each time.

    Attributes
    ----------
    tree_, labels_, rates_, means_, sample_, log_joint_, trace_, r_hat_, ess_, chains_
        As in :class:`AttributeTree`; ``rates_`` may fall on the way down.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.describe import BernoulliTree
    >>> A = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 20, axis=0)
    >>> model = BernoulliTree(n_iter=50, n_chains=1, random_state=0).fit(A)
    >>> model.rates_.shape[1]
    4
    """

    def __init__(
        self,
        n_iter: int = 500,
        n_chains: int = 4,
        *,
        sigma_bounds: tuple[float, float] = (0.01, 1.0),
        alpha_bounds: tuple[float, float] = (1.0, 50.0),
        lambda_bounds: tuple[float, float] = (0.05, 0.8),
        gamma_bounds: tuple[float, float] = (1.0, 10.0),
        max_depth: int = 15,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_iter = n_iter
        self.n_chains = n_chains
        self.sigma_bounds = sigma_bounds
        self.alpha_bounds = alpha_bounds
        self.lambda_bounds = lambda_bounds
        self.gamma_bounds = gamma_bounds
        self.max_depth = max_depth
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _make_likelihood(self) -> BernoulliLikelihood:
        check_bounds("BernoulliTree", "sigma_bounds", self.sigma_bounds, 1e-6, 100)
        low, high = self.sigma_bounds
        return BernoulliLikelihood((float(low), float(high)))

    def _stated_rates(self) -> np.ndarray:
        """Return the rates averaged over the rows at and below each node.

        The parameters of a node say nothing of the rows below it, but its words are read as true of
        the whole branch.
        """
        n_here, n_all = self.sample_.counts()
        totals = self.tree_.sum_up(n_here[:, None] * self.rates_)
        return np.asarray(totals / n_all[:, None])

"""The Attribute Tree Process as an estimator: a tree in words of the rows of an attribute matrix.

The model is in :mod:`fieldguide.describe.attribute_model`, the sampler in
:mod:`fieldguide.describe.stick_breaking`.
"""

from typing import Any, ClassVar

from fieldguide._check import check_number
from fieldguide.describe.attribute_model import AttributeLikelihood
from fieldguide.describe.sampled_tree import SampledTree, check_bounds


class AttributeTree(SampledTree):
    """Learn a tree whose nodes add attributes, as deep and as broad as the rows ask for.

    A row sits at any node, not only at a leaf, and shows with high probability what the nodes on
    its path add. Several chains of samples are drawn; the tree is that of the sample with the
    largest joint density in the later half of any chain.

    Parameters
    ----------
    n_iter : int
        Sweeps of each chain.
    n_chains : int
    theta_floor : float
        A node adds each attribute with a probability in [theta_floor, 1 - theta_floor]. Part of
        the model: a lower floor gives more nodes.
    a, b : float
        Prior of the root: it adds an attribute with probability Beta(a / D, b (D - 1) / D).
    c_bounds : pair of float
        Bounds of the precision with which a node's probabilities follow its parent's.
    noise_prior : pair of float
        Beta prior of the probability that an annotation is wrong.
    max_noise : float
        In (0, 1]: the largest such probability. Over 1/2 an attribute is turned into its opposite.
    alpha_bounds, lambda_bounds, gamma_bounds : pair of float
        Bounds of the three parameters of the stick-breaking prior, which are learned. A row at a
        node of depth d goes on to a child with odds of about alpha · lambda^d to 1: a larger lambda
        gives deeper trees. A larger gamma gives a node more children.
    max_depth : int
        Of the tree; the root has depth 0.
    n_jobs : int, optional
        Chains at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Seed; None is another one each time.

    Notes
    -----
    The papers have ``c_bounds=(20, 100)``, ``noise_prior=(5, 20)``, ``alpha_bounds=(1, 50)``,
    ``lambda_bounds=(0.05, 0.8)``, ``max_noise=1``, and no floor is said. A word that a node adds
    costs much with a large c, and a row that lacks a word costs about the floor at every level:
    with the bounds and the floor here rows that the tree has not seen are likelier. Beta(5, 20) is
    worth 25 rows that say that every fifth annotation is wrong, which swamps a table of a hundred
    rows; on thousands of rows the two do the same.

    Attributes
    ----------
    tree_ : Tree
        In pre-order, larger branches first. Every node has rows at or below it.
    labels_ : ndarray of shape (n,)
        The node of ``tree_`` where each row sits.
    rates_ : ndarray of shape (n_nodes, n_attributes)
        Probability that a row at the node has the attribute; it never falls on the way down.
    means_ : ndarray of shape (n_nodes, n_attributes)
        Mean of the rows at or below each node.
    sample_ : Sample
        All parameters of the best sample.
    log_joint_ : float
        Its log joint density; ``best_chain_`` is the chain that found it.
    trace_ : dict of str to ndarray of shape (n_chains, n_iter)
    r_hat_, ess_ : dict of str to float
        Agreement of the chains and effective sample size, over the later half of the sweeps.
    chains_ : list of dict of str to ndarray
        Where each chain is; ``fit(A, resume=chains_)`` goes on from there. Not in ``to_state``:
        :func:`save_chains` writes them.

    Examples
    --------
    >>> import numpy as np
    >>> from fieldguide.describe import AttributeTree
    >>> A = np.repeat(np.repeat([[1, 1, 0], [1, 0, 0], [0, 0, 1]], 4, axis=1), 30, axis=0)
    >>> model = AttributeTree(n_iter=100, n_chains=2, random_state=0).fit(A)
    >>> set(model.labels_[:30]) & set(model.labels_[60:])
    set()
    """

    _newer: ClassVar[tuple[str, ...]] = ("max_noise",)

    def __init__(
        self,
        n_iter: int = 500,
        n_chains: int = 4,
        theta_floor: float = 1e-5,
        *,
        a: float = 10.0,
        b: float = 5.0,
        c_bounds: tuple[float, float] = (2.0, 8.0),
        noise_prior: tuple[float, float] = (1.0, 20.0),
        max_noise: float = 0.5,
        alpha_bounds: tuple[float, float] = (0.5, 5.0),
        lambda_bounds: tuple[float, float] = (0.05, 0.5),
        gamma_bounds: tuple[float, float] = (1.0, 10.0),
        max_depth: int = 15,
        n_jobs: int | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_iter = n_iter
        self.n_chains = n_chains
        self.theta_floor = theta_floor
        self.a = a
        self.b = b
        self.c_bounds = c_bounds
        self.noise_prior = noise_prior
        self.max_noise = max_noise
        self.alpha_bounds = alpha_bounds
        self.lambda_bounds = lambda_bounds
        self.gamma_bounds = gamma_bounds
        self.max_depth = max_depth
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _make_likelihood(self) -> AttributeLikelihood:
        name = "AttributeTree"
        check_number(name, "theta_floor", self.theta_floor, 1e-8, 0.2)
        check_number(name, "a", self.a, 1e-6, 1e6)
        check_number(name, "b", self.b, 1e-6, 1e6)
        check_bounds(name, "c_bounds", self.c_bounds, 1, 1000)
        for value in self.noise_prior:
            check_number(name, "a number in noise_prior", value, 1e-3, 1e9)
        check_number(name, "max_noise", self.max_noise, 1e-6, 1)
        return AttributeLikelihood(
            float(self.a),
            float(self.b),
            (float(self.c_bounds[0]), float(self.c_bounds[1])),
            (float(self.noise_prior[0]), float(self.noise_prior[1])),
            float(self.theta_floor),
            float(self.max_noise),
        )

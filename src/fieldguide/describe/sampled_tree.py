"""What the estimators that sample trees share: chains in parallel, the best sample, its words."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from threading import Event
from typing import Any, ClassVar

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from fieldguide._check import check_number, check_seed
from fieldguide._parallel import Elsewhere, find_elsewhere, map_in_order
from fieldguide._random import spawn_generators
from fieldguide._saving import ROWS, Array, Number, Saved, Table
from fieldguide.describe.chain_files import to_inference_data
from fieldguide.describe.diagnostics import effective_sample_size, r_hat
from fieldguide.describe.packed_rows import base_rates, check_attributes, pack_rows
from fieldguide.describe.stick_breaking import (
    SAMPLE,
    TRACED,
    Chain,
    Likelihood,
    Sample,
    StickPrior,
    read_sample,
)
from fieldguide.describe.tree import Tree, find_depth, subtree_means
from fieldguide.describe.wording import NamedNodes
from fieldguide.errors import InvalidArgument

Progress = Callable[[int, int, float], bool | None]
_BLOCK = 4096
_ROUND_S = 20.0  # for which a chain is swept on another machine before it comes back


class SampledTree(Saved, NamedNodes, BaseEstimator, ABC):
    """Base of :class:`AttributeTree` and :class:`BernoulliTree`."""

    n_iter: int
    n_chains: int
    max_depth: int
    alpha_bounds: tuple[float, float]
    lambda_bounds: tuple[float, float]
    gamma_bounds: tuple[float, float]
    n_jobs: int | None
    random_state: Any

    _fitted: ClassVar = {
        **ROWS,
        "base_rates_": Array("float64", "n_features", low=0, high=1),
        "sample_": SAMPLE,
        "rates_": Array("float64", "n_nodes", "n_features"),
        "means_": Array("float64", "n_nodes", "n_features"),
        "log_joint_": Number(finite=False),
        "best_chain_": Number(0, whole=True),
        "n_iter_": Number(0, whole=True),
        "trace_": Table(Array("float64", "n_traced", "n_sweeps", finite=False)),
        "r_hat_": Table(Number(finite=False)),
        "ess_": Table(Number(finite=False)),
    }
    _unsaved = ("chains_",)  # save_chains keeps them, for a fit that is to go on

    @abstractmethod
    def _make_likelihood(self) -> Likelihood:
        """Return the likelihood that the arguments ask for."""

    def fit(
        self,
        A: Any,
        y: Any = None,
        *,
        progress: Progress | None = None,
        start: tuple[Any, Any] | None = None,
        resume: Sequence[Mapping[str, np.ndarray]] | None = None,
    ) -> Any:
        """Sample trees of the rows of ``A`` and keep the best.

        Parameters
        ----------
        A : array-like of shape (n, n_attributes)
            Values in [0, 1]; NaN where an attribute is not known. Values strictly between 0 and 1
            are probabilities, as a calibrated detector gives them.
        y : ignored
        progress : callable, optional
            Called after every sweep with the number of the chain, the sweeps that it has done and
            its log joint density, from the thread that runs the chain. Returning True stops all
            chains; what they have found is kept.
        start : pair of arrays, optional
            A tree for the chains to begin with instead of the root alone: the parent of each node
            in pre-order (-1 for the root), and the node of each row.
        resume : sequence of mappings, optional
            ``chains_`` of an earlier fit with the same data and arguments, or what
            :func:`load_chains` returns. They go on to ``n_iter`` sweeps in all, to the same result
            as a fit without interruption. After Ctrl-C, ``chains_`` is set too.
        """
        likelihood, prior = self._make_likelihood(), self._make_prior()
        A = self._check_rows(A, reset=True)
        self.base_rates_ = base_rates(A)
        rows = pack_rows(A, self.base_rates_)
        burn_in = self.n_iter // 2
        if resume is None:
            seed = check_seed(type(self).__name__, self.random_state)
            tree = None if start is None else self._read_start(start, A, likelihood)
            chains = [
                Chain.begin(rows, likelihood, prior, rng, burn_in=burn_in, tree=tree)
                for rng in spawn_generators(seed, self.n_chains)
            ]
        else:
            self._check_chains(resume, A.shape)
            chains = [
                Chain.from_arrays(arrays, rows, likelihood, prior, burn_in) for arrays in resume
            ]
        try:
            run_chains(chains, self.n_iter, self.n_jobs, progress)
        finally:
            self.chains_ = [chain.to_arrays() for chain in chains]
        self._keep_best(chains, A)
        return self

    def _check_arguments(self) -> None:
        self._make_likelihood()
        self._make_prior()

    def _check_opened(self) -> None:
        traces = list(self.trace_.values())
        if tuple(self.trace_) != TRACED or {t.shape for t in traces} != {traces[0].shape}:
            raise InvalidArgument(f"trace_ must hold {', '.join(TRACED)}, all of one shape.")
        if traces[0].shape[1] != self.n_iter_:
            raise InvalidArgument(f"trace_ must have {self.n_iter_} sweeps.")
        self.labels_ = self.sample_.labels
        self.tree_ = Tree(self.sample_.parent, np.zeros(len(self.sample_.parent)))

    def _make_prior(self) -> StickPrior:
        name = type(self).__name__
        check_number(name, "n_iter", self.n_iter, 1, 10**9, integer=True)
        check_number(name, "n_chains", self.n_chains, 1, 10**6, integer=True)
        check_number(name, "max_depth", self.max_depth, 0, 1000, integer=True)
        bounds = {
            "alpha_bounds": (1e-3, 1e6),
            "lambda_bounds": (1e-6, 1.0),
            "gamma_bounds": (1e-3, 1e6),
        }
        for argument, (low, high) in bounds.items():
            check_bounds(name, argument, getattr(self, argument), low, high)
        return StickPrior(self.max_depth, self.alpha_bounds, self.lambda_bounds, self.gamma_bounds)

    def _check_rows(self, A: Any, *, reset: bool) -> np.ndarray:
        given = np.asarray(A)
        # Whole numbers are read as they are: eight times the memory would say nothing more.
        dtype = None if given.dtype.kind in "bui" else (np.float64, np.float32)
        rows: np.ndarray = validate_data(
            self, A, dtype=dtype, ensure_all_finite="allow-nan", reset=reset
        )
        check_attributes(type(self).__name__, rows)
        return rows

    def _read_start(
        self, start: tuple[Any, Any], A: np.ndarray, likelihood: Likelihood
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return parents, labels and parameters of the tree that chains are to begin with."""
        parent, labels = (np.array(part, dtype=np.int64) for part in start)
        tree = Tree(parent, np.zeros(len(parent)))
        depth = find_depth(parent).max()
        is_node = (labels >= 0) & (labels < len(tree))
        if labels.shape != (len(A),) or not is_node.all() or depth > self.max_depth:
            raise InvalidArgument(
                f"start of {type(self).__name__}.fit must be the parents of a tree of depth at "
                f"most {self.max_depth} and a node of it for each of {len(A)} rows; got depth "
                f"{depth}, {len(tree)} nodes and {labels.shape} labels."
            )
        n_shown = np.zeros((len(tree), A.shape[1]))
        np.add.at(n_shown, labels, np.where(np.isnan(A), self.base_rates_, A))
        n_here = np.bincount(labels, minlength=len(tree))
        return parent, labels, likelihood.fit_nodes(parent, n_shown, n_here)

    def _check_chains(self, resume: Sequence[Mapping[str, Any]], shape: tuple[int, ...]) -> None:
        for arrays in resume:
            found = len(arrays["sample.labels"]), len(arrays["sample.spread"])
            if found != shape:
                raise InvalidArgument(
                    f"resume of {type(self).__name__}.fit holds chains of {found[0]} rows and "
                    f"{found[1]} attributes, but A has {shape[0]} and {shape[1]}; give the "
                    "matrix of the earlier fit."
                )
        if len(resume) != self.n_chains:
            raise InvalidArgument(
                f"resume of {type(self).__name__}.fit holds {len(resume)} chains, but n_chains is "
                f"{self.n_chains}; give as many as there were."
            )

    def _keep_best(self, chains: Sequence[Chain], A: np.ndarray) -> None:
        likelihood = chains[0].likelihood
        densities = [chain.state.best_log_joint for chain in chains]
        self.best_chain_ = int(np.argmax(densities))
        self.log_joint_ = float(densities[self.best_chain_])
        self.sample_ = order_by_size(chains[self.best_chain_].state.best)
        self.labels_ = self.sample_.labels
        self.tree_ = Tree(self.sample_.parent, np.zeros(len(self.sample_.parent)))
        self.rates_ = likelihood.stated_rates(self.sample_)
        self.means_ = subtree_means(self.tree_, self.labels_, A)
        n_done = min(chain.state.n_done for chain in chains)
        self.n_iter_ = n_done
        self.trace_ = {
            name: np.array([chain.trace[name][:n_done] for chain in chains]) for name in TRACED
        }
        later = {name: values[:, n_done // 2 :] for name, values in self.trace_.items()}
        self.r_hat_ = {name: r_hat(values) for name, values in later.items()}
        self.ess_ = {name: effective_sample_size(values) for name, values in later.items()}

    def predict(self, A: Any) -> np.ndarray:
        """Return the most probable node of each row."""
        nodes: np.ndarray = self.predict_proba(A)[:, :-1].argmax(axis=1)
        return nodes

    def place(self, A: Any) -> Iterator[tuple[Tree, np.ndarray]]:
        """Yield, of the best and of the last sample of each chain, the tree and the most probable
        node of each row: several views of the posterior, where ``predict`` has the best alone.

        Needs ``chains_``, which a saved model does not keep.
        """
        check_is_fitted(self, "chains_")
        for chain in self.chains_:
            for which in ("best", "sample"):
                one = copy(self)
                one.sample_ = order_by_size(read_sample(chain, which))
                yield Tree(one.sample_.parent, np.zeros(len(one.sample_.parent))), one.predict(A)

    def predict_proba(self, A: Any) -> np.ndarray:
        """Return the probability of each node, and of none of them in the last column.

        None of them means a node that the tree does not have yet: a new child of any node, with
        its parameters averaged over their prior.

        Returns
        -------
        ndarray of shape (n, n_nodes + 1)
        """
        parts = []
        for log_p in self._weigh(A):
            p = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
            n_nodes = p.shape[1] // 2
            parts.append(np.column_stack([p[:, :n_nodes], p[:, n_nodes:].sum(axis=1)]))
        return np.concatenate(parts)

    def score_samples(self, A: Any) -> np.ndarray:
        """Return the log-likelihood of each row: the lower, the less like anything in the tree.

        A new child of a node resembles it, so a row that is unlike all nodes need not have a large
        probability of none of them; this tells it.
        """
        return np.concatenate([logsumexp(log_p, axis=1) for log_p in self._weigh(A)])

    def _weigh(self, A: Any) -> Iterator[np.ndarray]:
        """Yield log p(node, row) by blocks of rows; unborn children follow the nodes."""
        check_is_fitted(self)
        A = self._check_rows(A, reset=False)
        sample, likelihood = self.sample_, self._make_likelihood()
        rates = np.concatenate([likelihood.rates(sample), likelihood.unborn_rates(sample)])
        with np.errstate(divide="ignore"):
            log_weight = np.log(np.concatenate(node_weights(sample, self.max_depth)))
        for begin in range(0, len(A), _BLOCK):
            block = np.asarray(A[begin : begin + _BLOCK], dtype=np.float64)
            yield log_weight + row_scores(block, rates, self.base_rates_)

    def _stated_rates(self) -> np.ndarray:
        return self.rates_

    def to_arviz(self, burn_in: int | None = None) -> Any:
        """Return the traces of all chains for ArviZ, which has more diagnostics and plots.

        Parameters
        ----------
        burn_in : int, optional
            Sweeps to leave out at the start of each chain; by default half of them.

        Returns
        -------
        arviz.InferenceData (DataTree from ArviZ 1 on)
            ``posterior`` with alpha, lambda, gamma and n_nodes, ``sample_stats`` with ``lp``, the
            log joint density. Nodes come and go, so their parameters are not in it.
        """
        check_is_fitted(self)
        if burn_in is None:
            burn_in = self.n_iter_ // 2
        owner = f"{type(self).__name__}.to_arviz"
        check_number(owner, "burn_in", burn_in, 0, self.n_iter_ - 1, integer=True)
        return to_inference_data(self.trace_, burn_in)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def check_bounds(owner: str, argument: str, value: Any, low: float, high: float) -> None:
    """Refuse what is no pair low <= high within limits."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"{argument} of {owner} must be two numbers; got {value!r}."
        ) from None
    for bound in (first, second):
        check_number(owner, f"a bound in {argument}", bound, low, high)
    if first > second:
        raise InvalidArgument(f"{argument} of {owner} must rise; got {value!r}: swap them.")


def run_chains(
    chains: list[Chain], n_iter: int, n_jobs: int | None, progress: Progress | None
) -> None:
    """Sweep each chain until it has ``n_iter`` sweeps, or ``progress`` says stop."""
    sweep = Sweep(chains[0], n_iter)
    elsewhere = find_elsewhere(n_jobs)
    if elsewhere is not None and elsewhere.takes(sweep):
        run_chains_elsewhere(chains, sweep, elsewhere, progress)
        return
    stopped = Event()

    def run(number: int) -> None:
        chain = chains[number]
        while chain.state.n_done < n_iter and not stopped.is_set():
            chain.sweep()
            n_done = chain.state.n_done
            if progress is not None and progress(number, n_done, chain.trace["log_joint"][-1]):
                stopped.set()

    try:
        for _ in map_in_order(run, range(len(chains)), n_jobs=n_jobs):
            pass
    finally:
        stopped.set()  # an interrupt reaches this thread alone


class Sweep:
    """Takes a chain as arrays, sweeps it for some seconds on any machine, and gives it back.

    The rows travel with it once; a chain goes on to the same samples wherever it is.
    """

    def __init__(self, chain: Chain, n_iter: int) -> None:
        self._rows, self._burn_in = chain.rows, chain.burn_in
        self._likelihood, self._prior = chain.likelihood, chain.prior
        self.n_iter = n_iter

    def __call__(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Sweep until all is done or the time is up."""
        chain, end = self.open(arrays), time.monotonic() + _ROUND_S
        while chain.state.n_done < self.n_iter:
            chain.sweep()
            if time.monotonic() > end:
                break
        return chain.to_arrays()

    def open(self, arrays: Mapping[str, np.ndarray]) -> Chain:
        """Return a chain from its arrays."""
        return Chain.from_arrays(arrays, self._rows, self._likelihood, self._prior, self._burn_in)


def run_chains_elsewhere(
    chains: list[Chain], sweep: Sweep, elsewhere: Elsewhere, progress: Progress | None
) -> None:
    """Sweep chains on other machines, in rounds of some seconds, and put them back in place."""
    while pending := [c for c, each in enumerate(chains) if each.state.n_done < sweep.n_iter]:
        found = elsewhere.map_in_order(sweep, [chains[c].to_arrays() for c in pending])
        chains[:] = [
            sweep.open(found[pending.index(c)]) if c in pending else each
            for c, each in enumerate(chains)
        ]
        told = [
            progress(c, chains[c].state.n_done, chains[c].trace["log_joint"][-1])
            for c in pending
            if progress is not None
        ]
        if any(told):
            return


def order_by_size(sample: Sample) -> Sample:
    """Return the sample with larger branches first."""
    n_all = sample.counts()[1]
    children: list[list[int]] = [[] for _ in sample.parent]
    for k in range(1, len(sample.parent)):
        children[sample.parent[k]].append(k)
    order: list[int] = []
    pending = [0]
    while pending:
        k = pending.pop()
        order.append(k)
        pending += sorted(children[k], key=lambda j: (n_all[j], -j))
    place = np.empty(len(order) + 1, dtype=np.int64)
    place[order] = np.arange(len(order))
    place[-1] = -1
    return Sample(
        place[sample.parent[order]],
        place[sample.labels],
        sample.theta[order],
        sample.noise,
        sample.spread,
        sample.hyper,
    )


def node_weights(sample: Sample, max_depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean weight of each node, and of the unborn children of each, given counts."""
    n_here, n_all = sample.counts()
    depth = sample.depth()
    alpha, decay, gamma = sample.hyper
    arriving = np.ones(len(depth))
    stay = np.where(depth < max_depth, (1 + n_here) / (1 + alpha * decay**depth + n_all), 1.0)
    below = n_all - n_here
    for k in range(1, len(depth)):
        above = sample.parent[k]
        going_on = arriving[above] * (1 - stay[above])
        arriving[k] = going_on * n_all[k] / (gamma + below[above])
    return arriving * stay, arriving * (1 - stay) * gamma / (gamma + below)


def row_scores(A: np.ndarray, rates: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of each row at each node, (n, n_nodes)."""
    is_unknown = np.isnan(A)
    is_soft = (A > 0) & (A < 1)
    shown, hidden = np.log(rates), np.log1p(-rates)
    plain = np.where(is_unknown | is_soft, 0.0, A)
    absent = np.where(is_unknown | is_soft, 0.0, 1.0 - A)
    scores: np.ndarray = plain @ shown.T + absent @ hidden.T
    for d in np.flatnonzero(is_soft.any(axis=0)):
        i = np.flatnonzero(is_soft[:, d])
        s = A[i, d, None]
        ratio = s / base[d] * rates[:, d] + (1 - s) / (1 - base[d]) * (1 - rates[:, d])
        scores[i] += np.log(ratio)
    return scores

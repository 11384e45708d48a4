"""Sample the tree of a guide: chains that can be interrupted and go on to the same end."""

import threading
import time
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

import numpy as np

from fieldguide.describe import AttributeTree, BernoulliTree, pack_chains, unpack_chains
from fieldguide.errors import FieldguideError
from fieldguide.guide.workspace import Progress
from fieldguide.metrics import ancestor_matrix

STEP = "growing the tree"
N_CHAINS, N_SWEEPS = 4, 200
# A word that a branch adds (theta over 0.7 where its parent's is at the floor) costs the printed
# model, with precisions c of 20 to 100, a factor of exp(28) and more; here it costs exp(3) to
# exp(6). With c under 1.5 or a lower floor, a sweep can take minutes: new nodes fit nothing.
_PRIOR: dict[str, Any] = {"c_bounds": (1.0, 3.0), "noise_prior": (1.0, 1000.0), "theta_floor": 1e-4}
_MOST_ROW_SWEEPS = 2_000_000  # of larger collections, fewer sweeps; at least 30
_MAX_DEPTH = 15
_SAVE_EVERY_S = 20.0


def make_model(method: str, n: int, max_depth: int, seed: int, n_jobs: int) -> Any:
    """Return the sampler, not yet fitted."""
    settings: dict[str, Any] = {
        "n_iter": min(N_SWEEPS, max(30, _MOST_ROW_SWEEPS // n)),
        "n_chains": N_CHAINS,
        "n_jobs": n_jobs,
        "random_state": seed,
        "max_depth": max(_MAX_DEPTH, max_depth),
    }
    return (
        AttributeTree(**settings, **_PRIOR) if method == "attribute" else BernoulliTree(**settings)
    )


def sample_tree(
    model: Any,
    A: np.ndarray,
    start: tuple[np.ndarray, np.ndarray],
    progress: Progress,
    work: MutableMapping[str, bytes] | None,
) -> None:
    """Fit ``model``, its chains begun at ``start``; a run that was interrupted goes on."""
    work = {} if work is None else work
    name = _digest(model, A)
    chains = None
    if name in work:
        with suppress(FieldguideError):
            chains = unpack_chains(work[name])
    n_total = model.n_iter * model.n_chains
    while True:
        n_done = [0] * model.n_chains if chains is None else list(map(_n_done, chains))
        watch = _Watch(n_done, n_total, progress)
        try:
            model.fit(A, start=start, resume=chains, progress=watch)
        finally:
            chains = getattr(model, "chains_", None)
            if chains and min(map(_n_done, chains)) < model.n_iter:
                work[name] = pack_chains(chains)
        if model.n_iter_ >= model.n_iter:
            break
    work.pop(name, None)


def find_stability(
    parent: np.ndarray, labels: np.ndarray, chains: Sequence[dict[str, np.ndarray]]
) -> np.ndarray:
    """Return how far the chains agree on each branch, 0 to 1.

    For each chain, the branch of its tree that is most like it: specimens in both, over those in
    either. The mean over the chains.
    """
    own = ancestor_matrix(parent)[labels]
    total = np.zeros(len(parent))
    for chain in chains:
        other = ancestor_matrix(chain["sample.parent"])[chain["sample.labels"]]
        both = own.T @ other
        either = own.sum(axis=0)[:, None] + other.sum(axis=0) - both
        total += (both / np.maximum(either, 1)).max(axis=1)
    return total / max(len(chains), 1)


class _Watch:
    """Counts the sweeps of all chains, and stops them now and then so that they can be saved."""

    def __init__(self, done: Sequence[int], n_total: int, progress: Progress) -> None:
        self._done = list(done)
        self._n_total = n_total
        self._progress = progress
        self._lock = threading.Lock()
        self._stop_at = time.monotonic() + _SAVE_EVERY_S

    def __call__(self, chain: int, n_done: int, log_joint: float) -> bool:
        with self._lock:
            self._done[chain] = n_done
            self._progress(STEP, sum(self._done), self._n_total)
        return time.monotonic() > self._stop_at


def _digest(model: Any, A: np.ndarray) -> str:
    settings = {k: v for k, v in sorted(model.get_params().items()) if k != "n_jobs"}
    digest = blake2b(f"{type(model).__name__} {settings} {A.shape}".encode(), digest_size=8)
    digest.update(np.ascontiguousarray(A).tobytes())
    return digest.hexdigest()


def _n_done(chain: Any) -> int:
    return len(chain["trace.log_joint"])

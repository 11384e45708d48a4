"""Seeds: one number in, as many independent generators out as there are pieces of work."""

from typing import Any

import numpy as np


def spawn_generators(seed: int, n: int) -> list[np.random.Generator]:
    """Return ``n`` independent generators, the i-th always the same for a given ``seed``.

    Spawned before parallel work is handed out, so that the result cannot depend on ``n_jobs``.

    >>> a, b = spawn_generators(0, 2)
    >>> a.integers(100) == spawn_generators(0, 5)[0].integers(100)
    np.True_
    """
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(n)]


def to_seed(random_state: Any) -> int:
    """Return a seed from what scikit-learn takes: a number, a generator, or None for 0.

    >>> to_seed(7), to_seed(None)
    (7, 0)
    """
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(np.random.default_rng(random_state).integers(2**31))

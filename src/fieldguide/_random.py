"""Seeds: one number in, as many independent generators out as there are pieces of work."""

import numpy as np


def spawn_generators(seed: int, n: int) -> list[np.random.Generator]:
    """Return ``n`` independent generators, the i-th always the same for a given ``seed``.

    Spawned before parallel work is handed out, so that the result cannot depend on ``n_jobs``.

    >>> a, b = spawn_generators(0, 2)
    >>> a.integers(100) == spawn_generators(0, 5)[0].integers(100)
    np.True_
    """
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(n)]

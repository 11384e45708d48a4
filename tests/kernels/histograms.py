"""Histograms that the tests of kernels share."""

import numpy as np


def draw(seed, n, d, density, dtype=np.float64):
    """Return n histograms of d bins, each bin non-zero with probability ``density``."""
    rng = np.random.default_rng(seed)
    return ((rng.random((n, d)) < density) * rng.gamma(1, 1, (n, d))).astype(dtype)
